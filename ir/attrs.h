// Attributes of operators.
#pragma once
#include <kiln/dtype.h>
#include <kiln/export.h>
#include <kiln/shape.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kiln::ir {

/// The attribute `None`.
struct None {
  bool operator==(const None&) const = default;
};

/// A tuple with None entries, as slice's `begin=(None, 1)`.
using OptionalInts = std::vector<std::optional<std::int64_t>>;

/// The value of one attribute. A tuple is a Shape; an enumerator, a dtype and free text are strings.
using AttrValue = std::variant<None, bool, std::int64_t, double, std::string, Shape, OptionalInts>;

/// The type of an attribute: selects its parser and the alternative of AttrValue.
enum class AttrKind {
  boolean,
  integer,
  real,
  tuple,          // "(3, 3)", "[3, 3]", "3"
  optional_ints,  // "(None, 1)"
  integers,       // "[0, 1, 2]", any length: OptionalInts without None
  word,           // one of `words`
  dtype,          // a word that names a dtype
  text,
};

struct AttrSpec {
  std::string_view name;
  AttrKind kind;
  /// The default; nothing for a required attribute.
  std::optional<AttrValue> fallback;
  /// Whether "None" is a valid value too.
  bool or_none = false;
  /// The enumerators of a `word`, in the order in which messages list them.
  std::vector<std::string_view> words = {};
  /// The reason why no result depends on the attribute; empty if the operator reads it. Every attribute is
  /// either read or has a reason.
  std::string_view ignored = {};
  /// Words that programs give to the wrong operator, and their place: the message names it.
  std::vector<std::pair<std::string_view, std::string_view>> elsewhere = {};
  /// The attribute's sentence in the reference, with its unit, range, and letters of the operator's shapes.
  std::string_view meaning = {};
};

/// The attributes of one node: a few (name, value) pairs in the order of the call. Names are string literals
/// of the operator's definition.
class Attrs {
 public:
  struct Item {
    std::string_view name;
    AttrValue value;
    bool operator==(const Item&) const = default;
  };

  Attrs() = default;
  Attrs(std::initializer_list<Item> items) : items_(items) {}
  /// For the completed attributes of operator `op`, the name in its definition.
  explicit Attrs(std::string_view op) : op_(op) {}

  void set(std::string_view name, AttrValue value);
  const AttrValue* find(std::string_view name) const;
  const std::vector<Item>& items() const { return items_; }
  bool empty() const { return items_.empty(); }

  // Typed access after OpDef::complete() filled in the defaults. A missing attribute or another kind is an
  // internal error.
  bool boolean(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const Shape& tuple(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  const std::string& word(std::string_view name) const;
  DType dtype(std::string_view name) const;
  bool is_none(std::string_view name) const;

  bool operator==(const Attrs&) const = default;

 private:
  std::string_view op_;
  std::vector<Item> items_;
};

/// Records, during its lifetime, the attributes that operators read on this thread; for tests. Scopes do not
/// nest.
class KILN_API AttrReads {
 public:
  AttrReads();
  ~AttrReads();
  AttrReads(const AttrReads&) = delete;
  AttrReads& operator=(const AttrReads&) = delete;
  bool contains(const std::string& op, const std::string& attr) const { return read_.contains({op, attr}); }

 private:
  friend class Attrs;
  std::set<std::pair<std::string, std::string>> read_;
};

/// MXNet's text of a value: True, 4, 0.5, 1e-05, (3, 3), (3,), None.
KILN_API std::string to_text(const AttrValue& value);
/// Parses `text` as MXNet does. The error states the expected form; the caller adds the node.
KILN_API AttrValue parse_attr(const AttrSpec& spec, std::string_view text);
/// A double as Python's repr prints it: 0.5, 1e-05, 2.0, inf.
KILN_API std::string python_float(double v);

}  // namespace kiln::ir
