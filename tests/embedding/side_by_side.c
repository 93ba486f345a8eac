/* Two engines of different options in one process, each used by a thread of its own at the same time. */
#include <pthread.h>
#include <string.h>

#include "product.h"

struct job {
  weft_engine* engine;
  int first, failed;
};

static void* work(void* given) {
  struct job* job = given;
  int round;
  for (round = 0; round < 20 && !job->failed; ++round) job->failed = wrong_product(job->engine, job->first + round % 4);
  return NULL;
}

int main(void) {
  weft_error* error = NULL;
  weft_options *small = NULL, *large = NULL;
  struct job jobs[2] = {{NULL, 1, 0}, {NULL, 3, 0}};
  weft_tensor* tensor = NULL;
  pthread_t other;
  int failed = weft_options_create(&small, &error) || weft_options_create(&large, &error) || weft_options_set_threads(small, 1, &error) ||
               weft_options_set_memory_limit(small, 100000, &error) || weft_options_set_strict_fp(small, 1, &error) ||
               weft_options_set_threads(large, 3, &error) || weft_options_set_deterministic(large, 1, &error) ||
               weft_engine_create(small, &jobs[0].engine, &error) || weft_engine_create(large, &jobs[1].engine, &error);
  if (failed || pthread_create(&other, NULL, work, &jobs[1]) != 0) return 1;
  work(&jobs[0]);
  pthread_join(other, NULL);
  if (jobs[0].failed || jobs[1].failed) return 2;
  if (weft_engine_threads(jobs[0].engine) != 1 || weft_engine_threads(jobs[1].engine) != 3) return 3;
  /* The limit is of the one and not of the other. */
  if (weft_tensor_load(jobs[0].engine, "ones(200x200)", NULL, &tensor, &error) != WEFT_RESOURCE) return 4;
  weft_error_free(error);
  if (weft_tensor_load(jobs[1].engine, "ones(200x200)", NULL, &tensor, &error) != WEFT_OK) return 5;
  if (weft_engine_memory_used(jobs[0].engine) != 0 || weft_engine_memory_used(jobs[1].engine) != 320000) return 6;
  /* A third one, of defaults, does not mind them. */
  if (wrong_product_anew(9)) return 8;
  /* Engines may go before what they made. */
  weft_engine_free(jobs[1].engine);
  if (weft_tensor_nnz(tensor) != 40000) return 7;
  weft_tensor_free(tensor);
  weft_engine_free(jobs[0].engine);
  weft_options_free(small);
  weft_options_free(large);
  return 0;
}
