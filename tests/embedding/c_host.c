/* A host in C99: everything of weft.h once, and an error of each kind. Prints nothing; ends with the line of the first
 * expectation that failed, as exit status 1 and on standard error. The other parts are c_host_*.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_host.h"

void expected(int held, const char* file, const char* what, int line, const weft_error* error) {
  if (held) return;
  fprintf(stderr, "%s:%d: %s does not hold%s%s\n", file, line, what, error ? ": " : "", weft_error_message(error));
  exit(1);
}

static int compiled = 0; /* or loaded from disk */
static void trace(void* context, const char* line) {
  (void)context;
  compiled += strstr(line, " # compile ") || strstr(line, " # load ");
}
static void progress(void* context, const char* what, double fraction) {
  weft_error* error = NULL;
  EXPECT(context != NULL && what != NULL && fraction >= 0);
}

weft_engine* engine_with(weft_options* options) {
  weft_error* error = NULL;
  weft_engine* engine = NULL;
  EXPECT(weft_engine_create(options, &engine, &error) == WEFT_OK);
  return engine;
}

static int loops = 0;
static void in_turn(void* context, uint32_t slots, void (*body)(void*, uint32_t), void* state) {
  uint32_t slot;
  ++*(int*)context;
  for (slot = 0; slot < slots; ++slot) body(state, slot);
}

/* Engines that compute on threads of the host, and what else only options say. */
static void threads_of_the_host(void) {
  weft_error* error = NULL;
  weft_options* options = NULL;
  weft_engine* engine;
  EXPECT(weft_options_create(&options, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "0 threads", weft_options_set_thread_loop(options, 0, in_turn, &loops, &error));
  EXPECT(weft_options_set_thread_loop(options, 3, in_turn, &loops, &error) == WEFT_OK);
  EXPECT(weft_options_set_kernels_in_memory(options, 2, &error) == WEFT_OK);
  EXPECT_ERROR(WEFT_INPUT, "at least 1", weft_options_set_kernels_in_memory(options, 0, &error));
  EXPECT(weft_options_set_perf_map(options, 0, &error) == WEFT_OK);
  engine = engine_with(options);
  EXPECT(weft_engine_threads(engine) == 3);
  products(engine);
  blocks(engine);
  {
    weft_tensor* tensor = NULL;
    EXPECT(weft_tensor_load(engine, "sparse(2000x2000,nnz=200000)", "ds", &tensor, &error) == WEFT_OK && loops > 0);
    weft_tensor_free(tensor);
  }
  weft_engine_free(engine);
  EXPECT(weft_options_set_thread_loop(options, 3, NULL, NULL, &error) == WEFT_OK);
  EXPECT(weft_options_set_caller_arena(options, 2, &error) == WEFT_OK);
  engine = engine_with(options);
  EXPECT(weft_engine_threads(engine) == 2);
  products(engine);
  weft_engine_free(engine);
  weft_options_free(options);
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
  symbolic(engine);
  kernels(plain);
  figures(engine);
  figures(plain);
  compilations(engine);
  compilations(plain);
  files(plain, argument[1]);
  errors(plain);
  error_fields(plain);
  values_of_a_pattern(plain);
  cancellations();
  counters();
  requests();
  entries_of(plain, argument[1]);
  threads_of_the_host();
  weft_engine_give_back(plain); /* workspaces and layouts that wait for the next run */
  EXPECT(weft_engine_memory_peak(engine) > 0 && weft_engine_memory_used(plain) == 0);
  weft_options_free(options);
  weft_engine_free(engine);
  weft_engine_free(plain);
  return 0;
}
