// Views of concrete arrays: entries of the tape that cut them out, and writes into memory.
#include "frontend/autograd/tape.h"
#include "frontend/call/view_recorder.h"
#include "frontend/tensor/elements.h"
#include "frontend/view/derivation.h"

namespace kiln {

using detail::Array;
using detail::TensorAccess;

void detail::write_on_tape(const Tensor& view, const Tensor& value, const Tensor& part,
                           const Tensor& elements, std::source_location where) {
  record_write(view, value, !same_view(view, part), where);
  before_write(*TensorAccess::array(view));
  copy_elements(part, elements);
  TensorAccess::array(view)->bump_version();
}

namespace {

class TapedViews final : public ViewRecorder {
 public:
  Tensor record(const OpCall& call) const override { return detail::record_on_tape(call); }
  Tensor constant(const Tensor& t, std::source_location) const override {
    const Shape& shape = TensorAccess::shape(t);
    return TensorAccess::make(std::make_shared<Array>(Buffer::none(TensorAccess::device(t)), shape), 0, shape,
                              TensorAccess::dtype(t));
  }
  bool has_own_value(const Tensor& t) const override { return detail::has_own_value(t); }
  Tensor own_value(const Tensor& t, const Tensor& of, std::uint64_t call,
                   std::source_location where) const override {
    if (!detail::is_recording() && !detail::has_link(of)) return t;
    return detail::own_value(t, detail::link_of(of, where), call);
  }
  void write(const Tensor& view, const Tensor&, const Tensor& value,
             std::source_location where) const override {
    detail::write_on_tape(view, value, view, value, where);
  }
};

}  // namespace

const ViewRecorder& taped_views() {
  static constinit const TapedViews views;
  return views;
}

}  // namespace kiln
