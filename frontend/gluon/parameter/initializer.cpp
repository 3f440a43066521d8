// Initializers by name and by options.
#include "frontend/call/line.h"
#include "frontend/gluon/parameter/initializer_impl.h"
#include "runtime/fail.h"

#include <kiln/initializer.h>

#include <cmath>
#include <utility>

namespace kiln {

using detail::InitializerAccess;

Initializer::Initializer(std::string text, Fill fill)
    : impl_(std::make_shared<const Impl>(Impl{std::move(text), std::move(fill), {}, {}})) {}
Initializer Initializer::choosing(std::string text, Choose choose) {
  Initializer out;
  out.impl_ = std::make_shared<const Impl>(Impl{std::move(text), {}, std::move(choose), {}});
  return out;
}

Initializer::Initializer(const std::string& name, std::source_location where) {
  struct Named {
    std::string_view name;
    Initializer (*make)();
  };
  static constexpr Named table[] = {
      {"zeros", [] { return init::Zero(); }},
      {"zero", [] { return init::Zero(); }},
      {"ones", [] { return init::One(); }},
      {"one", [] { return init::One(); }},
      {"uniform", [] { return init::Uniform(); }},
      {"normal", [] { return init::Normal(); }},
      {"xavier", [] { return init::Xavier(); }},
      {"msraprelu", [] { return init::MSRAPrelu(); }},
      {"orthogonal", [] { return init::Orthogonal(); }},
      {"bilinear", [] { return init::Bilinear(); }},
      {"lstmbias", [] { return init::LSTMBias(); }},
  };
  for (const Named& n : table) {
    if (n.name != name) continue;
    Impl impl = *n.make().impl_;
    impl.text = name;
    impl_ = std::make_shared<const Impl>(std::move(impl));
    return;
  }
  fail(
      "{}'{}' is no initializer; there are zeros, ones, uniform, normal, xavier, msraprelu, orthogonal, "
      "bilinear and lstmbias, and those of kiln::init",
      line_prefix(where), name);
}

const std::string& Initializer::text() const {
  static const std::string none;
  return impl_ ? impl_->text : none;
}

Initializer Initializer::of(const std::string& parameter, const Initializer& own) const {
  if (impl_ && impl_->choose) return impl_->choose(parameter, own);
  return own.defined() ? own.of(parameter) : *this;
}

void Initializer::fill(std::span<double> values, const Shape& shape,
                       const std::function<double()>& uniform) const {
  if (impl_ && impl_->distribution) return init::fill(values, impl_->distribution(shape), uniform);
  if (!impl_ || !impl_->fill) fail("this initializer gives no values");
  impl_->fill(values, shape, uniform);
}

bool Initializer::operator==(const Initializer& o) const {
  return impl_ == o.impl_ || (impl_ && o.impl_ && !impl_->choose && !o.impl_->choose && text() == o.text());
}

namespace init {
namespace {

Initializer of_values(std::string text, Distribution distribution) {
  return InitializerAccess::make(std::move(text), [distribution](const Shape&) { return distribution; });
}
Initializer all(std::string text, double value) {
  return of_values(std::move(text), {Distribution::Kind::constant, value});
}

}  // namespace

Initializer Zero() { return all("[\"zero\", {}]", 0); }
Initializer One() { return all("[\"one\", {}]", 1); }
Initializer Constant(double value) {
  return all(fmt::format("[\"constant\", {{\"value\": {}}}]", value), value);
}

Initializer Uniform(double scale, Where where) {
  if (!std::isfinite(scale))
    fail("{}Uniform: the scale is {}; it is a finite number", line_prefix(where), scale);
  return of_values(fmt::format("[\"uniform\", {{\"scale\": {}}}]", scale),
                   {Distribution::Kind::uniform, scale});
}

Initializer Normal(double sigma, Where where) {
  if (!(sigma >= 0 && std::isfinite(sigma)))
    fail("{}Normal: sigma is {}; a deviation is a finite number, 0 or more", line_prefix(where), sigma);
  return of_values(fmt::format("[\"normal\", {{\"sigma\": {}}}]", sigma),
                   {Distribution::Kind::normal, sigma});
}

Initializer Xavier(const XavierOptions& o, Where where) {
  const bool gaussian = o.rnd_type == "gaussian";
  if (!gaussian && o.rnd_type != "uniform")
    fail("{}Unknown random type '{}' of Xavier; there are uniform and gaussian", line_prefix(where),
         o.rnd_type);
  if (o.factor_type != "avg" && o.factor_type != "in" && o.factor_type != "out")
    fail("{}Incorrect factor type '{}' of Xavier; there are avg, in and out", line_prefix(where),
         o.factor_type);
  if (!(o.magnitude >= 0 && std::isfinite(o.magnitude)))
    fail("{}Xavier: the magnitude is {}; it is a finite number, 0 or more, whose root is taken",
         line_prefix(where), o.magnitude);
  auto distribution = [gaussian, o](const Shape& shape) {
    if (shape.rank() < 2)
      fail(
          "Xavier takes its scale from two axes: choose another initializer, as in bias_initializer = "
          "\"zeros\"");
    double window = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) window *= static_cast<double>(shape[i]);
    const double fan_in = static_cast<double>(shape[1]) * window,
                 fan_out = static_cast<double>(shape[0]) * window;
    const double factor = o.factor_type == "avg"  ? (fan_in + fan_out) / 2
                          : o.factor_type == "in" ? fan_in
                                                  : fan_out;
    const double scale = std::sqrt(o.magnitude / factor);
    return Distribution{gaussian ? Distribution::Kind::normal : Distribution::Kind::uniform, scale};
  };
  return InitializerAccess::make(
      fmt::format("[\"xavier\", {{\"rnd_type\": \"{}\", \"factor_type\": \"{}\", \"magnitude\": {}}}]",
                  o.rnd_type, o.factor_type, o.magnitude),
      std::move(distribution));
}

Initializer MSRAPrelu(const std::string& factor_type, double slope, Where where) {
  const double magnitude = 2 / (1 + slope * slope);
  const Initializer xavier =
      Xavier({.rnd_type = "gaussian", .factor_type = factor_type, .magnitude = magnitude}, where);
  return InitializerAccess::make(
      fmt::format("[\"msraprelu\", {{\"factor_type\": \"{}\", \"slope\": {}}}]", factor_type, slope),
      *InitializerAccess::distribution(xavier));
}

}  // namespace init
}  // namespace kiln
