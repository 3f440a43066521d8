// Workloads of one operator, at sizes that are not known beforehand.
#pragma once
#include "bench/workload.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

/// A kind of workload is one operator at sizes that a seed draws, so that no size is known beforehand. The
/// sizes are drawn here alone: other libraries read them (`kiln-bench --kinds=SEED --shapes`).
namespace bench {

/// The arguments of one workload by name: numbers, shapes (arrays of numbers).
using Sizes = nlohmann::ordered_json;

/// Draws the sizes of one workload: the same for the same seed, kind and number of the workload.
class Draw {
 public:
  Draw(std::uint64_t seed, const std::string& kind, int number);

  /// An extent in [low, high], uniform in its logarithm. By the workload's number all its extents are in turn
  /// any, prime, and multiples of 16, where the range has such.
  std::int64_t extent(std::int64_t low, std::int64_t high);
  /// How many parts of `size` elements have at most `elements` and at least a sixteenth of them; 1 or more.
  std::int64_t count(std::int64_t size, std::int64_t elements) {
    return extent(std::max<std::int64_t>(1, elements / 16 / size),
                  std::max<std::int64_t>(1, elements / size));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[generator_() % values.size()];
  }

 private:
  std::mt19937_64 generator_;
  int number_;
};

struct Kind {
  std::string name;
  std::function<Sizes(Draw&)> draw;
  std::function<Workload(const Sizes&)> make;
  std::string same_sizes = {};  ///< the kind whose sizes it has; empty: its own
};

// One function per family.
std::vector<Kind> row_kinds();
std::vector<Kind> elementwise_kinds();
std::vector<Kind> movement_kinds();
std::vector<Kind> normalization_kinds();
std::vector<Kind> product_kinds();
std::vector<Kind> convolution_kinds();
std::vector<Kind> low_precision_kinds();

/// Registers ten workloads of each kind as KIND/SIZES.
void add_kinds(std::uint64_t seed);
/// Prints them, one JSON object a line: the name of the workload, its kind, and the sizes by name.
void print_shapes(std::uint64_t seed);

/// The shape with that name.
kiln::Shape shape_of(const Sizes& sizes, const char* name = "shape");

/// A "shape" of images (batch, channels, side, side): of at most two million elements, or one image.
Sizes draw_images(Draw& d);

/// A kind with one input of standard normal numbers, which has the sizes' "shape".
Kind unary(std::string name, std::function<Sizes(Draw&)> draw,
           std::function<kiln::Tensor(kiln::F&, const kiln::Tensor&, const Sizes&)> body);

}  // namespace bench
