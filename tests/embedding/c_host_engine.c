/* What engines count and share, and evaluations that only one of them has to give up. */
#include "c_host.h"

static uint64_t counter(const weft_engine* engine, const char* name) {
  weft_error* error = NULL;
  uint64_t value = 12345;
  EXPECT(weft_engine_counter(engine, name, &value, &error) == WEFT_OK);
  return value;
}

static void told(void* context, const char* what, double fraction) {
  if (what[0] != '\0' && fraction >= 0) ++*(volatile int*)context;
}

/* A second handle, of which what concerns tensors is ended by a token of its own, and tells its own callback. */
static void handle_with_a_token(const weft_engine* engine) {
  weft_error* error = NULL;
  weft_cancellation* cancellation = NULL;
  weft_engine *other = NULL, *none = NULL;
  weft_tensor *m = NULL, *converted = NULL;
  volatile int calls = 0;
  EXPECT(weft_cancellation_create(&cancellation, &error) == WEFT_OK);
  EXPECT(weft_engine_with(engine, cancellation, told, (void*)&calls, &other, &error) == WEFT_OK);
  EXPECT(weft_engine_threads(other) == weft_engine_threads(engine));
  EXPECT(weft_tensor_load(other, "sparse(300x300,nnz=20000)", "ss", &m, &error) == WEFT_OK);
  EXPECT(weft_tensor_convert(other, m, "ss:1,0", &converted, &error) == WEFT_OK);
  weft_tensor_free(converted);
  weft_cancellation_cancel(cancellation);
  EXPECT_ERROR(WEFT_CANCELLED, "", weft_tensor_convert(other, m, "ss:1,0", &converted, &error));
  EXPECT(weft_tensor_convert(engine, m, "ss:1,0", &converted, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "'engine' is NULL", weft_engine_with(NULL, cancellation, told, NULL, &none, &error));
  weft_tensor_free(m), weft_tensor_free(converted);
  weft_engine_free(other);
  weft_cancellation_free(cancellation);
}

static void mark(void* context, uint64_t task, uint32_t slot) { ((uint32_t*)context)[task] += slot + 1; }

/* Kernels and plans by where they came from; a kernel over other operands than it was made for. */
void counters(void) {
  weft_error* error = NULL;
  weft_options* options = NULL;
  weft_engine *engine, *second;
  weft_bindings *bindings = NULL, *others = NULL;
  weft_tensor *m = NULL, *x = NULL, *wide = NULL, *longer = NULL, *part = NULL, *y = NULL;
  weft_kernel *kernel = NULL, *again = NULL;
  weft_evaluation* evaluation = NULL;
  weft_session* session = NULL;
  weft_request* request = NULL;
  weft_cancellation* cancellation = NULL;
  static const uint64_t wider[2] = {30, 40}, narrow[2] = {30, 3}, forty[2] = {40, 16};
  static const uint64_t starts[2] = {1, 2}, counts[2] = {10, 1}, ones[2] = {1, 1};
  static const int64_t steps[2] = {3, 1};
  static const uint8_t dropped[2] = {0, 1}, both[2] = {1, 1};
  uint32_t seen[50] = {0};
  uint64_t value = 0, number = 0;
  int task;
  EXPECT(weft_options_create(&options, &error) == WEFT_OK && weft_options_set_threads(options, 2, &error) == WEFT_OK);
  EXPECT(weft_options_set_memory_limit(options, 100000000, &error) == WEFT_OK);
  engine = engine_with(options);
  EXPECT(weft_engine_memory_limit(engine) == 100000000 && weft_engine_cache_directory(engine)[0] == '\0');
  EXPECT(weft_options_set_threads(options, 1, &error) == WEFT_OK && weft_options_share(options, engine, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "threads cannot be set", weft_options_set_threads(options, 3, &error));
  EXPECT_ERROR(WEFT_INPUT, "a memory limit cannot be set", weft_options_set_memory_limit(options, 1000, &error));
  second = engine_with(options);
  EXPECT(weft_engine_threads(second) == 2);
  EXPECT(weft_options_share(options, NULL, &error) == WEFT_OK);
  weft_options_free(options);

  EXPECT(weft_tensor_load(engine, "sparse(30x20,nnz=90)", "ds", &m, &error) == WEFT_OK);
  EXPECT(weft_tensor_load(second, "ones(20x16)", NULL, &x, &error) == WEFT_OK);
  EXPECT(weft_engine_memory_used(engine) == weft_engine_memory_used(second));
  EXPECT(weft_engine_memory_used(engine) >= weft_tensor_bytes(m) + weft_tensor_bytes(x));
  EXPECT(weft_tensor_with_extents(engine, m, wider, &wide, &error) == WEFT_OK && weft_tensor_extent(wide, 1) == 40);
  EXPECT(weft_tensor_with_extents(engine, x, forty, &longer, &error) == WEFT_OK && weft_tensor_extent(longer, 0) == 40);
  EXPECT_ERROR(WEFT_INPUT, "mode 1", weft_tensor_with_extents(engine, m, narrow, &y, &error));
  EXPECT_ERROR(WEFT_INPUT, "'extents' is NULL", weft_tensor_with_extents(engine, m, NULL, &y, &error));
  EXPECT(weft_tensor_slice(engine, m, starts, steps, counts, NULL, &part, &error) == WEFT_OK);
  EXPECT(weft_tensor_order(part) == 2 && weft_tensor_extent(part, 0) == 10 && weft_tensor_extent(part, 1) == 1);
  weft_tensor_free(part);
  EXPECT(weft_tensor_slice(engine, x, starts, steps, ones, dropped, &part, &error) == WEFT_OK);
  EXPECT(weft_tensor_order(part) == 1 && weft_tensor_extent(part, 0) == 1 && weft_tensor_nnz(part) == 1);
  weft_tensor_free(part);
  EXPECT_ERROR(WEFT_INPUT, "mode 0 has extent 20", weft_tensor_slice(engine, x, starts, steps, counts, NULL, &y, &error));
  EXPECT_ERROR(WEFT_INPUT, "dropped", weft_tensor_slice(engine, m, starts, steps, counts, both, &y, &error));
  EXPECT_ERROR(WEFT_INPUT, "'steps' is NULL", weft_tensor_slice(engine, m, starts, NULL, counts, NULL, &y, &error));
  EXPECT(weft_bindings_create(&bindings, &error) == WEFT_OK);
  EXPECT(weft_bindings_set(bindings, "M", m, 0, &error) == WEFT_OK && weft_bindings_set(bindings, "x", x, 0, &error) == WEFT_OK);
  EXPECT(weft_bindings_copy(bindings, &others, &error) == WEFT_OK);
  EXPECT(weft_engine_compile(engine, "y(i,r) = M(i,j) * x(j,r)", bindings, NULL, &kernel, &error) == WEFT_OK);
  EXPECT(counter(engine, "compiled") == 1 && counter(engine, "memory") == 0 && counter(engine, "plans_made") == 1);
  EXPECT(weft_engine_compile(engine, "y(i,r) = M(i,j) * x(j,r)", others, NULL, &again, &error) == WEFT_OK);
  weft_kernel_free(again);
  EXPECT(counter(engine, "compiled") == 1 && counter(engine, "memory") == 1 && counter(engine, "plans_memory") == 1);
  EXPECT(counter(engine, "profiled") == 2 && counter(engine, "generic") == 0 && counter(engine, "baked") == 0);
  EXPECT(counter(engine, "disk") == 0 && counter(engine, "plans_disk") == 0 && counter(second, "plans_made") == 0);
  EXPECT(weft_kernel_run(kernel, bindings, NULL, NULL, &error) == WEFT_OK && counter(engine, "fallbacks") == 0);
  /* The copy changes apart from what it was copied from. */
  EXPECT(weft_bindings_set(others, "M", wide, 0, &error) == WEFT_OK && weft_bindings_set(others, "x", longer, 0, &error) == WEFT_OK);
  EXPECT(weft_kernel_run(kernel, others, NULL, &evaluation, &error) == WEFT_OK && counter(engine, "fallbacks") == 1);
  weft_evaluation_free(evaluation);
  EXPECT(weft_kernel_run(kernel, bindings, NULL, NULL, &error) == WEFT_OK && counter(engine, "fallbacks") == 1);
  EXPECT_ERROR(WEFT_INPUT, "nonsense", weft_engine_counter(engine, "nonsense", &value, &error));
  EXPECT_ERROR(WEFT_INPUT, "'value' is NULL", weft_engine_counter(engine, "disk", NULL, &error));

  handle_with_a_token(engine);
  EXPECT(weft_engine_for_each(engine, 50, mark, seen, &error) == WEFT_OK);
  for (task = 0; task < 50; ++task) EXPECT(seen[task] == 1 || seen[task] == 2);
  EXPECT_ERROR(WEFT_INPUT, "'body' is NULL", weft_engine_for_each(engine, 1, NULL, NULL, &error));

  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK && weft_session_set(session, "M", m, &error) == WEFT_OK);
  EXPECT(weft_cancellation_create(&cancellation, &error) == WEFT_OK);
  EXPECT(weft_session_answer(session, "s = M(i,j)", 0, cancellation, &evaluation, &error) == WEFT_OK);
  weft_evaluation_free(evaluation);
  weft_cancellation_cancel(cancellation);
  EXPECT_ERROR(WEFT_CANCELLED, "", weft_session_answer(session, "s = M(i,j)", 0, cancellation, &evaluation, &error));
  EXPECT(weft_session_answer(session, "s = M(i,j)", 0, NULL, &evaluation, &error) == WEFT_OK);
  weft_evaluation_free(evaluation);
  evaluation = NULL;
  {
    /* The token of a request ends a compilation too. */
    weft_compilation* compilation = NULL;
    EXPECT(weft_request_create(&request, &error) == WEFT_OK && weft_request_set_cancellation(request, cancellation, &error) == WEFT_OK);
    EXPECT(weft_compilation_start(engine, "s = M(i,j)", bindings, request, NULL, NULL, NULL, &compilation, &error) == WEFT_OK);
    EXPECT_ERROR(WEFT_CANCELLED, "", weft_compilation_kernel(compilation, &again, &error));
    weft_compilation_free(compilation);
    EXPECT(weft_request_set_cancellation(request, NULL, &error) == WEFT_OK);
  }
  /* Planned, and no code made. */
  EXPECT(weft_request_set_plan_only(request, 1, &error) == WEFT_OK && weft_request_set_compile(request, 0, &error) == WEFT_OK);
  number = counter(engine, "compiled");
  EXPECT(weft_session_evaluate(session, "s(j) = 5 * M(i,j)", 0, NULL, request, &evaluation, &error) == WEFT_OK);
  EXPECT(counter(engine, "compiled") == number && strstr(weft_evaluation_explanation(evaluation), "iterations") != NULL);
  weft_evaluation_free(evaluation);
  weft_request_free(request);
  weft_cancellation_free(cancellation);
  weft_session_free(session);
  weft_kernel_free(kernel);
  weft_bindings_free(bindings), weft_bindings_free(others);
  weft_tensor_free(m), weft_tensor_free(x), weft_tensor_free(wide), weft_tensor_free(longer);
  EXPECT(weft_engine_memory_limit(NULL) == 0 && weft_engine_cache_directory(NULL)[0] == '\0');
  weft_engine_free(engine);
  weft_engine_free(second);
}

/* What else a request may ask for. */
void requests(void) {
  weft_error* error = NULL;
  weft_options* options = NULL;
  weft_engine* engine;
  weft_session* session = NULL;
  weft_tensor *m = NULL, *x = NULL;
  weft_request* request = NULL;
  weft_evaluation* evaluation = NULL;
  const char* json = NULL;
  int round;
  EXPECT(weft_options_create(&options, &error) == WEFT_OK && weft_options_set_use_cache(options, 0, &error) == WEFT_OK);
  engine = engine_with(options);
  weft_options_free(options);
  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK);
  EXPECT(weft_tensor_load(engine, "sparse(30x20,nnz=90)", "ds", &m, &error) == WEFT_OK && weft_session_set(session, "M", m, &error) == WEFT_OK);
  EXPECT(weft_tensor_load(engine, "ones(20x8)", NULL, &x, &error) == WEFT_OK && weft_session_set(session, "x", x, &error) == WEFT_OK);
  EXPECT(weft_request_create(&request, &error) == WEFT_OK && weft_request_add_result(request, "u", &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "u(i) = M(i,j); s = u(i) * u(i)", 0, NULL, request, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_count(evaluation) == 2 && weft_evaluation_name(evaluation, 1)[0] == 'u');
  weft_evaluation_free(evaluation);
  weft_request_free(request);

  EXPECT(weft_request_create(&request, &error) == WEFT_OK && weft_request_set_prove(request, 1, &error) == WEFT_OK);
  EXPECT(weft_request_set_count(request, 1, &error) == WEFT_OK && weft_request_set_why(request, 1, &error) == WEFT_OK);
  EXPECT(weft_request_set_format(request, "M", "ds", &error) == WEFT_OK);
  for (round = 1; round <= 2; ++round) { /* without a cache each time anew */
    EXPECT(weft_session_evaluate(session, "y(i,r) = M(i,j) * x(j,r)", 0, NULL, request, &evaluation, &error) == WEFT_OK);
    EXPECT(weft_evaluation_report(evaluation, &json, &error) == WEFT_OK && strstr(json, "\"optimal\":\"all\"") != NULL);
    EXPECT(strstr(json, "\"counted\":90,") != NULL && strstr(json, "layout of M") != NULL);
    EXPECT(counter(engine, "memory") == 0 && counter(engine, "plans_memory") == 0);
    weft_evaluation_free(evaluation);
  }
  weft_request_free(request);
  EXPECT(weft_request_create(&request, &error) == WEFT_OK && weft_request_set_unfused(request, 1, &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "y(i,s) = M(i,j) * x(j,r) * x(k,r) * x(k,s)", 0, NULL, request, &evaluation, &error) == WEFT_OK);
  EXPECT(strstr(weft_evaluation_explanation(evaluation), "intermediate") != NULL);
  weft_evaluation_free(evaluation);
  EXPECT(weft_request_set_objective(request, "workspace-order", &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "contradict", weft_session_evaluate(session, "s = M(i,j)", 0, NULL, request, &evaluation, &error));
  EXPECT(weft_request_set_unfused(request, 0, &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "s = M(i,j) * x(j,r)", 0, NULL, request, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_report(evaluation, &json, &error) == WEFT_OK && strstr(json, "\"producer\":\"z3\"") != NULL);
  weft_evaluation_free(evaluation);
  weft_request_free(request);
  weft_session_free(session);
  weft_tensor_free(m), weft_tensor_free(x);
  weft_engine_free(engine);
}

/* A file of any name, and entries as arrays of the host. */
void entries_of(weft_engine* engine, const char* directory) {
  char path[4096];
  weft_error* error = NULL;
  weft_tensor *written = NULL, *read = NULL;
  weft_statistics* known = NULL;
  static const uint64_t shape[3] = {5, 6, 9};
  double times[3] = {-1, -1, -1}, mean = 0, spread = -1;
  float values[20], again[20];
  uint64_t i[20], j[20], k[20], count = 7, longest = 0, number;
  uint64_t* crd[3];
  const void* stored = NULL;
  EXPECT(weft_tensor_load(engine, "sparse(5x6x7,nnz=20,seed=3)", "sss:0,1,2:f32", &written, &error) == WEFT_OK);
  EXPECT(strstr(weft_tensor_summary(written), "5x6x7") != NULL && weft_tensor_summary(NULL)[0] == '\0');
  strcpy(path, directory);
  strcat(path, "/odd:3.tns");
  EXPECT(weft_tensor_writable(path, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, ".mtx", weft_tensor_writable("x.unknown", &error));
  EXPECT(weft_tensor_write(engine, written, path, &error) == WEFT_OK);
  EXPECT(weft_tensor_read(engine, path, 3, shape, NULL, WEFT_F32, "T", times, &read, &error) == WEFT_OK);
  EXPECT(weft_tensor_extent(read, 2) == 9 && weft_tensor_scalar(read) == WEFT_F32 && times[0] >= 0 && times[1] > 0 && times[2] >= 0);
  weft_tensor_free(read);
  EXPECT_ERROR(WEFT_INPUT, "'name' is NULL", weft_tensor_read(engine, path, 0, NULL, NULL, WEFT_F64, NULL, NULL, &read, &error));
  EXPECT(read == NULL);
  EXPECT(weft_tensor_read(engine, path, 0, NULL, "dss", WEFT_F64, "T", NULL, &read, &error) == WEFT_OK);
  EXPECT(weft_tensor_extent(read, 2) == 7 && weft_tensor_scalar(read) == WEFT_F64);
  weft_tensor_free(read);

  crd[0] = i, crd[1] = j, crd[2] = k;
  EXPECT_ERROR(WEFT_INPUT, "20", weft_tensor_to_coo(engine, written, 0, 0, NULL, NULL, &count, &error));
  EXPECT(count == 20);
  EXPECT_ERROR(WEFT_INPUT, "'values' is NULL", weft_tensor_to_coo(engine, written, 0, 20, crd, NULL, &count, &error));
  EXPECT_ERROR(WEFT_INPUT, "'crd' is NULL", weft_tensor_to_coo(engine, written, 0, 20, NULL, values, &count, &error));
  EXPECT(weft_tensor_to_coo(engine, written, 0, 20, crd, values, &count, &error) == WEFT_OK && count == 20);
  EXPECT(weft_tensor_coo(engine, WEFT_F32, 3, shape, count, 64, (const void* const*)crd, values, WEFT_COPY, &read, &error) == WEFT_OK);
  EXPECT(weft_tensor_values(read, &stored, &count, &error) == WEFT_OK && count == 20);
  memcpy(again, stored, sizeof again);
  for (number = 0; number < 20; ++number) EXPECT(again[number] == values[number] && i[number] < 5 && j[number] < 6 && k[number] < 7);
  weft_tensor_free(read);

  EXPECT(weft_statistics_of(engine, written, &known, &error) == WEFT_OK);
  EXPECT(weft_statistics_fibers(known, 0, &mean, &longest, &spread, &error) == WEFT_OK && mean == 5 && longest == 5 && spread == 0);
  EXPECT_ERROR(WEFT_INPUT, "level 3", weft_statistics_fibers(known, 3, NULL, NULL, NULL, &error));
  weft_statistics_free(known);
  weft_tensor_free(written);
}
