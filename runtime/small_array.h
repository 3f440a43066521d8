// Arrays on the stack up to a length.
#pragma once
#include <cstddef>
#include <memory>

namespace kiln {

/// An array whose length is fixed at construction: on the stack up to N elements, else on the heap.
/// Elements that need no construction are left uninitialised.
template <class T, std::size_t N>
class SmallArray {
 public:
  explicit SmallArray(std::size_t n) : size_(n) {
    if (n > N) heap_ = std::make_unique_for_overwrite<T[]>(n);
    data_ = n > N ? heap_.get() : reinterpret_cast<T*>(inline_);
    if (n <= N) std::uninitialized_default_construct_n(data_, n);
  }
  ~SmallArray() {
    if (heap_ == nullptr) std::destroy_n(data_, size_);
  }
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;

  T* data() { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  std::size_t size_;
  T* data_;
  std::unique_ptr<T[]> heap_;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace kiln
