// Reads the assembly of a kernel: keeps instructions, labels and the numbers of lines, drops the rest.
#include "frontend/page/page_assembly.h"

#include <charconv>

namespace kiln {
namespace {

std::string_view trimmed_line(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == line.npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

/// No instruction has a number sign.
std::string_view without_comment(std::string_view line) { return line.substr(0, line.find('#')); }

/// The next word, which is removed from `rest`.
std::string_view take_word(std::string_view& rest) {
  rest = trimmed_line(rest);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(word.size());
  return word;
}

unsigned number_of_word(std::string_view word) {
  unsigned number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

class AssemblyReader {
 public:
  AssemblyReader(std::string_view symbol, std::size_t max_lines) : symbol_(symbol), max_lines_(max_lines) {}

  void read(std::string_view line) {
    const std::string_view content = trimmed_line(line);
    if (content.empty() || content.starts_with('#') || content.starts_with("//")) return;
    if (content.find_first_not_of("(){}") == content.npos) return;  // around the body in PTX
    if (content.starts_with(".loc\t") || content.starts_with(".loc ")) return set_place(content.substr(4));
    // Directives; labels that begin with a point are targets of jumps.
    const bool is_label =
        content.find(':') != content.npos && content.find_first_of(" \t") > content.find(':');
    if (content.starts_with('.') && !is_label) return;
    // Sections of debug information follow the functions.
    if (is_label && content.starts_with(".Lfunc_end")) in_function_ = false;
    if (is_label && !content.starts_with('.')) in_function_ = true;
    // Marks of functions, places of debug information and constants.
    for (const std::string_view data : {".Lfunc_", ".Ltmp", ".LCPI"})
      if (is_label && content.starts_with(data)) return;
    if (in_function_) add(content, is_label);
  }
  AssemblyText take() {
    drop_empty_place();
    return std::move(out_);
  }

 private:
  /// A place that no instruction follows.
  void drop_empty_place() {
    if (!out_.places.empty() && out_.places.back().from == out_.lines) out_.places.pop_back();
  }
  /// `rest`: the numbers of a file and of a line.
  void set_place(std::string_view rest) {
    (void)take_word(rest);
    const unsigned number = number_of_word(take_word(rest));
    drop_empty_place();
    const unsigned before = out_.places.empty() ? 0 : out_.places.back().number;
    if (number != before) out_.places.push_back({out_.lines, number});
  }
  void add(std::string_view content, bool is_label) {
    if (out_.lines >= max_lines_) {
      ++out_.left_out;
      return;
    }
    // Comments of the assembler about spills and loops say nothing of the instruction.
    std::string line(trimmed_line(without_comment(content)));
    constexpr std::string_view name = "kernel";
    for (std::size_t at = 0; !symbol_.empty() && (at = line.find(symbol_, at)) != line.npos;
         at += name.size())
      line.replace(at, symbol_.size(), name);
    for (char& c : line)
      if (c == '\t') c = ' ';
    out_.text += (is_label ? "" : "    ") + line + "\n";
    ++out_.lines;
  }

  bool in_function_ = true;
  std::string_view symbol_;
  std::size_t max_lines_;
  AssemblyText out_;
};

}  // namespace

AssemblyText assembly_of(std::string_view text, std::string_view symbol, std::size_t max_lines) {
  AssemblyReader reader(symbol, max_lines);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    reader.read(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return reader.take();
}

}  // namespace kiln
