// Borrowed arrays that are wrong: every call that would read them refuses them first, and nothing verifies them twice.
#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weft/file.h"
#include "weft/host.h"
#include "weft/session.h"

namespace borrowed_test {

using namespace weft;

namespace {

using Int = std::vector<std::int32_t>;
using Values = std::vector<double>;

/// What must stand in the message, and a tensor over arrays that have this defect.
struct Wrong {
  std::string message;
  std::function<Expected<Tensor>()> made;
};

const Values four = {1, 2, 3, 4};
const Values three = {1, 2, 3};
const Int pos = {0, 2, 2, 4};
const Int crd = {0, 3, 1, 2};
const Int short_pos = {0, 2, 4};
const Int beyond_pos = {0, 2, 2, 400'000'000};
const Int falling_pos = {0, 2, 1, 4};
const Int late_pos = {1, 2, 2, 4};
const Int negative_pos = {0, -2, 2, 4};
const Int negative_end = {0, 2, 2, -4};
const Int outside = {0, 400'000'000, 1, 2};
const Int negative = {0, 3, -1, 2};
const Int negative_last = {0, 3, 1, -1};
const Int falling = {3, 0, 1, 2};
const Int twice = {0, 0, 1, 2};
const Int rows = {0, 0, 2, 2};
const Int unsorted_rows = {0, 2, 0, 2};
const Int few = {0, 3, 1};

Format kinds(std::string_view text) { return *parse_format(text); }

const std::vector<Wrong>& wrong_matrices() {
  static const std::vector<Wrong> all = {
      {"level 1: pos is 400000000 at position 3, beyond the 4 coordinates",
       [] { return borrow_csr(3, 4, beyond_pos, crd, four); }},
      {"level 1: pos is 4294967292 at position 3, beyond", [] { return borrow_csr(3, 4, negative_end, crd, four); }},
      {"level 1: pos falls from 4294967294 to 2 behind position 1",
       [] { return borrow_csr(3, 4, negative_pos, crd, four); }},
      {"level 1: pos falls from 2 to 1 behind position 1", [] { return borrow_csr(3, 4, falling_pos, crd, four); }},
      {"level 1: pos begins with 1 instead of 0", [] { return borrow_csr(3, 4, late_pos, crd, four); }},
      {"level 1: pos has 12 bytes, but 4 elements", [] { return borrow_csr(3, 4, short_pos, crd, four); }},
      {"level 1: coordinate 400000000 at position 1 is not below the extent 4 of mode 1",
       [] { return borrow_csr(3, 4, pos, outside, four); }},
      {"level 1: coordinate 4294967295 (-1 with a sign) at position 2 is not below",
       [] { return borrow_csr(3, 4, pos, negative, four); }},
      {"level 1: the entry at position 1 repeats or precedes", [] { return borrow_csr(3, 4, pos, falling, four); }},
      {"level 1: the entry at position 1 repeats or precedes", [] { return borrow_csr(3, 4, pos, twice, four); }},
      {"24 bytes of values, but 4 stored entries", [] { return borrow_csr(3, 4, pos, crd, three); }},
      {"level 1: pos is 4 at position 3, beyond the 3 coordinates", [] { return borrow_csr(3, 4, pos, few, three); }},
      {"level 1: coordinate 400000000 at position 1 is not below the extent 4 of mode 0",
       [] { return borrow_csc(4, 3, pos, outside, four); }},
      {"level 1: pos is 400000000 at position 3, beyond", [] { return borrow_csc(4, 3, beyond_pos, crd, four); }},
      {"level 1: coordinate 4294967295 (-1 with a sign) at position 3",
       [] {
         return borrow_coo({3, 4}, {rows, negative_last}, four);
       }},
      {"level 0: the entry at position 2 repeats or precedes",
       [] {
         return borrow_coo({3, 4}, {unsorted_rows, crd}, four);
       }},
      {"level 0: the entry at position 1 repeats or precedes",
       [] {
         return borrow_coo({3, 4}, {rows, twice}, four);
       }},
      {"level 1: crd has 12 bytes, but 4 elements",
       [] {
         return borrow_coo({3, 4}, {rows, few}, four);
       }},
      {"24 bytes of values, but 4 stored entries",
       [] {
         return borrow_coo({3, 4}, {rows, crd}, three);
       }},
      {"level 1: pos is 400000000 at position 2, beyond the 4 coordinates",
       [] {
         static const Int roots = {0, 2}, ends = {0, 2, 400'000'000};
         return borrow(kinds("ss"), {3, 4}, {{{}, roots}, {ends, crd}}, four);
       }},
      {"level 0: coordinate 4294967295 (-1 with a sign) at position 0",
       [] {
         static const Int roots = {-1, 2}, ends = {0, 2, 4};
         return borrow(kinds("ss"), {3, 4}, {{{}, roots}, {ends, crd}}, four);
       }},
      {"level 0: position 1 has no stored entry below it",
       [] {
         static const Int roots = {0, 2}, ends = {0, 4, 4}, sorted = {0, 1, 2, 3};
         return borrow(kinds("ss"), {3, 4}, {{{}, roots}, {ends, sorted}}, four);
       }},
      {"level 1: fiber 0 has 3 slots, no power of two",
       [] {
         static const Int ends = {0, 3, 3, 4};
         return borrow(kinds("dh"), {3, 4}, {{}, {ends, crd}}, four);
       }},
      {"level 1: bit 63 of fiber 1 is not below the extent 4",
       [] {
         static const std::vector<std::uint64_t> bits = {1, std::uint64_t{1} << 63, 2};
         static const Values twelve(12);
         return borrow(kinds("db"), {3, 4}, {{}, {{}, bits}}, twelve);
       }},
      {"32 bytes of values, but 12 stored entries",
       [] {
         return borrow_dense({3, 4}, four);
       }},
      {"its strides reach outside of the 32 bytes of values",
       [] {
         return borrow_dense({3, 4}, four, {1, 1}, 0);
       }},
      {"its strides reach outside",
       [] {
         return borrow_dense({3, 4}, four, {std::int64_t{1} << 62, std::int64_t{1} << 62}, 0);
       }},
      {"its strides reach outside",
       [] {
         return borrow_dense({3, 4}, four, {0, -1}, 2);
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("every call that would read borrowed arrays refuses wrong ones, naming tensor, level and position") {
  const Session session = *Session::create();
  const Engine& engine = session.engine();
  const Resources& resources = engine.options().resources;
  const Values ones = {1, 1, 1, 1};
  const Tensor x = *borrow_dense({4}, ones);
  const std::vector<std::int32_t> sound_crd = {0, 3, 1, 2};
  const auto general = engine.compile("y(i) = M(i,j) * x(j)", {{"M", *borrow_csr(3, 4, pos, sound_crd, four)}, {"x", x}});
  REQUIRE(general);
  const std::string file = (std::filesystem::temp_directory_path() / ("weft-borrowed-" + std::to_string(::getpid()))).string();
  for (const Wrong& wrong : wrong_matrices()) {
    CAPTURE(wrong.message);
    const auto refused = [&](std::string_view name, const auto& result) {
      CAPTURE(name);
      REQUIRE_FALSE(result);
      CAPTURE(result.error().message);
      CHECK(result.error().kind == ErrorKind::input);
      CHECK(result.error().message.find(wrong.message) != std::string::npos);
      CHECK(result.error().message.starts_with(std::string(name) + ": "));
    };
    const auto fresh = [&] {
      auto tensor = wrong.made();
      REQUIRE(tensor);
      return *tensor;
    };
    const std::string text = fresh().extents()[0] == 4 ? "y(i) = M(j,i) * x(j)" : "y(i) = M(i,j) * x(j)";
    const auto operands = [&] { return Tensors{{"M", fresh()}, {"x", x}}; };
    refused("M", engine.compile(text, operands()));
    CompileOptions baked;
    baked.specialize = Specialization::baked;
    refused("M", engine.compile(text, operands(), baked));
    refused("M", engine.compile_async(text, operands()).get());
    session.set("M", fresh());
    session.set("x", x);
    refused("M", session.evaluate(text));
    refused("M", session.evaluate(text, Answer::soonest));
    refused("M", session.evaluate(text, {"M", "x"}));
    EvaluateOptions planned;
    planned.run = false;
    refused("M", session.evaluate(text, {"M", "x"}, planned));
    if (text.find("M(i,j)") != std::string::npos) {
      Bindings bindings;
      bindings.set("M", fresh());
      bindings.set("x", x);
      refused("M", general->run(bindings));
    }
    refused("M", convert(fresh(), kinds("uq"), resources, "M"));
    refused("M", convert(fresh(), kinds("dd:1,0:f32"), resources, "M"));
    refused("the tensor", entries(fresh(), false, resources));
    refused("M", with_extents(fresh(), {5, 5}, resources, "M"));
    for (const char* extension : {".tns", ".mtx", ".npy"}) {
      refused("M", write_tensor(fresh(), file + extension, resources, "M"));
      CHECK_FALSE(std::filesystem::exists(file + extension));
    }
    refused("M", verify_once(fresh(), resources, "M"));
    refused("M", verify(fresh(), resources, "M"));
    const Tensor counted = fresh();
    CHECK(statistics(counted, resources.threads).nnz() == 0);
    CHECK(Statistics(counted, resources.threads).distinct(1) == 0);
    CHECK(statistics(counted, resources.threads).fibers(1).maximum <= 4);
    CHECK_FALSE(statistics(counted, resources.threads).text().empty());
  }
}

TEST_CASE("borrowing itself refuses addresses and widths that cannot be right") {
  const auto message = [](const Expected<Tensor>& tensor) {
    REQUIRE_FALSE(tensor);
    CHECK(tensor.error().kind == ErrorKind::input);
    return tensor.error().message;
  };
  HostIndices nothing = crd;
  nothing.data = nullptr;
  CHECK(message(borrow_csr(3, 4, pos, nothing, four)) == "a borrowed tensor: level 1: crd is a null pointer");
  CHECK(message(borrow_csr(3, 4, nothing, crd, four)) == "a borrowed tensor: level 1: pos is a null pointer");
  HostIndices crooked = crd;
  crooked.data = static_cast<const char*>(crooked.data) + 1;
  CHECK(message(borrow_csr(3, 4, pos, crooked, four)) == "a borrowed tensor: level 1: crd is not aligned to its elements");
  HostIndices narrow = crd;
  narrow.bits = 7;
  CHECK(message(borrow_coo({4}, {narrow}, four)) == "a borrowed tensor: level 0: crd of 7 bits: indices have 32 or 64");
  CHECK(message(borrow_csr(3, std::uint64_t{1} << 32, pos, crd, four)) ==
        "a borrowed tensor: level 1: crd of signed 32-bit integers, but the extent is 4294967296");
  HostValues none = four;
  none.data = nullptr;
  CHECK(message(borrow_dense({4}, none)) == "a borrowed tensor: the array of values is a null pointer");
  HostValues half = four;
  half.data = static_cast<const char*>(half.data) + 4;
  CHECK(message(borrow_dense({4}, half)) == "a borrowed tensor: the array of values is not aligned to its elements");
}

TEST_CASE("one verification serves all copies, bindings and kernels, and a trusted tensor needs none") {
  const Engine engine = *Engine::create();
  const Values ones = {1, 1, 1, 1};
  const Tensor x = *borrow_dense({4}, ones);
  for (const bool trust : {false, true}) {
    CAPTURE(trust);
    // Each row holds its entries in falling order: verify() sees that, sums do not.
    Int columns = {0, 3, 1, 2};
    const Tensor borrowed = *borrow_csr(3, 4, pos, columns, four);
    const Tensor first = trust ? trusted(borrowed) : borrowed;
    if (!trust) REQUIRE(engine.compile("s = M(i,j)", {{"M", first}}));
    std::swap(columns[0], columns[1]);
    REQUIRE_FALSE(verify(first, Resources(), "M"));
    for (const char* text : {"y(i) = M(i,j) * x(j)", "y(i) = 2 * M(i,j) * x(j)"}) {
      const Tensor copy = first;
      const auto kernel = engine.compile(text, {{"M", copy}, {"x", x}});
      REQUIRE(kernel);
      Bindings bindings;
      bindings.set("M", copy);
      bindings.set("x", x);
      CHECK(kernel->run(bindings));
    }
    CHECK(convert(first, kinds("ds:0,1:f32"), Resources(), "M"));
    if (trust) CHECK_FALSE(engine.compile("s = M(i,j)", {{"M", borrowed}}));
  }
}

TEST_CASE("memory of the host counts against no limit") {
  EngineOptions options;
  options.resources.memory = Memory(64 << 10);
  const Engine engine = *Engine::create(options);
  const std::size_t extent = 20'000;
  const std::vector<double> x(extent, 1);
  std::vector<double> y(extent), diagonal(extent, 3);
  Int ends(extent + 1), columns(extent);
  for (std::size_t n = 0; n < extent; ++n) columns[n] = ends[n] = static_cast<int>(n);
  ends.back() = static_cast<int>(extent);
  const Tensors lent = {{"M", *borrow_csr(extent, extent, ends, columns, diagonal)}, {"x", *borrow_dense({extent}, x)}};
  const auto kernel = engine.compile("s = M(i,j) * x(j)", lent);
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  Bindings bindings;
  for (const auto& [name, tensor] : lent) bindings.set(name, tensor);
  const auto sum = kernel->run(bindings);
  REQUIRE_MESSAGE(sum, (sum ? "" : sum.error().message));
  CHECK(sum->at("s").values().as<const double>()[0] == 3.0 * static_cast<double>(extent));
  // A result of its own takes more than there is.
  const auto refused = engine.compile("y(i) = M(i,j) * x(j)", lent);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::resource);
}

TEST_CASE("a result like a dense operand whose rows lie apart is stored in rows of its own") {
  const Engine engine = *Engine::create();
  const Values apart = {1, 2, 3, -1, 4, 5, 6, -1, 7, 8, 9, -1};
  const Tensors operands = {{"M", *borrow_dense({3, 3}, apart, {4, 1})}};
  CompileOptions options;
  options.patterns["S"] = "M";
  const auto kernel = engine.compile("S(i,j) = 2 * M(i,j)", operands, options);
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  Bindings bindings;
  bindings.set("M", operands.at("M"));
  const auto results = kernel->run(bindings);
  REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
  const auto values = results->at("S").values().as<const double>();
  CHECK(std::vector<double>(values.begin(), values.end()) == std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16, 18});
}

TEST_CASE("a change of values is seen by all handles of a tensor, trusted ones too") {
  const Engine engine = *Engine::create();
  const Values x = {1, 10, 100, 1000};
  CompileOptions options;
  options.calls = 1000;
  options.formats["M"] = *parse_format("ds:1,0");  // a kernel that reads a copy
  for (const bool by_handle : {false, true}) {
    CAPTURE(by_handle);
    Int columns = {0, 3, 1, 2};
    std::vector<double> values = {1, 2, 3, 4};
    const Tensor lent = *borrow_csr(3, 4, pos, columns, values);
    const Tensors operands = {{"M", *borrow_csr(3, 4, pos, columns, values)}, {"x", *borrow_dense({4}, x)}};
    const auto kernel = engine.compile("y(i) = M(i,j) * x(j)", operands, options);
    REQUIRE(kernel);
    Bindings bindings;
    bindings.set("M", by_handle ? trusted(lent) : lent, {.trusted = !by_handle});
    bindings.set("x", operands.at("x"));
    const auto first = [&] { return kernel->run(bindings)->at("y").values().as<const double>()[0]; };
    const double before = first();
    for (double& value : values) value *= 2;
    lent.values_changed();
    CHECK(first() == 2 * before);
  }
}

}  // namespace borrowed_test
