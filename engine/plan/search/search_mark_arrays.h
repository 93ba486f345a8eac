// The search with mark arrays (space/mark_arrays.h): after the one without, with a share of the budget of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/plan/search/alternative_search.h"

namespace weft {

inline constexpr std::size_t most_mark_arrays = 3;  ///< of one schedule

/// Contractions, and paths to their operands.
struct MarkedContractions {
  Contractions contractions;
  PathChoice choice;
};

/// The contractions of these trees before anything is marked, with all operands as they are stored, and with all `converted` that may be;
/// with and without partial sums and keyed intermediates.
std::vector<MarkedContractions> marked_starts(const Problem& problem, AlternativeSearch& search, const std::vector<ContractionTree>& trees,
                                            bool converted);

/// The same with one more factor marked, whichever can be.
std::vector<MarkedContractions> with_another_mark(const MarkedContractions& from);

/// Whether intermediates on the way to a dense result have keys: the search without marks did not price those, so that they are looked
/// at as they are.
bool keys_intermediates(const Contractions& contractions);

/// Looks for schedules with mark arrays that are cheaper than the best so far: of the trees of the best candidates and of the product as
/// a whole, each with one mark array, and with further ones as long as they help; loops are decided anew for all, and of what comes near
/// the best the paths, one by one.
void search_mark_arrays(AlternativeSearch& search, const Problem& problem, const std::optional<ContractionTree>& product);

}  // namespace weft
