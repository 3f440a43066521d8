// SymbolBlock: a block that computes a Symbol.
#pragma once
#include <kiln/block.h>
#include <kiln/symbol.h>

#include <memory>
#include <string>
#include <vector>

namespace kiln {

/// A block that computes a Symbol, for exported models. The symbol's variables are the block's inputs and
/// parameters.
class KILN_API SymbolBlock : public HybridBlock {
 public:
  /// `inputs` are variables of `outputs`; the other variables become parameters, to be loaded or initialised.
  /// `params` are shared by name. Throws for an unknown operator.
  SymbolBlock(const Symbol& outputs, const std::vector<Symbol>& inputs,
              const ParameterDict* params = nullptr);
  /// Reads files of export_model() and MXNet's HybridBlock.export. Throws, naming the file, for an input that
  /// is no variable, a missing array, and an array that the symbol does not use.
  static SymbolBlock imports(const std::string& symbol_file, const std::vector<std::string>& input_names,
                             const std::string& param_file = "", Where where = Where::current());

  /// The graph, which lives as long as the block.
  const Symbol& symbol() const;
  /// The names of the inputs, in the order of a call's tensors.
  const std::vector<std::string>& input_names() const;
  std::string str() const override;
  std::string class_name() const override { return "SymbolBlock"; }
  void infer_shape(const Tensors& inputs) override;

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  struct State;
  SymbolBlock(const Symbol& outputs, const std::vector<std::string>& inputs, const ParameterDict* params,
              const std::string& file);
  std::shared_ptr<State> state_;
};

}  // namespace kiln
