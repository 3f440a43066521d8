// Kernels that mutants are made of.
#pragma once
#include "mutants.h"

#include <functional>
#include <string>
#include <vector>

/// Kernels that mutants are made of.
namespace kiln::ptx {

/// How a mistake is noticed.
enum class Noticed {
  not_at_all,
  by_loading,  ///< the device does not load the kernel
  by_device,   ///< the device tells a defect while it runs the kernel
  by_bits      ///< other bits come out
};
constexpr std::string_view ways_to_notice[] = {"not noticed", "refused by the device", "told by the device",
                                               "with other bits"};

struct Subject {
  std::string name, ptx;
  std::function<Noticed(const std::string& ptx)> run;
  std::vector<MutantKind> kinds;  ///< that mutants are made of; empty: all
};

/// Of Kiln: of operators, one schedule after the other (generated_subjects.cpp). `only`: of this one, if not
/// empty.
std::vector<Subject> generated_subjects(std::string_view only = {});
/// sample_kernels.h
std::vector<Subject> hand_written_subjects();

}  // namespace kiln::ptx
