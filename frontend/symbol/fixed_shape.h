#pragma once
#include "ir/attrs.h"
#include "ir/graph.h"

#include <kiln/error.h>

#include <string>

/// Inputs of a symbol file that are of one size. A graph that was recorded from a program which computes with
/// `x.shape()` means the program at these sizes only. Its file says so at the input's variable, in the
/// attribute
/// `__fixed_shape__`: "(2, None)" is two rows of any length. MXNet's reader leaves attributes of that form
/// alone.
namespace kiln {

/// An input has another shape than the file is for.
class FixedShapeError : public Error {
 public:
  using Error::Error;
};

/// Declares extents; one without a value may be any.
void set_fixed_shape(std::map<std::string, std::string>& attrs, const ir::OptionalInts& extents);

/// Throws FixedShapeError where the variable declares another extent than `shape` has, as far as that is
/// known; with nullptr (a symbol without shapes) where it declares any. `file` may be empty.
void require_fixed_shape(const ir::Node& variable, const ir::PartialShape* shape, const std::string& file);

}  // namespace kiln
