// convert_model: any symbol file and params file, as MXNet 1.9.1 would write them.
#include "golden_files.h"

#include <catch2/catch.hpp>
#include <fstream>

using namespace kiln;
using golden::error_of;

TEST_CASE("a model of MXNet 1.9.1 is converted to itself", "[convert]") {
  for (const char* name : {"lenet", "tiny_resnet", "twoheads"}) {
    const std::string prefix = golden::path(std::string("models/") + name);
    convert_model(prefix + "-symbol.json", "same", prefix + "-0000.params", 7);
    CHECK(golden::read_text("same-symbol.json") == golden::read_text(prefix + "-symbol.json"));
    CHECK(golden::read_text("same-0007.params") == golden::read_text(prefix + "-0000.params"));
  }
}

TEST_CASE("an old model becomes a new one that computes the same", "[convert]") {
  const std::string folder = golden::path("legacy/");
  convert_model(folder + "tiny_resnet-v800-symbol.json", "new", folder + "tiny_resnet-v800-0000.params");
  const auto json = nlohmann::json::parse(golden::read_text("new-symbol.json"));
  CHECK(json["attrs"]["mxnet_version"][1] == 10901);
  const Tensor x = *find_array(load_arrays(folder + "tiny_resnet-v800-io.params"), "in:data");
  const Model old =
      Model::load(folder + "tiny_resnet-v800-symbol.json", folder + "tiny_resnet-v800-0000.params");
  const Model now = Model::load("new-symbol.json", "new-0000.params");
  CHECK(now.run({{"data", x}})[0].to_vector<float>() == old.run({{"data", x}})[0].to_vector<float>());
}

TEST_CASE("names get their kind from the symbol", "[convert]") {
  const std::string formats = golden::path("formats/");
  convert_model(formats + "gluon-export-symbol.json", "named", formats + "gluon-paramdict.params");
  CHECK(golden::read_text("named-0000.params") == golden::read_text(formats + "gluon-export-0000.params"));
  // An array that the symbol lacks.
  CHECK_THAT(
      error_of([&] { convert_model(formats + "gluon-export-symbol.json", "x", formats + "v1.params"); }),
      Catch::Contains("v1.params") && Catch::Contains("arg:w"));
  CHECK(!std::filesystem::exists("x-symbol.json"));
  CHECK_THAT(error_of([&] { convert_model(formats + "gluon-export-symbol.json", "x", {}, -1); }),
             Catch::Contains("-1"));
}

TEST_CASE("fused operators get the names of their attributes in MXNet 1.9.1", "[convert]") {
  // A network of MXNet's back end for Intel CPUs, once as 1.5 wrote it and once as 1.9.1 reads and writes
  // that file.
  const std::string folder = KILN_TEST_SOURCES "/formats/symbols/";
  convert_model(folder + "fused-1.5-symbol.json", "fused");
  CHECK(golden::read_text("fused-symbol.json") == golden::read_text(folder + "fused-symbol.json"));
  convert_model(folder + "fused-symbol.json", "again");
  CHECK(golden::read_text("again-symbol.json") == golden::read_text(folder + "fused-symbol.json"));
}

TEST_CASE("the error of a file that does not run names every operator that is missing", "[convert]") {
  std::string text = golden::read_text(KILN_TEST_SOURCES "/formats/symbols/fused-1.5-symbol.json");
  for (std::size_t at = 0; (at = text.find("_sg_mkldnn_", at)) != text.npos;)
    text.replace(at, std::string_view("_sg_mkldnn_").size(), "_sg_other_");
  std::ofstream("lacking-symbol.json") << text;
  const std::string error = error_of([&] { Model::load("lacking-symbol.json"); });
  CHECK_THAT(error, Catch::Contains("lacking-symbol.json: Kiln lacks some of its operators"));
  CHECK_THAT(error, Catch::Contains("2 nodes: '_sg_other_conv'") &&
                        Catch::Contains("2 nodes: '_sg_other_fully_connected'") &&
                        Catch::Contains("'sg_mkldnn_conv_bn_act_0'"));
}
