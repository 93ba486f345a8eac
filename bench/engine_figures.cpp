// What caches and specialisation cost and save: hits, loads, many calls from many threads, memory over many kernels, and the
// number of calls after which planning, compiling and specialising have paid.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>

#include <malloc.h>
#include <unistd.h>

#include "bench/single_figures.h"
#include "bench/timing.h"
#include "engine/cache/memory_cache.h"
#include "engine/pipeline.h"
#include "engine/specialize.h"
#include "frontend/operand.h"
#include "frontend/parse.h"
#include "frontend/resolve.h"
#include "weft/session.h"

namespace weft::bench {
namespace {

using Operands = std::map<std::string, Tensor>;
using Specifications = std::map<std::string, std::string>;

void line(const std::string& what, double figure, std::string_view unit, std::string_view bound) {
  fmt::print("  {:<64} {:>10.3f} {:<3} {}\n", what, figure, unit, bound.empty() ? "" : fmt::format("(wanted: {})", bound));
}

Expected<Operands> operands_of(const Specifications& texts) {
  Operands operands;
  for (const auto& [name, text] : texts) {
    const std::size_t space = text.find(' ');
    std::optional<Format> format;
    if (space != std::string::npos) {
      auto parsed = parse_format(text.substr(space + 1));
      if (!parsed) return std::unexpected(parsed.error());
      format = *parsed;
    }
    auto tensor = load_operand(text.substr(0, space), format, Resources(), name);
    if (!tensor) return std::unexpected(tensor.error());
    operands[name] = std::move(*tensor);
  }
  return operands;
}

Expected<Network> network_of(const std::string& expression, const Operands& operands) {
  const auto parsed = parse_expression(expression);
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<OperandShape> shapes;
  for (const auto& [name, tensor] : operands) shapes.push_back({name, tensor.extents(), tensor.format().scalar});
  return resolve(*parsed, shapes);
}

double resident_mb() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

Resources one_thread() { return {Memory(), Threads(1), Cancellation(), {}}; }

Expected<Session> session_with(const Operands& operands) {
  EngineOptions options;
  options.resources = one_thread();
  auto session = Session::create(options);
  if (!session) return session;
  for (const auto& [name, tensor] : operands) session->set(name, tensor);
  return session;
}

Expected<Engine> engine_with_one_thread() {
  EngineOptions options;
  options.resources = one_thread();
  return Engine::create(options);
}

Expected<Pipeline> pipeline_with(bool use_cache, std::optional<std::string> directory) {
  EngineOptions options;
  options.resources = one_thread();
  options.use_cache = use_cache;
  options.cache_directory = std::move(directory);
  return Pipeline::create(options);
}

/// Nanoseconds of one call, the median over ten rounds.
template <class Call>
double ns_per_call(int calls, Call call) {
  Timing timing;
  for (int round = 0; round < 10; ++round)
    timing.ms.push_back(time_ms([&] {
      for (int n = 0; n < calls; ++n) call();
    }));
  return timing.median() * 1e6 / calls;
}

std::vector<std::string> names_of(const Operands& operands) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : operands) names.push_back(name);
  return names;
}

Expected<void> hits() {
  const std::string expression = "y(i) = M(i,j) * x(j)";
  const auto operands = operands_of({{"M", "sparse(3x4,nnz=6) ds"}, {"x", "uniform(4)"}});
  if (!operands) return std::unexpected(operands.error());
  const Resources resources = one_thread();
  auto session = session_with(*operands);
  if (!session) return std::unexpected(session.error());
  const auto names = names_of(*operands);
  if (const auto first = session->evaluate(expression, names); !first) return std::unexpected(first.error());
  const auto engine = engine_with_one_thread();
  if (!engine) return std::unexpected(engine.error());
  const auto compiled = engine->compile(expression, *operands);
  if (!compiled) return std::unexpected(compiled.error());
  line("a kernel by its handle: a copy of it", ns_per_call(50000, [&] { const Kernel copy = *compiled; }), "ns", "<= 100");
  Bindings bindings;
  for (const auto& [name, tensor] : *operands) bindings.set(name, tensor);
  if (const auto first = compiled->run(bindings); !first) return std::unexpected(first.error());
  const double run_ns = ns_per_call(5000, [&] { (void)compiled->run(bindings); });
  line("run a kernel over bindings, results handed out", run_ns, "ns", "");
  if (const auto known = session->evaluate(expression); !known) return std::unexpected(known.error());
  const double text_ns = ns_per_call(5000, [&] { (void)session->evaluate(expression); });
  line("evaluate a known text, results handed out", text_ns, "ns", "");
  line("of that, what running its kernel would not take", std::max(0.0, text_ns - run_ns) / 1000, "us", "<= 2");
  line("evaluate in single steps, with a report", ns_per_call(200, [&] { (void)session->evaluate(expression, names); }) / 1000,
       "us", "");

  const auto network = network_of(expression, *operands);
  if (!network) return std::unexpected(network.error());
  const auto pipeline = pipeline_with(true, std::nullopt);
  if (!pipeline) return std::unexpected(pipeline.error());
  const auto facts = pipeline->facts(*network, *operands, {});
  const auto plan = pipeline->plan(*network, facts, {});
  if (!plan) return std::unexpected(plan.error());
  const auto kernel = pipeline->compile(*network, *plan, facts);
  if (!kernel) return std::unexpected(kernel.error());
  line("a plan from memory", ns_per_call(500, [&] { (void)pipeline->plan(*network, facts, {}); }) / 1000, "us", "");
  line("lower, and code from memory", ns_per_call(500, [&] { (void)pipeline->compile(*network, *plan, facts); }) / 1000, "us", "");
  auto bound = kernel->bind(*operands, resources, false);
  if (!bound) return std::unexpected(bound.error());
  line("bind tensors to a kernel", ns_per_call(500, [&] { (void)kernel->bind(*operands, resources, false); }) / 1000, "us", "");
  line("run what is bound (6 entries)", ns_per_call(5000, [&] { (void)bound->run(); }), "ns", "");

  MemoryCache<int> cache;
  const std::string key(700, 'k');
  const auto compute = []() -> Expected<int> { return 1; };
  line("a key of 700 bytes found in memory, 1 thread", ns_per_call(20000, [&] { (void)cache.get(key, compute); }), "ns", "<= 2000");
  constexpr int calls = 100000;
  const double ms = time_ms([&] {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread)
      threads.emplace_back([&] {
        for (int n = 0; n < calls; ++n) (void)cache.get(key, compute);
      });
  });
  line("the same by 8 threads at once, per hit and core", ms * 1e6 / calls / 8 * std::min(8U, std::thread::hardware_concurrency()), "ns",
       "<= 2000");
  return {};
}

Expected<void> loads(const std::string& directory) {
  const auto operands = operands_of({{"T", "sparse(50x40x30,nnz=500)"}, {"B", "uniform(40x16)"}, {"C", "uniform(30x16)"}});
  if (!operands) return std::unexpected(operands.error());
  const auto network = network_of("A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", *operands);
  if (!network) return std::unexpected(network.error());
  Timing planned;
  Timing compiled;
  Timing loaded;
  std::uint64_t generated = 0;
  for (int round = 0; round < 21; ++round) {
    const auto pipeline = pipeline_with(true, directory);
    if (!pipeline) return std::unexpected(pipeline.error());
    const auto facts = pipeline->facts(*network, *operands, {});
    Expected<Plan> plan = Plan{};
    const double plan_ms = time_ms([&] { plan = pipeline->plan(*network, facts, {}); });
    if (!plan) return std::unexpected(plan.error());
    Expected<CompiledNetwork> kernel = internal_error("");
    const double ms = time_ms([&] { kernel = pipeline->compile(*network, *plan, facts); });
    if (!kernel) return std::unexpected(kernel.error());
    if (round == 0) continue;
    planned.ms.push_back(plan_ms);
    compiled.ms.push_back(ms);
    loaded.ms.push_back(kernel->phases().load);
    generated += pipeline->counters().compiled;
  }
  line("a plan from disk, judged anew", planned.median(), "ms", "");
  line("a kernel from disk: lowered, found, read, checked, loaded", compiled.median(), "ms", "<= 0.3");
  line("of that, machine code made executable", loaded.median(), "ms", "");
  line("kernels for which LLVM generated code, in 20 processes' worth", static_cast<double>(generated), "", "0");
  return {};
}

Expected<void> many_calls(std::uint64_t calls) {
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> done{0};
  const auto operands = operands_of({{"M", "sparse(20x20,nnz=50) ds"}, {"x", "uniform(20)"}});
  if (!operands) return std::unexpected(operands.error());
  constexpr unsigned expressions = 100;
  double early = 0;
  const auto session = session_with(*operands);
  if (!session) return std::unexpected(session.error());
  const double ms = time_ms([&] {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < 8; ++thread)
      threads.emplace_back([&] {
        for (std::uint64_t n = 0; n < calls / 8; ++n) {
          const auto evaluation = session->evaluate(fmt::format("y(i) = {} * M(i,j) * x(j)", 1 + n % expressions));
          if (!evaluation || evaluation->at("y").values().size_bytes() != 20 * sizeof(double)) ++failed;
          if (++done == calls / 10) early = resident_mb();
        }
      });
  });
  line(fmt::format("{} evaluations, 8 threads, 100 texts, one session", calls), ms / 1000, "s", "");
  line("evaluations that failed", static_cast<double>(failed), "", "0");
  line("memory after a tenth of them", early, "MB", "");
  line("memory after all", resident_mb(), "MB", "the same");
  return {};
}

Expected<void> many_kernels(std::uint64_t kernels) {
  const auto pipeline = pipeline_with(true, std::nullopt);
  if (!pipeline) return std::unexpected(pipeline.error());
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> failed{0};
  std::map<std::uint64_t, double> memory;
  std::mutex mutex;
  const double ms = time_ms([&] {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < std::max(1U, std::thread::hardware_concurrency()); ++thread)
      threads.emplace_back([&] {
        for (std::uint64_t number = next++; number < kernels; number = next++) {
          // The extent of r is a fact, so each is a kernel of its own.
          const auto operands = operands_of({{"M", "sparse(3x2,nnz=3) ds"}, {"x", fmt::format("ones(2x{})", 200 + number)}});
          const auto network = operands ? network_of("y(i,r) = M(i,j) * x(j,r)", *operands) : internal_error("");
          if (!network) {
            ++failed;
            continue;
          }
          const auto facts = pipeline->facts(*network, *operands, {});
          const auto plan = pipeline->plan(*network, facts, {});
          if (!plan || !pipeline->compile(*network, *plan, facts)) ++failed;
          if ((number + 1) % (kernels / 5) == 0) {
            const std::lock_guard lock(mutex);
            memory[number + 1] = resident_mb();
          }
        }
      });
  });
  line(fmt::format("{} kernels, each another one, planned and compiled", kernels), ms / 1000, "s", "");
  line("of them compiled", static_cast<double>(pipeline->counters().compiled), "", fmt::format("{}", kernels));
  line("that failed", static_cast<double>(failed), "", "0");
  for (const auto& [count, mb] : memory) line(fmt::format("memory after {}", count), mb, "MB", count == kernels / 5 ? "" : "the same");
  return {};
}

struct FigurePair {
  std::string name;
  std::string expression;
  Specifications operands;
};

/// What one way of making a kernel costs once, and then per run.
struct Way {
  double once_ms = 0;
  double run_us = 0;
};

std::string break_even(const Way& dear, const Way& cheap) {
  if (dear.run_us >= cheap.run_us) return "never";
  return fmt::format("{:.0f}", std::ceil(std::max(0.0, dear.once_ms - cheap.once_ms) * 1000 / (cheap.run_us - dear.run_us)));
}

Expected<Way> measured(const Pipeline& pipeline, const Network& network, const Operands& operands,
                       const std::vector<OperandFacts>& facts, const Plan& plan, Specialization grade) {
  Way way;
  Expected<CompiledNetwork> kernel = internal_error("");
  Timing once;
  for (int round = 0; round < 3; ++round) {
    once.ms.push_back(time_ms([&] { kernel = pipeline.compile(network, plan, facts, false, {.grade = grade, .tensors = &operands}); }));
    if (!kernel) return std::unexpected(kernel.error());
  }
  way.once_ms = once.quantile(0);
  auto bound = kernel->bind(operands, pipeline.options().resources, false);
  if (!bound) return std::unexpected(bound.error());
  Timing runs;
  const double one = std::max(1e-4, time_ms([&] { (void)bound->run(); }));
  const int calls = std::clamp(static_cast<int>(2.0 / one), 1, 2000);
  for (int round = 0; round < 15; ++round)
    runs.ms.push_back(time_ms([&] {
      for (int n = 0; n < calls; ++n) (void)bound->run();
    }) / calls);
  way.run_us = runs.quantile(0) * 1000;
  return way;
}

Expected<void> pays() {
  const FigurePair all[] = {
      {"SpMV, 500 entries", "y(i) = M(i,j) * x(j)", {{"M", "sparse(100x100,nnz=500) ds"}, {"x", "uniform(100)"}}},
      {"SpMV, 4000 entries", "y(i) = M(i,j) * x(j)", {{"M", "sparse(500x500,nnz=4000) ds"}, {"x", "uniform(500)"}}},
      {"SpMM, 500 entries, r = 16", "y(i,r) = M(i,j) * x(j,r)", {{"M", "sparse(100x100,nnz=500) ds"}, {"x", "uniform(100x16)"}}},
      {"SpMM, 200000 entries, r = 32",
       "y(i,r) = M(i,j) * x(j,r)",
       {{"M", "sparse(20000x20000,nnz=200000) ds"}, {"x", "uniform(20000x32)"}}},
      {"MTTKRP, 2000 entries, r = 16",
       "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)",
       {{"T", "sparse(40x40x40,nnz=2000)"}, {"B", "uniform(40x16)"}, {"C", "uniform(40x16)"}}},
      {"MTTKRP, 300000 entries, r = 32",
       "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)",
       {{"T", "sparse(2000x300x300,nnz=300000)"}, {"B", "uniform(300x32)"}, {"C", "uniform(300x32)"}}},
  };
  fmt::print(
      "\nOnce and per run, one thread; calls to break even against the generic kernel (planning: against storing every intermediate)\n");
  fmt::print("  {:<32} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "", "plan ms", "generic", "profiled", "baked", "generic",
             "profiled", "baked", "calls", "calls");
  fmt::print("  {:<32} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "", "(calls)", "ms", "ms", "ms", "us", "us", "us",
             "profiled", "baked");
  const auto pipeline = pipeline_with(false, std::nullopt);
  if (!pipeline) return std::unexpected(pipeline.error());
  for (const FigurePair& one : all) {
    const auto operands = operands_of(one.operands);
    if (!operands) return std::unexpected(operands.error());
    const auto network = network_of(one.expression, *operands);
    if (!network) return std::unexpected(network.error());
    const auto facts = pipeline->facts(*network, *operands, {});
    PlanOptions often;
    often.calls = 1e6;
    Expected<Plan> plan = Plan{};
    const double plan_ms = time_ms([&] { plan = pipeline->plan(*network, facts, often); });
    if (!plan) return std::unexpected(plan.error());
    Expected<Plan> unfused = Plan{};
    const double unfused_ms = time_ms([&] { unfused = plan_unfused(weft::Problem{*network, facts, often}); });
    if (!unfused) return std::unexpected(unfused.error());
    std::map<Specialization, Way> ways;
    for (const Specialization grade : {Specialization::generic, Specialization::profiled, Specialization::baked}) {
      const auto way = measured(*pipeline, *network, *operands, facts, *plan, grade);
      if (!way) return std::unexpected(way.error());
      ways[grade] = *way;
    }
    const auto unplanned = measured(*pipeline, *network, *operands, facts, *unfused, Specialization::profiled);
    if (!unplanned) return std::unexpected(unplanned.error());
    const Way& generic = ways[Specialization::generic];
    const Way& profiled = ways[Specialization::profiled];
    const Way& baked = ways[Specialization::baked];
    const bool can_bake = operands->begin()->second.nnz() <= most_baked_entries || operands->rbegin()->second.nnz() <= most_baked_entries;
    // The generic kernel is there already: all of the other's compilation has to pay.
    fmt::print("  {:<32} {:>4.2f} {:>4} {:>9.2f} {:>9.2f} {:>9} {:>9.2f} {:>9.2f} {:>9} {:>9} {:>9}\n", one.name, plan_ms,
               "(" + break_even({plan_ms, profiled.run_us}, {unfused_ms, unplanned->run_us}) + ")", generic.once_ms, profiled.once_ms,
               can_bake ? fmt::format("{:.2f}", baked.once_ms) : "", generic.run_us, profiled.run_us,
               can_bake ? fmt::format("{:.2f}", baked.run_us) : "", break_even(profiled, {0, generic.run_us}),
               can_bake ? break_even(baked, {0, generic.run_us}) : "");
  }
  return {};
}

}  // namespace

int engine_figures(std::uint64_t calls, std::uint64_t kernels) {
  std::string directory = (std::filesystem::temp_directory_path() / "weft-bench-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    fmt::print(stderr, "error: cannot make a directory like {}\n", directory);
    return 1;
  }
  fmt::print("Hits\n");
  Expected<void> done = hits();
  if (done) {
    fmt::print("\nA second process\n");
    done = loads(directory + "/cache");
  }
  if (done) done = pays();
  if (done) {
    fmt::print("\nMany calls\n");
    done = many_calls(calls);
  }
  if (done) {
    fmt::print("\nMany kernels\n");
    done = many_kernels(std::max<std::uint64_t>(kernels, 5));
  }
  std::filesystem::remove_all(directory);
  if (!done) fmt::print(stderr, "error: {}\n", done.error().message);
  return done ? 0 : 1;
}

}  // namespace weft::bench
