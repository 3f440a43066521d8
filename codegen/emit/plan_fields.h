// Plans of kernels as data: the members of a plan are listed once, and its text, its key and its equality
// derive from the list.
//
//     struct TileRows {
//       int most;
//       bool even;
//       static constexpr auto fields() {
//         return std::tuple(PlanField{"most", &TileRows::most}, PlanField{"even", &TileRows::even});
//       }
//     };
//
// A plan is an aggregate, and has everything that the code of its kernel depends on: equal plans, equal code.
// A member that decides nothing in some plans has one fixed value there, so that these kernels are shared.
#pragma once

#include <kiln/dtype.h>

#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace kiln::codegen {

/// A member of a plan, with its name in texts.
template <class Plan, class Value>
struct PlanField {
  std::string_view name;
  Value Plan::*member;
};
template <class Plan, class Value>
PlanField(std::string_view, Value Plan::*) -> PlanField<Plan, Value>;
template <class Plan, class Value>
PlanField(const char*, Value Plan::*) -> PlanField<Plan, Value>;

/// A class that lists its members in fields().
template <class T>
concept PlanData = requires {
  T::fields();
};

namespace plan_detail {

/// References to the `count` members of a plan. Does not compile if the plan has more or fewer: a member is
/// missing in fields().
template <std::size_t count, class Plan>
constexpr auto members_of(const Plan& plan) {
  static_assert(1 <= count && count <= 16, "a plan of more members is a plan of plans");
  if constexpr (count == 1) {
    const auto& [a] = plan;
    return std::tie(a);
  } else if constexpr (count == 2) {
    const auto& [a, b] = plan;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    const auto& [a, b, c] = plan;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    const auto& [a, b, c, d] = plan;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    const auto& [a, b, c, d, e] = plan;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    const auto& [a, b, c, d, e, f] = plan;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    const auto& [a, b, c, d, e, f, g] = plan;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    const auto& [a, b, c, d, e, f, g, h] = plan;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    const auto& [a, b, c, d, e, f, g, h, i] = plan;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    const auto& [a, b, c, d, e, f, g, h, i, j] = plan;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k] = plan;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (count == 12) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = plan;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (count == 13) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = plan;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (count == 14) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = plan;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (count == 15) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = plan;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = plan;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
}

/// Whether fields() has each member of the plan once, in their order.
template <class Plan>
consteval bool lists_all_members() {
  constexpr auto fields = Plan::fields();
  constexpr std::size_t count = std::tuple_size_v<decltype(fields)>;
  using Members = decltype(members_of<count>(std::declval<const Plan&>()));
  return []<std::size_t... i>(const auto& all, std::index_sequence<i...>) {
    const auto is_at = []<std::size_t at>(const auto& field, std::integral_constant<std::size_t, at>) {
      using Member = std::remove_cvref_t<decltype(std::declval<const Plan&>().*field.member)>;
      return std::is_same_v<Member, std::remove_cvref_t<std::tuple_element_t<at, Members>>>;
    };
    const auto differs = [](const auto& a, const auto& b) {
      if constexpr (std::is_same_v<decltype(a), decltype(b)>) return a.member != b.member;
      return true;
    };
    const auto once = [&]<std::size_t at>(std::integral_constant<std::size_t, at>) {
      return ((i >= at || differs(std::get<i>(all), std::get<at>(all))) && ...);
    };
    return (is_at(std::get<i>(all), std::integral_constant<std::size_t, i>()) && ...) &&
           (once(std::integral_constant<std::size_t, i>()) && ...);
  }
  (fields, std::make_index_sequence<count>());
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <PlanData Plan>
void append(std::string& out, const Plan& plan);

template <class T>
void append_value(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? '+' : '-';
  } else if constexpr (std::is_same_v<T, DType>) {
    out += name_of(value);
  } else if constexpr (std::is_enum_v<T>) {
    if constexpr (requires { word_of(value); })
      out += word_of(value);
    else
      out += stringifyEnum(value).str();  // of the dialect
  } else if constexpr (std::is_integral_v<T>) {
    out += fmt::format_int(value).str();
  } else if constexpr (std::is_floating_point_v<T>) {
    fmt::format_to(std::back_inserter(out), "{:a}", value);  // exactly
  } else if constexpr (std::is_same_v<T, std::string>) {
    out += '{' + value + '}';
  } else if constexpr (PlanData<T>) {
    append(out, value);
  } else {
    out += '[';
    const char* before = "";
    for (const auto& element : value) {
      out += before;
      append_value(out, element);
      before = ",";
    }
    out += ']';
  }
}

/// A field that is false, absent or an empty list has no text.
template <class T>
void append_field(std::string& out, std::string_view name, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (value) fmt::format_to(std::back_inserter(out), " {}", name);
  } else if constexpr (is_optional<T>) {
    static_assert(!std::is_same_v<T, std::optional<bool>>, "absent and false would have one text");
    if (value) append_field(out, name, *value);
  } else {
    if constexpr (std::ranges::range<T> && !std::is_same_v<T, std::string>)
      if (std::ranges::empty(value)) return;
    fmt::format_to(std::back_inserter(out), " {}=", name);
    append_value(out, value);
  }
}

template <PlanData Plan>
void append(std::string& out, const Plan& plan) {
  static_assert(lists_all_members<Plan>(), "fields() lists each member once, in their order");
  std::string text;
  std::apply([&](const auto&... field) { (append_field(text, field.name, plan.*field.member), ...); },
             Plan::fields());
  out += '{';
  out.append(text, text.empty() ? 0 : 1);
  out += '}';
}

}  // namespace plan_detail

/// The plan for people, and for keys: "{most=6 even}". Different plans have different texts.
template <PlanData Plan>
std::string plan_text(const Plan& plan) {
  std::string out;
  plan_detail::append(out, plan);
  return out;
}

/// The key of a kernel: its family, and the plans that its code depends on.
template <PlanData... Plan>
std::string plan_key(std::string_view family, const Plan&... plans) {
  std::string out(family);
  ((out += ' ', plan_detail::append(out, plans)), ...);
  return out;
}

template <PlanData Plan>
bool operator==(const Plan& a, const Plan& b) {
  return plan_text(a) == plan_text(b);
}

}  // namespace kiln::codegen
