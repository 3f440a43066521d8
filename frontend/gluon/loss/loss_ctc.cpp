// The loss of connectionist temporal classification.
#include "frontend/api/f_call.h"
#include "frontend/call/invoke.h"
#include "runtime/fail.h"

#include <kiln/loss.h>

namespace kiln::loss {

CTCLoss::CTCLoss(const CTCOptions& o, Where where)
    : Loss(o.weight, static_cast<int>(o.label_layout.find('N')), {.prefix = o.prefix}, "ctcloss"),
      layout_(o.layout),
      label_layout_(o.label_layout) {
  if (layout_ != "NTC" && layout_ != "TNC")
    fail("{}Only 'NTC' and 'TNC' layouts for pred are supported, not {}", line_prefix(where), layout_);
  if (label_layout_ != "NT" && label_layout_ != "TN")
    fail("{}Only 'NT' and 'TN' layouts for label are supported, not {}", line_prefix(where), label_layout_);
}

CTCLoss CTCLoss::with(bool pred_lengths, bool label_lengths, const CTCOptions& options, Where where) {
  CTCLoss loss(options, where);
  loss.pred_lengths_ = pred_lengths;
  loss.label_lengths_ = label_lengths;
  return loss;
}

Tensors CTCLoss::hybrid_forward(F& F, const Tensors& inputs) {
  check_inputs(inputs, {"pred", "label", "pred_lengths", "label_lengths", "sample_weight"}, 2);
  const bool pred_lengths = pred_lengths_.value_or(inputs.size() > 2);
  const bool label_lengths = label_lengths_.value_or(inputs.size() > 3);
  std::size_t next = 2 + pred_lengths + label_lengths;
  if (inputs.size() < next || inputs.size() > next + 1)
    fail("CTCLoss {} takes pred, label{}{} and, if wanted, sample_weight; got {} tensors", name(),
         pred_lengths ? ", pred_lengths" : "", label_lengths ? ", label_lengths" : "", inputs.size());
  const auto turned = [&](const Tensor& t) { return F.swapaxes(t, {.dim1 = 0, .dim2 = 1}); };
  const Tensor pred = layout_ == "NTC" ? turned(inputs[0]) : inputs[0];
  const Tensor label = batch_axis_ == 1 ? turned(inputs[1]) : inputs[1];
  std::vector<const Tensor*> in{&pred, &label};
  for (std::size_t i = 2; i < next; ++i) in.push_back(&inputs[i]);
  CallAttributes<3> given;
  given.set("use_data_lengths", ir::AttrValue(pred_lengths));
  given.set("use_label_lengths", ir::AttrValue(label_lengths));
  given.set("blank_label", ir::AttrValue(std::string("last")));
  const Tensor loss = invoke_one({.op = find_op_or_throw("CTCLoss"),
                                  .inputs = in,
                                  .given = given.items(),
                                  .where = std::source_location::current(),
                                  .hint = "ctcloss"});
  return {weighted(loss, next < inputs.size() ? inputs[next] : Tensor())};
}

}  // namespace kiln::loss
