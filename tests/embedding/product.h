/* A product of a matrix and a vector through the C API, as several hosts need it. */
#include <stdint.h>
#include <stdio.h>

#include <weft.h>

/* y(i) = factor * M(i,j) * x(j): the factor is part of the code. 0 if the result is right. Says on standard error what is wrong. */
static int wrong_product(weft_engine* engine, int factor) {
  static const int32_t pos[3] = {0, 2, 3}, crd[3] = {0, 2, 2};
  static const double values[3] = {1, 2, 3}, x[3] = {1, 10, 100};
  static const uint64_t three = 3;
  char expression[100];
  double y[2] = {0, 0};
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_tensor *m = NULL, *vector = NULL, *result = NULL;
  weft_evaluation* evaluation = NULL;
  int failed = 0;
  snprintf(expression, sizeof expression, "y(i) = %d * M(i,j) * x(j)", factor);
  failed = failed || weft_session_create(engine, &session, &error);
  failed = failed || weft_tensor_csr(engine, WEFT_F64, 2, 3, 3, 32, pos, crd, values, WEFT_BORROW, &m, &error);
  failed = failed || weft_tensor_dense(engine, WEFT_F64, 1, &three, NULL, x, WEFT_BORROW, &vector, &error);
  failed = failed || weft_session_set(session, "M", m, &error) || weft_session_set(session, "x", vector, &error);
  failed = failed || weft_session_evaluate(session, expression, 0, NULL, NULL, &evaluation, &error);
  failed = failed || weft_evaluation_result(evaluation, "y", &result, &error);
  failed = failed || weft_tensor_to_dense(engine, result, y, 2, NULL, &error);
  if (failed) fprintf(stderr, "%s: %s\n", expression, weft_error_message(error));
  if (!failed && (y[0] != 201.0 * factor || y[1] != 300.0 * factor)) {
    fprintf(stderr, "%s: %g, %g\n", expression, y[0], y[1]);
    failed = 1;
  }
  weft_error_free(error);
  weft_evaluation_free(evaluation);
  weft_session_free(session);
  weft_tensor_free(m);
  weft_tensor_free(vector);
  weft_tensor_free(result);
  return failed;
}

/* The same with an engine of its own. */
static int wrong_product_anew(int factor) {
  weft_error* error = NULL;
  weft_engine* engine = NULL;
  int failed = weft_engine_create(NULL, &engine, &error);
  if (failed) fprintf(stderr, "an engine: %s\n", weft_error_message(error));
  weft_error_free(error);
  failed = failed || wrong_product(engine, factor);
  weft_engine_free(engine);
  return failed;
}
