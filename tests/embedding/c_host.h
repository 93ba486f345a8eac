/* What the parts of the host in C share: expectations, and what each part tries. */
#ifndef C_HOST_H
#define C_HOST_H

#include <string.h>

#include <weft.h>

void expected(int held, const char* file, const char* what, int line, const weft_error* error);
#define EXPECT(condition) expected((condition) != 0, __FILE__, #condition, __LINE__, error)

/* The call fails with that kind, its message has the text, and there is an error object. */
#define EXPECT_ERROR(kind, text, call)                                \
  do {                                                                \
    EXPECT((call) == (kind));                                         \
    EXPECT(weft_error_kind(error) == (kind));                         \
    EXPECT(strstr(weft_error_message(error), (text)) != NULL);        \
    weft_error_free(error);                                           \
    error = NULL;                                                     \
  } while (0)

/* The call fails with that code, about that operand. */
#define EXPECT_CODE(code, operand, call)                              \
  do {                                                                \
    EXPECT((call) != WEFT_OK);                                        \
    EXPECT(weft_error_code(error) == (code));                         \
    EXPECT(strcmp(weft_error_operand(error), (operand)) == 0);        \
    weft_error_free(error);                                           \
    error = NULL;                                                     \
  } while (0)

weft_engine* engine_with(weft_options* options);

void products(weft_engine* engine);
void blocks(weft_engine* engine);
void sparse_result(weft_engine* engine);
void kernels(weft_engine* engine);
void symbolic(weft_engine* engine);
void figures(weft_engine* engine);
void compilations(weft_engine* engine);
void files(weft_engine* engine, const char* directory);
void errors(weft_engine* engine);
void error_fields(weft_engine* engine);
void values_of_a_pattern(weft_engine* engine);
void cancellations(void);
void counters(void);
void requests(void);
void entries_of(weft_engine* engine, const char* directory);

#endif
