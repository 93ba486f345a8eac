// The text cases in tests/files/loop: a loop program, what it is run on, and what must come out.
//
//   program spmv
//     input  T : f64 {dense, compressed<32,32>}   access T[i,j]
//     …
//   extent i = 3
//   tensor T = (0,1) 2; (1,1) 3         entries in storage (level) order; a dense level's missing entries are zeros
//   tensor b = values 1 2 3             every entry of an all-dense tensor, row-major in level order
//   tensor s = () 4                     order 0
//   coefficient c0 = 2.5
//   expect A = (0) 6; (1) 9             every output has one; missing entries are zeros in dense levels, else absent
//   error presence: message part        instead of expectations: the program is refused
//
// A file may hold several cases; each starts at its line "program". Everything of a program but its first line is
// indented, sections are not. "#" starts a comment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/loop/interpret.h"
#include "engine/loop/program.h"

namespace weft::test {

struct LoopCase {
  std::string name;  ///< "mttkrp.loop:12", file and line
  std::string program_text;
  loop::Program program;  ///< empty where an error is expected
  loop::Interpretation values;
  std::map<std::string, loop::Entries> expected;  ///< per output, exactly
  std::optional<std::string> error;               ///< "RULE: message part"
};

/// The cases of all *.loop files below a folder, in the order of their names. Errors name file and line: an unknown
/// line, a tensor of no input, an output without expectation, a case with neither expectation nor error.
Expected<std::vector<LoopCase>> read_loop_cases(const std::string& folder);

/// What is wrong with a result: "" or "A(0,1) is 5, expected 6". Zeros and absent entries are the same in the block of
/// dense levels below an entry, and where every level of the output is dense, unless its presence is told.
std::string difference(const loop::Program& program, const std::map<std::string, loop::Entries>& expected,
                       const std::map<std::string, loop::Entries>& found);

/// What has the pattern of an operand has all its entries: those that nothing was accumulated into are added with 0.
void add_patterns(const loop::Program& program, const loop::Interpretation& values,
                  std::map<std::string, loop::Entries>& outputs);

}  // namespace weft::test
