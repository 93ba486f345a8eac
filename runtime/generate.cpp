// Generated operands. The formulas are part of the interface: the same text gives the same tensor everywhere.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "runtime/blocks.h"
#include "runtime/build.h"
#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/scalar_traits.h"
#include "runtime/sort.h"
#include "runtime/wide.h"
#include "weft/file.h"

namespace weft {
namespace {

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t splitmix64(std::uint64_t z) {
  z ^= z >> 30;
  z *= 0xBF58476D1CE4E5B9;
  z ^= z >> 27;
  z *= 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double uniform_value(std::uint64_t seed, std::uint64_t n) {
  return static_cast<double>(splitmix64(seed * golden_ratio + n + 1) >> 11) * 0x1p-53;
}
float uniform_value_f32(std::uint64_t seed, std::uint64_t n) {
  return static_cast<float>(splitmix64(seed * golden_ratio + n + 1) >> 40) * 0x1p-24f;
}

constexpr std::uint64_t scaled(std::uint64_t extent, std::uint64_t random) {
  return static_cast<std::uint64_t>((static_cast<UnsignedWide>(extent) * random) >> 64);
}

struct Recipe {
  enum class Kind : std::uint8_t { uniform, ones, sparse };
  Kind kind = Recipe::Kind::uniform;
  std::vector<std::uint64_t> extents;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> nnz;
};

std::optional<Recipe::Kind> kind_of(std::string_view word) {
  if (word == "uniform") return Recipe::Kind::uniform;
  if (word == "ones") return Recipe::Kind::ones;
  if (word == "sparse") return Recipe::Kind::sparse;
  return std::nullopt;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    auto found = text.find(at);
    parts.push_back(trimmed(text.substr(0, found)));
    if (found == std::string_view::npos) return parts;
    text.remove_prefix(found + 1);
  }
}

Expected<Recipe> parse(std::string_view text, std::string_view name) {
  auto wrong = [&](const std::string& why) {
    return input_error(fmt::format("operand {}: '{}': {}", name, text, why));
  };
  const auto open = text.find('(');
  Recipe recipe;
  recipe.kind = *kind_of(text.substr(0, open));
  auto arguments = split(text.substr(open + 1, text.size() - open - 2), ',');
  if (!arguments.front().empty()) {
    for (std::string_view extent : split(arguments.front(), 'x')) {
      auto value = number(extent);
      if (!value)
        return wrong(fmt::format("'{}' is not an extent; the shape is written like 2000x300x50", extent));
      recipe.extents.push_back(*value);
    }
  }
  bool seeded = false;
  for (std::size_t n = 1; n < arguments.size(); ++n) {
    const auto equals = arguments[n].find('=');
    const std::string_view key = trimmed(arguments[n].substr(0, equals));
    if (equals == std::string_view::npos || (key != "seed" && key != "nnz"))
      return wrong(number(arguments[n]) ? std::string("extents are joined by 'x', as in 2000x300x50")
                                        : fmt::format("'{}' is neither seed=NUMBER nor nnz=NUMBER", arguments[n]));
    auto value = number(trimmed(arguments[n].substr(equals + 1)));
    if (!value) return wrong(fmt::format("'{}' needs an unsigned number", arguments[n]));
    if (key == "seed" && recipe.kind == Recipe::Kind::ones) return wrong("ones() takes no seed");
    if (key == "nnz" && recipe.kind != Recipe::Kind::sparse) return wrong("nnz belongs to sparse()");
    if (key == "seed" ? seeded : recipe.nnz.has_value()) return wrong(fmt::format("{} is given twice", key));
    if (key == "seed") {
      recipe.seed = *value;
      seeded = true;
    } else {
      recipe.nnz = *value;
    }
  }
  if (recipe.kind == Recipe::Kind::sparse && !recipe.nnz) return wrong("sparse() needs nnz=NUMBER");
  return recipe;
}

Expected<void> still_wanted(const Resources& resources, std::string_view name) {
  if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, fmt::format("cancelled while generating {}", name));
  return {};
}

/// Tells how far an operand is generated; an error when cancelled.
Expected<void> told(const Resources& resources, std::string_view name, double fraction) {
  if (auto going = still_wanted(resources, name); !going) return going;
  if (resources.progress) resources.progress(fmt::format("generating {}", name), fraction);
  return {};
}

/// For a part of the work, which is from `begin` to `end` of the whole.
Resources part(const Resources& resources, double begin, double end) {
  Resources of_part = resources;
  if (resources.progress) {
    of_part.progress = [whole = resources.progress, begin, end](std::string_view what, double share) {
      whole(what, begin + (end - begin) * share);
    };
  }
  return of_part;
}

/// In slices of some hundredths of a second, between which it is told.
template <class T, class F>
Expected<void> fill(std::span<T> values, const Resources& resources, std::string_view name, F&& value) {
  constexpr std::uint64_t slice = std::uint64_t{1} << 24;
  for (std::uint64_t first = 0; first < values.size(); first += slice) {
    if (auto going = told(resources, name, static_cast<double>(first) / static_cast<double>(values.size())); !going) return going;
    const std::uint64_t count = std::min(slice, values.size() - first);
    for_blocks(resources.threads, Blocks(count, resources.threads),
               [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                 for (std::uint64_t n = first + begin; n < first + end; ++n) values[n] = value(n);
               });
  }
  return {};
}

Expected<void> fill_uniform(Buffer& values, Scalar scalar, std::uint64_t seed, const Resources& resources, std::string_view name) {
  switch (scalar) {
    case Scalar::f64:
      return fill(values.as<double>(), resources, name, [&](std::uint64_t n) { return uniform_value(seed, n); });
    case Scalar::f32:
      return fill(values.as<float>(), resources, name, [&](std::uint64_t n) { return uniform_value_f32(seed, n); });
  }
  return {};
}

Expected<Tensor> generate_dense(const Recipe& recipe, Scalar scalar, const Resources& resources,
                                std::string_view name) {
  auto tensor = dense_zeros(recipe.extents, dense_format(recipe.extents.size(), scalar), resources, name);
  if (!tensor) return tensor;
  Expected<void> filled;
  Buffer values = tensor->values();
  if (recipe.kind == Recipe::Kind::uniform)
    filled = fill_uniform(values, scalar, recipe.seed, resources, name);
  else
    filled = with_element(scalar, [&]<class T>(T) {
      return fill(tensor->writable_values<T>(), resources, name, [](std::uint64_t) { return T{1}; });
    });
  if (!filled) return std::unexpected(filled.error());
  return tensor;
}

/// Visits numbers of [begin, end) until the work is cancelled, asked every few; still_wanted() tells then that some were left out.
template <class F>
void while_wanted(std::uint64_t begin, std::uint64_t end, const Resources& resources, F&& f) {
  constexpr std::uint64_t few = std::uint64_t{1} << 16;
  for (std::uint64_t n = begin; n < end; ++n) {
    if ((n - begin) % few == 0 && resources.cancellation.cancelled()) return;
    f(n);
  }
}

/// Draws t = from … from + count − 1 of the sequence of coordinates, appended at entry `at`.
void draw(Coordinates& coordinates, std::uint64_t at, std::uint64_t from, std::uint64_t count, std::uint64_t seed,
          const Resources& resources) {
  const std::uint64_t modes = coordinates.extents.size();
  for (std::uint64_t m = 0; m < modes; ++m)
    with_width(coordinate_bits(coordinates.extents[m]), [&]<class T>(T) {
      auto crd = coordinates.crd[m].as<T>();
      const std::uint64_t extent = coordinates.extents[m];
      for_blocks(resources.threads, Blocks(count, resources.threads),
                 [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                   while_wanted(begin, end, resources, [&](std::uint64_t n) {
                     std::uint64_t random = splitmix64((seed + 0x5EED) * golden_ratio + (from + n) * modes + m + 1);
                     crd[at + n] = static_cast<T>(scaled(extent, random));
                   });
                 });
    });
}

constexpr double drawn_share = 0.1;   // of the time of a round
constexpr double sorted_share = 0.7;  // of the time of keep_distinct
constexpr double rounds_share = 0.9;  // of the time until the values are there

/// How often is drawn until all are distinct, by the birthday paradox: of n draws n * n / 2 / product repeat an earlier one, and each
/// of those that replace them repeats one with the probability n / product. At most some tens where n is a fourth of the product.
unsigned expected_rounds(std::uint64_t nnz, std::uint64_t product) {
  const double filled = static_cast<double>(nnz) / static_cast<double>(product);
  unsigned rounds = 1;
  for (double missing = static_cast<double>(nnz) * filled / 2; missing >= 0.5; missing *= filled) ++rounds;
  return rounds;
}

/// Sorts the first `count` entries and moves the distinct ones to the front; returns how many these are.
Expected<std::uint64_t> keep_distinct(Coordinates& coordinates, std::uint64_t count, const Resources& resources,
                                      std::string_view name) {
  std::vector<std::uint32_t> modes(coordinates.extents.size());
  std::iota(modes.begin(), modes.end(), 0u);
  coordinates.count = count;
  // Sorting takes most of the time.
  const Resources sorting = part(resources, 0, sorted_share);
  auto permutation = sorted_permutation(coordinates, modes, {}, resources, [&](double share) { (void)told(sorting, name, share); });
  if (!permutation) return std::unexpected(permutation.error());
  const Indices numbers(*permutation, coordinate_bits(count));
  std::vector<Indices> crd;
  for (std::uint32_t m : modes) crd.emplace_back(coordinates.crd[m], coordinate_bits(coordinates.extents[m]));
  auto repeats = [&](std::uint64_t n) {
    return n > 0 && std::all_of(crd.begin(), crd.end(),
                                [&](const Indices& mode) { return mode[numbers[n - 1]] == mode[numbers[n]]; });
  };
  const Blocks blocks(count, resources.threads);
  std::vector<std::uint64_t> first(blocks.number + 1, 0);
  auto flags = Buffer::allocate(count, resources.memory, name);
  if (!flags) return std::unexpected(flags.error());
  auto distinct = flags->as<std::uint8_t>();
  for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    while_wanted(begin, end, resources, [&](std::uint64_t n) { first[block] += distinct[n] = !repeats(n); });
  });
  if (auto going = still_wanted(resources, name); !going) return std::unexpected(going.error());
  std::uint64_t total = 0;
  for (std::uint64_t& entries : first) total += std::exchange(entries, total);
  for (std::uint32_t m : modes) {
    const unsigned bits = coordinate_bits(coordinates.extents[m]);
    auto sorted = Buffer::allocate(coordinates.crd[m].size_bytes(), resources.memory, name);
    if (!sorted) return std::unexpected(sorted.error());
    with_width(bits, [&]<class T>(T) {
      auto from = coordinates.crd[m].as<T>();
      auto to = sorted->as<T>();
      for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
        std::uint64_t next = first[block];
        while_wanted(begin, end, resources, [&](std::uint64_t n) {
          if (distinct[n]) to[next++] = from[numbers[n]];
        });
      });
    });
    coordinates.crd[m] = std::move(*sorted);
    const double share = sorted_share + (1 - sorted_share) * (m + 1) / static_cast<double>(modes.size());
    if (auto going = told(resources, name, share); !going) return std::unexpected(going.error());
  }
  return total;
}

/// Nearly full: a mark per coordinate, drawn one by one. The product of the extents is at most four times nnz.
Expected<void> draw_marked(Coordinates& coordinates, std::uint64_t product, std::uint64_t nnz, std::uint64_t seed,
                           const Resources& resources, std::string_view name) {
  auto marks = Buffer::allocate(product, resources.memory, name);
  if (!marks) return std::unexpected(marks.error());
  auto marked = marks->as<std::uint8_t>();
  const std::uint64_t modes = coordinates.extents.size();
  for (std::uint64_t t = 0, found = 0; found < nnz; ++t) {
    if (t % (1 << 20) == 0) {
      const double share = static_cast<double>(found) / static_cast<double>(nnz);
      if (auto going = told(resources, name, rounds_share * share); !going) return going;
    }
    std::uint64_t at = 0;
    for (std::uint64_t m = 0; m < modes; ++m) {
      std::uint64_t extent = coordinates.extents[m];
      at = at * extent + scaled(extent, splitmix64((seed + 0x5EED) * golden_ratio + t * modes + m + 1));
    }
    found += marked[at] == 0;
    marked[at] = 1;
  }
  std::uint64_t entry = 0;
  for (std::uint64_t at = 0; at < product; ++at) {
    if (at % (1 << 20) == 0) {
      if (auto going = still_wanted(resources, name); !going) return going;
    }
    if (!marked[at]) continue;
    std::uint64_t rest = at;
    for (std::uint64_t m = modes; m-- > 0;) {
      with_width(coordinate_bits(coordinates.extents[m]), [&]<class T>(T) {
        coordinates.crd[m].as<T>()[entry] = static_cast<T>(rest % coordinates.extents[m]);
      });
      rest /= coordinates.extents[m];
    }
    ++entry;
  }
  return {};
}

Expected<Coordinates> generate_sparse(const Recipe& recipe, Scalar scalar, const Resources& resources,
                                      std::string_view name) {
  const std::uint64_t nnz = *recipe.nnz;
  std::uint64_t product = 1;
  for (std::uint64_t extent : recipe.extents) product = extent ? product : 0;
  for (std::uint64_t extent : recipe.extents) product = saturating_product(product, extent);
  if (nnz > product)
    return input_error(fmt::format("operand {}: nnz={} nonzeros do not fit into the {} coordinates of {}", name, nnz,
                                   product, recipe.extents.empty() ? "a scalar" : fmt::format("{}", fmt::join(recipe.extents, "x"))));
  Coordinates coordinates;
  coordinates.extents = recipe.extents;
  coordinates.scalar = scalar;
  for (std::uint64_t extent : recipe.extents) {
    auto crd = Buffer::allocate(saturating_product(nnz, coordinate_bits(extent) / 8), resources.memory, name);
    if (!crd) return std::unexpected(crd.error());
    coordinates.crd.push_back(std::move(*crd));
  }
  auto values = Buffer::allocate(saturating_product(nnz, scalar_bytes(scalar)), resources.memory, name);
  if (!values) return std::unexpected(values.error());
  coordinates.values = std::move(*values);

  if (product / 4 < nnz) {
    if (auto done = draw_marked(coordinates, product, nnz, recipe.seed, resources, name); !done)
      return std::unexpected(done.error());
  } else {
    // As many draws as entries are missing can never find too many, and few of them repeat.
    const unsigned rounds = expected_rounds(nnz, product);
    const auto after = [&](unsigned round) { return rounds_share * std::min(round, rounds) / rounds; };
    unsigned round = 0;
    for (std::uint64_t drawn = 0, distinct = 0; distinct < nnz; ++round) {
      const Resources of_round = part(resources, after(round), after(round + 1));
      const std::uint64_t missing = nnz - distinct;
      if (auto going = told(of_round, name, 0); !going) return std::unexpected(going.error());
      draw(coordinates, distinct, drawn, missing, recipe.seed, resources);
      if (auto going = told(of_round, name, drawn_share); !going) return std::unexpected(going.error());
      drawn += missing;
      auto found = keep_distinct(coordinates, nnz, part(of_round, drawn_share, 1), name);
      if (!found) return std::unexpected(found.error());
      distinct = *found;
    }
  }
  coordinates.count = nnz;
  const Resources last = part(resources, rounds_share, 1);
  if (auto filled = fill_uniform(coordinates.values, scalar, recipe.seed, last, name); !filled) return std::unexpected(filled.error());
  return coordinates;
}

}  // namespace

bool is_generator(std::string_view text) {
  const auto open = text.find('(');
  return open != std::string_view::npos && text.ends_with(')') && kind_of(text.substr(0, open)).has_value();
}

static Expected<Tensor> generated(std::string_view text, const std::optional<Format>& format,
                                 const Resources& resources, std::string_view name) {
  if (!is_generator(text))
    return input_error(fmt::format("operand {}: '{}' is none of uniform(…), ones(…), sparse(…)", name, text));
  auto recipe = parse(text, name);
  if (!recipe) return std::unexpected(recipe.error());
  const std::size_t order = recipe->extents.size();
  if (format)
    if (auto checked = check_buildable(*format, recipe->extents, name); !checked)
      return std::unexpected(checked.error());
  const Scalar scalar = format ? format->scalar : Scalar::f64;
  if (recipe->kind == Recipe::Kind::sparse) {
    auto coordinates = generate_sparse(*recipe, scalar, resources, name);
    if (!coordinates) return std::unexpected(coordinates.error());
    std::vector<std::uint32_t> natural(order);
    std::iota(natural.begin(), natural.end(), 0u);
    return build_from(std::move(*coordinates), format ? *format : sparse_format(order), natural, resources, name);
  }
  auto tensor = generate_dense(*recipe, scalar, resources, name);
  if (!tensor || !format) return tensor;
  return convert(*tensor, *format, resources, name);
}

Expected<Tensor> generate_tensor(std::string_view text, const std::optional<Format>& format,
                                 const Resources& resources, std::string_view name) {
  return guarded({"generating ", name}, [&] { return generated(text, format, resources, name); });
}

}  // namespace weft
