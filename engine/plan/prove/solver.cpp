#include "engine/plan/prove/solver.h"

#include <fmt/format.h>
#include <z3.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/plan/problem.h"
#include "engine/prove/z3_library.h"
#include "runtime/foreign_code.h"
#include "runtime/headroom.h"
#include "runtime/thread.h"

namespace weft {
namespace {

// To load the library (23 MB) and make a context; for one question: a few MB, tens where it is hard; for the next terms.
constexpr std::uint64_t opening_bytes = 64 << 20;
constexpr std::uint64_t question_bytes = 64 << 20;
constexpr std::uint64_t terms_bytes = 4 << 20;
constexpr std::size_t terms_at_once = 1000;
constexpr std::string_view no_memory = "too little memory for Z3";

constexpr std::size_t most_pairwise = 7;  // literals: beyond, one cardinality constraint is smaller (planning.md)

#define WEFT_Z3_FUNCTIONS(X)                                                                                           \
  X(mk_config) X(del_config) X(mk_context) X(del_context) X(set_error_handler) X(get_error_code) X(get_error_msg)      \
  X(mk_int_symbol) X(mk_string_symbol) X(mk_bool_sort) X(mk_const) X(mk_not) X(mk_or) X(mk_atmost) X(mk_pble)          \
  X(mk_solver_for_logic) X(solver_inc_ref) X(solver_dec_ref) X(solver_assert) X(solver_set_params)                     \
  X(solver_check_assumptions) X(solver_get_model) X(solver_get_unsat_core) X(solver_get_reason_unknown)                \
  X(solver_get_statistics) X(stats_inc_ref) X(stats_dec_ref) X(stats_size) X(stats_get_key) X(stats_is_uint)           \
  X(stats_get_uint_value) X(stats_get_double_value) X(mk_params) X(params_inc_ref) X(params_dec_ref)                   \
  X(params_set_uint) X(model_inc_ref) X(model_dec_ref) X(model_get_const_interp) X(get_app_decl) X(to_app)             \
  X(get_bool_value) X(get_estimated_alloc_size) X(interrupt) X(ast_vector_inc_ref) X(ast_vector_dec_ref)               \
  X(ast_vector_size) X(ast_vector_get)

// The functions of libz3 that are used, found in the library when it is first needed.
struct Library {
#define WEFT_Z3_DECLARE(name) decltype(&Z3_##name) name = nullptr;
  WEFT_Z3_FUNCTIONS(WEFT_Z3_DECLARE)
#undef WEFT_Z3_DECLARE
  std::string missing;  // why there is none

  Library() {
    missing = z3_missing();
    if (!missing.empty()) return;
#define WEFT_Z3_FIND(name)                                                 \
  name = reinterpret_cast<decltype(&Z3_##name)>(z3_function("Z3_" #name)); \
  if (name == nullptr) missing = "libz3.so.4 has no function Z3_" #name;
    WEFT_Z3_FUNCTIONS(WEFT_Z3_FIND)
#undef WEFT_Z3_FIND
    if (!missing.empty()) return;
    // Tables that the library makes with its first context are made here, by one thread.
    Z3_config config = mk_config();
    Z3_context context = mk_context(config);
    del_config(config);
    del_context(context);
  }
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

// Interrupts Z3, from a thread of its own, every few milliseconds while something is asked and a token is set: once may be too
// early, before Z3 listens. Nothing else depends on that thread, and where the system gives none, tokens are looked at
// between questions only.
class Interruption {
 public:
  Interruption(const std::vector<Cancellation>& tokens, Z3_context context) : tokens_(tokens), context_(context) {
    thread_ = Thread([this] { watch(); });
  }
  ~Interruption() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  void asking(bool now) { asking_ = now; }

 private:
  static constexpr std::chrono::milliseconds period{5};

  void watch() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, period, [&] { return ended_; })) {
      if (asking_ && any_cancelled(tokens_)) library().interrupt(context_);
    }
  }

  const std::vector<Cancellation>& tokens_;
  Z3_context context_;
  std::atomic<bool> asking_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  Thread thread_;  // last: it uses the others
};

}  // namespace

// Terms live as long as the context, which keeps no counts of them.
struct Solver::State {
  State(Tracking wanted, std::vector<Cancellation> tokens, std::uint64_t bytes)
      : tracking(wanted), cancelled_by(std::move(tokens)), question_limit(bytes) {
    Z3_config config = z3.mk_config();
    context = z3.mk_context(config);
    z3.del_config(config);
    z3.set_error_handler(context, nullptr);
    solver = z3.mk_solver_for_logic(context, z3.mk_string_symbol(context, "QF_FD"));
    z3.solver_inc_ref(context, solver);
    boolean_sort = z3.mk_bool_sort(context);
    bytes_before = z3.get_estimated_alloc_size();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const ForeignCode scope;
    interruption.reset();
    forget_model();
    z3.solver_dec_ref(context, solver);
    z3.del_context(context);
  }

  void forget_model() {
    if (Z3_model known = std::exchange(model, nullptr)) z3.model_dec_ref(context, known);
  }

  /// Whether Z3 may be given one more term. Looks now and then whether the memory for some is there.
  bool has_room() {
    if (!failure.empty()) return false;
    if (terms++ % terms_at_once == 0 && !Headroom::is_there(terms_bytes)) run_out();
    return failure.empty();
  }
  void run_out() {
    out_of_memory = true;
    failure = no_memory;
  }

  void note_error() {
    if (failure.empty() && z3.get_error_code(context) != Z3_OK) {
      failure = z3.get_error_msg(context, z3.get_error_code(context));
    }
  }

  Literal fresh() {
    const auto number = static_cast<int>(variables.size() / 2);
    Z3_ast variable = nullptr;
    Z3_ast negated = nullptr;
    if (has_room()) {
      const ForeignCode scope;
      variable = z3.mk_const(context, z3.mk_int_symbol(context, number), boolean_sort);
      negated = z3.mk_not(context, variable);
    }
    variables.push_back(variable);
    variables.push_back(negated);
    return {2 * number};
  }

  Z3_ast term(Literal literal) const { return variables[static_cast<std::size_t>(literal.code)]; }

  bool tracked() const { return tracking == Tracking::families; }

  void add(std::vector<Z3_ast> any, Family family) {
    if (tracked()) any.push_back(term(!guards[static_cast<std::size_t>(family.number)]));
    if (!has_room()) return;
    const ForeignCode scope;
    z3.solver_assert(context, solver, z3.mk_or(context, static_cast<unsigned>(any.size()), any.data()));
    note_error();
  }

  Z3_lbool ask(std::uint64_t effort) {
    std::vector<Z3_ast> assumptions;
    for (const Literal guard : guards) assumptions.push_back(term(guard));
    limit(effort);
    if (interruption) interruption->asking(true);
    const Z3_lbool answer = z3.solver_check_assumptions(context, solver, static_cast<unsigned>(assumptions.size()), assumptions.data());
    if (interruption) interruption->asking(false);
    note_error();
    count_effort();
    return answer;
  }

  void limit(std::uint64_t effort) {
    Z3_params params = z3.mk_params(context);
    z3.params_inc_ref(context, params);
    const auto most = static_cast<unsigned>(std::min<std::uint64_t>(effort, std::numeric_limits<unsigned>::max()));
    z3.params_set_uint(context, params, z3.mk_string_symbol(context, "rlimit"), most);
    z3.params_set_uint(context, params, z3.mk_string_symbol(context, "random_seed"), 0);
    // Z3 counts all that it has in the process, in whole MB.
    constexpr std::uint64_t mega = 1 << 20;
    if (question_limit < std::numeric_limits<std::uint64_t>::max() - bytes_before - mega) {
      const auto megabytes = static_cast<unsigned>(std::min<std::uint64_t>((bytes_before + question_limit + mega - 1) / mega, 1 << 30));
      z3.params_set_uint(context, params, z3.mk_string_symbol(context, "max_memory"), megabytes);
    }
    z3.solver_set_params(context, solver, params);
    z3.params_dec_ref(context, params);
  }

  void count_effort() {
    Z3_stats statistics = z3.solver_get_statistics(context, solver);
    z3.stats_inc_ref(context, statistics);
    for (unsigned number = 0; number < z3.stats_size(context, statistics); ++number) {
      if (std::string_view(z3.stats_get_key(context, statistics, number)) != "rlimit count") continue;
      const bool whole = z3.stats_is_uint(context, statistics, number);
      spent = whole ? z3.stats_get_uint_value(context, statistics, number)
                    : static_cast<std::uint64_t>(z3.stats_get_double_value(context, statistics, number));
    }
    z3.stats_dec_ref(context, statistics);
  }

  bool keep_model() {
    model = z3.solver_get_model(context, solver);
    if (model != nullptr) z3.model_inc_ref(context, model);
    else note_error();
    return model != nullptr;
  }

  // The families of what cannot hold together.
  void keep_core() {
    Z3_ast_vector core = z3.solver_get_unsat_core(context, solver);
    z3.ast_vector_inc_ref(context, core);
    for (std::size_t number = 0; number < guards.size(); ++number) {
      for (unsigned part = 0; part < z3.ast_vector_size(context, core); ++part) {
        if (z3.ast_vector_get(context, core, part) == term(guards[number])) contradiction.push_back(families[number]);
      }
    }
    z3.ast_vector_dec_ref(context, core);
  }

  // A clause of what there is and x >= v, or not: none where that holds anyway.
  bool holds(Integer integer, std::int64_t least, bool negated, std::vector<Literal>& any) const {
    const Range& range = ranges[static_cast<std::size_t>(integer.number)];
    if (least <= range.least || least > range.greatest) return (least <= range.least) != negated;
    const Literal reached = range.reached[static_cast<std::size_t>(least - range.least - 1)];
    any.push_back(negated ? !reached : reached);
    return false;
  }

  struct Range {
    std::int64_t least = 0;
    std::int64_t greatest = 0;
    std::vector<Literal> reached;  // x >= least + 1, …, x >= greatest
  };

  const Library& z3 = library();
  Tracking tracking;
  std::vector<Cancellation> cancelled_by;
  std::uint64_t question_limit;  // beyond what Z3 had when the solver was made
  std::uint64_t bytes_before = 0;
  Z3_context context = nullptr;
  Z3_solver solver = nullptr;
  Z3_sort boolean_sort = nullptr;
  Z3_model model = nullptr;
  std::vector<Z3_ast> variables;  // by code of literal
  std::vector<Range> ranges;
  std::vector<std::string> families;
  std::vector<Literal> guards;
  std::vector<std::string> contradiction;
  std::string failure;
  std::string unanswered;
  std::uint64_t spent = 0;
  std::size_t terms = 0;
  bool out_of_memory = false;
  std::optional<Interruption> interruption;
};

Expected<Solver> Solver::create(Tracking tracking, std::vector<Cancellation> cancelled_by, std::uint64_t question_limit) {
  const auto headroom = Headroom::take(opening_bytes, "opening Z3");
  if (!headroom) return std::unexpected(headroom.error());
  if (!library().missing.empty()) {
    return unsupported(fmt::format("proofs need the library Z3: {}; install libz3-4", library().missing));
  }
  return Solver(std::make_unique<State>(tracking, std::move(cancelled_by), question_limit));
}

Solver::Solver(std::unique_ptr<State> state) : state_(std::move(state)) {}
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;
Solver::~Solver() = default;

Family Solver::family(std::string_view name) {
  const auto known = std::find(state_->families.begin(), state_->families.end(), name);
  if (known != state_->families.end()) return {static_cast<std::int32_t>(known - state_->families.begin())};
  state_->families.emplace_back(name);
  if (state_->tracked()) state_->guards.push_back(state_->fresh());
  return {static_cast<std::int32_t>(state_->families.size() - 1)};
}

Literal Solver::boolean() { return state_->fresh(); }

Integer Solver::integer(std::int64_t least, std::int64_t greatest) {
  State::Range range{least, greatest, {}};
  for (std::int64_t value = least; value < greatest; ++value) {
    range.reached.push_back(state_->fresh());
    if (value == least) continue;
    Z3_ast either[] = {state_->term(!range.reached.back()), state_->term(range.reached[range.reached.size() - 2])};
    if (!state_->has_room()) continue;
    const ForeignCode scope;
    state_->z3.solver_assert(state_->context, state_->solver, state_->z3.mk_or(state_->context, 2, either));
  }
  state_->ranges.push_back(std::move(range));
  return {static_cast<std::int32_t>(state_->ranges.size() - 1)};
}

void Solver::clause(std::span<const Literal> literals, Family family) {
  std::vector<Z3_ast> any;
  any.reserve(literals.size() + 1);
  for (const Literal literal : literals) any.push_back(state_->term(literal));
  state_->add(std::move(any), family);
}

void Solver::at_most_one(std::span<const Literal> literals, Family family) {
  if (literals.size() > most_pairwise) {
    std::vector<Weighted> sum;
    for (const Literal literal : literals) sum.push_back({literal, 1});
    at_most(sum, 1, family);
    return;
  }
  for (std::size_t left = 0; left < literals.size(); ++left) {
    for (std::size_t right = left + 1; right < literals.size(); ++right) {
      state_->add({state_->term(!literals[left]), state_->term(!literals[right])}, family);
    }
  }
}

void Solver::at_most(std::span<const Weighted> sum, std::int64_t bound, Family family) {
  std::vector<Weighted> open;
  std::int64_t total = 0;
  for (const Weighted& part : sum) {
    if (part.weight == 0) continue;
    // What alone exceeds the bound is false whatever the others are.
    if (part.weight > bound) {
      state_->add({state_->term(!part.literal)}, family);
      continue;
    }
    open.push_back(part);
    total = total > std::numeric_limits<std::int64_t>::max() - part.weight ? std::numeric_limits<std::int64_t>::max()
                                                                           : total + part.weight;
  }
  if (bound < 0) state_->add({}, family);
  if (bound < 0 || total <= bound || open.empty()) return;
  const std::int64_t most = std::numeric_limits<int>::max() / 2;
  std::int64_t unit = 1;
  while (bound / unit > most || total / unit + static_cast<std::int64_t>(open.size()) > most) unit *= 2;
  std::vector<Z3_ast> terms;
  std::vector<int> weights;
  std::int64_t scaled = 0;
  for (const Weighted& part : open) {
    terms.push_back(state_->term(part.literal));
    weights.push_back(static_cast<int>(part.weight / unit + (part.weight % unit != 0 ? 1 : 0)));
    scaled += weights.back();
  }
  std::int64_t least = bound / unit;
  if (scaled <= least) return;
  if (state_->tracked()) {
    terms.push_back(state_->term(state_->guards[static_cast<std::size_t>(family.number)]));
    weights.push_back(static_cast<int>(scaled - least));
    least = scaled;
  }
  if (!state_->has_room()) return;
  const ForeignCode scope;
  const bool count = std::all_of(weights.begin(), weights.end(), [](int weight) { return weight == 1; });
  const auto size = static_cast<unsigned>(terms.size());
  Z3_ast constraint = count ? state_->z3.mk_atmost(state_->context, size, terms.data(), static_cast<unsigned>(least))
                            : state_->z3.mk_pble(state_->context, size, terms.data(), weights.data(),
                                                 static_cast<int>(least));
  state_->z3.solver_assert(state_->context, state_->solver, constraint);
  state_->note_error();
}

void Solver::precedes(Integer left, Integer right, Literal when, Family family) {
  const State::Range range = state_->ranges[static_cast<std::size_t>(left.number)];
  for (std::int64_t value = range.least; value <= range.greatest; ++value) {
    std::vector<Literal> any{!when};
    if (!state_->holds(left, value, true, any) && !state_->holds(right, value + 1, false, any)) clause(any, family);
  }
}

void Solver::equals(Integer integer, std::int64_t value, Literal when, Family family) {
  for (const bool greater : {false, true}) {
    std::vector<Literal> any{!when};
    if (!state_->holds(integer, greater ? value + 1 : value, greater, any)) clause(any, family);
  }
}

Satisfiable Solver::check(std::uint64_t effort) {
  state_->forget_model();
  state_->contradiction.clear();
  state_->unanswered = state_->failure;
  if (state_->unanswered.empty() && effort == 0) state_->unanswered = "no effort was allowed";
  if (state_->unanswered.empty() && any_cancelled(state_->cancelled_by)) state_->unanswered = "cancelled";
  if (!state_->unanswered.empty()) return Satisfiable::unknown;
  if (!state_->cancelled_by.empty() && !state_->interruption) {
    state_->interruption.emplace(state_->cancelled_by, state_->context);
  }
  const auto headroom = Headroom::take(question_bytes, "asking Z3");
  if (!headroom) {
    state_->run_out();
    state_->unanswered = state_->failure;
    return Satisfiable::unknown;
  }
  const Z3_lbool answer = state_->ask(effort);
  if (answer == Z3_L_TRUE && state_->keep_model()) return Satisfiable::yes;
  if (answer == Z3_L_FALSE) {
    state_->keep_core();
    return Satisfiable::no;
  }
  state_->unanswered = state_->failure.empty() ? state_->z3.solver_get_reason_unknown(state_->context, state_->solver) : state_->failure;
  return Satisfiable::unknown;
}

std::uint64_t Solver::effort_spent() const { return state_->spent; }

Expected<void> Solver::had_memory() const {
  if (!state_->out_of_memory) return {};
  return fail(ErrorKind::resource, std::string(no_memory));
}

std::string Solver::why_unknown() const { return state_->unanswered; }

bool Solver::value(Literal literal) const {
  const Library& z3 = state_->z3;
  if (state_->model == nullptr) return false;
  const ForeignCode scope;
  Z3_ast variable = state_->variables[static_cast<std::size_t>(literal.code & ~1)];
  Z3_func_decl declaration = z3.get_app_decl(state_->context, z3.to_app(state_->context, variable));
  Z3_ast known = z3.model_get_const_interp(state_->context, state_->model, declaration);
  // A variable without a value may have either.
  const bool truth = known != nullptr && z3.get_bool_value(state_->context, known) == Z3_L_TRUE;
  return truth != ((literal.code & 1) != 0);
}

std::int64_t Solver::value(Integer integer) const {
  const State::Range& range = state_->ranges[static_cast<std::size_t>(integer.number)];
  std::int64_t found = range.least;
  for (const Literal literal : range.reached) found += value(literal) ? 1 : 0;
  return found;
}

std::vector<std::string> Solver::core() const { return state_->contradiction; }

}  // namespace weft
