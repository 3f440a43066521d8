// Small mistakes in kernels are noticed: the device refuses the PTX or tells what is wrong, or other bits
// come out. A mutant that is not noticed is in the list of equal ones, with the reason, and one in the list
// is not noticed: the list stays what it says.
#include "equal_mutants.h"
#include "mutant_subjects.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <set>

using namespace kiln::ptx;

namespace {

/// "softmax", bound: the numbers of mutants.
using Numbers = std::map<std::pair<std::string, MutantKind>, std::set<std::string>>;

/// Of mutants, by kind and by how they are noticed.
using Counts = std::array<std::array<int, std::size(ways_to_notice)>, mutant_kind_count>;

Numbers listed() {
  Numbers numbers;
  for (const EqualMutants& e : equal_mutants()) {
    REQUIRE(!e.reason.empty());
    for (std::size_t begin = 0; begin < e.numbers.size();) {
      const std::size_t end = std::min(e.numbers.find(' ', begin), e.numbers.size());
      const bool is_new =
          numbers[{std::string(e.kernel), e.kind}].emplace(e.numbers.substr(begin, end - begin)).second;
      INFO(e.kernel << ", " << e.numbers);
      CHECK(is_new);
      begin = end + 1;
    }
  }
  return numbers;
}

/// Compares the mutants of a kernel that nothing notices with the list.
void check_mutants(const Subject& s, const Numbers& equal, Counts& counts) {
  REQUIRE(s.run(s.ptx) == Noticed::not_at_all);
  std::map<MutantKind, std::set<std::string>> left;
  for (const auto& [key, numbers] : equal)
    if (key.first == s.name) left[key.second] = numbers;
  for (const Mutant& m : mutants_of(s.ptx)) {
    if (!s.kinds.empty() && std::find(s.kinds.begin(), s.kinds.end(), m.kind) == s.kinds.end()) continue;
    const auto kind = static_cast<std::size_t>(m.kind);
    const auto noticed = static_cast<std::size_t>(s.run(m.apply(s.ptx)));
    ++counts[kind][noticed];
    const bool is_listed = left[m.kind].erase(m.number) > 0;
    INFO("{\"" << s.name << "\", " << mutant_kinds[kind] << ", \"" << m.number << "\"}: '" << m.from
               << "' changed to '" << m.to << "': " << ways_to_notice[noticed]);
    CHECK((noticed == 0) == is_listed);
  }
  for (const auto& [kind, numbers] : left)
    for (const std::string& number : numbers)
      FAIL_CHECK(s.name << ", " << mutant_kinds[static_cast<std::size_t>(kind)] << ": the list has " << number
                        << ", which is no mutant of the kernel");
}

void check_mutants(const std::vector<Subject>& subjects, int least) {
  const Numbers equal = listed();
  Counts counts{};
  for (const Subject& s : subjects) check_mutants(s, equal, counts);
  for (std::size_t kind = 0; kind < mutant_kind_count; ++kind) {
    std::string text;
    int made = 0;
    for (std::size_t way = 0; way < counts[kind].size(); ++way) {
      made += counts[kind][way];
      if (counts[kind][way] > 0) text += fmt::format(", {} {}", counts[kind][way], ways_to_notice[way]);
    }
    std::cout << fmt::format("{}: {} mutants{}\n", mutant_kinds[kind], made, text);
    INFO(mutant_kinds[kind]);
    CHECK(made >= least);
  }
}

}  // namespace

TEST_CASE("mistakes in generated kernels are noticed", "[generated]") {
  // To look at one kernel's alone.
  const char* const only = std::getenv("KILN_MUTANTS");
  check_mutants(generated_subjects(only ? only : ""), only ? 0 : 20);
}

TEST_CASE("mistakes in kernels written by hand are noticed", "[samples]") {
  check_mutants(hand_written_subjects(), 1);
}
