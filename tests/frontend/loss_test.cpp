// Losses against their formulas, computed here in double, and what a wrong use is told. MXNet's own numbers
// are in layer_golden_test.cpp.
#include "golden_files.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

using namespace kiln;
using golden::error_of;

namespace {

using Catch::Matchers::Contains;

Tensor sample(const Shape& shape, int seed) {
  random::seed(seed);
  return nd::random::normal(0, 1, shape);
}

/// Per sample the mean of fn(pred, label) over two elements, weighted.
void check_pointwise(const std::string& name, HybridBlock&& loss, const Tensor& pred, const Tensor& label,
                     const std::function<double(double, double)>& fn) {
  INFO(name);
  const Tensor got = loss(pred, label);
  REQUIRE(got.shape() == Shape{3});
  const auto p = pred.to_vector<double>(), l = label.to_vector<double>(), g = got.to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(g[i] ==
          Approx((fn(p[2 * i], l[2 * i]) + fn(p[2 * i + 1], l[2 * i + 1])) / 2).epsilon(1e-5).margin(1e-6));
  const Tensor weights = Tensor({{1}, {0}, {2}});
  const auto w = loss(pred, label, weights).to_vector<double>();
  CHECK(w[1] == 0);
  CHECK(w[2] == Approx(2 * g[2]).epsilon(1e-5).margin(1e-6));
  loss.hybridize();
  CHECK(loss(pred, label).to_vector<float>() == got.to_vector<float>());
  CHECK(loss(pred, label).to_vector<float>() == got.to_vector<float>());
}

}  // namespace

TEST_CASE("losses print as MXNet prints them") {
  CHECK(loss::L2Loss().str() == "L2Loss(batch_axis=0, w=1.0)");
  CHECK(loss::SoftmaxCrossEntropyLoss().str() == "SoftmaxCrossEntropyLoss(batch_axis=0, w=None)");
  CHECK(loss::HingeLoss({.weight = 2}).str() == "HingeLoss(batch_axis=0, w=2)");
  CHECK(loss::L1Loss({.weight = 0.5, .batch_axis = 1}).str() == "L1Loss(batch_axis=1, w=0.5)");
  CHECK(loss::L1Loss({.prefix = "mine_"}).prefix() == "mine_");
}

TEST_CASE("losses of a prediction and a label") {
  const Tensor pred = sample({3, 2}, 1);
  const Tensor label = sample({3, 2}, 2);
  const Tensor binary = label > 0, sign = 2 * binary - 1;
  const Tensor probability = nd::sigmoid(pred);
  const auto log_sigmoid = [](double v) { return -std::log1p(std::exp(-v)); };
  check_pointwise("L2", loss::L2Loss(), pred, label,
                  [](double p, double l) { return (p - l) * (p - l) / 2; });
  check_pointwise("L2 weighted", loss::L2Loss({.weight = 3.0}), pred, label,
                  [](double p, double l) { return 1.5 * (p - l) * (p - l); });
  check_pointwise("L1", loss::L1Loss(), pred, label, [](double p, double l) { return std::abs(p - l); });
  check_pointwise("Huber", loss::HuberLoss(), pred, label, [](double p, double l) {
    const double e = std::abs(p - l);
    return e > 1 ? e - 0.5 : 0.5 * e * e;
  });
  check_pointwise("Hinge", loss::HingeLoss({.margin = 1.5}), pred, sign,
                  [](double p, double l) { return std::max(0.0, 1.5 - p * l); });
  check_pointwise("SquaredHinge", loss::SquaredHingeLoss(), pred, sign,
                  [](double p, double l) { return std::pow(std::max(0.0, 1 - p * l), 2); });
  check_pointwise("Logistic", loss::LogisticLoss(), pred, sign,
                  [](double p, double l) { return std::log1p(std::exp(-p * l)); });
  check_pointwise("Logistic of 0 and 1", loss::LogisticLoss({.label_format = "binary"}), pred, binary,
                  [](double p, double l) { return std::log1p(std::exp(-p * (2 * l - 1))); });
  check_pointwise("SigmoidBCE", loss::SigmoidBCELoss(), pred, binary,
                  [&](double p, double l) { return -(l * log_sigmoid(p) + (1 - l) * log_sigmoid(-p)); });
  check_pointwise("SigmoidBCE of probabilities", loss::SigmoidBCELoss({.from_sigmoid = true}), probability,
                  binary, [](double p, double l) { return -(l * std::log(p) + (1 - l) * std::log(1 - p)); });
}

TEST_CASE("weights of positive samples") {
  const Tensor pred = sample({3, 2}, 1), label = sample({3, 2}, 2) > 0;
  const Tensor pos_weight{2, 0.5};
  for (const bool from_sigmoid : {false, true}) {
    loss::SigmoidBCELoss bce({.from_sigmoid = from_sigmoid});
    const Tensor in = from_sigmoid ? nd::sigmoid(pred) : pred;
    const Tensor got = bce.with_pos_weight(in, label, pos_weight);
    const Tensor four = bce(Tensors{in, label, ones({3, 1}), pos_weight})[0];
    const auto p = nd::sigmoid(pred).to_vector<double>(), l = label.to_vector<double>();
    const double w[] = {2, 0.5};
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < 2; ++j) {
        const std::size_t k = 2 * i + j;
        sum -= w[j] * l[k] * std::log(p[k]) + (1 - l[k]) * std::log(1 - p[k]);
      }
      CHECK(got[static_cast<int>(i)].item<double>() == Approx(sum / 2).epsilon(1e-5));
    }
    CHECK(four.to_vector<float>() == got.to_vector<float>());
    bce.hybridize();
    CHECK(bce.with_pos_weight(in, label, pos_weight).to_vector<float>() == got.to_vector<float>());
  }
}

TEST_CASE("losses of classes") {
  const Tensor pred = sample({3, 4}, 1);
  const Tensor classes{2, 0, 3};
  loss::SoftmaxCELoss sparse;
  loss::SoftmaxCELoss dense({.sparse_label = false});
  const Tensor got = sparse(pred, classes);
  const auto p = pred.to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 4; ++j) sum += std::exp(p[4 * i + j]);
    const auto c = static_cast<std::size_t>(classes[static_cast<int>(i)].item<int>());
    CHECK(got[static_cast<int>(i)].item<double>() == Approx(std::log(sum) - p[4 * i + c]).epsilon(1e-5));
  }
  const auto same = dense(pred, nd::one_hot(classes, 4)).to_vector<float>();
  for (std::size_t i = 0; i < 3; ++i) CHECK(same[i] == Approx(got.to_vector<float>()[i]).epsilon(1e-5));
  // Images: one class per pixel, classes along axis 1.
  CHECK(loss::SoftmaxCELoss({.axis = 1})(sample({2, 4, 3, 3}, 1), zeros({2, 3, 3})).shape() == Shape{2});

  CHECK_THAT(error_of([&] { sparse(pred, nd::one_hot(classes, 4)); }), Contains("sparse_label = false"));
  CHECK_THAT(error_of([&] { dense(pred, classes); }), Contains("sparse_label = true"));
  CHECK_THAT(
      error_of([&] { loss::L2Loss()(pred, classes); }),
      Contains("L2Loss needs a label with as many elements") && Contains("(3,)") && Contains("(3, 4)"));
  CHECK_THAT(error_of([&] { loss::L2Loss()(pred); }),
             Contains("L2Loss takes pred, label, sample_weight (optional)"));
  CHECK_THAT(error_of([] { loss::LogisticLoss({.label_format = "unsigned"}); }),
             Contains("label_format can only be signed or binary, received unsigned."));
  CHECK_THAT(error_of([] { loss::HuberLoss({.rho = 0}); }), Contains("positive rho"));
}

TEST_CASE("triplets, counts, pairs") {
  const Tensor a = sample({3, 2}, 1), b = sample({3, 2}, 2), c = sample({3, 2}, 3);
  const auto x = a.to_vector<double>(), y = b.to_vector<double>(), z = c.to_vector<double>();
  loss::TripletLoss triplet;
  const Tensor t = triplet(a, b, c);
  loss::PoissonNLLLoss poisson, full({.from_logits = false, .compute_full = true});
  loss::CosineEmbeddingLoss cosine({.margin = 0.2});
  const Tensor pairs{1, -1, -1};
  const Tensor cos = cosine(a, b, pairs);
  REQUIRE(cos.shape() == Shape{3, 1});
  double mean = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    double near = 0, far = 0, product = 0, xx = 0, yy = 0;
    for (std::size_t j = 2 * i; j < 2 * i + 2; ++j) {
      near += (y[j] - x[j]) * (y[j] - x[j]);
      far += (z[j] - x[j]) * (z[j] - x[j]);
      product += x[j] * y[j];
      xx += x[j] * x[j];
      yy += y[j] * y[j];
      mean += (std::exp(x[j]) - y[j] * x[j]) / 6;
    }
    CHECK(t[static_cast<int>(i)].item<double>() ==
          Approx(std::max(0.0, near - far + 1)).epsilon(1e-5).margin(1e-6));
    const double similarity = product / std::sqrt(xx * yy);
    CHECK(cos[static_cast<int>(i)].item<double>() ==
          Approx(i == 0 ? 1 - similarity : std::max(0.0, similarity - 0.2)).epsilon(1e-5).margin(1e-6));
  }
  CHECK(poisson(a, b).shape() == Shape{1});
  CHECK(poisson(a, b).item<double>() == Approx(mean).epsilon(1e-5));
  // Counts of 0 and 1 have no Stirling term, also where its logarithm is infinite.
  const Tensor rate = nd::exp(a);
  const Tensor counts = Tensor({{0, 1}, {2, 3}, {1, 0}});
  const auto r = rate.to_vector<double>(), n = counts.to_vector<double>();
  double expected = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    expected += r[i] - n[i] * std::log(r[i] + 1e-8);
    if (n[i] > 1) expected += n[i] * std::log(n[i]) - n[i] + 0.5 * std::log(2 * n[i] * 3.141592653589793);
  }
  CHECK(full(rate, counts).item<double>() == Approx(expected / 6).epsilon(1e-5));

  loss::SDMLLoss sdml;
  const Tensor s = sdml(a, b);
  REQUIRE(s.shape() == Shape{3});
  for (std::size_t i = 0; i < 3; ++i) {
    double distance[3], sum = 0, kl = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      distance[j] = std::pow(x[2 * i] - y[2 * j], 2) + std::pow(x[2 * i + 1] - y[2 * j + 1], 2);
      sum += std::exp(-distance[j]);
    }
    for (std::size_t j = 0; j < 3; ++j) {
      const double label = i == j ? 0.7 : 0.15;
      kl += label * (std::log(label) + distance[j] + std::log(sum));
    }
    CHECK(s[static_cast<int>(i)].item<double>() == Approx(kl).epsilon(1e-4));
  }
  for (HybridBlock* loss : std::initializer_list<HybridBlock*>{&triplet, &cosine, &sdml, &poisson}) {
    const Tensors in = loss == &triplet  ? Tensors{a, b, c}
                       : loss == &cosine ? Tensors{a, b, pairs}
                                         : Tensors{a, b};
    const Tensor eager = (*loss)(in)[0];
    loss->hybridize();
    CHECK((*loss)(in)[0].to_vector<float>() == eager.to_vector<float>());
  }
  CHECK_THAT(error_of([&] { triplet(a, b); }),
             Contains("TripletLoss takes pred, positive, negative; it got 2 tensors"));
  CHECK_THAT(error_of([&] { sdml(a, ones({2, 2})); }), Contains("two tensors of one shape"));
  CHECK_THAT(error_of([&] { sdml(ones({1, 2}), ones({1, 2})); }), Contains("batch of at least 2"));
}
