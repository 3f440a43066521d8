// The table of numbered messages.
#include "runtime/messages.h"

#include "runtime/fixed_text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kiln {
namespace {

struct MessageRow {
  int number;
  std::string_view title, cause, wrong, right, remedy;
};
constexpr auto message_rows = std::to_array<MessageRow>({
#define KILN_MISTAKE(number, name, title, cause, wrong, right, remedy) \
  {number, title, cause, wrong, right, remedy},
#include "runtime/messages.def"
#undef KILN_MISTAKE
});
static_assert(std::adjacent_find(message_rows.begin(), message_rows.end(),
                                 [](const MessageRow& a, const MessageRow& b) {
                                   return a.number >= b.number;
                                 }) == message_rows.end(),
              "the numbers of messages.def increase");

constexpr char code_format[] = "KL{:04}";
std::string code_of(int number) { return fmt::format(code_format, number); }

/// Without the line breaks at both ends, which raw strings have.
std::string_view trimmed(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

MessageDoc doc_of(const MessageRow& r) {
  return {code_of(r.number), r.title,          trimmed(r.cause),
          trimmed(r.wrong),  trimmed(r.right), trimmed(r.remedy)};
}

/// The number in "[KL0101]", "KL0101", "kl101" or "101"; -1: none.
int number_in(std::string_view code) {
  if (code.size() > 2 && code.front() == '[' && code.back() == ']') code = code.substr(1, code.size() - 2);
  if (code.size() > 2 && std::tolower(code[0]) == 'k' && std::tolower(code[1]) == 'l') code.remove_prefix(2);
  if (code.empty() || code.size() > 4 || code.find_first_not_of("0123456789") != std::string_view::npos)
    return -1;
  int number = 0;
  for (const char c : code) number = number * 10 + (c - '0');
  return number;
}

}  // namespace

std::string numbered(std::string message, Mistake kind) {
  if (!Error(message).code().empty())
    return message;  // it tells of another error, whose number is the narrower one
  const std::string code = " [" + code_of(static_cast<int>(kind)) + "]";
  message.insert(std::min(message.find('\n'), message.size()), code);
  return message;
}

void add_number(FixedText& message, Mistake kind) {
  message.add(" [").add(code_format, static_cast<int>(kind)).add("]");
}

std::vector<MessageDoc> message_docs() {
  std::vector<MessageDoc> docs;
  for (const MessageRow& row : message_rows) docs.push_back(doc_of(row));
  return docs;
}

MessageDoc message_doc(std::string_view code) {
  const int number = number_in(code);
  if (number < 0)
    fail("'{}' is no code of a message: it is KL and four digits, as in {}; `kiln explain` lists all", code,
         code_of(message_rows.front().number));
  std::vector<MessageRow> near(message_rows.begin(), message_rows.end());
  std::stable_sort(near.begin(), near.end(), [&](const MessageRow& a, const MessageRow& b) {
    return std::abs(a.number - number) < std::abs(b.number - number);
  });
  if (near.front().number == number) return doc_of(near.front());
  fail("there is no message {}; the nearest are {}, {} and {}", code_of(number), code_of(near[0].number),
       code_of(near[1].number), code_of(near[2].number));
}

}  // namespace kiln
