/* Errors of each kind and what they say to programs, NULL wherever a pointer is expected, other values, cancellations. */
#include <string.h>

#include "c_host.h"

/* An error of each kind, and NULL wherever a pointer is expected. */
void errors(weft_engine* engine) {
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
  EXPECT_ERROR(WEFT_INPUT, "nowhere", weft_options_set_calibration_file(options, "nowhere", &error));
  EXPECT(weft_options_set_calibration(options, "", NULL, &error) == WEFT_OK);
  EXPECT(weft_options_set_calibration_file(options, NULL, &error) == WEFT_OK);
  weft_options_free(options);
}


/* What errors say to programs. */
void error_fields(weft_engine* engine) {
  static const uint64_t three[1] = {3}, four[1] = {4}, beyond[2] = {3, 0};
  static const int32_t pos[4] = {0, 2, 2, 4}, crd[4] = {0, 3, 1, 2};
  static const double values[4] = {1, 2, 3, 4};
  weft_error* error = NULL;
  weft_tensor *matrix = NULL, *vector = NULL, *shorter = NULL, *other = NULL;
  weft_bindings *bindings = NULL, *fewer = NULL;
  weft_request* request = NULL;
  weft_kernel* kernel = NULL;
  weft_evaluation* evaluation = NULL;
  weft_session* session = NULL;
  weft_options* options = NULL;
  weft_engine* limited = NULL;
  const char* twice[2] = {"x", "x"};
  uint64_t offset = 0, line = 0, column = 0;
  double value = 0;
  const char* product = "y(i) = M(i,j) * x(j)";
  EXPECT(weft_tensor_csr(engine, WEFT_F64, 3, 4, 4, 32, pos, crd, values, 0, &matrix, &error) == WEFT_OK);
  EXPECT(weft_tensor_dense(engine, WEFT_F64, 1, four, NULL, values, 0, &vector, &error) == WEFT_OK);
  EXPECT(weft_tensor_dense(engine, WEFT_F64, 1, three, NULL, values, 0, &shorter, &error) == WEFT_OK);
  EXPECT(weft_bindings_create(&bindings, &error) == WEFT_OK && weft_request_create(&request, &error) == WEFT_OK);
  EXPECT(weft_bindings_set(bindings, "M", matrix, 0, &error) == WEFT_OK);
  EXPECT(weft_bindings_copy(bindings, &fewer, &error) == WEFT_OK);

  EXPECT(weft_engine_compile(engine, "y(i) = M(i,j)\n  * x(j", bindings, NULL, &kernel, &error) == WEFT_INPUT);
  EXPECT(weft_error_code(error) == WEFT_CODE_SYNTAX && weft_error_operand(error)[0] == '\0');
  EXPECT(weft_error_position(error, &offset, &line, &column) == 1 && line == 2 && offset == 13 + column);
  EXPECT(weft_error_position(error, NULL, NULL, NULL) == 1);
  weft_error_free(error);
  error = NULL;
  EXPECT_CODE(WEFT_CODE_MISSING_OPERAND, "x", weft_engine_compile(engine, product, fewer, NULL, &kernel, &error));
  EXPECT(weft_bindings_set(bindings, "x", shorter, 0, &error) == WEFT_OK);
  EXPECT(weft_engine_compile(engine, product, bindings, NULL, &kernel, &error) == WEFT_INPUT);
  EXPECT(weft_error_code(error) == WEFT_CODE_EXTENTS_DISAGREE && strcmp(weft_error_index(error), "j") == 0);
  EXPECT(strcmp(weft_error_operand(error), "x") == 0 && weft_error_option(error)[0] == '\0');
  weft_error_free(error);
  error = NULL;
  EXPECT(weft_bindings_set(bindings, "x", matrix, 0, &error) == WEFT_OK);
  EXPECT_CODE(WEFT_CODE_ORDER, "x", weft_engine_compile(engine, product, bindings, NULL, &kernel, &error));
  EXPECT(weft_bindings_set(bindings, "x", vector, 0, &error) == WEFT_OK);
  EXPECT(weft_request_set_objective(request, "beauty", &error) == WEFT_OK);
  EXPECT(weft_engine_compile(engine, product, bindings, request, &kernel, &error) == WEFT_INPUT);
  EXPECT(weft_error_code(error) == WEFT_CODE_OPTION && strcmp(weft_error_option(error), "objective") == 0);
  EXPECT(weft_error_position(error, &offset, &line, &column) == 0);
  weft_error_free(error);
  error = NULL;
  EXPECT(weft_engine_compile(engine, product, bindings, NULL, &kernel, &error) == WEFT_OK);
  EXPECT_CODE(WEFT_CODE_MISSING_OPERAND, "x", weft_kernel_run(kernel, fewer, NULL, &evaluation, &error));
  EXPECT_CODE(WEFT_CODE_UNKNOWN_NAME, "z", weft_bindings_replace_values(bindings, "z", WEFT_F64, values, 4, &error));
  EXPECT_CODE(WEFT_CODE_SIZES, "M", weft_bindings_replace_values(bindings, "M", WEFT_F64, values, 3, &error));
  EXPECT_CODE(WEFT_CODE_OUT_OF_RANGE, "", weft_tensor_at(engine, matrix, beyond, &value, NULL, &error));
  EXPECT_CODE(WEFT_CODE_FILE, "F", weft_tensor_read(engine, "no/such/file.tns", 0, NULL, NULL, WEFT_F64, "F", NULL, &other, &error));
  EXPECT_CODE(WEFT_CODE_SIZES, "", weft_tensor_same_pattern(engine, matrix, WEFT_F64, values, 3, 0, &other, &error));
  EXPECT_CODE(WEFT_CODE_OTHER, "", weft_tensor_same_pattern(engine, NULL, WEFT_F64, values, 3, 0, &other, &error));
  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK && weft_session_set(session, "x", vector, &error) == WEFT_OK);
  EXPECT_CODE(WEFT_CODE_SURPLUS_OPERAND, "x", weft_session_evaluate(session, "i->", 2, twice, NULL, &evaluation, &error));
  weft_session_free(session);
  EXPECT(weft_options_create(&options, &error) == WEFT_OK && weft_options_set_memory_limit(options, 100, &error) == WEFT_OK);
  limited = engine_with(options);
  EXPECT(weft_tensor_load(limited, "ones(500)", NULL, &other, &error) == WEFT_RESOURCE);
  EXPECT(weft_error_code(error) == WEFT_CODE_MEMORY_LIMIT);
  weft_error_free(error);
  error = NULL;
  EXPECT(weft_error_code(NULL) == WEFT_CODE_OTHER && weft_error_operand(NULL)[0] == '\0' && weft_error_index(NULL)[0] == '\0');
  EXPECT(weft_error_option(NULL)[0] == '\0' && weft_error_position(NULL, &offset, &line, &column) == 0);
  weft_engine_free(limited), weft_options_free(options), weft_kernel_free(kernel), weft_request_free(request);
  weft_bindings_free(bindings), weft_bindings_free(fewer);
  weft_tensor_free(matrix), weft_tensor_free(vector), weft_tensor_free(shorter);
}

/* Other values over a pattern, borrowed and copied, and values that the host changes. */
void values_of_a_pattern(weft_engine* engine) {
  static const int32_t pos[4] = {0, 2, 2, 4}, crd[4] = {0, 3, 1, 2};
  static const double values[4] = {1, 2, 3, 4};
  static const uint64_t stored[2] = {2, 1}, absent[2] = {1, 1};
  double lent[4] = {10, 20, 30, 40};
  weft_error* error = NULL;
  weft_tensor *matrix = NULL, *copied = NULL, *borrowed = NULL;
  double value = 0;
  int32_t there = 0;
  EXPECT(weft_tensor_csr(engine, WEFT_F64, 3, 4, 4, 32, pos, crd, values, 0, &matrix, &error) == WEFT_OK);
  EXPECT(weft_tensor_same_pattern(engine, matrix, WEFT_F64, lent, 4, 0, &copied, &error) == WEFT_OK);
  EXPECT(weft_tensor_same_pattern(engine, matrix, WEFT_F64, lent, 4, WEFT_BORROW, &borrowed, &error) == WEFT_OK);
  lent[2] = 5;
  weft_tensor_values_changed(borrowed);
  weft_tensor_values_changed(NULL);
  EXPECT(weft_tensor_at(engine, matrix, stored, &value, &there, &error) == WEFT_OK && value == 3 && there == 1);
  EXPECT(weft_tensor_at(engine, copied, stored, &value, &there, &error) == WEFT_OK && value == 30 && there == 1);
  EXPECT(weft_tensor_at(engine, borrowed, stored, &value, NULL, &error) == WEFT_OK && value == 5);
  EXPECT(weft_tensor_at(engine, borrowed, absent, &value, &there, &error) == WEFT_OK && value == 0 && there == 0);
  EXPECT_ERROR(WEFT_INPUT, "'value' is NULL", weft_tensor_at(engine, matrix, stored, NULL, NULL, &error));
  EXPECT_ERROR(WEFT_INPUT, "'coordinates' is NULL", weft_tensor_at(engine, matrix, NULL, &value, NULL, &error));
  weft_tensor_free(matrix), weft_tensor_free(copied), weft_tensor_free(borrowed);
}

/* What is cancelled by the engine's token, by that of a request, and by neither. */
void cancellations(void) {
  weft_error* error = NULL;
  weft_options* options = NULL;
  weft_engine* limited = NULL;
  weft_session* session = NULL;
  weft_request* request = NULL;
  weft_tensor* tensor = NULL;
  weft_evaluation* evaluation = NULL;
  weft_cancellation *cancellation = NULL, *mine = NULL;
  weft_bindings* bindings = NULL;
  weft_kernel* kernel = NULL;
  EXPECT(weft_options_create(&options, &error) == WEFT_OK);
  EXPECT(weft_cancellation_create(&cancellation, &error) == WEFT_OK);
  EXPECT(weft_options_set_cancellation(options, cancellation, &error) == WEFT_OK);
  limited = engine_with(options);
  weft_options_free(options);
  EXPECT(weft_tensor_load(limited, "sparse(100x100,nnz=50)", NULL, &tensor, &error) == WEFT_OK);
  EXPECT(weft_session_create(limited, &session, &error) == WEFT_OK && weft_session_set(session, "T", tensor, &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "a = T(i,j)", 0, NULL, NULL, &evaluation, &error) == WEFT_OK);
  weft_evaluation_free(evaluation);
  EXPECT(weft_cancellation_create(&mine, &error) == WEFT_OK && weft_request_create(&request, &error) == WEFT_OK);
  EXPECT(weft_request_set_cancellation(request, mine, &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "a = T(i,j)", 0, NULL, request, &evaluation, &error) == WEFT_OK);
  weft_evaluation_free(evaluation);
  weft_cancellation_cancel(mine);
  weft_cancellation_free(mine);
  EXPECT_ERROR(WEFT_CANCELLED, "", weft_session_evaluate(session, "a = T(i,j)", 0, NULL, request, &evaluation, &error));
  EXPECT(weft_bindings_create(&bindings, &error) == WEFT_OK && weft_bindings_set(bindings, "T", tensor, 0, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_CANCELLED, "", weft_engine_compile(limited, "a = T(i,j)", bindings, request, &kernel, &error));
  weft_bindings_free(bindings);
  EXPECT(weft_request_set_cancellation(request, NULL, &error) == WEFT_OK);
  EXPECT(weft_session_evaluate(session, "a = T(i,j)", 0, NULL, request, &evaluation, &error) == WEFT_OK);
  weft_evaluation_free(evaluation);
  weft_request_free(request);
  weft_cancellation_cancel(cancellation);
  EXPECT(weft_cancellation_cancelled(cancellation) == 1);
  weft_cancellation_free(cancellation);
  EXPECT_ERROR(WEFT_CANCELLED, "", weft_session_evaluate(session, "a = T(i,j)", 0, NULL, NULL, &evaluation, &error));
  weft_session_free(session);
  weft_engine_free(limited);
  weft_tensor_free(tensor);
}
