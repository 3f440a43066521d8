// numpy/core/arrayprint.py, _formatArray and _leading_trailing, and MXNet's NDArray.__repr__ around them.
#include "frontend/tensor/print.h"

#include "frontend/eager/numpy_scope.h"
#include "frontend/tensor/array.h"
#include "frontend/tensor/convert.h"
#include "frontend/tensor/elements.h"
#include "frontend/tensor/number_format.h"
#include "frontend/tensor/view.h"
#include "ir/attrs.h"

#include <kiln/f_numpy.h>

#include <fmt/format.h>
#include <ostream>

namespace kiln {
namespace {

constexpr std::int64_t threshold = 1000;  // larger arrays are abridged
constexpr std::int64_t edge = 3;          // elements shown at each end of an axis
constexpr int line_width = 75;

bool abridged(const Shape& shape) { return shape.elements() > threshold; }

class ArrayPrinter {
 public:
  ArrayPrinter(const Shape& shape, const std::function<std::string(std::int64_t)>& element,
               std::string_view separator)
      : shape_(shape), element_(element), separator_(separator), abridge_(abridged(shape)) {}

  std::string print(int axis, std::int64_t first, const std::string& indent, int width) const {
    const int left = shape_.rank() - axis;
    if (left == 0) return element_(first);
    const std::int64_t extent = shape_[static_cast<std::size_t>(axis)];
    std::int64_t stride = 1;
    for (int i = axis + 1; i < shape_.rank(); ++i) stride *= shape_[static_cast<std::size_t>(i)];
    const bool summary = abridge_ && 2 * edge < extent;
    std::string out;
    std::string line = indent;
    for (std::int64_t i = 0; i < extent; ++i) {
      const bool last = i == extent - 1;
      const bool dots = summary && i == edge;
      if (dots) i = extent - edge - 1;  // "..." replaces the elements up to here
      if (left == 1) {
        const std::string word = dots ? "..." : element_(first + i * stride);
        extend(out, line, word, width - 1, indent);
        if (!last) line += separator_;
      } else {
        out += indent + (dots ? "..." : print(axis + 1, first + i * stride, indent + ' ', width - 1));
        if (!last)
          out.append(separator_.substr(0, separator_.find(' ')))
              .append(static_cast<std::size_t>(left - 1), '\n');
      }
    }
    if (left == 1) out += line;
    return '[' + out.substr(indent.size()) + ']';
  }

 private:
  // Appends a word to the line. Begins a new line first if the word does not fit and the line is not empty.
  static void extend(std::string& out, std::string& line, const std::string& word, int width,
                     const std::string& indent) {
    if (static_cast<int>(line.size() + word.size()) > width && line.size() > indent.size()) {
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
      line = indent;
    }
    line += word;
  }

  const Shape& shape_;
  const std::function<std::string(std::int64_t)>& element_;
  std::string_view separator_;
  bool abridge_;
};

void collect(const Shape& shape, int axis, std::int64_t first, bool abridge, std::vector<std::int64_t>& out) {
  if (axis == shape.rank()) {
    out.push_back(first);
    return;
  }
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  std::int64_t stride = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) stride *= shape[static_cast<std::size_t>(i)];
  for (std::int64_t i = 0; i < extent; ++i) {
    if (abridge && 2 * edge < extent && i == edge) i = extent - edge;
    collect(shape, axis + 1, first + i * stride, abridge, out);
  }
}

}  // namespace

std::string format_array(const Shape& shape, const std::function<std::string(std::int64_t)>& element,
                         const ArrayFrame& frame) {
  return ArrayPrinter(shape, element, frame.separator)
      .print(0, 0, std::string(static_cast<std::size_t>(frame.before + 1), ' '), line_width - frame.after);
}

std::string elements_text(const Tensor& t, const ArrayFrame& frame) {
  const Shape& shape = detail::TensorAccess::shape(t);
  const DType dtype = t.dtype();
  if (shape.elements() == 0) return "[]";
  const HostElements elements(t);
  const void* const data = elements.data();
  const std::vector<std::int64_t> shown = shown_elements(shape);
  if (is_floating(dtype)) {
    std::vector<double> values;
    for (std::int64_t i : shown) values.push_back(real_at(data, dtype, static_cast<std::size_t>(i)));
    const NumberFormat format(values, dtype);
    return format_array(
        shape, [&](std::int64_t i) { return format(real_at(data, dtype, static_cast<std::size_t>(i))); },
        frame);
  }
  if (dtype == DType::boolean) {
    const char* yes = shape.empty() ? "True" : " True";
    return format_array(
        shape,
        [&](std::int64_t i) {
          return std::string(integer_at(data, dtype, static_cast<std::size_t>(i)) ? yes : "False");
        },
        frame);
  }
  std::size_t width = 0;
  const auto text = [&](std::int64_t i) {
    return std::to_string(integer_at(data, dtype, static_cast<std::size_t>(i)));
  };
  for (std::int64_t i : shown) width = std::max(width, text(i).size());
  return format_array(
      shape,
      [&](std::int64_t i) {
        std::string s = text(i);
        return std::string(width - s.size(), ' ') + s;
      },
      frame);
}

std::vector<std::int64_t> shown_elements(const Shape& shape) {
  std::vector<std::int64_t> out;
  collect(shape, 0, 0, abridged(shape), out);
  return out;
}

// Arrays of MXNet's numpy: numpy's array_str, and array_repr with MXNet's rule for the dtype.

namespace {

/// Whether `a` has elements to print, as symbols and undefined tensors do not.
bool is_value(const Tensor& a) { return a.defined() && !a.is_traced(); }

/// A number as numpy's scalars print: 2.0, 0.33333334, True.
std::string scalar_text(const Tensor& a) {
  if (a.dtype() == DType::f64) return ir::python_float(real_at(HostElements(a).data(), DType::f64, 0));
  std::string text = elements_text(a);
  if (is_floating(a.dtype()) && text.back() == '.') text += '0';
  return text;
}

/// Whether numpy's repr omits the dtype: nonempty arrays of the types of Python's own numbers.
bool is_implied(const Tensor& a) {
  return a.size() > 0 && (a.dtype() == DType::f64 || a.dtype() == DType::i64 || a.dtype() == DType::boolean);
}

}  // namespace

std::string F::numpy::array_str(const Tensor& a) {
  if (!is_value(a)) return to_string(a);
  return a.ndim() == 0 ? scalar_text(a) : elements_text(a);
}

std::string F::numpy::array_repr(const Tensor& a) {
  if (!is_value(a)) return to_string(a);
  const bool shaped = a.size() > 0 || a.shape() == Shape{0};
  std::string text = "array(" + (shaped ? elements_text(a, {.separator = ", ", .before = 6, .after = 1})
                                        : "[], shape=" + a.shape().str());
  if (a.dtype() == DType::f32 || (a.dtype() == DType::boolean && a.size() > 0)) return text + ")";
  // numpy breaks the line before a dtype that does not fit; MXNet appends the dtypes that numpy omits to the
  // last line.
  const std::string dtype = fmt::format("dtype={})", name_of(a.dtype()));
  const std::size_t last_line = text.size() + 1 - (text.rfind('\n') + 1);
  const bool fits = is_implied(a) || last_line + dtype.size() + 1 <= static_cast<std::size_t>(line_width);
  return text + (fits ? ", " : ",\n      ") + dtype;
}

std::string to_string(const Tensor& t) {
  if (!t.defined()) return "<NDArray without elements>";
  if (t.is_traced()) return "<Symbol " + t.name() + ">";
  if (NumpyScope::program()) return np::array_str(t);
  std::string extents;
  for (std::int64_t d : detail::TensorAccess::shape(t))
    extents += (extents.empty() ? "" : "x") + std::to_string(d);
  return "\n" + elements_text(t) + "\n<NDArray " + extents + " @" + t.device().str() + ">";
}

std::ostream& operator<<(std::ostream& os, const Tensor& t) { return os << to_string(t); }
std::ostream& operator<<(std::ostream& os, const Shape& shape) { return os << shape.str(); }
std::ostream& operator<<(std::ostream& os, DType dtype) { return os << name_of(dtype); }
std::ostream& operator<<(std::ostream& os, const Device& device) { return os << device.str(); }

}  // namespace kiln
