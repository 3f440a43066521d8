// Errors of labels of another shape than the predictions.
#include "expect.h"

TEST_CASE("labels of another shape than the predictions", "[error]") {
  const Tensor scores = ones({4, 3}), five = ones({5});
  loss::SoftmaxCrossEntropyLoss softmax;
  loss::L2Loss l2;
  for (const bool hybridized : {false, true}) {
    if (hybridized) {
      softmax.hybridize();
      l2.hybridize();
    }
    std::string line = line_below();
    CHECK_THAT(message_of([&] { softmax(scores, five); }),
               Contains(line) && Contains("SoftmaxCrossEntropyLoss needs a label") && Contains("4 samples") &&
                   Contains("the label is (5,), the prediction (4, 3)"));
    CHECK_THAT(message_of([&] { softmax(scores, scores); }), Contains("sparse_label = false"));
    line = line_below();
    CHECK_THAT(message_of([&] { l2(scores, five); }), Contains(line) && Contains("L2Loss needs a label"));
  }
}

TEST_CASE("labels of another shape in a training step", "[error]") {
  nn::Dense net(3, {.in_units = 2});
  net.initialize();
  const loss::SoftmaxCrossEntropyLoss criterion;
  const Trainer trainer(net.collect_params(), "sgd");
  TrainStep step = net.train_step(criterion, trainer);
  const std::string line = line_below();
  CHECK_THAT(message_of([&] { step(ones({4, 2}), ones({5})); }), Contains(line) && Contains("4 samples"));
}

TEST_CASE("images of the loss's classes along another axis", "[error]") {
  loss::SoftmaxCrossEntropyLoss criterion({.axis = 1});
  CHECK(criterion(ones({2, 3, 4, 4}), zeros({2, 4, 4})).shape() == Shape{2});
  CHECK(criterion(ones({2, 3, 4, 4}), zeros({2, 1, 4, 4})).shape() == Shape{2});
  CHECK_THAT(message_of([&] { criterion(ones({2, 3, 4, 4}), zeros({2, 4})); }), Contains("32 samples"));
}

TEST_CASE("labels of another shape in one of several metrics", "[error]") {
  metric::CompositeEvalMetric both;
  both.add(metric::Accuracy());
  const std::string line = line_below();
  CHECK_THAT(message_of([&] { both.update(ones({5}), ones({4, 3})); }), Catch::StartsWith(line));
}
