// The host in C of tests/embedding, in this process: the sanitizers watch it too. It ends the process where an expectation fails.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "weft.h"

namespace c_api_test {

extern "C" int c_host_main(int arguments, char** argument);

TEST_CASE("the C API does what its header says, and refuses what it must") {
  std::string name = "c_host";
  std::string directory = (std::filesystem::temp_directory_path() / "weft-c-api-XXXXXX").string();
  REQUIRE(mkdtemp(directory.data()) != nullptr);
  char* argument[] = {name.data(), directory.data(), nullptr};
  CHECK(c_host_main(2, argument) == 0);
  std::filesystem::remove_all(directory);
}

TEST_CASE("the C API and the command count kinds of errors alike") {
  weft_tensor* tensor = nullptr;
  weft_error* error = nullptr;
  CHECK(weft_tensor_load(nullptr, "ones(3)", nullptr, &tensor, &error) == 2);
  CHECK(weft_error_kind(error) == 2);
  weft_error_free(error);
}

namespace {

struct Told {
  int32_t kind = WEFT_OK;
  std::string message;
  int32_t code = WEFT_CODE_OTHER;
};

template <class Call>
Told told(Call&& call) {
  weft_error* error = nullptr;
  Told what;
  what.kind = call(&error);
  what.message = weft_error_message(error);
  what.code = weft_error_code(error);
  weft_error_free(error);
  return what;
}

}  // namespace

TEST_CASE("the C API tells by codes what its messages say") {
  weft_engine* engine = nullptr;
  REQUIRE(weft_engine_create(nullptr, &engine, nullptr) == WEFT_OK);
  const std::uint64_t extents[] = {3, 3}, narrow[] = {3, 2};
  const std::int32_t rows[] = {0, 2}, columns[] = {0, 2}, beyond[] = {0, -1};
  const double values[] = {1, 2};
  double few[3] = {};
  const void* good[] = {rows, columns};
  const void* wrong[] = {beyond, columns};
  weft_tensor *tensor = nullptr, *other = nullptr;
  weft_kernel *kernel = nullptr, *loaded = nullptr;
  weft_bindings* bindings = nullptr;
  REQUIRE(weft_tensor_coo(engine, WEFT_F64, 2, extents, 2, 32, good, values, 0, &tensor, nullptr) == WEFT_OK);
  REQUIRE(weft_bindings_create(&bindings, nullptr) == WEFT_OK);
  REQUIRE(weft_bindings_set(bindings, "A", tensor, 0, nullptr) == WEFT_OK);
  REQUIRE(weft_engine_compile(engine, "y(i) = A(i,j)", bindings, nullptr, &kernel, nullptr) == WEFT_OK);
  const auto codes = [&](int32_t code, const std::string& part, const auto& call) {
    const Told what = told(call);
    CAPTURE(what.message);
    CHECK(what.kind == WEFT_INPUT);
    CHECK(what.code == code);
    CHECK(what.message.find(part) != std::string::npos);
  };
  codes(WEFT_CODE_OUT_OF_RANGE, "coordinate 4294967295 (-1 with a sign) of entry 1", [&](weft_error** error) {
    return weft_tensor_coo(engine, WEFT_F64, 2, extents, 2, 32, wrong, values, 0, &other, error);
  });
  codes(WEFT_CODE_OUT_OF_RANGE, "coordinate 2", [&](weft_error** error) {
    return weft_tensor_with_extents(engine, tensor, narrow, &other, error);
  });
  codes(WEFT_CODE_SIZES, "3 elements", [&](weft_error** error) {
    return weft_tensor_to_dense(engine, tensor, few, 3, nullptr, error);
  });
  codes(WEFT_CODE_ORDER, "of 3 modes", [&](weft_error** error) { return weft_tensor_convert(engine, tensor, "sss", &other, error); });
  for (const char* format : {"bogus", "qs", "ds:0,0", "ds:1,0:f16"})
    codes(WEFT_CODE_SYNTAX, "", [&](weft_error** error) { return weft_tensor_convert(engine, tensor, format, &other, error); });
  codes(WEFT_CODE_FILE, "cannot read", [&](weft_error** error) { return weft_engine_load_file(engine, "/nonexistent", &loaded, error); });
  codes(WEFT_CODE_FILE, "/dev/null", [&](weft_error** error) { return weft_engine_load_file(engine, "/dev/null", &loaded, error); });
  codes(WEFT_CODE_FILE, "cannot write", [&](weft_error** error) { return weft_kernel_save_file(kernel, "/nonexistent/x", error); });
  weft_kernel_free(kernel);
  weft_bindings_free(bindings);
  weft_tensor_free(tensor);
  weft_engine_free(engine);
}

TEST_CASE("the C API takes einsum with names") {
  weft_engine* engine = nullptr;
  weft_session* session = nullptr;
  weft_tensor* tensor = nullptr;
  weft_bindings* bindings = nullptr;
  REQUIRE(weft_engine_create(nullptr, &engine, nullptr) == WEFT_OK);
  REQUIRE(weft_session_create(engine, &session, nullptr) == WEFT_OK);
  const std::uint64_t extents[] = {2, 2};
  const std::int32_t rows[] = {0, 1}, columns[] = {1, 0};
  const double values[] = {2, 3};
  const void* coordinates[] = {rows, columns};
  REQUIRE(weft_tensor_coo(engine, WEFT_F64, 2, extents, 2, 32, coordinates, values, 0, &tensor, nullptr) == WEFT_OK);
  REQUIRE(weft_bindings_create(&bindings, nullptr) == WEFT_OK);
  REQUIRE(weft_bindings_set(bindings, "A", tensor, 0, nullptr) == WEFT_OK);
  REQUIRE(weft_session_set(session, "A", tensor, nullptr) == WEFT_OK);
  weft_kernel* kernel = nullptr;
  CHECK(weft_engine_compile(engine, "X = ij,jk->ik A A", bindings, nullptr, &kernel, nullptr) == WEFT_OK);
  weft_kernel_free(kernel);
  for (const bool planned_anew : {true, false}) {
    weft_evaluation* evaluation = nullptr;
    const int32_t ended = planned_anew
                              ? weft_session_evaluate(session, "X = ij,jk->ik A A", 0, nullptr, nullptr, &evaluation, nullptr)
                              : weft_session_answer(session, "X = ij,jk->ik A A", 0, nullptr, &evaluation, nullptr);
    REQUIRE(ended == WEFT_OK);
    CHECK(std::string(weft_evaluation_name(evaluation, 0)) == "X");
    weft_evaluation_free(evaluation);
  }
  weft_evaluation* none = nullptr;
  const Told what = told([&](weft_error** error) {
    return weft_session_evaluate(session, "ij,jk->ik", 0, nullptr, nullptr, &none, error);
  });
  CHECK(what.kind == WEFT_INPUT);
  CHECK(what.message.find("or their names behind it, as in ij,jk->ik A B") != std::string::npos);
  weft_bindings_free(bindings);
  weft_tensor_free(tensor);
  weft_session_free(session);
  weft_engine_free(engine);
}

TEST_CASE("the C API refuses arrays, names and numbers that cannot be meant") {
  weft_engine* engine = nullptr;
  REQUIRE(weft_engine_create(nullptr, &engine, nullptr) == WEFT_OK);
  weft_tensor* tensor = nullptr;
  const double values[] = {1, 2, 3, 4};
  const std::int32_t pos[] = {0, 2, 2, 4}, crd[] = {0, 3, 1, 2};
  const std::int32_t beyond[] = {0, 2, 2, 9}, negative[] = {0, -3, 1, 2};
  for (const std::uint32_t flags : {+WEFT_COPY, +WEFT_BORROW}) {
    CAPTURE(flags);
    const auto csr = [&](const std::int32_t* starts, const std::int32_t* columns) {
      const Told what = told([&](weft_error** error) {
        return weft_tensor_csr(engine, WEFT_F64, 3, 4, 4, 32, starts, columns, values, flags, &tensor, error);
      });
      CHECK((tensor == nullptr) == (what.kind != WEFT_OK));
      weft_tensor_free(tensor);
      return what.message;
    };
    CHECK(csr(pos, crd).empty());
    CHECK(csr(beyond, crd) == "the tensor: level 1: pos is 9 at position 3, beyond the 4 coordinates");
    CHECK(csr(pos, negative) ==
          "the tensor: level 1: coordinate 4294967293 (-3 with a sign) at position 1 is not below the extent 4 of mode 1");
  }
  const std::uint64_t extents[] = {4};
  const void* coordinates[] = {crd};
  // More entries than any memory holds: their bytes would wrap.
  CHECK(told([&](weft_error** error) {
          return weft_tensor_coo(engine, WEFT_F64, 1, extents, std::uint64_t{1} << 62, 32, coordinates, values, WEFT_COPY, &tensor, error);
        }).kind == WEFT_RESOURCE);
  CHECK(told([&](weft_error** error) {
          return weft_tensor_coo(engine, WEFT_F64, 1, extents, 4, 32, coordinates, reinterpret_cast<const char*>(values) + 1,
                                 WEFT_BORROW, &tensor, error);
        }).message == "a borrowed tensor: the array of values is not aligned to its elements");

  weft_statistics* known = nullptr;
  REQUIRE(weft_statistics_create("s", extents, 3, 1, &known, nullptr) == WEFT_OK);
  const char* names[] = {"x", "x"};
  const weft_statistics* statistics[] = {known, known};
  weft_kernel* kernel = nullptr;
  CHECK(told([&](weft_error** error) {
          return weft_engine_compile_for(engine, "s = x(i)", 2, names, statistics, nullptr, &kernel, error);
        }).message == "names[1]: x is given twice");
  weft_statistics_free(known);

  // Counts whose bytes would wrap are not those that are stored.
  REQUIRE(weft_tensor_dense(engine, WEFT_F64, 1, extents, nullptr, values, WEFT_BORROW, &tensor, nullptr) == WEFT_OK);
  weft_bindings* bindings = nullptr;
  REQUIRE(weft_bindings_create(&bindings, nullptr) == WEFT_OK);
  REQUIRE(weft_bindings_set(bindings, "x", tensor, 0, nullptr) == WEFT_OK);
  CHECK(weft_bindings_replace_values(bindings, "x", WEFT_F64, values, 4, nullptr) == WEFT_OK);
  for (const std::uint64_t more : {std::uint64_t{1} << 61, std::uint64_t{1} << 62, std::uint64_t{7} << 61}) {
    CHECK(weft_bindings_replace_values(bindings, "x", WEFT_F64, values, more + 4, nullptr) == WEFT_INPUT);
    CHECK(weft_bindings_replace_values(bindings, "x", WEFT_F32, values, 2 * more + 4, nullptr) == WEFT_INPUT);
    weft_tensor* levels = nullptr;
    CHECK(weft_tensor_levels(engine, "d", extents, 32, nullptr, nullptr, nullptr, nullptr, values, more + 4, WEFT_BORROW, &levels,
                             nullptr) == WEFT_INPUT);
    weft_tensor_free(levels);
  }
  weft_bindings_free(bindings);
  weft_tensor_free(tensor);

  weft_request* request = nullptr;
  REQUIRE(weft_request_create(&request, nullptr) == WEFT_OK);
  for (const double calls : {0.5, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    CHECK(weft_request_set_calls(request, calls, nullptr) == WEFT_INPUT);
  weft_request_free(request);

  // A bitmap is read back through the arrays that the API tells.
  REQUIRE(weft_tensor_load(engine, "sparse(3x70,nnz=9)", "db", &tensor, nullptr) == WEFT_OK);
  const void *bits = nullptr, *stored = nullptr;
  std::uint64_t words = 0, count = 0;
  std::uint32_t width = 0;
  REQUIRE(weft_tensor_level(tensor, 1, nullptr, nullptr, nullptr, nullptr, nullptr, &bits, &words, &width, nullptr, nullptr) == WEFT_OK);
  CHECK(words == 6);
  CHECK(width == 64);
  REQUIRE(weft_tensor_values(tensor, &stored, &count, nullptr) == WEFT_OK);
  const void *no_pos[] = {nullptr, nullptr}, *both_crd[] = {nullptr, bits};
  const std::uint64_t no_counts[] = {0, 0}, both_counts[] = {0, words}, shape[] = {3, 70};
  weft_tensor* again = nullptr;
  const Told made = told([&](weft_error** error) {
    return weft_tensor_levels(engine, "db", shape, width, no_pos, no_counts, both_crd, both_counts, stored, count,
                              WEFT_BORROW, &again, error);
  });
  CHECK(made.message == "");
  CHECK(weft_tensor_nnz(again) == 9);
  weft_tensor_free(again);
  weft_tensor_free(tensor);
  weft_engine_free(engine);
}

namespace {

/// The arrays of a matrix with two levels, as weft_tensor_level tells them.
struct TwoLevels {
  const void* pos[2] = {};
  const void* crd[2] = {};
  std::uint64_t pos_counts[2] = {}, crd_counts[2] = {};
  const void* values = nullptr;
  std::uint64_t value_count = 0;

  explicit TwoLevels(const weft_tensor* tensor) {
    for (std::uint32_t level = 0; level < 2; ++level)
      weft_tensor_level(tensor, level, nullptr, nullptr, &pos[level], &pos_counts[level], nullptr, &crd[level], &crd_counts[level], nullptr,
                        nullptr, nullptr);
    weft_tensor_values(tensor, &values, &value_count, nullptr);
  }
  Told given(const weft_engine* engine, const char* format, std::uint32_t flags, weft_tensor** made) const {
    const std::uint64_t shape[] = {3, 70};
    return told([&](weft_error** error) {
      return weft_tensor_levels(engine, format, shape, 32, pos, pos_counts, crd, crd_counts, values, value_count, flags, made, error);
    });
  }
};

std::vector<double> elements(const weft_engine* engine, const weft_tensor* tensor) {
  std::vector<double> all(3 * 70);
  CHECK(weft_tensor_to_dense(engine, tensor, all.data(), all.size(), nullptr, nullptr) == WEFT_OK);
  return all;
}

}  // namespace

TEST_CASE("bitmap levels are given as words of 64 bits, at any level and beside indices of 32 bits") {
  weft_engine* engine = nullptr;
  REQUIRE(weft_engine_create(nullptr, &engine, nullptr) == WEFT_OK);
  for (const char* format : {"bs", "bd", "bb", "bh", "sb", "db", "hb"}) {
    CAPTURE(format);
    weft_tensor *tensor = nullptr, *again = nullptr;
    REQUIRE(weft_tensor_load(engine, "sparse(3x70,nnz=9)", format, &tensor, nullptr) == WEFT_OK);
    TwoLevels arrays(tensor);
    for (const std::uint32_t flags : {+WEFT_COPY, +WEFT_BORROW}) {
      REQUIRE(arrays.given(engine, format, flags, &again).message == "");
      CHECK(weft_tensor_verify(engine, again, nullptr) == WEFT_OK);
      CHECK(std::string(weft_tensor_format(again)) == weft_tensor_format(tensor));
      CHECK(weft_tensor_nnz(again) == weft_tensor_nnz(tensor));
      CHECK(elements(engine, again) == elements(engine, tensor));
      weft_tensor_free(again);
    }
    const std::size_t level = format[0] == 'b' ? 0 : 1;
    ++arrays.crd_counts[level];  // what stands behind is not read
    CHECK(arrays.given(engine, format, WEFT_BORROW, &again).message.find("bitmap has") != std::string::npos);
    --arrays.crd_counts[level];
    arrays.pos[level] = arrays.crd[level];
    arrays.pos_counts[level] = 2;
    CHECK(arrays.given(engine, format, WEFT_BORROW, &again).message.find("is a bitmap but has a pos array") != std::string::npos);
    weft_tensor_free(tensor);
  }
  weft_engine_free(engine);
}

}  // namespace c_api_test
