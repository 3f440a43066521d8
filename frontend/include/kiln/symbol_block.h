#pragma once
#include <kiln/block.h>
#include <kiln/symbol.h>

namespace kiln {

/// A network that computes a Symbol: what an exported model becomes. Its variables are its inputs and its
/// parameters.
class KILN_API SymbolBlock : public HybridBlock {
 public:
  /// `inputs` are variables of `outputs`; the other variables become parameters (without values until they
  /// are loaded or initialized). `params`, when given, are shared by name. Throws for an operator that Kiln
  /// does not have.
  SymbolBlock(const Symbol& outputs, const std::vector<Symbol>& inputs,
              const ParameterDict* params = nullptr);
  /// Reads what export_model() and MXNet's HybridBlock.export wrote. Throws, naming the file, for an input
  /// that is no variable, an array that is missing, and one that the symbol lacks.
  static SymbolBlock imports(const std::string& symbol_file, const std::vector<std::string>& input_names,
                             const std::string& param_file = "");

  const Symbol& symbol() const;
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
