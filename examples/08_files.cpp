// Lesson 8: files. A network is saved, exported as MXNet does, and loaded; then a model that MXNet wrote.
//
// Usage: 08_files MODELS, the folder with tiny_resnet-symbol.json.
#include <kiln/kiln.h>

#include <cstdio>

using namespace kiln;

nn::HybridSequential make() {
  nn::HybridSequential net;
  net.add(nn::Conv2D(4, {.kernel_size = 3, .activation = "relu"}), nn::GlobalAvgPool2D(), nn::Dense(2));
  return net;
}

const char* bits(const Tensor& a, const Tensor& b) {
  return a.to_vector<float>() == b.to_vector<float>() ? "the same bits" : "other bits";
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: 08_files MODELS\n"), 2;
  random::seed(8);
  nn::HybridSequential net = make();
  net.initialize(init::Xavier());
  Tensor x = random::normal(0, 1, {2, 3, 8, 8});
  Tensor expected = net(x);

  // 1. Parameters alone, by their path in the tree. The program has the code of the network.
  net.save_parameters("net.params");  // or .npz, .safetensors: the extension says which
  nn::HybridSequential again = make();
  again.load_parameters("net.params");
  std::printf("load_parameters: %s\n", bits(again(x), expected));

  // 2. The graph and the parameters: MXNet and Kiln load them without the code of the network.
  net.hybridize();
  net(x);  // the call that is exported
  net.export_model("net", 3);
  Model model = Model::load("net-symbol.json", "net-0003.params");
  std::printf("Model::load: %s\n", bits(model.run({{"data", x}})[0], expected));

  // 3. Arrays by name, as a program in Python writes them with numpy.savez.
  save_arrays("arrays.npz", std::vector<NamedArray>{{"x", x}, {"y", expected}});
  for (const NamedArray& a : load_arrays("arrays.npz"))
    std::printf("arrays.npz: %s %s\n", a.name.c_str(), a.array.shape().str().c_str());

  // A model that MXNet 1.9.1 exported, and the inputs and outputs that MXNet wrote.
  const std::string path = std::string(argv[1]) + "/tiny_resnet";
  Model resnet = Model::load(path + "-symbol.json", path + "-0000.params");
  std::printf("tiny_resnet: input %s, output %s, %d parameters\n", resnet.input_names()[0].c_str(),
              resnet.output_names()[0].c_str(), static_cast<int>(resnet.params().size()));
  const auto io = load_arrays(path + "-io.params");
  const Tensor& image = *find_array(io, "in:data");
  const Tensor& of_mxnet = *find_array(io, "out:0");

  // prepare() compiles for one shape; each run() reads the current contents of the inputs.
  PreparedModel prepared = resnet.prepare({{"data", image}});
  Tensor scores = prepared.run()[0];
  const double error = F::max(F::abs(scores - of_mxnet)).item<double>();
  std::printf("scores %s differ from MXNet's by %s\n", scores.shape().str().c_str(),
              error < 1e-5 ? "less than 0.00001" : "too much");

  // An error names the file and what is wrong with it.
  try {
    Model::load(path + "-symbol.json", "net-0003.params");
  } catch (const Error& e) {
    const std::string text = e.what();
    const auto begin = text.find("net-0003.params");
    std::printf("error: %s\n", text.substr(begin, text.find(" of ", begin) - begin).c_str());
  }
}
