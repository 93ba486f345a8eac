#include "engine/plan_cache.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "engine/cache/disk_cache.h"
#include "engine/pipeline.h"
#include "engine/plan/estimate/operand_facts.h"
#include "unit/plan/networks.h"

namespace plan_cache_test {

using namespace weft;
using namespace weft::plan_test;
namespace fs = std::filesystem;

namespace {

OwnedProblem mttkrp(std::uint64_t entries = 300000) {
  OwnedProblem made = problem("T:ijk:sss:" + std::to_string(entries) + " B:jr C:kr -> ir",
                         {{'i', 500}, {'j', 400}, {'k', 300}, {'r', 32}});
  for (OperandFacts& operand : made.operands) operand = quantised(operand);
  return made;
}

class Directory {
 public:
  Directory() {
    std::string pattern = (fs::temp_directory_path() / "weft-plans-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  fs::path plan() const {
    for (const auto& file : fs::directory_iterator(path_)) {
      if (file.path().extension() == ".plan") return file.path();
    }
    return {};
  }

 private:
  fs::path path_;
};

struct Traced {
  std::optional<Pipeline> pipeline;
  std::shared_ptr<std::vector<std::string>> lines = std::make_shared<std::vector<std::string>>();

  explicit Traced(const fs::path& directory, bool use_cache = true) {
    EngineOptions options;
    options.resources.threads = Threads(1);
    options.cache_directory = directory.string();
    options.use_cache = use_cache;
    options.trace = [kept = lines, one_at_a_time = std::make_shared<std::mutex>()](std::string_view line) {
      const std::lock_guard lock(*one_at_a_time);
      kept->emplace_back(line);
    };
    pipeline = *Pipeline::create(options);
  }
  Plan plan(const OwnedProblem& made) {
    auto found = pipeline->plan(made.network, made.operands, made.options);
    REQUIRE(found.has_value());
    return *found;
  }
  bool said(std::string_view part) const {
    return std::ranges::any_of(*lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
};

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary | std::ios::trunc) << text; }

void same(const Plan& left, const Plan& right) {
  CHECK(left.schedule == right.schedule);
  CHECK(left.cost == right.cost);
  CHECK(left.producer == right.producer);
  CHECK(left.optimal == right.optimal);
  CHECK(left.candidates == right.candidates);
  CHECK(left.runner_up == right.runner_up);
  CHECK(left.why == right.why);
  CHECK(left.trees == right.trees);
  CHECK(left.trees_bounded == right.trees_bounded);
}

}  // namespace

TEST_CASE("a plan is found in memory and, by another pipeline, on disk") {
  const Directory directory;
  Traced first(directory.path());
  const Plan made = first.plan(mttkrp());
  CHECK(made.origin == PlanOrigin::planned);
  const Plan remembered = first.plan(mttkrp());
  CHECK(remembered.origin == PlanOrigin::memory);
  same(remembered, made);
  Traced second(directory.path());
  const Plan loaded = second.plan(mttkrp());
  CHECK(loaded.origin == PlanOrigin::disk);
  same(loaded, made);
  CHECK(second.said(" disk "));
  CHECK(second.plan(mttkrp()).origin == PlanOrigin::memory);

  // Nearly equal data share the plan; its memory is that of the data at hand.
  OwnedProblem nearly = mttkrp(300300);
  for (OperandFacts& operand : nearly.operands) operand.counted->bytes += 1000;
  const Plan shared = second.plan(nearly);
  CHECK(shared.origin == PlanOrigin::memory);
  CHECK(shared.schedule == made.schedule);
  CHECK(shared.cost.ns == made.cost.ns);
  CHECK(shared.cost.peak_bytes >= made.cost.peak_bytes + 3000);
  CHECK(second.plan(mttkrp(600000)).origin == PlanOrigin::planned);
}

TEST_CASE("without a cache every plan is made and nothing is kept") {
  const Directory directory;
  Traced pipeline(directory.path(), false);
  CHECK(pipeline.plan(mttkrp()).origin == PlanOrigin::planned);
  CHECK(pipeline.plan(mttkrp()).origin == PlanOrigin::planned);
  CHECK(directory.plan().empty());
}

TEST_CASE("any defect of a remembered plan is a miss, said once, and is replaced") {
  const Directory directory;
  Plan made = Traced(directory.path()).plan(mttkrp());
  const fs::path file = directory.plan();
  REQUIRE_FALSE(file.empty());
  const std::string good = read(file);
  const auto damaged = [&](const std::string& text, std::string_view why) {
    CAPTURE(why);
    write(file, text);
    Traced pipeline(directory.path());
    const Plan again = pipeline.plan(mttkrp());
    CHECK(again.origin == PlanOrigin::planned);
    same(again, made);
    CHECK(pipeline.said(why));
    for (const std::string& line : *pipeline.lines) CHECK((line.find(" # ") == std::string::npos || line.starts_with("weft run ")));
    CHECK(read(file) == good);
  };
  damaged(good.substr(0, good.size() / 2), "checksum differs");
  damaged("", "truncated header");
  damaged(std::string(good).replace(good.size() - 3, 1, "#"), "checksum differs");
  damaged(std::string(good).replace(good.find("entry 1") + 6, 1, "9"), "written by another version");
  damaged(std::string(good).replace(good.find("extent i"), 8, "extent q"), "holds another key");

  // Sound as a file, wrong as a plan: another cost, a schedule that is none, one that is not legal.
  const std::string key = plan_key(mttkrp().network, mttkrp().operands, mttkrp().options);
  const std::string contents = print_plan(made, mttkrp().network);
  const auto stored = [&](const std::string& text, std::string_view why) {
    DiskCache(directory.path().string()).store(key, text, EntryForm::text);
    damaged(read(file), why);
  };
  stored(std::string(contents).replace(contents.find("# cost_ns ") + 10, 1, "9"), "planned again");
  stored(contents.substr(0, contents.find("schedule\n  tree", contents.rfind("# "))), "planned again");
  stored(std::string(contents).replace(contents.rfind("loops i"), 7, "loops k"), "planned again");
  stored("schedule\n", "a remark is missing");
}

TEST_CASE("a plan that is cancelled is not remembered, and others who wait for it go on") {
  const Directory directory;
  Traced pipeline(directory.path());
  const Cancellation token;
  OwnedProblem cancelled = mttkrp();
  cancelled.options.cancelled_by = {Cancellation(), token};
  token.cancel();
  const auto none = pipeline.pipeline->plan(cancelled.network, cancelled.operands, cancelled.options);
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().kind == ErrorKind::cancelled);
  CHECK(directory.plan().empty());
  CHECK(plan_key(cancelled.network, cancelled.operands, cancelled.options) ==
        plan_key(mttkrp().network, mttkrp().operands, mttkrp().options));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      const OwnedProblem mine = number % 2 == 0 ? cancelled : mttkrp();
      const auto found = pipeline.pipeline->plan(mine.network, mine.operands, mine.options);
      const bool right = found ? true : number % 2 == 0 && found.error().kind == ErrorKind::cancelled;
      if (!right) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(pipeline.plan(mttkrp()).origin == PlanOrigin::memory);
}

TEST_CASE("a directory that cannot be used costs the plan nothing") {
  const Directory directory;
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  Traced open_to_all(directory.path());
  CHECK(open_to_all.plan(mttkrp()).origin == PlanOrigin::planned);
  CHECK(open_to_all.said("others may write"));
  Traced below_a_file(directory.path() / "file" / "cache");
  write(directory.path() / "file", "");
  CHECK(below_a_file.plan(mttkrp()).origin == PlanOrigin::planned);
}

TEST_CASE("the key tells everything apart that plans depend on") {
  std::set<std::string> keys;
  const auto add = [&](auto change) {
    OwnedProblem made = mttkrp();
    change(made);
    CHECK(keys.insert(plan_key(made.network, made.operands, made.options)).second);
  };
  add([](OwnedProblem&) {});
  add([](OwnedProblem& made) { made.options.calls = 2; });
  add([](OwnedProblem& made) { made.options.memory_limit = 1 << 30; });
  add([](OwnedProblem& made) { made.options.memory_limit = 1 << 30, ++made.operands[0].counted->bytes; });
  add([](OwnedProblem& made) { made.options.strict_fp = true; });
  add([](OwnedProblem& made) { made.options.prove = true; });
  add([](OwnedProblem& made) { made.options.tree = flat_tree(3); });
  add([](OwnedProblem& made) { made.options.result_formats["R"] = dense_format(2, Scalar::f32); });
  add([](OwnedProblem& made) { made.options.results.insert("R"); });
  add([](OwnedProblem& made) { made.options.machine.threads = 4; });
  add([](OwnedProblem& made) { made.options.objective = Objective::workspace_order; });
  add([](OwnedProblem& made) { made.operands[0].pinned = true; });
  add([](OwnedProblem& made) { made.operands[0].bytes *= 2; });
  add([](OwnedProblem& made) { made.operands[0].format.levels[1].crd_bits = 64; });
  add([](OwnedProblem& made) { made.operands[1].format.levels[0].strided = true; });
  add([](OwnedProblem& made) { made.operands[1].statistics = Statistics({400, 32}, dense_format(2), 12800, {}, false); });
  add([](OwnedProblem& made) { made.network.indices[0].extent = 501; });
  add([](OwnedProblem& made) { made.network.tensors[made.network.assignments[0].result.tensor].scalar = Scalar::f32; });
  add([](OwnedProblem& made) { made.network.assignments[0].terms[0].coefficient = 2; });
  // Without a limit, sizes that are rounded away decide nothing.
  OwnedProblem larger = mttkrp();
  ++larger.operands[0].counted->bytes;
  CHECK(keys.contains(plan_key(larger.network, larger.operands, larger.options)));
}

TEST_CASE("the text of a plan is a schedule that a user can give back") {
  const OwnedProblem made = mttkrp();
  const auto found = plan(made);
  REQUIRE(found.has_value());
  const auto schedule = parse_schedule(print_plan(*found, made.network), made.network);
  REQUIRE(schedule.has_value());
  CHECK(*schedule == found->schedule);
  const auto restored = restored_plan(print_plan(*found, made.network), made.network, made.operands, made.options);
  REQUIRE_MESSAGE(restored.has_value(), restored.error().message);
  same(*restored, *found);
}

TEST_CASE("a hundred plans are one plan, on any number of threads and in any order") {
  const OwnedProblem made = mttkrp();
  const OwnedProblem other = problem("A:ipq:sss:1728 B:jpr:sss:1728 C:kqr:sss:1728 -> ijk",
                                {{'i', 40}, {'j', 40}, {'k', 40}, {'p', 40}, {'q', 40}, {'r', 40}});
  const auto text = [](const OwnedProblem& one) {
    auto found = plan(one);
    return found ? print_plan(*found, one.network) : found.error().message;
  };
  const std::string wanted = text(made);
  const std::string other_wanted = text(other);
  for (int n = 0; n < 100; ++n) {
    if (n % 10 == 0) CHECK(text(other) == other_wanted);
    CHECK(text(made) == wanted);
  }
  for (std::size_t count = 1; count <= 8; ++count) {
    std::vector<std::string> found(count);
    std::vector<std::thread> threads;
    for (std::size_t n = 0; n < count; ++n) threads.emplace_back([&, n] { found[n] = text(n % 2 == 0 ? made : other); });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t n = 0; n < count; ++n) CHECK(found[n] == (n % 2 == 0 ? wanted : other_wanted));
  }
}

TEST_CASE("a hit takes less than planning") {
  const Directory directory;
  Traced pipeline(directory.path());
  const OwnedProblem made = mttkrp();
  const auto seconds = [&](auto&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  pipeline.plan(made);
  double memory = 1;
  double disk = 1;
  double planning = 1;
  for (int n = 0; n < 20; ++n) {
    memory = std::min(memory, seconds([&] { pipeline.plan(made); }));
    planning = std::min(planning, seconds([&] { CHECK(plan(made).has_value()); }));
    Traced fresh(directory.path());
    disk = std::min(disk, seconds([&] { fresh.plan(made); }));
  }
  MESSAGE("memory " << memory * 1e6 << " us, disk " << disk * 1e6 << " us, planning " << planning * 1e6 << " us");
  CHECK(memory < planning);
}

}  // namespace plan_cache_test
