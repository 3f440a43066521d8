// Parameters of kernels by name.
#pragma once
#include "codegen/emit/kernel_builder.h"

#include <array>
#include <string_view>

namespace kiln::codegen {

/// The names of some kernel parameters, in the order in which they lie in memory.
template <std::size_t count>
struct ParamNames {
  std::array<std::string_view, count> names;

  template <class... Name>
  consteval ParamNames(const Name&... name) : names{name...} {}
  static constexpr std::size_t size() { return count; }
  consteval std::size_t find(std::string_view name) const {
    for (std::size_t i = 0; i < count; ++i)
      if (names[i] == name) return i;
    throw "no parameter has this name";
  }
};
template <class... Name>
ParamNames(const Name&...) -> ParamNames<sizeof...(Name)>;

/// A list of names is filled with exactly one value each; throws an internal error otherwise.
void append_params(std::vector<std::int64_t>& params, llvm::ArrayRef<std::string_view> names,
                   llvm::ArrayRef<std::pair<std::size_t, std::int64_t>> values);

/// Parameters of a kernel (Launch::params) by name. The launching side appends their values with append(),
/// the emitting side reads them from an object of this class. A name that is not in the list does not
/// compile.
///
///     constexpr ParamNames names{"extent", "row_stride"};
///     using Params = KernelParams<names>;
///     Params::append(launch.params, {{"extent", n}, {"row_stride", stride}});
///     Value extent = Params(e, params)["extent"];
template <const auto& list>
class KernelParams {
 public:
  struct Name {
    std::size_t index;
    consteval Name(const char* name) : index(list.find(name)) {}
  };
  struct Entry {
    Name name;
    std::int64_t value;
  };
  static constexpr std::int64_t size = list.size();

  /// Appends a value for each name; they may come in any order.
  static void append(std::vector<std::int64_t>& params, std::initializer_list<Entry> entries) {
    llvm::SmallVector<std::pair<std::size_t, std::int64_t>> values;
    for (const Entry& entry : entries) values.emplace_back(entry.name.index, entry.value);
    append_params(params, list.names, values);
  }

  /// The parameters that begin at params[first].
  KernelParams(KernelBuilder& e, mlir::Value params, std::int64_t first = 0)
      : e_(&e), params_(params), first_(first) {}
  /// Loads one.
  mlir::Value operator[](Name name) const {
    return e_->param(params_, first_ + static_cast<std::int64_t>(name.index), list.names[name.index]);
  }
  /// The position after `groups` groups of `Group` that follow these.
  template <class Group>
  static constexpr std::int64_t end(std::size_t groups) {
    return size + static_cast<std::int64_t>(groups) * Group::size;
  }
  /// One of several groups that follow these, one after the other: an axis' parameters, for example.
  template <class Group>
  Group group(std::size_t i) const {
    return {*e_, params_, first_ + end<Group>(i)};
  }

 private:
  KernelBuilder* e_;
  mlir::Value params_;
  std::int64_t first_;
};

}  // namespace kiln::codegen
