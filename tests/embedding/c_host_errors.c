/* Errors of each kind, NULL wherever a pointer is expected, cancellations. */
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
  weft_options_free(options);
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
