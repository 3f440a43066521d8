// amp::convert_model(): a model in mixed precision.
#include "frontend/call/line.h"
#include "frontend/symbol/amp_symbol.h"

#include <kiln/amp.h>

namespace kiln {

Model amp::convert_model(const Model& model, const ConvertOptions& options, std::source_location where) {
  return at_line(where, [&] {
    constexpr std::string_view function = "amp::convert_model()";
    require_no_data_names(options, function);
    const Symbol converted = with_amp_casts(model.symbol(), options, model.input_names(), function);
    return Model::from_symbol(converted, with_amp_dtypes(converted, model.params()));
  });
}

}  // namespace kiln
