// loop::Program: one fused loop forest over sparse and dense storages (design.md section 5).
//
// Meaning: a tensor is a finite map from coordinates to values. `for x` runs its body for every coordinate c of x's
// range, in increasing order unless its driver is unordered, for which every drive and locate step has an entry
// extending what is bound by c. A dense level of an input has every entry; a workspace is the map of the coordinates
// accumulated into so far, and an input of order 0 may be empty. insert and append filter nothing. Marks and algorithms never change
// meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/network/index_part.h"
#include "weft/error.h"
#include "weft/format.h"

namespace weft::loop {

using IndexId = std::uint32_t;    ///< position in Program::indices
using StorageId = std::uint32_t;  ///< position in Program::storages
using AccessId = std::uint32_t;   ///< position in Program::accesses

/// factor * a part of an index with loops.
struct Summand {
  IndexId index = 0;
  std::int64_t factor = 1;
  IndexPart part = {};
  auto operator<=>(const Summand&) const = default;
};

/// An index that others give: J = j / 4, d = j - i + 3 and D = j / 2 - i / 2 + 3 are parts of affine sums of indices with loops, or of
/// parts of these, bound where the last of them is. Levels of inputs are located at them; no loop goes over them. A part of one index has
/// as many coordinates as come of those of that; a sum those below its extent: at other values, which stay within 64 bits, there is no
/// entry.
struct IndexDefinition {
  IndexId index = 0;
  std::vector<Summand> of = {};
  std::int64_t offset = 0;
  IndexPart part = {};
  std::optional<std::uint64_t> extent = {};  ///< of a sum
  /// b = cover(j, 4): the greatest coordinate that is stored at the one level that has the index, of those not above the sum, if that is
  /// less than so many above it; 0: lengths of what lies below, at c = j - b, say how far it goes. Coordinates of such a level are starts
  /// of blocks that do not overlap: b < b' of one fiber are that far apart. Bound by the step of that level.
  std::optional<std::uint64_t> cover = {};
  bool operator==(const IndexDefinition&) const = default;

  /// And no part of one index; "j below 5" is a sum too.
  bool is_sum() const { return extent.has_value(); }
  bool is_given_by(IndexId loop) const;
};

enum class Role : std::uint8_t { input, output, workspace };

/// A tensor as it is stored: kinds and widths level by level. Workspaces live inside their With. The extent of a level
/// is the extent of the index that any access puts there (they agree). Values of an input may stand in another order than its
/// entries: that of position p is element places[p] - 1 of its array, as where weft laid coordinates out anew and left the values
/// where the host changes them.
struct Storage {
  std::string name;
  Role role = Role::input;
  Scalar scalar = Scalar::f64;
  std::vector<Level> levels;
  std::uint8_t place_bits = 0;  ///< width of the places of its values; 0: position p holds value p
  /// Bit n: coordinates in a fiber of level n fall strictly, {dense, compressed<32,32> desc}. What such a level drives goes over its
  /// entries from the last one on, so that its index rises.
  std::uint64_t falling = 0;
  /// Bit n: coordinates in a fiber of level n differ and come in no order, {dense, compressed<32,32> unordered}. Nothing but locates such
  /// a level, and looks at one entry after the other.
  std::uint64_t unordered = 0;
  bool operator==(const Storage&) const = default;

  bool falls(std::size_t level) const { return level < 64 && (falling >> level & 1) != 0; }
  bool is_unordered(std::size_t level) const { return level < 64 && (unordered >> level & 1) != 0; }
};

/// A use of a storage with its own cursor; indices in storage (level) order, an index may repeat (diagonal).
/// Factors and targets of Accumulate name accesses.
struct Access {
  std::string name;  ///< equal to the storage's name where it is used once, else "K.1", "K.2"
  StorageId storage = 0;
  std::vector<IndexId> indices;
  bool operator==(const Access&) const = default;
};

// Facts: the only way a size or a pattern influences code; re-checked when tensors are bound.
struct ExtentFact {  ///< extent(r) = 32
  IndexId index = 0;
  std::uint64_t extent = 0;
  bool operator==(const ExtentFact&) const = default;
};
struct FullFact {  ///< full(T.0): the level holds every coordinate of its extent, in every fiber
  StorageId storage = 0;
  std::uint32_t level = 0;
  bool operator==(const FullFact&) const = default;
};
struct FiberFact {  ///< fiber(T.2) <= 4: entries of each fiber; fiber(T.2) = 4: that many in every one
  StorageId storage = 0;
  std::uint32_t level = 0;
  std::uint64_t maximum = 0;
  bool exact = false;
  bool operator==(const FiberFact&) const = default;
};
/// adjacent(B.2): the coordinates of each fiber of the last level follow each other without a gap, and so do the elements that hold
/// their values: coordinate(p + 1) = coordinate(p) + 1 inside a fiber, and places[p + 1] = places[p] + 1. adjacent(B.2) = 0: and
/// they begin at 0, so that none has to be read.
struct AdjacentFact {
  StorageId storage = 0;
  std::uint32_t level = 0;
  bool from_zero = false;
  bool operator==(const AdjacentFact&) const = default;
};
struct FiniteFact {  ///< finite(B): no NaN, no Inf stored
  StorageId storage = 0;
  bool operator==(const FiniteFact&) const = default;
};
/// like(A, T): the output has the positions of the input, whose pos and crd it shares: those of its levels up to the last that is
/// not dense, which are the first ones of T, with dense levels of its own below. Y[i,j,r] {compressed, compressed, dense} has a row
/// for every fiber i, j of T[i,j,k]. Its steps insert on compressed levels too, where an access of T with the same indices has the
/// same level bound: the position is T's. Its values are zero before the run, so that it has every entry of T.
struct LikeFact {
  StorageId storage = 0;
  StorageId pattern = 0;
  bool operator==(const LikeFact&) const = default;
};
/// pattern(T) = 12345: pos and crd of the input are those with this digest, which code may hold as constants.
struct PatternFact {
  StorageId storage = 0;
  std::uint64_t digest = 0;
  bool operator==(const PatternFact&) const = default;
};
/// presence(s): of the output s of order 0 the kernel tells whether anything was accumulated into it, for programs that
/// read it later: an absent input of order 0 annihilates, and code is only run where all of them are there.
struct PresenceFact {
  StorageId storage = 0;
  bool operator==(const PresenceFact&) const = default;
};
using Fact = std::variant<ExtentFact, FullFact, FiberFact, FiniteFact, LikeFact, PatternFact, PresenceFact, AdjacentFact>;

enum class Use : std::uint8_t { drive, locate, insert, append };

/// How a drive or locate step finds its entry; `standard` is: drive alone = scan, several drives = merge, locate =
/// search (compressed, singleton) or table (dense). `sort`: the entries of an accumulator or hashed level are put in
/// order before they drive, so that what is below may append, merge or keep a finger.
enum class Algorithm : std::uint8_t { standard, merge, gallop, search, table, probe, sort };

/// Binds the NEXT unbound level of the access. In a For the level's index is the loop's, or one bound outside (a late
/// step: locate or insert only); in a Bind only late steps stand.
struct Step {
  Use use = Use::locate;
  AccessId access = 0;
  Algorithm algorithm = Algorithm::standard;
  /// Of a finger (gallop) that starts just above a loop further out than its own and goes on through all inside of it:
  /// `locate x(gallop J)` in `for c:` inside `for J:`, at j = 4*J + c. Nothing: it starts above the loop of the step.
  std::optional<IndexId> home = {};
  bool operator==(const Step&) const = default;
};

/// `count` is `append` after a pass that only counts the entries of every chunk, so that each writes them in place.
enum class Reduction : std::uint8_t { owner, private_copies, append, count };

struct ParallelTarget {
  StorageId storage = 0;
  Reduction reduction = Reduction::owner;
  bool operator==(const ParallelTarget&) const = default;
};

struct Marks {
  std::vector<ParallelTarget> parallel;  ///< empty: not parallel
  bool vector = false;
  bool flat = false;           ///< this loop and those inside it over the rest of a chain visit entry by entry (flat_walk.h)
  std::uint32_t batch = 0;     ///< products of so many iterations are added to their common block together (batch.h); 0: not marked
  std::uint32_t unroll = 0;    ///< so many iterations sum in rows of their own; 0: not marked
  std::uint32_t prefetch = 0;  ///< gathered rows of located dense factors, that many iterations ahead
  bool operator==(const Marks&) const = default;
};

struct Statement;
using Block = std::vector<Statement>;

struct For {
  IndexId index = 0;
  std::vector<Step> steps;  ///< none: the whole range of the index
  Marks marks;
  Block body;
  bool operator==(const For&) const;
};

/// Late steps without a loop; filters only its own body.
struct Bind {
  std::vector<Step> steps;
  Block body;
  bool operator==(const Bind&) const;
};

/// The workspace `storages[workspace]` is live, and empty at entry, inside the body.
struct With {
  StorageId workspace = 0;
  Block body;
  bool operator==(const With&) const;
};

/// target += coefficient * product of the factors. The coefficient is +1, -1, or the word `coefficient` of the frame.
struct Accumulate {
  AccessId target = 0;
  std::vector<AccessId> factors;  ///< none: the coefficient itself
  bool negative = false;
  std::optional<std::uint32_t> coefficient;  ///< "c0", "c1", … in the text
  bool operator==(const Accumulate&) const = default;
};

struct Statement {
  std::variant<For, Bind, With, Accumulate> node;
  bool operator==(const Statement&) const = default;
};

struct Program {
  std::string name;
  std::vector<std::string> indices;
  std::vector<Storage> storages;
  std::vector<Access> accesses;
  std::vector<Fact> facts;
  Block body;
  std::vector<IndexDefinition> definitions = {};  ///< of indices that others give; by index
  bool operator==(const Program&) const = default;
};

inline bool For::operator==(const For&) const = default;
inline bool Bind::operator==(const Bind&) const = default;
inline bool With::operator==(const With&) const = default;

std::string print(const Program& program);
/// Reads what print writes; input errors with line number and a caret. Reserved forms (`drive B | C`, `in window(n)`) are
/// ErrorKind::unsupported with "not yet".
Expected<Program> parse(const std::string& text);

/// Every verifier rule of design.md section 5, each a function of its own; the message starts with the rule's name.
Expected<void> verify(const Program& program);

/// Alpha-renamed: indices i0, i1, … in order of first loop, storages and accesses by order of first step; facts
/// sorted; name "kernel". Equal programs up to names have equal canonical forms. Also returns, for every storage,
/// index and coefficient word of the canonical form, which one of the original it is. The Program must satisfy verify.
struct Canonical {
  Program program;
  std::vector<StorageId> storages;
  std::vector<IndexId> indices;
  std::vector<std::uint32_t> coefficients;
};
Canonical canonical(const Program& program);

/// The canonical program with the names of the one that it was made from: for people, while its code knows numbers alone.
Program with_names(const Canonical& canonical, const Program& program);

/// The input whose pattern an output shares by a fact `like`; nothing where it has one of its own.
std::optional<StorageId> pattern_of(const Program& program, StorageId output);

/// How an index is given by another; nullptr: it has loops of its own.
const IndexDefinition* definition_of(const Program& program, IndexId index);
/// Whether an index is that of a loop, or defined by it and maybe others.
bool is_of_loop(const Program& program, IndexId index, IndexId loop);
/// The start that an index is, c = j - b, is counted from; nullptr: it counts from none.
const IndexDefinition* start_of(const Program& program, const IndexDefinition& definition);
/// How the index of a level is found among its coordinates, where it is a start of blocks; nullptr: it is another.
const IndexDefinition* cover_at(const Program& program, const Access& access, std::size_t level);
/// Whether an index counts from a start within the width of its blocks, and so is below its extent wherever the start is found.
bool is_within_block(const Program& program, const IndexDefinition& definition);
/// The coordinates of an index that is given, by the extent of what it is a part of; of a sum its own.
std::uint64_t given_extent(const IndexDefinition& definition, std::uint64_t of_index);
/// Whether a level is located at a sum of indices, which may be out of range.
bool is_at_sum(const Program& program, const Access& access, std::size_t level);
/// Whether a drive or locate step on a level may find nothing: where coordinates are stored, or at a sum.
bool may_miss(const Program& program, const Access& access, std::size_t level);

/// Whether the access has an index that this one gives.
bool has_given(const Program& program, const Access& access, IndexId by);

/// Whether a fact asks for the presence of the output.
bool tells_presence(const Program& program, StorageId output);

}  // namespace weft::loop
