// Lesson 2: operators compute arrays from arrays, and views write into the array that they are a part of.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

int main() {
  Tensor a{{1, 2, 3}, {4, 5, 6}};
  Tensor row{10, 20, 30};

  // +, -, *, /, % and comparisons are elementwise, and broadcast as NumPy's: the row is added to both rows.
  std::cout << "a + row" << a + row << "\n";
  std::cout << "a > 2" << (a > 2) << "\n";  // 1 and 0 in a's dtype

  // All other operators are functions of F, with MXNet's names. Named arguments are in braces.
  std::cout << "the sum of each row" << F::sum(a, {.axis = 1}) << "\n";
  std::cout << "a times its transpose" << F::dot(a, a, {.transpose_b = true}) << "\n";
  std::cout << "softmax" << F::softmax(a) << "\n";

  // The frequent ones are methods too.
  std::cout << "maximum " << a.max().item<int>() << ", mean " << a.mean().item<double>() << "\n";

  // An index removes the first axis; a slice keeps it. Both are views: no element is copied.
  Tensor second = a[1];
  Tensor part = a[slice(0, 1)];
  std::cout << "a[1] has shape " << second.shape() << ", a[0:1] has shape " << part.shape() << "\n";

  // A write through a view is seen by the array, and by every other view of it.
  second *= 100;
  a[0] = row;           // the row is copied into a
  a({slice(), 2}) = 7;  // several axes: the last column
  std::cout << "after three writes" << a << "\n" << second << "\n";

  // reshape() is a view too. -1 is the extent that remains.
  Tensor flat = a.reshape({-1});
  flat[0] = -1;
  std::cout << "a[0, 0] is now " << a({0, 0}).item<int>() << "\n";

  // Other indices read a copy: a step, or a part of a later axis.
  Tensor column = a({slice(), 0});
  column[0] = 5;
  std::cout << "a[0, 0] is still " << a({0, 0}).item<int>() << "\n";
}
