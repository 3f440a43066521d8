// Blocks of blocks: sequences and concurrent branches.
#pragma once
#include <kiln/block.h>

#include <span>
#include <type_traits>

namespace kiln {

namespace detail {

/// The argument of add(): a block and the caller's source location.
struct Added {
  template <class B>
  requires std::derived_from<std::remove_cvref_t<B>, Block> Added(
      B&& b, std::source_location line = std::source_location::current())
      : block(std::make_shared<std::remove_cvref_t<B>>(b)),
        made_for_call(!std::is_lvalue_reference_v<B>),
        where(line) {}
  template <std::derived_from<Block> B>
  Added(std::shared_ptr<B> b, std::source_location line = std::source_location::current())
      : block(std::move(b)), where(line) {}

  std::shared_ptr<Block> block;
  bool made_for_call = false;
  std::source_location where;
};

/// Registers children, numbered from left to right. Errors and nodes of a child have the line that added it.
KILN_API void add_children(Block& container, std::span<const Added> blocks);

}  // namespace detail

namespace nn {

/// Runs its children in order. Children may be any blocks.
class KILN_API Sequential : public Block {
 public:
  /// Without children: add() appends them.
  explicit Sequential(const BlockOptions& options = {});
  /// With children, as add(): `Sequential net{nn::Flatten(), nn::Dense(10)}`. Copies of blocks are the same
  /// blocks. One block of this class is copied, not added.
  template <std::convertible_to<detail::Added>... B>
  explicit Sequential(detail::Added first, B&&... others) : Sequential(BlockOptions{}) {
    add(std::move(first), std::forward<B>(others)...);
  }
  /// Adds children, numbered from 0.
  template <std::convertible_to<detail::Added>... B>
  void add(detail::Added first, B&&... others) {
    [[maybe_unused]] const std::source_location where = first.where;
    const detail::Added blocks[] = {std::move(first), detail::Added(std::forward<B>(others), where)...};
    detail::add_children(*this, blocks);
  }
  using Block::operator[];
  /// A new container with the children [begin, end), which are shared.
  Sequential operator[](Slice s) const;

 protected:
  Sequential(const BlockOptions& options, std::string_view kind);
  Tensors forward(const Tensors& inputs) override;
  void set_active(const HybridizeOptions& options) const override;
};

/// A Sequential of HybridBlocks, which can be compiled as a whole.
class KILN_API HybridSequential : public HybridBlock {
 public:
  /// Without children: add() appends them.
  explicit HybridSequential(const BlockOptions& options = {});
  /// With children, as add(): `HybridSequential net{nn::Flatten(), nn::Dense(10)}`. Copies of blocks are the
  /// same blocks. One block of this class is copied, not added.
  template <std::convertible_to<detail::Added>... B>
  explicit HybridSequential(detail::Added first, B&&... others) : HybridSequential(BlockOptions{}) {
    add(std::move(first), std::forward<B>(others)...);
  }
  /// Adds children, numbered from 0.
  template <std::convertible_to<detail::Added>... B>
  void add(detail::Added first, B&&... others) {
    [[maybe_unused]] const std::source_location where = first.where;
    const detail::Added blocks[] = {std::move(first), detail::Added(std::forward<B>(others), where)...};
    detail::add_children(*this, blocks);
  }
  using Block::operator[];
  /// A container of these children, which are the same blocks.
  HybridSequential operator[](Slice s) const;

 protected:
  HybridSequential(const BlockOptions& options, std::string_view kind);
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;
};

/// Applies every child to the input and concatenates the results along `axis`.
class KILN_API Concurrent : public Sequential {
 public:
  explicit Concurrent(int axis = -1, const BlockOptions& options = {});

 protected:
  Tensors forward(const Tensors& inputs) override;

 private:
  int axis_;
};

/// Options of HybridConcurrent, for a name prefix.
struct HybridConcurrentOptions {
  int axis = -1;                           ///< the axis along which results are joined
  std::optional<std::string> prefix = {};  ///< of the block's name; nothing: made from its class
};
/// Concurrent of HybridBlocks, which can be compiled as a whole.
class KILN_API HybridConcurrent : public HybridSequential {
 public:
  /// Without children: add() appends them.
  /// @{
  explicit HybridConcurrent(int axis = -1, const BlockOptions& options = {});
  explicit HybridConcurrent(const HybridConcurrentOptions& options)
      : HybridConcurrent(options.axis, BlockOptions{.prefix = options.prefix}) {}
  /// @}

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  int axis_;
};

/// Returns its input.
class KILN_API Identity : public HybridBlock {
 public:
  explicit Identity(const BlockOptions& options = {}) : HybridBlock(options, "identity") {}

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;
};

/// A block from an operator's name ("relu") or a function of F and tensors.
class KILN_API HybridLambda : public HybridBlock {
 public:
  /// From the inputs of a call to its results.
  using Function = std::function<Tensors(F& F, const Tensors& inputs)>;
  /// The operator of F named `op_name`. Throws if there is none.
  /// @{
  explicit HybridLambda(const std::string& op_name, const BlockOptions& options = {},
                        Where where = Where::current());
  explicit HybridLambda(const char* op_name, const BlockOptions& options = {}, Where where = Where::current())
      : HybridLambda(std::string(op_name), options, where) {}
  /// @}
  /// A function of F and one tensor, or of two.
  template <class Fn>
  requires std::is_invocable_v<Fn, F&, const Tensor&>
  explicit HybridLambda(Fn fn, const BlockOptions& options = {})
      : HybridLambda(
            1, [fn](F& f, const Tensors& in) { return Tensors{fn(f, in[0])}; }, options) {}
  template <class Fn>
  requires std::is_invocable_v<Fn, F&, const Tensor&, const Tensor&>
  explicit HybridLambda(Fn fn, const BlockOptions& options = {})
      : HybridLambda(
            2, [fn](F& f, const Tensors& in) { return Tensors{fn(f, in[0], in[1])}; }, options) {}
  std::string str() const override;

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  HybridLambda(std::size_t arity, Function fn, const BlockOptions& options);
  std::size_t arity_ = 0;  // 0: an operator
  std::string op_name_;
  Function fn_;
};

/// The same for a function that reads values, which cannot be compiled.
class KILN_API Lambda : public Block {
 public:
  /// A function of one tensor.
  using Function = std::function<Tensor(const Tensor&)>;
  /// The operator of F named `op_name`. Throws if there is none.
  /// @{
  explicit Lambda(const std::string& op_name, const BlockOptions& options = {},
                  Where where = Where::current());
  explicit Lambda(const char* op_name, const BlockOptions& options = {}, Where where = Where::current())
      : Lambda(std::string(op_name), options, where) {}
  /// @}
  /// This function, which runs in each call.
  explicit Lambda(Function fn, const BlockOptions& options = {});
  std::string str() const override;

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  std::string op_name_;
  Function fn_;
};

}  // namespace nn

using nn::Concurrent;
using nn::HybridConcurrent;
using nn::HybridLambda;
using nn::HybridSequential;
using nn::Identity;
using nn::Lambda;
using nn::Sequential;

}  // namespace kiln
