#pragma once
#include <kiln/block.h>

#include <functional>
#include <type_traits>

/// Recurrent cells, with MXNet's names, defaults and printed forms. A cell computes one step; unroll() runs
/// it over a sequence. Everything that recurs (these cells, layers over whole sequences) describes its states
/// by StateInfo and makes the first ones by BeginStateOptions.
namespace kiln {

namespace detail {
struct CellState;  // what the copies of one cell share; frontend/gluon/rnn/rnn_cell.h
struct CellAccess;
}  // namespace detail

namespace rnn {

/// One state of a cell. The extent of the batch is 0 where it is not known.
struct StateInfo {
  Shape shape;
  std::string layout = "NC";  ///< what the axes mean: N is the batch
};

/// Makes the first value of one state. `name` is what MXNet calls its node.
using StateFunction = std::function<Tensor(const std::string& name, const StateInfo& info)>;

struct BeginStateOptions {
  std::int64_t batch_size = 0;  ///< may stay 0 only where a network is composed without shapes
  StateFunction func = {};      ///< zeros when not given
  DType dtype = DType::f32;     ///< of the zeros
};

/// What one step gives: `auto [output, states] = cell(x, states);`
struct StepOutput {
  Tensor output;
  Tensors states;
};

/// A sequence: one tensor with an axis of time, or a list with a tensor for each step.
class KILN_API Sequence {
 public:
  Sequence() = default;
  Sequence(const Tensor& merged) : tensor_(merged) {}
  Sequence(const Symbol& merged) : tensor_(merged) {}
  Sequence(Tensors steps) : steps_(std::move(steps)) {}
  Sequence(std::initializer_list<Tensor> steps) : steps_(steps) {}

  /// Whether this is one tensor.
  bool merged() const { return tensor_.defined(); }
  /// The one tensor. Throws for a list.
  const Tensor& tensor() const;
  operator const Tensor&() const { return tensor(); }
  /// The list. Throws for one tensor.
  const Tensors& steps() const;
  std::size_t size() const { return steps().size(); }
  const Tensor& operator[](std::size_t i) const;
  auto begin() const { return steps().begin(); }
  auto end() const { return steps().end(); }

 private:
  Tensor tensor_;
  Tensors steps_;
};

struct UnrollOptions {
  Tensors begin_state = {};                ///< begin_state() when empty
  std::string layout = "NTC";              ///< of merged inputs and outputs: T is time
  std::optional<bool> merge_outputs = {};  ///< one tensor, or a list; not given: whichever is less work
  /// Steps that count, (batch,): later outputs are 0 and the states are those after the last step that
  /// counts.
  Tensor valid_length = {};
};

/// `auto [outputs, states] = cell.unroll(...)`
struct UnrollOutput {
  Sequence outputs;
  Tensors states;
};

/// What all cells can do; each is a Block too. A cell counts its steps and some keep tensors from one step to
/// the next: both belong to the thread that steps, so that several threads may unroll one cell.
class KILN_API RecurrentCell {
 public:
  virtual ~RecurrentCell();
  using Where = std::source_location;

  /// One step: x (batch, ...) and as many states as state_info() says. Throws for another number.
  StepOutput operator()(const Tensor& x, const Tensors& states, Where where = Where::current());
  /// Throws: a step needs states.
  StepOutput operator()(const Tensor& x, Where where = Where::current());
  /// The states that a step takes and gives.
  virtual std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const = 0;
  /// The first states. Throws for a cell inside a modifier (call it on that), and without a batch size.
  virtual Tensors begin_state(const BeginStateOptions& options = {});
  Tensors begin_state(std::int64_t batch_size) {
    return begin_state(BeginStateOptions{.batch_size = batch_size});
  }
  /// Runs `length` steps. inputs: (batch, length, ...) in layout "NTC", (length, batch, ...) in "TNC", or a
  /// list of `length` tensors (batch, ...). Resets the cell first. Throws when inputs have another number of
  /// steps.
  UnrollOutput unroll(std::int64_t length, const Sequence& inputs, const UnrollOptions& options = {},
                      Where where = Where::current());
  /// Forgets what the cell and those in it keep from step to step; counts steps from 0.
  virtual void reset();

 protected:
  RecurrentCell();
  RecurrentCell(const RecurrentCell&) = default;
  RecurrentCell& operator=(const RecurrentCell&) = default;
  virtual Block& block() = 0;
  virtual UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                                    const UnrollOptions& options);
  /// Whether a step reads what an earlier one kept, so that a step cannot be compiled by itself.
  virtual bool keeps_tensors() const;

 private:
  friend struct detail::CellAccess;
  std::shared_ptr<detail::CellState> cell_;
};

/// A cell that can be compiled. A program's own cell overrides state_info and hybrid_forward(F, x, states).
class KILN_API HybridRecurrentCell : public HybridBlock, public RecurrentCell {
 public:
  explicit HybridRecurrentCell(const BlockOptions& options = {}) : HybridBlock(options) {}
  using RecurrentCell::operator();
  void infer_shape(const Tensors& inputs) override;

 protected:
  HybridRecurrentCell(const BlockOptions& options, std::string_view kind) : HybridBlock(options, kind) {}
  virtual StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states);
  Tensors hybrid_forward(F& F, const Tensors& inputs) final;
  Block& block() final { return *this; }
  bool records_alone() const override;
  friend struct detail::CellAccess;
};

/// How RNNCell, LSTMCell and GRUCell are made.
struct CellOptions {
  std::string activation = {};            ///< RNNCell, LSTMCell; empty for tanh
  std::string recurrent_activation = {};  ///< of LSTMCell's gates; empty for sigmoid
  Initializer i2h_weight_initializer = {};
  Initializer h2h_weight_initializer = {};
  Initializer i2h_bias_initializer = "zeros";
  Initializer h2h_bias_initializer = "zeros";
  std::int64_t input_size = 0;
  std::optional<std::string> prefix = {};
  const ParameterDict* params = nullptr;
};

/// A cell of dense products: i2h_weight (gates * hidden, input), h2h_weight (gates * hidden, hidden) and
/// their biases.
class KILN_API DenseCell : public HybridRecurrentCell {
 public:
  std::string str() const override;
  void infer_shape(const Tensors& inputs) override;
  Parameter i2h_weight, h2h_weight, i2h_bias, h2h_bias;

 protected:
  /// `recurrent_size`: the length of the state that is multiplied; 0 for hidden_size.
  DenseCell(std::string_view kind, std::int64_t gates, std::int64_t hidden_size, const CellOptions& options,
            std::int64_t recurrent_size = 0);
  /// Both products and the prefix of the step's nodes, "t0_".
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
  explicit RNNCell(std::int64_t hidden_size, const CellOptions& options = {});
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
};

/// Long short-term memory: c' = f * c + i * g, h' = o * tanh(c'), with the gates i, f, g, o in this order in
/// the weights. Two states, h and c (batch, hidden).
class KILN_API LSTMCell : public DenseCell {
 public:
  explicit LSTMCell(std::int64_t hidden_size, const CellOptions& options = {});
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
};

/// Gated recurrent unit, cuDNN's form: h' = (1 - z) * tanh(W_n x + b + r * (U_n h + b)) + z * h, with the
/// gates r, z, n in this order in the weights. One state (batch, hidden).
class KILN_API GRUCell : public DenseCell {
 public:
  explicit GRUCell(std::int64_t hidden_size, const CellOptions& options = {});
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
};

template <class C>
concept CellBlock = std::derived_from<C, Block> && std::derived_from<C, RecurrentCell>;

/// Cells one above the other, of any kind.
class KILN_API SequentialRNNCell : public Block, public RecurrentCell {
 public:
  explicit SequentialRNNCell(const BlockOptions& options = {}) : Block(options, "sequentialrnncell") {}
  template <class... C>
    requires(CellBlock<std::remove_cvref_t<C>> && ...)
  void add(C&&... cells) {
    if constexpr (sizeof...(C) > 1)
      number_in_order({(std::is_lvalue_reference_v<C> ? nullptr : static_cast<const Block*>(&cells))...});
    (register_child(cells), ...);
  }
  using RecurrentCell::operator();
  using Block::operator[];
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  using RecurrentCell::begin_state;
  Tensors begin_state(const BeginStateOptions& options) override;
  std::string str() const override;

 protected:
  Tensors forward(const Tensors& inputs) override;
  Block& block() final { return *this; }
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;
};

/// The same of cells that can be compiled, compiled as one.
class KILN_API HybridSequentialRNNCell : public HybridRecurrentCell {
 public:
  explicit HybridSequentialRNNCell(const BlockOptions& options = {})
      : HybridRecurrentCell(options, "hybridsequentialrnncell") {}
  template <class... C>
    requires(std::derived_from<std::remove_cvref_t<C>, HybridRecurrentCell> && ...)
  void add(C&&... cells) {
    if constexpr (sizeof...(C) > 1)
      number_in_order({(std::is_lvalue_reference_v<C> ? nullptr : static_cast<const Block*>(&cells))...});
    (register_child(cells), ...);
  }
  using Block::operator[];
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  using RecurrentCell::begin_state;
  Tensors begin_state(const BeginStateOptions& options) override;
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;
};

/// Runs one cell forwards and one backwards over a sequence and joins their outputs. Has no single step.
class KILN_API BidirectionalCell : public HybridRecurrentCell {
 public:
  template <std::derived_from<HybridRecurrentCell> L, std::derived_from<HybridRecurrentCell> R>
  BidirectionalCell(const L& l_cell, const R& r_cell, const std::string& output_prefix = "bi_")
      : BidirectionalCell(std::make_shared<L>(l_cell), std::make_shared<R>(r_cell), output_prefix) {}
  BidirectionalCell(std::shared_ptr<HybridRecurrentCell> l_cell, std::shared_ptr<HybridRecurrentCell> r_cell,
                    const std::string& output_prefix = "bi_");
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  using RecurrentCell::begin_state;
  Tensors begin_state(const BeginStateOptions& options) override;
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;

 private:
  std::string output_prefix_;
};

struct DropoutCellOptions {
  Shape axes = {};  ///< axes along which one mask holds
  std::optional<std::string> prefix = {};
};
/// Dropout on the input; no states.
class KILN_API DropoutCell : public HybridRecurrentCell {
 public:
  explicit DropoutCell(double rate, const DropoutCellOptions& options = {});
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

/// A cell around another. The other cannot be used by itself any more.
class KILN_API ModifierCell : public HybridRecurrentCell {
 public:
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  using RecurrentCell::begin_state;
  Tensors begin_state(const BeginStateOptions& options) override;
  std::string str() const override;
  HybridRecurrentCell& base_cell() const { return *base_; }

 protected:
  /// Throws for a cell that has a modifier already.
  ModifierCell(std::shared_ptr<HybridRecurrentCell> base, std::string_view kind);
  std::shared_ptr<HybridRecurrentCell> base_;
};

/// Adds the input to the output.
class KILN_API ResidualCell : public ModifierCell {
 public:
  template <std::derived_from<HybridRecurrentCell> C>
    requires(!std::same_as<C, ResidualCell>)
  explicit ResidualCell(const C& base) : ResidualCell(std::make_shared<C>(base)) {}
  explicit ResidualCell(std::shared_ptr<HybridRecurrentCell> base);

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;
};

/// In training keeps each element of the output and of the states from the step before with these
/// probabilities. The output before is kept by the cell until reset(): hybridize() compiles the cell inside
/// it, and networks that use it.
class KILN_API ZoneoutCell : public ModifierCell {
 public:
  template <std::derived_from<HybridRecurrentCell> C>
    requires(!std::same_as<C, ZoneoutCell>)
  explicit ZoneoutCell(const C& base, double zoneout_outputs = 0, double zoneout_states = 0)
      : ZoneoutCell(std::make_shared<C>(base), zoneout_outputs, zoneout_states) {}
  explicit ZoneoutCell(std::shared_ptr<HybridRecurrentCell> base, double zoneout_outputs = 0,
                       double zoneout_states = 0);
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  bool keeps_tensors() const override;

 private:
  double outputs_, states_;
};

}  // namespace rnn
}  // namespace kiln
