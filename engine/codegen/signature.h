// Signature: the 64-bit words a kernel reads from its frame, derived from the Program alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/loop/program.h"

namespace weft {

struct Word {
  enum class Kind : std::uint8_t {
    pos,          ///< pointer: pos array of (storage, level)
    crd,          ///< pointer: crd array of (storage, level)
    values,       ///< pointer: values of storage
    places,       ///< pointer: 1 + the element of the values, by position of storage
    elements,     ///< how many values there are to read through places
    stride,       ///< elements: stride of (storage, level), strided dense levels
    extent,       ///< extent of index `number`
    coefficient,  ///< bits of the double: coefficient word `number`
    scratch,      ///< bytes: offset in Worker::scratch of the scratch demand `number`, a part of workspace `storage`
  };
  Kind kind = Kind::values;
  std::uint32_t storage = 0;
  std::uint32_t level = 0;
  std::uint32_t number = 0;
  bool operator==(const Word&) const = default;
};

/// A part of a workspace in Worker::scratch: its size is element bytes times (the product of the extents of its indices
/// + extra elements). Workspaces in registers have none; dense ones have values alone.
struct ScratchDemand {
  enum class Part : std::uint8_t {
    values,
    marks,    ///< a byte per coordinate of an accumulator or bitmap level: not zero if it was accumulated into
    touched,  ///< the marked coordinates of an accumulator, linear in its key, in the order of their first use
    crd,      ///< the same by mode, of a key of several modes that drives
  };
  std::uint32_t storage = 0;
  std::vector<loop::IndexId> indices;
  std::uint32_t element_bytes = 8;
  Part part = Part::values;
  std::uint32_t level = 0;  ///< marks, crd: of the workspace
  std::uint32_t extra_elements = 0;
  bool operator==(const ScratchDemand&) const = default;
};

/// A hashed level of an input that an access drives in order: the list of a fiber's slots is in a table of its own.
struct SortedLevel {
  std::uint32_t access = 0;
  std::uint32_t level = 0;
  bool operator==(const SortedLevel&) const = default;
};

struct Signature {
  std::vector<Word> words;
  std::vector<ScratchDemand> scratch;
  std::vector<std::uint32_t> appended;  ///< storages of outputs with compressed levels of their own, in order
  std::vector<std::uint32_t> hashed;    ///< storages of workspaces with a hashed key, in order
  std::vector<std::uint32_t> told;      ///< storages of outputs whose presence is told (a bit of Worker::present each), in order
  std::vector<std::uint32_t> begun;  ///< storages of outputs that need not be cleared (a bit of Worker::fresh each), in order; 64 at most
  std::vector<SortedLevel> sorted;      ///< hashed levels of inputs driven in order, as the steps stand in the text
  bool operator==(const Signature&) const = default;
};

Signature signature(const loop::Program& program);
/// "crd T.1", "extent r": what the word means.
std::string name_of(const Word& word, const loop::Program& program);
std::string print(const Signature& signature, const loop::Program& program);

}  // namespace weft
