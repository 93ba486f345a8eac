#include <algorithm>
#include <charconv>

#include "engine/loop/head_reader.h"
#include "engine/text/names.h"

namespace weft::loop {
namespace {

/// Recursive descent over lines.
class Parser : HeadReader {
 public:
  explicit Parser(const std::vector<Line>& lines) : HeadReader(lines) {}

  Expected<Program> program() {
    if (lines_.empty()) return input_error("line 1: expected \"program NAME\", the text is empty");
    keyword("program");
    program_.name = name("the program's name");
    end_of_line();
    while (!failed() && more() && is_head()) head_line();
    if (!failed() && more()) {
      program_.body = block(line().indent);
      if (!failed() && more()) error("this line is indented less than the first statement");
    }
    if (failed()) return std::unexpected(*error_);
    restore_order();
    if (failed()) return std::unexpected(*error_);
    return std::move(program_);
  }

 private:
  /// The statements that stand at `indent`; deeper lines are bodies of the statement above them.
  Block block(std::size_t indent) {
    Block statements;
    while (!failed() && more() && line().indent >= indent) {
      if (line().indent > indent)
        error("this line is indented more than its neighbours, but the line above opens no block");
      else
        statements.push_back(statement());
    }
    return statements;
  }

  Block body_below(std::size_t indent) {
    if (failed() || !more() || line().indent <= indent) return {};
    if (depth_ == deepest_nesting) {
      error("statements nest deeper than " + std::to_string(deepest_nesting));
      return {};
    }
    ++depth_;
    Block body = block(line().indent);
    --depth_;
    return body;
  }

  Statement statement() {
    const std::size_t indent = line().indent;
    if (is_accumulate()) return {accumulate()};
    if (accept("for")) return {for_loop(indent)};
    if (accept("bind")) return {bind(indent)};
    if (accept("with")) return {with(indent)};
    error(is_head() ? "declarations stand before the first statement"
                    : "expected a statement: for, bind, with, or TARGET += …");
    return {};
  }

  For for_loop(std::size_t indent) {
    For loop;
    loop.index = index();
    if (at("in")) not_yet("a loop over a window");
    expect(":");
    if (!failed() && token().kind == TokenKind::name) loop.steps = steps();
    while (!failed() && accept("@")) mark(loop.marks);
    end_of_line();
    loop.body = body_below(indent);
    return loop;
  }

  Bind bind(std::size_t indent) {
    Bind bind;
    if (!at(":")) bind.steps = steps();
    expect(":");
    end_of_line();
    bind.body = body_below(indent);
    return bind;
  }

  With with(std::size_t indent) {
    const Token where = failed() ? Token{} : token();
    const std::string storage_name = name("the workspace's name");
    With with{declare(storage_name, Role::workspace), {}};
    if (at("[")) add_access(with.workspace, storage_name, where);
    expect(":");
    type(with.workspace);
    while (!failed() && at("access")) access_clause(with.workspace);
    end_of_line();
    with.body = body_below(indent);
    return with;
  }

  std::vector<Step> steps() {
    std::vector<Step> steps;
    do {
      Step step;
      step.use = one_of(use_words, "a step");
      step.access = access();
      if (accept("(")) {
        step.algorithm = one_of(algorithm_words, "an algorithm");
        if (step.algorithm == Algorithm::gallop && !at(")")) step.home = index();
        expect(")");
      }
      if (at("|")) not_yet("a union of drivers");
      steps.push_back(step);
    } while (!failed() && accept(","));
    return steps;
  }

  void mark(Marks& marks) {
    if (accept("vector")) {
      marks.vector = true;
    } else if (accept("flat")) {
      marks.flat = true;
    } else if (at("batch") || at("unroll") || at("prefetch")) {
      std::uint32_t& count = at("batch") ? marks.batch : at("unroll") ? marks.unroll : marks.prefetch;
      advance();
      expect("(");
      if (at("0")) error("expected a number of at least 1");
      count = number32();
      expect(")");
    } else if (accept("parallel")) {
      expect("(");
      do {
        const StorageId target = storage();
        expect(":");
        marks.parallel.push_back({target, one_of(reduction_words, "a reduction")});
      } while (!failed() && accept(","));
      expect(")");
    } else if (!failed()) {
      error("expected a mark, one of: parallel, vector, flat, batch, unroll, prefetch");
    }
  }

  Accumulate accumulate() {
    Accumulate accumulate;
    accumulate.target = access();
    accumulate.negative = at("-=");
    advance();
    if (accept("1")) {
      end_of_line();
      return accumulate;
    }
    accumulate.coefficient = coefficient();
    if (!accumulate.coefficient || accept("*")) {
      do accumulate.factors.push_back(access());
      while (!failed() && accept("*"));
    }
    end_of_line();
    return accumulate;
  }

  /// "c0", unless an access has this name; "coefficient(0)" always.
  std::optional<std::uint32_t> coefficient() {
    if (at("coefficient") && at("(", 1)) {
      advance();
      advance();
      const std::uint32_t word_number = number32();
      expect(")");
      return word_number;
    }
    const std::string_view text = token().text;
    std::uint32_t word_number = 0;
    const char* stop = text.data() + text.size();
    if (text.size() < 2 || text[0] != 'c' || find(program_.accesses, text, &Access::name) != program_.accesses.size())
      return std::nullopt;
    const auto [ptr, code] = std::from_chars(text.data() + 1, stop, word_number);
    if (ptr != stop || code != std::errc{}) return std::nullopt;
    advance();
    return word_number;
  }

  std::size_t depth_ = 0;
};

}  // namespace

Expected<Program> parse(const std::string& text) {
  const Expected<std::vector<Line>> lines = lex(text);
  if (!lines) return std::unexpected(lines.error());
  return Parser(*lines).program();
}

}  // namespace weft::loop
