// The display of a training run on files and terminals, and its log.
#include "golden_files.h"
#include "temporary_folder.h"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <regex>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

using namespace kiln;
using Catch::Contains;
using golden::error_of;

namespace {

data::DataLoader loader(std::int64_t batches = 4) {
  return {data::ArrayDataset(F::arange(0, static_cast<double>(2 * batches))), {.batch_size = 2, .seed = 1}};
}

/// Two epochs of four batches.
void train(Progress& progress, const data::DataLoader& batches, std::int64_t epochs = 2) {
  for (auto epoch = batches.state().epoch; epoch < epochs; ++epoch) {
    double loss = 1;
    for ([[maybe_unused]] const data::Batch& batch : batches) progress.step(2, {{"loss", loss /= 2}});
    progress.end_epoch({{"loss", loss}, {"held out", 0.5}});
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// A file as the place that is shown on.
struct Shown {
  std::string path;
  int descriptor;
  explicit Shown(const std::filesystem::path& folder)
      : path((folder / "shown").string()),
        descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)) {}
  ~Shown() { ::close(descriptor); }
  std::vector<std::string> lines() const { return lines_of(golden::read_text(path)); }
};

/// Text without the cells that depend on time: seconds and speed.
std::vector<std::string> without_times(const std::string& csv) {
  std::vector<std::string> lines = lines_of(csv);
  for (std::string& line : lines)
    line = std::regex_replace(line, std::regex("^([^,]*,[^,]*,[^,]*),[^,]*,[^,]*"), "$1");
  return lines;
}

}  // namespace

TEST_CASE("lines where there is no terminal", "[progress]") {
  const TemporaryFolder folder;
  const Shown shown(folder.path);
  {
    const auto batches = loader();
    Progress progress(batches, {.epochs = 2, .interval = 2, .descriptor = shown.descriptor});
    train(progress, batches);
  }
  const std::vector<std::string> lines = shown.lines();
  REQUIRE(lines.size() == 6);
  const auto matches = [&](std::size_t i, const std::string& pattern) {
    INFO(lines[i]);
    CHECK(std::regex_match(lines[i], std::regex(pattern)));
  };
  const std::string speed = R"(\tSpeed: \d+\.\d\d samples/sec)", left = R"(\tleft \d+:\d\d)";
  matches(0, R"(Epoch\[0\] Batch \[2\])" + speed + R"(\tloss=0\.250000)" + left);
  matches(1, R"(Epoch\[0\] Batch \[4\])" + speed + R"(\tloss=0\.062500)" + left);
  matches(2, R"(Epoch\[0\] Time cost=\d+\.\d{3}\tloss=0\.062500\theld out=0\.500000)");
  matches(3, R"(Epoch\[1\] Batch \[2\])" + speed + R"(\tloss=0\.250000)" + left);
  matches(4, R"(Epoch\[1\] Batch \[4\])" + speed + R"(\tloss=0\.062500\tleft 0:00)");
}

TEST_CASE("the time left and the speed", "[progress]") {
  const TemporaryFolder folder;
  const Shown shown(folder.path);
  const auto batches = loader();
  Progress progress(batches, {.epochs = 101, .interval = 4, .descriptor = shown.descriptor});
  for ([[maybe_unused]] const data::Batch& batch : batches) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    progress.step(2);
  }
  // 4 batches have taken at least 0.1 s, 400 are left; 8 samples.
  const std::string line = shown.lines().at(0);
  std::smatch found;
  REQUIRE(std::regex_search(line, found, std::regex(R"(Speed: (\S+) .*left (\d+):(\d\d))")));
  CHECK(std::stod(found[1]) <= 80);
  CHECK(std::stoi(found[2]) * 60 + std::stoi(found[3]) >= 10);

  Progress endless(batches, {.interval = 1, .descriptor = shown.descriptor});
  for ([[maybe_unused]] const data::Batch& batch : batches) endless.step(2);
  CHECK_THAT(shown.lines().back(), !Contains("left"));
}

TEST_CASE("a bar on a terminal", "[progress]") {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(master >= 0);
  REQUIRE((::grantpt(master) == 0 && ::unlockpt(master) == 0));
  const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  winsize size{};
  size.ws_col = 100;
  REQUIRE(::ioctl(terminal, TIOCSWINSZ, &size) == 0);
  {
    const auto batches = loader();
    Progress progress(batches, {.epochs = 2, .interval = 2, .descriptor = terminal});
    train(progress, batches);
    for ([[maybe_unused]] const data::Batch& batch : batches) {
      progress.step(2, {{std::string(100, 'n'), 1}});
      break;
    }
  }
  ::close(terminal);
  // A read gives what the terminal has passed on so far; all of it is there when one fails.
  std::string text;
  char part[4096];
  for (ssize_t n; (n = ::read(master, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  ::close(master);
  const std::string clear = "\r\x1b[K";
  CHECK_THAT(text, Contains(clear + "epoch 1/2 [#####---------------]  25% "));
  CHECK_THAT(text, Contains("samples/s loss=0.500000 left 0:0"));
  CHECK_THAT(text, Contains(clear + "Epoch[0] Time cost="));
  CHECK_THAT(text, !Contains("Batch ["));
  CHECK(text.ends_with(clear));  // no bar is left
  // No bar is wider than the terminal, which would make it two lines.
  for (std::size_t at = text.find(clear); at != text.npos; at = text.find(clear, at + 1))
    if (const std::string bar =
            text.substr(at + clear.size(), text.find_first_of("\r\n", at + 1) - at - clear.size());
        bar.starts_with("epoch "))
      CHECK(bar.size() < 100);
}

TEST_CASE("the log as CSV", "[progress]") {
  const TemporaryFolder folder;
  const Shown shown(folder.path);
  const std::string log = (folder.path / "training.csv").string();
  const ProgressOptions options{.epochs = 2, .interval = 2, .log = log, .descriptor = shown.descriptor};
  {
    const auto batches = loader();
    Progress progress(batches, options);
    train(progress, batches);
  }
  const std::string whole = golden::read_text(log);
  CHECK(lines_of(whole)[0] == "event,epoch,batch,seconds,speed,loss,held out");
  CHECK(without_times(whole) == std::vector<std::string>{"event,epoch,batch,loss,held out", "batch,0,2,0.25",
                                                         "batch,0,4,0.0625", "epoch,0,4,0.0625,0.5",
                                                         "batch,1,2,0.25,", "batch,1,4,0.0625,",
                                                         "epoch,1,4,0.0625,0.5"});

  // Killed in a line after the checkpoint of epoch 0, batch 3
  std::string killed = whole.substr(0, whole.find("\nepoch,1") + 6);
  golden::write_text(log, killed);
  {
    const auto batches = loader();
    batches.begin();
    data::DataLoader(batches).restore({.seed = 1, .epoch = 0, .position = 3});
    Progress progress(batches, options);
    train(progress, batches);
  }
  std::vector<std::string> rows = without_times(golden::read_text(log));
  REQUIRE(rows.size() == 7);
  for (const std::string& r : rows)
    CHECK(r.substr(0, 9) == without_times(whole)[&r - rows.data()].substr(0, 9));

  // Another run from the beginning
  {
    const auto batches = loader();
    Progress progress(batches, options);
    for ([[maybe_unused]] const data::Batch& batch : batches) progress.step(2, {{"a,\"b\"", std::nan("")}});
  }
  CHECK(without_times(golden::read_text(log)) ==
        std::vector<std::string>{"event,epoch,batch,\"a,\"\"b\"\"\"", "batch,0,2,nan", "batch,0,4,nan"});
}

TEST_CASE("the log as JSON lines", "[progress]") {
  const TemporaryFolder folder;
  const Shown shown(folder.path);
  const std::string log = (folder.path / "training.jsonl").string();
  const ProgressOptions options{.interval = 4, .log = log, .descriptor = shown.descriptor};
  const auto batches = loader();
  {
    Progress progress(batches, options);
    for ([[maybe_unused]] const data::Batch& batch : batches) progress.step(2, {{"loss", 0.5}});
    progress.end_epoch({{"loss", std::nan("")}});
  }
  Progress again(batches, options);  // of epoch 1
  for ([[maybe_unused]] const data::Batch& batch : batches) again.step(2, {{"loss", 0.25}});
  const std::vector<std::string> lines = lines_of(golden::read_text(log));
  REQUIRE(lines.size() == 3);
  const auto first = nlohmann::json::parse(lines[0]), second = nlohmann::json::parse(lines[1]);
  CHECK(first.at("event") == "batch");
  CHECK(first.at("epoch") == 0);
  CHECK(first.at("batch") == 4);
  CHECK(first.at("loss") == 0.5);
  CHECK(first.at("seconds").is_number());
  CHECK(first.at("speed").is_number());
  CHECK(second.at("event") == "epoch");
  CHECK(second.at("loss").is_null());
  CHECK(nlohmann::json::parse(lines[2]).at("epoch") == 1);
}

TEST_CASE("a continued run continues the seconds of its log", "[progress]") {
  const TemporaryFolder folder;
  const Shown shown(folder.path);
  const auto continued = [&](const std::string& name, const std::string& before) {
    const std::string log = (folder.path / name).string();
    golden::write_text(log, before);
    const auto batches = loader();
    batches.begin();
    data::DataLoader(batches).restore({.seed = 1, .epoch = 1, .position = 2});
    Progress progress(batches, {.epochs = 2, .interval = 2, .log = log, .descriptor = shown.descriptor});
    train(progress, batches);
    return lines_of(golden::read_text(log));
  };
  const auto near = [](double seconds) { return seconds >= 1000 && seconds < 1500; };

  const std::vector<std::string> csv =
      continued("a.csv",
                "event,epoch,batch,loss,seconds\n"
                "epoch,0,4,0.5,900\nbatch,1,2,0.25,1000\nbatch,1,4,0.25,7000\n");
  REQUIRE(csv.size() == 5);
  CHECK(csv[2].starts_with("batch,1,2,0.25,1000"));
  for (std::size_t i : {3, 4}) {
    std::string cell = csv[i];
    for (int column = 0; column < 4; ++column) cell.erase(0, cell.find(',') + 1);
    INFO(csv[i]);
    CHECK(near(std::stod(cell)));
  }

  const std::vector<std::string> json =
      continued("a.jsonl", R"({"event":"batch","epoch":1,"batch":2,"seconds":1000.5})"
                           "\n");
  REQUIRE(json.size() == 3);
  for (std::size_t i : {1, 2}) CHECK(near(nlohmann::json::parse(json[i]).at("seconds").get<double>()));

  // Seconds that are no number count as none.
  const std::vector<std::string> odd =
      continued("b.jsonl", R"({"event":"batch","epoch":1,"batch":2,"seconds":"long"})"
                           "\n");
  CHECK(nlohmann::json::parse(odd.at(1)).at("seconds").get<double>() < 500);
}

TEST_CASE("a step does not make the batches of a program's own sampler", "[progress]") {
  const TemporaryFolder folder;
  const Shown shown(folder.path);
  int made = 0;
  const data::BatchSampler sampler([&made](std::uint64_t, std::int64_t epoch) {
    ++made;
    return std::vector<data::Indices>(static_cast<std::size_t>(epoch + 10), data::Indices{0});
  });
  data::DataLoader batches(data::ArrayDataset(ones({1})), {.batch_sampler = sampler, .seed = 1});
  Progress progress(batches, {.epochs = 3, .interval = 1, .descriptor = shown.descriptor});
  train(progress, batches, 3);
  CHECK(made <= 6);  // each epoch's, and not for each of its steps
  CHECK(shown.lines().size() == 10 + 11 + 12 + 3);

  // The number is the epoch's: also of another one, after restore().
  CHECK(batches.size() == 13);
  batches.restore({.seed = 1, .epoch = 7});
  CHECK(batches.size() == 17);
  batches.restore({.seed = 2, .epoch = 7});
  CHECK(batches.size() == 17);
}

TEST_CASE("files that are no logs stay as they are", "[progress]") {
  const TemporaryFolder folder;
  const Shown shown(folder.path);
  const auto batches = loader();
  for (const char* name : {"a.csv", "a.jsonl"})
    for (const char* text : {"my,own,table\n1,2,3\n", "{}\n", "event,epoch,batch\nbatch,one,2\n", "\n"}) {
      INFO(name << text);
      const std::string log = (folder.path / name).string();
      golden::write_text(log, text);
      Progress progress(batches, {.interval = 1, .log = log, .descriptor = shown.descriptor});
      const std::string error = error_of([&] {
        for ([[maybe_unused]] const data::Batch& batch : batches) progress.step(2);
      });
      CHECK_THAT(error, Contains(log) && Contains("another file") && Contains("progress_test.cpp"));
      CHECK(golden::read_text(log) == text);
    }
  CHECK_THAT(error_of([&] { Progress(batches, {.log = "log.txt"}); }),
             Contains(".csv") && Contains("log.txt"));
  CHECK_THAT(error_of([&] { Progress(batches, {.interval = 0}); }), Contains("interval"));
  Progress nowhere(
      batches,
      {.interval = 1, .log = (folder.path / "no" / "a.csv").string(), .descriptor = shown.descriptor});
  CHECK_THAT(error_of([&] {
               for ([[maybe_unused]] const data::Batch& batch : batches) nowhere.step(2);
             }),
             Contains("cannot write"));
}
