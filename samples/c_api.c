/* c_api: weft from C. A kernel compiled once, run over changing values, its result in this program's memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft.h>

/* Every function that can fail tells the kind of the error, and makes an object that says more. */
static weft_error* error = NULL;
static void check(int32_t kind) {
  if (kind == WEFT_OK) return;
  fprintf(stderr, "error of kind %d: %s\n", (int)kind, weft_error_message(error));
  weft_error_free(error);
  exit(1);
}

int main(void) {
  /* 1. An engine with options; NULL instead of them would do as well. */
  weft_options* options;
  weft_engine* engine;
  check(weft_options_create(&options, &error));
  check(weft_options_set_memory_limit(options, (uint64_t)1 << 30, &error));
  check(weft_engine_create(options, &engine, &error));
  weft_options_free(options);

  /* 2. Tensors over arrays of this program, lent and not copied: a 3 x 4 matrix in CSR, and a vector.
   *      1 . . 2
   *      . . . .
   *      . 3 4 .   */
  const int32_t pos[] = {0, 2, 2, 4}, crd[] = {0, 3, 1, 2};
  const double values[] = {1, 2, 3, 4};
  double vector[] = {1, 10, 100, 1000}, product[3];
  const uint64_t rows = 3, columns = 4;
  weft_tensor *matrix, *x;
  check(weft_tensor_csr(engine, WEFT_F64, rows, columns, 4, 32, pos, crd, values, WEFT_BORROW, &matrix, &error));
  check(weft_tensor_dense(engine, WEFT_F64, 1, &columns, NULL, vector, WEFT_BORROW, &x, &error));

  /* 3. Bindings say which tensors the names stand for, and where the result goes. The vector will change. */
  weft_bindings* bindings;
  check(weft_bindings_create(&bindings, &error));
  check(weft_bindings_set(bindings, "M", matrix, 0, &error));
  check(weft_bindings_set(bindings, "x", x, WEFT_CHANGES, &error));
  check(weft_bindings_set_output(bindings, "y", WEFT_F64, 1, &rows, NULL, product, &error));

  /* 4. Compile once, run often. */
  weft_kernel* kernel;
  check(weft_engine_compile(engine, "y(i) = M(i,j) * x(j)", bindings, NULL, &kernel, &error));
  for (int run = 1; run <= 2; ++run) {
    check(weft_kernel_run(kernel, bindings, NULL, NULL, &error));
    printf("%g %g %g\n", product[0], product[1], product[2]);
    for (int column = 0; column < 4; ++column) vector[column] *= 2;
  }

  /* 5. What was planned can be read. */
  const char* text;
  check(weft_kernel_stage(kernel, "schedule", &text, NULL, &error));
  printf("%s", text);

  /* 6. A mistake is an error object, never the end of the program. */
  weft_kernel* mistaken;
  if (weft_engine_compile(engine, "y(i) = M(i,j) * x(k)", bindings, NULL, &mistaken, &error) == WEFT_INPUT) {
    printf("%s\n", weft_error_message(error));
    weft_error_free(error);
  }

  /* 7. What was made is freed, in any order. */
  weft_kernel_free(kernel);
  weft_bindings_free(bindings);
  weft_tensor_free(matrix);
  weft_tensor_free(x);
  weft_engine_free(engine);
  return 0;
}
