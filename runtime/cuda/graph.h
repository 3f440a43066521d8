// Graphs of the driver.
#pragma once
#include "runtime/cuda/in_flight.h"
#include "runtime/cuda/stream.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::nvidia {

/// A graph of the driver: kernels and copies one after another. The caller uses the context. One thread at a
/// time.
class Graph {
 public:
  Graph();
  ~Graph();  ///< a run that is not done is not disturbed
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// The parameters are copied. `name` and `line` are for errors.
  void add_kernel(void* function, unsigned blocks, unsigned threads, void** parameters, std::string_view name,
                  std::string_view line);
  void add_copy(std::byte* to, const std::byte* from, std::size_t bytes, void* context);
  /// Enqueues the work on the stream. Nothing is added after the first run.
  void run(Stream& stream);

 private:
  void* graph_ = nullptr;
  void* last_ = nullptr;        // node; null: there is none
  void* executable_ = nullptr;  // null until the first run
  InFlight kernels_;
  std::string names_;
};

}  // namespace kiln::nvidia
