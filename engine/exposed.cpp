#include "engine/exposed.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/assumptions.h"
#include "engine/compiled_state.h"
#include "engine/whole_rows.h"
#include "runtime/dense.h"
#include "runtime/indices.h"
#include "runtime/level_tensor.h"
#include "runtime/affine.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

/// The elements of a dense tensor from one of them on under other extents, with the distances of neighbours by mode. Kernels know that
/// the last mode lies side by side where it does.
Tensor strided_view(const Tensor& elements, const std::vector<std::uint64_t>& extents, const std::vector<std::uint64_t>& distances,
                    std::uint64_t first = 0) {
  TensorArrays view;
  view.format = dense_format(extents.size(), elements.format().scalar);
  view.extents = extents;
  view.levels.resize(extents.size());
  view.values = elements.values();
  view.offset = elements.offset() + first;
  for (std::size_t mode = 0; mode < extents.size(); ++mode) {
    view.format.levels[mode].strided = mode == 0 || mode + 1 < extents.size() || distances[mode] != 1;
    view.levels[mode].stride = distances[mode];
  }
  return made(std::move(view));
}

/// A view whose elements lie as the format has them, without strides and what lies around; kept alive by what keeps all alive.
Tensor packed_view(const Tensor& view, const Format& format) {
  const std::uint64_t bytes = scalar_bytes(format.scalar);
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : view.extents()) elements *= extent;
  const Buffer& all = view.values();
  const Buffer part = Buffer::borrow(all.as<const std::byte>().data() + view.offset() * bytes, elements * bytes);
  TensorArrays packed;
  packed.format = format;
  packed.extents = view.extents();
  packed.levels.resize(view.order());
  packed.values = all.borrowed() ? part : part.owned_by(std::make_shared<Buffer>(all));
  return made(std::move(packed));
}

/// A dense tensor over the parts of its modes, where these reach as far as it does: the same elements, from one of them on.
Tensor dense_view(const Tensor& given, const std::vector<ModePart>& parts, const std::vector<std::uint64_t>& extents,
                  std::uint64_t first = 0) {
  const std::vector<std::uint64_t> by_mode = strides_by_mode(given);
  std::vector<std::uint64_t> distances;
  for (const ModePart& part : parts)
    distances.push_back(by_mode[part.mode] * (part.counts ? static_cast<std::uint64_t>(part.distance) : part.divisor));
  const Tensor view = strided_view(given, extents, distances, first);
  const Format packed = dense_format(parts.size(), given.format().scalar);
  return is_packed(view, packed) ? packed_view(view, packed) : view;
}

/// The other way: the modes as given over a dense tensor of their parts. Nothing where the neighbours of a mode do not lie at one
/// distance.
std::optional<Tensor> window(const Tensor& levels, const std::vector<ModePart>& parts, const std::vector<std::uint64_t>& extents) {
  const std::vector<std::uint64_t> by_part = strides_by_mode(levels);
  std::vector<std::uint64_t> distances(extents.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (parts[part].divisor == 1) distances[parts[part].mode] = by_part[part];
  }
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const bool alone = levels.extents()[part] <= 1;
    if (!alone && by_part[part] != distances[parts[part].mode] * parts[part].divisor) return std::nullopt;
  }
  return strided_view(levels, extents, distances);
}

/// Its elements, with zeros around them as far as the parts reach; in the memory of `spare` where that has such zeros already.
Expected<ReadOperand> read_dense(const Tensor& given, const ExposedTensor& exposed, const std::vector<std::uint64_t>& extents,
                                 const Resources& resources, const std::string& name, const Tensor& spare) {
  Format format = dense_format(given.order(), given.format().scalar);
  format.mode_order.clear();
  std::vector<std::uint64_t> covered(given.order(), 1);
  std::vector<std::uint64_t> before(given.order());
  std::vector<std::uint64_t> first(given.order());
  for (std::size_t level = 0; level < exposed.parts.size(); ++level) {
    const std::uint32_t mode = exposed.parts[level].mode;
    if (std::ranges::find(format.mode_order, mode) == format.mode_order.end()) format.mode_order.push_back(mode);
    if (!exposed.parts[level].counts) covered[mode] *= extents[level];
  }
  if (exposed.inside) {
    const std::vector<std::uint64_t> by_mode = strides_by_mode(given);
    std::vector<std::uint64_t> apart;
    for (const ModePart& part : exposed.parts)
      apart.push_back(by_mode[part.mode] * (part.counts ? static_cast<std::uint64_t>(part.distance) : part.divisor));
    std::uint64_t from = 0;  // in front of the elements: none there is read
    for (const auto& [mode, reach] : exposed.reach) from += static_cast<std::uint64_t>(reach.first) * by_mode[mode];
    return ReadOperand{strided_view(given, extents, apart, from), given, true, LayoutOrigin::given};
  }
  for (const auto& [mode, reach] : exposed.reach) {
    const std::int64_t least = std::min<std::int64_t>(reach.least, 0);
    before[mode] = static_cast<std::uint64_t>(-least);
    first[mode] = static_cast<std::uint64_t>(reach.first - least);
    covered[mode] = std::max(static_cast<std::uint64_t>(reach.most - least) + 1, before[mode] + given.extents()[mode]);
  }
  if (exposed.reach.empty() && covered == given.extents())
    return ReadOperand{dense_view(given, exposed.parts, extents), given, true, LayoutOrigin::given};
  const bool again = spare.order() > 0 && spare.format() == format && spare.extents() == covered;
  auto padded = again ? Expected<Tensor>(spare) : dense_zeros(covered, std::move(format), resources, name);
  if (!padded) return std::unexpected(padded.error());
  const std::vector<std::uint64_t> distances = strides_by_mode(*padded);
  const auto place = [&](const std::vector<std::uint64_t>& coordinates) {
    return std::inner_product(coordinates.begin(), coordinates.end(), distances.begin(), std::uint64_t{0});
  };
  const Tensor inside = strided_view(*padded, given.extents(), distances, place(before));
  if (auto written = write_dense(given, inside, resources, name); !written) return std::unexpected(written.error());
  Tensor view = dense_view(*padded, exposed.parts, extents, place(first));
  return ReadOperand{std::move(view), std::move(*padded), false, LayoutOrigin::made, true};
}

/// The same arrays below dense levels of one coordinate, which stand for the digits of the sums that levels are looked up at.
Tensor below_digits(const Tensor& given, const ExposedTensor& exposed, const std::vector<std::uint64_t>& extents) {
  const TensorArrays& arrays = given.arrays();
  TensorArrays view;
  view.format.scalar = arrays.format.scalar;
  view.extents = extents;
  view.values = arrays.values;
  view.offset = arrays.offset;
  for (std::size_t level = 0, stored = 0; level < extents.size(); ++level) {
    const bool above = exposed.stands_above(level);
    view.format.mode_order.push_back(static_cast<std::uint32_t>(level));
    view.format.levels.push_back(above ? Level{} : arrays.format.levels[stored]);
    view.levels.push_back(above ? LevelArrays{} : arrays.levels[stored]);
    if (!above) ++stored;
  }
  return made(std::move(view));
}

/// 0, 1, … below every position above.
Expected<Buffer> counted_coordinates(const Buffer& pos, unsigned pos_bits, unsigned crd_bits, const Resources& resources,
                                     std::string_view name) {
  Expected<Buffer> crd = Buffer();
  with_width(pos_bits, [&]<class Pos>(Pos) {
    const auto ends = pos.as<const Pos>();
    const std::uint64_t count = ends.empty() ? 0 : ends.back();
    crd = Buffer::allocate(count * (crd_bits / 8), resources.memory, name);
    if (!crd) return;
    with_width(crd_bits, [&]<class Crd>(Crd) {
      const auto to = crd->as<Crd>();
      for (std::size_t parent = 0; parent + 1 < ends.size(); ++parent)
        for (std::uint64_t n = ends[parent]; n < ends[parent + 1]; ++n) to[n] = static_cast<Crd>(n - ends[parent]);
    });
  });
  return crd;
}

/// Ends of fibers that have as many entries each: 0, n, 2 n, …
Expected<Buffer> equal_ends(std::uint64_t fibers, std::uint64_t entries, unsigned pos_bits, const Resources& resources,
                            std::string_view name) {
  auto pos = Buffer::allocate((fibers + 1) * (pos_bits / 8), resources.memory, name);
  if (!pos) return pos;
  with_width(pos_bits, [&]<class Pos>(Pos) {
    const auto ends = pos->as<Pos>();
    for (std::uint64_t fiber = 0; fiber <= fibers; ++fiber) ends[fiber] = static_cast<Pos>(fiber * entries);
  });
  return pos;
}

/// Slots and the singleton below as one level; the arrays that tell coordinates and values stay.
Expected<Tensor> with_fibers_of_slots(const Tensor& levels, std::uint32_t slots, const Resources& resources, const std::string& name) {
  TensorArrays arrays = levels.arrays();
  const Level counted = arrays.format.levels[slots];
  LevelArrays& entries = arrays.levels[slots + 1];
  Level& kind = arrays.format.levels[slots + 1];
  kind.kind = LevelKind::compressed;
  kind.pos_bits = counted.pos_bits;
  if (has_pos(counted.kind)) {
    entries.pos = std::move(arrays.levels[slots].pos);
  } else {
    kind.pos_bits = static_cast<std::uint8_t>(position_bits(levels.positions(slots)));
    const std::uint64_t fibers = slots == 0 ? 1 : levels.positions(slots - 1);
    auto pos = equal_ends(fibers, arrays.extents[slots], kind.pos_bits, resources, name);
    if (!pos) return std::unexpected(pos.error());
    entries.pos = std::move(*pos);
  }
  arrays.levels.erase(arrays.levels.begin() + slots);
  arrays.extents.erase(arrays.extents.begin() + slots);
  arrays.format.levels.erase(arrays.format.levels.begin() + slots);
  arrays.format.mode_order.pop_back();
  return made(std::move(arrays));
}

/// With coordinates 0, 1, … where a level has lengths alone.
Expected<Tensor> with_counted_coordinates(const Tensor& levels, const Resources& resources, const std::string& name) {
  if (std::ranges::none_of(levels.format().levels, [](const Level& level) { return has_lengths(level.kind); })) return levels;
  TensorArrays arrays = levels.arrays();
  for (std::size_t level = 0; level < arrays.order(); ++level) {
    Level& kind = arrays.format.levels[level];
    if (!has_lengths(kind.kind)) continue;
    kind.kind = LevelKind::compressed;
    kind.crd_bits = static_cast<std::uint8_t>(coordinate_bits(arrays.extents[level]));
    auto crd = counted_coordinates(arrays.levels[level].pos, kind.pos_bits, kind.crd_bits, resources, name);
    if (!crd) return std::unexpected(crd.error());
    arrays.levels[level].crd = std::move(*crd);
  }
  const bool adjacent = has_lengths(levels.format().levels.back().kind);
  Tensor plain = made(std::move(arrays));
  if (adjacent) TensorParts::pattern_facts(plain)->adjacent = Adjacency::from_zero;
  return plain;
}

/// The levels as a plain tensor, with slots of fibers as network/exposure.h has them; lengths become coordinates, which kernels read.
Expected<Tensor> plain_levels(const Tensor& stored, const Resources& resources, const std::string& name) {
  auto levels = level_tensor(stored, resources, name);
  const std::vector<std::uint32_t> fibers = slots_of_fibers(*stored.format().layout);
  for (auto slots = fibers.rbegin(); levels && slots != fibers.rend(); ++slots)
    levels = with_fibers_of_slots(*levels, *slots, resources, name);
  return levels ? with_counted_coordinates(*levels, resources, name) : levels;
}

/// The same of a layout that weft has made, once for all who read it: what is known of its pattern stays known.
Expected<Tensor> known_levels(const Tensor& stored, const Resources& resources, const std::string& name) {
  PatternFacts& facts = *TensorParts::pattern_facts(stored);
  const ValueFacts& values = *TensorParts::value_facts(stored);
  const std::lock_guard lock(facts.leveling);
  if (facts.levels && facts.levels->values == values.number && facts.levels->version == values.version()) return facts.levels->tensor;
  auto levels = facts.levels ? Expected<Tensor>(TensorParts::with_values(facts.levels->tensor, stored.values(), 0, stored.format().scalar))
                             : plain_levels(stored, resources, name);
  if (levels) facts.levels = {*levels, values.number, values.version()};
  return levels;
}

/// Two compressed levels over the places of diagonals that lie inside of the tensor, in the order of their coordinates, for
/// ExposedTensor::placed: `kept` is the mode that the last one has. Without values; where these stand, places say.
Expected<Tensor> placed_pattern(const Tensor& stored, std::uint32_t kept, const Resources& resources, const std::string& name) {
  auto levels = level_tensor(stored, resources, name);
  if (!levels) return levels;
  const auto placement = Placement::of(*stored.format().layout, stored.extents(), name);
  if (!placement) return std::unexpected(placement.error());
  const std::uint32_t along = stored.format().layout->levels[1].value->terms().front().variable;
  const std::uint32_t other = 1 - along;
  // other = shift + distance * diagonal + along
  const Affine& inverse = placement->inverse(other);
  std::int64_t distance = 0;
  std::int64_t shift = inverse.constant();
  for (const AffineTerm& term : inverse.terms()) {
    if (term.variable == 0) distance = term.factor;
    if (term.variable == 0) shift += term.factor * placement->levels()[0].range.least;
  }
  const Level& first = levels->format().levels[0];
  const Indices crd(levels->levels()[0].crd, first.crd_bits);
  const auto length = static_cast<std::int64_t>(levels->extents()[1]);
  const auto extent = static_cast<std::int64_t>(stored.extents()[other]);
  struct Diagonal {
    std::uint64_t coordinate = 0, number = 0;
    std::int64_t begin = 0, end = 0, moved = 0;
  };
  std::vector<Diagonal> diagonals;
  std::uint64_t entries = 0;
  for (std::uint64_t number = 0; number < levels->positions(0); ++number) {
    const std::int64_t moved = shift + distance * static_cast<std::int64_t>(crd[number]);
    const std::int64_t begin = std::max<std::int64_t>(0, -moved);
    const std::int64_t end = std::min(length, extent - moved);
    if (begin >= end) continue;
    diagonals.push_back({crd[number], number, begin, end, moved});
    entries += static_cast<std::uint64_t>(end - begin);
  }
  std::ranges::sort(diagonals, {}, &Diagonal::coordinate);
  const std::uint64_t values = stored.offset() + levels->positions(0) * levels->extents()[1];
  const unsigned place_bits = position_bits(values);
  TensorArrays arrays;
  arrays.format = sparse_format(2, stored.format().scalar);
  arrays.extents = {levels->extents()[0], kept == along ? levels->extents()[1] : stored.extents()[other]};
  arrays.levels.resize(2);
  const auto buffer = [&](std::uint64_t count, unsigned bits, auto&& fill) -> Expected<Buffer> {
    auto made = Buffer::allocate(count * (bits / 8), resources.memory, name);
    if (!made) return made;
    with_width(bits, [&]<class T>(T) { fill(made->template as<T>()); });
    return made;
  };
  for (std::size_t level = 0; level < 2; ++level) {
    Level& each = arrays.format.levels[level];
    const std::uint64_t count = level == 0 ? diagonals.size() : entries;
    each.pos_bits = static_cast<std::uint8_t>(position_bits(count));
    each.crd_bits = static_cast<std::uint8_t>(coordinate_bits(arrays.extents[level]));
    auto made_pos = buffer(level == 0 ? 2 : diagonals.size() + 1, each.pos_bits, [&]<class T>(std::span<T> to) {
      to[0] = 0;
      std::uint64_t before = 0;
      for (std::size_t n = 0; n + 1 < to.size(); ++n) {
        before += level == 0 ? count : static_cast<std::uint64_t>(diagonals[n].end - diagonals[n].begin);
        to[n + 1] = static_cast<T>(before);
      }
    });
    if (!made_pos) return std::unexpected(made_pos.error());
    arrays.levels[level].pos = std::move(*made_pos);
    auto made_crd = buffer(count, each.crd_bits, [&]<class T>(std::span<T> to) {
      std::size_t n = 0;
      for (const Diagonal& diagonal : diagonals) {
        if (level == 0) to[n++] = static_cast<T>(diagonal.coordinate);
        for (std::int64_t c = diagonal.begin; level == 1 && c < diagonal.end; ++c)
          to[n++] = static_cast<T>(kept == along ? c : c + diagonal.moved);
      }
    });
    if (!made_crd) return std::unexpected(made_crd.error());
    arrays.levels[level].crd = std::move(*made_crd);
  }
  auto places = buffer(entries, place_bits, [&]<class T>(std::span<T> to) {
    std::size_t n = 0;
    for (const Diagonal& diagonal : diagonals)
      for (std::int64_t c = diagonal.begin; c < diagonal.end; ++c)
        to[n++] = static_cast<T>(stored.offset() + diagonal.number * levels->extents()[1] + static_cast<std::uint64_t>(c) + 1);
  });
  if (!places) return std::unexpected(places.error());
  const Tensor pattern = TensorParts::without_values(made(std::move(arrays)));
  PatternFacts& facts = *TensorParts::pattern_facts(pattern);
  facts.adjacent = Adjacency::from_first;
  facts.places = std::move(*places);
  facts.place_bits = place_bits;
  return pattern;
}

/// The same with the values as they stand; remembered with the pattern of the tensor.
Expected<Tensor> placed_levels(const Tensor& stored, std::uint32_t kept, const Resources& resources, const std::string& name) {
  PatternFacts* const facts = TensorParts::pattern_facts(stored);
  if (facts == nullptr) {
    auto pattern = placed_pattern(stored, kept, resources, name);
    return pattern ? TensorParts::with_values(*pattern, stored.values(), 0, stored.format().scalar) : pattern;
  }
  const std::lock_guard lock(facts->leveling);
  if (!facts->placed || facts->placed->kept != kept || facts->placed->offset != stored.offset()) {
    auto pattern = placed_pattern(stored, kept, resources, name);
    if (!pattern) return pattern;
    facts->placed = {std::move(*pattern), kept, stored.offset()};
  }
  return TensorParts::with_values_of(facts->placed->pattern, stored);
}

/// The same arrays; those that are the given tensor's are kept alive by others.
Tensor unowned_arrays(const Tensor& tensor, const Tensor& given) {
  const auto lies_in = [](const Buffer& part, const Buffer& whole) {
    const auto* const first = whole.as<const std::byte>().data();
    const auto* const begin = part.as<const std::byte>().data();
    return part.size_bytes() > 0 && !std::less<>()(begin, first) && std::less<>()(begin, first + whole.size_bytes());
  };
  const auto borrowed = [&](Buffer& buffer) {
    bool lent = lies_in(buffer, given.values());
    for (const LevelArrays& level : given.levels()) lent = lent || lies_in(buffer, level.pos) || lies_in(buffer, level.crd);
    if (lent) buffer = Buffer::borrow(buffer.data(), buffer.size_bytes());
  };
  TensorArrays arrays = tensor.arrays();
  borrowed(arrays.values);
  for (LevelArrays& level : arrays.levels) {
    borrowed(level.pos);
    borrowed(level.crd);
  }
  Tensor unowned = made(std::move(arrays));
  PatternFacts& facts = *TensorParts::pattern_facts(unowned);
  const PatternFacts& known = *TensorParts::pattern_facts(tensor);
  facts.adjacent = known.adjacent;
  facts.places = known.places;
  facts.place_bits = known.place_bits;
  return unowned;
}

/// The plain format of the modes as given that a sparse result over their parts is handed over in.
Format plain_modes(const std::vector<ModePart>& parts, const Format& computed, std::size_t modes) {
  Format format = dense_format(modes, computed.scalar);
  if (computed.all_dense()) return format;
  for (std::size_t level = 0; level < computed.order(); ++level) {
    const ModePart& part = parts[computed.mode_order[level]];
    if (!is_dense(computed.levels[level].kind)) format.levels[part.mode].kind = LevelKind::compressed;
  }
  // Below the first mode a dense level would store what is absent.
  for (std::size_t mode = 1; mode < modes; ++mode) format.levels[mode].kind = LevelKind::compressed;
  return format;
}

/// Whether the parts of every mode follow each other, outermost first.
bool side_by_side(const std::vector<ModePart>& parts) {
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const bool last = n + 1 == parts.size() || parts[n + 1].mode != parts[n].mode;
    if (last ? parts[n].divisor != 1 : parts[n].divisor != parts[n + 1].divisor * parts[n + 1].modulus) return false;
  }
  return !parts.empty();
}

/// Whether a layout is the one asked for, whatever its modes are called and how wide its positions are.
bool is_as_asked(const Format& stored, const Format& asked) {
  if (!asked.layout || stored.scalar != asked.scalar) return false;
  Layout renamed = *stored.layout;
  renamed.modes = asked.layout->modes;
  return renamed == *asked.layout;
}

/// By level what it holds; without parts whole modes.
std::vector<ModePart> stored_parts(const std::vector<ModePart>& parts, const Format& format) {
  std::vector<ModePart> stored;
  for (const std::uint32_t mode : format.mode_order) stored.push_back(parts.empty() ? ModePart{mode} : parts[mode]);
  return stored;
}

}  // namespace

std::vector<StoredAs> stored_as(const Network& network, const std::map<std::string, const Tensor*>& operands, const PlanOptions& options) {
  std::vector<StoredAs> stored(network.tensors.size());
  const auto number = [&](const std::string& name) {
    return static_cast<TensorId>(std::ranges::find(network.tensors, name, &TensorDeclaration::name) - network.tensors.begin());
  };
  for (TensorId tensor = 0; tensor < stored.size(); ++tensor) {
    const TensorDeclaration& declared = network.tensors[tensor];
    if (!declared.is_result) {
      const auto operand = operands.find(declared.name);
      if (operand != operands.end()) stored[tensor] = {operand->second->format(), operand->second->level_extents()};
      continue;
    }
    if (const auto asked = options.result_formats.find(declared.name); asked != options.result_formats.end())
      stored[tensor].format = asked->second;
    if (const auto like = options.result_patterns.find(declared.name); like != options.result_patterns.end())
      stored[tensor].like = number(like->second);
  }
  return stored;
}

PlanOptions in_exposed_formats(PlanOptions options, const Exposure& exposure) {
  for (TensorId tensor = 0; tensor < exposure.tensors.size(); ++tensor) {
    const TensorDeclaration& declared = exposure.network.tensors[tensor];
    if (!declared.is_result || !options.result_formats.contains(declared.name)) continue;
    // A result that was asked for stays one, whatever its format is there.
    options.results.insert(declared.name);
    if (const auto computed = exposure.computed_in(tensor)) options.result_formats[declared.name] = *computed;
  }
  // What is put together when it is handed over is computed in memory of its own.
  for (TensorId tensor = 0; tensor < exposure.tensors.size(); ++tensor) {
    const ExposedTensor& exposed = exposure.tensors[tensor];
    if (!exposed.parts.empty() || exposed.handed_over) options.lent_results.erase(exposure.network.tensors[tensor].name);
  }
  if (!exposure.dense_results) return options;
  std::set<TensorId> read;
  for (const Assignment& assignment : exposure.network.assignments) {
    for (const Term& term : assignment.terms)
      for (const TensorAccess& factor : term.factors) read.insert(factor.tensor);
  }
  for (TensorId tensor = 0; tensor < exposure.tensors.size(); ++tensor) {
    const TensorDeclaration& declared = exposure.network.tensors[tensor];
    if (declared.is_result && (!read.contains(tensor) || options.results.contains(declared.name)))
      options.result_formats.try_emplace(declared.name, dense_format(declared.extents.size(), declared.scalar));
  }
  return options;
}

Format format_handed_over(const Exposure& exposure, const Schedule& schedule, const ScheduledTensor& result, const Format& computed,
                          const std::map<std::string, Format>& given) {
  const ExposedTensor& exposed = exposure.tensors[result.tensor];
  if (exposed.handed_over) return *exposed.handed_over;
  const std::size_t modes = exposure.given.tensors[result.tensor].extents.size();
  // One that has leading levels of an operand alone has rows of its own below them.
  const bool whole = result.like && std::ranges::equal(schedule.tensors[*result.like].format.levels, result.format.levels, {}, &Level::kind,
                                                       &Level::kind);
  if (whole && !exposed.asked) {
    const ScheduledTensor& operand = schedule.tensors[*result.like];
    Format format = given.at(exposure.given.tensors[operand.tensor].name);
    const std::vector<ModePart> from = stored_parts(exposure.tensors[operand.tensor].parts, operand.format);
    const std::vector<ModePart> to = stored_parts(exposed.parts, result.format);
    std::vector<std::uint32_t> moved(modes);
    for (std::size_t level = 0; level < from.size(); ++level) moved[from[level].mode] = to[level].mode;
    format.scalar = computed.scalar;
    if (format.layout) return with_modes(std::move(format), moved);
  }
  return exposed.parts.empty() ? computed : plain_modes(exposed.parts, computed, modes);
}

namespace {

/// A tensor of dense fibers in levels that list all of their elements, which are entries: converted to blocks, zeros would be left out.
Expected<Tensor> listing_zeros(const Tensor& tensor, const Resources& resources, const std::string& name) {
  auto listed = entries(tensor, false, resources);
  if (!listed) return std::unexpected(listed.error());
  return build(std::move(*listed), sparse_format(tensor.order(), tensor.format().scalar), resources, name);
}

bool has_dense_fibers(const Format& format) {
  return !format.layout && !format.all_dense() && !format.levels.empty() && is_dense(format.levels.back().kind);
}

}  // namespace

Expected<ReadOperand> read_operand(const Exposure& exposure, TensorId operand, const Tensor& given, bool changes,
                                   const Resources& resources, const Tensor& spare) {
  const ExposedTensor& exposed = exposure.tensors[operand];
  const std::string& name = exposure.given.tensors[operand].name;
  if (!exposed.read_in) return ReadOperand{given, given, true, LayoutOrigin::given};
  Format wanted = *exposed.read_in;
  wanted.scalar = given.format().scalar;
  const std::vector<std::uint64_t>& extents = exposure.network.tensors[operand].extents;
  if (exposed.at_digits) {
    auto levels = given.format().text() == wanted.text() ? Expected<LaidOut>(LaidOut{given, LayoutOrigin::given})
                                                         : laid_out(given, wanted, changes, resources, name);
    if (!levels) return std::unexpected(levels.error());
    const bool as_given = levels->origin == LayoutOrigin::given;
    return ReadOperand{below_digits(levels->tensor, exposed, extents), levels->tensor, as_given, levels->origin};
  }
  const bool dense = std::ranges::all_of(wanted.levels, [](const Level& level) { return is_dense(level.kind); });
  if (dense && exposed.sums.empty() && given.format().all_dense() && !given.format().layout &&
      (!exposed.reach.empty() || side_by_side(exposed.parts)))
    return read_dense(given, exposed, extents, resources, name, spare);
  if (!exposed.reach.empty()) {
    const auto elements = laid_out(given, wanted, changes, resources, name);
    if (!elements) return std::unexpected(elements.error());
    auto read = read_dense(elements->tensor, exposed, extents, resources, name, spare);
    if (read) read->as_given = false;
    return read;
  }
  // Widths of positions and coordinates are those that the data need.
  const bool same = given.format().text() == wanted.text();
  Tensor source = given;
  if (!same && has_dense_fibers(given.format()) && !has_dense_fibers(wanted)) {
    auto listed = listing_zeros(given, resources, name);
    if (!listed) return std::unexpected(listed.error());
    source = std::move(*listed);
  }
  auto stored = same ? Expected<LaidOut>(LaidOut{given, LayoutOrigin::given}) : laid_out(source, wanted, changes, resources, name);
  if (!stored) return std::unexpected(stored.error());
  if (exposed.parts.empty()) return ReadOperand{stored->tensor, stored->tensor, same, stored->origin};
  auto levels = exposed.placed ? placed_levels(stored->tensor, exposed.parts.back().mode, resources, name)
                : same         ? plain_levels(given, resources, name)
                               : known_levels(stored->tensor, resources, name);
  if (!levels) return std::unexpected(levels.error());
  return ReadOperand{std::move(*levels), std::move(stored->tensor), same, stored->origin};
}

std::optional<Tensor> dense_as_given(const Exposure& exposure, TensorId result, const Tensor& computed) {
  const std::vector<ModePart>& parts = exposure.tensors[result].parts;
  if (!computed.format().all_dense() || computed.format().layout) return std::nullopt;
  return parts.empty() ? std::optional(computed) : window(computed, parts, exposure.given.tensors[result].extents);
}

Expected<Tensor> handed_over(const Exposure& exposure, TensorId result, const Tensor& computed, const Format& format,
                             const Resources& resources) {
  const ExposedTensor& exposed = exposure.tensors[result];
  const TensorDeclaration& declared = exposure.given.tensors[result];
  if (exposed.parts.empty())
    return computed.format().text() == format.text() ? Expected<Tensor>(computed) : convert(computed, format, resources, declared.name);
  const auto shown = format.layout ? std::nullopt : dense_as_given(exposure, result, computed);
  if (shown) {
    const bool packed = format.all_dense() && format.scalar == computed.format().scalar && is_packed(*shown, format);
    return packed ? Expected<Tensor>(packed_view(*shown, format)) : convert(*shown, format, resources, declared.name);
  }
  Tensor packed_levels = computed;
  if (computed.format().all_dense()) {
    auto packed = permuted_dense(computed, dense_format(computed.order(), computed.format().scalar), resources, declared.name);
    if (!packed) return packed;
    packed_levels = std::move(*packed);
  }
  const std::vector<ModePart> by_level = stored_parts(exposed.parts, packed_levels.format());
  auto rows = in_whole_rows(packed_levels, by_level, declared.extents, format, resources, declared.name);
  if (!rows) return std::unexpected(rows.error());
  if (*rows) return std::move(**rows);
  TensorArrays stored = packed_levels.arrays();
  stored.level_extents.clear();
  for (std::size_t level = 0; level < packed_levels.order(); ++level) stored.level_extents.push_back(packed_levels.extent_of_level(level));
  stored.format = format_over(by_level, packed_levels.format(), declared.extents.size());
  stored.extents = declared.extents;
  const bool as_asked = is_as_asked(stored.format, format);
  if (as_asked) stored.format.layout = format.layout;
  // Whole blocks are stored: places that nothing was added to are among them.
  const std::vector<Level>& levels = stored.format.levels;
  const auto first_sparse = std::ranges::find_if(levels, [](const Level& level) { return is_sparse(level.kind); });
  stored.padded = format.layout && std::any_of(first_sparse, levels.end(), [](const Level& level) { return is_dense(level.kind); });
  const Tensor there = made(std::move(stored));
  return as_asked ? Expected<Tensor>(there) : convert(there, format, resources, declared.name);
}

bool ExposedOperands::as_given(const std::string& name) const {
  const auto known = known_.find(name);
  return known == known_.end() || known->second.as_given;
}

bool ExposedOperands::current(const std::map<std::string, Tensor>& given) const {
  return std::ranges::all_of(known_, [&](const auto& one) {
    const auto tensor = given.find(one.first);
    return tensor == given.end() || arrays_of(tensor->second).version == one.second.version;
  });
}

bool ExposedOperands::let_go() {
  const bool any = std::erase_if(known_, [&](const auto& one) { return !one.second.as_given && !one.second.padded; }) > 0;
  // What is read as it was given is taken anew with every binding.
  std::erase_if(read_, [&](const auto& one) { return !known_.contains(one.first); });
  return any;
}

std::uint64_t ExposedOperands::padded_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, known] : known_) bytes += known.padded ? known.stored.bytes() : 0;
  return bytes;
}

Expected<std::optional<std::string>> ExposedOperands::take(const Exposure& exposure, const std::map<std::string, Tensor>& given,
                                                           const HostMemory& host, const Resources& resources) {
  const auto other = other_extents(exposure.given, given);
  if (!other) return std::unexpected(other.error());
  if (!other->extents.empty()) return std::optional(other->why);
  for (TensorId operand = 0; operand < exposure.tensors.size(); ++operand) {
    const TensorDeclaration& declared = exposure.given.tensors[operand];
    const auto found = given.find(declared.name);
    if (declared.is_result || found == given.end()) continue;
    const Tensor& tensor = found->second;
    if (exposure.finite.contains(operand) && !host.assume_finite.contains(declared.name) && !finite_values(tensor, resources.threads))
      return std::optional(fmt::format("{} is not finite, and blocks reach beyond an extent", declared.name));
    if (!exposure.tensors[operand].read_in) {
      read_[declared.name] = tensor;
      continue;
    }
    const BoundArrays now = arrays_of(tensor);
    const auto known = known_.find(declared.name);
    const bool changes = host.changing.contains(declared.name);
    if (known != known_.end() && now.values != 0 && read_.contains(declared.name)) {
      const Known& before = known->second;
      const bool current = changes ? before.as_given : before.version == now.version;  // the same memory, or a copy of what it holds
      if (before.pattern == now.pattern && before.values == now.values && current) {
        if (changes) read_.at(declared.name).values_changed();  // facts of its own: converted copies of a view are to be filled anew
        continue;
      }
    }
    const Tensor spare = known == known_.end() || !known->second.padded ? Tensor() : known->second.stored;
    auto read = read_operand(exposure, operand, tensor, changes, resources, spare);
    if (!read && read.error().kind == ErrorKind::input) return std::optional(read.error().message);  // no place in the layout that is read
    if (!read) return std::unexpected(read.error());
    if (read->tensor.extents() != exposure.network.tensors[operand].extents)
      return std::optional(fmt::format("{} has other numbers of slots", declared.name));
    if (host.lent && read->as_given) read->tensor = unowned_arrays(read->tensor, tensor);
    known_[declared.name] = {now.pattern,     now.values, now.version, read->as_given, read->as_given ? Tensor() : std::move(read->stored),
                             read->padded};
    read_[declared.name] = std::move(read->tensor);
  }
  // Others that are bound serve other kernels; they are told of where one is missing.
  for (const auto& [name, tensor] : given) {
    if (std::ranges::find(exposure.given.tensors, name, &TensorDeclaration::name) == exposure.given.tensors.end()) read_[name] = tensor;
  }
  std::erase_if(read_, [&](const auto& one) { return !given.contains(one.first); });
  return std::optional<std::string>();
}

}  // namespace weft
