// The whole C API.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/memory/fault_points.h"
#include "unit/runtime/file_fixture.h"
#include "weft.h"

namespace weft::c_api_faults_test {

using allocation_faults::armed;
using test::fail_every_allocation;
using test::judged;
using test::Outcome;
using test::TemporaryDirectory;

namespace {

/// A handle that is freed as the C API says.
template <class Object, void (*Free)(Object*)>
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { Free(object_); }
  /// Where a function puts another one.
  Object** place() {
    Free(std::exchange(object_, nullptr));
    return &object_;
  }
  operator Object*() const { return object_; }

 private:
  Object* object_ = nullptr;
};
using CancellationHandle = Handle<weft_cancellation, weft_cancellation_free>;
using OptionsHandle = Handle<weft_options, weft_options_free>;
using EngineHandle = Handle<weft_engine, weft_engine_free>;
using TensorHandle = Handle<weft_tensor, weft_tensor_free>;
using StatisticsHandle = Handle<weft_statistics, weft_statistics_free>;
using RequestHandle = Handle<weft_request, weft_request_free>;
using SessionHandle = Handle<weft_session, weft_session_free>;
using KernelHandle = Handle<weft_kernel, weft_kernel_free>;
using CompilationHandle = Handle<weft_compilation, weft_compilation_free>;
using BindingsHandle = Handle<weft_bindings, weft_bindings_free>;
using EvaluationHandle = Handle<weft_evaluation, weft_evaluation_free>;

/// Calls functions until one fails.
class Calls {
 public:
  /// Whether this one and all before it succeeded; those behind a failure are not called.
  template <class Function>
  bool good(Function&& function) {
    if (outcome_.error || !outcome_.wrong.empty()) return false;
    weft_error* error = nullptr;
    const std::int32_t status = armed([&] { return function(&error); });
    if (status == WEFT_OK) {
      if (error != nullptr) outcome_.wrong = "an error beside success";
      return error == nullptr;
    }
    const bool resource = status == WEFT_RESOURCE && weft_error_kind(error) == WEFT_RESOURCE;
    outcome_.error = Error{resource ? ErrorKind::resource : ErrorKind::internal, weft_error_message(error)};
    weft_error_free(error);
    return false;
  }
  void judge(bool holds, const char* what) {
    if (!outcome_.error && outcome_.wrong.empty() && !holds) outcome_.wrong = what;
  }
  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

#define GOOD(...) calls.good([&](weft_error** error) { return __VA_ARGS__; })

const std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2}, rows = {0, 0, 2, 2};
const std::vector<double> values = {1, 2, 3, 4}, x_values = {1, 10, 100, 1000};
const std::uint64_t extents[] = {3, 4};
const char* const product = "y(i) = M(i,j) * x(j)";

void make_engine(EngineHandle& engine) { REQUIRE(weft_engine_create(nullptr, engine.place(), nullptr) == WEFT_OK); }
void make_engine_of_one(EngineHandle& engine) {
  OptionsHandle options;
  REQUIRE(weft_options_create(options.place(), nullptr) == WEFT_OK);
  REQUIRE(weft_options_set_threads(options, 1, nullptr) == WEFT_OK);
  REQUIRE(weft_engine_create(options, engine.place(), nullptr) == WEFT_OK);
}
void make_operands(const EngineHandle& engine, TensorHandle& matrix, TensorHandle& x) {
  REQUIRE(weft_tensor_csr(engine, WEFT_F64, 3, 4, 4, 32, pos.data(), crd.data(), values.data(), WEFT_COPY,
                          matrix.place(), nullptr) == WEFT_OK);
  REQUIRE(weft_tensor_dense(engine, WEFT_F64, 1, extents + 1, nullptr, x_values.data(), WEFT_COPY, x.place(), nullptr) == WEFT_OK);
}
bool right(weft_evaluation* evaluation) {
  TensorHandle y;
  const void* found = nullptr;
  std::uint64_t count = 0;
  if (weft_evaluation_result(evaluation, "y", y.place(), nullptr) != WEFT_OK) return false;
  if (weft_tensor_values(y, &found, &count, nullptr) != WEFT_OK || count != 3) return false;
  const auto* sums = static_cast<const double*>(found);
  return sums[0] == 2001 && sums[1] == 0 && sums[2] == 430;
}

void no_line(void*, const char*) {}
void no_progress(void*, const char*, double) {}
void one_after_the_other(void*, std::uint32_t slots, void (*body)(void*, std::uint32_t), void* state) {
  for (std::uint32_t slot = 0; slot < slots; ++slot) body(state, slot);
}
void no_task(void*, std::uint64_t, std::uint32_t) {}

}  // namespace

TEST_CASE("faults: C, options and engines") {
  const TemporaryDirectory directory;
  const std::string cache = directory.path("a directory with a name that does not fit into a string without an allocation");
  fail_every_allocation("C options", [&]() -> Outcome {
    Calls calls;
    CancellationHandle cancellation;
    OptionsHandle options;
    EngineHandle engine, other;
    std::uint64_t counter = 0;
    GOOD(weft_cancellation_create(cancellation.place(), error));
    GOOD(weft_options_create(options.place(), error));
    GOOD(weft_options_set_thread_loop(options, 2, one_after_the_other, nullptr, error));
    GOOD(weft_options_set_caller_arena(options, 1, error));
    GOOD(weft_options_set_thread_loop(options, 2, one_after_the_other, nullptr, error));
    GOOD(weft_options_set_threads(options, 1, error));
    GOOD(weft_options_set_memory_limit(options, 1 << 30, error));
    GOOD(weft_options_set_cache_directory(options, cache.c_str(), error));
    GOOD(weft_options_set_cache_directory(options, "", error));
    GOOD(weft_options_set_cache_directory(options, nullptr, error));
    GOOD(weft_options_set_paranoid(options, 0, error));
    GOOD(weft_options_set_dump_directory(options, nullptr, error));
    GOOD(weft_options_set_use_cache(options, 1, error));
    GOOD(weft_options_set_kernels_in_memory(options, 8, error));
    GOOD(weft_options_set_perf_map(options, 0, error));
    GOOD(weft_options_set_deterministic(options, 1, error));
    GOOD(weft_options_set_strict_fp(options, 0, error));
    GOOD(weft_options_set_calibration_file(options, nullptr, error));
    GOOD(weft_options_set_checked(options, 0, error));
    GOOD(weft_options_set_cancellation(options, cancellation, error));
    GOOD(weft_options_set_progress(options, no_progress, nullptr, error));
    GOOD(weft_options_set_trace(options, no_line, nullptr, error));
    GOOD(weft_engine_create(options, engine.place(), error));
    GOOD(weft_options_share(options, engine, error));
    GOOD(weft_engine_create(options, other.place(), error));
    GOOD(weft_engine_counter(engine, "compiled", &counter, error));
    GOOD(weft_engine_for_each(engine, 3, no_task, nullptr, error));
    calls.judge(weft_engine_memory_limit(other) == 1 << 30, "another limit");
    return calls.outcome();
  }, Memory(), 60);
}

TEST_CASE("faults: C, tensors") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("a_matrix_with_a_long_name.mtx");
  EngineHandle engine;
  make_engine_of_one(engine);
  const void* const coordinates[] = {rows.data(), crd.data()};
  fail_every_allocation("C tensors", [&]() -> Outcome {
    Calls calls;
    TensorHandle csr, csc, coo, dense, levels, loaded, read, converted, larger, sliced, shared;
    const void* no_pos[] = {nullptr, pos.data()};
    const void* no_crd[] = {nullptr, crd.data()};
    const std::uint64_t pos_counts[] = {0, 4}, crd_counts[] = {0, 4}, wide[] = {5, 6};
    double whole[12] = {}, entries[4] = {}, times[3] = {};
    std::uint64_t first[4] = {}, second[4] = {}, count = 0;
    std::uint64_t* into[] = {first, second};
    GOOD(weft_tensor_csr(engine, WEFT_F64, 3, 4, 4, 32, pos.data(), crd.data(), values.data(), WEFT_COPY, csr.place(), error));
    GOOD(weft_tensor_csc(engine, WEFT_F64, 4, 3, 4, 32, pos.data(), crd.data(), values.data(), WEFT_BORROW, csc.place(), error));
    GOOD(weft_tensor_coo(engine, WEFT_F64, 2, extents, 4, 32, coordinates, values.data(), WEFT_COPY, coo.place(), error));
    GOOD(weft_tensor_dense(engine, WEFT_F64, 1, extents + 1, nullptr, values.data(), WEFT_BORROW, dense.place(), error));
    GOOD(weft_tensor_levels(engine, "ds", extents, 32, no_pos, pos_counts, no_crd, crd_counts, values.data(), 4,
                            WEFT_COPY, levels.place(), error));
    GOOD(weft_tensor_load(engine, "sparse(20x30,nnz=10,seed=1)", "ss", loaded.place(), error));
    GOOD(weft_tensor_writable(path.c_str(), error));
    GOOD(weft_tensor_write(engine, csr, path.c_str(), error));
    GOOD(weft_tensor_read(engine, path.c_str(), 0, nullptr, nullptr, WEFT_F64, "M", times, read.place(), error));
    GOOD(weft_tensor_convert(engine, csr, "ss:1,0", converted.place(), error));
    GOOD(weft_tensor_verify(engine, converted, error));
    GOOD(weft_tensor_with_extents(engine, csr, wide, larger.place(), error));
    const std::uint64_t starts[] = {2, 1}, counts[] = {3, 1};
    const std::int64_t steps[] = {-1, 1};
    const std::uint8_t dropped[] = {0, 1};
    GOOD(weft_tensor_slice(engine, csr, starts, steps, counts, dropped, sliced.place(), error));
    calls.judge(weft_tensor_order(sliced) == 1 && weft_tensor_extent(sliced, 0) == 3, "another slice");
    GOOD(weft_tensor_share(csr, shared.place(), error));
    GOOD(weft_tensor_to_dense(engine, coo, whole, 12, nullptr, error));
    GOOD(weft_tensor_to_coo(engine, levels, 0, 4, into, entries, &count, error));
    calls.judge(whole[0] == 1 && whole[3] == 2 && whole[9] == 3 && whole[10] == 4, "other entries");
    calls.judge(count == 4 && entries[3] == 4 && weft_tensor_nnz(read) == 4, "other entries listed");
    return calls.outcome();
  }, Memory(), 120);
}

TEST_CASE("faults: C, statistics and kernels") {
  EngineHandle engine;
  make_engine_of_one(engine);
  TensorHandle matrix, x;
  make_operands(engine, matrix, x);
  fail_every_allocation("C kernels", [&]() -> Outcome {
    Calls calls;
    StatisticsHandle given, counted, of_x;
    RequestHandle request;
    BindingsHandle bindings, copy;
    KernelHandle kernel, for_figures, later, restored;
    EngineHandle lender;
    CompilationHandle compilation;
    EvaluationHandle evaluation, symbolic;
    TensorHandle y;
    double sums[3] = {}, mean = 0, spread = 0;
    std::uint64_t maximum = 0, bytes = 0;
    const char* text = nullptr;
    const char* names[] = {"M", "x"};
    GOOD(weft_statistics_create("ds", extents, 4, 1, given.place(), error));
    GOOD(weft_statistics_set_distinct(given, 1, 2, error));
    GOOD(weft_statistics_of(engine, matrix, counted.place(), error));
    GOOD(weft_statistics_of(engine, x, of_x.place(), error));
    GOOD(weft_statistics_fibers(counted, 1, &mean, &maximum, &spread, error));
    (void)armed([&] { return weft_statistics_distinct(given, 2); });
    GOOD(weft_request_create(request.place(), error));
    GOOD(weft_request_set_format(request, "y", "d", error));
    GOOD(weft_request_set_tree(request, "(M * x)", error));
    GOOD(weft_request_set_objective(request, "time", error));
    GOOD(weft_request_set_calls(request, 10, error));
    GOOD(weft_request_set_choose_layouts(request, 1, error));
    GOOD(weft_request_set_specialization(request, "profiled", error));
    const weft_statistics* figures[] = {counted, of_x};
    GOOD(weft_engine_compile_for(engine, product, 2, names, figures, request, for_figures.place(), error));
    GOOD(weft_bindings_create(bindings.place(), error));
    GOOD(weft_bindings_set(bindings, "M", matrix, 0, error));
    GOOD(weft_bindings_set(bindings, "x", x, WEFT_CHANGES | WEFT_FINITE, error));
    GOOD(weft_bindings_copy(bindings, copy.place(), error));
    GOOD(weft_bindings_set_output(bindings, "y", WEFT_F64, 1, extents, nullptr, sums, error));
    GOOD(weft_engine_compile(engine, product, bindings, request, kernel.place(), error));
    GOOD(weft_kernel_run(kernel, bindings, nullptr, nullptr, error));
    calls.judge(sums[0] == 2001 && sums[1] == 0 && sums[2] == 430, "other sums in memory of the host");
    GOOD(weft_kernel_run(kernel, copy, nullptr, evaluation.place(), error));
    GOOD(weft_evaluation_result(evaluation, "y", y.place(), error));
    GOOD(weft_kernel_stage(kernel, "loops", &text, &bytes, error));
    GOOD(weft_kernel_report(kernel, &text, error));
    GOOD(weft_kernel_page(kernel, &text, error));
    GOOD(weft_engine_with(engine, nullptr, nullptr, nullptr, lender.place(), error));
    GOOD(weft_compilation_start(engine, product, copy, request, nullptr, nullptr, nullptr, compilation.place(), error));
    GOOD(weft_compilation_kernel(compilation, later.place(), error));
    GOOD(weft_bindings_replace_values(copy, "x", WEFT_F64, x_values.data(), 4, error));
    GOOD(weft_request_add_changing(request, "x", 0, error));
    GOOD(weft_request_set_assume_finite(request, "x", error));
    GOOD(weft_kernel_prepare(kernel, copy, nullptr, error));
    const void* saved = nullptr;
    GOOD(weft_kernel_save(kernel, &saved, &bytes, error));
    GOOD(weft_engine_load(engine, saved, bytes, restored.place(), error));
    GOOD(weft_kernel_run(restored, copy, nullptr, nullptr, error));
    GOOD(weft_kernel_scratch_bytes(kernel, copy, &bytes, error));
    std::vector<std::byte> scratch(bytes);
    GOOD(weft_bindings_set_scratch(copy, scratch.data(), bytes, error));
    GOOD(weft_kernel_run(kernel, copy, nullptr, nullptr, error));
    GOOD(weft_bindings_set_scratch(copy, nullptr, 0, error));
    GOOD(weft_kernel_symbolic(kernel, copy, nullptr, symbolic.place(), error));
    GOOD(weft_bindings_set_output_tensor(copy, "y", y, error));
    GOOD(weft_request_add_scaled(request, "y", error));
    GOOD(weft_request_add_strided(request, "y", error));
    GOOD(weft_request_add_lent_result(request, "y", error));
    GOOD(weft_bindings_scale_output(bindings, "y", 2, 1, error));
    GOOD(weft_kernel_run(kernel, bindings, nullptr, nullptr, error));
    calls.judge(sums[0] == 6003 && sums[1] == 0 && sums[2] == 1290, "other sums added to memory of the host");
    Outcome outcome = calls.outcome();
    weft_engine_give_back(engine);
    if (!outcome.error && outcome.wrong.empty()) return judged(right(evaluation), "other sums");
    return outcome;
  }, Memory(), 150);
}

TEST_CASE("faults: C, sessions") {
  EngineHandle engine;
  make_engine_of_one(engine);
  TensorHandle matrix, x;
  make_operands(engine, matrix, x);
  fail_every_allocation("C sessions", [&]() -> Outcome {
    Calls calls;
    RequestHandle request;
    SessionHandle session;
    EvaluationHandle evaluation, answer;
    TensorHandle same;
    const char* text = nullptr;
    std::uint64_t bytes = 0;
    GOOD(weft_request_create(request.place(), error));
    GOOD(weft_request_set_why(request, 1, error));
    GOOD(weft_request_add_result(request, "y", error));
    GOOD(weft_request_add_stage(request, "loops", error));
    GOOD(weft_session_create(engine, session.place(), error));
    GOOD(weft_session_set(session, "M", matrix, error));
    GOOD(weft_session_set(session, "x", x, error));
    GOOD(weft_session_set(session, "another", x, error));
    GOOD(weft_session_drop(session, "another", error));
    GOOD(weft_session_get(session, "x", same.place(), error));
    GOOD(weft_session_evaluate(session, product, 0, nullptr, request, evaluation.place(), error));
    GOOD(weft_evaluation_report(evaluation, &text, error));
    GOOD(weft_evaluation_stage(evaluation, "loops", &text, &bytes, error));
    GOOD(weft_session_answer(session, product, 0, nullptr, answer.place(), error));
    Outcome outcome = calls.outcome();
    if (!outcome.error && outcome.wrong.empty()) return judged(right(answer) && right(evaluation), "other sums");
    return outcome;
  }, Memory(), 80);
}

TEST_CASE("faults: C, an error that has no memory says so") {
  weft_options* options = nullptr;
  weft_error* error = nullptr;
  allocation_faults::begin(1, allocation_faults::Fails::rest);
  CHECK(armed([&] { return weft_options_create(&options, &error); }) == WEFT_RESOURCE);
  CHECK(options == nullptr);
  CHECK(weft_error_kind(error) == WEFT_RESOURCE);
  CHECK(std::string(weft_error_message(error)) == "out of memory");
  weft_error_free(error);
  allocation_faults::begin(1, allocation_faults::Fails::one);
  CHECK(armed([&] { return weft_options_create(&options, &error); }) == WEFT_RESOURCE);
  CHECK(std::string(weft_error_message(error)) == "out of memory while running weft_options_create");
  weft_error_free(error);
  EngineHandle engine;
  make_engine(engine);
}

}  // namespace weft::c_api_faults_test
