// Tensors built, converted, verified, counted, generated and borrowed.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/block.h"
#include "unit/memory/fault_points.h"
#include "weft/file.h"
#include "weft/host.h"
#include "weft/statistics.h"

namespace weft::tensors_faults_test {

using allocation_faults::armed;
using test::drawn;
using test::fail_every_allocation;
using test::judged;
using test::Outcome;
using test::refused;
using test::right;

namespace {

constexpr const char* layouts[] = {"ss", "ds", "sd", "uq", "dh", "hd", "db", "dd", "ss:1,0", "ds:1,0", "uq:1,0:f32", "hh"};
constexpr const char* by_expressions[] = {"bcsr(3,4)", "bcsr(2,3,unaligned)", "sell(4)", "vbl", "(i,j) -> (i:d, j:s<8> unordered)"};

Coordinates some_entries(const Resources& resources) {
  auto listed = entries(drawn("sparse(20x30,nnz=70,seed=1)"), false, resources);
  REQUIRE(listed);
  return *listed;
}

}  // namespace

TEST_CASE("faults: telling that the machine gives no pages") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  fail_every_allocation("no room", [&]() -> Outcome {
    const Error error = armed([] { return no_room(8, "the pieces of a file"); });
    return error.message == "out of memory: the pieces of a file needs 8 bytes, more than the machine can give" ? right() : refused(error);
  }, resources.memory, 0);
}

TEST_CASE("faults: building") {
  for (const unsigned threads : {1U, 2U}) {
    const Resources resources{Memory(), Threads(threads), {}, {}};
    const Coordinates given = some_entries(resources);
    for (const char* layout : layouts) {
      const Format format = *parse_format(layout);
      fail_every_allocation(std::string("building ") + layout, [&]() -> Outcome {
        Coordinates entries = given;
        Format wanted = format;
        auto tensor = armed([&] { return build(std::move(entries), std::move(wanted), resources, "T"); });
        if (!tensor) return refused(tensor.error());
        const auto sound = verify(*tensor, resources, "T");
        return judged(sound.has_value(), "not valid");
      }, resources.memory, 15);
    }
  }
}

TEST_CASE("faults: converting, verifying, listing, extending") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  for (const char* from : layouts) {
    const Tensor tensor = drawn("sparse(20x30,nnz=70,seed=2)", from);
    for (const char* to : layouts) {
      const Format format = *parse_format(to);
      fail_every_allocation(std::string("converting ") + from + " to " + to, [&]() -> Outcome {
        auto converted = armed([&] { return convert(tensor, format, resources, "T"); });
        if (!converted) return refused(converted.error());
        const auto valid = armed([&] { return verify(*converted, resources, "T"); });
        if (!valid) return refused(valid.error());
        auto listed = armed([&] { return entries(*converted, true, resources); });
        if (!listed) return refused(listed.error());
        std::vector<std::uint64_t> larger = {21, 33};
        auto extended = armed([&] { return with_extents(*converted, std::move(larger), resources, "T"); });
        if (!extended) return refused(extended.error());
        return judged(listed->count == 70 && extended->extents()[1] == 33, "other entries");
      }, resources.memory, 6);
    }
  }
}

TEST_CASE("faults: layouts") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  const Tensor tensor = drawn("sparse(20x30,nnz=70,seed=2)", "ds");
  for (const char* layout : by_expressions) {
    fail_every_allocation(std::string("in the layout ") + layout, [&]() -> Outcome {
      const auto format = armed([&] { return parse_format(layout); });
      if (!format) return refused(format.error());
      auto laid = armed([&] { return convert(tensor, *format, resources, "T"); });
      if (!laid) return refused(laid.error());
      const auto valid = armed([&] { return verify(*laid, resources, "T"); });
      if (!valid) return refused(valid.error());
      auto back = armed([&] { return convert(*laid, tensor.format(), resources, "T"); });
      if (!back) return refused(back.error());
      return judged(back->nnz() == 70, "other entries");
    }, resources.memory, 6);
  }
}

TEST_CASE("faults: counting") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  for (const char* layout : {"ss", "ds", "uq", "dh", "dd"}) {
    const Tensor tensor = drawn("sparse(20x30,nnz=70,seed=2)", layout);
    fail_every_allocation(std::string("counting ") + layout, [&]() -> Outcome {
      const Tensor anew(tensor.arrays(), Validity::known);
      const Statistics known = armed([&] { return statistics(anew, resources.threads); });
      const double rows = armed([&] { return known.distinct(1); });
      const double columns = armed([&] { return known.distinct(2); });
      const FiberLengths fibers = armed([&] { return known.fibers(1); });
      const bool finite = armed([&] { return known.finite(); });
      const std::string text = armed([&] { return known.text(); });
      if (auto failure = known.take_failure()) return refused(*failure);
      if (text == "out of memory") return refused({ErrorKind::resource, text});
      const bool dense = tensor.format().all_dense();
      return judged(rows <= 20 && columns <= 30 && rows > 15 && fibers.maximum > 0 && finite && (!dense || rows == 20), "other figures");
    }, resources.memory, 60);
  }
}

TEST_CASE("faults: generating, borrowing, formats") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  for (const std::string text : {"uniform(5x4,seed=1)", "ones(3)", "sparse(20x30,nnz=40,seed=3)"}) {
    fail_every_allocation("generating " + text, [&]() -> Outcome {
      auto tensor = armed([&] { return generate_tensor(text, std::nullopt, resources, "T"); });
      if (!tensor) return refused(tensor.error());
      const std::string summary = armed([&] { return tensor->summary(); });
      if (summary == "out of memory") return refused({ErrorKind::resource, summary});
      return judged(summary.find("stored") != std::string::npos, summary);
    }, resources.memory);
  }
  const std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2}, rows = {0, 0, 2, 2};
  const std::vector<double> values = {1, 2, 3, 4};
  fail_every_allocation("borrowing", [&]() -> Outcome {
    std::vector<std::uint64_t> extents = {3, 4}, square = {2, 2};
    const std::vector<HostIndices> both = {rows, crd};
    const std::vector<std::int64_t> strides = {1, 2};
    auto csr = armed([&] { return borrow_csr(3, 4, pos, crd, values); });
    if (!csr) return refused(csr.error());
    auto csc = armed([&] { return borrow_csc(4, 3, pos, crd, values); });
    if (!csc) return refused(csc.error());
    auto coo = armed([&] { return borrow_coo(std::move(extents), both, values); });
    if (!coo) return refused(coo.error());
    auto dense = armed([&] { return borrow_dense(std::move(square), values, strides); });
    if (!dense) return refused(dense.error());
    return judged(csr->nnz() == 4 && csc->nnz() == 4 && coo->nnz() == 4 && dense->nnz() == 4, "other tensors");
  }, resources.memory, 100);
  fail_every_allocation("a format", [&]() -> Outcome {
    auto format = armed([&] { return parse_format("ss:1,0:f32"); });
    if (!format) return refused(format.error());
    const std::string text = armed([&] { return format->text(); });
    if (text == "out of memory") return refused({ErrorKind::resource, text});
    return judged(text == "ss:1,0" && format->scalar == Scalar::f32, text);
  }, resources.memory);
  fail_every_allocation("a wrong format", [&]() -> Outcome {
    auto format = armed([&] { return parse_format("ssxy:1,0:f32"); });
    if (format) return {.error = {}, .wrong = "it was parsed"};
    if (format.error().kind == ErrorKind::resource) return refused(format.error());
    return judged(format.error().kind == ErrorKind::input, format.error().message);
  }, resources.memory);
}

TEST_CASE("faults: an account of memory that could not be opened refuses everything and says so") {
  allocation_faults::begin(1, allocation_faults::Fails::one);
  const Memory memory = armed([] { return Memory(1000); });
  CHECK(memory.limit() == 0);
  CHECK(memory.used() == 0);
  const auto buffer = Buffer::allocate(64, memory, "a buffer");
  REQUIRE(!buffer);
  CHECK(buffer.error().kind == ErrorKind::resource);
}

}  // namespace weft::tensors_faults_test
