// kiln explain: lists the numbered messages, or explains one.
#include "tools/kiln/command.h"
#include "tools/kiln/wrapped.h"

#include <kiln/message_docs.h>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <string_view>

namespace kiln::tool {
namespace {

/// The lines of a text, each after two spaces.
std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out += fmt::format("  {}", text.substr(0, end));
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string sentences(std::string_view text) { return fmt::format("{}", fmt::join(wrapped(text), "\n")); }

void list_messages() {
  for (const MessageDoc& m : message_docs()) fmt::print("{}  {}\n", m.code, m.title);
}

void explain(const MessageDoc& m) {
  fmt::print("{}: {}\n\n{}\n\nThis raises it:\n\n{}\nThis does not:\n\n{}\n{}\n", m.code, m.title,
             sentences(m.cause), indented(m.wrong), indented(m.right), sentences(m.remedy));
}

/// docs/messages.md.
void print_page() {
  fmt::print(
      "# Messages\n\n"
      "The message of a common mistake ends with a number in brackets. `kiln explain KL0101` prints its "
      "section of "
      "this page,\n"
      "`Error::code()` gives the number to a program, and `message_docs()` of kiln/message_docs.h all of "
      "them. A "
      "test runs both\n"
      "programs of each section.\n\n"
      "`kiln explain --markdown` writes this page from `runtime/messages.def`.\n");
  for (const MessageDoc& m : message_docs())
    fmt::print(
        "\n## {}: {}\n\n{}\n\nThis raises it:\n\n```c++\n{}\n```\n\nThis does "
        "not:\n\n```c++\n{}\n```\n\n{}\n",
        m.code, m.title, m.cause, m.wrong, m.right, m.remedy);
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto code = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("explain", "List the numbered messages, or explain one");
  CLI::Option* const which =
      c->add_option("CODE", *code, "The number of a message, as KL0101")->option_text(" ");
  c->add_flag("--markdown", *markdown, "Print docs/messages.md")->excludes(which);
  c->callback([code, markdown, &action] {
    action = [code, markdown] {
      if (*markdown)
        print_page();
      else if (code->empty())
        list_messages();
      else
        explain(message_doc(*code));
      return ok;
    };
  });
}

}  // namespace kiln::tool
