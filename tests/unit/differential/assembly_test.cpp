// What the engine does around kernels that append: results in the layout asked for, intermediates between nests,
// limits, repetitions.
#include <doctest/doctest.h>

#include <cstring>

#include "compiled_runs.h"
#include "engine/pipeline.h"
#include "frontend/resolve.h"
#include "runtime/charge.h"
#include "weft/file.h"

namespace assembly_test {

using namespace weft;

namespace {

constexpr const char* chain_text = R"(schedule
  tree ((B * C) * D)
  layout B ss:0,1 f64
  layout C ss:0,1 f64
  layout D ss:0,1 f64
  intermediate x[i,j] ss:0,1 f64
  result A ss:0,1 f64
  x[i,j] += B[i,k] * C[k,j]   loops i,k,j   drained accumulator
  A[i,l] += x[i,j] * D[j,l]   loops i,j,l   drained accumulator
  parallel i owner
  parallel i owner
)";

std::string counted_text() {
  std::string text = chain_text;
  for (std::size_t place = text.find(" owner"); place != std::string::npos; place = text.find(" owner"))
    text.replace(place, 6, " counted");
  return text;
}

/// A(i,l) = B(i,k) * C(k,j) * D(j,l), with a sparse intermediate between two nests, or as planned.
class Chain {
 public:
  explicit Chain(const char* schedule, const PlanOptions& options = {}) {
    const Resources plain;
    std::vector<OperandShape> shapes;
    for (const auto& [name, text] : std::map<std::string, std::string>{{"B", "sparse(300x200,nnz=2000)"},
                                                                       {"C", "sparse(200x250,nnz=2000,seed=1)"},
                                                                       {"D", "sparse(250x400,nnz=2000,seed=2)"}}) {
      auto tensor = generate_tensor(text, std::nullopt, plain, name);
      REQUIRE_MESSAGE(tensor, tensor.error().message);
      shapes.push_back({name, tensor->extents(), tensor->format().scalar});
      tensors.emplace(name, std::move(*tensor));
    }
    const auto parsed = parse_expression("A(i,l) = (B(i,k) * C(k,j)) * D(j,l)");
    REQUIRE_MESSAGE(parsed, parsed.error().message);
    auto network = resolve(*parsed, shapes);
    REQUIRE_MESSAGE(network, network.error().message);
    const EngineOptions pipeline_options;
    auto pipeline = Pipeline::create(pipeline_options);
    REQUIRE_MESSAGE(pipeline, pipeline.error().message);
    const auto facts = pipeline->facts(*network, tensors, {});
    auto plan = pipeline->plan(*network, facts, options);
    if (schedule != nullptr) {
      auto given = parse_schedule(schedule, *network);
      REQUIRE_MESSAGE(given, given.error().message);
      plan = plan_given(*given, Problem{*network, facts, options});
    }
    REQUIRE_MESSAGE(plan, plan.error().message);
    test::make_worth_threads(*plan);
    auto made = pipeline->compile(*network, *plan, facts);
    REQUIRE_MESSAGE(made, made.error().message);
    kernel.emplace(std::move(*made));
  }

  BoundNetwork bind(const Resources& resources) const {
    auto binding = kernel->bind(tensors, resources, false);
    REQUIRE_MESSAGE(binding, binding.error().message);
    return std::move(*binding);
  }

  std::map<std::string, Tensor> tensors;
  std::optional<CompiledNetwork> kernel;
};

Resources resources_with(unsigned threads, const Memory& memory = Memory()) { return {memory, Threads(threads), {}, {}}; }

Tensor result_of(BoundNetwork& binding, const Resources& resources) {
  const auto results = binding.results();
  REQUIRE_MESSAGE(results, results.error().message);
  const Tensor& tensor = results->at("A");
  const auto sound = verify(tensor, resources, "A");
  REQUIRE_MESSAGE(sound, sound.error().message);
  return tensor;
}

/// Arrays of its own, because those of a binding change with its next run.
Tensor copied(const Tensor& tensor) {
  const auto copy = [](const Buffer& buffer) {
    auto made = Buffer::allocate(buffer.size_bytes(), Memory(), "copy");
    REQUIRE(made);
    if (buffer.size_bytes() > 0) std::memcpy(made->data(), buffer.data(), buffer.size_bytes());
    return *made;
  };
  TensorArrays result = tensor.arrays();
  for (LevelArrays& level : result.levels) level = {copy(level.pos), copy(level.crd), 0};
  result.values = copy(tensor.values());
  return Tensor(std::move(result));
}

bool same(const Tensor& one, const Tensor& other) {
  const auto equal = [](const Buffer& a, const Buffer& b) {
    return a.size_bytes() == b.size_bytes() &&
           (a.size_bytes() == 0 || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
  };
  bool all = one.format() == other.format() && equal(one.values(), other.values());
  for (std::size_t level = 0; all && level < one.order(); ++level)
    all = equal(one.levels()[level].pos, other.levels()[level].pos) && equal(one.levels()[level].crd, other.levels()[level].crd);
  return all;
}

Tensor run_once(const Chain& chain, const Resources& resources) {
  BoundNetwork binding = chain.bind(resources);
  const auto ran = binding.run();
  REQUIRE_MESSAGE(ran, ran.error().message);
  return copied(result_of(binding, resources));
}

/// Bit by bit, in every one of several runs.
void check_runs(const Chain& chain, unsigned threads, const Tensor& expected) {
  CAPTURE(threads);
  const Resources resources = resources_with(threads);
  BoundNetwork binding = chain.bind(resources);
  for (int run = 0; run < 3; ++run) {
    CAPTURE(run);
    const auto ran = binding.run();
    REQUIRE_MESSAGE(ran, ran.error().message);
    CHECK(same(result_of(binding, resources), expected));
  }
}

}  // namespace

TEST_CASE("a sparse intermediate between two nests, bit by bit the same for every number of threads and every run") {
  const Chain chain(chain_text);
  REQUIRE(chain.kernel->nests().size() == 2);
  const Tensor expected = run_once(chain, resources_with(1));
  CHECK(expected.nnz() > 10'000);
  for (const unsigned threads : {1U, 2U, 4U, 8U}) check_runs(chain, threads, expected);
}

TEST_CASE("entries that are counted first are the same, and nothing but the result is held") {
  const Tensor expected = run_once(Chain(chain_text), resources_with(1));
  const Chain chain(counted_text().c_str());
  const auto loops = chain.kernel->explain(Stage::loops);
  REQUIRE(loops);
  CHECK(loops->find("@parallel(A: count)") != std::string::npos);
  for (const unsigned threads : {1U, 2U, 4U}) check_runs(chain, threads, expected);
}

TEST_CASE("the layout asked for is handed over, whatever it is computed in") {
  const Resources resources = resources_with(2);
  const Tensor expected = run_once(Chain(chain_text), resources);
  for (const char* text : {"uq:0,1", "ss:1,0", "sh:0,1", "bb:1,0", "ds:0,1", "hs:1,0", "db:0,1"}) {
    CAPTURE(text);
    PlanOptions options;
    options.result_formats["A"] = *parse_format(text);
    const Chain chain(nullptr, options);
    BoundNetwork binding = chain.bind(resources);
    for (int run = 0; run < 2; ++run) {
      const auto ran = binding.run();
      REQUIRE_MESSAGE(ran, ran.error().message);
      const Tensor tensor = result_of(binding, resources);
      CHECK(tensor.format().text() == text);
      const auto back = convert(tensor, expected.format(), resources, "A");
      REQUIRE(back);
      CHECK(back->nnz() == expected.nnz());
      CHECK(back->levels()[1].crd.as<std::uint32_t>()[7] == expected.levels()[1].crd.as<std::uint32_t>()[7]);
    }
  }
}

TEST_CASE("before a run there is no result") {
  BoundNetwork binding = Chain(chain_text).bind(resources_with(1));
  const auto results = binding.results();
  REQUIRE_FALSE(results);
  CHECK(results.error().message.find("no run has finished") != std::string::npos);
}

TEST_CASE("a result that the limit stops is named, its memory is given back, and the binding runs when there is room") {
  std::string text = chain_text;
  SUBCASE("appended") {}
  SUBCASE("counted first") { text = counted_text(); }
  const Chain chain(text.c_str());
  const Tensor expected = run_once(chain, resources_with(1));
  for (const unsigned threads : {1U, 2U}) {
    const Resources resources = resources_with(threads, Memory(std::uint64_t{1} << 30));
    const Memory& memory = resources.memory;
    BoundNetwork binding = chain.bind(resources);
    const std::uint64_t bound = memory.used();
    for (const std::uint64_t room : {1'000, 40'000, 150'000}) {
      CAPTURE(room);
      const auto others = memory.charge(memory.limit() - memory.used() - room, "others");
      REQUIRE(others);
      const auto refused = binding.run();
      REQUIRE_FALSE(refused);
      CHECK(refused.error().kind == ErrorKind::resource);
      const bool named = refused.error().message.find(" A needs") != std::string::npos ||
                         refused.error().message.find(" x needs") != std::string::npos;
      CHECK_MESSAGE(named, refused.error().message);
      CHECK_FALSE(binding.results());
    }
    CHECK(memory.used() <= bound + expected.bytes() * 2);  // an intermediate may stay
    const auto ran = binding.run();
    REQUIRE_MESSAGE(ran, ran.error().message);
    CHECK(same(result_of(binding, resources), expected));
  }
}

}  // namespace assembly_test
