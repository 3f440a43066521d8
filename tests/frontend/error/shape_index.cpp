// Errors of numbers beyond the rank of a shape.
#include "expect.h"

TEST_CASE("an axis beyond the rank of a shape", "[error]") {
  const Shape shape{2, 3, 4};
  std::string line = line_below();
  CHECK(message_of([&] { (void)shape[3]; }) ==
        line + "index 3 is out of range: the shape (2, 3, 4) has rank 3");
  line = line_below();
  CHECK(message_of([&] { (void)shape[-4]; }) ==
        line + "index -4 is out of range: the shape (2, 3, 4) has rank 3");
  Shape one{5};
  line = line_below();
  CHECK(message_of([&] { one[1] = 2; }) == line + "index 1 is out of range: the shape (5,) has rank 1");
  line = line_below();
  CHECK(message_of([&] { (void)Shape().back(); }) ==
        line + "index -1 is out of range: the shape () has rank 0");
  line = line_below();
  CHECK_THAT(message_of([&] { (void)ones({2, 3}).shape()[std::size_t{2}]; }), Contains(line + "index 2"));
}
