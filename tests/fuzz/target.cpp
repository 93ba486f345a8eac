#include "fuzz/target.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace weft::fuzz {
namespace {

constexpr std::array target_table{
    Target{"tns", read_tns},
    Target{"mtx", read_mtx},
    Target{"npy", read_npy, false},
    Target{"npz", read_npz, false},
    Target{"any", read_any, false},
    Target{"gzip", read_gzip, false},
    Target{"zstandard", read_zstandard, false},
    Target{"expression", expression},
    Target{"tree", tree},
    Target{"schedule", schedule},
    Target{"loops", loops},
    Target{"format", format},
    Target{"operand", operand},
    Target{"calibration", calibration},
    Target{"cache_entry", cache_entry, false},
    Target{"plan_entry", plan_entry},
    Target{"prompt", prompt},
    Target{"slice", slice},
    Target{"networks", networks, false},
    Target{"assignments", assignments, false},
    Target{"rebinding", rebinding, false},
    Target{"layouts", layouts, false},
    Target{"saved_kernel", saved_kernel, false},
};

}  // namespace

std::span<const Target> targets() { return target_table; }

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(target_table, name, &Target::name);
  return found == target_table.end() ? nullptr : &*found;
}

void finding(std::string_view what) {
  std::fprintf(stderr, "finding: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

TwoTexts cut_first_line(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  const std::size_t end = std::min(text.find('\n'), text.size());
  return {std::string(text.substr(0, end)), std::string(text.substr(std::min(end + 1, text.size())))};
}

}  // namespace weft::fuzz
