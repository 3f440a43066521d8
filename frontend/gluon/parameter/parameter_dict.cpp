// Dictionaries of parameters.
#include "frontend/call/line.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/tensor/text.h"
#include "runtime/messages.h"

#include <kiln/io.h>

#include <algorithm>
#include <ostream>
#include <unordered_map>

namespace kiln {

using detail::ParameterAccess;
using detail::ParameterDictState;

struct detail::ParameterDictState {
  std::string prefix;
  std::vector<Parameter> items;  // in order of creation
  std::unordered_map<std::string, std::size_t> index;
  std::shared_ptr<ParameterDictState> shared;
  /// For a block in the scope of one that shares `shared`: new parameters stand for the parameters in it.
  bool in_scope = false;

  void add(const std::string& name, const Parameter& p) {
    ParameterAccess::own_state(p).listed = true;
    index.emplace(name, items.size());
    items.push_back(p);
  }
  const Parameter* find(const std::string& name) {
    if (const auto it = index.find(name); it != index.end()) return &items[it->second];
    if (shared && !in_scope) {
      if (const auto it = shared->index.find(name); it != shared->index.end()) {
        add(name, shared->items[it->second]);
        return &items.back();
      }
    }
    return nullptr;
  }
  /// A parameter that this dictionary's block has made.
  void add_new(const std::string& name, const Parameter& p) {
    if (shared && in_scope) {
      ParameterState& state = ParameterAccess::own_state(p);
      state.shared = shared;
      state.stands = ParameterState::Stands::undecided;
    }
    add(name, p);
  }
};

namespace {

[[noreturn]] void mismatch(const std::string& name, const char* attribute, const std::string& desired,
                           const std::string& stored) {
  fail("there is a parameter '{}' already, and its {} is {}, not {}", name, attribute, stored, desired);
}

bool agree(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] > 0 && b[i] > 0 && a[i] != b[i]) return false;
  return true;
}

/// A requested property must match the existing parameter; defaults request nothing.
void check_or_complete(const Parameter& p, const Shape& shape, const ParameterOptions& o) {
  ParameterOptions& stored = detail::ParameterAccess::state(p).options;
  const ParameterOptions plain;
  if (!shape.empty()) {
    if (!p.shape().empty() && !agree(shape, p.shape()))
      mismatch(p.name(), "shape", shape.str(), p.shape().str());
    Parameter(p).set_shape(shape);
  }
  if (o.dtype != plain.dtype && o.dtype != stored.dtype)
    mismatch(p.name(), "dtype", std::string(name_of(o.dtype)), std::string(name_of(stored.dtype)));
  if (o.lr_mult != plain.lr_mult && o.lr_mult != stored.lr_mult)
    mismatch(p.name(), "lr_mult", ir::python_float(o.lr_mult), ir::python_float(stored.lr_mult));
  if (o.wd_mult != plain.wd_mult && o.wd_mult != stored.wd_mult)
    mismatch(p.name(), "wd_mult", ir::python_float(o.wd_mult), ir::python_float(stored.wd_mult));
  if (o.init.defined()) {
    if (!stored.init.defined()) stored.init = o.init;
    if (!(o.init == stored.init)) mismatch(p.name(), "init", o.init.text(), stored.init.text());
  }
}

/// The same of constants, whose values must be equal.
void check_constant(const Parameter& p, const Tensor& value) {
  if (p.grad_req() != GradReq::null || p.shape() != value.shape() || p.dtype() != value.dtype() ||
      p.data({}).to_vector<double>() != value.to_vector<double>())
    fail("Parameter '{}' already exists but it is not a constant of this value.", p.name());
}

constexpr detail::LoadAdvice naming_advice{
    ". Names begin with the prefixes of their blocks: give both networks the same, or use save_parameters() "
    "and load_parameters(), which identify a parameter by its position in the network",
    "; load with {.ignore_extra = true} to ignore it. Names begin with the prefixes of their blocks: give "
    "both networks the same, or use save_parameters() and load_parameters()"};

}  // namespace

ParameterDict::ParameterDict(const std::string& prefix)
    : state_(std::make_shared<detail::ParameterDictState>()) {
  state_->prefix = prefix;
}
ParameterDict::ParameterDict(const std::string& prefix, const ParameterDict& shared) : ParameterDict(prefix) {
  ParameterAccess::dict(shared);
  state_->shared = shared.state_;
}
ParameterDict detail::scoped_parameters(const std::string& prefix, const ParameterDict& scope) {
  ParameterDict made(prefix);
  ParameterAccess::dict(made).shared = ParameterAccess::dict(scope).shared;
  ParameterAccess::dict(made).in_scope = true;
  return made;
}

const std::shared_ptr<detail::ParameterState>& detail::ParameterHandle::get() const {
  using Stands = ParameterState::Stands;
  if (!own_) fail("{}", empty_parameter);
  ParameterState& s = *own_;
  if (s.stands.load(std::memory_order_acquire) == Stands::undecided) {
    const std::lock_guard lock(s.mutex);
    if (s.stands == Stands::undecided) {
      const auto found = s.shared->index.find(s.name);
      if (found == s.shared->index.end()) {
        s.stands = Stands::for_itself;
      } else {
        const Parameter& there = s.shared->items[found->second];
        if (s.constant)
          check_constant(there, *s.constant);
        else
          check_or_complete(there, s.shape, s.options);
        s.another = there;
        s.stands.store(Stands::for_another, std::memory_order_release);
      }
    }
  }
  return s.stands.load(std::memory_order_acquire) == Stands::for_itself ? own_
                                                                        : ParameterAccess::handle(s.another);
}

bool detail::ParameterHandle::operator==(const ParameterHandle& o) const {
  return own_ == o.own_ || (own_ && o.own_ && get() == o.get());
}

const std::string& ParameterDict::prefix() const { return ParameterAccess::dict(*this).prefix; }

Parameter ParameterDict::get(std::string_view name, const Shape& shape, const ParameterOptions& options,
                             Where where) const {
  return at_line(where, [&] {
    ParameterDictState& state = ParameterAccess::dict(*this);
    const std::string full = state.prefix + std::string(name);
    if (const Parameter* p = state.find(full)) {
      check_or_complete(*p, shape, options);
      return *p;
    }
    state.add_new(full, Parameter(full, shape, options));
    return state.items.back();
  });
}

Constant ParameterDict::get_constant(std::string_view name, const Tensor& value, Where where) const {
  return at_line(where, [&] {
    ParameterDictState& state = ParameterAccess::dict(*this);
    const std::string full = state.prefix + std::string(name);
    Constant made(full, value);
    if (const Parameter* p = state.find(full)) {
      check_constant(*p, value);
      static_cast<Parameter&>(made) = *p;
      return made;
    }
    state.add_new(full, made);
    return made;
  });
}

Parameter ParameterDict::operator[](std::string_view full_name) const {
  const ParameterDictState& state = ParameterAccess::dict(*this);
  const auto it = state.index.find(std::string(full_name));
  if (it == state.index.end())
    fail("There is no parameter '{}', but {}", full_name, detail::brief_list(keys()));
  return state.items[it->second];
}
bool ParameterDict::contains(std::string_view full_name) const {
  return ParameterAccess::dict(*this).index.contains(std::string(full_name));
}
std::size_t ParameterDict::size() const { return items().size(); }
const std::vector<Parameter>& ParameterDict::items() const { return ParameterAccess::dict(*this).items; }

std::vector<std::string> ParameterDict::keys() const {
  std::vector<std::string> names;
  for (const Parameter& p : items()) names.push_back(p.name());
  return names;
}

void detail::rename_parameters(const ParameterDict& dict, const std::string& from, const std::string& to) {
  ParameterDictState& d = ParameterAccess::dict(dict);
  const auto renamed = [&](const std::string& name) {
    return name.starts_with(from) ? to + name.substr(from.size()) : name;
  };
  d.prefix = renamed(d.prefix);
  d.index.clear();
  for (std::size_t i = 0; i < d.items.size(); ++i) {
    ParameterState& p = ParameterAccess::own_state(d.items[i]);
    p.name = renamed(p.name);
    if (p.shared && (p.constant || !p.ready)) p.stands = ParameterState::Stands::undecided;
    d.index.emplace(p.name, i);
  }
}

void ParameterDict::add(const Parameter& p) const {
  ParameterDictState& state = ParameterAccess::dict(*this);
  const auto it = state.index.find(p.name());
  if (it == state.index.end()) {
    state.add(p.name(), p);
  } else if (!(state.items[it->second] == p)) {
    fail("there are two parameters of the name '{}': a dictionary holds one of each name", p.name());
  }
}
void ParameterDict::update(const ParameterDict& other) const {
  for (const Parameter& p : other.items()) add(p);
}

void ParameterDict::initialize(const Initializer& init, const InitializeOptions& options, Where where) const {
  if (options.device) to(*options.device, where);
  for (Parameter p : ParameterAccess::dict(*this, where).items)
    p.initialize({}, init, options.force_reinit, where);
}
void ParameterDict::zero_grad() const {
  for (Parameter p : items()) p.zero_grad();
}

void ParameterDict::set_grad_req(GradReq req) const {
  for (Parameter p : items()) p.set_grad_req(req);
}
void ParameterDict::set_lr_mult(double lr_mult, Where where) const {
  for (Parameter p : ParameterAccess::dict(*this, where).items) p.set_lr_mult(lr_mult, where);
}
void ParameterDict::set_wd_mult(double wd_mult, Where where) const {
  for (Parameter p : ParameterAccess::dict(*this, where).items) p.set_wd_mult(wd_mult, where);
}
void detail::check_cast(const ParameterDict& params, DType dtype) {
  // Cut to integers, almost all weights would be zeros.
  if (!is_floating(dtype))
    fail("cast() takes a floating-point dtype, and not {}: quantize() makes a network with weights of int8",
         name_of(dtype));
  for (const Parameter& p : params)
    if (p.dtype() == DType::i8)
      fail("cast(): the weight '{}' is int8, and has steps of float32: cast the network before quantize()",
           p.name());
}

void ParameterDict::cast(DType dtype) const {
  detail::check_cast(*this, dtype);
  for (Parameter p : items())
    if (is_floating(p.dtype())) p.cast(dtype);
}

void ParameterDict::to(Device device, Where where) const {
  for (Parameter p : ParameterAccess::dict(*this, where).items) p.to(device, where);
}

void ParameterDict::save(const std::string& path, const std::string& strip_prefix, Where where) const {
  std::vector<NamedArray> arrays;
  for (const Parameter& p : ParameterAccess::dict(*this, where).items) {
    if (!p.name().starts_with(strip_prefix))
      fail(
          "{}save() cannot strip '{}' from the name '{}', which does not begin with it: the parameter is "
          "shared from another block, or its block was made outside of name_scope()",
          line_prefix(where), strip_prefix, p.name());
    arrays.push_back({p.name().substr(strip_prefix.size()), p.data(where)});
  }
  save_arrays(path, arrays, {}, where);
}

void ParameterDict::load(const std::string& path, const LoadOptions& options,
                         const std::string& restore_prefix, Where where) const {
  at_line(where, [&] {
    detail::load_by_name(*this, load_arrays(path, {}), path, options, restore_prefix, naming_advice);
  });
}

void detail::load_by_name(const ParameterDict& dict, std::vector<NamedArray> loaded, const std::string& path,
                          const LoadOptions& options, const std::string& restore_prefix,
                          const LoadAdvice& advice) {
  const ParameterDictState& state = ParameterAccess::dict(dict);
  std::unordered_map<std::string, const Tensor*> by_name;
  std::vector<std::string> names;
  for (NamedArray& a : loaded) {
    const bool exported = is_exported_name(a.name);
    if (exported) a.name.erase(0, 4);
    names.push_back(a.name);
    // Full names in a file, as exported ones are, do not get the prefix a second time.
    const std::string restored = restore_prefix + a.name;
    if (!state.index.contains(a.name) && (!exported || state.index.contains(restored))) a.name = restored;
    by_name[a.name] = &a.array;
  }
  if (!options.allow_missing)
    for (const Parameter& p : dict)
      if (!by_name.contains(p.name()))
        fail(Mistake::missing_parameter, "{}: there are no values for parameter '{}', only for {}{}", path,
             p.name(), detail::brief_list(names), advice.missing);
  for (const NamedArray& a : loaded) {
    const auto it = state.index.find(a.name);
    if (it != state.index.end()) {
      detail::ParameterAccess::load(state.items[it->second], a.array, options.cast_dtype);
    } else if (!options.ignore_extra) {
      fail(Mistake::extra_parameter, "{}: there is no parameter '{}', only {}{}", path, a.name,
           detail::brief_list(dict.keys()), advice.extra);
    }
  }
}

std::string ParameterDict::str() const {
  std::string lines;
  for (const Parameter& p : items()) lines += (lines.empty() ? "" : "\n") + detail::indent("  " + p.str(), 2);
  return (prefix().empty() ? "" : prefix() + " ") + "(\n" + lines + "\n)";
}

std::ostream& operator<<(std::ostream& os, const ParameterDict& d) { return os << d.str(); }

}  // namespace kiln
