/* exits: processes that end while a kernel is compiled in the background, with an engine that is never freed. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "weft.h"

/* Ends so many nanoseconds after the compilation was asked for. */
static void child(long nanoseconds) {
  const struct timespec moment = {0, nanoseconds};
  weft_engine* engine = NULL;
  weft_tensor *M = NULL, *x = NULL;
  weft_bindings* bindings = NULL;
  weft_compilation* compilation = NULL;
  int failed = weft_engine_create(NULL, &engine, NULL);
  failed = failed || weft_tensor_load(engine, "sparse(40x40,nnz=300,seed=1)", "ds", &M, NULL);
  failed = failed || weft_tensor_load(engine, "ones(40)", NULL, &x, NULL);
  failed = failed || weft_bindings_create(&bindings, NULL);
  failed = failed || weft_bindings_set(bindings, "M", M, 0, NULL) || weft_bindings_set(bindings, "x", x, 0, NULL);
  failed = failed || weft_compilation_start(engine, "y(i) = M(i,j) * x(j)", bindings, NULL, NULL, NULL, NULL, &compilation, NULL);
  nanosleep(&moment, NULL);
  exit(failed ? 1 : 0);
}

int main(int arguments, char** argument) {
  const long rounds = arguments == 2 ? atol(argument[1]) : 25;
  long round;
  for (round = 0; round < rounds; ++round) {
    int status = 0;
    const pid_t process = fork();
    if (process == 0) {
      alarm(30);
      child(round * 10000000 / rounds);
    }
    if (process < 0 || waitpid(process, &status, 0) != process) return 2;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fprintf(stderr, "a process that ended %ld of %ld of 10 ms after it had asked: status %d\n", round, rounds, status);
      return 1;
    }
  }
  return 0;
}
