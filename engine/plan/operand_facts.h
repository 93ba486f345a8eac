// OperandFacts: what is known of an operand, from reading it to planning.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/network/network.h"
#include "weft/statistics.h"
#include "weft/tensor.h"

namespace weft {

/// When the values of an operand are looked through for NaN and Inf, if a plan rests on there being none.
enum class Looks : std::uint8_t {
  once,     ///< they stay as they are
  always,   ///< before every run, for they change
  never,    ///< planned as if there were some
};

/// What is known of an operand, from reading it to planning and compiling: by name at first, then one per operand of the network, in
/// the order of Network::tensors.
struct OperandFacts {
  TensorId tensor = 0;      ///< of the network, once there is one
  Format format;            ///< as it is stored now
  Statistics statistics;
  std::uint64_t bytes = 0;
  bool pinned = false;      ///< the user fixed the layout: never converted
  /// Where statistics and bytes are quantised: what they were before. Memory is predicted from it.
  struct Counted {
    Statistics statistics;
    std::uint64_t bytes = 0;
  };
  std::optional<Counted> counted = {};

  /// Made by an earlier assignment of the same run: its positions are not there before.
  bool computed = false;
  /// Dense, and every entry was accumulated into. Not so a result that only later assignments read: entries without a
  /// contribution are absent there.
  bool certain = true;
  /// Of an assignment that is planned beside others: the part of a conversion's price that it bears; and whether
  /// `format` is that of a copy which another one pays for, so that everything else is as in a converted operand.
  double conversion_share = 1;
  bool copied = false;
  Looks looks = Looks::once;
  /// The tensor itself, if it is there: the caller's, who keeps it. Joins are sampled where those of all operands are.
  const Tensor* stored = nullptr;

  const Statistics& exact() const { return counted ? counted->statistics : statistics; }
  std::uint64_t exact_bytes() const { return counted ? counted->bytes : bytes; }
};

using NamedFacts = std::map<std::string, OperandFacts>;

/// Of a tensor; nothing is counted before it is asked for.
OperandFacts operand_facts(const Tensor& tensor, const Resources& resources);
/// Of figures alone: bytes are estimated from distinct counts.
OperandFacts operand_facts(const Statistics& statistics);

}  // namespace weft
