// What a host pays around a kernel in a loop: compiling what is known, sessions, rebinding, new values.
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/baseline.h"
#include "bench/baseline_loop.h"
#include "bench/data.h"
#include "bench/host_figures.h"
#include "bench/single_figures.h"
#include "weft.h"
#include "weft/host.h"
#include "weft/session.h"

namespace weft::bench {
namespace {

constexpr const char* spmv_text = "y(i) = M(i,j) * x(j)";
constexpr const char* mttkrp_text = "A(i,r) = T(i,j,k) * F1(j,r) * F2(k,r)";

Bindings bound(const Tensors& operands) {
  Bindings bindings;
  for (const auto& [name, tensor] : operands) bindings.set(name, tensor);
  return bindings;
}

Lists lists_of(const Tensor& compressed) {
  return {compressed.levels()[1].pos.as<const std::uint32_t>(), compressed.levels()[1].crd.as<const std::uint32_t>(),
          compressed.values().as<const double>()};
}

/// Through weft.h, as hosts in other languages do. The first kind of error stays.
class CHost {
 public:
  CHost(const std::vector<std::int32_t>& pos, const std::vector<std::int32_t>& crd, const std::vector<double>& values,
        const std::vector<double>& x)
      : pos_(pos), crd_(crd), values_(values) {
    const std::uint64_t size = x.size();
    weft_options* options = nullptr;
    check(weft_options_create(&options, nullptr));
    check(weft_options_set_threads(options, 1, nullptr));
    check(weft_engine_create(options, &engine_, nullptr));
    weft_options_free(options);
    check(weft_tensor_csr(engine_, WEFT_F64, size, size, values.size(), 32, pos.data(), crd.data(), values.data(),
                          WEFT_BORROW, &matrix_, nullptr));
    check(weft_tensor_dense(engine_, WEFT_F64, 1, &size, nullptr, x.data(), WEFT_BORROW, &vector_, nullptr));
    check(weft_bindings_create(&bindings_, nullptr));
    check(weft_bindings_set(bindings_, "M", matrix_, 0, nullptr));
    check(weft_bindings_set(bindings_, "x", vector_, 0, nullptr));
    check(weft_session_create(engine_, &session_, nullptr));
    check(weft_session_set(session_, "M", matrix_, nullptr));
  }
  CHost(const CHost&) = delete;
  CHost& operator=(const CHost&) = delete;
  ~CHost() {
    weft_session_free(session_);
    weft_bindings_free(bindings_);
    weft_tensor_free(vector_);
    weft_tensor_free(matrix_);
    weft_engine_free(engine_);
  }
  void compile() {
    weft_kernel* kernel = nullptr;
    check(weft_engine_compile(engine_, spmv_text, bindings_, nullptr, &kernel, nullptr));
    weft_kernel_free(kernel);
  }
  void set_and_answer() {
    check(weft_session_set(session_, "x", vector_, nullptr));
    weft_evaluation* evaluation = nullptr;
    check(weft_session_answer(session_, spmv_text, 0, nullptr, &evaluation, nullptr));
    weft_evaluation_free(evaluation);
  }
  /// A new tensor over the same arrays, of which nothing is known.
  void set_matrix_and_answer() {
    weft_tensor* fresh = nullptr;
    const std::uint64_t size = pos_.size() - 1;
    check(weft_tensor_csr(engine_, WEFT_F64, size, size, values_.size(), 32, pos_.data(), crd_.data(), values_.data(),
                          WEFT_BORROW, &fresh, nullptr));
    check(weft_session_set(session_, "M", fresh, nullptr));
    weft_tensor_free(fresh);
    set_and_answer();
  }
  bool failed() const { return failed_; }

 private:
  void check(std::int32_t kind) { failed_ = failed_ || kind != WEFT_OK; }
  const std::vector<std::int32_t>&pos_, &crd_;
  const std::vector<double>& values_;
  weft_engine* engine_ = nullptr;
  weft_tensor* matrix_ = nullptr;
  weft_tensor* vector_ = nullptr;
  weft_bindings* bindings_ = nullptr;
  weft_session* session_ = nullptr;
  bool failed_ = false;
};

/// A diagonal of four entries, and a vector: calls that compute next to nothing.
Expected<void> four_entries(Errors& errors) {
  const Engine engine = engine_with(1);
  const std::vector<std::int32_t> pos = {0, 1, 2, 3, 4}, crd = {0, 1, 2, 3};
  const std::vector<double> values(4, 2), others(4, 3), ones(4, 1), right(4, 2);
  const auto M = borrow_csr(4, 4, pos, crd, values);
  const auto x = borrow_dense({4}, ones);
  if (!errors.good(M) || !errors.good(x)) return errors.first();
  const Tensors operands = {{"M", *M}, {"x", *x}};
  Tensors changed = operands;
  const Session session(engine);
  session.set("M", *M);
  session.set("x", *x);
  const auto evaluated = [&] {
    const auto results = session.evaluate(spmv_text);
    if (errors.good(results) && !same_values(results->at("y"), right)) errors.wrong("a session's answer");
  };
  CHost c(pos, crd, values, ones);
  const auto us = microseconds({[&] { errors.good(engine.compile(spmv_text, operands)); },
                                [&] {
                                  changed["M"] = *same_pattern(*M, others);
                                  errors.good(engine.compile(spmv_text, changed));
                                },
                                [&] { c.compile(); }, evaluated,
                                [&] {
                                  session.set("x", *borrow_dense({4}, ones));
                                  evaluated();
                                },
                                [&] {
                                  session.set("M", *borrow_csr(4, 4, pos, crd, values));
                                  evaluated();
                                },
                                [&] { c.set_and_answer(); }, [&] { c.set_matrix_and_answer(); }},
                               100);
  if (c.failed()) errors.wrong("a call of weft.h");
  print_line("compile a known kernel, 4 entries", us[0]);
  print_line("the same, other values over the pattern each time", us[1]);
  print_line("weft_engine_compile, the same", us[2]);
  print_line("session: evaluate a known text", us[3]);
  print_line("session: set a vector, evaluate", us[4], "evaluating", us[3]);
  print_line("session: set the matrix, evaluate", us[5], "evaluating", us[3]);
  print_line("weft_session_set of a vector, weft_session_answer", us[6], "evaluating in C++", us[3]);
  print_line("weft_session_set of matrix and vector, weft_session_answer", us[7], "evaluating in C++", us[3]);
  return errors.first();
}

Expected<void> tiny_runs(Errors& errors) {
  const Engine engine = engine_with(1);
  const auto sparse = random_sparse({{100, 100}, 1000, 1, 1}, engine.options().resources);
  if (!errors.good(sparse)) return errors.first();
  const auto M = convert(*sparse, *parse_format("ds"), engine.options().resources, "M");
  const std::vector<double> ones(100, 1), twos(100, 2);
  const auto x = borrow_dense({100}, ones), z = borrow_dense({100}, twos);
  const auto kernel = engine.compile(spmv_text, {{"M", *M}, {"x", *x}});
  if (!errors.good(kernel)) return errors.first();
  const Bindings steady = bound({{"M", *M}, {"x", *x}});
  Bindings rebound = steady;
  std::vector<double> y(100);
  const Lists rows = lists_of(*M);
  multiply(rows, ones, y);
  const auto results = kernel->run(steady);
  if (errors.good(results) && !same_values(results->at("y"), y)) errors.wrong("SpMV");
  bool turn = false;
  const auto us = microseconds({[&] { errors.good(kernel->run(steady)); },
                                [&] {
                                  rebound.set("x", (turn = !turn) ? *z : *x);
                                  errors.good(kernel->run(rebound));
                                },
                                [&] { multiply(rows, ones, y); }},
                               500);
  print_line("run of bound operands, SpMV 100 x 100, 1000 entries", us[0], "a hand-written loop", us[2]);
  print_line("set the vector, run", us[1], "the run alone", us[0]);
  return errors.first();
}

/// A vector of three entries beside a matrix of five million: what a run looks at has to be the vector.
Expected<void> short_vector(unsigned threads, Errors& errors) {
  const Engine engine = engine_with(threads);
  const Resources& resources = engine.options().resources;
  const std::uint64_t size = 500'000;
  const auto sparse = random_sparse({{size, size}, 5'000'000, 1, 1}, resources);
  if (!errors.good(sparse)) return errors.first();
  const auto M = convert(*sparse, *parse_format("ds:1,0"), resources, "M");
  if (!errors.good(M)) return errors.first();
  const std::vector<std::uint32_t> pos = {0, 3}, chosen = {7, 70'000, 400'000};
  const std::vector<double> values = {1, 2, 3};
  const auto vector = [&] { return *borrow(sparse_format(1), {size}, {{pos, chosen}}, values); };
  const Tensors operands = {{"M", *M}, {"x", vector()}};
  CompileOptions options;
  options.formats["y"] = sparse_format(1);
  options.calls = 1000;
  const auto kernel = engine.compile(spmv_text, operands, options);
  if (!errors.good(kernel)) return errors.first();
  const Bindings steady = bound(operands);
  Bindings rebound = steady;
  std::vector<double> y(size);
  std::vector<std::uint32_t> touched;
  const Lists columns = lists_of(*M);
  multiply_columns(columns, chosen, values, y, touched);
  const auto results = kernel->run(steady);
  if (!errors.good(results)) return errors.first();
  const auto rows = results->at("y").levels()[0].crd.as<const std::uint32_t>();
  const auto sums = results->at("y").values().as<const double>();
  if (rows.size() != touched.size()) errors.wrong("SpMSpV");
  for (std::size_t n = 0; n < rows.size(); ++n)
    if (sums[n] != y[rows[n]]) errors.wrong("SpMSpV");
  const auto us = microseconds({[&] { errors.good(kernel->run(steady)); },
                                [&] {
                                  rebound.set("x", vector());
                                  errors.good(kernel->run(rebound));
                                },
                                [&] { multiply_columns(columns, chosen, values, y, touched); },
                                [&] { errors.good(engine.compile(spmv_text, operands, options)); }},
                               10);
  print_line("run, 3 entries of x beside 5 M of M", us[0], "a hand-written loop", us[2]);
  print_line("set x, run", us[1], "the run alone", us[0]);
  print_line("compile the kernel, which is known", us[3]);
  return errors.first();
}

/// Values of a host that asks the system for large pages, as numpy does for arrays of 4 MB and more.
class LargePages {
 public:
  explicit LargePages(std::size_t elements) : elements_(elements) {
    constexpr std::size_t page = 2 << 20;
    const std::size_t bytes = (elements * sizeof(double) + page - 1) / page * page;
    memory_.reset(static_cast<double*>(std::aligned_alloc(page, bytes)));
    (void)::madvise(memory_.get(), bytes, MADV_HUGEPAGE);
    std::ranges::fill(values(), 1);
  }
  std::span<double> values() { return {memory_.get(), elements_}; }

 private:
  struct Free {
    void operator()(double* memory) const { std::free(memory); }
  };
  std::size_t elements_;
  std::unique_ptr<double, Free> memory_;
};

/// A tensor of a million entries in another layout than the kernel reads.
Expected<void> converted_layout(unsigned threads, Errors& errors) {
  const Engine engine = engine_with(threads);
  const Resources& resources = engine.options().resources;
  const auto T = random_sparse({{2000, 3000, 4000}, 1'000'000, 1, 1}, resources);
  const auto F1 = random_dense({3000, 16}, 1, resources);
  const auto F2 = random_dense({4000, 16}, 2, resources);
  if (!errors.good(T) || !errors.good(F1) || !errors.good(F2)) return errors.first();
  const auto turned = convert(*T, *parse_format("sss:2,1,0"), resources, "T");
  if (!errors.good(turned)) return errors.first();
  const Tensors operands = {{"T", *T}, {"F1", *F1}, {"F2", *F2}};
  const Tensors compiled_for = {{"T", *turned}, {"F1", *F1}, {"F2", *F2}};
  CompileOptions options;
  options.formats["T"] = turned->format();
  options.calls = 1000;
  const auto kernel = engine.compile(mttkrp_text, compiled_for, options);
  if (!errors.good(kernel)) return errors.first();

  // A kernel that knows when it is compiled that values of T change.
  CompileOptions changing = options;
  changing.changing = {"T"};
  const auto placed = engine.compile(mttkrp_text, operands, changing);
  if (!errors.good(placed)) return errors.first();

  Bindings steady = bound(operands), factor = bound(operands);
  Bindings replaced = bound(operands), announced = bound(operands), in_place = bound(operands);
  Bindings placed_in_place = bound(operands);
  std::vector<double> ones(T->nnz(), 1), twos(T->nnz(), 2), mine(T->nnz(), 1), told(T->nnz(), 1), foreseen(T->nnz(), 1);
  placed_in_place.set("T", *same_pattern(*T, foreseen));
  LargePages large(T->nnz());
  Bindings placed_in_large_pages = bound(operands);
  placed_in_large_pages.set("T", *same_pattern(*T, large.values()));
  in_place.set("T", *same_pattern(*T, mine), {.changes = true});
  const Tensor shown = *same_pattern(*T, told);
  announced.set("T", shown);
  const auto replace = [&](const std::vector<double>& values) { return replaced.replace_values("T", values); };

  // The hand-written kernel over the same values gives what is right.
  const Problem problem = {.name = "", .expression = mttkrp_text, .data = "", .baseline = Baseline::mttkrp, .rank = 16};
  const auto variants = make_baselines(problem, {{"T", *same_pattern(*T, ones)}, {"F1", *F1}, {"F2", *F2}}, resources);
  if (!errors.good(variants)) return errors.first();
  const BaselineKernel& by_hand = variants->front();
  by_hand.run(resources.threads);
  const auto expected = by_hand.result();
  if (!errors.good(expected)) return errors.first();
  std::vector<double> right(expected->values().as<const double>().begin(), expected->values().as<const double>().end());
  const auto check_of = [&](const Kernel& checked, const Bindings& bindings) {
    const auto results = checked.run(bindings);
    if (errors.good(results) && !same_values(results->at("A"), right)) errors.wrong("MTTKRP of other values");
  };
  const auto check = [&](const Bindings& bindings) { check_of(*kernel, bindings); };
  errors.good(replace(ones));
  check(replaced);
  check(in_place);
  check(announced);
  check_of(*placed, replaced);
  check_of(*placed, placed_in_place);
  check_of(*placed, placed_in_large_pages);
  for (double& value : right) value *= 2;
  std::ranges::fill(mine, 2);
  std::ranges::fill(told, 2);
  std::ranges::fill(foreseen, 2);
  std::ranges::fill(large.values(), 2);
  shown.values_changed();
  errors.good(replace(twos));
  check(replaced);
  check(in_place);
  check(announced);
  check_of(*placed, replaced);
  check_of(*placed, placed_in_place);
  check_of(*placed, placed_in_large_pages);

  bool turn = false;
  const auto us = microseconds({[&] { errors.good(kernel->run(steady)); },
                                [&] {
                                  errors.good(replace((turn = !turn) ? ones : twos));
                                  errors.good(kernel->run(replaced));
                                },
                                [&] {
                                  shown.values_changed();
                                  errors.good(kernel->run(announced));
                                },
                                [&] { errors.good(kernel->run(in_place)); },
                                [&] {
                                  factor.set("F1", *F1);
                                  errors.good(kernel->run(factor));
                                },
                                [&] { errors.good(engine.compile(mttkrp_text, compiled_for, options)); },
                                [&] { by_hand.run(resources.threads); },
                                [&] {
                                  errors.good(replace((turn = !turn) ? ones : twos));
                                  errors.good(placed->run(replaced));
                                },
                                [&] { errors.good(placed->run(placed_in_place)); },
                                [&] { errors.good(placed->run(placed_in_large_pages)); }},
                               1, 6);
  print_line("MTTKRP of 1 M entries, R = 16, over a converted layout", us[0], "SPLATT's structure, rotated", us[6]);
  print_line("values replaced, run", us[1], "the run alone", us[0]);
  print_line("values_changed(), run", us[2], "the run alone", us[0]);
  print_line("values that change without a word, run", us[3], "the run alone", us[0]);
  print_line("changing foreseen: values replaced, run", us[7], "the run alone", us[0]);
  print_line("changing foreseen: values that change without a word, run", us[8], "the run alone", us[0]);
  print_line("the same, values in large pages, as numpy's are", us[9], "the run alone", us[0]);
  print_line("one factor set, run", us[4], "the run alone", us[0]);
  print_line("compile the kernel, which is known", us[5]);
  return errors.first();
}

}  // namespace

Expected<void> tiny_host_calls(Errors& errors) {
  if (auto done = four_entries(errors); !done) return done;
  return tiny_runs(errors);
}

Expected<void> host_calls(unsigned threads, Errors& errors) {
  if (auto done = short_vector(threads, errors); !done) return done;
  return converted_layout(threads, errors);
}

static Expected<void> methods(const std::string& data, bool calls_too, Expected<void> done, Errors& errors) {
  for (const unsigned threads : {1U, 2U}) {
    if (done) print_head(fmt::format("Large operands, {} thread{}", threads, threads > 1 ? "s" : ""));
    if (done && calls_too) done = host_calls(threads, errors);
    if (done) done = host_methods(data, threads, errors);
  }
  return done;
}

static Expected<void> large_and_shared(const std::string& data, Expected<void> done, Errors& errors) {
  done = methods(data, true, std::move(done), errors);
  if (done) print_head("Shared engines and tensors");
  if (done) done = host_sharing(errors);
  return done;
}

int hosts(const std::string& data, const std::string& only) {
  Errors errors;
  Expected<void> done;
  if (only == "methods") done = methods(data, false, std::move(done), errors);
  if (only.empty() || only == "threads") print_head(only.empty() ? "Small calls, 1 thread" : "Threads of a host");
  if (only == "threads") done = threads_on_engines(errors);
  if (only.empty()) done = tiny_host_calls(errors);
  if (done && (only.empty() || only == "pieces")) {
    print_head("Tensors in pieces");
    done = host_pieces(errors);
  }
  if (only.empty()) done = large_and_shared(data, std::move(done), errors);
  if (done) return 0;
  fmt::print(stderr, "error: {}\n", done.error().message);
  return 1;
}

}  // namespace weft::bench
