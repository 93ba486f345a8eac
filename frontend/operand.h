// Operands of the command: "NAME=SPEC" or "SPEC", and loading what a SPEC names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/file.h"
#include "weft/tensor.h"

namespace weft {

struct OperandText {
  std::string name;  ///< empty for a bare SPEC
  std::string spec;  ///< a file with an optional ":SHAPE", a generator, or a number (a scalar)
  bool operator==(const OperandText&) const = default;
};

/// Splits at the first '=' if what stands before it is a name; blanks around both are free.
OperandText parse_operand(std::string_view text);

/// Reads or generates. `format` pins the layout. Errors as of read_tensor and generate_tensor.
Expected<Tensor> load_operand(const std::string& spec, const std::optional<Format>& format, const Resources& resources,
                              std::string_view name, FileFacts* facts = nullptr);

/// "~/x.tns" and "mtx:~/x" with the home directory for the '~', which shells leave behind "T=", "--json=" and within quotes.
std::string at_home(const std::string& path);

/// Whether the SPEC is read from standard input: "-", "-:3x4", "mtx:-".
bool reads_standard_input(const std::string& spec);

/// Input error naming both operands where two are read from standard input, which there is once.
Expected<void> standard_input_once(const std::vector<std::string>& specs, const std::vector<std::string>& names);

/// "100x200x300"; nothing if the text has not that form.
std::optional<std::vector<std::uint64_t>> parse_shape(std::string_view text);

/// "4G", "1.5G", "512M", "100k", "4GiB", "1000": bytes, K = 1024. Input error otherwise.
Expected<std::uint64_t> parse_size(std::string_view text);

}  // namespace weft
