// weft-bench: the table of measurements, and a few single figures.
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/planning.h"
#include "bench/plans.h"
#include "bench/record.h"
#include "bench/single_figures.h"
#include "bench/suite.h"

namespace {

int print_comparison(const std::string& old_path, const std::string& new_path, double fail_above) {
  const auto comparison = weft::bench::compare(old_path, new_path);
  if (!comparison) {
    fmt::print(stderr, "error: {}\n", comparison.error().message);
    return 2;
  }
  fmt::print("{}", comparison->text);
  return fail_above > 0 && comparison->worst > fail_above ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures weft side by side with hand-written kernels; results are verified first.", "weft-bench");
  app.require_subcommand(0, 1);

  weft::bench::SuiteOptions suite;
  app.add_option("--filter", suite.filters, "only problems whose name contains one of these texts");
  app.add_option("--threads", suite.threads, "numbers of threads, default 1,2")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--data", suite.data, "directory with real tensors (NAME.tns.zst)")->check(CLI::ExistingDirectory);
  app.add_option("--json", suite.json, "write all times to this file");
  app.add_option("--seconds", suite.seconds, "of measuring per problem and number of threads")->check(CLI::PositiveNumber);
  app.add_flag("--quick", suite.quick, "synthetic tensors twenty times smaller");
  app.add_flag("--list", suite.list, "show the problems");
  app.add_flag("--plans", suite.plans, "print the chosen schedules");

  std::string old_path;
  std::string new_path;
  double fail_above = 0;
  CLI::App* compare = app.add_subcommand("compare", "compare two files written by --json");
  compare->add_option("OLD", old_path)->required();
  compare->add_option("NEW", new_path)->required();
  compare->add_option("--fail-above", fail_above, "exit 1 if a problem takes more than this ratio");
  weft::bench::PlansOptions exam;
  CLI::App* plans = app.add_subcommand("plans", "how far the planner's choices are from the fastest schedules");
  plans->add_option("--filter", exam.filters, "only networks whose name contains one of these texts");
  plans->add_option("--data", exam.data, "directory with real tensors")->check(CLI::ExistingDirectory);
  plans->add_option("--sample", exam.sample, "schedules drawn per network, at most")->check(CLI::PositiveNumber);
  plans->add_option("--seed", exam.seed, "of the schedules and of drawn tensors");
  plans->add_option("--seconds", exam.seconds, "of timing the best schedules in turn")->check(CLI::PositiveNumber);
  plans->add_option("--budget", exam.budget, "seconds per network after which no more schedules are tried")
      ->check(CLI::PositiveNumber);
  plans->add_option("--threads", exam.threads, "that kernels run on and plans are made for")->check(CLI::PositiveNumber);
  plans->add_option("--json", exam.json, "write everything measured to this file");
  plans->add_option("--known", exam.known, "such a file: times in it are not measured again")->check(CLI::ExistingFile);
  plans->add_option("--against", exam.against, "such a file: its choices are timed in turn with the new ones")->check(CLI::ExistingFile);
  plans->add_option("--calibration", exam.calibration, "constants of the cost model, as weft calibrate writes them")
      ->check(CLI::ExistingFile);
  plans->add_option("--fit", exam.fit, "write constants fitted to the networks that are not held out to this file");
  plans->add_flag("--list", exam.list, "show the networks");
  plans->add_flag("--plans", exam.schedules, "print the chosen and the best schedules");
  weft::bench::PlanningOptions times;
  CLI::App* planning = app.add_subcommand("planning", "how long planning and proving take");
  planning->add_option("--filter", times.filters, "only networks whose name contains one of these texts");
  planning->add_option("--data", times.data, "directory with real tensors")->check(CLI::ExistingDirectory);
  planning->add_option("--repeat", times.repeat, "plans made of each network")->check(CLI::PositiveNumber);
  planning->add_option("--calls", times.calls, "that plans are made for")->check(CLI::PositiveNumber);
  planning->add_flag("--no-proofs", times.no_proofs, "plan without proofs only");
  planning->add_flag("--plans", times.schedules, "print the chosen schedules");
  std::string file;
  CLI::App* read = app.add_subcommand("read", "speed of reading a tensor from text");
  read->add_option("FILE", file)->required()->check(CLI::ExistingFile);
  CLI::App* wake = app.add_subcommand("wake", "a short kernel after idling, on 1 and 2 threads");
  CLI::App* startup = app.add_subcommand("startup", "process start to result, cold and from the disk cache");
  CLI::App* engine = app.add_subcommand("engine", "caches and specialisation: what they cost and save, what memory they leave");
  CLI::App* loops = app.add_subcommand("hosts", "what a host pays around a kernel in a loop");
  std::string loops_data;
  loops->add_option("--data", loops_data, "directory with real tensors")->check(CLI::ExistingDirectory);
  std::string loops_only;
  loops->add_option("--only", loops_only, "threads: that call at once, on one engine and on one each; pieces: tensors cut and put "
                                          "together; methods: sweeps, first compiles, searches")
      ->check(CLI::IsMember({"threads", "pieces", "methods"}));
  CLI::App* layouts = app.add_subcommand("layouts", "layouts of matrices side by side, and what weft chooses");
  std::string layouts_data;
  layouts->add_option("--data", layouts_data, "directory with real tensors")->check(CLI::ExistingDirectory);
  std::vector<std::string> layouts_filters;
  layouts->add_option("--filter", layouts_filters, "only matrices whose name contains one of these texts");
  unsigned layouts_threads = 1;
  layouts->add_option("--threads", layouts_threads, "that weft runs on")->check(CLI::PositiveNumber);
  CLI::App* dense = app.add_subcommand("dense", "products of dense matrices, beside a BLAS");
  std::string blas = "libopenblas.so.0";
  dense->add_option("--blas", blas, "the library, loaded if it is there");
  unsigned dense_threads = 1;
  dense->add_option("--threads", dense_threads, "that both run on")->check(CLI::PositiveNumber);
  std::uint64_t calls = 1'000'000;
  std::uint64_t kernels = 10'000;
  engine->add_option("--calls", calls, "evaluations from 8 threads")->check(CLI::PositiveNumber);
  engine->add_option("--kernels", kernels, "distinct kernels")->check(CLI::PositiveNumber);
  CLI::App* even = app.add_subcommand("balance", "how even nests of real tensors are cut for 2 to 32 threads");
  std::string even_data;
  even->add_option("--data", even_data, "directory with real tensors")->required()->check(CLI::ExistingDirectory);
  std::vector<std::string> even_filters;
  even->add_option("--filter", even_filters, "only tensors and matrices whose name contains one of these texts");
  CLI11_PARSE(app, argc, argv);

  if (compare->parsed()) return print_comparison(old_path, new_path, fail_above);
  if (plans->parsed()) return weft::bench::run_plans(exam);
  if (planning->parsed()) return weft::bench::run_planning(times);
  if (read->parsed()) return weft::bench::read_speed(file);
  if (wake->parsed()) return weft::bench::wake();
  if (loops->parsed()) return weft::bench::hosts(loops_data, loops_only);
  if (even->parsed()) return weft::bench::balance(even_data, even_filters);
  if (layouts->parsed()) return weft::bench::compare_layouts(layouts_data, layouts_filters, layouts_threads);
  if (dense->parsed()) return weft::bench::dense_products(blas, dense_threads);
  if (engine->parsed()) return weft::bench::engine_figures(calls, kernels);
  if (startup->parsed())
    return weft::bench::startup((std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weft").string());
  return weft::bench::run_suite(suite);
}
