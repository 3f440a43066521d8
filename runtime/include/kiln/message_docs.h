// The numbered messages of errors: cause, example and remedy of each.
#pragma once
#include <kiln/export.h>

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// A kind of mistake with a number. Its texts are constants of the library.
struct MessageDoc {
  std::string code;         ///< "KL0101", as Error::code() gives it
  std::string_view title;   ///< a few words
  std::string_view cause;   ///< why Kiln refuses, in sentences
  std::string_view wrong;   ///< statements of C++ that raise the error
  std::string_view right;   ///< the same statements without the mistake
  std::string_view remedy;  ///< the way out, in sentences
};

/// All of them, by number. Any thread.
KILN_API std::vector<MessageDoc> message_docs();

/// The one with the code, "KL0101"; letters of any case, and the number alone, are understood. Throws Error
/// with the nearest codes if there is none.
KILN_API MessageDoc message_doc(std::string_view code);

}  // namespace kiln
