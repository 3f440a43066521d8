// Files of a Trainer's states: training continues from them; invalid ones are refused.
#include "golden_files.h"
#include "temporary_folder.h"
#include "trained_parameters.h"

#include <catch2/catch.hpp>

using namespace kiln;
using Catch::Contains;
using golden::error_of;
using training::give_gradient;
using training::One;
using training::parameter;

TEST_CASE("training goes on from a file of states", "[trainer]") {
  const TemporaryFolder folder;
  const auto gradient = [](int t) { return Tensor{0.1f * static_cast<float>(t), -1}; };
  for (const char* name : {"sgd", "nag", "signum", "ftml", "lars", "lamb", "adam", "adamw", "adagrad",
                           "rmsprop", "adadelta", "ftrl", "adamax", "nadam", "sgld"})
    for (const char* extension : {".params", ".safetensors"})
      for (const DType dtype : {DType::f32, DType::f16}) {
        INFO(name << extension << name_of(dtype));
        const std::string file = (folder.path / ("states" + std::string(extension))).string();
        const optimizer::Options options{.wd = 0.01, .multi_precision = true};
        std::vector<float> expected;
        Tensor middle;
        random::seed(7);
        for (const bool resumed : {false, true}) {
          ParameterDict params;
          Parameter w = parameter(params, "w", resumed ? middle : Tensor({1, 2}, dtype));
          Trainer trainer(params, name, options);
          if (resumed) {
            trainer.load_states(file);
            CHECK(trainer.num_update() == 3);
            CHECK(trainer.learning_rate() == 0.125);
          }
          for (int t = resumed ? 4 : 1; t <= 6; ++t) {
            give_gradient(w, gradient(t).astype(dtype));
            if (t == 3) trainer.set_learning_rate(0.125);
            if (t == 4) random::seed(8);
            trainer.step(1);
            if (t == 3 && !resumed) {
              trainer.save_states(file);
              middle = w.data().copy();
            }
          }
          if (resumed)
            CHECK(w.data().to_vector<float>() == expected);
          else
            expected = w.data().to_vector<float>();
        }
      }
}

TEST_CASE("the file of states", "[trainer]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "states.params").string();
  One one;
  Trainer trainer(one.params, "adam", {.lr_scheduler = lr_scheduler::Factor({.step = 2, .factor = 0.5})});
  one.give();
  trainer.step(1);
  trainer.save_states(file);
  const auto arrays = load_arrays(file);
  REQUIRE(arrays.size() == 3);
  CHECK(arrays[0].name == "state:w:mean");
  CHECK(arrays[1].name == "state:w:var");
  CHECK(arrays[2].name == "kiln:json");
  CHECK(arrays[2].array.dtype() == DType::u8);
  const auto bytes = arrays[2].array.to_vector<std::uint8_t>();
  const auto json = nlohmann::json::parse(bytes.begin(), bytes.end());
  CHECK(json.at("optimizer") == "adam");
  CHECK(json.at("counts").at("w") == 1);
  CHECK(json.at("lr_scheduler") == "Factor(step=2, factor=0.5, stop_factor_lr=1e-08, base_lr=0.001)");

  // A schedule without a base_lr begins at the optimizer's rate, or the one given.
  using lr_scheduler::Factor;
  CHECK(Trainer(one.params, "adam", {.lr_scheduler = Factor({.step = 1, .base_lr = 3})}).learning_rate() ==
        3);
  CHECK(Trainer(one.params, "adam", {.learning_rate = 2, .lr_scheduler = Factor({.step = 1})})
            .learning_rate() == 2);

  const auto refused = [&](const ParameterDict& params, const char* name, const optimizer::Options& o = {}) {
    Trainer other(params, name, o);
    const std::string text = error_of([&] { other.load_states(file); });
    CHECK(other.num_update() == 0);
    return text;
  };
  CHECK_THAT(refused(one.params, "sgd"), Contains("'adam'") && Contains("'sgd'"));
  ParameterDict larger, renamed;
  parameter(larger, "w", ones({3}));
  parameter(renamed, "v", ones({2}));
  CHECK_THAT(refused(larger, "adam"), Contains("'mean'") && Contains("(2,)") && Contains("(3,)"));
  CHECK_THAT(refused(renamed, "adam"), Contains("'v'") && Contains("prefix"));

  Trainer plain(one.params, "sgd"), heavy(one.params, "sgd", {.momentum = 0.9});
  one.give();
  heavy.step(1);
  heavy.save_states(file);
  CHECK_THAT(error_of([&] { plain.load_states(file); }), Contains("state:w:momentum") && Contains("options"));
}

TEST_CASE("states of a trainer that has made no step", "[trainer]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "states.safetensors").string();
  One one;
  Trainer trainer(one.params, "adam", {.learning_rate = 0.5, .begin_num_update = 7});
  trainer.save_states(file);
  CHECK(load_arrays(file).size() == 1);
  Trainer other(one.params, "adam");
  other.load_states(file);
  CHECK(other.num_update() == 7);
  CHECK(other.learning_rate() == 0.5);
  one.give();
  other.step(1);
  CHECK(other.num_update() == 8);
  CHECK_THAT(error_of([&] { other.load_states(file + ".missing"); }),
             Contains("trainer_states_test.cpp") && Contains("missing"));
  CHECK_THAT(error_of([&] { other.save_states("states.txt"); }), Contains(".params"));
}

TEST_CASE("files that are no states are errors", "[trainer]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "states").string();
  One one;
  Trainer trainer(one.params, "adam");
  golden::write_text(file, "\x80\x04\x95rest");
  CHECK_THAT(error_of([&] { trainer.load_states(file); }), Contains("pickle"));
  golden::write_text(file, "nonsense");
  CHECK(!error_of([&] { trainer.load_states(file); }).empty());
  save_arrays(file + ".params", std::vector<NamedArray>{{"w", ones({2})}});
  CHECK_THAT(error_of([&] { trainer.load_states(file + ".params"); }), Contains("kiln:json"));

  one.give();
  trainer.step(1);
  trainer.save_states(file + ".params");
  const auto arrays = load_arrays(file + ".params");
  const auto bytes = arrays.back().array.to_vector<std::uint8_t>();
  const std::string text(bytes.begin(), bytes.end());
  const auto with_text = [&](const std::string& t) {
    auto changed = arrays;
    changed.back().array =
        Tensor(std::vector<std::uint8_t>(t.begin(), t.end()), {static_cast<std::int64_t>(t.size())});
    save_arrays(file + ".params", changed);
    return error_of([&] { trainer.load_states(file + ".params"); });
  };
  CHECK(with_text(text).empty());
  // Every member missing, or of another type.
  const nlohmann::json whole = nlohmann::json::parse(text);
  for (const auto& [key, value] : whole.items()) {
    INFO(key);
    nlohmann::json json = whole;
    json.erase(key);
    const bool optional = key == "options";
    CHECK(with_text(json.dump()).empty() == optional);
    json[key] = nlohmann::json::array({1});
    CHECK(with_text(json.dump()).empty() == optional);
  }
  for (const char* value : {"-1", "1e300", "9223372036854775808", "null", "\"1\""}) {
    auto json = nlohmann::json::parse(text);
    json["counts"]["w"] = nlohmann::json::parse(value);
    CHECK_FALSE(with_text(json.dump()).empty());
  }
  for (std::size_t n = 0; n < text.size(); ++n) CHECK_FALSE(with_text(text.substr(0, n)).empty());
}
