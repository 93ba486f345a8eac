// Kernels saved by the host and loaded again, damaged ones refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

#include "engine/cache/entry.h"
#include "frontend/saved_kernel.h"
#include "unit/frontend/host_loop.h"
#include "unit/share.h"

namespace saved_kernel_test {

using namespace weft;
using namespace weft::test;

namespace {

std::vector<double> ran(const Kernel& kernel, const Bindings& bindings) {
  const auto results = kernel.run(bindings);
  REQUIRE_MESSAGE(results, results.error().message);
  std::vector<double> all;
  for (const auto& [name, result] : *results) {
    const auto good = verify(result, Resources(), name);
    REQUIRE_MESSAGE(good, good.error().message);
    const auto dense = convert(result, dense_format(result.order()), Resources(), name);
    REQUIRE(dense);
    const auto values = dense->values().as<const double>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

struct Saved {
  std::string text;
  Tensors operands;
  CompileOptions options;
};

std::vector<Saved> kernels() {
  const Tensor M = operand("sparse(60x50,nnz=400,seed=1)", "ds"), x = operand("uniform(50x4)");
  std::vector<Saved> all = {{"y(i,r) = M(i,j) * x(j,r)", {{"M", M}, {"x", x}}, {}}};
  all.push_back({"y(i,r) = T(i,j,k) * B(j,r) * C(k,r)",
                 {{"T", operand("sparse(20x30x25,nnz=900,seed=1)")}, {"B", operand("uniform(30x8)")}, {"C", operand("uniform(25x8)")}},
                 {}});
  all.back().options.calls = 1000;
  CompileOptions product;
  product.formats["C"] = *parse_format("ds");
  all.push_back({"C(i,j) = A(i,k) * B(k,j)",
                 {{"A", operand("sparse(2000x2000,nnz=30000,seed=1)", "ds")}, {"B", operand("sparse(2000x2000,nnz=30000,seed=2)", "ds")}},
                 product});
  CompileOptions like;
  like.patterns["S"] = "M";
  like.results = {"S", "O"};
  like.scaled = {"O"};
  all.push_back({"S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = 3 * S(i,j) * D(j,h)",
                 {{"M", M}, {"A", operand("uniform(60x5)")}, {"B", operand("uniform(50x5)")}, {"D", operand("uniform(50x2)")}},
                 like});
  CompileOptions baked;
  baked.specialize = Specialization::baked;
  baked.formats["M"] = *parse_format("ds:1,0");
  all.push_back({"y(i) = M(i,j) * z(j)", {{"M", operand("sparse(9x8,nnz=20,seed=1)", "ds")}, {"z", operand("uniform(8)")}}, baked});
  CompileOptions generic;
  generic.specialize = Specialization::generic;
  generic.tree = "(M * (N * z))";
  all.push_back({"y(i) = M(i,j) * N(j,k) * z(k)",
                 {{"M", M}, {"N", operand("sparse(50x40,nnz=200,seed=3)", "uq")}, {"z", operand("uniform(40)")}},
                 generic});
  // Over the levels of layouts: blocks, runs, diagonals in place, one that is read through a plain copy, results.
  const Tensor x50 = operand("uniform(50)");
  for (const char* const layout : {"bcsr(3,4)", "vbl", "(i,j) -> (j-i:s unordered, j:d)", "dia(8)", "sell(8)",
                                   "(i,j) -> (i:d, j/16:u, j%16:q<8>)", "(i,j) -> (i:d, j:s desc)"}) {
    const auto laid = convert(M, *parse_format(layout), Resources(), "A");
    REQUIRE_MESSAGE(laid, laid.error().message);
    all.push_back({"y(i) = A(i,j) * z(j)", {{"A", *laid}, {"z", x50}}, {}});
  }
  CompileOptions blocks;
  blocks.formats["M"] = *parse_format("bcsr(2,2)");
  blocks.formats["C"] = *parse_format("bcsr(2,2)");
  all.push_back({"C(i,j) = M(i,j) * v(i)", {{"M", M}, {"v", operand("uniform(60)")}}, blocks});
  // Blocks located beside rows.
  const auto located = convert(operand("sparse(60x50,nnz=300,seed=4)", "ds"), *parse_format("bcsr(4,3)"), Resources(), "B");
  REQUIRE(located);
  all.push_back({"y(i) = M(i,j) * B(i,j) * z(j)", {{"M", M}, {"B", *located}, {"z", x50}}, {}});
  return all;
}

}  // namespace

TEST_CASE("saved kernels: loaded by another engine they give the same, and nothing is planned or compiled") {
  std::uint64_t number = 0;
  for (const Saved& each : kernels()) {
    for (const unsigned threads : {1U, 2U}) {
      if (!test::is_drawn_sanitized(number++)) continue;
      CAPTURE(each.text);
      const Engine engine = engine_with(threads), other = engine_with(threads);
      const auto kernel = engine.compile(each.text, each.operands, each.options);
      REQUIRE_MESSAGE(kernel, kernel.error().message);
      const auto bytes = kernel->save();
      REQUIRE_MESSAGE(bytes, bytes.error().message);
      const auto loaded = other.load(*bytes);
      REQUIRE_MESSAGE(loaded, loaded.error().message);
      const Bindings bindings = bound(each.operands);
      CHECK(ran(*loaded, bindings) == ran(*kernel, bindings));
      CHECK(other.counters().compiled == 0);
      CHECK(other.counters().fallbacks == 0);
      CHECK(loaded->report().kernel_cache == "disk");
      CHECK(loaded->report().specialization == kernel->report().specialization);
      CHECK(loaded->report().plan.producer == kernel->report().plan.producer);
      for (const Stage stage : {Stage::network, Stage::tree, Stage::schedule, Stage::loops, Stage::signature})
        CHECK(*loaded->explain(stage) == *kernel->explain(stage));
      if (each.options.specialize != Specialization::baked) CHECK(*loaded->explain(Stage::object) == *kernel->explain(Stage::object));
      // Operands of another size, for which both have another kernel made.
      if (!each.operands.contains("z")) continue;
      Tensors larger = each.operands;
      larger["z"] = operand("uniform(" + std::to_string(each.operands.at("z").extents()[0]) + ")");
      CHECK(ran(*loaded, bound(larger)) == ran(*kernel, bound(larger)));
      // Saved once more.
      const auto again = loaded->save();
      REQUIRE(again);
      if (each.options.specialize != Specialization::baked) CHECK(*again == *bytes);
    }
  }
}

TEST_CASE("saved kernels: files get their name when they are complete, and are named in errors") {
  const auto directory = std::filesystem::temp_directory_path() / ("weft-saved-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  const Saved each = kernels().front();
  const auto kernel = engine_with().compile(each.text, each.operands, each.options);
  REQUIRE(kernel);
  const std::string path = (directory / "y.kernel").string();
  REQUIRE(kernel->save_file(path));
  CHECK(std::distance(std::filesystem::directory_iterator(directory), {}) == 1);
  const auto loaded = engine_with().load_file(path);
  REQUIRE_MESSAGE(loaded, loaded.error().message);
  CHECK(ran(*loaded, bound(each.operands)) == ran(*kernel, bound(each.operands)));
  std::filesystem::resize_file(path, 100);
  const auto refused = engine_with().load_file(path);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::input);
  CHECK(refused.error().message == path + ": the saved kernel cannot be read: truncated or extended");
  CHECK(engine_with().load_file((directory / "none").string()).error().kind == ErrorKind::input);
  CHECK(kernel->save_file((directory / "none" / "y.kernel").string()).error().kind == ErrorKind::input);
  std::filesystem::remove_all(directory);
}

TEST_CASE("saved kernels: what is damaged, cut off, of another version or for another CPU is an input error that says so") {
  const Saved each = kernels().front();
  const Engine engine = engine_with();
  const auto kernel = engine.compile(each.text, each.operands, each.options);
  REQUIRE(kernel);
  const std::string bytes = *kernel->save();
  const auto refusal = [&](const std::string& wrong) {
    const auto loaded = engine.load(wrong);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().kind == ErrorKind::input);
    return loaded.error().message;
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    CHECK(refusal(damaged).starts_with("the saved kernel cannot be read: "));
  }
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 40)
    CHECK(refusal(bytes.substr(0, size)).starts_with("the saved kernel cannot be read: "));
  CHECK(refusal(bytes + "x") == "the saved kernel cannot be read: truncated or extended");
  CHECK(refusal("") == "the saved kernel cannot be read: truncated header");
  // With a checksum that is right.
  const auto entry = open_entry(bytes);
  REQUIRE(entry);
  const auto replaced = [&](const std::string& line, const std::string& with) {
    std::string key = entry->key;
    const std::size_t begin = key.find("\n" + line) == std::string::npos ? 0 : key.find("\n" + line) + 1;
    key.replace(begin, key.find('\n', begin) - begin, with);
    return refusal(pack_entry(key, entry->contents));
  };
  CHECK(replaced("version", "version 9.9").find("for another version of weft: 9.9, and this is ") != std::string::npos);
  CHECK(replaced("generator", "generator LLVM 1").find("for another version of LLVM: LLVM 1, and this is LLVM") != std::string::npos);
  CHECK(replaced("CPU", "CPU z80").find("for another CPU: z80, and this is ") != std::string::npos);
  CHECK(engine_with(1, Memory(), true).load(bytes).error().message.find("for other options of the engine") != std::string::npos);
  std::size_t cut = 0;
  for (std::size_t size = 0; size < entry->contents.size(); size += 1 + size / 20) {
    CHECK(refusal(pack_entry(entry->key, entry->contents.substr(0, size))).find("saved kernel") != std::string::npos);
    ++cut;
  }
  CHECK(cut > 20);
  CHECK(refusal(pack_entry(entry->key, entry->contents + "x")) == "the saved kernel is damaged: it goes on behind its end");
  // Figures that are no numbers of entries.
  for (const double figure : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0}) {
    auto read = unpacked(bytes, entry->key);
    REQUIRE(read);
    read->request.operands.at("M").nnz = figure;
    CHECK(refusal(packed(*read, entry->key)) == "the saved kernel is damaged: a figure that is no number of entries");
    read->request.operands.at("M").nnz = 1;
    read->request.operands.at("M").distinct[1] = figure;
    CHECK(refusal(packed(*read, entry->key)) == "the saved kernel is damaged: a figure that is no number of entries");
  }
  CHECK(Kernel().save().error().kind == ErrorKind::input);
  CHECK(Engine().load(bytes).error().kind == ErrorKind::input);
}

TEST_CASE("saved kernels: over levels of layouts, cut off or with other levels, they are refused") {
  const std::vector<Saved> all = kernels();
  const Saved& each = *std::ranges::find_if(all, [](const Saved& one) { return one.operands.contains("A") && one.operands.contains("z"); });
  const Engine engine = engine_with();
  const auto kernel = engine.compile(each.text, each.operands, each.options);
  REQUIRE(kernel);
  const std::string bytes = *kernel->save();
  REQUIRE(engine.load(bytes));
  const auto entry = open_entry(bytes);
  REQUIRE(entry);
  const auto refusal = [&](const std::string& contents) {
    const auto loaded = engine.load(pack_entry(entry->key, contents));
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().kind == ErrorKind::input);
    return loaded.error().message;
  };
  for (std::size_t size = 0; size < entry->contents.size(); size += 1 + size / 100)
    CHECK(refusal(entry->contents.substr(0, size)).find("saved kernel") != std::string::npos);
  // The layout of blocks of 3 by 4 as one of 4 by 3, whose levels have other extents: of the operand, and in the schedule.
  const std::string text = "(i,j) -> (i/3:d, j/4:s, i%3:d, j%4:d)";
  const std::size_t last = entry->contents.rfind(text);
  REQUIRE(last != std::string::npos);
  const std::size_t before = entry->contents.rfind(text, last - 1);
  REQUIRE(before != std::string::npos);
  for (const std::size_t at : {last, before}) {
    std::string other = entry->contents;
    other.replace(at, text.size(), "(i,j) -> (i/4:d, j/3:s, i%4:d, j%3:d)");
    CHECK(refusal(other).find("the saved kernel is damaged: ") != std::string::npos);
  }
}

}  // namespace saved_kernel_test
