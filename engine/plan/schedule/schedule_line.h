// One line of a schedule's text, read from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "engine/text/scanner.h"
#include "weft/error.h"

namespace weft {

/// Whatever takes something takes the blanks behind it too. Refers to the text.
class ScheduleLine {
 public:
  /// The line's number is for errors.
  ScheduleLine(std::string_view text, std::size_t number) : scanner_(text), number_(number) { scanner_.skip_blanks(); }

  bool at_end() const { return scanner_.at_end(); }
  bool take(std::string_view token);
  /// A keyword ends where no name continues: "loops" is not the beginning of "loopsy".
  bool take_word(std::string_view word);
  /// A name, with the number of its layout where it has one ("T.2"); empty if there is none.
  std::string take_name();
  std::string take_until_blank();
  std::string take_rest();
  std::optional<std::uint32_t> take_number();
  std::optional<double> take_real();

  /// The message with the line's number and a picture of where reading stands.
  std::unexpected<Error> wrong(const std::string& message) const;

 private:
  Scanner scanner_;
  std::size_t number_;
};

}  // namespace weft
