#include "engine/prove/smt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <z3.h>

#include <memory>
#include <utility>

#include "engine/prove/z3_library.h"
#include "runtime/headroom.h"

namespace weft {
namespace {

constexpr std::uint64_t asking_bytes = 96 << 20;  // to load the library, make a context and ask
constexpr std::uint64_t effort = 2'000'000;       // of Z3's resource units, thousands per millisecond

struct Functions {
  decltype(&Z3_mk_config) mk_config = nullptr;
  decltype(&Z3_del_config) del_config = nullptr;
  decltype(&Z3_mk_context) mk_context = nullptr;
  decltype(&Z3_del_context) del_context = nullptr;
  decltype(&Z3_set_error_handler) set_error_handler = nullptr;
  decltype(&Z3_eval_smtlib2_string) eval = nullptr;

  Functions() {
    find(mk_config, "Z3_mk_config");
    find(del_config, "Z3_del_config");
    find(mk_context, "Z3_mk_context");
    find(del_context, "Z3_del_context");
    find(set_error_handler, "Z3_set_error_handler");
    find(eval, "Z3_eval_smtlib2_string");
  }
  bool all() const { return mk_config && del_config && mk_context && del_context && set_error_handler && eval; }

 private:
  template <class Function>
  static void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(z3_function(name));
  }
};

const Functions& functions() {
  static const Functions found;
  return found;
}

/// "((a 3)\n (b (- 4)))": signs are operators there.
std::map<std::string, std::string> read_values(std::string_view text) {
  std::map<std::string, std::string> values;
  std::string word;
  std::vector<std::string> pair;
  for (const char letter : text) {
    if (letter != '(' && letter != ')' && letter != ' ' && letter != '\n') {
      word += letter;
      continue;
    }
    if (!word.empty()) pair.push_back(std::exchange(word, {}));
    if (letter != ')' || pair.empty()) continue;
    if (pair.size() >= 2) values[pair.front()] = (pair[1] == "-" ? "-" : "") + pair.back();
    pair.clear();
  }
  return values;
}

}  // namespace

struct Smt::State {
  const Functions& z3 = functions();
  Z3_context context = nullptr;

  State() {
    Z3_config config = z3.mk_config();
    context = z3.mk_context(config);
    z3.del_config(config);
    z3.set_error_handler(context, nullptr);
    (void)z3.eval(context, fmt::format("(set-option :rlimit {})", effort).c_str());
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const ForeignCode scope;
    z3.del_context(context);
  }
};

Smt::Smt(std::unique_ptr<State> state) : state_(std::move(state)) {}
Smt::Smt(Smt&&) noexcept = default;
Smt& Smt::operator=(Smt&&) noexcept = default;
Smt::~Smt() = default;

Expected<Smt> Smt::create() {
  const auto headroom = Headroom::take(asking_bytes, "opening Z3");
  if (!headroom) return std::unexpected(headroom.error());
  if (!z3_missing().empty() || !functions().all())
    return unsupported(
        fmt::format("proofs need the library Z3: {}; install libz3-4", z3_missing().empty() ? "it is too old" : z3_missing()));
  return Smt(std::make_unique<State>());
}

Expected<SmtAnswer> Smt::ask(std::string_view assertions, const std::vector<std::string>& wanted) {
  const auto headroom = Headroom::take(asking_bytes, "asking Z3");
  if (!headroom) return std::unexpected(headroom.error());
  const auto eval = [&](const std::string& text) { return std::string(state_->z3.eval(state_->context, text.c_str())); };
  const std::string question = fmt::format("(push 1)\n{}(check-sat)\n", assertions);
  const std::string answer = eval(question);
  SmtAnswer result;
  const bool understood = answer.find("error") == std::string::npos;
  if (answer.starts_with("unsat")) result.verdict = SmtVerdict::unsatisfiable;
  if (answer.starts_with("sat")) {
    result.verdict = SmtVerdict::satisfiable;
    if (!wanted.empty()) result.values = read_values(eval(fmt::format("(get-value ({}))", fmt::join(wanted, " "))));
  }
  (void)eval("(pop 1)");
  return understood ? Expected<SmtAnswer>(std::move(result))
                    : internal_error(fmt::format("Z3 does not understand a question: {}\n{}", answer, question));
}

}  // namespace weft
