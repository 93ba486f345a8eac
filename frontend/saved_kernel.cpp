#include "frontend/saved_kernel.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/cache/entry.h"
#include "engine/plan/estimate/operand_facts.h"

namespace weft {
namespace {

void write(ByteWriter& to, const Format& format) {
  to.text(fmt::format("{}:{}", format.text(), name(format.scalar)));
  to.list(format.levels, [&](const Level& level) { to.number(level.pos_bits | level.crd_bits << 8 | (level.strided ? 1 : 0) << 16); });
}

/// A format of order 0 has no text.
Expected<Format> read_format(ByteReader& from) {
  const std::string text = from.text();
  std::vector<std::uint64_t> widths = from.numbers<std::uint64_t>();
  Expected<Format> format = Format{};
  if (text.starts_with(':')) {
    const auto scalar = parse_scalar(std::string_view(text).substr(1));
    if (!scalar) return std::unexpected(scalar.error());
    format->scalar = *scalar;
  } else {
    format = parse_format(text);
    if (!format) return format;
  }
  if (widths.size() != format->order()) return input_error("widths of another number of levels");
  for (std::size_t level = 0; level < widths.size(); ++level) {
    Level& stored = format->levels[level];
    const std::uint64_t crd_bits = widths[level] >> 8 & 0xff;
    const bool narrow = format->layout != nullptr && (crd_bits == 8 || crd_bits == 16);
    stored.pos_bits = (widths[level] & 0xff) == 64 ? 64 : 32;
    stored.crd_bits = narrow ? static_cast<std::uint8_t>(crd_bits) : crd_bits == 64 ? 64 : 32;
    stored.strided = (widths[level] >> 16 & 1) != 0;
  }
  return format;
}

/// A figure of a tensor's entries: NaN has no place among numbers of them.
bool is_count(double figure) { return std::isfinite(figure) && figure >= 0; }

constexpr std::string_view no_count = "a figure that is no number of entries";

void write(ByteWriter& to, const std::vector<std::string>& names) {
  to.list(names, [&](const std::string& name) { to.text(name); });
}

std::vector<std::string> read_names(ByteReader& from) {
  std::vector<std::string> names;
  from.list([&] { names.push_back(from.text()); });
  return names;
}

// The bindings name every member: a new one does not compile before it is decided here whether kernels depend on it. What chose
// the plan is not saved, for the plan is.
void write(ByteWriter& to, const CompileOptions& options) {
  const auto& [formats, patterns, results, tree, schedule, schedule_name, objective, unfused, prove, calls, specialize, changing,
               changing_patterns, assume_finite, assume_all_finite, scaled, strided, lent_results,
               choose_layouts] = options;
  to.list(formats, [&](const auto& each) {
    to.text(each.first);
    write(to, each.second);
  });
  to.list(patterns, [&](const auto& each) {
    to.text(each.first);
    to.text(each.second);
  });
  to.text(tree);
  to.real(calls);
  for (const auto* names : {&results, &changing, &changing_patterns, &assume_finite, &scaled, &strided, &lent_results})
    write(to, *names);
  to.number(assume_all_finite ? 1 : 0);
}

Expected<CompileOptions> read_options(ByteReader& from) {
  CompileOptions options;
  Expected<void> right;
  from.list([&] {
    const std::string name = from.text();
    auto format = read_format(from);
    if (!format) right = std::unexpected(format.error());
    if (format) options.formats[name] = std::move(*format);
  });
  if (!right) return std::unexpected(right.error());
  from.list([&] {
    const std::string name = from.text();
    options.patterns[name] = from.text();
  });
  options.tree = from.text();
  options.calls = from.real();
  for (auto* names : {&options.results, &options.changing, &options.changing_patterns, &options.assume_finite, &options.scaled,
                      &options.strided, &options.lent_results})
    *names = read_names(from);
  options.assume_all_finite = from.number() != 0;
  return options;
}

void write(ByteWriter& to, const SavedLevels& levels) {
  to.number(static_cast<std::uint64_t>(levels.exposing));
  to.list(levels.located, [&](const std::string& name) { to.text(name); });
  to.list(levels.given, [&](const auto& each) {
    to.text(each.first);
    write(to, each.second.format);
    to.numbers(each.second.extents);
    to.numbers(each.second.level_extents);
    to.real(each.second.nnz);
  });
}

Expected<SavedLevels> read_levels(ByteReader& from) {
  SavedLevels levels;
  const std::uint64_t exposing = from.number();
  if (exposing > static_cast<std::uint64_t>(Exposing::copies)) return input_error("an unknown way to read levels");
  levels.exposing = static_cast<Exposing>(exposing);
  from.list([&] { levels.located.insert(from.text()); });
  Expected<void> right;
  from.list([&] {
    const std::string name = from.text();
    auto format = read_format(from);
    SavedLevels::Given given;
    given.extents = from.numbers<std::uint64_t>();
    given.level_extents = from.numbers<std::uint64_t>();
    given.nnz = from.real();
    const std::size_t levels_told = given.level_extents.size();  // of layouts
    if (format && (format->modes() != given.extents.size() || (format->layout ? format->order() : 0) != levels_told))
      format = input_error("extents of another number of levels");
    if (format && !is_count(given.nnz)) format = input_error(std::string(no_count));
    if (!format) right = std::unexpected(format.error());
    if (format) given.format = std::move(*format);
    levels.given[name] = std::move(given);
  });
  if (!right) return std::unexpected(right.error());
  return levels;
}

Expected<SavedRequest> read_request(ByteReader& from) {
  SavedRequest request;
  request.expression = from.text();
  auto options = read_options(from);
  if (!options) return std::unexpected(options.error());
  request.options = std::move(*options);
  Expected<void> right;
  from.list([&] {
    const std::string name = from.text();
    auto format = read_format(from);
    SavedRequest::Figures figures;
    figures.extents = from.numbers<std::uint64_t>();
    figures.nnz = from.real();
    bool counted = is_count(figures.nnz);
    from.list([&] {
      const auto set = static_cast<ModeSet>(from.number());
      const double distinct = figures.distinct[set] = from.real();
      counted = counted && is_count(distinct);
    });
    if (format && format->order() != figures.extents.size()) format = input_error("extents of another number of modes");
    if (format && !counted) format = input_error(std::string(no_count));
    if (!format) right = std::unexpected(format.error());
    if (format) figures.format = std::move(*format);
    request.operands[name] = std::move(figures);
  });
  if (!right) return std::unexpected(right.error());
  if (from.number() != 0) {
    auto levels = read_levels(from);
    if (!levels) return std::unexpected(levels.error());
    request.levels = std::move(*levels);
  }
  return request;
}

}  // namespace

SavedRequest::Figures figures_of(const Statistics& statistics) {
  SavedRequest::Figures figures{statistics.format(), statistics.extents(), statistics.nnz(), {}};
  if (figures.format.all_dense()) return figures;
  for (const ModeSet set : quantised_sets(figures.format)) figures.distinct[set] = statistics.distinct(set);
  return figures;
}

std::map<std::string, Statistics> statistics_of(const SavedRequest& request) {
  std::map<std::string, Statistics> statistics;
  for (const auto& [name, known] : request.operands)
    statistics.emplace(name, Statistics(known.extents, known.format, known.nnz, known.distinct));
  return statistics;
}

NamedFacts given_facts(const SavedRequest& request) {
  NamedFacts facts = named_facts(statistics_of(request));
  if (!request.levels) return facts;
  for (const auto& [name, given] : request.levels->given) {
    const Format plain = given.format.layout ? sparse_format(given.extents.size(), given.format.scalar) : given.format;
    std::map<ModeSet, double> distinct;
    if (!given.extents.empty()) distinct[~ModeSet{0} >> (8 * sizeof(ModeSet) - given.extents.size())] = given.nnz;
    OperandFacts known = operand_facts(Statistics(given.extents, plain, given.nnz, std::move(distinct)));
    known.format = given.format;
    facts.insert_or_assign(name, std::move(known));
  }
  return facts;
}

std::string packed(const SavedKernel& kernel, const std::string& environment) {
  ByteWriter to;
  to.text(kernel.request.expression);
  write(to, kernel.request.options);
  to.list(kernel.request.operands, [&](const auto& each) {
    to.text(each.first);
    write(to, each.second.format);
    to.numbers(each.second.extents);
    to.real(each.second.nnz);
    to.list(each.second.distinct, [&](const auto& counted) {
      to.number(counted.first);
      to.real(counted.second);
    });
  });
  to.number(kernel.request.levels ? 1 : 0);
  if (kernel.request.levels) write(to, *kernel.request.levels);
  write(to, kernel.network);
  return pack_entry(environment, to.take());
}

Expected<SavedKernel> unpacked(std::string_view bytes, const std::string& environment) {
  const auto entry = open_entry(bytes);
  if (!entry) return input_error(fmt::format("the saved kernel cannot be read: {}", entry.error()));
  if (const std::string other = difference(entry->key, environment); !other.empty())
    return input_error(fmt::format("the saved kernel is for {}", other));
  ByteReader from(entry->contents);
  auto request = read_request(from);
  if (!request && request.error().kind == ErrorKind::resource) return std::unexpected(request.error());
  if (!request) return input_error(fmt::format("the saved kernel is damaged: {}", request.error().message));
  auto network = read_network(from);
  if (!network) return std::unexpected(network.error());
  if (!from.at_end()) return input_error("the saved kernel is damaged: it goes on behind its end");
  return SavedKernel{std::move(*request), std::move(*network)};
}

}  // namespace weft
