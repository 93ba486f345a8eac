// Every function of the public C++ headers, called from outside: one that the library does not export does not link.
#include <weft/arrays.h>
#include <weft/engine.h>
#include <weft/entries.h>
#include <weft/file.h>
#include <weft/host.h>
#include <weft/session.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

template <class T>
T right(weft::Expected<T> made) {
  if (!made) {
    std::fprintf(stderr, "every_function: %s\n", made.error().message.c_str());
    std::exit(1);
  }
  return *std::move(made);
}
void right(weft::Expected<void> done) {
  if (done) return;
  std::fprintf(stderr, "every_function: %s\n", done.error().message.c_str());
  std::exit(1);
}

}  // namespace

int main() {
  using namespace weft;
  std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2};
  const std::vector<std::int32_t> rows = {0, 0, 2, 2};
  std::vector<double> values = {1, 2, 3, 4}, others = {5, 6, 7, 8}, x = {1, 10, 100, 1000};
  const Resources resources{Memory(), Threads(1), Cancellation(), {}};
  const Tensor M = right(borrow_csr(3, 4, pos, crd, values));
  // Tensors: made, looked at, taken apart.
  right(borrow_csc(4, 3, pos, crd, values));
  right(borrow_coo({3, 4}, {rows, crd}, values));
  const Tensor lent = right(borrow(*parse_format("ds"), {3, 4}, {{}, {pos, crd}}, values));
  right(verify(lent, resources, "M"));
  right(verify_once(trusted(lent), resources, "M"));
  const Tensor replaced = right(same_pattern(M, others));
  right(same_pattern(M, replaced.values(), Scalar::f64));
  M.values_changed();
  const Tensor copied = right(from_csr(3, 4, pos, crd, values, resources));
  copied.writable_values<double>()[0] = 1;
  right(from_csc(4, 3, pos, crd, values, resources));
  right(from_coo({3, 4}, {rows, crd}, values, resources));
  right(from_coo({3, 4}, {rows, crd}, values, *parse_format("uq"), resources));
  right(from_levels(*parse_format("ds"), {3, 4}, {{}, {pos, crd}}, values, resources));
  right(from_dense({4}, x, resources));
  right(to_coo(M, resources));
  right(to_csr(M, resources));
  right(to_csc(M, resources));
  right(to_csf(M, resources));
  right(at(M, {0, 3}));
  const VisitEntry all = [](std::span<const std::uint64_t>, double) { return true; };
  right(for_each_entry(M, all, resources));
  right(filter(M, all, resources));
  right(filter(M, all, resources, Calls::at_once));
  right(range(M, 0, 0, 2, resources));
  const std::vector<Tensor> pieces = right(split(M, 0, {1}, resources));
  right(append(pieces, 0, resources));
  right(entries(M, false, resources));
  const Tensor columns = right(convert(M, *parse_format("ds:1,0"), resources, "M"));
  right(with_extents(M, {5, 6}, resources, "M"));
  right(dense_zeros({2}, dense_format(1), resources, "z"));
  right(generate_tensor("sparse(3x4,nnz=2)", std::nullopt, resources, "T"));
  const Tensor made(M.arrays(), Validity::known);
  if (made.summary().empty() || statistics(M, resources).text().empty() || !statistics(M, resources.threads).finite()) return 1;
  // Kernels.
  EngineOptions options;
  options.resources = resources;
  const Engine engine = right(Engine::create(options));
  const Tensor v = right(borrow_dense({4}, x));
  CompileOptions how;
  how.objective = name(Objective::time);
  how.changing = {"x"};
  const Kernel kernel = right(engine.compile("y(i) = M(i,j) * x(j)", {{"M", M}, {"x", v}}, how));
  Bindings bindings;
  bindings.set("M", columns);
  bindings.set("x", v);
  right(kernel.prepare(bindings));
  right(bindings.replace_values("x", others));
  right(kernel.run(bindings));
  std::vector<double> y(3);
  bindings.output("y", right(borrow_dense({3}, y)));
  bindings.output("y", right(borrow_dense({3}, y)), {1, 1});
  right(engine.load(right(kernel.save())));
  right(kernel.save_file("/dev/null"));
  if (engine.load_file("/dev/null")) return 1;
  right(kernel.symbolic(bindings));
  std::vector<std::byte> scratch(right(kernel.scratch_bytes(bindings)));
  bindings.scratch(scratch);
  std::vector<std::int32_t> other_pos(4), other_crd(4);
  right(same_pattern(M, {{}, {other_pos, other_crd}}, others));
  right(bindings.scale_output("y", {2, 1}));
  right(kernel.run(bindings));
  right(kernel.explain(Stage::loops));
  const Report& report = kernel.report();
  right(kernel.measured());
  if (report.producer() == PlanProducer::unknown || report.kernel_source() == KernelSource::unknown) return 1;
  if (report.results.at("y").modes.at(0).operand != "M" || report.results.at("y").scalar != "f64") return 1;
  if (!report.specialised() || name(Stage::tree).empty()) return 1;
  static_cast<void>(report.optimal());
  static_cast<void>(report.plan_source());
  engine.give_back();
  return engine.counters().layouts_made == 1 ? 0 : 1;
}
