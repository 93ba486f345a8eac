#include "frontend/repl/repl.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "frontend/repl/commands.h"

namespace weft::repl_test {
namespace {

/// A session whose output is a string.
class Prompt {
 public:
  explicit Prompt(CommandOptions options = {}) : repl_(start(std::move(options))) {}

  /// What the text prints; an error is printed too.
  std::string operator()(std::string_view text) {
    printed_->clear();
    const auto done = repl_.execute(text);
    return *printed_ + (done ? "" : "error: " + done.error().message);
  }
  Repl& repl() { return repl_; }
  void interrupt() { repl_.resources().cancellation.cancel(); }

 private:
  Repl start(CommandOptions options) {
    options.no_cache = true;
    options.threads = 2;
    ReplPlace place;
    place.print = [printed = printed_](std::string_view text) -> Expected<void> {
      *printed += text;
      return {};
    };
    place.cancellation = [] { return Cancellation(); };
    auto repl = Repl::create(std::move(options), std::move(place));
    REQUIRE(repl);
    return std::move(*repl);
  }

  std::shared_ptr<std::string> printed_ = std::make_shared<std::string>();
  Repl repl_;
};

bool contains(const std::string& text, std::string_view part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("tensors are made, evaluated, named and printed") {
  Prompt say;
  CHECK(say("B = ones(2x3)") == "B: 2x3 dd:0,1 f64, 6 stored, 48 B\n");
  CHECK(say("s = 2.5") == "s: scalar f64, 1 stored, 8 B\n");
  CHECK(say("A(i,k) = s * B(i,j) * B(k,j)") == "[[7.5 7.5]\n [7.5 7.5]]\n");
  CHECK(say("A[0,1]") == "7.5\n");
  CHECK(say("v = A[0]; v") == "v: 2 d:0 f64, 2 stored, 16 B\n[7.5 7.5]\n");
  CHECK(say("a = A(i,i)") == "15.0\n");
  CHECK(say("a = A(i,i);") == "");
  CHECK(say("C = A;") == "");
  CHECK(say("C[-1]") == "[7.5 7.5]\n");
  CHECK(say("ij,ij-> A A") == "225.0\n");
  CHECK(say("X = ij->j A") == "[15. 15.]\n");
  CHECK(say("out") == "225.0\n");
  CHECK(say(":list") ==
        "A    2x2 dd:0,1 f64, 4 stored, 32 B\nB    2x3 dd:0,1 f64, 6 stored, 48 B\nC    2x2 dd:0,1 f64, 4 stored, 32 B\n"
        "X    2 d:0 f64, 2 stored, 16 B\na    scalar f64, 1 stored, 8 B\nout  scalar f64, 1 stored, 8 B\n"
        "s    scalar f64, 1 stored, 8 B\nv    2 d:0 f64, 2 stored, 16 B\n");
  CHECK(say(":drop C X") == "");
  CHECK(contains(say("C"), "error: no tensor is named C"));
  CHECK(say(":drop *; ") == "");
  CHECK(say(":list") == "no tensors\n");
}

TEST_CASE("the result of an einsum has its name from the begin") {
  Prompt say;
  say("A = ones(2x3); out = ij->ji A;");
  CHECK(contains(say(":plan q = ij->j A"), "q[j] += A[i,j]"));
  CHECK(say("q = ij->i out") == "[2. 2. 2.]\n");
  CHECK(contains(say(":list"), "out  3x2"));
  CHECK(contains(say("ij->i out"), "as in q = ij->i out"));
  CHECK(contains(say("out = ij->i out"), "as in q = ij->i out"));
  say(":format r:s");
  CHECK(contains(say("r = ij->i out"), "r: 3 s:0"));
  say("A = ij->ji A;");
  CHECK(contains(say(":list"), "A    3x2"));
}

TEST_CASE("sparse tensors print entries; elements that are not stored are 0") {
  Prompt say;
  CHECK(say("T = sparse(3x3,nnz=9)") == "T: 3x3 ss:0,1 f64, 9 stored, 144 B\n");
  CHECK(say("T[1]").starts_with("T[1]: 3 s:0 f64, 3 stored, 44 B\n  (0)  "));
  CHECK(say("E = sparse(1000x1000,nnz=1,seed=3);") == "");
  CHECK(say("E[0,0]") == "0.0\n");
  CHECK(say("x = E[5,5]; x") == "x: scalar f64, 1 stored, 8 B\n0.0\n");
}

TEST_CASE("assignments on one line are one expression") {
  Prompt say;
  say("B = ones(2x3)");
  CHECK(say("R(i) = B(i,j); t = R(i)") == "6.0\n");
  CHECK(contains(say("R"), "it was an intermediate of R(i) = B(i,j); t = R(i)"));
  CHECK(say(":format R:d") == "");
  CHECK(say("R(i) = B(i,j); t = R(i)") == "R =\n[3. 3.]\nt = 6.0\n");
  CHECK(say("R") == "[3. 3.]\n");
}

TEST_CASE("errors point at the text and leave everything as it was") {
  Prompt say;
  say("Beta = ones(2x3)");
  CHECK(say("A(i) = Beta(i,j) * c(j)") ==
        "error: no tensor is named c; load one with c = FILE, or see :list and :help\n  A(i) = Beta(i,j) * c(j)\n                     ^");
  CHECK(contains(say("x = nosuch"), "a file is named with its extension"));
  CHECK(contains(say("A(i) = Bata(i,j)"), "did you mean Beta?"));
  CHECK(contains(say("Beta(i,k) = Beta(i,j) * Beta(k,j)"), "Beta is read and assigned by one expression"));
  CHECK(contains(say("Beta[2]"), "2 is out of range: mode 0 of Beta has extent 2"));
  CHECK(contains(say("ij,jk->ik Beta Beta"), "error: index j is 3"));
  CHECK(contains(say("ij->ij"), "followed by the name"));
  CHECK(contains(say(":tmie"), "did you mean :time?"));
  CHECK(say("x = 1; y = nosuch.tns; z = 2").starts_with("x: scalar f64, 1 stored, 8 B\nerror: "));
  CHECK(say("x") == "1.0\n");
  CHECK(contains(say("z"), "error"));
  CHECK(contains(say(":list x"), "takes nothing"));
}

TEST_CASE("commands explain the last expression, or one of their own") {
  Prompt say;
  CHECK(contains(say(":loops"), "no expression was evaluated yet"));
  say("B = ones(4x3); C = ones(3x2)");
  say("A(i,k) = B(i,j) * C(j,k)");
  CHECK(contains(say(":loops"), "program A"));
  CHECK(contains(say(":loops X(i) = B(i,j)"), "program X"));
  CHECK(contains(say(":schedule"), "X[i] += B[i,j]"));
  CHECK(contains(say(":tree ij,jk->ik B C"), "(B * C)"));
  CHECK(contains(say(":llvm"), "define"));
  CHECK(contains(say(":asm"), "ret"));
  CHECK(contains(say(":plan"), "predicted"));
  CHECK(contains(say(":profile A(i,k) = B(i,j) * C(j,k)"), "A[i,k] += B[i,j] * C[j,k]"));
  CHECK(contains(say(":time"), "of 10 runs"));
  CHECK(say(":set repeat 3") == "");
  CHECK(contains(say(":time"), "of 3 runs"));
  CHECK(contains(say("X"), "error"));
}

TEST_CASE("an expression that failed does not become the last one") {
  Prompt say;
  say("B = ones(4x3)");
  say("A(i) = B(i,j)");
  CHECK(contains(say("X = ij,jk->ik B B"), "error: index j"));
  CHECK(contains(say(":loops"), "program A"));
  CHECK(contains(say(":time Y(i) = B(i,j) * B(j,i)"), "error"));
  CHECK(contains(say(":loops"), "program A"));
}

TEST_CASE("a session is saved and repeated; a script ends at its first error; nesting is bounded") {
  std::string directory = (std::filesystem::temp_directory_path() / "weft-repl-XXXXXX").string();
  REQUIRE(mkdtemp(directory.data()) != nullptr);
  const std::string script = directory + "/s.weft";
  Prompt say;
  say("B = ones(2x3); s = 2");
  say("A(i,k) =\n s * B(i,j) * B(k,j)");
  say("bad = nosuch.tns");
  say("X = ij->j A");
  say("v = A[0];");
  say(":set calls 7");
  say(":list");
  CHECK(say(":save \"" + script + "\"") == "");
  std::ifstream file(script);
  std::ostringstream text;
  text << file.rdbuf();
  CHECK(text.str() == "B = ones(2x3)\ns = 2\nA(i,k) =  s * B(i,j) * B(k,j)\nX = ij->j A\nv = A[0];\n:set calls 7\n");
  Prompt again;
  CHECK(!contains(again(":source " + script), "error"));
  CHECK(again("v") == "[6. 6.]\n");
  CHECK(again("X") == "[12. 12.]\n");
  std::ofstream(script) << "y = 1\ny\n:nosuch\nz = 1\n";
  CHECK(contains(again(":source " + script), "error: " + script + ":3: no command is named :nosuch"));
  CHECK(contains(again("z"), "error"));
  std::ofstream(script) << ":source " << script << '\n';
  CHECK(contains(again(":source " + script), "16 scripts are already nested"));
  CHECK(contains(again(":source " + directory + "/none"), "No such file or directory"));
  const std::string printed = directory + "/printed";
  CHECK(again(":output " + printed) == "");
  CHECK(again("v") == "");
  CHECK(!std::filesystem::exists(printed));
  CHECK(again(":output") == "");
  CHECK(std::filesystem::file_size(printed) == 8);
  CHECK(again("v") == "[6. 6.]\n");
  CHECK(again(":html " + directory + "/p.html") == "");
  CHECK(std::filesystem::file_size(directory + "/p.html") > 1000);
  CHECK(contains(again("!true"), "only where they are typed"));
  CHECK(contains(again(":history"), "at a terminal"));
  std::filesystem::remove_all(directory);
}

TEST_CASE("arithmetic of numbers, scalars and elements is answered") {
  Prompt say;
  say("T = ones(2x3); s = 2.5");
  CHECK(say("2*3") == "6.0\n");
  CHECK(say("s - 1") == "1.5\n");
  CHECK(say("T[0,0]/4 + 1") == "1.25\n");
  CHECK(say("-(s + 1) * 2") == "-7.0\n");
  CHECK(contains(say("T * 2"), "error: a tensor is written with its indices: y("));
  CHECK(contains(say("2 * (3"), "error: a ')' is missing here"));
  CHECK(contains(say("2 * nosuch"), "error: no tensor is named nosuch"));
  CHECK(say("ij,ij-> T T") == "6.0\n");
}

TEST_CASE("formats of tensors and results") {
  Prompt say;
  say("T = sparse(6x7,nnz=12,seed=4)");
  CHECK(say(":format T") == "T ss:0,1 f64, chosen\n");
  CHECK(say(":format T:ss:1,0:f32") == "");
  CHECK(contains(say(":list"), "T  6x7 ss:1,0 f32, 12 stored"));
  CHECK(say(":format R:ds") == "");
  CHECK(contains(say("R(i,j) = T(i,j)"), "R: 6x7 ds:0,1 f64"));
  CHECK(say(":format Q:like(T)") == "");
  CHECK(say(":format") == "Q like(T)\nR ds:0,1 f64\nT ss:1,0 f32\n");
  CHECK(say(":format Q:auto") == "");
  CHECK(contains(say(":format Q"), "error: no tensor is named Q"));
  CHECK(contains(say(":format T:sss"), "is over 3 modes, but T has 2"));
  CHECK(contains(say(":format T:xy"), "error"));
  CHECK(say(":format X:ss") == "");
  CHECK(contains(say("X = ij,jk->ik T T"), "error: index j is 7"));
  CHECK(contains(say("X = ij,kj->ik T T"), "X: 6x6 ss:0,1"));
}

TEST_CASE("options are those of the command") {
  Prompt say;
  CHECK(contains(say(":set"), "deterministic  off"));
  CHECK(say(":set deterministic") == "");
  CHECK(contains(say(":set"), "deterministic  on"));
  CHECK(say(":set --deterministic off") == "");
  CHECK(say(":threads 1") == "");
  CHECK(say(":threads") == "1\n");
  CHECK(say(":set threads") == "threads 1\n");
  CHECK(say(":set calls 100") == "");
  CHECK(say(":set calls") == "calls 100\n");
  CHECK(contains(say(":set calls 0"), "above 0"));
  CHECK(contains(say(":set deterministc"), "did you mean deterministic?"));
  CHECK(contains(say(":set strict-fp maybe"), "on or off"));
  CHECK(contains(say(":set threads x"), "a number"));
  CHECK(contains(say(":threads 99999"), "a number"));
  say(":set quiet");
  CHECK(contains(say(":set verbose"), "contradict"));
  CHECK(say("x = 1") == "");
  CHECK(say("x") == "1.0\n");
}

TEST_CASE("a memory limit holds for what is there and what comes") {
  Prompt say;
  say("A = ones(1000)");
  CHECK(contains(say(":set memory-limit 4k"), "error"));
  CHECK(say(":set memory-limit") == "memory-limit none\n");
  CHECK(say(":set memory-limit 100k") == "");
  CHECK(contains(say("B = ones(20000)"), "error"));
  CHECK(say("B = ones(10000);") == "");
  CHECK(contains(say("C = ones(5000)"), "error"));
  CHECK(say(":drop A") == "");
  CHECK(say("C = ones(2000);") == "");
}

TEST_CASE("an interrupt ends a statement, not the session") {
  Prompt say;
  say("A = ones(2x2)");
  say.interrupt();
  CHECK(say("B(i) = A(i,j)") == "[2. 2.]\n");
  CHECK(say("A") == "[[1. 1.]\n [1. 1.]]\n");
}

TEST_CASE("every command has help, and quit ends") {
  Prompt say;
  for (const ReplCommand& command : repl_commands()) {
    CAPTURE(command.name);
    CHECK(contains(say(":help " + std::string(command.name)), command.summary));
    CHECK(contains(say(":help"), ":" + std::string(command.name)));
  }
  CHECK(say("help") == say(":help"));
  CHECK(contains(say(":help qiut"), "did you mean :quit?"));
  CHECK(!say.repl().finished());
  CHECK(say("x = 1; quit; y = 2").starts_with("x: "));
  CHECK(say.repl().finished());
  CHECK(!say.repl().tensors().contains("y"));
}

}  // namespace
}  // namespace weft::repl_test
