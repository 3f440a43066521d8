#pragma once
#include <kiln/bound_call.h>
#include <kiln/f.h>
#include <kiln/options.h>
#include <kiln/parameter.h>
#include <kiln/symbol.h>
#include <kiln/tensor.h>

#include <atomic>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

namespace kiln {

class Block;
class CachedCall;

namespace detail {
struct BlockState;  // what the copies of one block share; frontend/gluon/block/block_state.h
struct BlockAccess;

/// The recordings of one object. Not copied with it: plain members of a copy may differ, so a copy records
/// for itself (and shares the code where the recording is the same).
class KILN_API ObjectCalls {
 public:
  ObjectCalls() = default;
  ObjectCalls(const ObjectCalls&) {}
  ObjectCalls(ObjectCalls&& o) noexcept { *this = std::move(o); }
  ObjectCalls& operator=(const ObjectCalls& o) { return this == &o ? *this : *this = ObjectCalls(); }
  ObjectCalls& operator=(ObjectCalls&& o) noexcept {
    published_.store(o.published_.exchange(nullptr));
    owned_ = std::move(o.owned_);
    return *this;
  }
  /// Null before the first hybridized call.
  CachedCall* find() const { return published_.load(std::memory_order_acquire); }
  /// Made if need be, under the state's lock.
  std::shared_ptr<CachedCall> get(BlockState& state);

 private:
  std::shared_ptr<CachedCall> owned_;
  std::atomic<CachedCall*> published_{nullptr};
};
}  // namespace detail

using Tensors = std::vector<Tensor>;

/// Inputs in braces, of one type that is a tensor.
template <class T>
concept BracedInput = std::convertible_to<T, Tensor> && !std::same_as<T, Symbol>;

/// While it lives, blocks that this thread makes get the owner's prefix, and are numbered within it.
class KILN_API BlockScope {
 public:
  ~BlockScope();
  BlockScope(const BlockScope&) = delete;
  BlockScope& operator=(const BlockScope&) = delete;

 private:
  friend class Block;
  struct Impl;
  explicit BlockScope(std::shared_ptr<detail::BlockState> block);
  std::unique_ptr<Impl> impl_;
};

/// Takes a hook off its block; doing nothing keeps it.
class KILN_API HookHandle {
 public:
  void detach();

 private:
  friend class Block;
  std::weak_ptr<detail::BlockState> block_;
  std::uint64_t id_ = 0;
};

/// A part of a network: parameters, children and a computation on tensors. A program derives from it (or
/// rather from HybridBlock), makes its children and parameters in the constructor and overrides forward(). A
/// block is a handle: copies share parameters, children, hooks and compiled code; only plain members of a
/// program's own class are copied. `net.add(Residual(8))` thus keeps a copy that is the same block. Thread
/// rule: calls may come from many threads at once; everything else is the program's to order, and so is
/// letting go of an array that hybrid_forward reads.
class KILN_API Block {
 public:
  explicit Block(const BlockOptions& options = {});
  virtual ~Block();
  Block(const Block&) = default;
  Block(Block&&) = default;
  /// Another block in this one's place. Compiled calls that used this one record again.
  Block& operator=(const Block& o);
  Block& operator=(Block&& o);

  /// "hybridsequential0_": what names of parameters begin with.
  const std::string& prefix() const;
  /// The prefix without its last underscore.
  std::string name() const;
  /// The name of the class, as printed forms show it.
  virtual std::string class_name() const;
  /// The parameters of this block alone, without those of its children.
  ParameterDict params() const;
  /// All parameters of the tree; with `select`, a regular expression, those whose full name begins with a
  /// match.
  ParameterDict collect_params(const std::string& select = "") const;
  [[nodiscard]] BlockScope name_scope() const;

  /// Makes `block` a child, by its number when `name` is empty. The children of a HybridBlock must be
  /// HybridBlocks.
  void register_child(std::shared_ptr<Block> block, const std::string& name = "");
  template <std::derived_from<Block> B>
  void register_child(const B& block, const std::string& name = "") {
    register_child(std::static_pointer_cast<Block>(std::make_shared<B>(block)), name);
  }
  std::size_t size() const;  ///< number of children
  /// Child number i; negative counts from the end.
  Block& operator[](int i) const;
  /// The child of that name.
  Block& child(std::string_view name) const;
  std::vector<std::pair<std::string, std::shared_ptr<Block>>> children() const;
  /// This block as what it is: `net[0].as<nn::Dense>().weight`. Throws when it is something else.
  template <class B>
  B& as() {
    if (auto* block = dynamic_cast<B*>(this)) return *block;
    wrong_type(typeid(B));
  }

  void initialize(const Initializer& init = init::Uniform(), const InitializeOptions& options = {}) const;
  /// Compiles: on a HybridBlock this block and all below, on a plain Block the hybrid children.
  void hybridize(const HybridizeOptions& options = {}) const;
  template <std::same_as<bool> Bool>
  void hybridize(Bool active) const {
    hybridize(HybridizeOptions{.active = active});
  }
  /// All parameters, and the tensors given later, in another dtype.
  virtual void cast(DType dtype);
  /// Runs fn on all descendants, children first, then on this block.
  void apply(const std::function<void(Block&)>& fn);

  /// Values of all parameters by their path in the tree: "0.weight", "features.1.gamma".
  void save_parameters(const std::string& path,
                       std::source_location where = std::source_location::current()) const;
  void load_parameters(const std::string& path, const LoadOptions& options = {}) const;
  void save_params(const std::string& path,
                   std::source_location where = std::source_location::current()) const {
    save_parameters(path, where);
  }
  void load_params(const std::string& path, const LoadOptions& options = {}) const {
    load_parameters(path, options);
  }

  /// Runs the network on `inputs` and prints its layers with output shapes and numbers of parameters. Not for
  /// a network that is hybridized.
  void summary(const Tensors& inputs, std::ostream& os = std::cout);
  void summary(const Tensor& x, std::ostream& os = std::cout) { summary(Tensors{x}, os); }

  using PreHook = std::function<void(Block&, const Tensors& inputs)>;
  using Hook = std::function<void(Block&, const Tensors& inputs, const Tensors& outputs)>;
  HookHandle register_forward_pre_hook(PreHook hook) const;
  HookHandle register_forward_hook(Hook hook) const;

  // Calls. The forms with one result throw where the block gives several: pass a vector then.
  using Where = std::source_location;
  Tensor operator()(Where where = Where::current());
  Tensor operator()(const Tensor& x, Where where = Where::current());
  Tensor operator()(const Tensor& x, const Tensor& y, Where where = Where::current());
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where where = Where::current());
  Tensors operator()(const Tensors& inputs, Where where = Where::current());
  template <BracedInput T>  // so that `net({x})` is a call with a vector, as `net({x, y})` is
  Tensors operator()(std::initializer_list<T> inputs, Where where = Where::current()) {
    return (*this)(Tensors(inputs.begin(), inputs.end()), where);
  }
  /// Composes: the network applied to a symbol, without shapes.
  Symbol operator()(const Symbol& x, Where where = Where::current());
  template <std::same_as<Symbol> S>  // so that `net({x, y})` means tensors
  Symbol operator()(const std::vector<S>& inputs, Where where = Where::current()) {
    return compose(inputs, where);
  }

  /// The printed form: the class, and the children by name.
  virtual std::string str() const;

 protected:
  /// Numbers blocks that were made as arguments of one call from left to right, whatever the order in which
  /// the compiler made them. Null: one that the program made before. Their names must not have been used yet.
  static void number_in_order(const std::vector<const Block*>& arguments);
  /// `kind`: what names are made from ("dense"); the library's layers know it before their class is complete.
  Block(const BlockOptions& options, std::string_view kind);

  // Override the one that fits. Calls with a vector, and several results, take the last.
  virtual Tensor forward();
  virtual Tensor forward(const Tensor& x);
  virtual Tensor forward(const Tensor& x, const Tensor& y);
  virtual Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z);
  virtual Tensors forward(const Tensors& inputs);
  virtual bool is_hybrid() const { return false; }
  /// What hybridize() does to this block itself; the children follow.
  virtual void set_active(const HybridizeOptions& options) const;

 private:
  friend struct detail::BlockAccess;
  friend class HybridBlock;
  template <class B>
  friend class Child;
  detail::BlockState& state() const;
  [[noreturn]] void wrong_type(const std::type_info& wanted) const;
  void leave_for(const Block& o);
  bool left_for(const Block& o) const;
  void claim_child_name(const std::string& name, Where where) const;
  Tensors call(std::span<const Tensor> inputs, Where where);
  Symbol compose(std::span<const Symbol> inputs, Where where);
  Tensor call_for_one(std::span<const Tensor> inputs, Where where);

  std::shared_ptr<detail::BlockState> state_;
  detail::ObjectCalls calls_;
};

/// One recording of a hybridized block: what it was made for and what came of it.
struct CompiledCall {
  std::string inputs;  ///< "float32 (1, 512)", several with commas between
  bool train = false;
  /// False where such calls run eagerly, since no recording does the same: hybrid_forward writes to an array
  /// that it also sees through another argument, or values decide which array it writes to.
  bool compiled = true;
  std::size_t kernels = 0;      ///< launches of one call
  std::size_t arena_bytes = 0;  ///< temporaries of one call
  double compile_ms = 0;
};

/// A block whose computation can be compiled. A program overrides hybrid_forward, in the form with as many
/// tensors as the block takes (with a vector for more than three, or for several results), and computes with
/// `F` and the tensors' operators. Parameters are members: `F.dot(x, fc3_weight)`. After hybridize() it runs
/// once for each combination of input shapes, dtypes and mode, on values to come, and the recording is
/// compiled. A plain member that it reads (a flag, a float) is then part of the recording: make it an Attr,
/// and a call records again after an assignment. Hooks of children belong to the recording, too.
///
/// The next call records again after changes of: children, hooks, dtype and Attrs of any block below or
/// called, a member that is a parameter or a block, a captured tensor of which the program has no handle any
/// more, hybridize(). It cannot see other state of the program: another value of a plain member or global, a
/// captured tensor replaced by another while something else holds the old one. KILN_CHECK=recording finds
/// where that matters.
class KILN_API HybridBlock : public Block {
 public:
  explicit HybridBlock(const BlockOptions& options = {});

  /// Writes the graph of the latest recording as PREFIX-symbol.json and the parameters as PREFIX-000N.params.
  /// Throws before hybridize() and a first call, and where hybrid_forward writes into its inputs or into
  /// other arrays from outside. To find out whether the graph is the same at other sizes, hybrid_forward is
  /// recorded again at larger extents of each axis. Where it is not, because hybrid_forward computes with
  /// x.shape(), a warning names the operators with their lines, and the file declares the extents that it is
  /// for: importing it and calling it with others is an error.
  void export_model(const std::string& path_prefix, int epoch = 0, Where where = Where::current());
  /// The recordings that calls of this block and its copies can run, oldest first: one for each signature.
  /// Those that a change made stale are not among them.
  std::vector<CompiledCall> compiled_calls() const;

  /// The call on these arrays, ready to run again and again: `auto step = net.bind({x}); step();` computes
  /// what net(x) does at a part of a call's fixed cost, into the same result each time (BoundCall). Records
  /// and compiles if need be. Bound for the mode of training of this thread. Throws before hybridize(), for a
  /// block with hooks, for parameters without values, and where calls run eagerly (CompiledCall::compiled).
  [[nodiscard]] BoundCall bind(const Tensors& inputs, Where where = Where::current());

  /// Sets the shapes of parameters of this block that are not known, from the inputs. The default finds them
  /// by recording hybrid_forward: operators tell the shapes of their weights. Override it where they cannot
  /// (see Parameter::set_shape).
  virtual void infer_shape(const Tensors& inputs);

 protected:
  HybridBlock(const BlockOptions& options, std::string_view kind);

  virtual Tensor hybrid_forward(F& F);
  virtual Tensor hybrid_forward(F& F, const Tensor& x);
  virtual Tensor hybrid_forward(F& F, const Tensor& x, const Tensor& y);
  virtual Tensor hybrid_forward(F& F, const Tensor& x, const Tensor& y, const Tensor& z);
  virtual Tensors hybrid_forward(F& F, const Tensors& inputs);

  Tensor forward(const Tensor& x) final;  // a HybridBlock computes in hybrid_forward(F& F, const Tensor& x)
  Tensor forward(const Tensor& x, const Tensor& y) final;  // override hybrid_forward(F&, x, y)
  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z) final;  // override hybrid_forward
  Tensors forward(const Tensors& inputs) final;  // override hybrid_forward(F& F, const Tensors& inputs)
  bool is_hybrid() const final { return true; }
  void set_active(const HybridizeOptions& options) const override;
  /// Whether a call of this block by itself can be compiled. Evaluated at each recording.
  virtual bool records_alone() const { return true; }

 private:
  friend struct detail::BlockAccess;
};

/// A member that is a child: `Child<nn::Dense> fc1{this, "fc1"};`, then in the constructor `fc1 =
/// nn::Dense(120);`. The assignment registers it; the name is its key in printed forms and in saved files.
template <class B>
class Child {
 public:
  /// Throws where the owner has a Child of that name already.
  Child(Block* owner, std::string name, std::source_location where = std::source_location::current())
      : owner_(*owner), name_(std::move(name)) {
    owner_.claim_child_name(name_, where);
  }
  Child(const Child&) = default;
  Child(Child&&) = default;
  Child& operator=(Child&&) = default;
  /// The other's child becomes this one's too: the same block, with the same parameters.
  Child& operator=(const Child& o) {
    if (owner_.left_for(o.owner_)) {  // the block around was assigned: its members follow
      owner_ = o.owner_;
      block_ = o.block_;
    } else if (o.block_) {
      assign(o.block_);
    }
    return *this;
  }
  Child& operator=(const B& block) { return assign(std::make_shared<B>(block)); }
  /// A block of a class derived from B stays what it is: `Child<HybridBlock> output` takes any HybridBlock.
  template <std::derived_from<B> D>
  Child& operator=(const D& block) {
    return assign(std::make_shared<D>(block));
  }
  bool defined() const { return block_ != nullptr; }
  B& operator*() const { return *block_; }
  B* operator->() const { return block_.get(); }

  using Where = std::source_location;
  Tensor operator()(Where where = Where::current()) const { return (*get())(where); }
  Tensor operator()(const Tensor& x, Where where = Where::current()) const { return (*get())(x, where); }
  Tensor operator()(const Tensor& x, const Tensor& y, Where where = Where::current()) const {
    return (*get())(x, y, where);
  }
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where where = Where::current()) const {
    return (*get())(x, y, z, where);
  }
  Tensors operator()(const Tensors& inputs, Where where = Where::current()) const {
    return (*get())(inputs, where);
  }
  template <BracedInput T>
  Tensors operator()(std::initializer_list<T> inputs, Where where = Where::current()) const {
    return (*get())(inputs, where);
  }

 private:
  Child& assign(std::shared_ptr<B> block) {
    block_ = std::move(block);
    owner_.register_child(std::static_pointer_cast<Block>(block_), name_);
    return *this;
  }
  /// Holds the block: the call may put another one in its place.
  std::shared_ptr<Block> get() const {
    if (!block_) throw Error("The child '" + name_ + "' is used before a block was assigned to it.");
    return block_;
  }
  Block owner_;  // shares the owner's state
  std::string name_;
  std::shared_ptr<B> block_;
};

KILN_API std::ostream& operator<<(std::ostream& os, const Block& block);

}  // namespace kiln
