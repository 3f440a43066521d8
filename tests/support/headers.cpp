// Compiles the precompiled header of the tests.
