// Block and HybridBlock: networks, and their compilation.
#pragma once
#include <kiln/bound_call.h>
#include <kiln/compiled_call.h>
#include <kiln/f.h>
#include <kiln/index_at.h>
#include <kiln/options.h>
#include <kiln/parameter.h>
#include <kiln/symbol.h>
#include <kiln/tensor.h>

#include <atomic>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

class Block;
class BlockIterator;
class CachedCall;

namespace detail {
struct BlockState;  // shared by all copies of one block; frontend/gluon/block/block_state.h
struct BlockAccess;

/// The recordings of one object. A copy of the object starts without recordings, since its plain members may
/// differ; equal recordings share their code.
class KILN_API ObjectCalls {
 public:
  ObjectCalls() = default;
  ObjectCalls(const ObjectCalls&) {}
  ObjectCalls(ObjectCalls&& o) noexcept { *this = std::move(o); }
  ObjectCalls& operator=(const ObjectCalls& o) { return this == &o ? *this : *this = ObjectCalls(); }
  ObjectCalls& operator=(ObjectCalls&& o) noexcept {
    published_.store(o.published_.exchange(nullptr));
    owned_ = std::move(o.owned_);
    identity_.reset();
    o.identity_.reset();
    return *this;
  }
  /// Expires when this object ends, is moved or is assigned to. One thread at a time.
  std::weak_ptr<const void> identity() const {
    if (!identity_) identity_ = std::make_shared<char>();
    return identity_;
  }
  /// Null before the first hybridized call.
  CachedCall* find() const { return published_.load(std::memory_order_acquire); }
  /// Creates it on first use, under the state's lock.
  std::shared_ptr<CachedCall> get(BlockState& state);

 private:
  std::shared_ptr<CachedCall> owned_;
  std::atomic<CachedCall*> published_{nullptr};
  mutable std::shared_ptr<const void> identity_;
};

/// The name of a type as the compiler writes it: "kiln::nn::Dense".
template <class T>
constexpr std::string_view type_text() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;  // "... [with T = kiln::nn::Dense; ...]"
  constexpr std::size_t begin = text.find("T = ") + 4;
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

[[noreturn]] KILN_API void fail_undefined_child(const Block& owner, const std::string& name,
                                                std::source_location where);
}  // namespace detail

namespace rnn {
class RecurrentCell;
}
namespace loss {
class Loss;
}
class Trainer;
class TrainStep;

/// The inputs or results of a call.
using Tensors = std::vector<Tensor>;

/// Braced inputs of one tensor type.
template <class T>
concept BracedInput = std::convertible_to<T, Tensor> && !std::same_as<T, Symbol>;

/// A name scope: during its lifetime, blocks made on this thread get the owner's prefix and are numbered
/// within it.
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

/// Removes a hook from its block on request; its destructor keeps the hook.
class KILN_API HookHandle {
 public:
  /// Removes the hook; without effect if it is removed.
  void detach();

 private:
  friend class Block;
  std::weak_ptr<detail::BlockState> block_;
  std::uint64_t id_ = 0;
};

/// A part of a network: parameters, children and a computation on tensors. A program derives from it (rather
/// from HybridBlock), creates children and parameters in the constructor and overrides forward(). A block is
/// a handle: copies share parameters, children, hooks and compiled code; only plain members of the derived
/// class are copied. `net.add(Residual(8))` stores a copy that is the same block. A handle that was moved
/// from can be assigned another block; any other use throws. Thread rule: concurrent calls are safe; the
/// program synchronises all other operations, and the release of arrays that hybrid_forward reads.
class KILN_API Block {
 public:
  explicit Block(const BlockOptions& options = {});
  virtual ~Block();
  Block(const Block&) = default;
  Block(Block&&) = default;
  /// Rebinds this handle to another block. Parents of the handle record again.
  Block& operator=(const Block& o);
  Block& operator=(Block&& o);

  /// The prefix of parameter names: "hybridsequential0_".
  const std::string& prefix() const;
  /// The prefix without its last underscore.
  std::string name() const;
  /// The class name in printed forms, and the stem of generated prefixes. For a class that was compiled with
  /// -fno-rtti it is "Block" or "HybridBlock", unless overridden.
  virtual std::string class_name() const;
  /// The parameters of this block without its children.
  ParameterDict params() const;
  /// All parameters of the tree. `select`: a regular expression matched at the start of the full name.
  ParameterDict collect_params(const std::string& select = "") const;
  /// Names of blocks and parameters made within the scope begin with this block's prefix.
  [[nodiscard]] BlockScope name_scope() const;

  /// Makes `block` a child; its number is the default name. The children of a HybridBlock must be
  /// HybridBlocks.
  void register_child(std::shared_ptr<Block> block, const std::string& name = "",
                      std::source_location where = std::source_location::current());
  template <std::derived_from<Block> B>
  void register_child(const B& block, const std::string& name = "",
                      std::source_location where = std::source_location::current()) {
    register_child(std::static_pointer_cast<Block>(std::make_shared<B>(block)), name, where);
  }
  std::size_t size() const;  ///< number of children
  /// `for (Block& child : net)`: the children in order, those at the beginning of the loop.
  /// @{
  BlockIterator begin() const;
  BlockIterator end() const;
  /// @}
  /// Child number i; negative counts from the end.
  Block& operator[](IndexAt i) const;
  /// The child with that name.
  Block& child(std::string_view name, std::source_location where = std::source_location::current()) const;
  /// The children with their names, in order.
  std::vector<std::pair<std::string, std::shared_ptr<Block>>> children() const;
  /// Downcast: `net[0].as<nn::Dense>().weight`. Throws if the block has another type, and if its class was
  /// compiled with -fno-rtti.
  template <class B>
  B& as() {
#ifdef __cpp_rtti
    require_known_type(detail::type_text<B>());
    if (auto* block = dynamic_cast<B*>(this)) return *block;
    fail_type(detail::type_text<B>());
#else
    static_assert(std::derived_from<B, Block>,
                  "with -fno-rtti as<B>() needs a class derived from kiln::Block");
    require_type(detail::type_text<B>());
    return static_cast<B&>(*this);
#endif
  }

  /// Parameter::initialize() of all parameters of the tree, for `init` as their default.
  void initialize(const Initializer& init = init::Uniform(), const InitializeOptions& options = {},
                  std::source_location where = std::source_location::current()) const;
  /// Activates compilation of this block and its descendants; a plain Block passes it on to its children.
  void hybridize(const HybridizeOptions& options = {}) const;
  template <std::same_as<bool> Bool>
  void hybridize(Bool active) const {
    hybridize(HybridizeOptions{.active = active});
  }
  /// Converts all floating-point parameters to another floating-point dtype. Inputs of later calls must have
  /// it too. Throws for a dtype of integers, and for a network of int8 weights: cast it before quantize().
  virtual void cast(DType dtype);
  /// Moves all parameters, and their gradients, to a device; inputs of later calls must be there too. States
  /// of a Trainer follow in its next step.
  void to(Device device, std::source_location where = std::source_location::current()) const;
  /// Applies fn to all descendants, children first, then to this block.
  void apply(const std::function<void(Block&)>& fn);

  /// Parameter values by path in the tree: "0.weight", "features.1.gamma".
  void save_parameters(const std::string& path,
                       std::source_location where = std::source_location::current()) const;
  /// Reads a file of save_parameters() or of Gluon. Throws for an array without a parameter, and for one of
  /// another shape; see LoadOptions.
  void load_parameters(const std::string& path, const LoadOptions& options = {},
                       std::source_location where = std::source_location::current()) const;
  /// MXNet's old names of save_parameters() and load_parameters().
  /// @{
  void save_params(const std::string& path,
                   std::source_location where = std::source_location::current()) const {
    save_parameters(path, where);
  }
  void load_params(const std::string& path, const LoadOptions& options = {},
                   std::source_location where = std::source_location::current()) const {
    load_parameters(path, options, where);
  }
  /// @}

  /// Runs the network on `inputs` and prints its layers with output shapes and parameter counts. Throws for a
  /// hybridized network.
  void summary(const Tensors& inputs, std::ostream& os = std::cout) const;
  void summary(const Tensor& x, std::ostream& os = std::cout) const { summary(Tensors{x}, os); }

  /// A function that runs before forward(), or after it: in each call of this block, and once per recording
  /// where a hybridized parent calls it. The handle detaches it.
  /// @{
  using PreHook = std::function<void(Block&, const Tensors& inputs)>;
  using Hook = std::function<void(Block&, const Tensors& inputs, const Tensors& outputs)>;
  HookHandle register_forward_pre_hook(PreHook hook) const;
  HookHandle register_forward_hook(Hook hook) const;
  /// @}

  // Calls. Overloads with one result throw if the block returns several: pass a vector then. A const block
  // can be called, since a block is a handle. Its forward() must not change members of a `const` object.
  using Where = std::source_location;
  /// A call: forward() of these inputs, compiled if the block is hybridized. `where` is the program's line,
  /// in errors and profiles. Throws kiln::Error for inputs that the block cannot take.
  /// @{
  Tensor operator()(Where where = Where::current()) const;
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;
  Tensor operator()(const Tensor& x, const Tensor& y, Where where = Where::current()) const;
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where where = Where::current()) const;
  Tensors operator()(const Tensors& inputs, Where where = Where::current()) const;
  template <BracedInput T>  // makes `net({x})` a call with a vector, like `net({x, y})`
  Tensors operator()(std::initializer_list<T> inputs, Where where = Where::current()) const {
    return (*this)(Tensors(inputs.begin(), inputs.end()), where);
  }
  /// @}
  /// Composes a symbol without shapes.
  Symbol operator()(const Symbol& x, Where where = Where::current()) const;
  template <std::same_as<Symbol> S>  // keeps `net({x, y})` a call with tensors
  Symbol operator()(const std::vector<S>& inputs, Where where = Where::current()) const {
    return compose(inputs, where);
  }

  /// The printed form: the class and the children by name.
  virtual std::string str() const;

 protected:
  /// Numbers blocks created as arguments of one call from left to right, independent of the evaluation order.
  /// Null: a block created earlier. Their names must not have been used yet.
  static void number_in_order(const std::vector<const Block*>& arguments);
  /// `kind`: the stem of names ("dense"); layers of the library pass it before their class is complete.
  Block(const BlockOptions& options, std::string_view kind);

  // Override one. Calls with a vector, and several results, use the last.
  virtual Tensor forward();
  virtual Tensor forward(const Tensor& x);
  virtual Tensor forward(const Tensor& x, const Tensor& y);
  virtual Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z);
  virtual Tensors forward(const Tensors& inputs);
  virtual bool is_hybrid() const { return false; }
  /// hybridize() for this block alone; the children follow.
  virtual void set_active(const HybridizeOptions& options) const;

 private:
  friend struct detail::BlockAccess;
  friend class HybridBlock;
  template <class B>
  friend class Child;
  detail::BlockState& state() const;
  /// This block as a cell; null if it is none.
  virtual rnn::RecurrentCell* recurrent_cell() { return nullptr; }
  void require_known_type(std::string_view wanted) const;
  void require_type(std::string_view wanted) const;
  [[noreturn]] void fail_type(std::string_view wanted) const;
  void leave_for(const Block& o);
  bool left_for(const Block& o) const;
  void claim_child_name(const std::string& name, Where where) const;
  Tensors call(std::span<const Tensor> inputs, Where where) const;
  Symbol compose(std::span<const Symbol> inputs, Where where) const;
  Tensor call_for_one(std::span<const Tensor> inputs, Where where) const;

  std::shared_ptr<detail::BlockState> state_;
  mutable detail::ObjectCalls calls_;
};

/// The children of a Block in order. It must not outlive the block's handle.
class BlockIterator {
 public:
  using value_type = Block;
  using reference = Block&;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;

  BlockIterator() = default;
  BlockIterator(const Block& parent, std::size_t at) : parent_(&parent), at_(at) {}
  /// The child at this place.
  /// @{
  Block& operator*() const { return (*parent_)[at_]; }
  Block* operator->() const { return &**this; }
  /// @}
  /// Goes to the next child; of iterators of one parent.
  /// @{
  BlockIterator& operator++() {
    ++at_;
    return *this;
  }
  BlockIterator operator++(int) {
    BlockIterator old = *this;
    ++at_;
    return old;
  }
  bool operator==(const BlockIterator& o) const { return at_ == o.at_; }
  /// @}

 private:
  const Block* parent_ = nullptr;
  std::size_t at_ = 0;
};
inline BlockIterator Block::begin() const { return {*this, 0}; }
inline BlockIterator Block::end() const { return {*this, size()}; }

/// A block whose computation can be compiled. A program overrides the hybrid_forward with the block's number
/// of tensors (a vector for more than three, or for several results) and computes with `F` and the operators
/// of tensors. Parameters are members: `F.dot(x, fc3_weight)`. After hybridize(), hybrid_forward runs once
/// per signature (input shapes, dtypes, mode) on traced tensors, and the recording is compiled. A plain
/// member that it reads (a flag, a float) is baked into the recording; an Attr is tracked. Hooks of children
/// are recorded too. Scopes of autograd (Record, Pause, TrainMode, PredictMode) and PrecisionScope hold for
/// the operators called in them.
///
/// The next call records again after any of these:
///
/// - a change of children, hooks, dtype or Attrs of a block in the tree, or hybridize();
///
/// - the assignment of a member that is a parameter or a block;
///
/// - the release of a captured tensor by the program;
///
/// - a change of a property that hybrid_forward read of a parameter (grad_req(), lr_mult(), ...);
///
/// - a change of elements that it read, by item(), data(), printing or any other way, of an array older than
///   the recording.
///
/// The answers of is_training(), is_recording() and is_recorded() are a part of the signature. Two changes
/// are not seen. One is of state that is no array, as a plain member or global. The other is a captured
/// tensor that is replaced while another handle holds the old array. KILN_CHECK=recording finds both.
class KILN_API HybridBlock : public Block {
 public:
  explicit HybridBlock(const BlockOptions& options = {});

  /// Writes the graph of the latest recording as PREFIX-symbol.json and the parameters as PREFIX-000N.params.
  /// Throws before hybridize() and a first call, if hybrid_forward writes into its inputs or captured arrays,
  /// and for names that are no UTF-8. Records hybrid_forward again at larger extents of each axis. The graph
  /// depends on an extent if hybrid_forward computes with x.shape(). A warning then names the operators with
  /// their lines, and the file declares its extents: a call of the imported file with others is an error. As
  /// in MXNet, casts of mixed precision (kiln/amp.h) are left out by default.
  void export_model(const std::string& path_prefix, int epoch = 0, bool remove_amp_cast = true,
                    Where where = Where::current()) const;
  /// The valid recordings of this block and its copies, oldest first. Of recordings that share code, only the
  /// one of this object is listed; if it has none, the oldest.
  std::vector<CompiledCall> compiled_calls() const;

  /// Binds a call to its input arrays: `auto step = net.bind({x}); step();` computes net(x) into the same
  /// result each time, with a lower fixed cost per call (BoundCall). Records and compiles on demand, for this
  /// thread's training mode. Throws before hybridize(), for a block with hooks, for uninitialised parameters,
  /// and for calls that run eagerly (CompiledCall::compiled).
  [[nodiscard]] BoundCall bind(const Tensors& inputs, Where where = Where::current()) const;

  /// A training step as one call (TrainStep): `auto step = net.train_step(loss, trainer); step({x},
  /// labels);`. The network and the loss must outlive it, where they are.
  [[nodiscard]] TrainStep train_step(const loss::Loss& loss, const Trainer& trainer) const;

  /// Infers unknown parameter shapes of this block from the inputs. The default records hybrid_forward and
  /// infers weights by the operators' shape rules. Override it if these do not suffice (see
  /// Parameter::set_shape).
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
  /// Whether a direct call of this block can be compiled. Evaluated at each recording.
  virtual bool records_alone() const { return true; }

 private:
  friend struct detail::BlockAccess;
};

/// A block that is called with a list of states after its input: a recurrent layer or cell.
template <class B>
concept CalledWithStates = requires(B& block, const Tensor& x, const Tensors& states) {
  block(x, states);
};

/// A child as a member: `Child<nn::Dense> fc1{this, "fc1"};`, then in the constructor `fc1 =
/// nn::Dense(120);`. The assignment registers the child; its name is the key in printed forms and saved
/// files.
template <class B>
class Child {
 public:
  /// Throws if the owner has a Child with that name already.
  Child(Block* owner, std::string name, std::source_location where = std::source_location::current())
      : owner_(*owner), name_(std::move(name)) {
    owner_.claim_child_name(name_, where);
  }
  Child(const Child&) = default;
  Child(Child&&) = default;
  Child& operator=(Child&&) = default;
  /// Shares the other's child: the same block with the same parameters.
  Child& operator=(const Child& o) {
    if (owner_.left_for(o.owner_)) {  // the owner was assigned: its members follow
      owner_ = o.owner_;
      name_ = o.name_;
      block_ = o.block_;
    } else if (o.block_) {
      assign(o.block_);
    }
    return *this;
  }
  Child& operator=(const B& block) { return assign(std::make_shared<B>(block)); }
  /// Keeps the dynamic type: `Child<HybridBlock> output` takes any HybridBlock.
  template <std::derived_from<B> D>
  Child& operator=(const D& block) {
    return assign(std::make_shared<D>(block));
  }
  bool defined() const { return block_ != nullptr; }  ///< whether there is a child
  /// The child. Throws if it is undefined.
  /// @{
  B& operator*() const { return *block(); }
  B* operator->() const { return block().get(); }
  /// @}

  using Where = std::source_location;
  /// Calls the child, as Block's operator(). Throws if it is undefined.
  /// @{
  Tensor operator()(Where where = Where::current()) const { return (*get(where))(where); }
  Tensor operator()(const Tensor& x, Where where = Where::current()) const { return (*get(where))(x, where); }
  Tensor operator()(const Tensor& x, const Tensor& y, Where where = Where::current()) const {
    return (*get(where))(x, y, where);
  }
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where where = Where::current()) const {
    return (*get(where))(x, y, z, where);
  }
  Tensors operator()(const Tensors& inputs, Where where = Where::current()) const {
    return (*get(where))(inputs, where);
  }
  template <BracedInput T>
  Tensors operator()(std::initializer_list<T> inputs, Where where = Where::current()) const {
    return (*get(where))(inputs, where);
  }
  /// @}
  /// The call of a recurrent layer or cell: `auto [y, states] = gru(x, {state});`
  auto operator()(const Tensor& x, const Tensors& states,
                  Where where = Where::current()) const requires CalledWithStates<B> {
    const std::shared_ptr<Block> kept = get(where);
    return static_cast<B&>(*kept)(x, states, where);
  }
  template <BracedInput T>  // makes one braced state a list of states
  auto operator()(const Tensor& x, std::initializer_list<T> states,
                  Where where = Where::current()) const requires CalledWithStates<B> {
    return (*this)(x, Tensors(states.begin(), states.end()), where);
  }

 private:
  Child& assign(std::shared_ptr<B> block) {
    owner_.register_child(std::static_pointer_cast<Block>(block), name_);
    block_ = std::move(block);
    return *this;
  }
  /// Holds a copy of the handle: the call may rebind this one.
  std::shared_ptr<Block> get(Where where) const { return block(where); }
  const std::shared_ptr<B>& block(Where where = {}) const {
    if (!block_) [[unlikely]]
      detail::fail_undefined_child(owner_, name_, where);
    return block_;
  }
  Block owner_;  // shares the owner's state
  std::string name_;
  std::shared_ptr<B> block_;
};

KILN_API std::ostream& operator<<(std::ostream& os, const Block& block);  ///< prints str()

}  // namespace kiln
