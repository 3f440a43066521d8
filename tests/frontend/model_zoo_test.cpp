// The networks of MXNet's model zoo: MXNet's names, files and numbers.
#include "golden_files.h"
#include "same_bits.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace kiln;
using namespace kiln::model_zoo::vision;
using Catch::Contains;
using golden::error_of;

namespace {

/// Published with the networks: elements of all parameters, BatchNorm's statistics among them.
const std::map<std::string, std::int64_t> parameter_counts = {
    {"alexnet", 61100840},         {"densenet121", 8062504},      {"densenet161", 28900936},
    {"densenet169", 14307880},     {"densenet201", 20242984},     {"inceptionv3", 23869000},
    {"mobilenet0.25", 475544},     {"mobilenet0.5", 1342536},     {"mobilenet0.75", 2601976},
    {"mobilenet1.0", 4253864},     {"mobilenetv2_0.25", 1526856}, {"mobilenetv2_0.5", 1983104},
    {"mobilenetv2_0.75", 2653864}, {"mobilenetv2_1.0", 3539136},  {"resnet101_v1", 44695144},
    {"resnet101_v2", 44639412},    {"resnet152_v1", 60404072},    {"resnet152_v2", 60329140},
    {"resnet18_v1", 11699112},     {"resnet18_v2", 11695796},     {"resnet34_v1", 21814696},
    {"resnet34_v2", 21811380},     {"resnet50_v1", 25629032},     {"resnet50_v2", 25595060},
    {"squeezenet1.0", 1248424},    {"squeezenet1.1", 1235496},    {"vgg11", 132863336},
    {"vgg11_bn", 132874344},       {"vgg13", 133047848},          {"vgg13_bn", 133059624},
    {"vgg16", 138357544},          {"vgg16_bn", 138374440},       {"vgg19", 143667240},
    {"vgg19_bn", 143689256}};

std::vector<std::string> node_names(const Symbol& net) {
  std::vector<std::string> names;
  const nlohmann::json graph = nlohmann::json::parse(net.tojson());
  for (const auto& node : graph["nodes"]) names.push_back(node["name"]);
  return names;
}

Tensor image(const Shape& shape) { return random::uniform(-1, 1, shape); }

/// Eager, and compiled on one and two threads, at batch 1 and 2.
void check_bits(Block& net, const Shape& shape, const Shape& expected) {
  for (const std::int64_t batch : {1, 2}) {
    Shape in = shape, out = expected;
    in[0] = out[0] = batch;
    const Tensor x = image(in);
    net.hybridize(false);
    const Tensor eager = net(x);
    CHECK(eager.shape() == out);
    net.hybridize();
    for (const int threads : {1, 2}) {
      set_num_threads(threads);
      CHECK(same_bits(net(x), eager));
    }
  }
}

}  // namespace

TEST_CASE("exports are MXNet's, line by line", "[model_zoo]") {
  for (const auto& [name, prefix] : {std::pair("mobilenet0.25", "mn_"), {"squeezenet1.1", "sq_"}}) {
    INFO(name);
    const VisionModel net = get_model(name, {.prefix = prefix});
    CHECK(VisionModel(net)(sym::var("data")).tojson() ==
          golden::read_text(golden::path(std::string("models/") + name + "-symbol.json")));
  }
}

TEST_CASE("with MXNet's parameters the outputs are MXNet's", "[model_zoo]") {
  VisionModel net = mobilenet0_25({.prefix = "mn_"});
  net.collect_params().load(golden::path("models/mobilenet0.25-0000.params"));
  const std::vector<NamedArray> io = load_arrays(golden::path("models/mobilenet0.25-io.params"));
  net.hybridize();
  const std::vector<double> got = net(*find_array(io, "in:data")).to_vector<double>(),
                            expected = find_array(io, "out:0")->to_vector<double>();
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(expected[i]).epsilon(1e-3).margin(3e-4));
}

TEST_CASE("every network has the published number of parameters", "[model_zoo]") {
  std::vector<std::string> names;
  for (const auto& [name, count] : parameter_counts) names.push_back(name);
  CHECK(model_names() == names);
  for (const auto& [name, count] : parameter_counts) {
    INFO(name);
    VisionModel net = get_model(name);
    const Symbol y = net(sym::var("data"));
    const std::int64_t size = name == "inceptionv3" ? 299 : 224;
    const InferredShapes shapes = y.infer_shape({{"data", {2, 3, size, size}}});
    CHECK(shapes.outputs == std::vector<Shape>{{2, 1000}});
    std::int64_t elements = 0;
    for (const auto* list : {&shapes.arguments, &shapes.auxiliary_states})
      for (const Shape& s : *list) elements += s.elements();
    CHECK(elements - 2 * 3 * size * size == count);
    // Nodes and parameters are told apart by their names.
    std::vector<std::string> nodes = node_names(y);
    std::sort(nodes.begin(), nodes.end());
    CHECK(std::adjacent_find(nodes.begin(), nodes.end()) == nodes.end());
  }
}

TEST_CASE("names are those of MXNet's scopes", "[model_zoo]") {
  const auto has = [](const VisionModel& net, std::initializer_list<const char*> wanted) {
    const std::vector<std::string> names = node_names(VisionModel(net)(sym::var("data")));
    for (const char* name : wanted) {
      INFO(name);
      CHECK(std::count(names.begin(), names.end(), name) == 1);
    }
  };
  // As they stand in the files of the networks that MXNet publishes.
  has(alexnet({.prefix = "a_"}), {"a_conv4_relu_fwd", "a_dense1_relu_fwd", "a_dense2_bias"});
  has(vgg11_bn({.prefix = "v_"}),
      {"v_conv7_bias", "v_batchnorm7_running_var", "v_relu7_fwd", "v_dense2_fwd"});
  has(resnet18_v1({.prefix = "r_"}),
      {"r_conv0_weight", "r_stage1__plus1", "r_stage1_activation1", "r_stage2_conv2_weight",
       "r_stage2_activation0", "r_stage4_batchnorm4_gamma", "r_pool1_fwd", "r_dense0_weight"});
  has(resnet50_v2({.prefix = "r_"}),
      {"r_batchnorm0_fwd", "r_stage1_activation8", "r_stage4_conv9_weight", "r_stage4__plus2",
       "r_batchnorm2_fwd", "r_relu1_fwd", "r_flatten0_flatten0"});
  has(densenet121({.prefix = "d_"}),
      {"d_stage1_conv11_weight", "d_stage4_concat15", "d_conv3_weight", "d_batchnorm4_beta"});
  has(inception_v3({.prefix = "i_"}),
      {"i_batchnorm4_running_mean", "i_A1_conv6_weight", "i_A3_concat0", "i_C2_conv9_weight", "i_E1_concat0",
       "i_E2_concat2", "i_E2_conv8_weight", "i_dense0_fwd"});
  has(mobilenet_v2_1_0({.prefix = "m_"}),
      {"m_features_conv0_weight", "m_features_relu60_relu6", "m_features_linearbottleneck2_elemwise_add0",
       "m_features_linearbottleneck16_batchnorm2_gamma", "m_features_linearbottleneck0_relu61_relu6",
       "m_features_conv1_fwd", "m_output_pred_weight", "m_output_flatten0_flatten0"});
  // Without a prefix it is made from the class.
  CHECK_THAT(inception_v3().prefix(), Catch::StartsWith("inception3"));
  CHECK_THAT(mobilenet_v2_1_0().prefix(), Catch::StartsWith("mobilenetv2"));
}

TEST_CASE("parameters are saved by the path of their block", "[model_zoo]") {
  ResNetV2 net(ResNetBlock::bottleneck, {1}, {4, 8}, {.classes = 2});
  net.initialize();
  net(image({1, 3, 32, 32}));
  net.save_parameters("resnet.params");
  std::vector<std::string> names;
  for (const NamedArray& a : load_arrays("resnet.params")) names.push_back(a.name);
  for (const char* name : {"features.0.gamma", "features.1.weight", "features.5.0.bn1.running_var",
                           "features.5.0.conv3.weight", "features.5.0.downsample.weight", "output.bias"}) {
    INFO(name);
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  }
  CHECK_THAT(net.str(),
             Catch::StartsWith("ResNetV2(\n  (features): HybridSequential(\n    (0): BatchNorm(") &&
                 Contains("(0): BottleneckV2(\n        (bn1): BatchNorm(") &&
                 Contains("(output): Dense(8 -> 2, linear)"));
}

TEST_CASE("the last layer can be replaced", "[model_zoo]") {
  VisionModel net = resnet18_v1({.thumbnail = true, .prefix = "r_"});
  {
    const auto scope = net.name_scope();
    net.output = nn::Dense(3);
  }
  const Symbol y = net(sym::var("data"));
  CHECK(y.infer_shape({{"data", {5, 3, 32, 32}}}).outputs == std::vector<Shape>{{5, 3}});
  CHECK(y.name() == "r_dense1_fwd");
}

TEST_CASE("what there is not is said", "[model_zoo]") {
  CHECK_THAT(error_of([] { get_model("resnet19_v1"); }),
             Contains("resnet19_v1 is not supported") && Contains("\n\tresnet18_v1\n"));
  CHECK(get_model("ResNet18_v1").class_name() == "ResNetV1");
  CHECK_THAT(error_of([] { get_model("alexnet", {.thumbnail = true}); }),
             Contains("thumbnail") && Contains("resnet"));
  CHECK_THAT(error_of([] { get_model("alexnet", {.classes = 0}); }), Contains("positive, not 0"));
  CHECK_THAT(error_of([] { SqueezeNet("1.2"); }), Contains("1.0 and 1.1"));
  CHECK_THAT(error_of([] {
               ResNetV1(ResNetBlock::basic, {2, 2}, {8, 8});
             }),
             Contains("2 stages") && Contains("3 numbers"));
  CHECK_THAT(error_of([] { ResNetV2(ResNetBlock::basic, {}, {}); }), Contains("first convolution"));
  CHECK_THAT(error_of([] { MobileNet(std::nan("")); }), Contains("between 1/32 and 1000, not nan"));
  CHECK_THAT(error_of([] { VGG({1, 1}, {8}); }), Contains("2 numbers of layers"));
}

TEST_CASE("hybridize() changes no bit of any family", "[model_zoo]") {
  const auto check = [](const VisionModel& net, const Shape& shape) {
    VisionModel model = net;
    INFO(model.prefix());
    model.initialize(init::Xavier());
    check_bits(model, shape, {1, 10});
  };
  const ModelOptions ten{.classes = 10};
  check(alexnet(ten), {1, 3, 64, 64});
  check(VGG({1, 1, 1, 1, 1}, {8, 8, 8, 8, 8}, {.classes = 10, .batch_norm = true}), {1, 3, 32, 32});
  check(squeezenet1_1(ten), {1, 3, 224, 224});
  check(DenseNet(8, 4, {2, 2}, {.classes = 10, .dropout = 0.2}), {1, 3, 56, 56});
  check(ResNetV1(ResNetBlock::basic, {2, 1}, {8, 8, 16}, ten), {1, 3, 32, 32});
  check(ResNetV1(ResNetBlock::bottleneck, {1, 1}, {8, 16, 32}, {.classes = 10, .thumbnail = true}),
        {1, 3, 16, 16});
  check(ResNetV2(ResNetBlock::basic, {1, 2}, {8, 8, 16}, ten), {1, 3, 32, 32});
  check(ResNetV2(ResNetBlock::bottleneck, {1, 1}, {8, 16, 32}, ten), {1, 3, 32, 32});
  check(mobilenet0_25(ten), {1, 3, 32, 32});
  check(mobilenet_v2_0_25(ten), {1, 3, 32, 32});
}

TEST_CASE("temporaries take little more than the least they could", "[model_zoo]") {
  // The first and the last come out larger where blocks get their places by size alone.
  for (const auto& [name, batch] :
       {std::pair("mobilenet0.25", 1), {"squeezenet1.1", 1}, {"resnet50_v2", 2}}) {
    INFO(name);
    const Model model = Model::from_symbol(get_model(name)(sym::var("data")));
    const PrepareStats stats = model.prepare(model.make_inputs({{"data", {batch, 3, 224, 224}}})).stats();
    CHECK(stats.arena_lower_bound > 0);
    CHECK(stats.arena_bytes >= stats.arena_lower_bound);
    CHECK(stats.arena_bytes * 10 <= stats.arena_lower_bound * 11);
  }
}

TEST_CASE("hybridize() changes no bit of an Inception block", "[model_zoo]") {
  // The whole network takes images of 299x299: one block of each kind, on what few rows and columns it needs.
  VisionModel net = inception_v3();
  net.initialize(init::Xavier());
  const struct {
    int child;
    Shape in, out;
  } blocks[] = {{7, {1, 192, 4, 4}, {1, 256, 4, 4}},
                {10, {1, 288, 5, 5}, {1, 768, 2, 2}},
                {11, {1, 768, 2, 2}, {1, 768, 2, 2}},
                {15, {1, 768, 5, 5}, {1, 1280, 2, 2}},
                {16, {1, 1280, 2, 2}, {1, 2048, 2, 2}}};
  for (const auto& b : blocks) {
    INFO(b.child);
    check_bits((*net.features)[b.child], b.in, b.out);
  }
}
