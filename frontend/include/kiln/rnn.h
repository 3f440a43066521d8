// Recurrent cells.
#pragma once
#include <kiln/block.h>

#include <functional>
#include <type_traits>

/// Recurrent cells, with MXNet's names, defaults and printed forms. A cell computes one step; unroll() runs
/// it over a sequence. Cells and recurrent layers describe their states by StateInfo and create the initial
/// ones by BeginStateOptions.
namespace kiln {

namespace detail {
struct CellState;  // shared by all copies of one cell; frontend/gluon/rnn/rnn_cell.h
struct CellAccess;
}  // namespace detail

namespace rnn {

/// One state of a cell. An unknown batch extent is 0.
struct StateInfo {
  Shape shape;                ///< with the batch, as `layout` says
  std::string layout = "NC";  ///< N is the batch
};

/// Creates the initial value of one state. `name`: the node's name in MXNet.
/// Makes the initial state of a name.
using StateFunction = std::function<Tensor(const std::string& name, const StateInfo& info)>;

/// Options of begin_state().
struct BeginStateOptions {
  std::int64_t batch_size = 0;  ///< 0 is allowed only without shapes (symbols)
  StateFunction func = {};      ///< default: zeros
  DType dtype = DType::f32;     ///< of the zeros
};

/// The results of one step: `auto [output, states] = cell(x, states);`
struct StepOutput {
  Tensor output;   ///< of the step
  Tensors states;  ///< for the next step
};

/// A sequence: one tensor with a time axis, or a list with one tensor per step.
class KILN_API Sequence {
 public:
  Sequence() = default;
  /// One tensor with an axis of steps, or a list with a tensor for each step.
  /// @{
  Sequence(const Tensor& merged) : tensor_(merged) {}
  Sequence(const Symbol& merged) : tensor_(merged) {}
  Sequence(Tensors steps) : steps_(std::move(steps)) {}
  Sequence(std::initializer_list<Tensor> steps) : steps_(steps) {}
  /// @}

  /// Whether this is one tensor.
  bool merged() const { return tensor_.defined(); }
  /// The tensor. Throws for a list.
  const Tensor& tensor() const;
  operator const Tensor&() const { return tensor(); }  ///< as tensor()
  /// The list. Throws for a merged tensor.
  const Tensors& steps() const;
  /// The list of steps. Throws for a merged tensor.
  /// @{
  std::size_t size() const { return steps().size(); }
  const Tensor& operator[](std::size_t i) const;
  auto begin() const { return steps().begin(); }
  auto end() const { return steps().end(); }
  /// @}

 private:
  Tensor tensor_;
  Tensors steps_;
};

/// Options of unroll().
struct UnrollOptions {
  Tensors begin_state = {};                ///< default: begin_state()
  std::string layout = "NTC";              ///< of merged inputs and outputs: T is time
  std::optional<bool> merge_outputs = {};  ///< one tensor, or a list; default: the cheaper one
  /// Sequence lengths, (batch,): outputs beyond them are 0, the states belong to the last valid step.
  Tensor valid_length = {};
};

/// `auto [outputs, states] = cell.unroll(...)`
struct UnrollOutput {
  Sequence outputs;  ///< merged or a list, as `merge_outputs` says
  Tensors states;    ///< after the last step
};

/// The base of all cells; each is a Block. The step counter, and tensors that some cells keep between steps,
/// are per thread: several threads may unroll one cell. A const cell can be called, as a const block.
class KILN_API RecurrentCell {
 public:
  virtual ~RecurrentCell();
  using Where = std::source_location;

  /// One step: x (batch, ...) and the states of state_info(). Throws for another number of states.
  StepOutput operator()(const Tensor& x, const Tensors& states, Where where = Where::current()) const;
  /// Always throws: a step needs states.
  StepOutput operator()(const Tensor& x, Where where = Where::current()) const;
  /// The states that a step takes and returns.
  virtual std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const = 0;
  /// The initial states. Throws without a batch size, and for a cell inside a modifier (call the modifier's).
  virtual Tensors begin_state(const BeginStateOptions& options = {}) const;
  Tensors begin_state(std::int64_t batch_size, Where where = Where::current()) const;
  /// Runs `length` steps. inputs: (batch, length, ...) in layout "NTC", (length, batch, ...) in "TNC", or a
  /// list of `length` tensors (batch, ...). Resets the cell first. Throws for another number of
  /// steps.
  UnrollOutput unroll(std::int64_t length, const Sequence& inputs, const UnrollOptions& options = {},
                      Where where = Where::current()) const;
  /// Clears the tensors kept between steps and the step counter, recursively.
  virtual void reset();

 protected:
  RecurrentCell();
  RecurrentCell(const RecurrentCell&) = default;
  RecurrentCell& operator=(const RecurrentCell&) = default;
  virtual Block& block() = 0;
  virtual UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                                    const UnrollOptions& options);
  /// Whether a step reads tensors kept by an earlier one: then a single step cannot be compiled.
  virtual bool keeps_tensors() const;

 private:
  friend struct detail::CellAccess;
  /// The cell: a const handle gives access to it, too.
  RecurrentCell& self() const { return const_cast<RecurrentCell&>(*this); }
  std::shared_ptr<detail::CellState> cell_;
};

/// A cell that can be compiled. A custom cell overrides state_info and hybrid_forward(F, x, states).
class KILN_API HybridRecurrentCell : public HybridBlock, public RecurrentCell {
 public:
  using Where = std::source_location;
  explicit HybridRecurrentCell(const BlockOptions& options = {}) : HybridBlock(options) {}
  using RecurrentCell::operator();
  void infer_shape(const Tensors& inputs) override;

 protected:
  HybridRecurrentCell(const BlockOptions& options, std::string_view kind) : HybridBlock(options, kind) {}
  using HybridBlock::hybrid_forward;
  virtual StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states);
  Tensors hybrid_forward(F& F, const Tensors& inputs) final;
  Block& block() final { return *this; }
  bool records_alone() const override;
  friend struct detail::CellAccess;

 private:
  RecurrentCell* recurrent_cell() final { return this; }
};

/// Options of RNNCell, LSTMCell and GRUCell.
struct CellOptions {
  std::string activation = {};            ///< RNNCell, LSTMCell; empty for tanh
  std::string recurrent_activation = {};  ///< LSTMCell's gates; empty for sigmoid
  /// The initial values of the parameters: i2h from input, h2h from state.
  /// @{
  Initializer i2h_weight_initializer = {};
  Initializer h2h_weight_initializer = {};
  Initializer i2h_bias_initializer = "zeros";
  Initializer h2h_bias_initializer = "zeros";
  /// @}
  std::int64_t input_size = 0;             ///< features of the input; 0: from the first one
  std::optional<std::string> prefix = {};  ///< of the block's name; nothing: made from its class
  const ParameterDict* params = nullptr;   ///< parameters to share; null: own ones
};

/// The base of cells with dense layers: i2h_weight (gates * hidden, input), h2h_weight (gates * hidden,
/// hidden) and their biases.
class KILN_API DenseCell : public HybridRecurrentCell {
 public:
  std::string str() const override;
  void infer_shape(const Tensors& inputs) override;
  /// From input (i2h) and state (h2h), gates one after the other.
  Parameter i2h_weight, h2h_weight, i2h_bias, h2h_bias;

 protected:
  /// `recurrent_size`: the extent of the recurrent state; 0 for hidden_size.
  DenseCell(std::string_view kind, std::int64_t gates, std::int64_t hidden_size, const CellOptions& options,
            Where where, std::int64_t recurrent_size = 0);
  /// Both dense results, and the prefix "t0_" of the step's nodes.
  struct Products {
    std::string prefix;
    Tensor i2h, h2h;
  };
  Products products(const Tensor& x, const Tensor& h) const;
  std::string step_prefix() const;

  std::int64_t hidden_size_;
  std::int64_t gates_;
  std::string activation_, recurrent_activation_;
};

/// h' = activation(W_i x + b_i + W_h h + b_h). One state (batch, hidden).
class KILN_API RNNCell : public DenseCell {
 public:
  explicit RNNCell(std::int64_t hidden_size, const CellOptions& options = {}, Where where = Where::current());
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
};

/// Long short-term memory: c' = f * c + i * g, h' = o * tanh(c'), with the gates i, f, g, o in this order in
/// the weights. Two states, h and c (batch, hidden).
class KILN_API LSTMCell : public DenseCell {
 public:
  explicit LSTMCell(std::int64_t hidden_size, const CellOptions& options = {},
                    Where where = Where::current());
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
};

/// Gated recurrent unit, cuDNN's form: h' = (1 - z) * tanh(W_n x + b + r * (U_n h + b)) + z * h.
/// The weights hold the gates in the order r, z, n. One state (batch, hidden).
class KILN_API GRUCell : public DenseCell {
 public:
  explicit GRUCell(std::int64_t hidden_size, const CellOptions& options = {}, Where where = Where::current());
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
};

/// A cell that is a block.
template <class C>
concept CellBlock = std::derived_from<C, Block> && std::derived_from<C, RecurrentCell>;

/// A stack of cells of any kind.
class KILN_API SequentialRNNCell : public Block, public RecurrentCell {
 public:
  explicit SequentialRNNCell(const BlockOptions& options = {}) : Block(options, "sequentialrnncell") {}
  /// Appends cells, each takes the outputs of the one before.
  template <class... C>
  requires(CellBlock<std::remove_cvref_t<C>>&&...) void add(C&&... cells) {
    if constexpr (sizeof...(C) > 1)
      number_in_order({(std::is_lvalue_reference_v<C> ? nullptr : static_cast<const Block*>(&cells))...});
    (register_child(cells), ...);
  }
  using RecurrentCell::operator();
  using Block::operator[];
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  using RecurrentCell::begin_state;
  Tensors begin_state(const BeginStateOptions& options) const override;
  std::string str() const override;

 protected:
  Tensors forward(const Tensors& inputs) override;
  Block& block() final { return *this; }
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;

 private:
  RecurrentCell* recurrent_cell() final { return this; }
};

/// A stack of HybridRecurrentCells, compiled as a whole.
class KILN_API HybridSequentialRNNCell : public HybridRecurrentCell {
 public:
  explicit HybridSequentialRNNCell(const BlockOptions& options = {})
      : HybridRecurrentCell(options, "hybridsequentialrnncell") {}
  /// Appends cells; each takes the outputs of the one before.
  template <class... C>
  requires(std::derived_from<std::remove_cvref_t<C>, HybridRecurrentCell>&&...) void add(C&&... cells) {
    if constexpr (sizeof...(C) > 1)
      number_in_order({(std::is_lvalue_reference_v<C> ? nullptr : static_cast<const Block*>(&cells))...});
    (register_child(cells), ...);
  }
  using Block::operator[];
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  using RecurrentCell::begin_state;
  Tensors begin_state(const BeginStateOptions& options) const override;
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;
};

/// Runs one cell forward and one backward over a sequence and concatenates the outputs. Has no single step.
class KILN_API BidirectionalCell : public HybridRecurrentCell {
 public:
  /// The cells from the first step on, and from the last one back. A cell given by value is copied: a handle
  /// of the same parameters.
  template <class L, class R>
  requires(std::derived_from<std::remove_cvref_t<L>, HybridRecurrentCell>&&
               std::derived_from<std::remove_cvref_t<R>, HybridRecurrentCell>)
      BidirectionalCell(L&& l_cell, R&& r_cell, const std::string& output_prefix = "bi_",
                        Where where = Where::current())
      : BidirectionalCell(std::make_shared<std::remove_cvref_t<L>>(l_cell),
                          std::make_shared<std::remove_cvref_t<R>>(r_cell), output_prefix, where) {
    number_in_order({std::is_lvalue_reference_v<L> ? nullptr : static_cast<const Block*>(&l_cell),
                     std::is_lvalue_reference_v<R> ? nullptr : static_cast<const Block*>(&r_cell)});
  }
  BidirectionalCell(std::shared_ptr<HybridRecurrentCell> l_cell, std::shared_ptr<HybridRecurrentCell> r_cell,
                    const std::string& output_prefix = "bi_", Where where = Where::current());
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  using RecurrentCell::begin_state;
  Tensors begin_state(const BeginStateOptions& options) const override;
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;

 private:
  std::string output_prefix_;
};

/// Options of DropoutCell.
struct DropoutCellOptions {
  Shape axes = {};  ///< axes that share one mask
  std::optional<std::string> prefix = {};
};
/// Dropout on the input; no states.
class KILN_API DropoutCell : public HybridRecurrentCell {
 public:
  explicit DropoutCell(double rate, const DropoutCellOptions& options = {}, Where where = Where::current());
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;

 private:
  double rate_;
  Shape axes_;
};

/// A modifier of a cell. The base cell cannot be used by itself any more.
class KILN_API ModifierCell : public HybridRecurrentCell {
 public:
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  using RecurrentCell::begin_state;
  Tensors begin_state(const BeginStateOptions& options) const override;
  std::string str() const override;
  HybridRecurrentCell& base_cell() const { return *base_; }  ///< the cell that it wraps

 protected:
  /// Throws if the cell has a modifier already.
  ModifierCell(std::shared_ptr<HybridRecurrentCell> base, std::string_view kind, Where where);
  std::shared_ptr<HybridRecurrentCell> base_;
};

/// Residual connection: adds the input to the output.
class KILN_API ResidualCell : public ModifierCell {
 public:
  /// The cell `base`. A cell given by value is copied: a handle of the same parameters.
  template <std::derived_from<HybridRecurrentCell> C>
  requires(!std::same_as<C, ResidualCell>) explicit ResidualCell(const C& base,
                                                                 Where where = Where::current())
      : ResidualCell(std::make_shared<C>(base), where) {}
  explicit ResidualCell(std::shared_ptr<HybridRecurrentCell> base, Where where = Where::current());

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;
};

/// In training mode keeps each element of the previous step's output and states with these probabilities. The
/// cell keeps the previous output until reset(), so hybridize() compiles the base cell, and networks that use
/// the modifier, but not the modifier itself.
class KILN_API ZoneoutCell : public ModifierCell {
 public:
  /// The cell `base`, with the rates of its output and its states. A cell given by value is copied: a handle
  /// of the same parameters.
  template <std::derived_from<HybridRecurrentCell> C>
  requires(!std::same_as<C, ZoneoutCell>) explicit ZoneoutCell(const C& base, double zoneout_outputs = 0,
                                                               double zoneout_states = 0,
                                                               Where where = Where::current())
      : ZoneoutCell(std::make_shared<C>(base), zoneout_outputs, zoneout_states, where) {}
  explicit ZoneoutCell(std::shared_ptr<HybridRecurrentCell> base, double zoneout_outputs = 0,
                       double zoneout_states = 0, Where where = Where::current());
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  bool keeps_tensors() const override;

 private:
  double outputs_, states_;
};

}  // namespace rnn
}  // namespace kiln
