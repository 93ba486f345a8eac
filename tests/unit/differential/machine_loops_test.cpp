// The innermost loops of the main kernels as machine code, for targets with AVX2 and AVX-512: vectors of the target's
// width, nothing on the stack, no call, and no row read again that does not change.
#include "unit/differential/machine_loops.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/codegen/target.h"
#include "engine/pipeline.h"
#include "frontend/parse.h"
#include "frontend/resolve.h"
#include "unit/codegen/jit_run.h"
#include "weft/file.h"

namespace machine_loops_test {

using namespace weft;
using namespace weft::test;

namespace {

struct Kernel {
  std::string name;
  std::string expression;
  std::map<std::string, std::string> operands;  ///< as generate_tensor takes them; R is the rank
  std::string stored;                           ///< format of T
  std::string mark;                             ///< in the program: what makes it this kernel
  std::string inner;      ///< how its innermost loop begins there, without the loops that are written out
  std::string like = {};  ///< a result with the entries of T
};

const std::map<std::string, std::string> matrix = {
    {"T", "sparse(2000x1500,nnz=60000)"}, {"A", "uniform(2000xR)"}, {"B", "uniform(1500xR)"}};
const std::map<std::string, std::string> short_fibers = {
    {"T", "sparse(200x2000x1500,nnz=60000)"}, {"B", "uniform(2000xR)"}, {"C", "uniform(1500xR)"}};
const std::map<std::string, std::string> long_fibers = {
    {"T", "sparse(2000x20x300,nnz=600000)"}, {"A", "uniform(2000xR)"}, {"B", "uniform(20xR)"}, {"C", "uniform(300xR)"}};

const std::vector<Kernel> kernels = {
    {"SpMM", "R(i,r) = T(i,j) * B(j,r)", matrix, "ds", "@vector", "for j"},
    {"SDDMM", "S(i,j) = T(i,j) * A(i,r) * B(j,r)", matrix, "ds", "@vector", "for j", "S"},
    {"MTTKRP", "R(i,r) = T(i,j,k) * B(j,r) * C(k,r)", long_fibers, "sss", "with x[r]", "for k"},
    {"MTTKRP, flat walk", "R(i,r) = T(i,j,k) * B(j,r) * C(k,r)", short_fibers, "duq", "@flat", "for j"},
    {"TTMc", "R(i,r,s) = T(i,j,k) * B(j,r) * C(k,s)", short_fibers, "sss", "@batch", "for"},
    {"TTTP", "S(i,j,k) = T(i,j,k) * A(i,r) * B(j,r) * C(k,r)", long_fibers, "sss", "with x[r]", "for k", "S"}};

std::map<std::string, Tensor> operands_of(const Kernel& kernel, unsigned rank) {
  std::map<std::string, Tensor> tensors;
  for (auto [name, text] : kernel.operands) {
    if (kernel.expression.find(name + "(") == std::string::npos) continue;
    if (const std::size_t place = text.find('R'); place != std::string::npos)
      text.replace(place, 1, std::to_string(rank));
    auto tensor =
        generate_tensor(text, name == "T" ? *parse_format(kernel.stored) : std::optional<Format>(), Resources(), name);
    REQUIRE_MESSAGE(tensor, tensor.error().message);
    tensors.emplace(name, std::move(*tensor));
  }
  return tensors;
}

/// The one nest that such a kernel is.
loop::Program program_of(const Kernel& kernel, unsigned rank) {
  const auto tensors = operands_of(kernel, rank);
  std::vector<OperandShape> shapes;
  for (const auto& [name, tensor] : tensors) shapes.push_back({name, tensor.extents(), tensor.format().scalar});
  const auto parsed = parse_expression(kernel.expression);
  REQUIRE_MESSAGE(parsed, parsed.error().message);
  const auto network = resolve(*parsed, shapes);
  REQUIRE_MESSAGE(network, network.error().message);
  EngineOptions uncached;
  uncached.use_cache = false;
  const auto pipeline = Pipeline::create(uncached);
  REQUIRE_MESSAGE(pipeline, pipeline.error().message);
  const auto facts = pipeline->facts(*network, tensors, {{"T", true}});
  PlanOptions options;
  if (!kernel.like.empty()) options.result_patterns[kernel.like] = "T";
  const auto plan = pipeline->plan(*network, facts, options);
  REQUIRE_MESSAGE(plan, plan.error().message);
  const auto nests = pipeline->lower(*network, *plan, facts, tensors);
  REQUIRE_MESSAGE(nests, nests.error().message);
  REQUIRE(nests->size() == 1);
  return nests->front().program;
}

/// Innermost loops that begin as the kernel says; at least one.
std::vector<MachineLoop> loops_of(const Kernel& kernel, unsigned rank, unsigned bits) {
  const loop::Program program = program_of(kernel, rank);
  const std::string text = print(program);
  REQUIRE_MESSAGE(text.find(kernel.mark) != std::string::npos, text);
  const auto code = assembly_text(program, host_with_bits(bits), {});
  REQUIRE_MESSAGE(code, code.error().message);
  std::vector<MachineLoop> loops = innermost_loops(*code);
  std::erase_if(loops, [&](const MachineLoop& loop) { return !loop.source.starts_with(kernel.inner); });
  REQUIRE_MESSAGE(!loops.empty(), *code);
  return loops;
}

/// Bits of the targets that are looked at; none where the machine is another one.
std::vector<unsigned> targets() {
  std::vector<unsigned> bits;
  if (!host_target().triple.starts_with("x86_64")) return bits;
  bits.push_back(256);
  if (vector_bits(host_target()) >= 512) bits.push_back(512);
  return bits;
}

void check_loop(const MachineLoop& loop, unsigned bits) {
  CAPTURE(loop.source);
  CHECK(vector_bits_of(loop) == bits);
  CHECK(calls(loop) == "");
  CHECK(spills(loop) == "");
  CHECK(invariant_loads(loop) == "");
}

}  // namespace

TEST_CASE("innermost loops over rows use whole vectors, keep all in registers, and read nothing twice") {
  for (const Kernel& kernel : kernels)
    for (const unsigned bits : targets())
      for (const unsigned rank : {16U, 32U, 64U}) {
        // A row of 64 takes all sixteen registers of AVX2, and the entry that it is multiplied by one more: two of its
        // vectors are kept on the stack.
        if (rank == 64 && bits == 256) continue;
        CAPTURE(kernel.name);
        CAPTURE(rank);
        CAPTURE(bits);
        for (const MachineLoop& loop : loops_of(kernel, rank, bits)) check_loop(loop, bits);
      }
}

TEST_CASE("long rows of a matrix times a vector are gathered with AVX-512, and scalars with AVX2") {
  const Kernel kernel = {
      "SpMV", "y(i) = T(i,j) * x(j)", {{"T", "sparse(2000x150000,nnz=60000)"}, {"x", "uniform(150000)"}}, "ds", "@vector",
      "for j"};
  for (const unsigned bits : targets()) {
    CAPTURE(bits);
    for (const MachineLoop& loop : loops_of(kernel, 1, bits)) {
      check_loop(loop, bits == 512 ? 512 : 128);
      const bool gathers =
          std::ranges::any_of(loop.body, [](const MachineInstruction& each) { return each.name == "vgatherqpd"; });
      CHECK(gathers == (bits == 512));
    }
  }
}

TEST_CASE("what is looked for is found in assembly") {
  const std::string text =
      "\nweft_loops:\n"
      "# %bb.0:\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n"
      ".LBB0_1:   # %\"for i: drive T; body\"\n\txorl\t%ecx, %ecx\n"
      ".LBB0_2:   # %\"for j: drive T; body\"\n"
      "\tmovq\t16(%rbp), %rax\n"
      "\tvmovupd\t(%rax,%rcx,8), %ymm1 {%k1} {z}\n"
      "\tvmulpd\t64(%rdi,%rsi,8), %ymm1, %ymm1\n"
      "\tvmovupd\t%ymm1, 40(%rsp)   # 32-byte Spill\n"
      "\tvmovupd\t%ymm1, 64(%rsp,%rcx,8)\n"
      "\tcallq\t*%rdx\n"
      "\tincl\t%ecx\n\tcmpq\t%r9, %rcx\n\tjb\t.LBB0_2\n"
      "# %bb.3:\n\tincq\t%r8\n\tcmpq\t%r10, %r8\n\tjb\t.LBB0_1\n"
      "# %bb.4:\n\tretq\n.Lfunc_end0:\n";
  const std::vector<MachineLoop> loops = innermost_loops(text);
  REQUIRE(loops.size() == 1);
  CHECK(loops[0].source == "for j: drive T");
  CHECK(loops[0].body.size() == 9);
  CHECK(vector_bits_of(loops[0]) == 256);
  CHECK(calls(loops[0]) == "callq\t*%rdx\n");
  CHECK(spills(loops[0]) == "movq\t16(%rbp), %rax\nvmovupd\t%ymm1, 40(%rsp)   # 32-byte Spill\n");
  CHECK(invariant_loads(loops[0]) == "movq\t16(%rbp), %rax\nvmulpd\t64(%rdi,%rsi,8), %ymm1, %ymm1\n");
}

}  // namespace machine_loops_test
