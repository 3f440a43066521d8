// The state of an Initializer.
#pragma once
#include "frontend/gluon/parameter/random_fill.h"

#include <kiln/initializer.h>

#include <string>
#include <utility>

namespace kiln {

/// The distribution of an array's values; throws for a shape that the initializer does not fit.
using DistributionOf = std::function<init::Distribution(const Shape&)>;

/// One of the three functions is set, or none for an initializer that gives no values.
struct Initializer::Impl {
  std::string text;
  Fill fill;
  Choose choose;
  DistributionOf distribution;
};

struct detail::InitializerAccess {
  static Initializer make(std::string text, DistributionOf distribution) {
    Initializer out;
    out.impl_ = std::make_shared<const Initializer::Impl>(
        Initializer::Impl{std::move(text), {}, {}, std::move(distribution)});
    return out;
  }
  /// Null for an initializer without one.
  static const DistributionOf* distribution(const Initializer& i) {
    return i.impl_ && i.impl_->distribution ? &i.impl_->distribution : nullptr;
  }
};

}  // namespace kiln
