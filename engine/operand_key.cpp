#include "engine/operand_key.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

#include "engine/plan/estimate/operand_facts.h"
#include "engine/specialize.h"
#include "runtime/adjacency.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"
#include "weft/statistics.h"

namespace weft {
namespace {

// A key is its parts one after the other, each with its length before it: format, extents, pattern, values.
constexpr std::string_view part_names[] = {"format", "extents", "pattern", "values"};

class Part {
 public:
  explicit Part(std::string& key) : key_(key), begin_(key.size()) { key_.append(sizeof(std::uint32_t), '\0'); }
  ~Part() {
    const auto length = static_cast<std::uint32_t>(key_.size() - begin_ - sizeof(std::uint32_t));
    std::memcpy(key_.data() + begin_, &length, sizeof length);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  std::string& key_;
  std::size_t begin_;
};

template <class Number>
void append(std::string& key, Number number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::array<std::uint64_t, 2> pattern_figures(const Tensor& tensor, const Resources& resources) {
  const Statistics counted = statistics(tensor, resources);
  const Statistics rounded = quantised(counted);
  std::string text;
  append(text, rounded.nnz());
  append(text, quantised(static_cast<double>(tensor.bytes())));
  for (const ModeSet set : quantised_sets(tensor.format())) append(text, rounded.distinct(set));
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    for (std::size_t other = 0; other < tensor.order(); ++other) {
      if (const double heavy = mode == other ? 0 : distinct_in_heavy_slices(counted, mode, other); heavy > 0) append(text, heavy);
    }
  }
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) append(text, share_with_company(counted, mode));
  for (const bool full : full_levels(counted, tensor.format(), tensor.extents())) text += full ? 'f' : ' ';
  for (const LoweringFacts::Fiber& fiber : short_fibers(tensor, resources.threads)) {
    append(text, fiber.maximum);
    text += fiber.exact ? 'e' : ' ';
  }
  text += static_cast<char>(adjacency(tensor));
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

}  // namespace

void append_format_key(std::string& key, const Format& format) {
  key += traits(format.scalar).key;
  for (std::size_t level = 0; level < format.order(); ++level) {
    const Level& stored = format.levels[level];
    key += static_cast<char>(stored.kind);
    key += static_cast<char>(stored.pos_bits);
    key += static_cast<char>(stored.crd_bits);
    key += static_cast<char>((stored.strided ? 1 : 0) | (stored.joined ? 2 : 0));
    if (!format.layout) append(key, format.mode_order[level]);
  }
  if (format.layout) key += format.text();
}

void append_operand_key(std::string& key, const Tensor& tensor, bool by_pattern, const Resources& resources) {
  const Format& format = tensor.format();
  {
    const Part part(key);
    append_format_key(key, format);
  }
  {
    const Part part(key);
    for (const std::uint64_t extent : tensor.extents()) append(key, extent);
    for (const std::uint64_t extent : tensor.level_extents()) append(key, extent);
  }
  {
    const Part part(key);
    PatternFacts* const facts = TensorParts::pattern_facts(tensor);
    if (!format.all_dense() && (by_pattern || format.layout) && facts != nullptr) {
      append(key, facts->number);
    } else if (!format.all_dense()) {
      const auto figures = facts ? facts->digest([&] { return pattern_figures(tensor, resources); }) : pattern_figures(tensor, resources);
      append(key, figures[0]);
      append(key, figures[1]);
    }
  }
  const Part part(key);
  ValueFacts* const values = TensorParts::value_facts(tensor);
  key += values && values->known_finite() == std::optional(false) ? 'n' : 'f';
}

std::string differing_parts(std::string_view one, std::string_view other) {
  std::string differing;
  for (const std::string_view name : part_names) {
    const auto part = [](std::string_view& key) {
      std::uint32_t length = 0;
      if (key.size() < sizeof length) return std::string_view();
      std::memcpy(&length, key.data(), sizeof length);
      const std::string_view taken = key.substr(sizeof length, length);
      key.remove_prefix(std::min(key.size(), sizeof length + taken.size()));
      return taken;
    };
    if (part(one) == part(other)) continue;
    if (!differing.empty()) differing += ", ";
    differing += name;
  }
  return differing;
}

}  // namespace weft
