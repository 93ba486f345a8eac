// The joint choice of layouts: one for each operand, as given or proposed, and a reading of these are one candidate.
//
//   y(i) = A(i,j) * B(j,k) * x(k), A as given or in blocks of 3 by 3, B as given, in blocks of 3 by 3 or in strips of diagonals: 2 * 3
//   candidates; a pair of blocks may pay where neither does alone, and blocks that are best for A alone may not suit those of B
//
// A candidate costs its plan, the copies that its levels have to meet, and a call's part of the conversions. None is planned whose bound,
// of its loops (plan/plan.h) and with all of these, is not below what the cheapest one takes. A proof is one of each: no
// schedule over any candidate takes less.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/proposed_layouts.h"
#include "frontend/readings.h"

namespace weft {

using Layouts = std::map<std::string, Format>;

/// A way to read layouts, and nanoseconds that all of its plans take at least, copies included.
struct BoundedReading {
  Reading reading;
  std::string words;  ///< "located": where another way is the usual one
  double least_ns = 0;
};

/// Questions about a candidate. `layouts` are of operands that are laid out otherwise than given.
class CandidatePlanner {
 public:
  virtual ~CandidatePlanner() = default;
  /// None where memory has no room for the layouts.
  virtual Expected<std::vector<BoundedReading>> readings(const Layouts& layouts) = 0;
  /// Nothing where memory has no room. What takes as long as `below_ns` is of no use: where all does,
  /// PlannedReading::ns() is that or more.
  virtual Expected<std::optional<PlannedReading>> planned(const Layouts& layouts, const Reading& reading, double below_ns) = 0;
  /// The same with a proof (PlannedReading::proven), which may take a part of what one may take.
  virtual Expected<std::optional<PlannedReading>> proven(const Layouts& layouts, const Reading& reading, double below_ns, double share) = 0;
};

/// What was chosen.
struct JointChoice {
  Layouts layouts = {};  ///< of operands that are not as given
  PlannedReading reading = {};
  bool as_given = true;     ///< and as they are read there
  std::string reason = {};  ///< in words, of layouts that were proposed; empty: there were none
  std::string claim = {};   ///< what a proof says of the candidates beside the chosen one; empty: there are none
  bool settled = true;      ///< nothing over any of these takes less; false: that is open
};

class JointLayouts {
 public:
  /// `given`: as operands are given, read in the best way. `proves`: a proof follows, so that the least price decides, by however little.
  /// Candidates that lay out several operands are planned, the most promising first, as far as that may save what it takes; `most_planned`
  /// at most in all.
  JointLayouts(CandidatePlanner& planner, std::vector<ProposedLayouts> proposed, PlannedReading given, double calls, bool proves,
               std::size_t most_planned = 64);

  /// The cheapest candidate that was planned. Between prices that are nearer to each other than they may be off (ProposedLayout::worth)
  /// fewer operands are laid out, and in what was preferred longest.
  Expected<void> choose();
  /// Plans the chosen candidate with a proof, and asks of every other one, planned before or not, whether it has anything cheaper, which is
  /// chosen then.
  Expected<void> prove();

  JointChoice chosen() &&;

 private:
  enum class State : std::uint8_t {
    open,      // not planned yet
    bounded,   // its bound says that it takes longer
    planned,
    no_room,
    unfit,     // no way to read the operands, or places that would be entries of a result
    left_out,  // planning it may take longer than it could save
  };
  struct Candidate {
    Layouts layouts = {};
    Reading reading = {};
    std::string words = {};
    double conversion_ns = 0;
    double worth = 1;
    double least_ns = 0;  // all included
    double ns = 0;        // likewise, once it is planned
    bool at_least = false;  // that is all that is known of it
    State state = State::open;
    std::optional<PlannedReading> planned = {};
    bool asked = false;     // for a proof
    bool settled = false;   // by it: nothing over this one takes less than the chosen one
  };

  double chosen_ns() const { return candidates_[chosen_].ns; }
  /// By operand, 0: as given, n: the n-th that is proposed.
  using Choice = std::vector<std::size_t>;

  void enumerate();
  Expected<void> add_singles();
  /// Of a choice all readings.
  Expected<void> add(const Choice& layouts);
  /// As if each operand made the given plan faster as it does alone.
  double promised_ns(const Choice& choice) const;
  /// Candidates from `first` on, by their bounds, and `left` of them.
  Expected<void> plan_from(std::size_t first, std::size_t& left);
  Expected<void> plan(Candidate& candidate, double below_ns);
  std::string laid_out(const Candidate& candidate) const;
  std::string reason() const;
  Expected<void> ask(std::size_t number, double share);
  static bool is_possible(const Candidate& candidate);
  /// By its bound.
  bool is_ruled_out(const Candidate& candidate) const;
  /// About which a proof says nothing.
  std::size_t open_candidates() const;
  std::string claim() const;

  CandidatePlanner& planner_;
  std::vector<ProposedLayouts> proposed_;
  double given_ns_;
  double planned_ns_;  // the least of all that was planned
  double calls_;
  bool proves_;
  std::size_t most_planned_;
  std::vector<Candidate> candidates_;  // the first: all as given
  std::size_t chosen_ = 0;
  std::vector<Choice> several_;  // choices that lay out several operands, those that promise most first, and are no candidates yet
  std::size_t left_out_ = 0;     // others, which are not even enumerated
  bool proved_ = false;
};

}  // namespace weft
