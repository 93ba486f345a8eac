// The expression of a command and its operands, read or generated.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "frontend/request_text.h"
#include "weft/memory.h"
#include "weft/tensor.h"

namespace weft {

/// EXPR OPERAND... of a command line, before anything is read.
struct CommandExpression {
  RequestText text;                ///< parsed
  std::vector<std::string> names;  ///< of the operands, in the order given
  std::vector<std::string> specs;

  explicit CommandExpression(std::string_view written) : text(written) {}
  const ParsedExpression& parsed() const { return *text.parsed(); }
};

/// Input errors: of the expression, or of the names of its operands.
Expected<CommandExpression> command_expression(std::span<const std::string> arguments);

struct CommandOperands {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, double> read_ms;
  std::vector<std::string> notes;  ///< a line for each extent that is not that of the file
};

/// Reads or generates what the specs name, in the formats that are pinned, by name; inferred extents grow to those of the other
/// operands. Errors as of load_operand.
Expected<CommandOperands> load_operands(const CommandExpression& expression, const std::map<std::string, Format>& formats,
                                        const Resources& resources);

}  // namespace weft
