// Automatic mixed precision, with the names of MXNet's contrib.amp.
#pragma once
#include <kiln/block.h>
#include <kiln/dtype.h>
#include <kiln/export.h>
#include <kiln/model.h>
#include <kiln/precision.h>
#include <kiln/symbol.h>
#include <kiln/symbol_block.h>
#include <kiln/tensor.h>
#include <kiln/trainer.h>

#include <optional>
#include <source_location>
#include <string>
#include <vector>

/// Automatic mixed precision: operators of a list compute in half precision, parameters stay float32.
namespace kiln::amp {

/// An operator that runs in float32 if an attribute has one of the values.
struct ConditionalOp {
  std::string op;                   ///< its name in MXNet
  std::string attribute;            ///< the attribute's name
  std::vector<std::string> values;  ///< as text
};

/// Lists of operators, by MXNet's names, in place of MXNet's own lists.
struct InitOptions {
  std::optional<std::vector<std::string>> target_precision_ops = {};    ///< run in the target dtype
  std::optional<std::vector<ConditionalOp>> conditional_fp32_ops = {};  ///< some in float32
  std::optional<std::vector<std::string>> fp32_ops = {};                ///< run in float32
};

/// Begins mixed precision for all threads of the process, until its end:
///
/// - bf16: the operators of the target list, Convolution and FullyConnected, have Precision::bf16. All arrays
///   stay float32.
/// - f16: calls cast inputs of float32 and float16, by `amp_cast`. The operators of the target list take and
///   return float16, the float32 list takes float32. The widest list takes float32 if any input has it.
///   Gradients of parameters are float32.
///
/// It applies to calls of the program, hybridized ones too: of functions, operators, and layers. Symbols, and
/// networks and models made of symbols, stay as they are. Call it before any network is recorded. A further
/// call with the same dtype has no effect. Throws for another dtype, for an unknown operator, and if a
/// hybridized network has been recorded already. Thread rule: no other thread calls operators meanwhile.
KILN_API void init(DType target_dtype = DType::bf16, const InitOptions& options = {},
                   std::source_location where = std::source_location::current());

/// Prepares a trainer. With f16 it scales losses from now on: the factor begins at 65,536, doubles after
/// 2,000 steps without overflow up to 2^24, and halves when a gradient overflows. That step then changes
/// nothing. With bf16 the factor is 1. Throws before init(). Copies of the trainer are the same trainer.
KILN_API void init_trainer(Trainer& trainer, std::source_location where = std::source_location::current());

/// A loss times the trainer's factor. The trainer's next updates divide gradients by the factor. Keeps the
/// products alone; thread rule: as Trainer.
class KILN_API LossScale {
 public:
  /// `losses`: recorded arrays of any shape. Throws for a trainer without init_trainer().
  LossScale(const std::vector<Tensor>& losses, Trainer& trainer,
            std::source_location where = std::source_location::current());
  /// The scaled loss; the first of several.
  const Tensor& loss() const { return losses_.at(0); }
  /// All scaled losses.
  const std::vector<Tensor>& losses() const { return losses_; }
  /// The gradients of all of them.
  void backward(std::source_location where = std::source_location::current()) const;

 private:
  std::vector<Tensor> losses_;
};

/// `amp::scale_loss(loss, trainer).backward();` in place of `loss.backward();`
KILN_API LossScale scale_loss(const Tensor& loss, Trainer& trainer,
                              std::source_location where = std::source_location::current());
/// The same for several losses.
KILN_API LossScale scale_loss(const std::vector<Tensor>& losses, Trainer& trainer,
                              std::source_location where = std::source_location::current());

/// Divides the gradients of the trainer's parameters by the factor now, as for clip_global_norm(). The next
/// update then takes them as they are.
KILN_API void unscale(Trainer& trainer, std::source_location where = std::source_location::current());

/// The present factor of losses; 1 for a trainer without init_trainer().
KILN_API double loss_scale(const Trainer& trainer);

/// How a network of float32 is converted to mixed precision.
struct ConvertOptions {
  DType target_dtype = DType::f16;                                      ///< f16 or bf16
  std::optional<std::vector<std::string>> target_dtype_ops = {};        ///< in place of list_lp16_ops()
  std::optional<std::vector<std::string>> fp32_ops = {};                ///< in place of list_fp32_ops()
  std::optional<std::vector<ConditionalOp>> conditional_fp32_ops = {};  ///< some in float32
  std::vector<std::string> excluded_sym_names = {};                     ///< nodes that run in float32
  /// Of convert_symbol(): the variables that are inputs; unset: the ones that declare no dtype. The others
  /// are parameters.
  std::optional<std::vector<std::string>> data_names = {};
  /// Parameters that operators of the target dtype alone use have it, in the place of casts.
  bool cast_optional_params = false;
};

/// The symbol with nodes `amp_cast` and `amp_multicast`. Operators of the target list compute in the target
/// dtype, of the float32 list in float32, of the widest list in float32 if an input may have it. Bodies of
/// loops and branches, and the outputs, are float32. Parameters declare their dtype. Save it with
/// `save(path, /*remove_amp_cast=*/false)`. Throws for another target dtype, for names of no operator, node
/// or variable, for an operator in two lists, and for an operator of the widest list in a list.
KILN_API Symbol convert_symbol(const Symbol& symbol, const ConvertOptions& options = {},
                               std::source_location where = std::source_location::current());

/// The model of the converted symbol. Its parameters have the dtypes that the symbol declares; parameters
/// that keep their dtype share their arrays with `model`. Throws as convert_symbol(), and for data_names.
KILN_API Model convert_model(const Model& model, const ConvertOptions& options = {},
                             std::source_location where = std::source_location::current());

/// A block of the converted graph, with parameters of its own on the device of the given ones. Save it with
/// `export_model(prefix, epoch, /*remove_amp_cast=*/false)`. Throws as convert_symbol(), for data_names, for
/// parameters without values, and for a block that has not recorded a call: except of a SymbolBlock, call
/// hybridize() and the block before. Thread rule: as a call of the block.
KILN_API SymbolBlock convert_hybrid_block(const HybridBlock& block, const ConvertOptions& options = {},
                                          std::source_location where = std::source_location::current());

/// MXNet's lists for a dtype, f16 or bf16: the operators that Kiln has, by name, in order.
/// @{
KILN_API std::vector<std::string> list_lp16_ops(DType target_dtype);
KILN_API std::vector<std::string> list_fp32_ops(DType target_dtype);
KILN_API std::vector<std::string> list_lp16_fp32_ops(DType target_dtype);
KILN_API std::vector<std::string> list_widest_type_cast(DType target_dtype);
KILN_API std::vector<ConditionalOp> list_conditional_fp32_ops(DType target_dtype);
/// @}

}  // namespace kiln::amp
