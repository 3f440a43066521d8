// The networks of MXNet's gluon.model_zoo.vision.
#pragma once
#include <kiln/nn.h>

#include <string>
#include <string_view>
#include <vector>

/// The networks of MXNet's gluon.model_zoo.vision with the same blocks and parameter names: exports equal
/// MXNet's, and parameters saved by MXNet load by name. Weights are not included:
///
///     auto net = model_zoo::vision::resnet18_v1({.classes = 10});
///     net.initialize();                    // or net.load_parameters("resnet18_v1.params")
///     net.hybridize();
///     Tensor scores = net(images);         // (batch, 3, 224, 224) -> (batch, 10)
namespace kiln::model_zoo::vision {

/// Options of all networks. One that a network does not have must keep its default.
struct ModelOptions {
  std::int64_t classes = 1000;  ///< the number of outputs
  bool batch_norm = false;      ///< VGG: a BatchNorm after each convolution
  bool thumbnail = false;       ///< ResNets: one 3x3 convolution as the stem, for images of 32x32
  std::int64_t bn_size = 4;     ///< DenseNets: the inner convolutions have bn_size * growth_rate channels
  double dropout = 0;           ///< DenseNets: rate of the dropout after each layer; 0 for none
  std::optional<std::string> prefix = {};  ///< of the network's name; nothing: made from its class
  const ParameterDict* params = nullptr;   ///< parameters to share; null: own ones
};

/// output(features(x)), (batch, 3, height, width) -> (batch, classes). Both parts can be replaced, to train
/// on other classes: `net.output = nn::Dense(10)` within `net.name_scope()`. The derived classes have only
/// constructors: slicing one to VisionModel keeps the network.
class KILN_API VisionModel : public HybridBlock {
 public:
  std::string class_name() const override { return class_name_; }
  /// From images to features, by MXNet's layers and names.
  Child<nn::HybridSequential> features{this, "features"};
  /// From features to the classes.
  Child<HybridBlock> output{this, "output"};

 protected:
  VisionModel(const std::string& class_name, const ModelOptions& options);
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  std::string class_name_;
};

/// Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014).
struct KILN_API AlexNet : VisionModel {
  explicit AlexNet(const ModelOptions& options = {}, Where where = Where::current());
};
/// Simonyan and Zisserman, "Very deep convolutional networks" (2014). Stages of layers[i] convolutions with
/// filters[i] channels. Images of 32x32 or more.
struct KILN_API VGG : VisionModel {
  VGG(const std::vector<int>& layers, const std::vector<int>& filters, const ModelOptions& options = {},
      Where where = Where::current());
};
/// Iandola et al., "SqueezeNet" (2016); version "1.0" or "1.1". Images of 224x224 or more.
struct KILN_API SqueezeNet : VisionModel {
  explicit SqueezeNet(std::string_view version, const ModelOptions& options = {},
                      Where where = Where::current());
};
/// Huang et al., "Densely connected convolutional networks" (2016). block_config: layers of each dense block.
struct KILN_API DenseNet : VisionModel {
  DenseNet(std::int64_t num_init_features, std::int64_t growth_rate, const std::vector<int>& block_config,
           const ModelOptions& options = {}, Where where = Where::current());
};
/// Szegedy et al., "Rethinking the Inception architecture" (2015). Images of 299x299.
struct KILN_API Inception3 : VisionModel {
  explicit Inception3(const ModelOptions& options = {}, Where where = Where::current());
};

/// The block of a ResNet. A bottleneck has a quarter of the channels inside.
enum class ResNetBlock {
  basic,       ///< two 3x3 convolutions
  bottleneck,  ///< 1x1, 3x3 and 1x1, as ResNets of 50 layers and more have
};
/// He et al., "Deep residual learning" (2015). Stages of layers[i] blocks with channels[i + 1] channels;
/// channels[0] is the number of channels of the first convolution. In a bottleneck the first 1x1 convolution
/// has the stride, and both 1x1 convolutions a bias.
struct KILN_API ResNetV1 : VisionModel {
  ResNetV1(ResNetBlock block, const std::vector<int>& layers, const std::vector<int>& channels,
           const ModelOptions& options = {}, Where where = Where::current());
};
/// He et al., "Identity mappings" (2016): BatchNorm and activation precede each convolution.
struct KILN_API ResNetV2 : VisionModel {
  ResNetV2(ResNetBlock block, const std::vector<int>& layers, const std::vector<int>& channels,
           const ModelOptions& options = {}, Where where = Where::current());
};
/// Howard et al., "MobileNets" (2017). The multiplier scales all channel counts.
struct KILN_API MobileNet : VisionModel {
  explicit MobileNet(double multiplier = 1, const ModelOptions& options = {}, Where where = Where::current());
};
/// Sandler et al., "MobileNetV2" (2018). The last convolution has 1280 channels at least.
struct KILN_API MobileNetV2 : VisionModel {
  explicit MobileNetV2(double multiplier = 1, const ModelOptions& options = {},
                       Where where = Where::current());
};

/// A network by MXNet's name ("resnet50_v1", "mobilenetv2_0.5"); case-insensitive. Throws kiln::Error for an
/// unknown name, listing all, and for an option that the network does not have.
KILN_API VisionModel get_model(const std::string& name, const ModelOptions& options = {},
                               std::source_location where = std::source_location::current());
/// The names accepted by get_model, sorted.
KILN_API std::vector<std::string> model_names();

#define KILN_VISION_MODEL(FUNCTION, NAME)                                                     \
  inline VisionModel FUNCTION(const ModelOptions& options = {},                               \
                              std::source_location where = std::source_location::current()) { \
    return get_model(NAME, options, where);                                                   \
  }
/// get_model() of the name with dots: alexnet(), mobilenet0_25() is "mobilenet0.25".
KILN_VISION_MODEL(alexnet, "alexnet")
KILN_VISION_MODEL(densenet121, "densenet121")
KILN_VISION_MODEL(densenet161, "densenet161")
KILN_VISION_MODEL(densenet169, "densenet169")
KILN_VISION_MODEL(densenet201, "densenet201")
KILN_VISION_MODEL(inception_v3, "inceptionv3")
KILN_VISION_MODEL(mobilenet0_25, "mobilenet0.25")
KILN_VISION_MODEL(mobilenet0_5, "mobilenet0.5")
KILN_VISION_MODEL(mobilenet0_75, "mobilenet0.75")
KILN_VISION_MODEL(mobilenet1_0, "mobilenet1.0")
KILN_VISION_MODEL(mobilenet_v2_0_25, "mobilenetv2_0.25")
KILN_VISION_MODEL(mobilenet_v2_0_5, "mobilenetv2_0.5")
KILN_VISION_MODEL(mobilenet_v2_0_75, "mobilenetv2_0.75")
KILN_VISION_MODEL(mobilenet_v2_1_0, "mobilenetv2_1.0")
KILN_VISION_MODEL(resnet18_v1, "resnet18_v1")
KILN_VISION_MODEL(resnet34_v1, "resnet34_v1")
KILN_VISION_MODEL(resnet50_v1, "resnet50_v1")
KILN_VISION_MODEL(resnet101_v1, "resnet101_v1")
KILN_VISION_MODEL(resnet152_v1, "resnet152_v1")
KILN_VISION_MODEL(resnet18_v2, "resnet18_v2")
KILN_VISION_MODEL(resnet34_v2, "resnet34_v2")
KILN_VISION_MODEL(resnet50_v2, "resnet50_v2")
KILN_VISION_MODEL(resnet101_v2, "resnet101_v2")
KILN_VISION_MODEL(resnet152_v2, "resnet152_v2")
KILN_VISION_MODEL(squeezenet1_0, "squeezenet1.0")
KILN_VISION_MODEL(squeezenet1_1, "squeezenet1.1")
KILN_VISION_MODEL(vgg11, "vgg11")
KILN_VISION_MODEL(vgg13, "vgg13")
KILN_VISION_MODEL(vgg16, "vgg16")
KILN_VISION_MODEL(vgg19, "vgg19")
KILN_VISION_MODEL(vgg11_bn, "vgg11_bn")
KILN_VISION_MODEL(vgg13_bn, "vgg13_bn")
KILN_VISION_MODEL(vgg16_bn, "vgg16_bn")
KILN_VISION_MODEL(vgg19_bn, "vgg19_bn")
#undef KILN_VISION_MODEL

}  // namespace kiln::model_zoo::vision
