// The verifier's rules, one function each (design section 5). Every message starts with the rule's name.
//
// The rules below "binding" rely on it; "coverage" and "presence" rely on all above them. Messages name loop, access
// and level. Errors are input errors, since a Program may be a user's text; what is legal but not built is unsupported.
#pragma once

#include "engine/loop/program.h"

namespace weft::loop {

/// An index is given by one listed before it, which has loops, with numbers that say something; only inputs are located at it.
Expected<void> check_definitions(const Program& program);
/// Ids in range, names unique; every level bound once per path, in storage order, at the loop of its index or late.
Expected<void> check_binding(const Program& program);
/// Steps and algorithms only where the level's kind offers them; kinds only where the role and the neighbours allow.
Expected<void> check_capability(const Program& program);
/// All levels of target and factors bound at an Accumulate; no empty body.
Expected<void> check_completeness(const Program& program);
/// Inputs are read, outputs written; a workspace lives in one With and is complete before it is read.
Expected<void> check_life_cycle(const Program& program);
/// A workspace can be made empty by what its levels offer.
Expected<void> check_reset(const Program& program);
/// Appends happen in storage order, once per coordinate.
Expected<void> check_append_order(const Program& program);
/// An unordered level drives alone, without a finger; below it nothing appends to what lives outside.
Expected<void> check_unordered(const Program& program);
/// A finger (gallop) only where coordinates increase from a fixed parent position.
Expected<void> check_finger(const Program& program);
/// @parallel: a root loop, every target outside it named with a legal reduction.
Expected<void> check_parallel(const Program& program);
/// @vector: innermost, steps dense or exactly one drive.
Expected<void> check_vector(const Program& program);
/// @flat: loops over a chain of levels that stand directly in each other, driven by it alone.
Expected<void> check_flat(const Program& program);
/// @batch: the loop ends with a product of two rows that is added to a block bound before it.
Expected<void> check_batch(const Program& program);
/// Facts name what exists, do not contradict, and are about operands.
Expected<void> check_facts(const Program& program);
/// What has the pattern of an operand is inserted where the operand's position is known.
Expected<void> check_like(const Program& program);
/// Every loop around an Accumulate is over an index of its product, filtered only by factors of that product.
Expected<void> check_coverage(const Program& program);
/// A workspace level that is dense is read only where absent and zero need not be told apart.
Expected<void> check_presence(const Program& program);

/// What is legal and not built: level kinds and steps that no code is written for. The interpreter knows them.
Expected<void> check_built(const Program& program);

}  // namespace weft::loop
