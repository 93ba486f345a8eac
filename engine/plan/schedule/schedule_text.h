// Names that the texts of the planner share.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/schedule/contractions.h"

namespace weft {

/// How the text calls a tensor: its name, or "T.1", "T.2" where an operand stands in several layouts.
std::string label(Steps steps, std::size_t tensor);

std::vector<std::string> names_of(const std::vector<IndexId>& indices, const Network& network);
/// "i,j,r"; "()" for none, because any word may be the name of an index.
std::string print_indices(const std::vector<IndexId>& indices, const Network& network);

/// "x[i,j]".
std::string print_access(Steps steps, const ScheduledAccess& access, const Network& network);

/// "x[i,j,r] += T[i,j,k] * C[k,r]".
std::string print_product(Steps steps, const Contraction& step, const Network& network);

/// How an access meets others in a loop: "drive T", "search B.2", "gallop C".
std::string print_met(const Schedule& schedule, const Intersection::Part& part);

/// "accumulator", "hashed" or "bitmap".
std::string_view drain_word(LevelKind kind);

/// "owner", "private", "counted" or "serial".
std::string_view reduction_word(RootReduction reduction);
inline constexpr RootReduction root_reductions[] = {RootReduction::owner, RootReduction::private_copies, RootReduction::counted,
                                                    RootReduction::serial};

/// The first lines, with their ends, in which the texts of two schedules of one assignment differ; empty behind the last.
/// Little more than those is printed.
std::pair<std::string, std::string> first_different_lines(const Schedule& left, const Schedule& right, const Network& network);

/// Names of the factors of the (first) term of an assignment, which its tree speaks of.
std::vector<std::string> factor_names(const Network& network, std::size_t assignment = 0);

}  // namespace weft
