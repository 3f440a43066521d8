// Nodes with bodies.
#pragma once
#include "frontend/trace/call_trace.h"

#include <exception>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// Recording a node with bodies: loops and branches, and functions that define their gradient.
namespace kiln {

/// Positions of inputs and variables, as in the attributes of a node with bodies.
using Positions = std::vector<std::int64_t>;

/// The tensor as a value of the enclosing trace (Trace::resolve); `t` itself without one.
Tensor resolved(const Tensor& t);
/// A node that copies the value, so that each result of a body is a separate node, as in MXNet.
Tensor recorded_copy(const Tensor& t, std::source_location where);

/// The node that runs the bodies. Inputs are added one by one; the functions return their positions.
class ControlNode {
 public:
  std::int64_t own_input(const Tensor& t) {
    inputs_.push_back(t);
    return static_cast<std::int64_t>(inputs_.size()) - 1;
  }
  /// An input for a captured value. Bodies share inputs for variables but not for computed values, as in
  /// MXNet.
  std::int64_t input(const Tensor& t);
  void set(std::string_view name, std::int64_t v) { given_.set(name, v); }
  void set(std::string_view name, const Positions& positions);
  std::size_t input_count() const { return inputs_.size(); }

  std::vector<Tensor> record(std::string_view op, std::span<const ir::SubgraphPtr> bodies,
                             std::source_location where);

 private:
  std::vector<Tensor> inputs_;
  std::unordered_map<const ir::Node*, std::int64_t> shared_;
  ir::Attrs given_;
  std::vector<std::pair<std::string_view, Positions>> positions_;
};

/// Subgraphs are numbered by kind within a thread, as MXNet numbers them within a process.
std::string subgraph_name(const std::string& kind);
/// Names given during its lifetime may be given again after it. For recordings that no exported file shows.
class SubgraphNameScope {
 public:
  SubgraphNameScope();
  ~SubgraphNameScope();
  SubgraphNameScope(const SubgraphNameScope&) = delete;

 private:
  std::unordered_map<std::string, int> before_;
};

/// Rejects the recording if an error leaves the body of a node during its lifetime. A program that catches it
/// has run a part of the body, which no node represents.
class CaughtErrors {
 public:
  CaughtErrors() = default;
  ~CaughtErrors() {
    if (call_ && std::uncaught_exceptions() > errors_)
      call_->run_eagerly("it catches an error of the body of a loop, branch or Function");
  }
  CaughtErrors(const CaughtErrors&) = delete;
  /// The recorded call; null while Symbols are composed.
  CallTrace* call() const { return call_; }

 private:
  CallTrace* const call_ = Trace::current() ? Trace::current()->call() : nullptr;
  const int errors_ = std::uncaught_exceptions();
};

}  // namespace kiln
