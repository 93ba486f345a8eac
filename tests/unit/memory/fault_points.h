// Every allocation of a run in turn: it fails, the run ends with its result or as a resource error, and nothing is left.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "unit/memory/allocation_faults.h"
#include "weft/error.h"
#include "weft/memory.h"
#include "weft/tensor.h"

namespace weft::test {

/// How a run ended: with the right result, as an error, or with something wrong, in words.
struct Outcome {
  std::optional<Error> error = {};
  std::string wrong = {};
};

inline Outcome right() { return {}; }
inline Outcome refused(const Error& error) { return {.error = error, .wrong = {}}; }
inline Outcome judged(bool holds, std::string what) { return {.error = {}, .wrong = holds ? std::string() : std::move(what)}; }

/// A generated tensor, in a format or its own, made on one thread and an account of its own.
Tensor drawn(const std::string& text, const char* format = nullptr);

/// What a run may leave behind. The command's signal handler keeps the token of every call for ever.
enum class Left : std::uint8_t { nothing, tokens };

/// Runs `scenario`, whose calls of weft are armed(), with the n-th allocation failing, for WEFT_COUNT numbers n (default
/// `usual`, of each way to fail) drawn from WEFT_SEED (default: what the commit chooses); for all of them if WEFT_COUNT is 0, for
/// the one that WEFT_POINT says. After each fault it runs again without one, and has to be right. `memory`: whose charges have to be
/// back where they were.
void fail_every_allocation(const std::string& name, const std::function<Outcome()>& scenario, const Memory& memory,
                           std::uint64_t usual = 40, Left left = Left::nothing);

}  // namespace weft::test
