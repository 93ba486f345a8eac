/* Tensors as hosts hold them, and as files do. */
#include <stdio.h>
#include <string.h>

#include "c_host.h"

/* y = M x with M in each of the ways that a host may hold it. */
void products(weft_engine* engine) {
  static const double matrix[6] = {1, 0, 2, 0, 0, 3}; /* 2 rows of 3 */
  static const double by_columns[6] = {1, 0, 0, 0, 2, 3};
  static const uint64_t extents[2] = {2, 3};
  static const int64_t fortran[2] = {1, 2};
  static const int64_t backwards[2] = {-3, -1};
  static const double reversed[6] = {3, 0, 0, 2, 0, 1};
  static const int32_t pos32[3] = {0, 2, 3}, crd32[3] = {0, 2, 2};
  static const int64_t pos64[4] = {0, 1, 1, 3}, crd64[3] = {0, 0, 1};
  static const double values[3] = {1, 2, 3}, column_values[3] = {1, 2, 3};
  static const uint32_t rows[3] = {0, 0, 1}, columns[3] = {0, 2, 2};
  static const int64_t mixed_rows[4] = {1, 0, 0, 1}, mixed_columns[4] = {2, 2, 0, 2};
  static const double mixed_values[4] = {1, 2, 1, 2};
  static const uint32_t one_fiber[2] = {0, 2}, both_rows[2] = {0, 1};
  static const double x[3] = {1, 10, 100};
  const void* crd[2];
  const void* pos[2];
  uint64_t pos_counts[2] = {2, 3}, crd_counts[2] = {2, 3};
  const uint64_t three = 3;
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_tensor *m = NULL, *vector = NULL, *y = NULL;
  int way;
  uint32_t flags;
  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK);
  EXPECT(weft_tensor_dense(engine, WEFT_F64, 1, &three, NULL, x, WEFT_BORROW, &vector, &error) == WEFT_OK);
  EXPECT(weft_session_set(session, "x", vector, &error) == WEFT_OK);
  weft_tensor_free(vector);
  for (flags = WEFT_COPY; flags <= (WEFT_BORROW | WEFT_TRUSTED); ++flags) {
    for (way = 0; way < 7; ++way) {
      weft_evaluation* evaluation = NULL;
      const void* stored = NULL;
      double result[2] = {0, 0};
      uint64_t count = 0;
      switch (way) {
        case 0:
          EXPECT(weft_tensor_dense(engine, WEFT_F64, 2, extents, NULL, matrix, flags, &m, &error) == WEFT_OK);
          break;
        case 1:
          EXPECT(weft_tensor_dense(engine, WEFT_F64, 2, extents, fortran, by_columns, flags, &m, &error) == WEFT_OK);
          break;
        case 2:
          EXPECT(weft_tensor_dense(engine, WEFT_F64, 2, extents, backwards, reversed + 5, flags, &m, &error) == WEFT_OK);
          break;
        case 3:
          EXPECT(weft_tensor_csr(engine, WEFT_F64, 2, 3, 3, 32, pos32, crd32, values, flags, &m, &error) == WEFT_OK);
          EXPECT(strcmp(weft_tensor_format(m), "ds:0,1") == 0);
          break;
        case 4:
          EXPECT(weft_tensor_csc(engine, WEFT_F64, 2, 3, 3, 64, pos64, crd64, column_values, flags, &m, &error) == WEFT_OK);
          break;
        case 5:
          crd[0] = rows;
          crd[1] = columns;
          EXPECT(weft_tensor_coo(engine, WEFT_F64, 2, extents, 3, 32, crd, values, flags, &m, &error) == WEFT_OK);
          break;
        default:
          pos[0] = one_fiber;
          pos[1] = pos32;
          crd[0] = both_rows;
          crd[1] = crd32;
          EXPECT(weft_tensor_levels(engine, "ss", extents, 32, pos, pos_counts, crd, crd_counts, values, 3, flags, &m, &error) == WEFT_OK);
      }
      EXPECT(weft_tensor_verify(engine, m, &error) == WEFT_OK);
      EXPECT(weft_session_set(session, "M", m, &error) == WEFT_OK);
      EXPECT(weft_session_evaluate(session, "y(i) = M(i,j) * x(j)", 0, NULL, NULL, &evaluation, &error) == WEFT_OK);
      EXPECT(weft_evaluation_count(evaluation) == 1 && strcmp(weft_evaluation_name(evaluation, 0), "y") == 0);
      EXPECT(weft_evaluation_result(evaluation, "y", &y, &error) == WEFT_OK);
      weft_evaluation_free(evaluation);
      EXPECT(weft_tensor_values(y, &stored, &count, &error) == WEFT_OK && count == 2);
      EXPECT(((const double*)stored)[0] == 201 && ((const double*)stored)[1] == 300);
      EXPECT(weft_tensor_to_dense(engine, y, result, 2, NULL, &error) == WEFT_OK);
      EXPECT(result[0] == 201 && result[1] == 300);
      /* Borrowed memory is not copied. */
      if (way == 3) EXPECT(weft_tensor_values(m, &stored, NULL, &error) == WEFT_OK && (stored == values) == ((flags & WEFT_BORROW) != 0));
      weft_tensor_free(y);
      weft_tensor_free(m);
    }
  }
  /* Copied coordinates may be unsorted and repeated. */
  crd[0] = mixed_rows;
  crd[1] = mixed_columns;
  EXPECT(weft_tensor_coo(engine, WEFT_F64, 2, extents, 4, 64, crd, mixed_values, WEFT_COPY, &m, &error) == WEFT_OK);
  EXPECT(weft_tensor_nnz(m) == 3);
  EXPECT(weft_tensor_pattern_is_kept(m) == 0);
  {
    double dense[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    static const int64_t with_gap[2] = {4, 1}, by_columns[2] = {1, 2};
    EXPECT(weft_tensor_to_dense(engine, m, dense, 7, with_gap, &error) == WEFT_OK);
    EXPECT(dense[0] == 1 && dense[1] == 0 && dense[2] == 2 && dense[3] == -1 && dense[4] == 0 && dense[6] == 3 && dense[7] == -1);
    EXPECT(weft_tensor_to_dense(engine, m, dense, 6, by_columns, &error) == WEFT_OK);
    EXPECT(dense[0] == 1 && dense[1] == 0 && dense[2] == 0 && dense[3] == 0 && dense[4] == 2 && dense[5] == 3 && dense[7] == -1);
    EXPECT_ERROR(WEFT_INPUT, "6 elements", weft_tensor_to_dense(engine, m, dense, 6, with_gap, &error));
    EXPECT_ERROR(WEFT_INPUT, "8 elements", weft_tensor_to_dense(engine, m, dense, 8, NULL, &error));
    EXPECT_ERROR(WEFT_INPUT, "'values' is NULL", weft_tensor_to_dense(engine, m, NULL, 6, NULL, &error));
    const int64_t meeting[] = {2, 1}, still[] = {0, 0}, far[] = {INT64_MAX, 1};
    EXPECT_ERROR(WEFT_INPUT, "strides 2, 1 lead to one element", weft_tensor_to_dense(engine, m, dense, 8, meeting, &error));
    EXPECT_ERROR(WEFT_INPUT, "strides 0, 0 lead to one element", weft_tensor_to_dense(engine, m, dense, 8, still, &error));
    EXPECT_ERROR(WEFT_INPUT, "at strides 9223372036854775807, 1 does not fit", weft_tensor_to_dense(engine, m, dense, 8, far, &error));
    EXPECT_ERROR(WEFT_INPUT, "format s is of 1 modes, but the tensor has 2", weft_tensor_convert(engine, m, "s", &y, &error));
  }
  weft_tensor_free(m);
  EXPECT_ERROR(WEFT_INPUT, "extent",
               weft_tensor_coo(engine, WEFT_F64, 2, extents, 3, 32, (crd[0] = columns, crd), values, WEFT_COPY, &m, &error));
  EXPECT(m == NULL);
  weft_session_free(session);
}

/* y = B x with B in blocks of 2 by 2, as scipy's BSR holds them: of 3 rows and 5 columns, so that blocks reach beyond both. */
void blocks(weft_engine* engine) {
  static const uint64_t extents[2] = {3, 5};
  static const int32_t block_pos[3] = {0, 2, 3}, block_crd[3] = {0, 2, 1};
  static const double values[12] = {1, 2, 0, 3, 4, 0, 5, 0, 6, 7, 0, 0};
  static const double misplaced[12] = {1, 2, 0, 3, 4, 9, 5, 0, 6, 7, 0, 0};
  static const double x[5] = {1, 10, 100, 1000, 10000};
  const uint64_t five = 5, pos_counts[4] = {0, 3, 0, 0}, crd_counts[4] = {0, 3, 0, 0};
  const void* const pos[4] = {NULL, block_pos, NULL, NULL};
  const void* const crd[4] = {NULL, block_crd, NULL, NULL};
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_tensor *b = NULL, *vector = NULL, *y = NULL;
  uint32_t flags;
  EXPECT(weft_session_create(engine, &session, &error) == WEFT_OK);
  EXPECT(weft_tensor_dense(engine, WEFT_F64, 1, &five, NULL, x, WEFT_BORROW, &vector, &error) == WEFT_OK);
  EXPECT(weft_session_set(session, "x", vector, &error) == WEFT_OK);
  weft_tensor_free(vector);
  for (flags = WEFT_COPY; flags <= WEFT_BORROW; ++flags) {
    weft_evaluation* evaluation = NULL;
    const void* stored = NULL;
    double result[3] = {0, 0, 0};
    int64_t low = 7;
    uint32_t mode = 0;
    EXPECT(weft_tensor_levels(engine, "bcsr(2,2)", extents, 32, pos, pos_counts, crd, crd_counts, values, 12, flags, &b, &error) ==
           WEFT_OK);
    EXPECT(strcmp(weft_tensor_format(b), "(i,j) -> (i/2:d, j/2:s, i%2:d, j%2:d)") == 0 && weft_tensor_order(b) == 2);
    EXPECT(strcmp(weft_tensor_level_text(b, 1, &low), "j/2:s") == 0 && low == 0);
    EXPECT(weft_tensor_level_text(b, 4, &low)[0] == '\0' && weft_tensor_level_text(NULL, 0, NULL)[0] == '\0');
    EXPECT(weft_tensor_level(b, 1, NULL, &mode, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &error) == WEFT_OK && mode == UINT32_MAX);
    EXPECT(weft_tensor_values(b, &stored, NULL, &error) == WEFT_OK && (stored == values) == ((flags & WEFT_BORROW) != 0));
    EXPECT(weft_session_set(session, "B", b, &error) == WEFT_OK);
    EXPECT(weft_session_evaluate(session, "y(i) = B(i,j) * x(j)", 0, NULL, NULL, &evaluation, &error) == WEFT_OK);
    EXPECT(weft_evaluation_result(evaluation, "y", &y, &error) == WEFT_OK);
    weft_evaluation_free(evaluation);
    EXPECT(weft_tensor_to_dense(engine, y, result, 3, NULL, &error) == WEFT_OK);
    EXPECT(result[0] == 40021 && result[1] == 50030 && result[2] == 7600);
    weft_tensor_free(y);
    weft_tensor_free(b);
  }
  {
    /* Values alone: rows of 1, 2 and 3. Then two rows with coordinates of 8 bits. */
    static const double triangle[6] = {1, 2, 3, 4, 5, 6};
    static const uint64_t square[2] = {3, 3}, narrow_pos_counts[2] = {0, 4}, narrow_crd_counts[2] = {0, 3};
    static const uint8_t narrow_crd[3] = {1, 4, 0};
    static const uint32_t narrow_pos[4] = {0, 2, 3, 3};
    const void *narrow_pos_of[2] = {NULL, narrow_pos}, *narrow_crd_of[2] = {NULL, narrow_crd};
    const void* lent = NULL;
    double dense[15];
    EXPECT(weft_tensor_levels(engine, "lower", square, 32, NULL, NULL, NULL, NULL, triangle, 6, WEFT_BORROW, &b, &error) == WEFT_OK);
    EXPECT(weft_tensor_values(b, &lent, NULL, &error) == WEFT_OK && lent == triangle);
    EXPECT(weft_tensor_to_dense(engine, b, dense, 9, NULL, &error) == WEFT_OK);
    EXPECT(dense[0] == 1 && dense[1] == 0 && dense[3] == 2 && dense[4] == 3 && dense[5] == 0 && dense[8] == 6);
    weft_tensor_free(b);
    EXPECT_ERROR(WEFT_INPUT, "more places than the 5 values",
                 weft_tensor_levels(engine, "lower", square, 32, NULL, NULL, NULL, NULL, triangle, 5, WEFT_BORROW, &b, &error));
    EXPECT_ERROR(WEFT_INPUT, "pos_counts", weft_tensor_levels(engine, "(i,j) -> (i:d, j:s<8>)", extents, 32, narrow_pos_of, NULL,
                                                              narrow_crd_of, narrow_crd_counts, triangle, 3, WEFT_BORROW, &b, &error));
    EXPECT(weft_tensor_levels(engine, "(i,j) -> (i:d, j:s<8>)", extents, 32, narrow_pos_of, narrow_pos_counts, narrow_crd_of,
                              narrow_crd_counts, triangle, 3, WEFT_BORROW, &b, &error) == WEFT_OK);
    EXPECT(weft_tensor_to_dense(engine, b, dense, 15, NULL, &error) == WEFT_OK);
    EXPECT(dense[1] == 1 && dense[4] == 2 && dense[5] == 3 && dense[0] == 0 && dense[14] == 0);
    weft_tensor_free(b);
  }
  EXPECT_ERROR(
      WEFT_INPUT, "is no coordinate of the tensor",
      weft_tensor_levels(engine, "bcsr(2,2)", extents, 32, pos, pos_counts, crd, crd_counts, misplaced, 12, WEFT_BORROW, &b, &error));
  weft_session_free(session);
}

void files(weft_engine* engine, const char* directory) {
  char path[4096];
  weft_error* error = NULL;
  weft_tensor *written = NULL, *read = NULL, *converted = NULL, *shared = NULL;
  EXPECT(weft_tensor_load(engine, "sparse(5x6x7,nnz=20,seed=3)", "sss:2,1,0:f32", &written, &error) == WEFT_OK);
  EXPECT(weft_tensor_scalar(written) == WEFT_F32 && weft_tensor_bytes(written) > 0);
  snprintf(path, sizeof path, "%s/written.tns.gz", directory);
  EXPECT(weft_tensor_write(engine, written, path, &error) == WEFT_OK);
  EXPECT(weft_tensor_load(engine, path, NULL, &read, &error) == WEFT_OK);
  EXPECT(weft_tensor_nnz(read) == 20 && weft_tensor_extent(read, 2) == 7 && weft_tensor_scalar(read) == WEFT_F64);
  EXPECT(weft_tensor_convert(engine, read, "uqq:0,1,2:f32", &converted, &error) == WEFT_OK);
  EXPECT(strcmp(weft_tensor_format(converted), "uqq:0,1,2") == 0);
  EXPECT(weft_tensor_share(converted, &shared, &error) == WEFT_OK);
  weft_tensor_free(converted);
  EXPECT(weft_tensor_nnz(shared) == 20);
  weft_tensor_free(shared);
  EXPECT_ERROR(WEFT_INPUT, "2 modes", weft_tensor_convert(engine, read, "ss", &converted, &error));
  EXPECT_ERROR(WEFT_INPUT, "extension", weft_tensor_write(engine, read, "written.unknown", &error));
  EXPECT_ERROR(WEFT_INPUT, "absent.tns", weft_tensor_load(engine, "absent.tns", NULL, &converted, &error));
  weft_tensor_free(read);
  weft_tensor_free(written);
}
