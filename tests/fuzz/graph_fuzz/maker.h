// A random graph under construction.
#pragma once
#include "graphs/graph.h"
#include "graphs/values.h"

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace graphs {

/// An output of a node, with the value that eager running gave it.
struct Made {
  Ref ref;
  kiln::Tensor value;
  bool wanted = false;  ///< becomes an output of the graph

  kiln::Shape shape() const { return value.shape(); }
  kiln::DType dtype() const { return value.dtype(); }
};
using MadeList = std::vector<Made>;

/// A graph under construction, and the random numbers it is drawn with. Every node runs eagerly when it is
/// added. Draws whose order matters are separate statements: C++ does not fix the order in which arguments
/// are evaluated.
class Maker {
 public:
  explicit Maker(std::uint64_t seed);
  /// Of the body of a loop or branch in the graph.
  Maker for_body();

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  /// How many bodies the graph lies in.
  int depth() const { return depth_; }
  /// Whether arrays are large enough for kernels that work on a few rows at a time.
  bool large() const { return large_; }
  std::int64_t max_elements() const;

  // Random choice

  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool chance(std::size_t one_in) { return pick(one_in) == 0; }
  std::mt19937_64& random() { return random_; }
  template <class T>
  T one_of(const std::vector<T>& list) {
    return list[pick(list.size())];
  }
  std::string one_of(std::initializer_list<const char*> list) { return *(list.begin() + pick(list.size())); }
  kiln::DType pick_dtype();
  kiln::DType pick_float();
  /// Few elements, extents of 1 and 0 among them; in a large graph mostly one with many rows.
  kiln::Shape some_shape();
  /// One of `list`, or 1 in one of `one_in` draws.
  std::int64_t extent(const std::vector<std::int64_t>& list, std::size_t one_in = 4) {
    return chance(one_in) ? 1 : one_of(list);
  }

  // Values

  /// Younger values more often, so that graphs get deep.
  Made some_value();
  /// A number of axes above zero. Throws kiln::Error where the value drawn has none.
  Made some_array();
  Made variable(const kiln::Shape& shape, kiln::DType dtype, const Values& values = {});
  Made variable_of(const kiln::Tensor& value);
  /// x as an array of another shape and dtype: cast, repeated, cut and reshaped.
  Made adapted(Made x, const kiln::Shape& shape, kiln::DType dtype);
  /// A value of that shape and dtype; nothing where there is none.
  std::optional<Made> alike(const kiln::Shape& shape, kiln::DType dtype);
  /// An array of that shape, computed or from the caller.
  Made array(const kiln::Shape& shape, kiln::DType dtype);
  /// x, or x cast to a dtype of reals.
  Made as_float(const Made& x);

  // Nodes

  /// Adds a node and runs it. Throws kiln::Error where Kiln does not take it.
  MadeList node(const std::string& op, const MadeList& inputs, const Attributes& attrs = {},
                const std::string& subgraphs = {});
  /// Its first output.
  Made one(const std::string& op, const MadeList& inputs, const Attributes& attrs = {}) {
    return node(op, inputs, attrs)[0];
  }
  /// Values that later nodes may take.
  void offer(const MadeList& values) { made_.insert(made_.end(), values.begin(), values.end()); }
  /// Adds the nodes of a family and offers their values, or none where Kiln does not take them.
  void attempt(const std::function<MadeList(Maker&)>& family);
  /// The graph, when nothing more is added to it.
  Graph finish();

 private:
  Maker(std::uint64_t seed, bool special, int depth);

  std::mt19937_64 random_;
  bool special_;
  bool large_ = false;
  int depth_ = 0;
  Graph graph_;
  MadeList made_;
};

// The text of an attribute.

std::string number(std::size_t n);
std::string tuple(const std::vector<std::int64_t>& numbers);
std::string pair(std::int64_t a, std::int64_t b);

}  // namespace graphs
