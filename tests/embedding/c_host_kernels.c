/* Kernels: compiled once and run often, for figures alone, and in the background. */
#include <string.h>

#include "c_host.h"

/* What "y(i) = M(i,j) * x(j)" reads and makes, and the page of its plan. */
static void described(weft_kernel* kernel) {
  weft_error* error = NULL;
  const char* text = NULL;
  int32_t scalar = -1;
  uint32_t order = 0, mode = 9;
  EXPECT(weft_kernel_operand_count(kernel) == 2 && strcmp(weft_kernel_operand(kernel, 0), "M") == 0);
  EXPECT(strcmp(weft_kernel_operand(kernel, 1), "x") == 0 && weft_kernel_operand(kernel, 2)[0] == '\0');
  EXPECT(weft_kernel_result_count(kernel) == 1 && strcmp(weft_kernel_result(kernel, 0), "y") == 0);
  EXPECT(weft_kernel_result(kernel, 1)[0] == '\0' && weft_kernel_result_count(NULL) == 0 && weft_kernel_operand_count(NULL) == 0);
  EXPECT(weft_kernel_result_format(kernel, 0, &text, &scalar, &order, &error) == WEFT_OK);
  EXPECT(strcmp(text, "d") == 0 && scalar == WEFT_F64 && order == 1);
  EXPECT(weft_kernel_result_format(kernel, 0, NULL, NULL, NULL, &error) == WEFT_OK);
  EXPECT(weft_kernel_result_extent(kernel, 0, 0, &text, &mode, &error) == WEFT_OK && strcmp(text, "M") == 0 && mode == 0);
  EXPECT_ERROR(WEFT_INPUT, "mode 1", weft_kernel_result_extent(kernel, 0, 1, &text, &mode, &error));
  EXPECT_ERROR(WEFT_INPUT, "result 1", weft_kernel_result_extent(kernel, 1, 0, &text, &mode, &error));
  EXPECT_ERROR(WEFT_INPUT, "result 1", weft_kernel_result_format(kernel, 1, &text, &scalar, &order, &error));
  EXPECT_ERROR(WEFT_INPUT, "'kernel' is NULL", weft_kernel_result_format(NULL, 0, &text, &scalar, &order, &error));
  EXPECT_ERROR(WEFT_INPUT, "'operand' is NULL", weft_kernel_result_extent(kernel, 0, 0, NULL, &mode, &error));
  EXPECT(weft_kernel_page(kernel, &text, &error) == WEFT_OK && strstr(text, "<html") != NULL);
  EXPECT_ERROR(WEFT_INPUT, "'html' is NULL", weft_kernel_page(kernel, NULL, &error));
}

/* Compiled once, run over changing values into the host's memory. */
void kernels(weft_engine* engine) {
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
  weft_request* request = NULL;
  const char* text = NULL;
  uint64_t bytes = 0;
  const void* stored = NULL;
  int run;
  EXPECT(weft_tensor_csr(engine, WEFT_F64, 2, 3, 3, 32, pos, crd, values, WEFT_BORROW, &m, &error) == WEFT_OK);
  EXPECT(weft_tensor_dense(engine, WEFT_F64, 1, &three, NULL, x, WEFT_BORROW, &vector, &error) == WEFT_OK);
  EXPECT(weft_bindings_create(&bindings, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "M", weft_engine_compile(engine, "y(i) = M(i,j) * x(j)", bindings, NULL, &kernel, &error));
  EXPECT(weft_bindings_set(bindings, "M", m, 0, &error) == WEFT_OK);
  EXPECT(weft_bindings_set(bindings, "x", vector, WEFT_CHANGES | WEFT_FINITE, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "flags 1", weft_bindings_set(bindings, "x", vector, WEFT_BORROW, &error));
  EXPECT_ERROR(WEFT_INPUT, "^", weft_engine_compile(engine, "y(i) = M(i,j", bindings, NULL, &kernel, &error));
  EXPECT(weft_engine_compile(engine, "y(i) = M(i,j) * x(j)", bindings, NULL, &kernel, &error) == WEFT_OK);
  EXPECT(weft_engine_compile(engine, "y(i) = M(i,j) * x(j)", bindings, NULL, &again, &error) == WEFT_OK);
  weft_kernel_free(again);
  EXPECT(weft_kernel_stage(kernel, "loops", &text, &bytes, &error) == WEFT_OK && bytes == strlen(text) && strstr(text, "for i") != NULL);
  EXPECT_ERROR(WEFT_INPUT, "nonsense", weft_kernel_stage(kernel, "nonsense", &text, &bytes, &error));
  EXPECT(weft_kernel_report(kernel, &text, &error) == WEFT_OK && strstr(text, "\"schedule\":") != NULL);
  described(kernel);
  EXPECT(weft_kernel_run(kernel, bindings, NULL, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_result(evaluation, "y", &result, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "weft_kernel_report", weft_evaluation_report(evaluation, &text, &error));
  EXPECT_ERROR(WEFT_INPUT, "weft_kernel_page", weft_evaluation_page(evaluation, &text, &error));
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
  EXPECT(weft_bindings_scale_output(bindings, "y", 2, -1, &error) == WEFT_OK);
  EXPECT(weft_kernel_run(kernel, bindings, NULL, NULL, &error) == WEFT_OK);
  EXPECT(spread[0] == 601 && spread[1] == -1 && spread[2] == 900);
  EXPECT_ERROR(WEFT_INPUT, "z", weft_bindings_scale_output(bindings, "z", 2, -1, &error));
  EXPECT(weft_request_create(&request, &error) == WEFT_OK);
  EXPECT(weft_request_add_scaled(request, "y", &error) == WEFT_OK && weft_request_add_strided(request, "y", &error) == WEFT_OK &&
         weft_request_add_lent_result(request, "y", &error) == WEFT_OK);
  EXPECT(weft_engine_compile(engine, "y(i) = M(i,j) * x(j)", bindings, request, &again, &error) == WEFT_OK);
  weft_request_free(request);
  EXPECT(weft_kernel_run(again, bindings, NULL, NULL, &error) == WEFT_OK);
  EXPECT(spread[0] == 601 && spread[1] == -1 && spread[2] == 900);
  weft_kernel_free(again);
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

/* A product of sparse matrices, whose pattern is computed once. */
void symbolic(weft_engine* engine) {
  static const int32_t pos[3] = {0, 2, 3}, crd[3] = {0, 1, 1}, other_pos[3] = {0, 1, 3}, other_crd[3] = {0, 0, 1};
  double values[3] = {1, 2, 3}, product[3] = {-1, -1, -1};
  weft_error* error = NULL;
  weft_bindings* bindings = NULL;
  weft_kernel* kernel = NULL;
  weft_tensor *m = NULL, *other = NULL, *result = NULL, *memory = NULL;
  weft_evaluation* evaluation = NULL;
  weft_request* request = NULL;
  uint64_t bytes = 0;
  const void* saved = NULL;
  weft_kernel* loaded = NULL;
  char scratch[4096];
  EXPECT(weft_tensor_csr(engine, WEFT_F64, 2, 2, 3, 32, pos, crd, values, WEFT_BORROW, &m, &error) == WEFT_OK);
  EXPECT(weft_tensor_csr(engine, WEFT_F64, 2, 2, 3, 32, other_pos, other_crd, values, WEFT_BORROW, &other, &error) == WEFT_OK);
  EXPECT(weft_bindings_create(&bindings, &error) == WEFT_OK);
  EXPECT(weft_bindings_set(bindings, "A", m, 0, &error) == WEFT_OK && weft_bindings_set(bindings, "B", m, 0, &error) == WEFT_OK);
  EXPECT(weft_request_create(&request, &error) == WEFT_OK);
  EXPECT(weft_request_set_format(request, "C", "ds", &error) == WEFT_OK);
  EXPECT(weft_engine_compile(engine, "C(i,j) = A(i,k) * B(k,j)", bindings, request, &kernel, &error) == WEFT_OK);
  EXPECT(weft_kernel_symbolic(kernel, bindings, NULL, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_result(evaluation, "C", &result, &error) == WEFT_OK && weft_tensor_nnz(result) == 3);
  EXPECT(weft_tensor_same_pattern(engine, result, WEFT_F64, product, 3, WEFT_BORROW, &memory, &error) == WEFT_OK);
  EXPECT(weft_bindings_set_output_tensor(bindings, "C", memory, &error) == WEFT_OK);
  EXPECT(weft_kernel_run(kernel, bindings, NULL, NULL, &error) == WEFT_OK);
  EXPECT(product[0] == 1 && product[1] == 8 && product[2] == 9);
  values[2] = 1;
  EXPECT(weft_kernel_run(kernel, bindings, NULL, NULL, &error) == WEFT_OK);
  EXPECT(product[0] == 1 && product[1] == 4 && product[2] == 1);
  EXPECT(weft_kernel_save(kernel, &saved, &bytes, &error) == WEFT_OK && bytes > 0);
  EXPECT(weft_engine_load(engine, saved, bytes, &loaded, &error) == WEFT_OK);
  EXPECT(weft_kernel_run(loaded, bindings, NULL, NULL, &error) == WEFT_OK);
  weft_kernel_free(loaded);
  EXPECT_ERROR(WEFT_INPUT, "truncated", weft_engine_load(engine, saved, bytes - 1, &loaded, &error));
  EXPECT(weft_kernel_save_file(kernel, "/dev/null", &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "/dev/null", weft_engine_load_file(engine, "/dev/null", &loaded, &error));
  EXPECT(weft_kernel_scratch_bytes(kernel, bindings, &bytes, &error) == WEFT_OK && bytes > 0 && bytes <= sizeof scratch);
  EXPECT(weft_bindings_set_scratch(bindings, scratch, bytes, &error) == WEFT_OK);
  values[2] = 3;
  EXPECT(weft_kernel_run(kernel, bindings, NULL, NULL, &error) == WEFT_OK);
  EXPECT(product[0] == 1 && product[1] == 8 && product[2] == 9);
  EXPECT_ERROR(WEFT_INPUT, "'memory' is NULL", weft_bindings_set_scratch(bindings, NULL, 8, &error));
  EXPECT(weft_bindings_set_scratch(bindings, NULL, 0, &error) == WEFT_OK);
  EXPECT(weft_bindings_set(bindings, "B", other, 0, &error) == WEFT_OK);
  EXPECT_CODE(WEFT_CODE_PATTERN_CHANGED, "B", weft_kernel_run(kernel, bindings, NULL, NULL, &error));
  EXPECT_ERROR(WEFT_INPUT, "'memory' is NULL", weft_bindings_set_output_tensor(bindings, "C", NULL, &error));
  weft_request_free(request);
  weft_evaluation_free(evaluation);
  weft_bindings_free(bindings);
  weft_kernel_free(kernel);
  weft_tensor_free(memory);
  weft_tensor_free(result);
  weft_tensor_free(other);
  weft_tensor_free(m);
}

/* Compiled for figures alone; run over a tensor that came later. */
void figures(weft_engine* engine) {
  static const uint64_t extents[2] = {50, 60};
  static const uint64_t sixty = 60;
  const char* names[2] = {"T", "x"};
  const weft_statistics* known[2];
  weft_error* error = NULL;
  weft_statistics *t = NULL, *x = NULL, *counted = NULL;
  weft_kernel* kernel = NULL;
  weft_bindings* bindings = NULL;
  weft_evaluation* evaluation = NULL;
  weft_tensor *tensor = NULL, *vector = NULL, *result = NULL;
  double y[50], sum = 0;
  const char* text = NULL;
  int i;
  EXPECT(weft_statistics_create("ds", extents, 77, 1, &t, &error) == WEFT_OK);
  EXPECT(weft_statistics_create("d", &sixty, 60, 1, &x, &error) == WEFT_OK);
  EXPECT(weft_statistics_set_distinct(t, 1, 40, &error) == WEFT_OK && weft_statistics_distinct(t, 1) == 40);
  EXPECT(weft_statistics_nnz(t) == 77 && weft_statistics_finite(t) == 1 && strstr(weft_statistics_text(t), "distinct(0) 40") != NULL);
  EXPECT_ERROR(WEFT_INPUT, "4", weft_statistics_set_distinct(t, 4, 1, &error));
  EXPECT_ERROR(WEFT_INPUT, "78", weft_statistics_set_distinct(t, 2, 78, &error));
  EXPECT_ERROR(WEFT_INPUT, "3001", weft_statistics_create("ds", extents, 3001, 1, &counted, &error));
  EXPECT_ERROR(WEFT_INPUT, "'extents' is NULL", weft_statistics_create("ds", NULL, 3, 1, &counted, &error));
  known[0] = t;
  known[1] = x;
  EXPECT_ERROR(WEFT_INPUT, "x", weft_engine_compile_for(engine, "y(i) = T(i,j) * x(j)", 1, names, known, NULL, &kernel, &error));
  EXPECT_ERROR(WEFT_INPUT, "'names' is NULL", weft_engine_compile_for(engine, "y(i) = T(i,j) * x(j)", 2, NULL, known, NULL, &kernel, &error));
  EXPECT(weft_engine_compile_for(engine, "y(i) = T(i,j) * x(j)", 2, names, known, NULL, &kernel, &error) == WEFT_OK);
  EXPECT(weft_kernel_report(kernel, &text, &error) == WEFT_OK && strstr(text, "\"nnz\":77") != NULL);
  EXPECT(weft_tensor_load(engine, "sparse(50x60,nnz=77,seed=5)", "ds", &tensor, &error) == WEFT_OK);
  EXPECT(weft_tensor_load(engine, "ones(60)", NULL, &vector, &error) == WEFT_OK);
  EXPECT(weft_statistics_of(engine, tensor, &counted, &error) == WEFT_OK && weft_statistics_nnz(counted) == 77);
  EXPECT_ERROR(WEFT_INPUT, "counted", weft_statistics_set_distinct(counted, 1, 40, &error));
  EXPECT(weft_bindings_create(&bindings, &error) == WEFT_OK);
  EXPECT(weft_bindings_set(bindings, "T", tensor, 0, &error) == WEFT_OK && weft_bindings_set(bindings, "x", vector, 0, &error) == WEFT_OK);
  EXPECT(weft_kernel_run(kernel, bindings, NULL, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_result(evaluation, "y", &result, &error) == WEFT_OK);
  EXPECT(weft_tensor_to_dense(engine, result, y, 50, NULL, &error) == WEFT_OK);
  for (i = 0; i < 50; ++i) sum += y[i];
  EXPECT(sum > 20 && sum < 60);
  EXPECT(weft_statistics_nnz(NULL) == 0 && weft_statistics_distinct(NULL, 1) == 0 && weft_statistics_finite(NULL) == 0);
  weft_statistics_free(NULL), weft_statistics_free(t), weft_statistics_free(x), weft_statistics_free(counted);
  weft_tensor_free(tensor), weft_tensor_free(vector), weft_tensor_free(result);
  weft_evaluation_free(evaluation);
  weft_bindings_free(bindings);
  weft_kernel_free(kernel);
}

static void count_up(void* context) { ++*(volatile int*)context; }

/* Compiled beside the host's own work; looked up by text. */
void compilations(weft_engine* engine) {
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
    EXPECT(weft_session_answer(session, "s = T(i,j) * T(i,j)", round % 2, NULL, &evaluation, &error) == WEFT_OK);
    EXPECT(weft_evaluation_result(evaluation, "s", &result, &error) == WEFT_OK);
    EXPECT_ERROR(WEFT_INPUT, "report", weft_evaluation_report(evaluation, &text, &error));
    EXPECT(weft_tensor_to_dense(engine, result, &again, 1, NULL, &error) == WEFT_OK && (again - sum) * (again - sum) < 1e-20);
    weft_evaluation_free(evaluation);
    weft_tensor_free(result);
  }
  EXPECT_ERROR(WEFT_INPUT, "U", weft_session_answer(session, "s = U(i,j)", 0, NULL, &evaluation, &error));
  EXPECT_ERROR(WEFT_INPUT, "'expression' is NULL", weft_session_answer(session, NULL, 0, NULL, &evaluation, &error));
  EXPECT_ERROR(WEFT_INPUT, "'session' is NULL", weft_session_answer(NULL, "s = T(i,j)", 0, NULL, &evaluation, &error));
  weft_session_free(session);
  weft_tensor_free(t);
}
