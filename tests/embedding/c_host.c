/* A host in C99: everything of weft.h once, and an error of each kind. Prints nothing; ends with the line of the first
 * expectation that failed, as exit status 1 and on standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

static void expected(int held, const char* what, int line, const weft_error* error) {
  if (held) return;
  fprintf(stderr, "c_host.c:%d: %s does not hold%s%s\n", line, what, error ? ": " : "", weft_error_message(error));
  exit(1);
}
#define EXPECT(condition) expected((condition) != 0, #condition, __LINE__, error)

/* The call fails with that kind, its message has the text, and there is an error object. */
#define EXPECT_ERROR(kind, text, call)                                \
  do {                                                                \
    EXPECT((call) == (kind));                                         \
    EXPECT(weft_error_kind(error) == (kind));                         \
    EXPECT(strstr(weft_error_message(error), (text)) != NULL);        \
    weft_error_free(error);                                           \
    error = NULL;                                                     \
  } while (0)

static int compiled = 0; /* or loaded from disk */
static void trace(void* context, const char* line) {
  (void)context;
  compiled += strstr(line, " # compile ") || strstr(line, " # load ");
}
static void progress(void* context, const char* what, double fraction) {
  weft_error* error = NULL;
  EXPECT(context != NULL && what != NULL && fraction >= 0);
}

static weft_engine* engine_with(weft_options* options) {
  weft_error* error = NULL;
  weft_engine* engine = NULL;
  EXPECT(weft_engine_create(options, &engine, &error) == WEFT_OK);
  return engine;
}

/* y = M x with M in each of the ways that a host may hold it. */
static void products(weft_engine* engine) {
  static const double matrix[6] = {1, 0, 2, 0, 0, 3}; /* 2 rows of 3 */
  static const double by_columns[6] = {1, 0, 0, 0, 2, 3};
  static const uint64_t extents[2] = {2, 3};
  static const int64_t fortran[2] = {1, 2};
  static const int64_t backwards[2] = {-3, -1};
  static const double reversed[6] = {3, 0, 0, 2, 0, 1};
  static const int32_t pos32[3] = {0, 2, 3}, crd32[3] = {0, 2, 2};
  static const int64_t pos64[4] = {0, 1, 1, 3}, crd64[3] = {0, 0, 1};
  static const double values[3] = {1, 2, 3}, column_values[3] = {1, 2, 3};
  static const uint32_t rows[3] = {0, 0, 1}, columns[3] = {0, 2, 2};
  static const int64_t mixed_rows[4] = {1, 0, 0, 1}, mixed_columns[4] = {2, 2, 0, 2};
  static const double mixed_values[4] = {1, 2, 1, 2};
  static const uint32_t one_fiber[2] = {0, 2}, both_rows[2] = {0, 1};
  static const double x[3] = {1, 10, 100};
  const void* crd[2];
  const void* pos[2];
  uint64_t pos_counts[2] = {2, 3}, crd_counts[2] = {2, 3};
  const uint64_t three = 3;
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_tensor *m = NULL, *vector = NULL, *y = NULL;
  int way;
  uint32_t flags;
  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK);
  EXPECT(weft_tensor_dense(engine, WEFT_F64, 1, &three, NULL, x, WEFT_BORROW, &vector, &error) == WEFT_OK);
  EXPECT(weft_session_set(session, "x", vector, &error) == WEFT_OK);
  weft_tensor_free(vector);
  for (flags = WEFT_COPY; flags <= (WEFT_BORROW | WEFT_TRUSTED); ++flags) {
    for (way = 0; way < 7; ++way) {
      weft_evaluation* evaluation = NULL;
      const void* stored = NULL;
      double result[2] = {0, 0};
      uint64_t count = 0;
      switch (way) {
        case 0:
          EXPECT(weft_tensor_dense(engine, WEFT_F64, 2, extents, NULL, matrix, flags, &m, &error) == WEFT_OK);
          break;
        case 1:
          EXPECT(weft_tensor_dense(engine, WEFT_F64, 2, extents, fortran, by_columns, flags, &m, &error) == WEFT_OK);
          break;
        case 2:
          EXPECT(weft_tensor_dense(engine, WEFT_F64, 2, extents, backwards, reversed + 5, flags, &m, &error) == WEFT_OK);
          break;
        case 3:
          EXPECT(weft_tensor_csr(engine, WEFT_F64, 2, 3, 3, 32, pos32, crd32, values, flags, &m, &error) == WEFT_OK);
          EXPECT(strcmp(weft_tensor_format(m), "ds:0,1") == 0);
          break;
        case 4:
          EXPECT(weft_tensor_csc(engine, WEFT_F64, 2, 3, 3, 64, pos64, crd64, column_values, flags, &m, &error) == WEFT_OK);
          break;
        case 5:
          crd[0] = rows;
          crd[1] = columns;
          EXPECT(weft_tensor_coo(engine, WEFT_F64, 2, extents, 3, 32, crd, values, flags, &m, &error) == WEFT_OK);
          break;
        default:
          pos[0] = one_fiber;
          pos[1] = pos32;
          crd[0] = both_rows;
          crd[1] = crd32;
          EXPECT(weft_tensor_levels(engine, "ss", extents, 32, pos, pos_counts, crd, crd_counts, values, 3, flags, &m, &error) == WEFT_OK);
      }
      EXPECT(weft_tensor_verify(engine, m, &error) == WEFT_OK);
      EXPECT(weft_session_set(session, "M", m, &error) == WEFT_OK);
      EXPECT(weft_session_evaluate(session, "y(i) = M(i,j) * x(j)", 0, NULL, NULL, &evaluation, &error) == WEFT_OK);
      EXPECT(weft_evaluation_count(evaluation) == 1 && strcmp(weft_evaluation_name(evaluation, 0), "y") == 0);
      EXPECT(weft_evaluation_result(evaluation, "y", &y, &error) == WEFT_OK);
      weft_evaluation_free(evaluation);
      EXPECT(weft_tensor_values(y, &stored, &count, &error) == WEFT_OK && count == 2);
      EXPECT(((const double*)stored)[0] == 201 && ((const double*)stored)[1] == 300);
      EXPECT(weft_tensor_to_dense(engine, y, result, 2, NULL, &error) == WEFT_OK);
      EXPECT(result[0] == 201 && result[1] == 300);
      /* Borrowed memory is not copied. */
      if (way == 3) EXPECT(weft_tensor_values(m, &stored, NULL, &error) == WEFT_OK && (stored == values) == ((flags & WEFT_BORROW) != 0));
      weft_tensor_free(y);
      weft_tensor_free(m);
    }
  }
  /* Copied coordinates may be unsorted and repeated. */
  crd[0] = mixed_rows;
  crd[1] = mixed_columns;
  EXPECT(weft_tensor_coo(engine, WEFT_F64, 2, extents, 4, 64, crd, mixed_values, WEFT_COPY, &m, &error) == WEFT_OK);
  EXPECT(weft_tensor_nnz(m) == 3);
  {
    double dense[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    static const int64_t with_gap[2] = {4, 1};
    EXPECT(weft_tensor_to_dense(engine, m, dense, 7, with_gap, &error) == WEFT_OK);
    EXPECT(dense[0] == 1 && dense[2] == 2 && dense[3] == -1 && dense[6] == 3 && dense[7] == -1);
    EXPECT_ERROR(WEFT_INPUT, "6 elements", weft_tensor_to_dense(engine, m, dense, 6, with_gap, &error));
    EXPECT_ERROR(WEFT_INPUT, "8 elements", weft_tensor_to_dense(engine, m, dense, 8, NULL, &error));
    EXPECT_ERROR(WEFT_INPUT, "'values' is NULL", weft_tensor_to_dense(engine, m, NULL, 6, NULL, &error));
  }
  weft_tensor_free(m);
  EXPECT_ERROR(WEFT_INPUT, "extent", weft_tensor_coo(engine, WEFT_F64, 2, extents, 3, 32, (crd[0] = columns, crd), values, WEFT_COPY, &m, &error));
  EXPECT(m == NULL);
  weft_session_free(session);
}

/* Results with compressed levels, in place; requests; reports. */
static void sparse_result(weft_engine* engine) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_request* request = NULL;
  weft_evaluation* evaluation = NULL;
  weft_tensor *b = NULL, *c = NULL, *a = NULL, *like = NULL;
  const char* operands[2] = {"B", "C"};
  const char* text = NULL;
  const void *pos = NULL, *crd = NULL, *values = NULL;
  uint64_t pos_count = 0, crd_count = 0, count = 0, bytes = 0, n;
  uint32_t mode = 9, pos_bits = 0, crd_bits = 0;
  int32_t kind = 0;
  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK);
  EXPECT(weft_tensor_load(engine, "sparse(20x30,nnz=100,seed=1)", "ds", &b, &error) == WEFT_OK);
  EXPECT(weft_tensor_load(engine, "sparse(30x10,nnz=50,seed=2)", "ds", &c, &error) == WEFT_OK);
  EXPECT(weft_session_set(session, "B", b, &error) == WEFT_OK && weft_session_set(session, "C", c, &error) == WEFT_OK);
  EXPECT(weft_session_count(session) == 2 && strcmp(weft_session_name(session, 1), "C") == 0 && weft_session_name(session, 2)[0] == '\0');
  EXPECT(weft_request_create(&request, &error) == WEFT_OK);
  EXPECT(weft_request_set_format(request, "A", "ds", &error) == WEFT_OK);
  EXPECT(weft_request_set_calls(request, 10, &error) == WEFT_OK);
  EXPECT(weft_request_set_specialization(request, "generic", &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "raw", weft_request_set_specialization(request, "raw", &error));
  EXPECT(weft_request_set_repeat(request, 2, &error) == WEFT_OK);
  EXPECT(weft_request_add_stage(request, "schedule", &error) == WEFT_OK);
  EXPECT(weft_request_add_stage(request, "object", &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "A(i,j) = B(i,k) * C(k,j)", 2, operands, request, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_report(evaluation, &text, &error) == WEFT_OK);
  EXPECT(strstr(text, "\"run_ms\":[") != NULL && strstr(text, "\"results\":{\"A\"") != NULL);
  EXPECT(strlen(weft_evaluation_explanation(evaluation)) > 0);
  EXPECT(weft_evaluation_stage(evaluation, "object", &text, &bytes, &error) == WEFT_OK && bytes > 100 && memcmp(text, "\177ELF", 4) == 0);
  EXPECT_ERROR(WEFT_INPUT, "asm", weft_evaluation_stage(evaluation, "asm", &text, &bytes, &error));
  EXPECT(weft_evaluation_stage(evaluation, "schedule", &text, &bytes, &error) == WEFT_OK && bytes == strlen(text));
  EXPECT(weft_evaluation_result(evaluation, "A", &a, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "Z", weft_evaluation_result(evaluation, "Z", &like, &error));
  {
    /* The schedule that was printed, read back, makes the same result. */
    weft_request* again = NULL;
    weft_evaluation* repeated = NULL;
    weft_tensor* same = NULL;
    double first[200], second[200];
    EXPECT(weft_request_create(&again, &error) == WEFT_OK);
    EXPECT(weft_request_set_format(again, "A", "ds", &error) == WEFT_OK);
    EXPECT(weft_request_set_schedule(again, text, "given", &error) == WEFT_OK);
    EXPECT(weft_session_evaluate(session, "A(i,j) = B(i,k) * C(k,j)", 2, operands, again, &repeated, &error) == WEFT_OK);
    EXPECT(weft_evaluation_result(repeated, "A", &same, &error) == WEFT_OK);
    EXPECT(weft_tensor_to_dense(engine, a, first, 200, NULL, &error) == WEFT_OK);
    EXPECT(weft_tensor_to_dense(engine, same, second, 200, NULL, &error) == WEFT_OK);
    EXPECT(memcmp(first, second, sizeof first) == 0);
    EXPECT(weft_request_set_schedule(again, "nonsense", "given", &error) == WEFT_OK);
    weft_evaluation_free(repeated);
    EXPECT_ERROR(WEFT_INPUT, "given", weft_session_evaluate(session, "A(i,j) = B(i,k) * C(k,j)", 2, operands, again, &repeated, &error));
    weft_request_free(again);
    weft_tensor_free(same);
  }
  weft_evaluation_free(evaluation);
  weft_session_free(session);
  /* The tensor outlives both; rows are read in place. */
  EXPECT(weft_tensor_order(a) == 2 && weft_tensor_extent(a, 0) == 20 && weft_tensor_extent(a, 1) == 10 && weft_tensor_extent(a, 2) == 0);
  EXPECT(weft_tensor_level(a, 0, &kind, &mode, NULL, &pos_count, NULL, &crd, &crd_count, &crd_bits, NULL, &error) == WEFT_OK);
  EXPECT(kind == 'd' && mode == 0 && pos_count == 0 && crd == NULL && crd_count == 0 && crd_bits == 0);
  EXPECT(weft_tensor_level(a, 1, &kind, &mode, &pos, &pos_count, &pos_bits, &crd, &crd_count, &crd_bits, NULL, &error) == WEFT_OK);
  EXPECT(kind == 's' && mode == 1 && pos_count == 21 && pos_bits == 32 && crd_bits == 32 && crd_count == weft_tensor_nnz(a));
  EXPECT(weft_tensor_values(a, &values, &count, &error) == WEFT_OK && count == crd_count && count > 0);
  EXPECT(((const uint32_t*)pos)[20] == count);
  for (n = 0; n < count; ++n) EXPECT(((const uint32_t*)crd)[n] < 10 && ((const double*)values)[n] > 0);
  EXPECT_ERROR(WEFT_INPUT, "level 2", weft_tensor_level(a, 2, &kind, &mode, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &error));
  /* At the coordinates of an operand: the arrays are shared. */
  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK);
  EXPECT(weft_session_set(session, "B", b, &error) == WEFT_OK);
  EXPECT(weft_request_set_format(request, "R", "like(B)", &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "A", weft_session_evaluate(session, "R(i,j) = 2 * B(i,j)", 0, NULL, request, &evaluation, &error));
  weft_request_free(request);
  EXPECT(weft_request_create(&request, &error) == WEFT_OK);
  EXPECT(weft_request_set_format(request, "R", "like(B)", &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "R(i,j) = 2 * B(i,j)", 0, NULL, request, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_result(evaluation, "R", &like, &error) == WEFT_OK && weft_tensor_nnz(like) == weft_tensor_nnz(b));
  weft_evaluation_free(evaluation);
  EXPECT(weft_request_set_plan_only(request, 1, &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "R(i,j) = 2 * B(i,j)", 0, NULL, request, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_count(evaluation) == 0 && weft_evaluation_report(evaluation, &text, &error) == WEFT_OK);
  EXPECT(strstr(text, "\"schedule\":") != NULL && strstr(text, "run_ms") == NULL);
  weft_evaluation_free(evaluation);
  weft_request_free(request);
  weft_session_free(session);
  weft_tensor_free(a);
  weft_tensor_free(b);
  weft_tensor_free(c);
  weft_tensor_free(like);
}

/* Compiled once, run over changing values into the host's memory. */
static void kernels(weft_engine* engine) {
  static const int32_t pos[3] = {0, 2, 3}, crd[3] = {0, 2, 2};
  static const double values[3] = {1, 2, 3};
  static const uint64_t two = 2, three = 3;
  static const int64_t every_other = 2;
  double x[3] = {1, 10, 100}, y[2] = {-1, -1}, spread[3] = {-1, -1, -1};
  weft_error* error = NULL;
  weft_bindings* bindings = NULL;
  weft_kernel *kernel = NULL, *again = NULL;
  weft_tensor *m = NULL, *vector = NULL, *result = NULL;
  weft_evaluation* evaluation = NULL;
  weft_cancellation* cancellation = NULL;
  const char* text = NULL;
  uint64_t bytes = 0;
  const void* stored = NULL;
  int run;
  EXPECT(weft_tensor_csr(engine, WEFT_F64, 2, 3, 3, 32, pos, crd, values, WEFT_BORROW, &m, &error) == WEFT_OK);
  EXPECT(weft_tensor_dense(engine, WEFT_F64, 1, &three, NULL, x, WEFT_BORROW, &vector, &error) == WEFT_OK);
  EXPECT(weft_bindings_create(&bindings, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "M", weft_engine_compile(engine, "y(i) = M(i,j) * x(j)", bindings, NULL, &kernel, &error));
  EXPECT(weft_bindings_set(bindings, "M", m, 0, &error) == WEFT_OK);
  EXPECT(weft_bindings_set(bindings, "x", vector, WEFT_CHANGES, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "flags 1", weft_bindings_set(bindings, "x", vector, WEFT_BORROW, &error));
  EXPECT_ERROR(WEFT_INPUT, "^", weft_engine_compile(engine, "y(i) = M(i,j", bindings, NULL, &kernel, &error));
  EXPECT(weft_engine_compile(engine, "y(i) = M(i,j) * x(j)", bindings, NULL, &kernel, &error) == WEFT_OK);
  EXPECT(weft_engine_compile(engine, "y(i) = M(i,j) * x(j)", bindings, NULL, &again, &error) == WEFT_OK);
  weft_kernel_free(again);
  EXPECT(weft_kernel_stage(kernel, "loops", &text, &bytes, &error) == WEFT_OK && bytes == strlen(text) && strstr(text, "for i") != NULL);
  EXPECT_ERROR(WEFT_INPUT, "nonsense", weft_kernel_stage(kernel, "nonsense", &text, &bytes, &error));
  EXPECT(weft_kernel_report(kernel, &text, &error) == WEFT_OK && strstr(text, "\"schedule\":") != NULL);
  EXPECT(weft_kernel_run(kernel, bindings, NULL, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_result(evaluation, "y", &result, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "weft_kernel_report", weft_evaluation_report(evaluation, &text, &error));
  EXPECT_ERROR(WEFT_INPUT, "weft_kernel_stage", weft_evaluation_stage(evaluation, "loops", &text, &bytes, &error));
  weft_evaluation_free(evaluation);
  EXPECT(weft_tensor_values(result, &stored, NULL, &error) == WEFT_OK);
  EXPECT(((const double*)stored)[0] == 201 && ((const double*)stored)[1] == 300);
  EXPECT(weft_bindings_set_output(bindings, "y", WEFT_F64, 1, &two, NULL, y, &error) == WEFT_OK);
  for (run = 1; run <= 3; ++run) {
    x[2] = 100 * run;
    EXPECT(weft_kernel_run(kernel, bindings, NULL, NULL, &error) == WEFT_OK);
    EXPECT(y[0] == 1 + 200 * run && y[1] == 300 * run);
  }
  /* The first result is still what it was. */
  EXPECT(((const double*)stored)[0] == 201 && ((const double*)stored)[1] == 300);
  weft_tensor_free(result);
  EXPECT(weft_bindings_set_output(bindings, "y", WEFT_F64, 1, &two, &every_other, spread, &error) == WEFT_OK);
  EXPECT(weft_kernel_run(kernel, bindings, NULL, NULL, &error) == WEFT_OK);
  EXPECT(spread[0] == 601 && spread[1] == -1 && spread[2] == 900);
  EXPECT(weft_bindings_set_output(bindings, "y", WEFT_F64, 1, &three, NULL, spread, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "y", weft_kernel_run(kernel, bindings, NULL, NULL, &error));
  EXPECT(weft_cancellation_create(&cancellation, &error) == WEFT_OK);
  weft_cancellation_cancel(cancellation);
  EXPECT(weft_bindings_set_output(bindings, "y", WEFT_F64, 1, &two, NULL, y, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_CANCELLED, "", weft_kernel_run(kernel, bindings, cancellation, NULL, &error));
  EXPECT(weft_kernel_run(kernel, bindings, NULL, NULL, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "'kernel' is NULL", weft_kernel_run(NULL, bindings, NULL, NULL, &error));
  EXPECT_ERROR(WEFT_INPUT, "'bindings' is NULL", weft_engine_compile(engine, "a = 1", NULL, NULL, &again, &error));
  weft_cancellation_free(cancellation);
  weft_bindings_free(bindings);
  weft_kernel_free(kernel);
  weft_tensor_free(m);
  weft_tensor_free(vector);
}

static void count_up(void* context) { ++*(volatile int*)context; }

/* Compiled beside the host's own work; looked up by text. */
static void compilations(weft_engine* engine) {
  weft_error* error = NULL;
  weft_bindings* bindings = NULL;
  weft_compilation *compilation = NULL, *mistaken = NULL, *cancelled = NULL;
  weft_cancellation* cancellation = NULL;
  weft_kernel* kernel = NULL;
  weft_session* session = NULL;
  weft_evaluation* evaluation = NULL;
  weft_tensor *t = NULL, *result = NULL;
  const char* text = NULL;
  double sum = 0;
  static volatile int done; /* the callback may come after this function */
  int round;
  EXPECT(weft_tensor_load(engine, "sparse(50x60,nnz=77,seed=5)", "ds", &t, &error) == WEFT_OK);
  EXPECT(weft_bindings_create(&bindings, &error) == WEFT_OK && weft_bindings_set(bindings, "T", t, 0, &error) == WEFT_OK);
  done = 0;
  EXPECT(weft_compilation_start(engine, "s = T(i,j) * T(i,j)", bindings, NULL, NULL, count_up, (void*)&done, &compilation, &error) == WEFT_OK);
  EXPECT(weft_compilation_start(engine, "s = T(i,j) * T(i,j", bindings, NULL, NULL, NULL, NULL, &mistaken, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "^", weft_compilation_kernel(mistaken, &kernel, &error));
  EXPECT(kernel == NULL);
  EXPECT(weft_compilation_kernel(compilation, &kernel, &error) == WEFT_OK && weft_compilation_ready(compilation) == 1);
  EXPECT(weft_cancellation_create(&cancellation, &error) == WEFT_OK);
  weft_cancellation_cancel(cancellation);
  EXPECT(weft_compilation_start(engine, "s = 3 * T(i,j)", bindings, NULL, cancellation, NULL, NULL, &cancelled, &error) == WEFT_OK);
  weft_cancellation_free(cancellation);
  weft_compilation_free(compilation);
  EXPECT(weft_kernel_run(kernel, bindings, NULL, &evaluation, &error) == WEFT_OK);
  weft_kernel_free(kernel);
  EXPECT_ERROR(WEFT_CANCELLED, "", weft_compilation_kernel(cancelled, &kernel, &error));
  EXPECT(weft_evaluation_result(evaluation, "s", &result, &error) == WEFT_OK);
  weft_evaluation_free(evaluation);
  EXPECT(weft_tensor_to_dense(engine, result, &sum, 1, NULL, &error) == WEFT_OK && sum > 0 && sum < 77);
  weft_tensor_free(result);
  EXPECT_ERROR(WEFT_INPUT, "'compilation' is NULL", weft_compilation_kernel(NULL, &kernel, &error));
  EXPECT_ERROR(WEFT_INPUT, "'bindings' is NULL", weft_compilation_start(engine, "s = 1", NULL, NULL, NULL, NULL, NULL, &compilation, &error));
  EXPECT(weft_compilation_ready(NULL) == 0);
  while (!done) continue;
  EXPECT(done == 1);
  weft_compilation_free(mistaken);
  weft_compilation_free(cancelled);
  weft_compilation_free(NULL);
  weft_bindings_free(bindings);

  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK && weft_session_set(session, "T", t, &error) == WEFT_OK);
  for (round = 0; round < 6; ++round) {
    double again = 0;
    EXPECT(weft_session_answer(session, "s = T(i,j) * T(i,j)", round % 2, &evaluation, &error) == WEFT_OK);
    EXPECT(weft_evaluation_result(evaluation, "s", &result, &error) == WEFT_OK);
    EXPECT_ERROR(WEFT_INPUT, "report", weft_evaluation_report(evaluation, &text, &error));
    EXPECT(weft_tensor_to_dense(engine, result, &again, 1, NULL, &error) == WEFT_OK && (again - sum) * (again - sum) < 1e-20);
    weft_evaluation_free(evaluation);
    weft_tensor_free(result);
  }
  EXPECT_ERROR(WEFT_INPUT, "U", weft_session_answer(session, "s = U(i,j)", 0, &evaluation, &error));
  EXPECT_ERROR(WEFT_INPUT, "'expression' is NULL", weft_session_answer(session, NULL, 0, &evaluation, &error));
  EXPECT_ERROR(WEFT_INPUT, "'session' is NULL", weft_session_answer(NULL, "s = T(i,j)", 0, &evaluation, &error));
  weft_session_free(session);
  weft_tensor_free(t);
}

static void files(weft_engine* engine, const char* directory) {
  char path[4096];
  weft_error* error = NULL;
  weft_tensor *written = NULL, *read = NULL, *converted = NULL, *shared = NULL;
  EXPECT(weft_tensor_load(engine, "sparse(5x6x7,nnz=20,seed=3)", "sss:2,1,0:f32", &written, &error) == WEFT_OK);
  EXPECT(weft_tensor_scalar(written) == WEFT_F32 && weft_tensor_bytes(written) > 0);
  snprintf(path, sizeof path, "%s/written.tns.gz", directory);
  EXPECT(weft_tensor_write(engine, written, path, &error) == WEFT_OK);
  EXPECT(weft_tensor_load(engine, path, NULL, &read, &error) == WEFT_OK);
  EXPECT(weft_tensor_nnz(read) == 20 && weft_tensor_extent(read, 2) == 7 && weft_tensor_scalar(read) == WEFT_F64);
  EXPECT(weft_tensor_convert(engine, read, "uqq:0,1,2:f32", &converted, &error) == WEFT_OK);
  EXPECT(strcmp(weft_tensor_format(converted), "uqq:0,1,2") == 0);
  EXPECT(weft_tensor_share(converted, &shared, &error) == WEFT_OK);
  weft_tensor_free(converted);
  EXPECT(weft_tensor_nnz(shared) == 20);
  weft_tensor_free(shared);
  EXPECT_ERROR(WEFT_INPUT, "2 levels", weft_tensor_convert(engine, read, "ss", &converted, &error));
  EXPECT_ERROR(WEFT_INPUT, "extension", weft_tensor_write(engine, read, "written.unknown", &error));
  EXPECT_ERROR(WEFT_INPUT, "absent.tns", weft_tensor_load(engine, "absent.tns", NULL, &converted, &error));
  weft_tensor_free(read);
  weft_tensor_free(written);
}

/* An error of each kind, and NULL wherever a pointer is expected. */
static void errors(weft_engine* engine) {
  static const uint64_t extents[2] = {2, 3};
  static const int32_t pos[3] = {0, 2, 3}, unsorted[3] = {2, 0, 2}, far[3] = {0, 2, -1};
  static const double values[3] = {1, 2, 3};
  weft_error* error = NULL;
  weft_options* options = NULL;
  weft_engine* limited = NULL;
  weft_session* session = NULL;
  weft_request* request = NULL;
  weft_tensor* tensor = NULL;
  weft_evaluation* evaluation = NULL;
  weft_cancellation* cancellation = NULL;
  const char* text = "untouched";
  const void* array = NULL;
  const char* missing[1] = {NULL};

  EXPECT_ERROR(WEFT_INPUT, "level 1", weft_tensor_csr(engine, WEFT_F64, 2, 3, 3, 32, pos, unsorted, values, WEFT_BORROW, &tensor, &error));
  EXPECT_ERROR(WEFT_INPUT, "4294967295", weft_tensor_csr(engine, WEFT_F64, 2, 3, 3, 32, pos, far, values, WEFT_COPY, &tensor, &error));
  EXPECT_ERROR(WEFT_INPUT, "scalar type 7", weft_tensor_dense(engine, 7, 2, extents, NULL, values, 0, &tensor, &error));
  EXPECT_ERROR(WEFT_INPUT, "flags 8", weft_tensor_dense(engine, WEFT_F64, 2, extents, NULL, values, 8, &tensor, &error));
  EXPECT_ERROR(WEFT_INPUT, "16 bits", weft_tensor_csr(engine, WEFT_F64, 2, 3, 3, 16, pos, unsorted, values, 0, &tensor, &error));
  EXPECT_ERROR(WEFT_INPUT, "'values' is NULL", weft_tensor_dense(engine, WEFT_F64, 2, extents, NULL, NULL, 0, &tensor, &error));
  EXPECT_ERROR(WEFT_INPUT, "'pos' is NULL", weft_tensor_csr(engine, WEFT_F64, 2, 3, 3, 32, NULL, unsorted, values, 0, &tensor, &error));
  EXPECT_ERROR(WEFT_INPUT, "'engine' is NULL", weft_tensor_load(NULL, "ones(3)", NULL, &tensor, &error));
  EXPECT_ERROR(WEFT_INPUT, "'spec' is NULL", weft_tensor_load(engine, NULL, NULL, &tensor, &error));
  EXPECT_ERROR(WEFT_INPUT, "'made' is NULL", weft_tensor_load(engine, "ones(3)", NULL, NULL, &error));
  EXPECT_ERROR(WEFT_INPUT, "'tensor' is NULL", weft_tensor_verify(engine, NULL, &error));
  EXPECT_ERROR(WEFT_INPUT, "'tensor' is NULL", weft_tensor_values(NULL, &array, NULL, &error));
  EXPECT_ERROR(WEFT_INPUT, "'engine' is NULL", weft_session_create(NULL, &session, &error));
  EXPECT_ERROR(WEFT_INPUT, "'options' is NULL", weft_options_set_threads(NULL, 2, &error));
  EXPECT_ERROR(WEFT_INPUT, "'request' is NULL", weft_request_set_tree(NULL, "(A * B)", &error));
  EXPECT_ERROR(WEFT_INPUT, "'evaluation' is NULL", weft_evaluation_report(NULL, &text, &error));
  EXPECT(text[0] == '\0');
  EXPECT(weft_error_kind(NULL) == WEFT_OK && weft_error_message(NULL)[0] == '\0' && weft_tensor_order(NULL) == 0);
  EXPECT(weft_tensor_format(NULL)[0] == '\0' && weft_session_count(NULL) == 0 && weft_evaluation_name(NULL, 0)[0] == '\0');
  EXPECT(weft_engine_threads(NULL) == 0 && weft_cancellation_cancelled(NULL) == 0);
  weft_error_free(NULL), weft_tensor_free(NULL), weft_engine_free(NULL), weft_session_free(NULL), weft_evaluation_free(NULL);
  weft_options_free(NULL), weft_request_free(NULL), weft_cancellation_free(NULL), weft_cancellation_cancel(NULL);
  /* Without a place for the error object its kind is told all the same. */
  EXPECT(weft_tensor_load(engine, "absent.tns", NULL, &tensor, NULL) == WEFT_INPUT && tensor == NULL);

  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "'name' is NULL", weft_session_set(session, NULL, NULL, &error));
  EXPECT_ERROR(WEFT_INPUT, "T", weft_session_get(session, "T", &tensor, &error));
  EXPECT(weft_session_drop(session, "T", &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "T", weft_session_evaluate(session, "a = T(i)", 0, NULL, NULL, &evaluation, &error));
  EXPECT_ERROR(WEFT_INPUT, "^", weft_session_evaluate(session, "a = T(i", 0, NULL, NULL, &evaluation, &error));
  EXPECT_ERROR(WEFT_INPUT, "operands[0]", weft_session_evaluate(session, "a = T(i)", 1, missing, NULL, &evaluation, &error));
  EXPECT_ERROR(WEFT_INPUT, "einsum", weft_session_evaluate(session, "i->", 0, NULL, NULL, &evaluation, &error));
  EXPECT(weft_tensor_load(engine, "ones(3)", NULL, &tensor, &error) == WEFT_OK && weft_session_set(session, "T", tensor, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_UNSUPPORTED, "not", weft_session_evaluate(session, "a = T(i) + T(i)", 0, NULL, NULL, &evaluation, &error));
  EXPECT(evaluation == NULL);
  weft_tensor_free(tensor);
  EXPECT(weft_request_create(&request, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "A: ", weft_request_set_format(request, "A", "xy", &error));
  EXPECT_ERROR(WEFT_INPUT, "calls", weft_request_set_calls(request, 0, &error));
  weft_request_free(request);
  weft_session_free(session);

  EXPECT(weft_options_create(&options, &error) == WEFT_OK);
  EXPECT(weft_options_set_memory_limit(options, 1000, &error) == WEFT_OK);
  limited = engine_with(options);
  EXPECT_ERROR(WEFT_RESOURCE, "1000", weft_tensor_load(limited, "ones(500x500)", NULL, &tensor, &error));
  EXPECT(weft_tensor_load(limited, "ones(100)", NULL, &tensor, &error) == WEFT_OK && weft_engine_memory_used(limited) == 800);
  weft_engine_free(limited);
  weft_tensor_free(tensor);
  EXPECT(weft_options_set_calibration(options, "nonsense", "mine", &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "mine", weft_engine_create(options, &limited, &error));
  weft_options_free(options);

  EXPECT(weft_options_create(&options, &error) == WEFT_OK);
  EXPECT(weft_cancellation_create(&cancellation, &error) == WEFT_OK);
  EXPECT(weft_options_set_cancellation(options, cancellation, &error) == WEFT_OK);
  limited = engine_with(options);
  weft_options_free(options);
  EXPECT(weft_tensor_load(limited, "sparse(100x100,nnz=50)", NULL, &tensor, &error) == WEFT_OK);
  EXPECT(weft_session_create(limited, &session, &error) == WEFT_OK && weft_session_set(session, "T", tensor, &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "a = T(i,j)", 0, NULL, NULL, &evaluation, &error) == WEFT_OK);
  weft_evaluation_free(evaluation);
  weft_cancellation_cancel(cancellation);
  EXPECT(weft_cancellation_cancelled(cancellation) == 1);
  weft_cancellation_free(cancellation);
  EXPECT_ERROR(WEFT_CANCELLED, "", weft_session_evaluate(session, "a = T(i,j)", 0, NULL, NULL, &evaluation, &error));
  weft_session_free(session);
  weft_engine_free(limited);
  weft_tensor_free(tensor);
}

int main(int arguments, char** argument) {
  weft_error* error = NULL;
  weft_options* options = NULL;
  weft_engine *engine = NULL, *plain = NULL;
  char dump[4096];
  int compiled_before;
  EXPECT(arguments == 2);
  EXPECT(strlen(weft_version()) > 0);
  EXPECT(weft_options_create(&options, &error) == WEFT_OK);
  EXPECT(weft_options_set_threads(options, 2, &error) == WEFT_OK);
  EXPECT(weft_options_set_cache_directory(options, argument[1], &error) == WEFT_OK);
  EXPECT(weft_options_set_paranoid(options, 1, &error) == WEFT_OK);
  snprintf(dump, sizeof dump, "%s/dump", argument[1]);
  EXPECT(weft_options_set_dump_directory(options, dump, &error) == WEFT_OK);
  EXPECT(weft_options_set_deterministic(options, 1, &error) == WEFT_OK);
  EXPECT(weft_options_set_strict_fp(options, 1, &error) == WEFT_OK);
  EXPECT(weft_options_set_checked(options, 1, &error) == WEFT_OK);
  EXPECT(weft_options_set_trace(options, trace, NULL, &error) == WEFT_OK);
  EXPECT(weft_options_set_progress(options, progress, &compiled, &error) == WEFT_OK);
  engine = engine_with(options);
  EXPECT(weft_engine_threads(engine) == 2);
  plain = engine_with(NULL);
  products(engine);
  EXPECT(compiled > 0);
  compiled_before = compiled;
  products(engine); /* another session finds what the first one compiled */
  EXPECT(compiled == compiled_before);
  products(plain);
  sparse_result(engine);
  sparse_result(plain);
  kernels(engine);
  kernels(plain);
  compilations(engine);
  compilations(plain);
  files(plain, argument[1]);
  errors(plain);
  EXPECT(weft_engine_memory_peak(engine) > 0 && weft_engine_memory_used(plain) == 0);
  weft_options_free(options);
  weft_engine_free(engine);
  weft_engine_free(plain);
  return 0;
}
