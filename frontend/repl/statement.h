// What a line at the prompt says: statements, before tensors are known.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/slice.h"
#include "weft/error.h"

namespace weft {

/// "T = flights.tns.zst", "B = uniform(20x3)", "s = 2.5".
struct LoadStatement {
  std::string name;
  std::string spec;
  bool operator==(const LoadStatement&) const = default;
};

/// "A(i) = B(i,j) * c(j)", several joined by ';'; or einsum, "ij,j->i B c", whose result may be given a name.
struct ExpressionStatement {
  std::string text;
  std::vector<std::string> operands;  ///< of einsum, in order; index notation names its own
  std::string target;                 ///< name for the result of einsum; empty: "out"
  bool operator==(const ExpressionStatement&) const = default;
};

/// "A", "A[0,:]", "B = A", "v = A[0,:]".
struct ShowStatement {
  std::string name;
  std::string slice_text;  ///< "[0, :]"; empty: all of the tensor
  Slice slice;
  std::string target;  ///< empty: printed
  bool operator==(const ShowStatement&) const = default;
};

/// ":time A(i) = B(i)": "time" and "A(i) = B(i)".
struct CommandStatement {
  std::string name;
  std::string argument;
  bool operator==(const CommandStatement&) const = default;
};

/// "s * 2 + T[0,0]": a number, printed and not kept.
struct ArithmeticStatement {
  std::string text;
  bool operator==(const ArithmeticStatement&) const = default;
};

using Statement = std::variant<LoadStatement, ExpressionStatement, ShowStatement, CommandStatement, ArithmeticStatement>;

struct ParsedInput {
  std::vector<Statement> statements;
  bool silent = false;  ///< ends with ';': only what is asked for by name is printed
  bool operator==(const ParsedInput&) const = default;
};

/// One or more lines. Statements are separated by ';' or new lines; assignments in index notation next to each other
/// are one expression, as `weft run` takes them. A line that begins with ':' is one command. Input errors carry a picture.
Expected<ParsedInput> parse_input(std::string_view text);

/// A part of a command that is an expression: index notation, or einsum with the names of its operands.
Expected<ExpressionStatement> parse_expression_statement(std::string_view text);

/// "2.5", "-1e3", "inf": a number, or a text of its characters.
bool is_number_like(std::string_view text);

/// The line without its comment: '#' begins one at the start or after a blank, outside quotes.
std::string_view without_comment(std::string_view line);

/// Does the text go on with the next line: brackets are open, or '=', '*', ',' or '\' ends it?
bool goes_on(std::string_view text);

/// Adds a line to a text that goes on. A '\' at its end is dropped.
std::string joined(std::string text, std::string_view line);

}  // namespace weft
