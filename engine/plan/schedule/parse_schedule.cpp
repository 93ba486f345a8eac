#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "engine/network/inlining.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"
#include "engine/text/error_at.h"
#include "engine/text/names.h"
#include "engine/text/picture.h"
#include "engine/text/scanner.h"
#include "engine/text/trimmed.h"

namespace weft {
namespace {

// One line, read from left to right. Whatever takes something takes the blanks behind it too. Refers to the text.
class ScheduleLine {
 public:
  // Its number, and where it begins in the whole text, are for errors.
  ScheduleLine(std::string_view text, std::size_t number, std::size_t begin) : scanner_(text), number_(number), begin_(begin) {
    scanner_.skip_blanks();
  }

  bool at_end() const { return scanner_.at_end(); }
  bool take(std::string_view token) { return skipped(scanner_.take(token)); }
  // A keyword ends where no name continues: "loops" is not the beginning of "loopsy".
  bool take_word(std::string_view word) { return skipped(scanner_.take_word(word, Dots::any)); }
  // A name, with the number of its layout where it has one ("T.2"); empty if there is none.
  std::string take_name() { return skipped(std::string(scanner_.take_name(Dots::any))); }
  std::string take_until_blank() { return skipped(std::string(scanner_.take_until_blank())); }
  std::string take_rest() {
    std::string rest(without_end(scanner_.rest(), scanner_.blanks()));
    scanner_.skip(scanner_.rest().size());
    return rest;
  }
  std::optional<std::uint32_t> take_number() { return skipped(scanner_.take_number<std::uint32_t>()); }
  std::optional<double> take_real() {
    // "inf" and "nan", which are numbers too, would be names here.
    const char first = scanner_.next();
    if (!is_digit(first) && first != '-' && first != '.') return std::nullopt;
    return skipped(scanner_.take_number<double>());
  }

  // The message with the line's number and a picture of where reading stands.
  std::unexpected<Error> wrong(const std::string& message) const {
    auto failure = error_at(ErrorKind::input, scanner_.text(), fmt::format("schedule, line {}: {}", number_, message), {scanner_.here()});
    failure.error().position = place();
    return failure;
  }
  // So many bytes behind the place where reading stands.
  TextPosition place(std::uint64_t behind = 0) const {
    const std::uint64_t offset = scanner_.position() + behind;
    return {begin_ + offset, number_, offset + 1};
  }

 private:
  template <class Taken>
  Taken skipped(Taken taken) {
    scanner_.skip_blanks();
    return taken;
  }

  Scanner scanner_;
  std::size_t number_;
  std::size_t begin_;
};

// Reads every line of a text, until one is wrong.
template <class Read>
Expected<void> for_each_line(std::string_view text, const Read& read) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ScheduleLine line(text.substr(begin, end - begin), ++number, begin);
    if (Expected<void> done = read(line); !done) return done;
    begin = end + 1;
  }
  return {};
}

// Puts what was read where it belongs.
template <class Value, class Read>
Expected<void> put(Value& place, Expected<Read> read) {
  if (!read) return std::unexpected(read.error());
  place = std::move(*read);
  return {};
}

// The defect of a word of the line; memory that ran out is no defect of it.
std::unexpected<Error> wrong(const ScheduleLine& line, const Error& error) {
  return error.kind == ErrorKind::resource ? std::unexpected(error) : line.wrong(error.message);
}

class ScheduleParser {
 public:
  explicit ScheduleParser(const Network& network) : network_(network) {}

  Expected<Schedule> parse(std::string_view text, std::size_t& lines) {
    if (auto done = find_stored(text); !done) return std::unexpected(done.error());
    const auto read = [&](ScheduleLine& line) {
      auto done = parse_line(line);
      if (done) ++lines;
      return done;
    };
    if (auto done = for_each_line(text, read); !done) return std::unexpected(done.error());
    if (!opened_) return input_error("the schedule is empty: its first line must be 'schedule'");
    if (trees_ == 0) return input_error("the schedule has no line 'tree'");
    if (trees_ < network_.assignments.size()) {
      const Assignment& missing = network_.assignments[trees_];
      return input_error(fmt::format("the schedule has no line 'tree {} ='", name_of(missing)));
    }
    if (schedule_.statements.empty()) return input_error("the schedule has no statement");
    return schedule_;
  }

 private:
  const std::string& name_of(const Assignment& assignment) const {
    return network_.tensors[assignment.result.tensor].name;
  }
  bool is_assigned(const std::string& name) const {
    return std::ranges::any_of(network_.assignments, [&](const Assignment& assignment) { return name_of(assignment) == name; });
  }

  // Of several assignments, those without a line "tree" of their own are written into the products that read them: the
  // other lines speak of the network that is left.
  Expected<void> find_stored(std::string_view text) {
    if (network_.assignments.size() < 2) return {};
    std::set<std::string> stored{name_of(network_.assignments.back())};
    const auto note_tree = [&](ScheduleLine& line) -> Expected<void> {
      if (!line.take_word("tree")) return {};
      const ScheduleLine before = line;
      const std::string name = line.take_name();
      if (!line.take("=")) return {};
      if (!is_assigned(name)) return before.wrong(fmt::format("'{}' is not assigned in the expression", name));
      stored.insert(name);
      return {};
    };
    if (auto done = for_each_line(text, note_tree); !done) return done;
    std::vector<TensorId> dropped;
    for (const Assignment& assignment : network_.assignments) {
      if (!stored.contains(name_of(assignment))) dropped.push_back(assignment.result.tensor);
    }
    network_ = inlined(network_, dropped);
    return {};
  }

  Expected<void> parse_line(ScheduleLine& line) {
    if (line.at_end() || line.take("#")) return {};
    if (!opened_) {
      opened_ = line.take_word("schedule") && line.at_end();
      return opened_ ? Expected<void>() : line.wrong("the first line must be 'schedule'");
    }
    // A statement may write a tensor named like a keyword: only the brackets after the name tell them apart.
    ScheduleLine ahead = line;
    ahead.take_name();
    if (ahead.take("[")) return parse_statement(line);
    if (line.take_word("stored")) return {};  // parse_stated_formats()
    if (line.take_word("tree")) return parse_tree_line(line);
    if (line.take_word("layout")) return parse_layout(line, TensorRole::operand);
    if (line.take_word("result")) return parse_layout(line, TensorRole::result);
    if (line.take_word("intermediate")) return parse_intermediate(line);
    if (line.take_word("meet")) return parse_intersection(line);
    if (line.take_word("parallel")) return parse_parallel(line);
    return line.wrong("expected stored, tree, layout, intermediate, result, meet, parallel or a statement");
  }

  Expected<void> parse_tree_line(ScheduleLine& line) {
    if (trees_ == network_.assignments.size()) {
      return line.wrong(trees_ == 1 ? "a second line 'tree'" : "more lines 'tree' than assignments");
    }
    const ScheduleLine before = line;
    const std::string name = line.take_name();
    if (!line.take("=")) {
      line = before;
      if (network_.assignments.size() > 1) return line.wrong("of several trees each begins with 'NAME ='");
    } else if (name != name_of(network_.assignments[trees_])) {
      return before.wrong(fmt::format("the next tree is that of {}, as the expression assigns it", name_of(network_.assignments[trees_])));
    }
    const ScheduleLine begin = line;
    auto tree = parse_tree(line.take_rest(), factor_names(network_, trees_));
    if (!tree) {
      auto failure = line.wrong(tree.error().message);
      if (const auto& inside = tree.error().position) failure.error().position = begin.place(inside->offset);
      return failure;
    }
    if (++trees_ == network_.assignments.size()) {
      schedule_.tree = std::move(*tree);
    } else {
      schedule_.earlier_trees.push_back(std::move(*tree));
    }
    return {};
  }

  Expected<void> parse_layout(ScheduleLine& line, TensorRole role) {
    const std::string text = line.take_name();
    const std::string name = text.substr(0, text.find('.'));
    const auto declared = std::ranges::find(network_.tensors, name, &TensorDeclaration::name);
    if (declared == network_.tensors.end()) return line.wrong(fmt::format("no tensor is named '{}'", name));
    if (declared->is_result != (role == TensorRole::result)) {
      return line.wrong(fmt::format("{} is {} of the expression", name,
                                    declared->is_result ? "a result, not an operand" : "an operand, not a result"));
    }
    ScheduledTensor tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.tensor = static_cast<TensorId>(declared - network_.tensors.begin());
    if (auto done = put(tensor.format, parse_format_words(line, declared->extents.size())); !done) return done;
    tensor.located = located_modes(*declared);
    tensor.opened = role == TensorRole::operand && line.take_word("opened");
    tensor.converted = tensor.opened || (role == TensorRole::operand && line.take_word("converted"));
    if (role == TensorRole::result && line.take_word("delivered")) {
      if (auto done = put(tensor.delivered, parse_format_words(line, tensor.format.order())); !done) return done;
    }
    return declare(line, text, std::move(tensor), role == TensorRole::result);
  }

  // A tensor whose line ends here, or with "like T".
  Expected<void> declare(ScheduleLine& line, const std::string& label, ScheduledTensor tensor, bool may_be_like) {
    if (may_be_like && line.take_word("like")) {
      const ScheduleLine before = line;
      const std::string name = line.take_name();
      const auto found = std::ranges::find(labels_, name);
      if (found == labels_.end()) return before.wrong(fmt::format("'{}' has no line layout above", name));
      tensor.like = static_cast<std::uint32_t>(found - labels_.begin());
    }
    if (!line.at_end()) return line.wrong("unexpected text after the layout");
    labels_.push_back(label);
    schedule_.tensors.push_back(std::move(tensor));
    return {};
  }

  Expected<void> parse_intermediate(ScheduleLine& line) {
    ScheduledTensor tensor;
    tensor.role = TensorRole::intermediate;
    tensor.name = line.take_name();
    if (!is_name(tensor.name)) return line.wrong("the name of the intermediate is missing");
    // One named like an assignment is its result, which is not asked for.
    const auto clash = [&](const auto& other) { return other.name == tensor.name; };
    const auto declared = [&](const TensorDeclaration& other) { return !other.is_result && other.name == tensor.name; };
    if (std::any_of(network_.tensors.begin(), network_.tensors.end(), declared) ||
        std::any_of(schedule_.tensors.begin(), schedule_.tensors.end(), clash)) {
      return line.wrong(fmt::format("{} is already the name of a tensor", tensor.name));
    }
    if (auto done = put(tensor.modes, parse_bracketed(line)); !done) return done;
    if (auto done = put(tensor.format, parse_format_words(line, tensor.modes.size(), true)); !done) return done;
    const std::string name = tensor.name;
    return declare(line, name, std::move(tensor), is_assigned(name));
  }

  // "sss:0,1,2 f64 [bits 32/64,…] [strided [rows]]"; order 0 is the scalar alone. Only workspaces have accumulators.
  Expected<Format> parse_format_words(ScheduleLine& line, std::size_t order, bool workspace = false) {
    std::string text = order == 0 ? std::string() : line.take_until_blank();
    const std::string kinds = text.substr(0, text.find(':'));
    if (workspace) std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(kinds.size()), 'a', 'h');
    const std::string scalar_text = line.take_until_blank();
    const auto scalar = parse_scalar(scalar_text);
    if (!scalar) return wrong(line, scalar.error());
    Format format;
    if (order > 0) {
      auto parsed = parse_format(text);
      if (!parsed) return wrong(line, parsed.error());
      format = std::move(*parsed);
      for (std::size_t level = 0; workspace && level < format.order(); ++level) {
        if (kinds[level] == 'a') format.levels[level].kind = LevelKind::accumulator;
      }
    }
    format.scalar = *scalar;
    if (format.order() != order) {
      // As schedules over the levels of blocks are written.
      const std::string_view more =
          format.order() > order ? "; one over the levels of a layout is for an operand that is in that layout" : "";
      return line.wrong(fmt::format("the layout {} has {} levels for {} modes{}", text, format.order(), order, more));
    }
    if (line.take_word("bits")) {
      for (std::size_t level = 0; level < order; ++level) {
        if (level > 0 && !line.take(",")) return line.wrong("expected the widths of every level, such as 32/64,32/32");
        const auto pos_bits = line.take_number();
        const bool divided = line.take("/");
        const auto crd_bits = divided ? line.take_number() : std::nullopt;
        const auto legal = [](std::optional<std::uint32_t> bits) { return bits && (*bits == 32 || *bits == 64); };
        if (!legal(pos_bits) || !legal(crd_bits)) return line.wrong("a width must be 32 or 64 bits, such as 32/64");
        format.levels[level].pos_bits = static_cast<std::uint8_t>(*pos_bits);
        format.levels[level].crd_bits = static_cast<std::uint8_t>(*crd_bits);
      }
    }
    if (line.take_word("strided")) {
      for (Level& level : format.levels) level.strided = true;
      if (line.take_word("rows") && !format.levels.empty()) format.levels.back().strided = false;
    }
    return format;
  }

  Expected<IndexId> parse_index(ScheduleLine& line) {
    const ScheduleLine before = line;
    const std::string name = line.take_name();
    for (IndexId index = 0; index < network_.indices.size(); ++index) {
      if (network_.indices[index].name == name) return index;
    }
    return before.wrong(name.empty() ? "the name of an index is missing" : fmt::format("no index is named '{}'", name));
  }

  Expected<std::vector<IndexId>> parse_index_list(ScheduleLine& line) {
    std::vector<IndexId> indices;
    do {
      if (auto done = put(indices.emplace_back(), parse_index(line)); !done) return std::unexpected(done.error());
    } while (line.take(","));
    return indices;
  }

  Expected<std::vector<IndexId>> parse_bracketed(ScheduleLine& line) {
    if (!line.take("[")) return line.wrong("expected '['");
    if (line.take("]")) return std::vector<IndexId>();
    auto indices = parse_index_list(line);
    if (indices && !line.take("]")) return line.wrong("expected ']'");
    return indices;
  }

  Expected<ScheduledAccess> parse_access(ScheduleLine& line) {
    const ScheduleLine before = line;
    const std::string name = line.take_name();
    const auto found = std::find(labels_.begin(), labels_.end(), name);
    if (found == labels_.end()) {
      return before.wrong(fmt::format("'{}' has no line layout, intermediate or result above", name));
    }
    ScheduledAccess access;
    access.tensor = static_cast<std::uint32_t>(found - labels_.begin());
    if (auto done = put(access.indices, parse_bracketed(line)); !done) return std::unexpected(done.error());
    if (access.indices.size() != schedule_.tensors[access.tensor].format.order()) {
      return before.wrong(fmt::format("{} has {} modes but is accessed with {} indices", name,
                                      schedule_.tensors[access.tensor].format.order(), access.indices.size()));
    }
    return access;
  }

  Expected<void> parse_statement(ScheduleLine& line) {
    ScheduledStatement statement;
    if (auto done = put(statement.target, parse_access(line)); !done) return done;
    if (!line.take("+=")) return line.wrong("expected '+='");
    bool more = true;
    if (const auto coefficient = line.take_real()) {
      statement.coefficient = *coefficient;
      more = line.take("*");
    }
    while (more) {
      if (auto done = put(statement.factors.emplace_back(), parse_access(line)); !done) return done;
      more = line.take("*");
    }
    if (!line.take_word("loops")) return line.wrong("expected 'loops' and the indices, outermost first, or ()");
    if (!line.take("()")) {
      if (auto done = put(statement.loops, parse_index_list(line)); !done) return done;
    }
    if (line.take_word("fused")) {
      const auto fused = line.take_number();
      if (!fused) return line.wrong("expected the number of loops shared with the statement above");
      statement.fused = *fused;
    }
    if (line.take_word("vector")) {
      if (auto done = put(statement.vector, parse_index(line)); !done) return done;
    }
    if (line.take_word("drained")) {
      constexpr LevelKind kinds[] = {LevelKind::accumulator, LevelKind::hashed, LevelKind::bitmap};
      const auto kind = std::ranges::find_if(kinds, [&](LevelKind each) { return line.take_word(drain_word(each)); });
      if (kind == std::end(kinds)) return line.wrong("expected accumulator, hashed or bitmap");
      statement.drained = *kind;
    }
    if (!line.at_end()) return line.wrong("unexpected text after the statement");
    schedule_.statements.push_back(std::move(statement));
    return {};
  }

  Expected<void> parse_intersection(ScheduleLine& line) {
    if (schedule_.statements.empty()) return line.wrong("'meet' belongs below the statement whose loop it describes");
    Intersection intersection;
    if (auto done = put(intersection.index, parse_index(line)); !done) return done;
    if (!line.take(":")) return line.wrong("expected ':'");
    do {
      Intersection::Part part;
      part.drive = line.take_word("drive");
      part.gallop = !part.drive && line.take_word("gallop");
      if (!part.drive && !part.gallop && !line.take_word("search")) {
        return line.wrong("expected drive, search or gallop");
      }
      const std::string name = line.take_name();
      if (std::find(labels_.begin(), labels_.end(), name) == labels_.end()) {
        return line.wrong(fmt::format("'{}' has no line layout, intermediate or result above", name));
      }
      if (!line.take("@")) return line.wrong("expected '@' and statement.factor, counted from 1");
      const auto statement = line.take_number();
      const bool divided = line.take(".");
      const auto factor = divided ? line.take_number() : std::nullopt;
      if (!statement || !factor || *statement == 0 || *factor == 0) {
        return line.wrong("expected statement.factor, counted from 1");
      }
      part.statement = *statement - 1;
      part.factor = *factor - 1;
      intersection.parts.push_back(part);
    } while (line.take(","));
    if (!line.at_end()) return line.wrong("unexpected text after the intersection");
    schedule_.statements.back().intersections.push_back(std::move(intersection));
    return {};
  }

  Expected<void> parse_parallel(ScheduleLine& line) {
    const std::vector<StatementRange> nests = nests_of(schedule_);
    const std::size_t nest = schedule_.roots.size();
    if (nest == nests.size()) return line.wrong("more lines 'parallel' than loop nests");
    const std::vector<IndexId>& loops = schedule_.statements[nests[nest].first].loops;
    const std::string root = loops.empty() ? "()" : network_.indices[loops.front()].name;
    if (!(loops.empty() ? line.take(root) : line.take_word(root)))
      return line.wrong(fmt::format("the root loop of nest {} is '{}'", nest + 1, root));
    const auto reduction = std::ranges::find_if(root_reductions, [&](RootReduction each) { return line.take_word(reduction_word(each)); });
    if (reduction == std::end(root_reductions)) return line.wrong("expected owner, private, counted or serial");
    schedule_.roots.push_back(*reduction);
    if (!line.at_end()) return line.wrong("unexpected text after the reduction");
    return {};
  }

  Network network_;  // what the lines speak of
  Schedule schedule_;
  std::vector<std::string> labels_;
  std::size_t trees_ = 0;
  bool opened_ = false;  // the line "schedule" was read
};

// "(i,j) -> (i/3:d, j/3:s, i%3:d, j%3:d) f64 chosen": what follows the name.
Expected<StatedFormat> parse_stated_format(ScheduleLine& line) {
  const ScheduleLine before = line;
  const std::string words = line.take_rest();
  const std::size_t end = words.find(' ', words.rfind(')') == std::string::npos ? 0 : words.rfind(')'));
  ScheduleLine behind = before;
  behind.take(std::string_view(words).substr(0, end));
  auto format = parse_format(std::string_view(words).substr(0, end));
  if (!format) return wrong(before, format.error());
  const ScheduleLine at_scalar = behind;
  const auto scalar = parse_scalar(behind.take_until_blank());
  if (!scalar) return wrong(at_scalar, scalar.error());
  StatedFormat stated{std::move(*format)};
  stated.format.scalar = *scalar;
  stated.chosen = behind.take_word("chosen");
  if (behind.take_word("located")) stated.read_by = ReadBy::location;
  if (behind.take_word("copied")) stated.read_by = ReadBy::copy;
  if (!behind.at_end()) return behind.wrong("unexpected text after the layout");
  return stated;
}

}  // namespace

Expected<Schedule> parse_schedule(const std::string& text, const Network& network, std::size_t* lines) {
  std::size_t read = 0;
  auto schedule = ScheduleParser(network).parse(text, read);
  if (lines != nullptr) *lines = read;
  return schedule;
}

Expected<std::map<std::string, StatedFormat>> parse_stated_formats(const std::string& text) {
  std::map<std::string, StatedFormat> formats;
  const auto read = [&](ScheduleLine& line) -> Expected<void> {
    if (!line.take_word("stored")) return {};
    const ScheduleLine before = line;
    const std::string name = line.take_name();
    if (line.take("[")) return {};  // a statement
    if (!is_name(name)) return before.wrong("the name of a tensor is missing");
    auto stated = parse_stated_format(line);
    if (!stated) return std::unexpected(stated.error());
    if (!formats.emplace(name, std::move(*stated)).second) return before.wrong(fmt::format("a second line 'stored {}'", name));
    return {};
  };
  if (auto done = for_each_line(text, read); !done) return std::unexpected(done.error());
  return formats;
}

}  // namespace weft
