// Clipping of gradients by the norm of all of them together.
#include "frontend/call/amp_rules.h"
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/call/readable.h"
#include "frontend/tensor/elements.h"
#include "runtime/fail.h"
#include "runtime/log.h"

#include <kiln/autograd.h>
#include <kiln/f.h>
#include <kiln/trainer.h>

#include <cmath>

namespace kiln {

double clip_global_norm(const std::vector<Tensor>& arrays, double max_norm, bool check_finite,
                        std::source_location where) {
  return at_line(where, [&] {
    if (arrays.empty()) fail("clip_global_norm needs arrays");
    if (!(max_norm > 0)) fail("clip_global_norm: max_norm is {}; a norm is above 0", max_norm);
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (check_readable(arrays[i], "clip_global_norm", {}); !is_floating(arrays[i].dtype()))
        fail(
            "clip_global_norm: array {} is {}, and scaled integers would be zeros: clip floating-point "
            "arrays, "
            "such as gradients, or cast them first",
            i, name_of(arrays[i].dtype()));
    const autograd::Pause pause;
    const CallSite site(where, where);
    // One number for each array, added up in the order of the arrays.
    std::vector<Tensor> squares;
    for (const Tensor& t : arrays) {
      const bool wide = t.dtype() == DType::f64;
      squares.push_back(
          F::cast(F::sum(F::square(wide ? t : F::cast(t, DType::f32))).reshape({1}), DType::f64));
    }
    double sum = 0;
    for (const Tensor& s : squares) sum += s.item<double>();
    const double norm = std::sqrt(sum);
    // Under mixed precision of float16 the step is skipped, and the factor of losses becomes smaller.
    if (check_finite && !std::isfinite(norm) && !amp_casts())
      warn_once("clip_global_norm",
                line_prefix(where) + "nan or inf is detected. Clipping results will be undefined.");
    const double scale = max_norm / (norm + 1e-8);
    if (scale >= 1) return norm;
    for (Tensor t : arrays) t *= scale;
    return norm;
  });
}

}  // namespace kiln
