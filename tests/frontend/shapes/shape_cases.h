// Calls whose inputs' shapes contradict an operator's rule, or seem to.
#pragma once
#include "graphs/samples.h"

#include <map>
#include <string>
#include <vector>

/// Calls of every operator whose inputs' shapes contradict its rule, or seem to, with MXNet's answers.
namespace shapes {

/// A sample whose inputs are changed one by one.
struct Subject {
  std::string op;
  graphs::Sample sample;  ///< each input has its dtype
  std::size_t states;     ///< the last inputs are auxiliary states
  /// The text that names it in mxnet.txt: operator, attributes, types of the inputs.
  std::string key;
};

/// Of each operator with inputs: one sample for each way of calling it.
std::vector<Subject> subjects();
/// The subjects as make.py reads them, one JSON object a line.
std::string to_json_lines(const std::vector<Subject>& subjects);

/// MXNet's answer to one call.
struct Answer {
  enum class Kind {
    accepted,  ///< with these shapes of the outputs
    refused,
    silent,  ///< it infers no shape, or crashes
  } kind = Kind::silent;
  std::vector<kiln::Shape> outputs;
  std::string str() const;
};

/// A subject with another shape of one input.
struct Case {
  std::size_t input;
  bool numpy;  ///< numpy mode, which has extents of 0 and arrays without axes
  kiln::Shape shape;
  Answer mxnet;
};

/// mxnet.txt, by the key of the subject.
std::map<std::string, std::vector<Case>> read_answers(const std::string& path);

}  // namespace shapes
