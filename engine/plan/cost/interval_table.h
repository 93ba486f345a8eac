// What interval programs have found, by what it depends on: statements that many trees and choices of layouts have in
// common are solved once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/cost/batch_size.h"
#include "engine/plan/schedule/statements.h"

namespace weft {

/// From a set of bound indices and a number to a value; open addressing, for keys looked up millions of times.
template <class Value>
class IndexSetTable {
 public:
  /// The value stays where it is until the next one is added.
  Value* find(IndexSet bound, std::uint32_t number) {
    if (used_ == 0) return nullptr;
    for (std::size_t place = hash(bound, number);; ++place) {
      Entry& entry = entries_[place & (entries_.size() - 1)];
      if (entry.number == unused) return nullptr;
      if (entry.bound == bound && entry.number == number) return &entry.value;
    }
  }

  /// The key must not be there yet.
  void insert(IndexSet bound, std::uint32_t number, const Value& value) {
    if (2 * (used_ + 1) > entries_.size()) grow();
    place(Entry{bound, number, value});
    ++used_;
  }

  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  static constexpr std::uint32_t unused = ~std::uint32_t{0};
  static constexpr std::size_t first_size = 64;  // allocated with the first entry: some tables stay empty

  struct Entry {
    IndexSet bound = 0;
    std::uint32_t number = unused;
    Value value;
  };

  static std::size_t hash(IndexSet bound, std::uint32_t number) {
    std::uint64_t mixed = (bound ^ std::uint64_t{number} << 40) * 0x9E3779B97F4A7C15 + number;
    mixed ^= mixed >> 29;
    mixed *= 0xBF58476D1CE4E5B9;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }

  void place(const Entry& added) {
    std::size_t place = hash(added.bound, added.number);
    while (entries_[place & (entries_.size() - 1)].number != unused) ++place;
    entries_[place & (entries_.size() - 1)] = added;
  }

  void grow() {
    std::vector<Entry> before(entries_.empty() ? first_size : entries_.size() * 4);
    before.swap(entries_);
    for (const Entry& entry : before) {
      if (entry.number != unused) place(entry);
    }
  }

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
};

/// Of a loop, per combination of the indices bound outside it.
struct LoopPrice {
  double iterations = 0;
  double ns = 0;
};

/// Of one network, one set of options and fused or unfused nests. Models that share it number statements by content: equal
/// numbers have equal factors in equal layouts and equal targets, and intermediates are what their numbers say.
class IntervalTable {
 public:
  struct Choice {
    double ns = 0;             ///< the least, or less than that where it is not `known`
    std::uint16_t length = 0;  ///< of the group: statements behind the first
    std::uint8_t index = 0;
    bool body = false;         ///< the first statement needs no further loop
    bool known = false;
  };

  /// The number of a sequence of statements, from that of the sequence without its last (0: empty).
  std::uint32_t interval(std::uint32_t shorter, std::uint32_t statement) {
    if (const std::uint32_t* known = intervals_.find(shorter, statement)) return *known;
    intervals_.insert(shorter, statement, ++last_);
    return last_;
  }

  /// A number for an interval of statements below loops that others filter too.
  std::uint32_t beside(std::uint32_t interval, std::uint64_t others) {
    if (const std::uint32_t* known = besides_.find(others, interval)) return *known;
    besides_.insert(others, interval, ++last_);
    return last_;
  }

  IndexSetTable<Choice> choices;  ///< by interval: see below()
  IndexSetTable<LoopPrice> loops;      ///< by that and index: see loop_number()

  std::size_t bytes() const { return choices.bytes() + loops.bytes() + intervals_.bytes() + besides_.bytes(); }
  /// What this and the models that its prices come from may take: from there on fewer loops are tried, and nothing is exact.
  std::size_t most_bytes = ~std::size_t{0};

  /// Numbers for an interval inside a workspace that gathers a sparse result, and elsewhere, where products wait and where none do.
  static std::uint32_t below(std::uint32_t interval, bool gathers, Batch batch) {
    return interval << 4 | static_cast<std::uint32_t>(batch) << 1 | static_cast<std::uint32_t>(gathers);
  }

  static std::uint32_t loop_number(std::uint32_t interval, IndexId index) { return interval << 6 | index; }

 private:
  IndexSetTable<std::uint32_t> intervals_;  // by the shorter one and the statement
  IndexSetTable<std::uint32_t> besides_;    // by what filters outside, and interval
  std::uint32_t last_ = 0;
};

}  // namespace weft
