// Revisions: the changes that invalidate recordings.
#include "frontend/gluon/parameter/revision.h"

#include "frontend/call/moved_from.h"
#include "frontend/gluon/block/block_state.h"
#include "runtime/fail.h"

#include <kiln/attr.h>

#include <algorithm>
#include <utility>

namespace kiln::detail {
namespace {
thread_local Dependencies* current = nullptr;

void add_tree(const BlockState& block, Dependencies& into) {
  if (into.contains(block.structure.get())) return;
  into.add(block.structure);
  for (const auto& [key, child] : block.children) add_tree(BlockAccess::unnamed_state(*child), into);
}

}  // namespace

void Dependencies::add(const std::shared_ptr<Revision>& revision) {
  if (!known_.insert(revision.get()).second) return;
  revision->watch();
  entries_.push_back({revision, revision->count(), revision->alive()});
}

void Dependencies::add(AttributeRead read) {
  const auto known = [&](const AttributeRead& r) { return r.block == read.block && r.name == read.name; };
  if (std::none_of(attributes_.begin(), attributes_.end(), known)) attributes_.push_back(std::move(read));
}

void Dependencies::add(OptionRead read) {
  const auto known = [&](const OptionRead& r) {
    return r.option == read.option && !r.parameter.owner_before(read.parameter) &&
           !read.parameter.owner_before(r.parameter);
  };
  if (std::none_of(options_.begin(), options_.end(), known)) options_.push_back(std::move(read));
}

void Dependencies::settle() {
  std::erase_if(entries_, [](const Entry& e) { return e.alive && !e.revision->alive(); });
  known_.clear();
}

bool Dependencies::unchanged() const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const Entry& e) { return e.revision->count() == e.count; });
}

bool Dependencies::alive() const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const Entry& e) { return e.revision->alive() == e.alive; });
}

DependencyScope::DependencyScope(Dependencies& into) : outer_(std::exchange(current, &into)) {}
DependencyScope::~DependencyScope() { current = outer_; }

bool has_dependencies() { return current != nullptr; }

void depend_on(const std::shared_ptr<Revision>& revision) {
  if (current) current->add(revision);
}

void depend_on(const std::shared_ptr<Revision>& revision, OptionRead read) {
  if (!current) return;
  current->add(revision);
  current->add(std::move(read));
}

void depend_on_tree(const BlockState& block) {
  if (current) add_tree(block, *current);
}

AttrOwner::AttrOwner(const HybridBlock* owner, std::string name) : name_(std::move(name)) {
  if (!owner) fail("An Attr needs the block that it belongs to: Attr<float> scale{{this, 2.0f}};");
  BlockState& state = BlockAccess::unnamed_state(*owner);
  revision_ = state.structure;
  const int number = ++state.attributes;
  if (name_.empty()) name_ = fmt::format("number {}", number);
}
bool AttrOwner::read() const {
  depend_on(revision_);
  return has_dependencies();
}
void AttrOwner::note(const std::string& value) const {
  if (current) current->add(AttributeRead{revision_.get(), name_, value});
}
void AttrOwner::changed() const { revision_->changed("has an Attr that was assigned"); }
bool AttrOwner::left_for(const AttrOwner& o) const { return revision_->left_for.lock() == o.revision_; }
bool AttrOwner::given_to_moved() const { return revision_->given_to_moved.load(std::memory_order_relaxed); }

void fail_moved_attr() { fail_moved_from("Attr"); }

}  // namespace kiln::detail
