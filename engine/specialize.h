// What a kernel may know of the operands it is made for, and whether that pays.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/codegen/codegen.h"
#include "engine/lower/lower.h"
#include "engine/plan/plan.h"
#include "weft/tensor.h"

namespace weft {

/// A pattern is baked into code up to this many entries and, where there are dense levels, coordinates of these: each is
/// an iteration of its own, some 50 to 130 us of compile time.
constexpr std::uint64_t most_baked_entries = 4096;
/// And into a nest whose code has up to about this many instructions (baked_size.h), which take LLVM up to a second and 80 MB.
constexpr std::uint64_t most_baked_size = 1 << 16;

/// Levels of which every coordinate occurs below every position above, by level.
std::vector<bool> full_levels(const Statistics& statistics, const Format& format, const std::vector<std::uint64_t>& extents);
/// Mean number of entries with equal coordinates up to each level of a chain; 0 for other levels.
std::vector<double> run_lengths(const Statistics& statistics, const Format& format);
/// Mean number of entries of the fibers of each sparse level, empty ones left out; 0 for dense levels.
std::vector<double> fiber_means(const Statistics& statistics, const Format& format);
/// Fibers of compressed levels below another that are short: of these loops and searches are straight code.
std::vector<LoweringFacts::Fiber> short_fibers(const Tensor& tensor, const Threads& threads);

/// Dense and compressed levels, at least one of these, with few enough entries.
bool may_be_baked(const Tensor& tensor);
/// Of extents, positions and coordinates, whatever their widths; values have no part in it.
std::uint64_t pattern_digest(const Tensor& tensor);
Pattern pattern_of(const Tensor& tensor);

/// What lowering may take for granted of these operands, which the plan's schedule may convert before.
struct Specialized {
  LoweringFacts facts;
  Patterns patterns;
  std::uint64_t baked_entries = 0;
};
/// With Specialization::baked a small operand that is converted is converted here too. `machine` decides which values are read
/// through places. Resource errors.
Expected<Specialized> specialized(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                  const std::map<std::string, Tensor>& tensors, Specialization grade, const Machine& machine,
                                  const Resources& resources);

/// The grade that costs least over the expected calls: compiling takes some milliseconds (`baked_entries` times a bit
/// when coordinates are baked in), a generic kernel is likely there already but slower, a baked one is faster still.
Specialization choose_specialization(double predicted_ns, double calls, std::uint64_t baked_entries);

std::string_view name(Specialization grade);
std::optional<Specialization> parse_specialization(std::string_view text);

}  // namespace weft
