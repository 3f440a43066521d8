// Which reads of a view are one value.
#pragma once
#include <kiln/tensor.h>

#include <cstdint>
#include <utility>

/// Each value's gradient is one chain of additions, a term for each use. So the bits of gradients depend on
/// which reads of a view count as one value. A compiled graph and the program run step by step must agree on
/// it. Two rules decide:
///
///   - Within a scope the reads of a view are one value, cut out of its array by the first of them. A call of
///     a block is a scope, and so is a step or branch of a body: each is a separate graph when it is
///     compiled.
///
///   - A handle with an alias number is a separate value, though it shares the memory of an array. Views get
///     such handles as arguments of a block, as data of a loop, or as states that a step hands on; so do
///     results of a branch. The handle is a separate value within one call of a block, including the bodies
///     there, until its array is written.
namespace kiln::detail {

/// Open during its lifetime, on its thread. Scopes nest.
class ViewScope {
 public:
  /// The next call on this thread. The numbers of its views are known before its scope opens.
  struct NextCall {
    std::uint64_t outer;   ///< the number of the innermost scope of a call
    std::uint64_t number;  ///< of its scope
    const ViewScope*& innermost;
  };
  static NextCall next_call();

  ViewScope();  ///< of a step or branch
  explicit ViewScope(const NextCall& call)
      : number_(call.number),
        call_(call.number),
        innermost_(call.innermost),
        outer_(std::exchange(innermost_, this)) {}
  ~ViewScope() { innermost_ = outer_; }
  ViewScope(const ViewScope&) = delete;

  static std::uint64_t current();  ///< the number of the innermost scope
  static std::uint64_t call();     ///< the number of the innermost scope of a call
  static bool is_open();           ///< whether this thread is in a scope
  /// Whether nothing can be in the scope any more: a scope of this thread that is closed, or of a thread that
  /// has ended.
  static bool has_ended(std::uint64_t number);

 private:
  std::uint64_t number_, call_;
  const ViewScope*& innermost_;  // of the thread
  const ViewScope* outer_;
};

/// A value that is a view of an array.
struct ViewKey {
  std::int64_t offset;
  Shape shape;
  std::uint32_t alias;
  std::uint64_t scope;

  /// A read of `t` here.
  explicit ViewKey(const Tensor& t);
  /// A separate value in scopes of `call`.
  ViewKey(const Tensor& t, std::uint64_t call);
  bool is_own() const { return own_; }
  /// Whether a read of `t` here is this value.
  bool is_read_by(const Tensor& t) const;

 private:
  bool own_ = false;
};

/// The key of the value that was just written into a view.
ViewKey written_key(const Tensor& view);

/// The same view with a new alias number. Whoever makes it gives it a value.
Tensor with_alias(const Tensor& t);

}  // namespace kiln::detail
