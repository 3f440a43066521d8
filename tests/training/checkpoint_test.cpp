// Checkpoints: continued runs, which files are kept, and files that are none.
#include "checkpoint_run.h"
#include "golden_files.h"
#include "json_array.h"
#include "temporary_folder.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fmt/format.h>

using namespace kiln;
using Catch::Contains;
using golden::error_of;
using training::Run;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Changes the JSON text of a checkpoint.
void edit(const fs::path& file, const std::function<void(nlohmann::json&)>& change) {
  edit_json_array(file.string(), "kiln:checkpoint", change);
}

}  // namespace

TEST_CASE("a run continues with the same bits", "[checkpoint]") {
  std::vector<double> expected;
  {
    random::seed(5);
    Run run;
    run.train(17);  // 6 batches an epoch
    expected = run.numbers();
  }
  for (const int workers : {0, 1, 4})
    for (const std::int64_t at : {1, 5, 6, 8, 12, 16}) {
      INFO(workers << " workers, " << at);
      const TemporaryFolder folder;
      {
        random::seed(5);
        Run run(workers);
        CheckpointManager checkpoints(folder.path.string(), run.net, run.trainer, run.batches);
        CHECK(!checkpoints.restore());
        run.train(at);
        checkpoints.save({{"best", 0.1}, {"none", std::nan("")}});
        run.train(at + 1);  // steps that are lost
      }
      random::seed(99);
      Run run(4 - workers);
      CheckpointManager checkpoints(folder.path.string(), run.net, run.trainer, run.batches);
      const std::optional<Checkpoint> restored = checkpoints.restore();
      REQUIRE(restored);
      CHECK(restored->step == at);
      CHECK(restored->numbers.at("best") == 0.1);
      CHECK(std::isnan(restored->numbers.at("none")));
      CHECK(run.trainer.num_update() == at);
      run.train(17);
      CHECK(run.numbers() == expected);
    }
}

TEST_CASE("a checkpoint restores a run that has gone on", "[checkpoint]") {
  const TemporaryFolder folder;
  random::seed(5);
  Run run;
  CheckpointManager checkpoints(folder.path.string(), run.net, run.trainer, run.batches);
  run.train(9, [&] {
    if (run.trainer.num_update() != 4) return;
    run.trainer.set_learning_rate(0.002);
    checkpoints.save();
  });
  const std::vector<double> expected = run.numbers();
  run.trainer.set_learning_rate(0.5);
  checkpoints.restore();
  CHECK(run.trainer.learning_rate() == 0.002);
  run.train(9);
  CHECK(run.numbers() == expected);
}

TEST_CASE("the last checkpoints are kept", "[checkpoint]") {
  const TemporaryFolder folder;
  const fs::path inner = folder.path / "a" / "b";
  Run run;
  CheckpointManager checkpoints(inner.string(), run.net, run.trainer, run.batches, {.keep = 2});
  golden::write_text((folder.path / "other").string(), "");
  int saved = 0;
  run.train(9, [&] { saved += checkpoints.save_every(2); });
  CHECK(saved == 4);
  CHECK(names_in(inner) == std::vector<std::string>{"step-00000006.npz", "step-00000008.npz"});

  // Remains of a killed run, and files that are the program's.
  golden::write_text((inner / "step-00000009.npz.tmp.1.0").string(), "half");
  golden::write_text((inner / "step-by-step.npz").string(), "mine");
  golden::write_text((inner / "notes").string(), "mine");
  checkpoints.save();
  CHECK(names_in(inner) ==
        std::vector<std::string>{"notes", "step-00000008.npz", "step-00000009.npz", "step-by-step.npz"});
  checkpoints.save({{"again", 1}});
  CHECK(checkpoints.restore()->numbers.at("again") == 1);

  // Another run in the same folder
  Run anew;
  CheckpointManager other(inner.string(), anew.net, anew.trainer, anew.batches);
  anew.train(1);
  CHECK_THAT(error_of([&] { other.save(); }),
             Contains("checkpoint_test.cpp") && Contains("step-00000009.npz") && Contains("restore()"));
  CHECK(names_in(inner).size() == 4);

  CHECK_THAT(error_of([&] { checkpoints.save_every(0); }), Contains("save_every()"));
  CHECK_THAT(error_of([&] { CheckpointManager("", run.net, run.trainer, {.keep = 0}); }),
             Contains("keeps 1"));
  golden::write_text((folder.path / "file").string(), "");
  CheckpointManager nowhere((folder.path / "file" / "x").string(), run.net, run.trainer);
  CHECK_THAT(error_of([&] { nowhere.save(); }), Contains("folder of checkpoints"));
}

TEST_CASE("damaged checkpoints are skipped", "[checkpoint]") {
  const TemporaryFolder folder;
  random::seed(5);
  Run run;
  CheckpointManager checkpoints(folder.path.string(), run.net, run.trainer, run.batches, {.keep = 4});
  run.train(4, [&] { checkpoints.save(); });
  const auto file = [&](int step) { return (folder.path / fmt::format("step-{:08}.npz", step)).string(); };
  // One bit of a weight, and half of the file.
  std::string text = golden::read_text(file(4));
  const std::size_t at = text.find("trainer0");
  REQUIRE(at != std::string::npos);
  text[at - 34] = static_cast<char>(text[at - 34] ^ 1);  // before the header of the next array
  golden::write_text(file(4), text);
  golden::write_text(file(3), golden::read_text(file(3)).substr(0, 1000));

  const std::optional<Checkpoint> restored = checkpoints.restore();
  REQUIRE(restored);
  CHECK(restored->path == file(2));
  CHECK(run.trainer.num_update() == 2);
  CHECK(names_in(folder.path) == std::vector<std::string>{"step-00000001.npz", "step-00000002.npz",
                                                          "step-00000003.npz.damaged",
                                                          "step-00000004.npz.damaged"});
  run.train(3, [&] { checkpoints.save(); });  // those do not count as later ones

  for (const int step : {1, 2, 3}) golden::write_text(file(step), "nothing");
  const random::State before = random::state();
  CHECK_THAT(error_of([&] { checkpoints.restore(); }), Contains("none of the 3") && Contains(file(3)));
  CHECK(run.trainer.num_update() == 3);
  CHECK(random::state() == before);
  CHECK(fs::exists(file(3)));
}

TEST_CASE("checkpoints of another run are errors that change nothing", "[checkpoint]") {
  const TemporaryFolder folder;
  Run run;
  CheckpointManager(folder.path.string(), run.net, run.trainer, run.batches);
  run.train(2);
  CheckpointManager checkpoints(folder.path.string(), run.net, run.trainer, run.batches);
  checkpoints.save();
  const fs::path file = folder.path / "step-00000002.npz";

  const auto refusal = [&](Run& other, auto... loaders) {
    CheckpointManager manager(folder.path.string(), other.net, other.trainer);
    (manager.add(loaders), ...);
    const std::vector<Parameter> parameters = other.net.collect_params().items();
    other.train(1);
    const std::vector<float> weight = parameters[0].data().to_vector<float>();
    const random::State random_before = random::state();
    const data::LoaderState place = other.batches.state();
    const std::string text = error_of([&] { manager.restore(); });
    CHECK_THAT(text, Contains(file.string()) && Contains("checkpoint_test.cpp"));
    CHECK(other.trainer.num_update() == 1);
    CHECK(parameters[0].data().to_vector<float>() == weight);
    CHECK(random::state() == random_before);
    CHECK(other.batches.state() == place);
    return text;
  };
  Run same, sgd(0, "sgd"), wide(0, "adam", 7), deep;
  CHECK_THAT(refusal(same), Contains("1 loaders") && Contains("this run 0"));
  CHECK_THAT(refusal(sgd, sgd.batches), Contains("'adam'") && Contains("'sgd'"));
  CHECK_THAT(refusal(wide, wide.batches), Contains("(6,") && Contains("(7,"));
  deep.net.add(nn::Dense(1, {.in_units = 1, .prefix = "net_last_"}));
  deep.net.initialize();
  CHECK_THAT(refusal(deep, deep.batches), Contains("'net_last_weight'"));
  edit(file, [](auto& json) { json["loaders"][0]["position"] = 7; });
  CHECK_THAT(refusal(same, same.batches), Contains("batch 7") && Contains("6"));
  edit(file, [](auto& json) { json["format"] = 2; });
  CHECK_THAT(refusal(same, same.batches), Contains("later version"));
}

TEST_CASE("a text that says too little is damage", "[checkpoint]") {
  const TemporaryFolder folder;
  Run run;
  CheckpointManager checkpoints(folder.path.string(), run.net, run.trainer, run.batches);
  run.train(1);
  checkpoints.save();
  const fs::path file = folder.path / "step-00000001.npz";
  const std::string whole = golden::read_text(file.string());
  const auto text_after = [&](const std::function<void(nlohmann::json&)>& change) {
    golden::write_text(file.string(), whole);
    edit(file, change);
    return error_of([&] { checkpoints.restore(); });
  };
  CHECK(text_after([](auto&) {}).empty());
  for (const char* name : {"kind", "format", "step", "numerics", "random", "loaders"}) {
    INFO(name);
    CHECK_THAT(text_after([&](auto& json) { json.erase(name); }), Contains(name));
    CHECK_THAT(text_after([&](auto& json) { json[name] = -1; }), Contains(file.string()));
  }
  CHECK_THAT(text_after([](auto& json) { json["step"] = 1ull << 60; }), Contains("too large"));
  CHECK_THAT(text_after([](auto& json) { json["loaders"][0] = 3; }), Contains("seed"));
  // Of other arithmetic: a warning, and the run continues.
  CHECK(text_after([](auto& json) { json["numerics"] = 1; }).empty());
}

TEST_CASE("two networks, two trainers, and no loader", "[checkpoint]") {
  const TemporaryFolder folder;
  struct Pair {
    nn::Dense a{2, {.in_units = 1, .prefix = "a_"}}, b{1, {.in_units = 1, .prefix = "b_"}};
    Parameter extra{"extra", {1}};  // the trainer's alone
    Trainer first, second;
    CheckpointManager checkpoints;
    explicit Pair(const std::string& folder)
        : first((a.initialize(), b.initialize(), extra.initialize(), a.collect_params()), "sgd",
                {.momentum = 0.9}),
          second(
              [&] {
                std::vector<Parameter> all = b.collect_params().items();
                all.push_back(extra);
                return all;
              }(),
              "adam"),
          checkpoints(folder, a, first) {
      checkpoints.add(b);
      checkpoints.add(second);
    }
    void step(Trainer& trainer) {
      Tensor sum = autograd::record([&] {
        const Tensor x = ones({1, 1});
        return F::sum(a(x)) + F::sum(b(x) * extra.data());
      });
      sum.backward();
      trainer.step(1);
    }
  };
  Pair run(folder.path.string());
  run.step(run.first);
  run.step(run.second);
  run.step(run.second);
  run.checkpoints.save();
  const auto values = [](const Pair& p) {
    return std::vector{p.a.weight.data().to_vector<float>(), p.b.weight.data().to_vector<float>(),
                       p.extra.data().to_vector<float>()};
  };
  run.step(run.second);
  Pair other(folder.path.string());
  CHECK(other.checkpoints.restore()->step == 1);
  CHECK(other.second.num_update() == 2);
  other.step(other.second);
  CHECK(values(other) == values(run));

  // A checkpoint is also a file of parameters.
  nn::Dense loaded(2, {.in_units = 1, .prefix = "a_"});
  loaded.load_parameters((folder.path / "step-00000001.npz").string(), {.ignore_extra = true});
  CHECK(loaded.weight.data().to_vector<float>() == run.a.weight.data().to_vector<float>());
}
