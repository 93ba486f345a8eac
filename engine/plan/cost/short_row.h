// A row of values that lies in the object itself as long as it is short: planning makes many, and memory for each is a
// large part of what they take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace weft {

template <class Value, std::size_t few>
class ShortRow {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  ShortRow() = default;
  ShortRow(const ShortRow&) = delete;
  ShortRow& operator=(const ShortRow&) = delete;

  void push_back(Value value) {
    if (size_ == room_) grow();
    data()[size_++] = value;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Value* data() { return many_ ? many_.get() : few_; }
  const Value* data() const { return many_ ? many_.get() : few_; }
  Value* begin() { return data(); }
  Value* end() { return data() + size_; }
  const Value* begin() const { return data(); }
  const Value* end() const { return data() + size_; }
  Value& operator[](std::size_t place) { return data()[place]; }
  const Value& operator[](std::size_t place) const { return data()[place]; }
  Value& back() { return data()[size_ - 1]; }
  const Value& back() const { return data()[size_ - 1]; }

 private:
  void grow() {
    auto more = std::make_unique<Value[]>(2 * room_);
    std::copy(begin(), end(), more.get());
    many_ = std::move(more);
    room_ *= 2;
  }

  Value few_[few];
  std::unique_ptr<Value[]> many_;  // all of them, once there are more
  std::size_t size_ = 0;
  std::size_t room_ = few;
};

}  // namespace weft
