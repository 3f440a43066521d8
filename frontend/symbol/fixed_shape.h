// Fixed input extents of a symbol file.
#pragma once
#include "ir/attrs.h"
#include "ir/graph.h"

#include <kiln/error.h>

#include <string>

/// Fixed input extents of a symbol file. A graph recorded from a program that computes with `x.shape()` is
/// valid at these extents only. The input's variable declares them in the attribute `__fixed_shape__`: "(2,
/// None)" is two rows of any length. MXNet ignores attributes of that form.
namespace kiln {

/// An input does not have the fixed shape of the file.
class FixedShapeError : public Error {
 public:
  using Error::Error;
};

/// Declares extents; no value: any.
void set_fixed_shape(std::map<std::string, std::string>& attrs, const ir::OptionalInts& extents);

/// Throws FixedShapeError if a declared extent differs from a known one of `shape`; for nullptr (a symbol
/// without shapes) if any is declared. `file` may be empty.
void require_fixed_shape(const ir::Node& variable, const ir::PartialShape* shape, const std::string& file);

}  // namespace kiln
