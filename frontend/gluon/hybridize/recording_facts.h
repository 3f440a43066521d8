// The facts of a recording that are compared with later ones, to say why a call was recorded again.
#pragma once
#include "frontend/gluon/hybridize/cached_call.h"

#include <kiln/compiled_call.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::detail {

/// The blocks and parameters of a network at the time of a recording. Holds none of them. Immutable.
struct NetworkFacts {
  struct Part {
    std::string path;  ///< "features.1"; empty for the network itself
    std::string name;  ///< "dense0 (Dense)"
    std::uint64_t serial = 0, changes = 0;
    std::size_t hooks = 0;
    std::string_view latest_change;  ///< "was cast"
    bool operator==(const Part&) const = default;
  };
  struct Param {
    std::string name;
    std::weak_ptr<const void> state;  ///< the identity
    DType dtype;
    Device device;
    std::uint64_t changes = 0;
    std::string_view latest_change;
  };
  std::vector<Part> parts;
  std::vector<Param> parameters;
};

/// The facts of one recording. Holds no array of the program. Immutable.
struct RecordingFacts {
  CallSignature signature;
  HybridizeOptions options;
  std::uint64_t hybridized = 0;  ///< calls of hybridize()
  std::optional<bool> recording;
  std::vector<TracedCall::History> histories;
  std::shared_ptr<const NetworkFacts> network;
  Precision precision;  ///< of the code
  struct Attribute {
    std::string what;  ///< "the Attr 'scale' of the block 'net0'"
    std::string value;
  };
  std::vector<Attribute> attributes;
  std::vector<OptionRead> options_read;  ///< of parameters
  struct Array {
    std::string name;
    std::weak_ptr<const void> array;  ///< the identity
    std::uint64_t version = 0;        ///< of an array whose elements were read
  };
  std::vector<Array> captured, read;  ///< without parameters; whose elements hybrid_forward read
  bool changed_itself = false;        ///< hybrid_forward changed what it depends on

  /// `before`: the facts of an earlier recording, whose network is shared if it is the same; may be null.
  RecordingFacts(const HybridBlock& block, const TracedCall& call, const RecordingFacts* before);
};

/// The differences of a recording from an earlier one, the most telling first; never empty.
std::vector<RecordingReason::Difference> differences(const RecordingFacts& was, const RecordingFacts& now);

}  // namespace kiln::detail
