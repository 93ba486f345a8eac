// Sparse times sparse by rows: Gustavson, "Two fast algorithms for sparse matrices: multiplication and permuted
// transposition" (ACM TOMS 1978), with what pays today: no branch where an entry is made or found, rows of the right
// operand fetched ahead, columns sorted in registers or read from their marks, one pass or two.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>

#include "bench/baseline.h"
#include "bench/unfolding.h"
#include "runtime/sort_keys.h"

namespace weft::bench {
namespace {

enum class Kind { product, chain, masked };

// A row of the result while it is summed. Values and marks are zero outside of it.
struct Workspace {
  std::vector<double> values;
  std::vector<std::uint8_t> marks;
  std::vector<std::uint32_t> touched, scratch;
  std::uint64_t count = 0;

  explicit Workspace(std::uint64_t columns)
      : values(columns, 0.0), marks(columns + 8, 0), touched(columns + 1), scratch(columns + 1) {}
};

// One for every thread.
struct Slot {
  Workspace row, middle;
};

// What a thread appends to, kept between runs.
struct Piece {
  std::vector<std::uint32_t> crd;
  std::vector<double> values;
  std::uint64_t size = 0;

  void make_room(std::uint64_t entries) {
    if (crd.size() >= entries) return;
    crd.resize(std::max<std::uint64_t>(entries, crd.size() * 2));
    values.resize(crd.size());
  }
};

inline void add_row(Workspace& row, const Rows& rows, std::uint32_t number, double scale) {
  std::uint32_t* const __restrict touched = row.touched.data();
  std::uint8_t* const __restrict marks = row.marks.data();
  double* const __restrict values = row.values.data();
  std::uint64_t count = row.count;
  const std::uint32_t end = rows.pos[number + 1];
  for (std::uint32_t at = rows.pos[number]; at < end; ++at) {
    const std::uint32_t column = rows.crd[at];
    touched[count] = column;
    count += marks[column] ^ 1U;
    marks[column] = 1;
    values[column] += scale * rows.values[at];
  }
  row.count = count;
}

inline void touch_row(Workspace& row, const Rows& rows, std::uint32_t number) {
  std::uint64_t count = row.count;
  for (std::uint32_t at = rows.pos[number]; at < rows.pos[number + 1]; ++at) {
    const std::uint32_t column = rows.crd[at];
    row.touched[count] = column;
    count += row.marks[column] ^ 1U;
    row.marks[column] = 1;
  }
  row.count = count;
}

inline void add_masked(Workspace& row, const Rows& rows, std::uint32_t number, double scale) {
  for (std::uint32_t at = rows.pos[number]; at < rows.pos[number + 1]; ++at) {
    const std::uint32_t column = rows.crd[at];
    if (row.marks[column] == 0) continue;
    row.marks[column] = 2;
    row.values[column] += scale * rows.values[at];
  }
}

// The row that is added some steps from now. GCC takes a function that only prefetches for one without effects and
// leaves its calls out, unless it is inlined before.
[[gnu::always_inline]] inline void fetch_ahead(const Rows& left, const Rows& right, std::uint32_t position) {
  const std::uint64_t last = left.crd.size() - 1;
  const std::uint32_t next = right.pos[left.crd[std::min<std::uint64_t>(position + 8, last)]];
  __builtin_prefetch(right.crd.data() + next);
  __builtin_prefetch(right.values.data() + next);
  __builtin_prefetch(right.values.data() + next + 8);
  __builtin_prefetch(right.pos.data() + left.crd[std::min<std::uint64_t>(position + 16, last)]);
}

class Product {
 public:
  Product(Kind kind, Unfolding unfolding, Rows mask, std::vector<std::uint64_t> extents, Format format, const Resources& resources)
      : kind_(kind), unfolding_(std::move(unfolding)), mask_(std::move(mask)), extents_(std::move(extents)),
        format_(std::move(format)), resources_(resources) {
    const Rows& left = unfolding_.factors[0];
    const Rows& right = unfolding_.factors[1];
    products_.push_back(0);
    for (std::uint64_t row = 0; row < left.count(); ++row) {
      std::uint64_t sum = 0;
      for (std::uint32_t at = left.pos[row]; at < left.pos[row + 1]; ++at) sum += right.length(left.crd[at]);
      products_.push_back(products_.back() + sum);
    }
    pos_.assign(left.count() + 1, 0);
  }

  void run(const Threads& threads) {
    const unsigned count = threads.count();
    while (slots_.size() < count)
      slots_.push_back(std::make_unique<Slot>(
          Slot{Workspace(unfolding_.factors.back().columns), Workspace(kind_ == Kind::chain ? unfolding_.factors[0].columns : 0)}));
    const auto chosen = one_pass_.find(count);
    if (chosen != one_pass_.end()) {
      chosen->second ? one_pass(threads) : two_passes(threads);
      return;
    }
    // Whichever is faster, once warm.
    double best[2] = {1e300, 1e300};
    for (int round = 0; round < 3; ++round)
      for (const bool one : {true, false}) {
        const auto start = std::chrono::steady_clock::now();
        one ? one_pass(threads) : two_passes(threads);
        best[one] = std::min(best[one], std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
    one_pass_[count] = best[1] < best[0];
    one_pass_[count] ? one_pass(threads) : two_passes(threads);
  }

  Expected<Tensor> result() const {
    Coordinates made;
    made.extents = extents_;
    made.count = pos_.back();
    for (std::size_t mode = 0; mode < made.extents.size(); ++mode) {
      auto crd = Buffer::allocate(made.count * 4, resources_.memory, "coordinates");
      if (!crd) return std::unexpected(crd.error());
      made.crd.push_back(std::move(*crd));
    }
    auto values = Buffer::allocate(made.count * 8, resources_.memory, "values");
    if (!values) return std::unexpected(values.error());
    made.values = std::move(*values);
    std::memcpy(made.values.data(), all_.values.data(), made.count * sizeof(double));
    const auto unpack = [&](const Numbering& numbering, const std::vector<std::uint32_t>& modes, std::uint64_t number,
                            std::uint64_t entry) {
      std::uint64_t rest = numbering.linear(number);
      for (std::size_t n = modes.size(); n-- > 0;) {
        made.crd[modes[n]].as<std::uint32_t>()[entry] = static_cast<std::uint32_t>(rest % numbering.extents[n]);
        rest /= numbering.extents[n];
      }
    };
    for (std::uint64_t row = 0; row + 1 < pos_.size(); ++row)
      for (std::uint64_t entry = pos_[row]; entry < pos_[row + 1]; ++entry) {
        unpack(unfolding_.rows, unfolding_.row_modes, row, entry);
        unpack(unfolding_.columns, unfolding_.column_modes, all_.crd[entry], entry);
      }
    return build(std::move(made), format_, resources_, "result");
  }

 private:
  // Appends a row to the piece.
  void append(Slot& slot, std::uint64_t number, Piece& piece) const {
    Workspace& row = slot.row;
    const Rows& left = unfolding_.factors[0];
    const Rows& right = unfolding_.factors[1];
    if (kind_ == Kind::masked) return append_masked(row, number, piece);
    row.count = 0;
    if (kind_ == Kind::product) {
      for (std::uint32_t at = left.pos[number]; at < left.pos[number + 1]; ++at) {
        fetch_ahead(left, right, at);
        add_row(row, right, left.crd[at], left.values[at]);
      }
    } else {
      add_chain(slot, number);
    }
    piece.make_room(piece.size + row.count);
    sort_keys(row.touched.data(), row.scratch.data(), row.count, row.values.size(), row.marks.data());
    std::uint32_t* const __restrict crd = piece.crd.data() + piece.size;
    double* const __restrict values = piece.values.data() + piece.size;
    for (std::uint64_t n = 0; n < row.count; ++n) {
      const std::uint32_t column = row.touched[n];
      crd[n] = column;
      values[n] = row.values[column];
      row.values[column] = 0;
      row.marks[column] = 0;
    }
    piece.size += row.count;
  }

  void add_chain(Slot& slot, std::uint64_t number) const {
    const Rows& left = unfolding_.factors[0];
    Workspace& middle = slot.middle;
    middle.count = 0;
    for (std::uint32_t at = left.pos[number]; at < left.pos[number + 1]; ++at) {
      fetch_ahead(left, unfolding_.factors[1], at);
      add_row(middle, unfolding_.factors[1], left.crd[at], left.values[at]);
    }
    const Rows& last = unfolding_.factors[2];
    for (std::uint64_t n = 0; n < middle.count; ++n) {
      const std::uint32_t column = middle.touched[n];
      const std::uint32_t next = last.pos[middle.touched[std::min(n + 8, middle.count - 1)]];
      __builtin_prefetch(last.crd.data() + next);
      __builtin_prefetch(last.values.data() + next);
      add_row(slot.row, unfolding_.factors[2], column, middle.values[column]);
      middle.values[column] = 0;
      middle.marks[column] = 0;
    }
  }

  void append_masked(Workspace& row, std::uint64_t number, Piece& piece) const {
    const Rows& left = unfolding_.factors[0];
    const Rows& right = unfolding_.factors[1];
    if (mask_.length(number) == 0) return;
    piece.make_room(piece.size + mask_.length(number));
    for (std::uint32_t at = mask_.pos[number]; at < mask_.pos[number + 1]; ++at) row.marks[mask_.crd[at]] = 1;
    for (std::uint32_t at = left.pos[number]; at < left.pos[number + 1]; ++at) {
      fetch_ahead(left, right, at);
      add_masked(row, right, left.crd[at], left.values[at]);
    }
    for (std::uint32_t at = mask_.pos[number]; at < mask_.pos[number + 1]; ++at) {
      const std::uint32_t column = mask_.crd[at];
      piece.crd[piece.size] = column;
      piece.values[piece.size] = mask_.values[at] * row.values[column];
      piece.size += row.marks[column] >> 1;
      row.marks[column] = 0;
      row.values[column] = 0;
    }
  }

  std::uint64_t entries_of(Slot& slot, std::uint64_t number) const {
    const Rows& left = unfolding_.factors[0];
    const Rows& right = unfolding_.factors[1];
    Workspace& row = slot.row;
    row.count = 0;
    if (kind_ == Kind::chain) {
      slot.middle.count = 0;
      for (std::uint32_t at = left.pos[number]; at < left.pos[number + 1]; ++at)
        touch_row(slot.middle, right, left.crd[at]);
      for (std::uint64_t n = 0; n < slot.middle.count; ++n) {
        touch_row(row, unfolding_.factors[2], slot.middle.touched[n]);
        slot.middle.marks[slot.middle.touched[n]] = 0;
      }
    } else {
      for (std::uint32_t at = left.pos[number]; at < left.pos[number + 1]; ++at) {
        fetch_ahead(left, right, at);
        touch_row(row, right, left.crd[at]);
      }
    }
    std::uint64_t found = row.count;
    if (kind_ == Kind::masked) {
      found = 0;
      for (std::uint32_t at = mask_.pos[number]; at < mask_.pos[number + 1]; ++at) found += row.marks[mask_.crd[at]];
    }
    for (std::uint64_t n = 0; n < row.count; ++n) row.marks[row.touched[n]] = 0;
    return found;
  }

  // Rows of about equal work.
  std::vector<std::uint64_t> chunks(unsigned count) const {
    const std::uint64_t wanted = count == 1 ? 1 : 64;
    std::vector<std::uint64_t> made = {0};
    const std::uint64_t rows = products_.size() - 1;
    for (std::uint64_t row = 1; row < rows; ++row)
      if ((products_[row] + row) * wanted >= made.size() * (products_.back() + rows)) made.push_back(row);
    made.push_back(rows);
    return made;
  }

  void one_pass(const Threads& threads) {
    const std::vector<std::uint64_t> bounds = chunks(threads.count());
    const std::size_t count = bounds.size() - 1;
    if (count == 1) {
      all_.size = 0;
      for (std::uint64_t row = 0; row < bounds[1]; ++row) {
        append(*slots_[0], row, all_);
        pos_[row + 1] = all_.size;
      }
      return;
    }
    pieces_.resize(std::max(pieces_.size(), count));
    threads.for_each(count, [&](std::size_t chunk, unsigned slot) {
      Piece& piece = pieces_[chunk];
      piece.size = 0;
      for (std::uint64_t row = bounds[chunk]; row < bounds[chunk + 1]; ++row) {
        append(*slots_[slot], row, piece);
        pos_[row + 1] = piece.size;
      }
    });
    std::vector<std::uint64_t> before(count + 1, 0);
    for (std::size_t chunk = 0; chunk < count; ++chunk) before[chunk + 1] = before[chunk] + pieces_[chunk].size;
    all_.make_room(before[count]);
    all_.size = before[count];
    threads.for_each(count, [&](std::size_t chunk, unsigned) {
      const Piece& piece = pieces_[chunk];
      std::memcpy(all_.crd.data() + before[chunk], piece.crd.data(), piece.size * sizeof(std::uint32_t));
      std::memcpy(all_.values.data() + before[chunk], piece.values.data(), piece.size * sizeof(double));
      for (std::uint64_t row = bounds[chunk]; row < bounds[chunk + 1]; ++row) pos_[row + 1] += before[chunk];
    });
  }

  void two_passes(const Threads& threads) {
    const std::vector<std::uint64_t> bounds = chunks(threads.count());
    const std::size_t count = bounds.size() - 1;
    threads.for_each(count, [&](std::size_t chunk, unsigned slot) {
      for (std::uint64_t row = bounds[chunk]; row < bounds[chunk + 1]; ++row) pos_[row + 1] = entries_of(*slots_[slot], row);
    });
    std::partial_sum(pos_.begin(), pos_.end(), pos_.begin());
    all_.make_room(pos_.back());
    all_.size = pos_.back();
    if (count == 1) {
      all_.size = 0;
      for (std::uint64_t row = 0; row < bounds[1]; ++row) append(*slots_[0], row, all_);
      return;
    }
    pieces_.resize(std::max(pieces_.size(), threads.count() + std::size_t{0}));
    threads.for_each(count, [&](std::size_t chunk, unsigned slot) {
      Piece& piece = pieces_[slot];
      for (std::uint64_t row = bounds[chunk]; row < bounds[chunk + 1]; ++row) {
        piece.size = 0;
        append(*slots_[slot], row, piece);
        std::memcpy(all_.crd.data() + pos_[row], piece.crd.data(), piece.size * sizeof(std::uint32_t));
        std::memcpy(all_.values.data() + pos_[row], piece.values.data(), piece.size * sizeof(double));
      }
    });
  }

  Kind kind_;
  Unfolding unfolding_;
  Rows mask_;
  std::vector<std::uint64_t> extents_;
  Format format_;
  Resources resources_;
  std::vector<std::uint64_t> products_;  // before each row
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Piece> pieces_;
  Piece all_;
  std::vector<std::uint64_t> pos_;
  std::map<unsigned, bool> one_pass_;  // by threads
};

}  // namespace

Expected<BaselineKernel> make_product_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                               const Resources& resources) {
  const auto parsed = parse_expression(problem.expression);
  if (!parsed) return std::unexpected(parsed.error());
  const ParsedAssignment& assignment = parsed->assignments.front();
  const std::vector<ParsedAccess>& factors = assignment.terms.front().factors;
  const Kind kind = problem.baseline == Baseline::product_chain    ? Kind::chain
                    : problem.baseline == Baseline::masked_product ? Kind::masked
                                                                   : Kind::product;
  auto unfolding = unfold(assignment, kind == Kind::masked ? 1 : 0, operands, resources);
  if (!unfolding) return std::unexpected(unfolding.error());
  Rows mask;
  if (kind == Kind::masked) {
    const auto listed = convert(operands.at(factors.front().name), *parse_format("ds"), resources, "mask");
    if (!listed) return std::unexpected(listed.error());
    const auto pos = listed->levels()[1].pos.as<const std::uint32_t>();
    const auto crd = listed->levels()[1].crd.as<const std::uint32_t>();
    const auto values = listed->values().as<const double>();
    mask.pos.assign(pos.begin(), pos.end());
    mask.crd.assign(crd.begin(), crd.end());
    mask.values.assign(values.begin(), values.end());
    mask.columns = listed->extents()[1];
  }
  std::vector<std::uint64_t> shape;
  std::map<std::string, std::uint64_t> extents;
  for (const ParsedAccess& factor : factors)
    for (std::size_t mode = 0; mode < factor.indices.size(); ++mode)
      extents[factor.indices[mode].name] = operands.at(factor.name).extents()[mode];
  for (const ParsedIndex& index : assignment.result.indices) shape.push_back(extents.at(index.name));
  const auto requested = problem.formats.find(assignment.result.name);
  auto format = requested == problem.formats.end() ? Expected<Format>(sparse_format(shape.size()))
                                                   : parse_format(requested->second);
  if (!format) return std::unexpected(format.error());
  const auto product = std::make_shared<Product>(kind, std::move(*unfolding), std::move(mask), std::move(shape),
                                                 std::move(*format), resources);
  return BaselineKernel{[product](const Threads& threads) { product->run(threads); },
                        [product] { return product->result(); }};
}

}  // namespace weft::bench
