# cmake -DENUMS=KilnEnums.h.inc -DWORDS=words.h -DREST=KilnEnumAttributes.h.inc -P words.cmake: splits the enums that mlir-tblgen
# generates from KilnOps.td into their C++ declarations, which need no header of MLIR, and the rest (texts, parsers, attributes).
file(READ "${ENUMS}" rest)
set(words "#pragma once
#include <cstddef>
#include <cstdint>

/// The enums of ir/KilnOps.td, in its order.
namespace kiln::ir {

/// The number of an enum's words.
template <class Enum>
inline constexpr std::size_t word_count = 0;
")
set(count 0)
while(rest MATCHES "enum class ([A-Za-z]+) : uint32_t {([^}]*)};\n")
  set(declaration "${CMAKE_MATCH_0}")
  set(name "${CMAKE_MATCH_1}")
  string(REGEX MATCHALL "=" values "${CMAKE_MATCH_2}")
  list(LENGTH values values)
  string(REPLACE ": uint32_t" ": std::uint32_t" plain "${declaration}")
  string(APPEND words "\n${plain}template <>\ninline constexpr std::size_t word_count<${name}> = ${values};\n")
  string(REPLACE "${declaration}" "" rest "${rest}")
  math(EXPR count "${count} + 1")
endwhile()
if(count EQUAL 0 OR rest MATCHES "enum class")
  message(FATAL_ERROR "${ENUMS} declares enums in a form that this script does not read")
endif()
string(APPEND words "\n}  // namespace kiln::ir\n")

# An unchanged file keeps its time: nothing that includes it is compiled again.
function(write file text)
  if(EXISTS "${file}")
    file(READ "${file}" old)
    if(old STREQUAL text)
      return()
    endif()
  endif()
  file(WRITE "${file}" "${text}")
endfunction()
write("${WORDS}" "${words}")
write("${REST}" "${rest}")
