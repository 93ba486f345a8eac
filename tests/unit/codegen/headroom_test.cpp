// LLVM ends the process where an allocation fails: it must not begin with too little memory, nor be refused with enough.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "engine/codegen/codegen.h"
#include "engine/jit/jit.h"
#include "unit/address_space.h"
#include "unit/share.h"

namespace codegen_headroom_test {

using namespace weft;

namespace {

/// `nests` times the product of a sparse and a dense matrix.
loop::Program products(int nests) {
  std::string text =
      "program products\n  index i, k, r\n"
      "  input  T : f64 {dense, compressed<32,32>}   access T[i,k]\n"
      "  input  C : f64 {dense, dense}               access C[k,r]\n"
      "  output A : f64 {dense, dense}               access A[i,r]\n"
      "  fact   extent(r) = 32\n";
  for (int nest = 0; nest < nests; ++nest)
    text += "  for i: drive T, insert A\n    for k: drive T, locate C\n      for r: locate C, insert A @vector\n        A += T * C\n";
  const auto program = loop::parse(text);
  REQUIRE(program);
  return *program;
}

/// A sum over a vector of `entries` entries, whose coordinates are constants of the code.
struct Baked {
  loop::Program program;
  CodeOptions options;

  explicit Baked(std::uint64_t entries) {
    const auto parsed = loop::parse(
        "program baked\n  index i\n  input  x : f64 {compressed<32,32>}   access x[i]\n  input  d : f64 {dense}   access d[i]\n"
        "  output s : f64 {}   access s[]\n  fact   pattern(x) = 12345\n  for i: drive x, locate d\n    s += x * d\n");
    REQUIRE_MESSAGE(parsed, parsed.error().message);
    program = *parsed;
    Patterns patterns;
    Pattern& pattern = patterns[12345];
    pattern.pos = {{0, entries}};
    pattern.crd = {{}};
    for (std::uint64_t entry = 0; entry < entries; ++entry) pattern.crd[0].push_back(3 * entry);
    options.patterns = std::make_shared<const Patterns>(std::move(patterns));
  }
};

bool compiled(const loop::Program& program, const Target& target, const CodeOptions& options) {
  const auto object = compile(program, target, options);
  if (object) return true;
  if (object.error().kind != ErrorKind::resource || !object.error().message.starts_with("out of memory")) ::_exit(1);
  return false;
}

constexpr std::uint64_t mb = 1 << 20;

}  // namespace

TEST_CASE("code is compiled or refused, whatever address space there is" * doctest::skip(!address_space::can_be_limited())) {
  const Target target = host_target();
  CodeOptions checked;
  checked.checked = true;
  const auto both = [](const address_space::Outcomes& outcomes) {
    CHECK(outcomes.other == "");
    CHECK(outcomes.done > 0);
    CHECK(outcomes.refused > 0);
  };
  const std::uint64_t fine = test::is_long_run() ? 1 : 4;
  both(address_space::sweep(fine * mb / 2, 20 * mb, [&, program = products(1)] { return compiled(program, target, {}); }));
  both(address_space::sweep(fine * mb, 30 * mb, [&, program = products(5)] { return compiled(program, target, checked); }));
  both(address_space::sweep(fine * 8 * mb, 160 * mb, [&, program = products(100)] { return compiled(program, target, checked); }));
  both(address_space::sweep(fine * 16 * mb, 192 * mb, [&, baked = Baked(2000)] { return compiled(baked.program, target, baked.options); }));
}

TEST_CASE("LLVM starts and loads code or is refused, whatever address space there is" * doctest::skip(!address_space::can_be_limited())) {
  const auto object = compile(products(20), host_target(), {});
  REQUIRE(object);
  const auto outcomes = address_space::sweep(mb / 4, 10 * mb, [&] {
    const auto jit = Jit::create();
    if (!jit) return jit.error().kind == ErrorKind::resource ? false : (::_exit(1), false);
    const auto loaded = jit->load(*object, "products");
    if (!loaded && loaded.error().kind != ErrorKind::resource) ::_exit(2);
    return loaded.has_value();
  });
  CHECK(outcomes.other == "");
  CHECK(outcomes.done > 0);
  CHECK(outcomes.refused > 0);
}

}  // namespace codegen_headroom_test
