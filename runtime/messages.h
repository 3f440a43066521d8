// Errors of the kinds that have a number.
#pragma once
#include "runtime/fail.h"

#include <kiln/message_docs.h>

#include <cstdint>
#include <string>
#include <utility>

namespace kiln {

class FixedText;

/// The kinds of mistakes that have a number; messages.def is the table.
enum class Mistake : std::uint16_t {
#define KILN_MISTAKE(number, name, title, cause, wrong, right, remedy) name = number,
#include "runtime/messages.def"
#undef KILN_MISTAKE
};

/// The message with the number of its kind at the end of the first line, "... [KL0101]", unless it has one.
std::string numbered(std::string message, Mistake kind);
/// Adds the same number to a message that is composed without an allocation.
void add_number(FixedText& message, Mistake kind);

/// Throws a user's error of a kind with a number.
template <class... A>
[[noreturn]] void fail(Mistake kind, fmt::format_string<A...> text, A&&... args) {
  throw Error(numbered(compose(text, std::forward<A>(args)...), kind));
}

}  // namespace kiln
