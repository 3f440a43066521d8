// The conversion of a symbol to mixed precision.
#pragma once
#include "ir/graph.h"

#include <kiln/amp.h>
#include <kiln/symbol.h>

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The symbol with casts by the options, all except data_names. Variables other than `data` are parameters:
/// they declare the dtype that their values get. Throws for bad options; `function` is the program's, for
/// messages.
Symbol with_amp_casts(const Symbol& symbol, const amp::ConvertOptions& options,
                      const std::vector<std::string>& data, std::string_view function);

/// The values in the dtypes that the variables of a converted symbol declare. Names may have the prefix
/// "arg:" or "aux:".
std::vector<NamedArray> with_amp_dtypes(const Symbol& converted, std::vector<NamedArray> values);

/// Throws for data_names, which convert_symbol() alone takes.
void require_no_data_names(const amp::ConvertOptions& options, std::string_view function);

}  // namespace kiln
