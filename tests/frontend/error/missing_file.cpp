// Errors of files that do not exist.
#include "expect.h"

#include <kiln/data.h>
#include <kiln/recordio.h>

TEST_CASE("files that are not there, with the line that wants them", "[error]") {
  nn::Dense net(2, {.in_units = 2});
  net.initialize();
  Trainer trainer(net.collect_params(), "sgd");
  const ParameterDict params = net.collect_params();
  const std::vector<NamedArray> arrays{{"x", ones({1})}};
  const Tensor x = ones({1, 2});
  net.hybridize();
  net(x);
#define CHECK_MISSING(USE)                                                                     \
  do {                                                                                         \
    const std::string line = line_below(0);                                                    \
    const std::string text = message_of([&] { USE; });                                         \
    CHECK_THAT(text, Catch::StartsWith(line) && Contains("nowhere") && !Contains("frontend")); \
  } while (false)
  CHECK_MISSING(load_arrays("nowhere.params"));
  CHECK_MISSING(save_arrays("nowhere/x.params", arrays));
  CHECK_MISSING(net.load_parameters("nowhere.params"));
  CHECK_MISSING(net.save_parameters("nowhere/x.params"));
  CHECK_MISSING(params.load("nowhere.params"));
  CHECK_MISSING(params.save("nowhere/x.params"));
  CHECK_MISSING(trainer.load_states("nowhere.params"));
  CHECK_MISSING(trainer.save_states("nowhere/x.params"));
  CHECK_MISSING(net.export_model("nowhere/net"));
  CHECK_MISSING(init::Load("nowhere.params"));
  CHECK_MISSING(Symbol::load("nowhere-symbol.json"));
  CHECK_MISSING(sym::load("nowhere-symbol.json"));
  CHECK_MISSING(sym::var("x").save("nowhere/x-symbol.json"));
  CHECK_MISSING(Model::load("nowhere-symbol.json"));
  CHECK_MISSING(SymbolBlock::imports("nowhere-symbol.json", {"data"}));
  CHECK_MISSING(convert_model("nowhere-symbol.json", "x"));
  CHECK_MISSING(data::vision::MNIST("nowhere"));
  CHECK_MISSING(data::vision::FashionMNIST("nowhere"));
  CHECK_MISSING(data::vision::CIFAR10("nowhere"));
  CHECK_MISSING(data::vision::CIFAR100("nowhere"));
  CHECK_MISSING(data::vision::load_idx("nowhere"));
  CHECK_MISSING(data::RecordFileDataset("nowhere.rec"));
  CHECK_MISSING(recordio::Reader("nowhere.rec"));
  CHECK_MISSING(recordio::Writer("nowhere/x.rec"));
  CHECK_MISSING(recordio::IndexedReader("nowhere.idx", "nowhere.rec"));
  CHECK_MISSING(recordio::IndexedWriter("nowhere/x.idx", "nowhere/x.rec"));
#undef CHECK_MISSING
}

TEST_CASE("a record that a file does not have", "[error]") {
  {
    recordio::IndexedWriter out("short.idx", "short.rec");
    out.write_idx(0, "record");
    std::string line = line_below();
    CHECK_THAT(message_of([&] { out.write_idx(0, "again"); }), Contains(line) && Contains("key 0"));
  }
  const recordio::IndexedReader in("short.idx", "short.rec");
  std::string line = line_below();
  CHECK_THAT(message_of([&] { in.read_idx(1); }), Contains(line) && Contains("no key 1"));
  recordio::Reader reader("short.rec");
  line = line_below();
  CHECK_THAT(message_of([&] { reader.seek(1000); }), Contains(line) && Contains("no byte 1000"));
  line = line_below();
  CHECK_THAT(message_of([&] { recordio::unpack(std::string_view("short")); }), Contains(line));
}
