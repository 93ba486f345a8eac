/* Results of sessions, requests and reports. */
#include <string.h>

#include "c_host.h"

/* Results with compressed levels, in place; requests; reports. */
void sparse_result(weft_engine* engine) {
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
  EXPECT(weft_request_set_assume_finite(request, NULL, &error) == WEFT_OK);
  EXPECT(weft_request_set_specialization(request, "automatic", &error) == WEFT_OK);
  EXPECT(weft_request_set_specialization(request, "baked", &error) == WEFT_OK);
  EXPECT(weft_request_set_specialization(request, "profiled", &error) == WEFT_OK);
  EXPECT(weft_request_set_specialization(request, "generic", &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "raw", weft_request_set_specialization(request, "raw", &error));
  EXPECT(weft_request_set_repeat(request, 2, &error) == WEFT_OK);
  EXPECT(weft_request_add_stage(request, "schedule", &error) == WEFT_OK);
  EXPECT(weft_request_add_stage(request, "object", &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "zz", weft_request_add_stage(request, "zz", &error));
  EXPECT(weft_session_evaluate(session, "A(i,j) = B(i,k) * C(k,j)", 2, operands, request, &evaluation, &error) == WEFT_OK);
  EXPECT(weft_evaluation_report(evaluation, &text, &error) == WEFT_OK);
  EXPECT(strstr(text, "\"run_ms\":[") != NULL && strstr(text, "\"results\":{\"A\"") != NULL);
  EXPECT(strlen(weft_evaluation_explanation(evaluation)) > 0);
  EXPECT(weft_evaluation_page(evaluation, &text, &error) == WEFT_OK && strstr(text, "measured") != NULL);
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
