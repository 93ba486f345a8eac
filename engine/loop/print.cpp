#include "engine/loop/print.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/overloaded.h"
#include "engine/loop/program.h"
#include "engine/loop/text_order.h"
#include "engine/loop/walk.h"
#include "engine/loop/words.h"
#include "engine/network/mode_sum.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

/// A line whose tail ("access …", "@…") is aligned with the tails of its neighbours.
struct TailedLine {
  std::string head;
  std::string tail;
};

std::string aligned(const std::vector<TailedLine>& lines, std::size_t gap) {
  std::size_t width = 0;
  for (const TailedLine& line : lines)
    if (!line.tail.empty()) width = std::max(width, line.head.size());
  std::string text;
  for (const TailedLine& line : lines) {
    text += line.head;
    if (!line.tail.empty()) text.append(width - line.head.size() + gap, ' ') += line.tail;
    text += '\n';
  }
  return text;
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program), order_(text_order(program)) {}

  std::string text() {
    std::string text = fmt::format("program {}\n", program_.name);
    if (!program_.indices.empty()) text += fmt::format("  index  {}\n", indices());
    text += head();
    for (const Fact& each : program_.facts) text += fmt::format("  fact   {}\n", fact(each));
    block(program_.body, 2);
    return text + aligned(lines_, 1);
  }

  std::string accumulate(const Accumulate& accumulate) const {
    std::vector<std::string> parts;
    if (accumulate.coefficient) parts.push_back(coefficient(*accumulate.coefficient));
    for (AccessId factor : accumulate.factors) parts.push_back(access_name(factor));
    if (parts.empty()) parts.push_back("1");
    return fmt::format("{} {} {}", access_name(accumulate.target),
                       accumulate.negative ? "-=" : "+=", fmt::join(parts, " * "));
  }

  std::string step(const Step& step) const {
    const std::string text = fmt::format("{} {}", word(use_words, step.use), access_name(step.access));
    if (step.algorithm == Algorithm::standard) return text;
    const std::string home = step.home ? " " + index_name(*step.home) : "";
    return fmt::format("{}({}{})", text, word(algorithm_words, step.algorithm), home);
  }

  std::string access(const Access& access) const { return access.name + indices_of(access); }

 private:
  // Ids out of range are printed too: a message about such a program shows its text.
  std::string index_name(IndexId id) const {
    return id < program_.indices.size() ? program_.indices[id] : fmt::format("?{}", id);
  }
  std::string storage_name(StorageId id) const {
    return id < program_.storages.size() ? program_.storages[id].name : fmt::format("?{}", id);
  }
  std::string access_name(AccessId id) const {
    return id < program_.accesses.size() ? program_.accesses[id].name : fmt::format("?{}", id);
  }

  /// "j / 4 % 2".
  static std::string part_text(std::string name, const IndexPart& part) {
    if (part.divisor != 1) name += fmt::format(" / {}", part.divisor);
    if (part.modulus != 0) name += fmt::format(" % {}", part.modulus);
    return name;
  }

  /// "i, j, J = j / 4, d = j - i + 3 below 7".
  std::string indices() const {
    std::vector<std::string> listed = program_.indices;
    for (const IndexDefinition& each : program_.definitions) {
      if (each.index >= listed.size()) continue;
      std::vector<std::pair<std::string, std::int64_t>> summands;
      for (const Summand& summand : each.of) summands.emplace_back(part_text(index_name(summand.index), summand.part), summand.factor);
      const bool divided = each.part.divisor != 1 || (!each.is_sum() && each.part.modulus == 0);
      const bool grouped = each.is_sum() && !each.part.is_whole() && !each.cover;
      const std::string sum = sum_text(summands, each.offset, true);
      listed[each.index] += " = " + (each.cover ? cover_text(sum, *each.cover, true) : grouped ? "(" + sum + ")" : sum);
      if (divided) listed[each.index] += fmt::format(" / {}", each.part.divisor);
      if (each.part.modulus != 0) listed[each.index] += fmt::format(" % {}", each.part.modulus);
      if (each.is_sum()) listed[each.index] += fmt::format(" below {}", *each.extent);
    }
    return fmt::format("{}", fmt::join(listed, ", "));
  }

  std::string head() const {
    const std::vector<StorageId> live = workspaces_in_order(program_.body);
    std::vector<TailedLine> lines;
    for (StorageId id : order_.storages) {
      if (std::ranges::find(live, id) != live.end()) continue;
      const Storage& storage = program_.storages[id];
      lines.push_back({fmt::format("  {:6} {} : {}", word(role_words, storage.role), storage.name, type(storage)),
                       accesses_of(id)});
    }
    std::string text = aligned(lines, 3);
    if (!order_.natural()) {
      std::vector<std::string> storages, accesses;
      for (const Storage& storage : program_.storages) storages.push_back(storage.name);
      for (const Access& access : program_.accesses) accesses.push_back(access.name);
      text += fmt::format("  order  {} | {}\n", fmt::join(storages, ", "), fmt::join(accesses, ", "));
    }
    return text;
  }

  static std::string type(const Storage& storage) {
    std::vector<std::string> levels;
    for (std::size_t n = 0; n < storage.levels.size();) {
      const std::size_t modes = key_modes(storage.levels, n);
      levels.push_back(level(storage.levels[n], modes) + (storage.falls(n) ? " desc" : storage.is_unordered(n) ? " unordered" : ""));
      n += modes;
    }
    const std::string places = storage.place_bits > 0 ? fmt::format(" places<{}>", storage.place_bits) : "";
    return fmt::format("{} {{{}}}{}", word(scalar_words, storage.scalar), fmt::join(levels, ", "), places);
  }

  static std::string level(const Level& level, std::size_t modes) {
    const bool has_pos = is_packed(level.kind);
    const bool has_crd = has_coordinates(level.kind);
    std::vector<std::string> parts;
    if (has_pos || level.pos_bits != 32 || (!has_crd && level.crd_bits != 32))
      parts.push_back(std::to_string(level.pos_bits));
    if (has_crd || !parts.empty()) parts.push_back(std::to_string(level.crd_bits));
    if (level.strided) parts.push_back("strided");
    std::string kind(word(level_words, level.kind));
    if (modes > 1) kind += fmt::format("({})", modes);
    return parts.empty() ? kind : fmt::format("{}<{}>", kind, fmt::join(parts, ","));
  }

  std::string indices_of(const Access& access) const {
    std::vector<std::string> names;
    for (IndexId id : access.indices) names.push_back(index_name(id));
    return fmt::format("[{}]", fmt::join(names, ","));
  }

  std::string accesses_of(StorageId id) const {
    std::vector<std::string> parts;
    for (AccessId each : order_.accesses)
      if (program_.accesses[each].storage == id)
        parts.push_back(fmt::format("access {}", access(program_.accesses[each])));
    return fmt::format("{}", fmt::join(parts, " "));
  }

  std::string fact(const Fact& fact) const {
    return std::visit(
        Overloaded{[&](const ExtentFact& f) { return fmt::format("extent({}) = {}", index_name(f.index), f.extent); },
                   [&](const FullFact& f) { return fmt::format("full({}.{})", storage_name(f.storage), f.level); },
                   [&](const FiberFact& f) {
                     return fmt::format("fiber({}.{}) {} {}", storage_name(f.storage), f.level, f.exact ? "=" : "<=", f.maximum);
                   },
                   [&](const AdjacentFact& f) {
                     return fmt::format("adjacent({}.{}){}", storage_name(f.storage), f.level, f.from_zero ? " = 0" : "");
                   },
                   [&](const FiniteFact& f) { return fmt::format("finite({})", storage_name(f.storage)); },
                   [&](const PatternFact& f) { return fmt::format("pattern({}) = {}", storage_name(f.storage), f.digest); },
                   [&](const PresenceFact& f) { return fmt::format("presence({})", storage_name(f.storage)); },
                   [&](const LikeFact& f) {
                     return fmt::format("like({}, {})", storage_name(f.storage), storage_name(f.pattern));
                   }},
        fact);
  }

  std::string steps(const std::vector<Step>& steps) const {
    std::vector<std::string> parts;
    for (const Step& each : steps) parts.push_back(step(each));
    return parts.empty() ? "" : fmt::format(" {}", fmt::join(parts, ", "));
  }

  std::string marks(const Marks& marks) const {
    std::vector<std::string> parts;
    if (!marks.parallel.empty()) {
      std::vector<std::string> targets;
      for (const ParallelTarget& target : marks.parallel)
        targets.push_back(fmt::format("{}: {}", storage_name(target.storage), word(reduction_words, target.reduction)));
      parts.push_back(fmt::format("@parallel({})", fmt::join(targets, ", ")));
    }
    if (marks.vector) parts.push_back("@vector");
    if (marks.flat) parts.push_back("@flat");
    if (marks.batch != 0) parts.push_back(fmt::format("@batch({})", marks.batch));
    if (marks.unroll != 0) parts.push_back(fmt::format("@unroll({})", marks.unroll));
    if (marks.prefetch != 0) parts.push_back(fmt::format("@prefetch({})", marks.prefetch));
    return fmt::format("{}", fmt::join(parts, " "));
  }

  /// "x[r] : f64 {dense}" where the one access has the storage's name, else with the accesses behind.
  std::string workspace(StorageId id) const {
    if (id >= program_.storages.size()) return storage_name(id);
    const Storage& storage = program_.storages[id];
    std::vector<const Access*> accesses;
    for (const Access& access : program_.accesses)
      if (access.storage == id) accesses.push_back(&access);
    if (accesses.size() == 1 && accesses[0]->name == storage.name)
      return fmt::format("{}{} : {}", storage.name, indices_of(*accesses[0]), type(storage));
    const std::string tail = accesses_of(id);
    return fmt::format("{} : {}{}{}", storage.name, type(storage), tail.empty() ? "" : "   ", tail);
  }

  std::string coefficient(std::uint32_t word_number) const {
    const std::string name = fmt::format("c{}", word_number);
    const bool taken =
        std::ranges::any_of(program_.accesses, [&](const Access& access) { return access.name == name; });
    return taken ? fmt::format("coefficient({})", word_number) : name;
  }

  void block(const Block& block, std::size_t indent) {
    const std::string space(indent, ' ');
    for (const Statement& statement : block)
      std::visit(
          Overloaded{[&](const For& loop) {
                       lines_.push_back({fmt::format("{}for {}:{}", space, index_name(loop.index), steps(loop.steps)),
                                         marks(loop.marks)});
                       this->block(loop.body, indent + 2);
                     },
                     [&](const Bind& bind) {
                       lines_.push_back({fmt::format("{}bind{}:", space, steps(bind.steps)), ""});
                       this->block(bind.body, indent + 2);
                     },
                     [&](const With& with) {
                       lines_.push_back({fmt::format("{}with {}", space, workspace(with.workspace)), ""});
                       this->block(with.body, indent + 2);
                     },
                     [&](const Accumulate& each) {
                       lines_.push_back({space + accumulate(each), ""});
                     }},
          statement.node);
  }

  const Program& program_;
  TextOrder order_;
  std::vector<TailedLine> lines_;
};

}  // namespace

std::string print(const Program& program) { return Printer(program).text(); }

std::string print(const Program& program, const Accumulate& accumulate) {
  return Printer(program).accumulate(accumulate);
}

std::string print(const Program& program, const Step& step) { return Printer(program).step(step); }

std::string print(const Program& program, const Access& access) { return Printer(program).access(access); }

}  // namespace weft::loop
