/* fork: children of a process that has not used weft yet, and of one that has. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "product.h"

enum { RIGHT = 0, WRONG = 1, REFUSED = 3 };

/* The inherited engine may refuse, but then clearly; a new one must do. */
static int child(weft_engine* inherited) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_evaluation* evaluation = NULL;
  weft_tensor* tensor = NULL;
  double sum = 0;
  int failed, refused = 0;
  if (inherited) {
    failed = weft_session_create(inherited, &session, &error);
    failed = failed || weft_tensor_load(inherited, "ones(1000x1000)", NULL, &tensor, &error);
    failed = failed || weft_session_set(session, "A", tensor, &error);
    failed = failed || weft_session_evaluate(session, "s = A(i,j)", 0, NULL, NULL, &evaluation, &error);
    weft_tensor_free(tensor);
    tensor = NULL;
    failed = failed || weft_evaluation_result(evaluation, "s", &tensor, &error);
    failed = failed || weft_tensor_to_dense(inherited, tensor, &sum, 1, NULL, &error);
    refused = failed && weft_error_message(error)[0] != '\0';
    if (failed && !refused) return WRONG;
    if (!failed && sum != 1000000) return WRONG;
  }
  return wrong_product_anew(5) ? WRONG : refused ? REFUSED : RIGHT;
}

/* What became of a child; one that hangs is killed. */
static int outcome(weft_engine* inherited) {
  int status = 0;
  const pid_t process = fork();
  if (process == 0) {
    alarm(20);
    _exit(child(inherited));
  }
  if (process < 0 || waitpid(process, &status, 0) != process) return WRONG;
  if (WIFSIGNALED(status)) fprintf(stderr, "a child was killed by signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
}

int main(void) {
  weft_error* error = NULL;
  weft_engine* engine = NULL;
  weft_tensor* tensor = NULL;
  int after;
  if (outcome(NULL) != RIGHT) return 1;
  if (weft_engine_create(NULL, &engine, &error) != WEFT_OK) return 2;
  if (outcome(engine) != RIGHT) return 3; /* made, but no thread started yet */
  if (weft_tensor_load(engine, "uniform(2000x2000)", "ss", &tensor, &error) != WEFT_OK) return 4;
  weft_tensor_free(tensor);
  if (wrong_product(engine, 2)) return 5;
  after = outcome(engine);
  if (after != RIGHT && after != REFUSED) return 6;
  /* The parent is none the worse. */
  if (wrong_product(engine, 3) || outcome(NULL) != RIGHT) return 7;
  weft_engine_free(engine);
  return 0;
}
