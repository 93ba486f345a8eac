// Sessions that share a disk cache, and what they do when its entries are not what they should be.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "engine/cache/entry.h"
#include "unit/cache/cache_fixture.h"
#include "weft/session.h"
#include "weft/tensor.h"

namespace session_cache_test {

namespace fs = std::filesystem;
using namespace weft;

namespace {

struct Outcome {
  std::vector<double> values;
  std::string kernel;
  std::string plan;
  double generate = 0;
  double emit = 0;
  std::vector<std::string> lines;

  bool says(std::string_view text) const {
    for (const std::string& line : lines)
      if (line.find(text) != std::string::npos) return true;
    return false;
  }
};

Tensor filled(std::vector<std::uint64_t> extents) {
  auto tensor = dense_zeros(extents, dense_format(static_cast<std::uint32_t>(extents.size())), Resources(), "tensor");
  REQUIRE(tensor);
  double value = 1;
  for (double& one : tensor->writable_values<double>()) one = value++;
  return *tensor;
}

/// A session of its own, as another process would have.
Outcome evaluated(const fs::path& directory, const std::string& expression, bool paranoid = false) {
  Outcome outcome;
  EngineOptions options;
  options.cache_directory = directory.string();
  options.paranoid = paranoid;
  options.trace = [&](std::string_view line) { outcome.lines.emplace_back(line); };
  auto session = Session::create(options);
  REQUIRE(session);
  session->set("M", filled({7, 5}));
  session->set("x", filled({5}));
  const auto evaluation = session->evaluate(expression, {"M", "x"});
  REQUIRE(evaluation);
  for (const double value : evaluation->results.at("y").values().as<const double>()) outcome.values.push_back(value);
  outcome.kernel = evaluation->report.kernel_cache;
  outcome.plan = evaluation->report.plan_cache;
  outcome.generate = evaluation->report.phases.generate;
  outcome.emit = evaluation->report.phases.emit;
  return outcome;
}

const std::string product = "y(i) = M(i,j) * x(j)";
const std::string other_product = "y(j) = M(i,j) * x(j)";
const std::vector<double> product_values = {55, 130, 205, 280, 355, 430, 505};

fs::path only_kernel(const fs::path& directory) {
  fs::path found;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().extension() == ".weft") found = entry.path();
  REQUIRE_FALSE(found.empty());
  return found;
}

struct Stored {
  std::string key;
  std::string contents;
};

Stored unpacked(const fs::path& file) {
  const std::string bytes = contents_of(file);
  std::uint64_t key_bytes = 0;
  std::memcpy(&key_bytes, bytes.data() + 16, sizeof key_bytes);
  const std::string key = bytes.substr(40, key_bytes);
  return {key, *unpack_entry(bytes, key)};
}

}  // namespace

TEST_CASE("session and disk cache: the second process plans nothing and generates no code") {
  const TemporaryDirectory temporary;
  const Outcome first = evaluated(temporary.path(), product);
  CHECK(first.kernel == "compiled");
  CHECK(first.emit > 0);
  const Outcome second = evaluated(temporary.path(), product);
  CHECK(second.kernel == "disk");
  CHECK(second.plan == "hit");
  CHECK(second.generate == 0);
  CHECK(second.emit == 0);
  CHECK(second.values == product_values);
}

TEST_CASE("session and disk cache: code of another processor, version or key is compiled again") {
  const TemporaryDirectory temporary;
  REQUIRE(evaluated(temporary.path(), product).values == product_values);
  const fs::path file = only_kernel(temporary.path());
  const Stored stored = unpacked(file);
  const std::size_t line = stored.key.find('\n');
  REQUIRE(line != std::string::npos);
  const auto damaged = [&](const std::string& bytes, std::string_view reason) {
    overwrite(file, bytes);
    const Outcome outcome = evaluated(temporary.path(), product);
    CHECK(outcome.values == product_values);
    CHECK(outcome.kernel == "compiled");
    CHECK(outcome.says(reason));
    CHECK(evaluated(temporary.path(), product).kernel == "disk");  // it was replaced
  };
  std::string foreign_processor = stored.key;
  foreign_processor.insert(line + 1, "aarch64-");
  damaged(pack_entry(foreign_processor, stored.contents), "holds another key");
  damaged(pack_entry("weft 9" + stored.key, stored.contents), "holds another key");
  damaged(pack_entry(stored.key, "not machine code"), "compiling again");
  damaged(pack_entry(stored.key, ""), "compiling again");
  damaged(pack_entry(stored.key, stored.contents.substr(0, stored.contents.size() / 2)), "compiling again");
  damaged("", "truncated");
  std::string foreign_machine = stored.contents;
  foreign_machine[18] = static_cast<char>(183);  // e_machine of ELF: AArch64
  damaged(pack_entry(stored.key, foreign_machine), "compiling again");
}

TEST_CASE("session and disk cache: a paranoid session finds code and plans that are valid, but not its own") {
  const TemporaryDirectory temporary;
  const TemporaryDirectory elsewhere;
  REQUIRE(evaluated(temporary.path(), product).values == product_values);
  const fs::path file = only_kernel(temporary.path());
  const Stored stored = unpacked(file);
  const Outcome trusted = evaluated(temporary.path(), product, true);
  CHECK(trusted.kernel == "disk");
  CHECK(trusted.plan == "hit");
  CHECK(trusted.emit > 0);
  CHECK_FALSE(trusted.says("again"));

  (void)evaluated(elsewhere.path(), other_product);
  overwrite(file, pack_entry(stored.key, unpacked(only_kernel(elsewhere.path())).contents));
  const Outcome suspicious = evaluated(temporary.path(), product, true);
  CHECK(suspicious.says("compiling again gives other code"));
  CHECK(suspicious.kernel == "compiled");
  CHECK(suspicious.values == product_values);
  CHECK(unpacked(file).contents == stored.contents);

  for (const auto& entry : fs::directory_iterator(temporary.path())) {
    if (entry.path().extension() != ".plan") continue;
    const std::string text = contents_of(entry.path());
    const std::size_t key_begin = text.find('\n') + 1;
    const std::size_t key_end = text.find("#\n# cost_ns");
    REQUIRE(key_end != std::string::npos);
    std::string key;
    for (std::size_t place = key_begin; place < key_end;) {  // without the "# " of each line
      const std::size_t end = text.find('\n', place);
      key += text.substr(place + 2, end - place - 2) + (end + 1 < key_end ? "\n" : "");
      place = end + 1;
    }
    std::string contents = text.substr(key_end);
    const std::size_t candidates = contents.find("# candidates ");
    contents.insert(candidates + 13, "9");
    overwrite(entry.path(), pack_entry(key, contents, EntryForm::text));
    CHECK(evaluated(temporary.path(), product).plan == "hit");  // nothing wrong with it as far as can be seen
    overwrite(entry.path(), pack_entry(key, contents, EntryForm::text));
    const Outcome again = evaluated(temporary.path(), product, true);
    CHECK(again.plan == "miss");
    CHECK(again.says("planning again gives another plan"));
    CHECK(contents_of(entry.path()) == text);
  }
}

TEST_CASE("session: every line of its trace begins with a command that does the like") {
  std::vector<std::string> lines;
  EngineOptions options;
  options.resources.threads = Threads(1);
  options.strict_fp = true;
  options.trace = [&](std::string_view line) { lines.emplace_back(line); };
  auto session = Session::create(options);
  REQUIRE(session);
  session->set("M", filled({7, 5}));
  session->set("x", filled({5}));
  session->set("s", filled({}));
  auto sparse = convert(filled({4, 7}), Format{Scalar::f64, {1, 0}, {Level{}, Level{.kind = LevelKind::compressed}}}, Resources(), "S");
  REQUIRE(sparse);
  session->set("S", *sparse);
  REQUIRE(session->evaluate("t(i) = 2 * s * M(i,j) * x(j); y(k) = S(k,i) * t(i)", {"M", "x", "s", "S"}));
  CHECK(lines.size() >= 3);
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(line.starts_with("weft run 't(i) = 2 * s() * M(i,j) * x(j); y(k) = S(k,i) * t(i)' "));
    CHECK(line.find(" s=1 'M=uniform(7x5)' 'x=uniform(5)' 'S=sparse(4x7,nnz=28)' --format S:ds:1,0 --format y:d:0 "
                    "--strict-fp --threads 1 # ") != std::string::npos);
  }
  const auto has = [&](std::string_view word) {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(word) != std::string::npos; });
  };
  CHECK(has(" # plan "));
  CHECK(has(" # compile weft_"));
  CHECK(has(" # run "));
}

}  // namespace session_cache_test
