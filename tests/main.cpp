// The one main() of all test programs, compiled once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
