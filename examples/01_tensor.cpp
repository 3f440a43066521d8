// Lesson 1: a Tensor is a handle to an array. This lesson makes arrays, prints them and reads their elements.
//
// Every lesson is a program by itself; README.md says how to build it. The output of this one is
// 01_tensor.out on every machine: the bits of a result depend neither on the processor nor on the number of
// threads.
#include <kiln/kiln.h>

#include <iostream>
#include <vector>

using namespace kiln;

int main() {
  // Values in braces make a vector, rows in braces a matrix. The default dtype is float32.
  Tensor v{1, 2, 3};
  Tensor m{{1, 2, 3}, {4, 5, 6}};
  std::cout << "v has shape " << v.shape() << ", m has shape " << m.shape() << ", both are " << m.dtype()
            << "\n";

  // A tensor prints as an NDArray of MXNet does: the elements, then shape and device.
  std::cout << m << "\n";

  // Factories take a shape, and a dtype where it is not float32.
  Tensor z = zeros({2, 2}, DType::i32);
  Tensor r = arange(0, 1, 0.25);
  std::cout << z << "\n" << r << "\n";

  // Values of a std::vector are copied, in C order: the last axis is contiguous.
  std::vector<double> samples{0.5, 1.5, 2.5, 3.5};
  Tensor s(samples, {2, 2});
  std::cout << "s is " << s.dtype() << " with " << s.size() << " elements on " << s.ndim() << " axes\n";

  // Random numbers are a function of the seed and of the calls before.
  random::seed(42);
  std::cout << random::uniform(0, 1, {3}) << "\n";

  // Reading: item() of one element, to_vector() of all, each converted to the wanted type.
  const float last = m({1, 2}).item<float>();
  int sum = 0;
  for (int x : m.to_vector<int>()) sum += x;
  std::cout << "the last element is " << last << ", the sum " << sum << "\n";

  // A copy of the handle is the same array; copy() makes another array.
  Tensor same = v, other = v.copy();
  v[0] = 100;
  std::cout << "same[0] is " << same[0].item<int>() << ", other[0] is " << other[0].item<int>() << "\n";

  // A mistake throws kiln::Error. The message starts with the line of the program.
  try {
    v.reshape({2, 2});
  } catch (const Error& e) {
    const std::string message = e.what();
    std::cout << "error: " << message.substr(message.find("01_tensor.cpp")) << "\n";
  }
}
