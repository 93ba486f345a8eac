#include "runtime/layout_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "weft/layout.h"

namespace weft {
namespace {

using Numbers = std::span<const std::int64_t>;

struct NamedLayout {
  std::string_view name;
  std::string_view signature;
  std::size_t least = 0;  ///< numbers
  std::size_t most = 0;
  std::int64_t smallest = 1;
  std::string_view word;  ///< that may follow them
  std::string (*text)(Numbers numbers, bool word) = nullptr;
};

/// "i/4", or "i" for blocks of 1.
std::string block(std::string_view mode, std::int64_t size) {
  return size == 1 ? std::string(mode) : fmt::format("{}/{}", mode, size);
}
/// ", i%4:d" within the block, or nothing for blocks of 1.
std::string inside(std::string_view mode, std::int64_t size, std::string_view kind) {
  return size == 1 ? "" : fmt::format(", {}%{}:{}", mode, size, kind);
}

/// Coordinates below `size`, in the fewest bits.
std::string with_bits(std::string_view kind, std::int64_t size) {
  return fmt::format("{}<{}>", kind, size <= 256 ? 8 : size <= 65536 ? 16 : 32);
}

std::string blocks(Numbers n, bool unaligned) {
  if (unaligned) return fmt::format("(i,j) -> ({}:d, b:s{}, j-b:d({}))", block("i", n[0]), inside("i", n[0], "d"), n[1]);
  return fmt::format("(i,j) -> ({}:d, {}:s{}{})", block("i", n[0]), block("j", n[1]), inside("i", n[0], "d"), inside("j", n[1], "d"));
}

std::string coordinates(Numbers, bool unordered) {
  return unordered ? "(i,j) -> (*:d, i:q unordered, j:q unordered)" : "(i,j) -> (i:u, j:q)";
}

std::string slots(Numbers n, bool) {
  return n.empty() ? "(i,j) -> (i:d, *:d, j:q)" : fmt::format("(i,j) -> (i:d, *:d({}), j:q)", n[0]);
}

std::string slices(Numbers n, bool) {
  return fmt::format("(i,j) -> ({}:d, *:v{}, j:q)", block("i", n[0]), inside("i", n[0], "d"));
}

std::string some_of_each(Numbers n, bool) {
  return n[1] == 1 ? fmt::format("(i,j) -> (i:d, *:d({}), j:q)", n[0])
                   : fmt::format("(i,j) -> (i:d, j/{1}:d, *:d({0}), j%{1}:{2})", n[0], n[1], with_bits("q", n[1]));
}

std::string band(Numbers n, bool) { return fmt::format("(i,j) -> (i:d, j-i:d(-{}..{}))", n[0], n[1] + 1); }

std::string diagonals(Numbers n, bool) {
  return n.empty() ? "(i,j) -> (j-i:s, i:d)" : fmt::format("(i,j) -> ({}:d, j-i:s{})", block("i", n[0]), inside("i", n[0], "d"));
}

std::string square_blocks(Numbers n, bool) {
  if (n[0] == 1) return "(i,j) -> (i:d, j:s)";
  return fmt::format("(i,j) -> (i/{0}:d, j/{0}:s, i%{0}:{1}, j%{0}:{2})", n[0], with_bits("u", n[0]), with_bits("q", n[0]));
}

std::string cubes(Numbers n, bool) {
  if (n[0] == 1) return "(i,j,k) -> (i:u, j:q, k:q)";
  return fmt::format("(i,j,k) -> (i/{0}:u, j/{0}:q, k/{0}:q, i%{0}:{1}, j%{0}:{2}, k%{0}:{2})", n[0], with_bits("u", n[0]),
                     with_bits("q", n[0]));
}

template <std::size_t size>
struct Text {
  char letters[size];
  constexpr Text(const char (&text)[size]) { std::ranges::copy(text, letters); }  // from the literal that a table says
};
template <Text text>
std::string fixed(Numbers, bool) { return std::string(text.letters); }

constexpr std::array<NamedLayout, 16> table{{
    {"csr", "csr", 0, 0, 1, "", fixed<"(i,j) -> (i:d, j:s)">},
    {"csc", "csc", 0, 0, 1, "", fixed<"(i,j) -> (j:d, i:s)">},
    {"dcsr", "dcsr", 0, 0, 1, "", fixed<"(i,j) -> (i:s, j:s)">},
    {"coo", "coo[(unordered)]", 0, 0, 1, "unordered", coordinates},
    {"bcsr", "bcsr(R,C[,unaligned])", 2, 2, 1, "unaligned", blocks},
    {"lower", "lower", 0, 0, 1, "", fixed<"(i,j) -> (i:d, j:d(..i+1))">},
    {"upper", "upper", 0, 0, 1, "", fixed<"(i,j) -> (i:d, j:d(i..))">},
    {"band", "band(L,U)", 2, 2, 0, "", band},
    {"dia", "dia[(N)]", 0, 1, 1, "", diagonals},
    {"ell", "ell[(N)]", 0, 1, 1, "", slots},
    {"sell", "sell(N)", 1, 1, 1, "", slices},
    {"nm", "nm(N,M)", 2, 2, 1, "", some_of_each},
    {"vbl", "vbl", 0, 0, 1, "", fixed<"(i,j) -> (i:d, b:s, j-b:v)">},
    {"skyline", "skyline", 0, 0, 1, "", fixed<"(i,j) -> (i:d, b:q, j-b:v)">},
    {"csb", "csb(N)", 1, 1, 1, "", square_blocks},
    {"hicoo", "hicoo(N)", 1, 1, 1, "", cubes},
}};

const NamedLayout* named(std::string_view name) {
  const auto found = std::ranges::find(table, name, &NamedLayout::name);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string_view> layout_signature(std::string_view name) {
  const NamedLayout* const known = named(name);
  if (known == nullptr) return std::nullopt;
  return known->signature;
}

std::optional<std::string> expanded_layout(std::string_view name, const LayoutArguments& arguments) {
  const NamedLayout* const known = named(name);
  constexpr std::int64_t largest = std::int64_t{1} << 31;
  if (known == nullptr || arguments.numbers.size() < known->least || arguments.numbers.size() > known->most) return std::nullopt;
  if (!arguments.word.empty() && arguments.word != known->word) return std::nullopt;
  for (const std::int64_t number : arguments.numbers)
    if (number < known->smallest || number > largest) return std::nullopt;
  return known->text(arguments.numbers, !arguments.word.empty());
}

std::span<const std::string_view> layout_names() {
  static const auto signatures = [] {
    std::array<std::string_view, table.size()> all;
    std::ranges::transform(table, all.begin(), &NamedLayout::signature);
    return all;
  }();
  return signatures;
}

}  // namespace weft
