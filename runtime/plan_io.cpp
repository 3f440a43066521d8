// Plans as bytes. Each structure is listed once, by the names of its members.
#include "runtime/plan_io.h"

#include "runtime/fail.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace {

/// data() may be null if there are no bytes.
Json binary(std::span<const std::byte> bytes) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return Json::binary({data, data + bytes.size()});
}

}  // namespace

template <>
struct nlohmann::adl_serializer<kiln::Shape> {
  static void to_json(Json& j, const kiln::Shape& s) { j = std::vector<std::int64_t>(s.begin(), s.end()); }
  static void from_json(const Json& j, kiln::Shape& s) {
    s = kiln::Shape(std::span<const std::int64_t>(j.get<std::vector<std::int64_t>>()));
  }
};

template <>
struct nlohmann::adl_serializer<kiln::TensorType> {
  static void to_json(Json& j, const kiln::TensorType& t) {
    j = {{"dtype", kiln::name_of(t.dtype)}, {"shape", t.shape}};
  }
  static void from_json(const Json& j, kiln::TensorType& t) {
    const auto dtype = kiln::dtype_from_name(j.at("dtype").get<std::string>());
    if (!dtype) kiln::fail("a plan has an array of unknown dtype");
    t = {*dtype, j.at("shape").get<kiln::Shape>()};
    static_cast<void>(t.bytes());  // throws for more than a process can address
  }
};

template <>
struct nlohmann::adl_serializer<kiln::Blob> {
  static void to_json(Json& j, const kiln::Blob& b) {
    j = binary(b ? std::span(*b) : std::span<const std::byte>());
  }
  static void from_json(const Json& j, kiln::Blob& b) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(j.get_binary()));
    b = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  }
};

template <>
struct nlohmann::adl_serializer<std::shared_ptr<const kiln::Buffer>> {
  static void to_json(Json& j, const std::shared_ptr<const kiln::Buffer>& b) {
    j = binary({b->data(), b->bytes()});
  }
  static void from_json(const Json& j, std::shared_ptr<const kiln::Buffer>& b) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(j.get_binary()));
    auto buffer = std::make_shared<kiln::Buffer>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), buffer->data());
    b = std::move(buffer);
  }
};

template <>
struct nlohmann::adl_serializer<kiln::BufferRef::Space> {
  using Space = kiln::BufferRef::Space;
  static void to_json(Json& j, Space s) { j = static_cast<unsigned>(s); }
  static void from_json(const Json& j, Space& s) {
    const auto number = j.get<std::uint64_t>();
    if (number > static_cast<unsigned>(Space::rng))
      kiln::fail("a plan has a place in unknown space {}", number);
    s = static_cast<Space>(number);
  }
};

namespace kiln {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuLaunch, schedule, threads, block_threads)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlannedKernel, name, key, symbol, object, gpu)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BufferRef, space, index, offset)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LoopPlan, body, steps, draws, carries, rows, invariants, outputs,
                                   conditional)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BranchPlan, then, otherwise)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BoundsCheck, shape, extent, node, line)

}  // namespace kiln

using Control = decltype(kiln::Step::control);

template <>
struct nlohmann::adl_serializer<Control> {
  static constexpr const char* kinds[] = {"launch", "loop", "branch", "check"};
  static_assert(std::size(kinds) == std::variant_size_v<Control>);

  static void to_json(Json& j, const Control& c) {
    std::visit(
        [&]<class T>(const T& value) {
          j["kind"] = kinds[c.index()];
          if constexpr (!std::is_same_v<T, std::monostate>) j["plan"] = value;
        },
        c);
  }
  static void from_json(const Json& j, Control& c) {
    const auto kind = j.at("kind").get<std::string>();
    const auto read = [&]<class T>(const char* name, T) {
      if (kind == name) c = j.at("plan").get<T>();
    };
    c = std::monostate();
    read(kinds[1], kiln::LoopPlan());
    read(kinds[2], kiln::BranchPlan());
    read(kinds[3], kiln::BoundsCheck());
    if (kind != kinds[c.index()]) kiln::fail("a plan has a step of unknown kind '{}'", kind);
  }
};

namespace kiln {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Packing, element_bytes, groups, columns, channels, taps, packed_channels,
                                   values, panel, channel_block, columns_last)

}  // namespace kiln

template <>
struct nlohmann::adl_serializer<std::optional<kiln::Packing>> {
  static void to_json(Json& j, const std::optional<kiln::Packing>& p) { j = p ? Json(*p) : Json(); }
  static void from_json(const Json& j, std::optional<kiln::Packing>& p) {
    if (!j.is_null()) p = j.get<kiln::Packing>();
  }
};

namespace kiln {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Step, control, kernel, operands, params, extent, grain, scratch_bytes,
                                   name, locations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PrepackedPlan, inputs, key, bytes, steps, packing)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExecutablePlan::WriteBack, input, value, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExecutablePlan, name, target, inputs, outputs, write_backs, kernels,
                                   constants, prepacked, steps, bodies, saved_bytes, arena_bytes,
                                   arena_lower_bound, random_draws, compile_ms, kernels_compiled,
                                   kernels_reused)

std::vector<std::byte> write_plan(const ExecutablePlan& plan) {
  const std::vector<std::uint8_t> bytes = Json::to_cbor(Json(plan));
  const auto* const data = reinterpret_cast<const std::byte*>(bytes.data());
  return {data, data + bytes.size()};
}

ExecutablePlan read_plan(std::span<const std::byte> bytes) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  try {
    return Json::from_cbor(data, data + bytes.size()).get<ExecutablePlan>();
  } catch (const Json::exception& e) {
    fail("these bytes are no plan: {}", e.what());
  }
}

}  // namespace kiln
