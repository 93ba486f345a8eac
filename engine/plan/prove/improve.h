// Asking the solver about what the search has left open.
#pragma once

#include "engine/plan/prove/prove.h"

namespace weft {

/// Schedules cheaper than every candidate of the search that fits into memory, or the proof that no open alternative has any. Only
/// where the search has left something open or a proof is wanted; else nothing is loaded and nothing spent. A missing library or
/// spent effort leave the search's result as it is, and the report says so.
Proof improve(const SearchResult& found, const Problem& problem);

/// Why nothing that the search has left open fits into memory: a part of a sentence, empty where that is not proven.
/// Names the intermediates of the constraints that contradict each other.
std::string why_nothing_fits(const SearchResult& found, const Problem& problem);

}  // namespace weft
