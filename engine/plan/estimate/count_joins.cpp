#include "engine/plan/estimate/count_joins.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

#include "engine/plan/estimate/join_walk.h"
#include "runtime/charge.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// Some coordinates of an index: a bit each where that takes little memory, since many entries of an operand may ask.
class ChosenCoordinates {
 public:
  ChosenCoordinates(double extent, const std::vector<std::uint64_t>& coordinates)
      : marks_(extent <= most_marks ? static_cast<std::size_t>(extent) : 0) {
    for (const std::uint64_t coordinate : coordinates) {
      if (contains(coordinate)) continue;
      all_.push_back(coordinate);
      if (coordinate < marks_.size()) marks_[coordinate] = true;
      else far_.insert(coordinate);
    }
  }
  bool contains(std::uint64_t coordinate) const { return coordinate < marks_.size() ? marks_[coordinate] : far_.contains(coordinate); }
  const std::vector<std::uint64_t>& all() const { return all_; }  ///< each once

 private:
  static constexpr double most_marks = 1 << 24;
  std::vector<bool> marks_;
  std::unordered_set<std::uint64_t> far_;
  std::vector<std::uint64_t> all_;
};

/// The entries of a tensor by their coordinates of one mode: those with coordinate c are entries[begin[c]], ...,
/// entries[begin[c + 1] - 1].
class EntriesByCoordinate {
 public:
  EntriesByCoordinate(Indices coordinates, std::uint64_t count, std::uint64_t extent) : begin_(extent + 2), entries_(count) {
    for (std::uint64_t n = 0; n < count; ++n) ++begin_[coordinates[n] + 2];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    for (std::uint64_t n = 0; n < count; ++n) entries_[begin_[coordinates[n] + 1]++] = static_cast<std::uint32_t>(n);
  }
  std::span<const std::uint32_t> at(std::uint64_t coordinate) const {
    if (coordinate + 2 >= begin_.size()) return {};
    return std::span(entries_).subspan(begin_[coordinate], begin_[coordinate + 1] - begin_[coordinate]);
  }

  static std::uint64_t bytes(std::uint64_t count, std::uint64_t extent) { return (count + extent + 2) * sizeof(std::uint32_t); }
  /// Where it takes no more memory than some columns of the entries.
  static bool is_small(std::uint64_t count, std::uint64_t extent) {
    constexpr std::uint64_t few = 1 << 16;
    return count < std::numeric_limits<std::uint32_t>::max() && extent <= 2 * count + few;
  }

 private:
  std::vector<std::uint32_t> begin_, entries_;
};

double place_of(std::uint64_t coordinate) { return static_cast<double>(hash_of(coordinate) >> 11) * 0x1p-53; }

// Modes that together are an index: i/4 and i%4 of A(i/4,j,i%4) in blocks. The first digit's mode stands for all of it.
struct Digits {
  std::size_t mode = 0;
  std::uint64_t divisor = 1;
  std::vector<std::pair<std::size_t, std::uint64_t>> lower = {};  // modes and their divisors
  bool all_there = true;      // of each first digit all others are: their levels are dense
  std::uint64_t extent = 0;   // of the index
  ModeSet lower_modes() const {
    ModeSet modes = 0;
    for (const auto& [digit, of] : lower) modes |= ModeSet{1} << digit;
    return modes;
  }
};

// The digits of the index that this mode holds the first one of, if all of them are there.
std::optional<Digits> digits_of(const Network& network, const Occurrence& occurrence, const Format& levels, std::size_t first) {
  const TensorDeclaration& tensor = network.tensors[occurrence.tensor];
  const IndexId index = occurrence.indices[first];
  const auto is_part = [&](std::size_t mode) { return !tensor.is_sum(mode) && !tensor.is_unordered(mode) && mode < tensor.parts.size(); };
  if (!is_part(first) || tensor.parts[first].modulus != 0) return std::nullopt;
  Digits digits{.mode = first, .divisor = tensor.parts[first].divisor, .extent = occurrence.extents[first]};
  std::uint64_t above = digits.divisor;
  while (above > 1) {
    std::size_t mode = 0;
    const auto is_next = [&] {
      return mode != first && occurrence.indices[mode] == index && is_part(mode) && tensor.parts[mode].modulus > 1 &&
             tensor.parts[mode].divisor * tensor.parts[mode].modulus == above;
    };
    while (mode < occurrence.indices.size() && !is_next()) ++mode;
    if (mode == occurrence.indices.size()) return std::nullopt;
    above = tensor.parts[mode].divisor;
    digits.lower.emplace_back(mode, above);
  }
  for (std::size_t level = 0; level < levels.order(); ++level) {
    const bool is_lower = (digits.lower_modes() >> levels.mode_order[level] & 1) != 0;
    digits.all_there = digits.all_there && (!is_lower || is_dense(levels.levels[level].kind));
  }
  return digits;
}

// Puts the coordinates of the index in the place of its first digits, and leaves out what lies beyond its extent.
Expected<void> compose(const Digits& digits, Coordinates& all, const Resources& resources) {
  std::vector<Indices> lower;
  for (const auto& [mode, divisor] : digits.lower) lower.push_back(column(all, mode));
  const Indices first = column(all, digits.mode);
  std::vector<std::uint64_t> whole;
  std::vector<std::uint64_t> kept;
  for (std::uint64_t n = 0; n < all.count; ++n) {
    std::uint64_t coordinate = first[n] * digits.divisor;
    for (std::size_t digit = 0; digit < lower.size(); ++digit) coordinate += lower[digit][n] * digits.lower[digit].second;
    if (coordinate >= digits.extent) continue;
    whole.push_back(coordinate);
    kept.push_back(n);
  }
  for (std::size_t mode = 0; mode < all.crd.size(); ++mode) {
    const bool is_first = mode == digits.mode;
    const unsigned bits = coordinate_bits(is_first ? digits.extent : all.extents[mode]);
    auto made = Buffer::allocate(kept.size() * bits / 8, resources.memory, "coordinates");
    if (!made) return std::unexpected(made.error());
    const Indices before = column(all, mode);
    for (std::size_t n = 0; n < kept.size(); ++n) {
      const std::uint64_t coordinate = is_first ? whole[n] : before[kept[n]];
      if (bits == 32) made->as<std::uint32_t>()[n] = static_cast<std::uint32_t>(coordinate);
      else made->as<std::uint64_t>()[n] = coordinate;
    }
    all.crd[mode] = std::move(*made);
  }
  all.extents[digits.mode] = digits.extent;
  all.count = kept.size();
  return {};
}

}  // namespace

struct JoinCounter::State {
  std::map<IndexId, double> extents;
  std::set<std::size_t> located;  // bits of modes that hold parts of indices
  std::map<TensorId, std::vector<Digits>> composed;  // modes that stand for a whole index
  std::vector<Occurrence> known;
  std::map<TensorId, const Tensor*> operands;
  std::map<TensorId, Statistics> statistics;
  // By what tensors share that have one pattern: A(i,k) * A(k,j) of three names for one A lists its entries once.
  using Pattern = std::pair<const std::vector<LevelArrays>*, bool>;  // and whether its digits are composed
  Pattern pattern_of(TensorId tensor) const { return {&operands.at(tensor)->levels(), composed.contains(tensor)}; }
  std::map<Pattern, Coordinates> entries;
  struct Listed {
    bool asked = false;
    std::optional<Charge> charge;
    std::optional<EntriesByCoordinate> lists;
  };
  std::map<std::pair<Pattern, std::size_t>, Listed> listed;  // per mode
  std::map<std::pair<std::uint64_t, double>, std::vector<std::uint64_t>> samples;  // by extent and share
  std::map<std::vector<std::uint32_t>, double> ratios;                             // by form
  JoinBudget effort;
  Resources resources;
  double steps = 0;  // that the last count took

  struct Member {
    TensorId tensor = 0;
    std::vector<IndexId> indices;    // by mode
    std::vector<std::size_t> modes;  // of the projection
    std::vector<std::pair<std::size_t, std::size_t>> equal = {};  // modes of one index: its entries are on their diagonal
    ModeSet held = 0;  // of the projection, with all digits
  };

  const Digits* digits_at(TensorId tensor, std::size_t mode) const {
    const auto of = composed.find(tensor);
    if (of == composed.end()) return nullptr;
    const auto found = std::ranges::find(of->second, mode, &Digits::mode);
    return found == of->second.end() ? nullptr : &*found;
  }
  // Of an index whose first digit is among these modes: the mode that holds that stands for both.
  bool is_lower_digit(TensorId tensor, std::size_t mode, ModeSet among) const {
    const auto of = composed.find(tensor);
    return of != composed.end() && std::ranges::any_of(of->second, [&](const Digits& digits) {
      return (digits.lower_modes() >> mode & 1) != 0 && (among >> digits.mode & 1) != 0;
    });
  }

  Expected<const Coordinates*> coordinates(TensorId tensor) {
    const Pattern pattern = pattern_of(tensor);
    if (const auto found = entries.find(pattern); found != entries.end()) return &found->second;
    auto made = weft::entries(*operands.at(tensor), false, resources);
    if (!made) return std::unexpected(made.error());
    for (const Digits& digits : composed.contains(tensor) ? composed.at(tensor) : std::vector<Digits>())
      if (auto done = compose(digits, *made, resources); !done) return std::unexpected(done.error());
    return &entries.emplace(pattern, std::move(*made)).first->second;
  }

  static std::optional<std::size_t> mode_of(const Member& member, IndexId index) {
    const auto mode = std::ranges::find(member.modes, index, [&](std::size_t one) { return member.indices[one]; });
    return mode == member.modes.end() ? std::nullopt : std::optional(*mode);
  }

  // Which coordinates of an index are left.
  using Filters = std::map<IndexId, ChosenCoordinates>;

  // Nothing where it is asked for once, which a look at every entry costs less than.
  const EntriesByCoordinate* by_coordinate(TensorId tensor, std::size_t mode, const Coordinates& all) {
    const std::uint64_t extent = all.extents[mode];
    if (!EntriesByCoordinate::is_small(all.count, extent)) return nullptr;
    Listed& made = listed[{pattern_of(tensor), mode}];
    if (!made.lists && std::exchange(made.asked, true)) {
      auto charge = resources.memory.charge(EntriesByCoordinate::bytes(all.count, extent), "lists of entries");
      if (!charge) return nullptr;  // where there is no room, all entries are looked at
      made.charge = std::move(*charge);
      made.lists.emplace(column(all, mode), all.count, extent);
    }
    return made.lists ? &*made.lists : nullptr;
  }

  // The coordinates below an extent that a share of them has.
  const std::vector<std::uint64_t>& sample(std::uint64_t extent, double share) {
    const auto [found, fresh] = samples.try_emplace({extent, share});
    for (std::uint64_t coordinate = 0; fresh && coordinate < extent; ++coordinate) {
      if (place_of(coordinate) < share) found->second.push_back(coordinate);
    }
    return found->second;
  }

  // Lists that together hold all entries of a member that pass the filters, and few others; nothing where that is most of them.
  std::optional<std::vector<std::span<const std::uint32_t>>> candidates(const Member& member, const Coordinates& all, IndexId sampled,
                                                                        double share, const Filters& filters) {
    std::optional<std::vector<std::span<const std::uint32_t>>> fewest;
    std::uint64_t least = all.count / 4;
    for (const std::size_t mode : member.modes) {
      const IndexId index = member.indices[mode];
      const auto filter = filters.find(index);
      if (index == sampled ? share >= 1 : filter == filters.end()) continue;
      const EntriesByCoordinate* lists = by_coordinate(member.tensor, mode, all);
      if (lists == nullptr) continue;
      std::vector<std::span<const std::uint32_t>> some;
      std::uint64_t held = 0;
      const auto add = [&](std::uint64_t coordinate) {
        some.push_back(lists->at(coordinate));
        held += some.back().size();
      };
      std::ranges::for_each(index == sampled ? sample(all.extents[mode], share) : filter->second.all(), add);
      if (held >= least) continue;
      least = held;
      fewest = std::move(some);
    }
    return fewest;
  }

  // Entries of a member that pass the filters, or some that are more than can be reached.
  std::vector<std::uint64_t> kept(const Member& member, const Coordinates& all, IndexId sampled, double share,
                                  const Filters& filters) {
    std::optional<Indices> hashed;
    std::vector<std::pair<Indices, const ChosenCoordinates*>> tests;
    for (const std::size_t mode : member.modes) {
      const IndexId index = member.indices[mode];
      const auto filter = filters.find(index);
      if (index == sampled) hashed = column(all, mode);
      else if (filter != filters.end()) tests.emplace_back(column(all, mode), &filter->second);
    }
    std::vector<std::uint64_t> found;
    std::vector<std::pair<Indices, Indices>> diagonals;
    for (const auto& [mode, other] : member.equal) diagonals.emplace_back(column(all, mode), column(all, other));
    const auto passes = [&](std::uint64_t n) {
      if (hashed && share < 1 && place_of((*hashed)[n]) >= share) return false;
      if (!std::ranges::all_of(diagonals, [&](const auto& both) { return both.first[n] == both.second[n]; })) return false;
      return std::ranges::all_of(tests, [&](const auto& test) { return test.second->contains(test.first[n]); });
    };
    const auto is_too_much = [&] { return static_cast<double>(found.size()) > effort.reachable; };
    if (const auto lists = candidates(member, all, sampled, share, filters)) {
      for (const std::span<const std::uint32_t> list : *lists) {
        if (is_too_much()) break;
        std::ranges::copy_if(list, std::back_inserter(found), passes);
      }
      return found;
    }
    for (std::uint64_t n = 0; n < all.count && !is_too_much(); ++n) {
      if (passes(n)) found.push_back(n);
    }
    return found;
  }

  static std::vector<IndexId> connected(IndexId first, std::vector<IndexId> ranked, const std::vector<Member>& members);

  struct Joined;
  std::optional<Joined> joined(JoinSet join) const;
  std::vector<std::uint32_t> name_by_form(Joined& joined) const;
  Expected<double> counted_ratio(const Joined& joined);

  // The join restricted to the sampled share of one index's coordinates; nothing if that is too much work. With `kept_indices`
  // its distinct combinations of these indices.
  Expected<std::optional<double>> counted(const std::vector<Member>& members, std::vector<IndexId> shared, IndexId sampled,
                                          double share, IndexSet kept_indices = 0) {
    // Walked first, where it is shared.
    if (const auto place = std::ranges::find(shared, sampled); place != shared.end()) std::rotate(shared.begin(), place, place + 1);
    std::vector<JoinPart> parts(members.size());
    std::vector<bool> done(members.size(), false);
    std::vector<Charge> rooms;
    Filters filters;
    for (std::size_t placed = 0; placed < members.size(); ++placed) {
      // Next a part that the sample or its partners filter, which exists since the join is connected.
      const auto first_left = [&](const auto& is_next) {
        std::size_t member = 0;
        while (member < members.size() && (done[member] || !is_next(members[member]))) ++member;
        return member;
      };
      const auto has_filtered = [&](const Member& member) {
        return std::ranges::any_of(filters, [&](const auto& filter) { return mode_of(member, filter.first).has_value(); });
      };
      std::size_t next = first_left([&](const Member& member) { return mode_of(member, sampled).has_value(); });
      if (next == members.size()) next = first_left(has_filtered);
      if (next == members.size()) next = first_left([](const Member&) { return true; });
      const auto all = coordinates(members[next].tensor);
      if (!all) return std::unexpected(all.error());
      const std::vector<std::uint64_t> chosen = kept(members[next], **all, sampled, share, filters);
      if (static_cast<double>(chosen.size()) > effort.reachable) return std::optional<double>();
      // As they are listed, sorted, and held by column.
      auto room = resources.memory.charge(chosen.size() * sizeof(std::uint64_t) * (3 + members[next].modes.size()), "entries of a join");
      if (!room) return std::optional<double>();
      rooms.push_back(std::move(*room));
      std::vector<std::optional<std::size_t>> shared_mode;
      for (const IndexId index : shared) shared_mode.push_back(mode_of(members[next], index));
      parts[next] = projected(**all, chosen, members[next].modes, shared_mode);
      done[next] = true;
      for (std::size_t number = 0; number < shared.size(); ++number) {
        if (shared[number] == sampled) continue;
        const std::size_t column = parts[next].column_of[number];
        if (column == parts[next].columns.size()) continue;
        std::vector<std::uint64_t> both = parts[next].columns[column];
        const auto before = filters.find(shared[number]);
        if (before != filters.end()) std::erase_if(both, [&](std::uint64_t value) { return !before->second.contains(value); });
        const std::size_t mode = *mode_of(members[next], shared[number]);
        filters.insert_or_assign(shared[number], ChosenCoordinates(static_cast<double>((*all)->extents[mode]), both));
      }
    }
    if (kept_indices == 0) return JoinWalk(parts, shared.size(), effort.steps).count();
    std::vector<bool> walked;
    for (const IndexId index : shared) walked.push_back(contains(kept_indices, index));
    JoinWalk walk(parts, shared.size(), effort.steps);
    const auto found = walk.distinct(walked);
    steps = effort.steps - walk.left();
    return found;
  }
};

std::map<TensorId, const Tensor*> numbered(const std::map<std::string, Tensor>& operands, const Network& network,
                                           const std::vector<OperandFacts>& facts) {
  std::map<TensorId, const Tensor*> tensors;
  for (const OperandFacts& operand : facts) tensors[operand.tensor] = &operands.at(network.tensors[operand.tensor].name);
  return tensors;
}

JoinCounter::JoinCounter(const Network& network, const std::vector<OperandFacts>& facts,
                         const std::map<TensorId, const Tensor*>& operands, JoinBudget effort, const Resources& resources)
    : state_(std::make_unique<State>()) {
  state_->known = occurrences(network, facts);
  for (const Occurrence& occurrence : state_->known) {
    for (std::size_t mode = 0; mode < occurrence.indices.size(); ++mode) {
      if (network.tensors[occurrence.tensor].is_located(mode)) {
        const auto digits = digits_of(network, occurrence, facts_of(facts, occurrence.tensor).format, mode);
        if (!digits) {
          state_->located.insert(occurrence.first_bit + mode);
          continue;
        }
        std::vector<Digits>& known = state_->composed[occurrence.tensor];
        if (std::ranges::find(known, mode, &Digits::mode) == known.end()) known.push_back(*digits);
        state_->extents.try_emplace(occurrence.indices[mode], static_cast<double>(digits->extent));
        continue;
      }
      state_->extents[occurrence.indices[mode]] = static_cast<double>(network.tensors[occurrence.tensor].extents[mode]);
    }
  }
  state_->operands = operands;
  for (const OperandFacts& operand : facts) state_->statistics.emplace(operand.tensor, operand.statistics);
  state_->effort = effort;
  state_->resources = resources;
}
JoinCounter::~JoinCounter() = default;
JoinCounter::JoinCounter(JoinCounter&&) noexcept = default;
JoinCounter& JoinCounter::operator=(JoinCounter&&) noexcept = default;

namespace {

// An index of a join.
struct Use {
  std::size_t operands = 0;
  double extent = 0;
  double distinct = std::numeric_limits<double>::infinity();  // coordinates, of the operand with the fewest
};

constexpr double few_sampled = 24;  // coordinates that tell something

// Those of most operands first; of those the widest.
std::vector<IndexId> ranked_indices(const std::map<IndexId, Use>& uses) {
  std::vector<IndexId> ranked;
  for (const auto& [index, use] : uses) ranked.push_back(index);
  std::ranges::sort(ranked, [&](IndexId left, IndexId right) {
    const Use& one = uses.at(left);
    const Use& other = uses.at(right);
    if (one.operands != other.operands) return one.operands > other.operands;
    return one.extent != other.extent ? one.extent > other.extent : left < right;
  });
  return ranked;
}

// The first index with coordinates enough for a sample of them, if it is one, to tell something; else the first.
IndexId telling(const std::vector<IndexId>& ranked, const std::map<IndexId, Use>& uses, double share) {
  constexpr double enough = 200;
  const auto found = std::ranges::find_if(ranked, [&](IndexId index) { return share >= 1 || uses.at(index).distinct * share >= enough; });
  return found == ranked.end() ? ranked.front() : *found;
}

}  // namespace

// The accesses of a join with those of their modes that it has; nothing where one of these holds parts of coordinates.
struct JoinCounter::State::Joined {
  std::vector<Member> members;
  std::map<IndexId, Use> uses;
  double most_entries = 0;  // of a member
};

std::optional<JoinCounter::State::Joined> JoinCounter::State::joined(JoinSet join) const {
  Joined all;
  for (const Occurrence& occurrence : known) {
    Member member{occurrence.tensor, occurrence.indices, {}};
    for (std::size_t mode = 0; mode < occurrence.indices.size(); ++mode) {
      if ((join >> (occurrence.first_bit + mode) & 1) == 0) continue;
      const auto own = static_cast<ModeSet>((join & occurrence.all()) >> occurrence.first_bit);
      if (located.contains(occurrence.first_bit + mode)) {
        if (!is_lower_digit(occurrence.tensor, mode, own)) return std::nullopt;
        continue;
      }
      const Digits* const digits = digits_at(occurrence.tensor, mode);
      if (digits != nullptr && !digits->all_there && (digits->lower_modes() & ~own) != 0) return std::nullopt;
      const ModeSet held = (ModeSet{1} << mode) | (digits != nullptr ? digits->lower_modes() : 0);
      member.held |= held;
      const IndexId index = occurrence.indices[mode];
      if (const auto first = mode_of(member, index)) {
        member.equal.emplace_back(*first, mode);
        continue;
      }
      member.modes.push_back(mode);
      Use& use = all.uses[index];
      ++use.operands;
      use.distinct = std::min(use.distinct, statistics.at(occurrence.tensor).distinct(held));
      use.extent = extents.at(index);
    }
    if (member.modes.empty()) continue;
    all.most_entries = std::max(all.most_entries, statistics.at(occurrence.tensor).nnz());
    all.members.push_back(std::move(member));
  }
  return all;
}

// Names the members and indices of a join by its form alone, which it returns: A(i,j) * A(j,k) and A(j,k) * A(k,i) of one A are the
// same join. Of all orders of the members, indices numbered as they come, the one whose form is the least. Nothing, and the names stay,
// where no two members have one pattern: no other join has that form.
std::vector<std::uint32_t> JoinCounter::State::name_by_form(Joined& joined) const {
  constexpr std::size_t most_ordered = 5;
  std::vector<std::uint32_t> patterns;  // the first tensor that has it
  for (const Member& member : joined.members) {
    const auto same = [&](const auto& operand) { return pattern_of(operand.first) == pattern_of(member.tensor); };
    patterns.push_back(std::ranges::find_if(operands, same)->first);
  }
  if (std::set(patterns.begin(), patterns.end()).size() == patterns.size()) return {};
  std::vector<std::size_t> order(joined.members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::size_t> least_order;
  std::vector<std::uint32_t> least;
  std::map<IndexId, IndexId> least_names;
  do {
    std::vector<std::uint32_t> form;
    std::map<IndexId, IndexId> names;
    for (const std::size_t number : order) {
      const Member& member = joined.members[number];
      form.insert(form.end(), {patterns[number], static_cast<std::uint32_t>(member.modes.size())});
      for (const std::size_t mode : member.modes) {
        const IndexId name = names.try_emplace(member.indices[mode], static_cast<IndexId>(names.size())).first->second;
        form.insert(form.end(), {static_cast<std::uint32_t>(mode), name});
      }
    }
    if (!least.empty() && least <= form) continue;
    least = std::move(form);
    least_names = std::move(names);
    least_order = order;
  } while (order.size() <= most_ordered && std::ranges::next_permutation(order).found);
  std::vector<Member> members;
  for (const std::size_t number : least_order) {
    members.push_back(std::move(joined.members[number]));
    for (const std::size_t mode : members.back().modes) members.back().indices[mode] = least_names.at(members.back().indices[mode]);
  }
  joined.members = std::move(members);
  std::map<IndexId, Use> uses;
  for (const auto& [index, name] : least_names) uses[name] = joined.uses.at(index);
  joined.uses = std::move(uses);
  return least;
}

Expected<double> JoinCounter::ratio(JoinSet join) {
  auto joined = state_->joined(join);
  // A diagonal is not counted: its second mode selects entries before anything is joined.
  if (!joined || std::ranges::any_of(joined->members, [](const State::Member& member) { return !member.equal.empty(); })) return 1;
  const std::vector<std::uint32_t> form = state_->name_by_form(*joined);
  if (const auto known = state_->ratios.find(form); known != state_->ratios.end()) return known->second;
  const auto ratio = state_->counted_ratio(*joined);
  if (ratio && !form.empty()) state_->ratios.emplace(form, *ratio);
  return ratio;
}

Expected<double> JoinCounter::State::counted_ratio(const Joined& joined) {
  const std::vector<Member>& members = joined.members;
  std::map<IndexId, Use> uses = joined.uses;
  double independent = 1;
  for (const Member& member : members) {
    for (const std::size_t mode : member.modes) independent /= uses[member.indices[mode]].extent;
    independent *= statistics.at(member.tensor).distinct(member.held);
  }
  for (const auto& [index, use] : uses) independent *= use.extent;
  const std::vector<IndexId> ranked = ranked_indices(uses);
  std::vector<IndexId> shared = ranked;
  std::erase_if(shared, [&](IndexId index) { return uses[index].operands < 2; });
  if (!(independent > 0) || shared.empty()) return 1;
  const double share = std::min(1.0, effort.entries / joined.most_entries);
  const auto estimated = [&](IndexId sampled, int attempts) -> Expected<std::optional<double>> {
    double part = share;
    for (int attempt = 0; attempt < attempts; ++attempt, part /= 4) {
      const auto found = counted(members, shared, sampled, part);
      if (!found) return std::unexpected(found.error());
      if (!*found) continue;
      auto answer = *found;
      double of = part;
      // None is no answer of some coordinates, of which a sample may have none at all: y of T(o,d,y,h) * T(p,q,y,g) has 182.
      while (answer && *answer == 0 && of < 1) {
        const double wider = std::min(1.0, of * 4);
        const auto again = counted(members, shared, sampled, wider);
        if (!again) return std::unexpected(again.error());
        if (!*again && uses.at(sampled).distinct * of < few_sampled) return std::optional<double>();
        if (!*again) break;
        answer = *again;
        of = wider;
      }
      return std::max(*answer, 0.5) / of / independent;
    }
    return std::optional<double>();
  };
  constexpr int usual_attempts = 4;
  // What fewer operands have restricts fewer of them: where that is too much, a smaller part of it hardly is less.
  const IndexId sampled = telling(ranked, uses, share);
  const bool restricts_less = uses[sampled].operands < uses[ranked.front()].operands;
  auto ratio = estimated(sampled, restricts_less ? 1 : usual_attempts);
  if (ratio && !*ratio && restricts_less) ratio = estimated(ranked.front(), usual_attempts);
  if (!ratio) return std::unexpected(ratio.error());
  return ratio->value_or(1);
}

// These indices, from the first one on each in an access of one before it, if one is.
std::vector<IndexId> JoinCounter::State::connected(IndexId first, std::vector<IndexId> ranked, const std::vector<Member>& members) {
  std::vector<IndexId> order;
  IndexSet reached = one_index(first);
  while (!ranked.empty()) {
    auto next = std::ranges::find_if(ranked, [&](IndexId index) { return contains(reached, index); });
    if (next == ranked.end()) next = ranked.begin();
    for (const Member& member : members) {
      if (!mode_of(member, *next)) continue;
      for (const std::size_t mode : member.modes) reached |= one_index(member.indices[mode]);
    }
    order.push_back(*next);
    ranked.erase(next);
  }
  return order;
}

Expected<std::optional<double>> JoinCounter::entries(JoinSet join, IndexSet indices) {
  auto joined = state_->joined(join);
  if (!joined) return std::optional<double>();
  std::vector<State::Member>& members = joined->members;
  std::map<IndexId, Use>& uses = joined->uses;
  // An index of one access alone that is summed changes nothing.
  for (State::Member& member : members) {
    std::erase_if(member.modes, [&](std::size_t mode) {
      const IndexId index = member.indices[mode];
      return uses[index].operands == 1 && !contains(indices, index);
    });
  }
  std::erase_if(members, [](const State::Member& member) { return member.modes.empty(); });
  std::map<IndexId, Use> kept = uses;
  std::erase_if(kept, [&](const auto& use) { return !contains(indices, use.first); });
  if (kept.empty()) return std::optional<double>();
  // That of which most coordinates are left in a sample.
  const IndexId sampled = std::ranges::max_element(kept, {}, [](const auto& use) { return use.second.distinct; })->first;
  std::erase_if(uses, [&](const auto& use) { return use.second.operands < 2 && use.first != sampled; });
  const std::vector<IndexId> shared = State::connected(sampled, ranked_indices(uses), members);
  // As few as tell something, fewer where rows of blocks are long, then as many as the effort suffices for, by what those took.
  constexpr double fewest_sampled = 6;
  const double most = std::min(1.0, state_->effort.entries / joined->most_entries);
  double share = std::min(most, few_sampled / kept[sampled].distinct);
  auto found = state_->counted(members, shared, sampled, share, indices);
  if (found && !*found) {
    share *= fewest_sampled / few_sampled;
    found = state_->counted(members, shared, sampled, share, indices);
  }
  // None is no answer of some coordinates, of which a sample may have none at all: A(i,k) = T(p,i,j) * T(p,j,k) over 202 of each.
  while (found && *found && **found == 0 && share < 1) {
    share = std::min(1.0, share * 4);
    found = state_->counted(members, shared, sampled, share, indices);
  }
  if (!found || !*found) return found;
  const double wider = std::min(most, share * 0.7 * state_->effort.steps / std::max(state_->steps, 1.0));
  if (wider > 2 * share) {
    const auto again = state_->counted(members, shared, sampled, wider, indices);
    if (!again) return again;
    if (*again) {
      share = wider;
      found = again;
    }
  }
  return std::optional(**found / share);
}

}  // namespace weft
