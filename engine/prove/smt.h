// SMT: a question in SMT-LIB 2 to Z3.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.h"

namespace weft {

enum class SmtVerdict : std::uint8_t { unsatisfiable, satisfiable, unknown };

struct SmtAnswer {
  SmtVerdict verdict = SmtVerdict::unknown;
  std::map<std::string, std::string> values;  ///< where it is satisfiable: decimal numbers by constant
};

/// Questions one after the other in a context of Z3, which takes some 15 ms to make. What it answers to one does not depend on those
/// before. Not for several threads at once.
class Smt {
 public:
  /// Unsupported error where libz3 cannot be loaded, resource error where it cannot have the memory.
  static Expected<Smt> create();
  Smt(Smt&&) noexcept;
  Smt& operator=(Smt&&) noexcept;
  ~Smt();

  /// Declarations and assertions, without commands; `wanted`: constants whose values are told. Within an effort that is the same on
  /// every machine (some hundred milliseconds). Internal error for a text that Z3 does not understand, resource error.
  Expected<SmtAnswer> ask(std::string_view assertions, const std::vector<std::string>& wanted);

 private:
  struct State;
  explicit Smt(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft
