// numpy/core/arrayprint.py, _formatArray and _leading_trailing, and MXNet's NDArray.__repr__ around them.
#include "frontend/tensor/print.h"

#include "frontend/tensor/array.h"
#include "frontend/tensor/convert.h"
#include "frontend/tensor/elements.h"
#include "frontend/tensor/number_format.h"

#include <algorithm>

namespace kiln {
namespace {

bool abridged(const Shape& shape, const PrintOptions& options) {
  return shape.elements() > options.threshold;
}

class ArrayPrinter {
 public:
  ArrayPrinter(const Shape& shape, const std::function<std::string(std::int64_t)>& element,
               std::string_view separator, const PrintOptions& options)
      : shape_(shape),
        element_(element),
        separator_(separator),
        edge_(options.edge_items),
        abridge_(abridged(shape, options)) {}

  std::string print(int axis, std::int64_t first, const std::string& indent, int width) const {
    const int left = shape_.rank() - axis;
    if (left == 0) return element_(first);
    const std::int64_t extent = shape_[static_cast<std::size_t>(axis)];
    std::int64_t stride = 1;
    for (int i = axis + 1; i < shape_.rank(); ++i) stride *= shape_[static_cast<std::size_t>(i)];
    const bool summary = abridge_ && 2 * edge_ < extent;
    std::string out;
    std::string line = indent;
    for (std::int64_t i = 0; i < extent; ++i) {
      const bool last = i == extent - 1;
      const bool dots = summary && i == edge_;
      if (dots) i = extent - edge_ - 1;  // "..." replaces the elements up to here
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
  std::int64_t edge_;
  bool abridge_;
};

/// Appends the indices of the shown elements; `edge`: of the elements at each end of an axis, -1 for all.
void collect(const Shape& shape, int axis, std::int64_t first, std::int64_t edge,
             std::vector<std::int64_t>& out) {
  if (axis == shape.rank()) {
    out.push_back(first);
    return;
  }
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  std::int64_t stride = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) stride *= shape[static_cast<std::size_t>(i)];
  for (std::int64_t i = 0; i < extent; ++i) {
    if (edge >= 0 && 2 * edge < extent && i == edge) i = extent - edge;
    collect(shape, axis + 1, first + i * stride, edge, out);
  }
}

}  // namespace

std::string format_array(const Shape& shape, const std::function<std::string(std::int64_t)>& element,
                         const ArrayFrame& frame, const PrintOptions& options) {
  return ArrayPrinter(shape, element, frame.separator, options)
      .print(0, 0, std::string(static_cast<std::size_t>(frame.before + 1), ' '),
             options.line_width - frame.after);
}

std::string elements_text(const Tensor& t, const ArrayFrame& frame) {
  const Shape& shape = detail::TensorAccess::shape(t);
  const DType dtype = t.dtype();
  if (shape.elements() == 0) return "[]";
  const PrintOptions options = print_options();
  const HostElements elements(t);
  const void* const data = elements.data();
  const std::vector<std::int64_t> shown = shown_elements(shape, options);
  if (is_floating(dtype)) {
    std::vector<double> values;
    for (std::int64_t i : shown) values.push_back(real_at(data, dtype, static_cast<std::size_t>(i)));
    const NumberFormat format(values, dtype, options);
    return format_array(
        shape, [&](std::int64_t i) { return format(real_at(data, dtype, static_cast<std::size_t>(i))); },
        frame, options);
  }
  if (dtype == DType::boolean) {
    const char* yes = shape.empty() ? "True" : " True";
    return format_array(
        shape,
        [&](std::int64_t i) {
          return std::string(integer_at(data, dtype, static_cast<std::size_t>(i)) ? yes : "False");
        },
        frame, options);
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
      frame, options);
}

std::vector<std::int64_t> shown_elements(const Shape& shape, const PrintOptions& options) {
  std::vector<std::int64_t> out;
  collect(shape, 0, 0, abridged(shape, options) ? options.edge_items : -1, out);
  return out;
}

}  // namespace kiln
