// Schedule: every decision about how a network is evaluated, and nothing else.
//
//   schedule
//     tree ((T * C) * B)
//     layout T sss:0,1,2 f64
//     layout B dd:0,1 f64
//     layout D ss:1,0 f64 converted
//     intermediate x[i,j,r] ddd f64
//     result A dd:0,1 f64
//     x[i,j,r] += T[i,j,k] * C[k,r]   loops i,j,k,r   vector r
//     A[i,r] += x[i,j,r] * B[j,r]     loops i,j,r   fused 2   vector r
//     parallel i owner
//
// Statements run in the order given; a statement shares its first `fused` loops with its predecessor. A statement with
// fused = 0 starts a new root loop nest. An intermediate is stored over those of its modes that are not bound by the
// loops its producer and its consumer share.
//
// Of several assignments, S(i,j) = …; O(i,h) = S(i,j) * D(j,h); P(i) = S(i,j) * v(j), those that are stored have a line
// "tree" each, in their order; one without is written into the products that read it (engine/network/inlining.h), and
// the only one that is left needs no name. The statements of an assignment stand together, in nests of their own, the
// one that writes its result last. A stored assignment is a line "result", or an "intermediate" of its name where
// it is not asked for; later assignments read it as they read an operand.
//
//   schedule
//     tree S = (M * A * B)
//     tree O = (S * D)
//     layout M ds:0,1 f64
//     …
//     result S dd:0,1 f64
//     result O dd:0,1 f64
//     S[i,j] += M[i,j] * A[i,k] * B[j,k]   loops i,j,k
//     O[i,h] += S[i,j] * D[j,h]   loops i,j,h   vector h
//     parallel i owner
//     parallel i owner
//
// Over the levels of layouts (engine/network/exposure.h) the lines speak of these. Lines "stored" say of which, by what is given or pinned,
// or was "chosen" for its price; operands that are "located" through their layouts, or "copied" into plain ones, are read so.
//
//   schedule
//     stored A (i,j) -> (i/3:d, j/3:s, i%3:d, j%3:d) f64 chosen
//     tree (A * x)
//     layout A dsdd:0,1,2,3 f64
//     …
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/network/network.h"
#include "weft/format.h"

namespace weft {

enum class TensorRole : std::uint8_t { operand, intermediate, result };

/// Modes of an operand that are located through its layout, and never drive: bit m mode m (TensorDeclaration::parts, sums). `others`, by
/// mode: those modes whose indices a sum has beside its own; empty: there are no sums. `sums`: modes that are sums, which leave out what is
/// out of range, dense ones too.
struct LocatedModes {
  std::uint64_t modes = 0;
  std::uint64_t sums = 0;
  std::vector<std::uint64_t> others = {};
  bool operator==(const LocatedModes&) const = default;

  bool has(std::size_t mode) const { return (modes >> mode & 1) != 0; }
  bool is_sum(std::size_t mode) const { return (sums >> mode & 1) != 0; }
  std::uint64_t beside(std::size_t mode) const { return mode < others.size() ? others[mode] : 0; }
};

/// A tensor that products read or write.
struct NamedTensor {
  std::string name;
  TensorRole role = TensorRole::operand;
  TensorId tensor = 0;         ///< of the network; unused for intermediates
  std::vector<IndexId> modes = {};  ///< of an intermediate: its indices, in mode order
  bool converted = false;      ///< an operand whose given format differs: converted before the run
  /// A result that is converted after the run: the layout it is handed over in. Of one like an operand that is read through a copy with the
  /// same entries in the same order (keeps_order): the operand's own positions, with the values that were computed.
  std::optional<Format> delivered = {};
  /// A result whose positions are those of an operand (position among the tensors), or of its leading levels with dense ones below:
  /// pos and crd of the levels up to the last that is not dense are shared.
  std::optional<std::uint32_t> like = {};
  LocatedModes located = {};  ///< of an operand
  bool operator==(const NamedTensor&) const = default;
};

/// A stored tensor of the schedule. An operand used with two layouts appears twice.
struct ScheduledTensor : NamedTensor {
  Format format = {};   ///< layout; for an intermediate over all its modes, in storage order; of a result the one it is computed in
  bool opened = false;  ///< converted by making leading levels dense, all below them is shared
  bool operator==(const ScheduledTensor&) const = default;
};

struct ScheduledAccess {
  std::uint32_t tensor = 0;      ///< position in Schedule::tensors
  std::vector<IndexId> indices;  ///< by MODE of the tensor
  bool operator==(const ScheduledAccess&) const = default;
};

/// One product, x[i,j,r] += T[i,j,k] * C[k,r], before anything is decided about its loops.
struct Contraction {
  ScheduledAccess target;
  std::vector<ScheduledAccess> factors;
  double coefficient = 1;
  bool operator==(const Contraction&) const = default;
};

/// How a loop with several sparse accesses meets them: which drive (several: merge), the others are located by search
/// or gallop. A loop without an entry drives by merging every sparse access whose next level it binds. Accesses of all
/// statements sharing the loop take part; the entry stands at the first of them.
struct Intersection {
  IndexId index = 0;
  struct Part {
    std::uint32_t statement = 0;
    std::uint32_t factor = 0;
    bool drive = true;
    bool gallop = false;  ///< of a located part: a finger kept across iterations instead of a search
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  bool operator==(const Intersection&) const = default;
};

struct ScheduledStatement : Contraction {
  std::vector<IndexId> loops = {};    ///< every index of the statement once, outermost first
  std::uint32_t fused = 0;            ///< shared with the predecessor; 0 for the first
  std::optional<IndexId> vector = {};  ///< the innermost loop, if it becomes vector code
  std::vector<Intersection> intersections = {};
  /// Where a target with compressed levels cannot be appended to in the order of the loops: its trailing modes, from the
  /// first that the leading loops do not bind in the order of its levels, are summed in a workspace inside those loops,
  /// which is drained in order: an accumulator, hash table or bitmap (one mode). An accumulator or hash table has one key over all of them
  /// but trailing dense ones.
  std::optional<LevelKind> drained = {};
  bool operator==(const ScheduledStatement&) const = default;
};

/// How the root loop of a nest (a statement with fused = 0) is run by several threads. `owner`: each chunk writes its own
/// rows of dense targets and appends to targets with compressed levels. `counted`: as owner, but a pass that computes no
/// values counts first what every chunk will append, so that all is written where it stays.
enum class RootReduction : std::uint8_t { serial, owner, private_copies, counted };

struct Schedule {
  // Compiled once, in statements.cpp, and not in every file that copies one: it is a fifth of the time to build those.
  Schedule();
  Schedule(const Schedule&);
  Schedule(Schedule&&) noexcept;
  Schedule& operator=(const Schedule&);
  Schedule& operator=(Schedule&&) noexcept;
  ~Schedule();

  ContractionTree tree;                        ///< of the last, usually the only, assignment
  std::vector<ContractionTree> earlier_trees;  ///< of the stored assignments before it, in order
  std::vector<ScheduledTensor> tensors;
  std::vector<ScheduledStatement> statements;
  std::vector<RootReduction> roots;  ///< one per statement with fused = 0, in order
  bool operator==(const Schedule&) const = default;
};

/// What the last statement writes.
inline const ScheduledTensor& result_of(const Schedule& schedule) { return schedule.tensors[schedule.statements.back().target.tensor]; }

/// The network that the statements of a schedule speak of: without the assignments that it does not store.
Network scheduled_network(const Schedule& schedule, const Network& network);

/// The assignment of the network (position in Network::assignments) whose stored result this is, or nothing.
std::optional<std::size_t> stored_assignment(const ScheduledTensor& tensor, const Network& network);

std::string print(const Schedule& schedule, const Network& network);
/// "((T * C) * B)", or "S = (M * A * B); O = (S * D)" where several assignments are stored.
std::string print_trees(const Schedule& schedule, const Network& network);
/// Reads what print writes, besides lines "stored"; input errors with line number. `lines`: set to those that were read without one.
Expected<Schedule> parse_schedule(const std::string& text, const Network& network, std::size_t* lines = nullptr);

/// How an operand in a layout is read (engine/network/exposure.h): in the levels of the layout, looked up through it, or as a plain copy.
enum class ReadBy : std::uint8_t { levels, location, copy };

/// What a line "stored" says.
struct StatedFormat {
  Format format;
  bool chosen = false;  ///< for its price, where places without an entry change no result
  ReadBy read_by = ReadBy::levels;
  bool operator==(const StatedFormat&) const = default;
};

/// The text of print() with lines "stored", of tensors by name.
std::string with_stated_formats(std::string text, const std::map<std::string, StatedFormat>& formats);
/// Input errors with line number.
Expected<std::map<std::string, StatedFormat>> parse_stated_formats(const std::string& text);

}  // namespace weft
