// completion: what stands at the missing entries of a tensor of low rank, by alternating least squares over those that
// are known (Smith, Park and Karypis, "An exploration of optimization algorithms for high performance tensor
// completion", SC 2016). Row i of A solves H(i,:,:) * a = M(i,:); one kernel gives both sides for all rows of a mode.
//
//   completion [FILE [RANK [SWEEPS]]]    of three modes, every tenth entry held out; without FILE of a tensor of rank 2
//                                        that is made up, and whose held-out entries have to be found
#include <weft/arrays.h>
#include <weft/engine.h>
#include <weft/file.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

template <class Expected>
Expected checked(Expected expected) {
  if (!expected) std::fprintf(stderr, "completion: %s\n", expected.error().message.c_str()), std::exit(1);
  return expected;
}

/// Solves h * x = m by Cholesky, in place; a touch of the identity for rows that few entries tell of.
static void solve(double* h, double* m, std::size_t rank) {
  for (std::size_t a = 0; a < rank; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      double entry = h[a * rank + b] + (a == b ? 1e-9 : 0);
      for (std::size_t c = 0; c < b; ++c) entry -= h[a * rank + c] * h[b * rank + c];
      h[a * rank + b] = a == b ? std::sqrt(entry) : entry / h[b * rank + b];
    }
  for (std::size_t a = 0; a < rank; m[a] /= h[a * rank + a], ++a)
    for (std::size_t c = 0; c < a; ++c) m[a] -= h[a * rank + c] * m[c];
  for (std::size_t a = rank; a-- > 0; m[a] /= h[a * rank + a])
    for (std::size_t c = a + 1; c < rank; ++c) m[a] -= h[c * rank + a] * m[c];
}

/// Of the tensor that is made up.
static double entry(std::uint64_t i, std::uint64_t j, std::uint64_t k) {
  const auto factor = [](std::uint64_t at, std::uint64_t r) { return std::sin(static_cast<double>(at * (r + 3))) + 1; };
  return factor(i, 0) * factor(j, 1) * factor(k, 2) + factor(i, 3) * factor(j, 4) * factor(k, 5);
}

int main(int arguments, char** argument) {
  const std::uint64_t rank = arguments > 2 ? std::strtoull(argument[2], nullptr, 10) : 2;
  const int sweeps = arguments > 3 ? std::atoi(argument[3]) : 100;
  const auto engine = *checked(weft::Engine::create());
  const weft::Resources& resources = engine.options().resources;

  // 1. Every tenth entry is held out. O and P are ones where T and the entries held out are stored: their patterns.
  const auto read = arguments > 1 ? checked(weft::read_tensor(argument[1], {}, resources, "T"))
                                  : checked(weft::generate_tensor("sparse(60x50x40,nnz=24000)", {}, resources, "T"));
  if (read->order() != 3 || rank == 0) return std::fprintf(stderr, "completion: three modes, and a rank from 1\n"), 2;
  const std::vector<std::uint64_t> extents = read->extents();
  const weft::CooArrays all = *checked(weft::to_coo(*read, resources));
  weft::CooArrays known{{{}, {}, {}}, {}}, held{{{}, {}, {}}, {}};
  for (std::size_t n = 0; n < all.values.size(); ++n) {
    weft::CooArrays& part = n % 10 == 9 ? held : known;
    for (int mode = 0; mode < 3; ++mode) part.crd[mode].push_back(all.crd[mode][n]);
    part.values.push_back(arguments > 1 ? all.values[n] : entry(all.crd[0][n], all.crd[1][n], all.crd[2][n]));
  }
  const std::vector<double> ones(all.values.size(), 1);
  weft::Tensors operands;
  operands["T"] = *checked(weft::from_coo(extents, {known.crd.begin(), known.crd.end()}, known.values, resources));
  operands["O"] = *checked(weft::same_pattern(operands["T"], std::span(ones).first(known.values.size())));
  const auto marks = std::span(ones).first(held.values.size());
  operands["P"] = *checked(weft::from_coo(extents, {held.crd.begin(), held.crd.end()}, marks, resources));

  // 2. Factors are memory of this program, lent to the engine.
  const std::string names[3] = {"A", "B", "C"};
  std::vector<double> factors[3];
  for (int mode = 0; mode < 3; ++mode) {
    factors[mode].resize(extents[mode] * rank);
    for (double& one : factors[mode]) one = static_cast<double>(std::rand()) / RAND_MAX;
    operands[names[mode]] = *checked(weft::borrow_dense({extents[mode], rank}, factors[mode]));
  }

  // 3. One kernel a mode gives both sides of its equations; another one the model where entries are held out. Factors
  //    are written to between runs without a further word.
  const char* texts[4] = {
      "M(i,r) = T(i,j,k) * B(j,r) * C(k,r); H(i,r,s) = O(i,j,k) * B(j,r) * C(k,r) * B(j,s) * C(k,s)",
      "M(j,r) = T(i,j,k) * A(i,r) * C(k,r); H(j,r,s) = O(i,j,k) * A(i,r) * C(k,r) * A(i,s) * C(k,s)",
      "M(k,r) = T(i,j,k) * A(i,r) * B(j,r); H(k,r,s) = O(i,j,k) * A(i,r) * B(j,r) * A(i,s) * B(j,s)",
      "E(i,j,k) = P(i,j,k) * A(i,r) * B(j,r) * C(k,r)"};
  std::vector<weft::Kernel> kernels;
  weft::Bindings bindings;
  for (const auto& [name, operand] : operands) bindings.set(name, operand);
  for (int mode = 0; mode < 4; ++mode) {
    weft::CompileOptions options;
    options.calls = mode < 3 ? sweeps : 1;
    if (mode < 3) options.results = {"M", "H"};
    if (mode == 3) options.patterns["E"] = "P";
    for (int m = 0; m < 3; ++m)
      if (m != mode) options.changing.push_back(names[m]);
    kernels.push_back(*checked(engine.compile(texts[mode], operands, options)));
  }

  // 4. Sweeps: each row of a factor in turn becomes the best one for the others.
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (int mode = 0; mode < 3; ++mode) {
      const auto sides = *checked(kernels[mode].run(bindings));
      const auto m = sides.at("M").values().as<const double>(), h = sides.at("H").values().as<const double>();
      factors[mode].assign(m.begin(), m.end());  // in the memory that was lent
      std::vector<double> left(h.begin(), h.end());
      for (std::uint64_t row = 0; row < extents[mode]; ++row)
        solve(&left[row * rank * rank], &factors[mode][row * rank], rank);
    }

  // 5. How far the model is from the entries that no sweep has seen.
  const auto results = *checked(kernels[3].run(bindings));
  const auto found = results.at("E").values().as<const double>();
  double wrong = 0, squares = 0;
  for (std::size_t n = 0; n < found.size(); ++n) {
    wrong += std::pow(found[n] - held.values[n], 2);
    squares += std::pow(held.values[n], 2);
  }
  std::printf("%zu entries held out, relative error %.1e\n", found.size(), std::sqrt(wrong / squares));
  return arguments > 1 || wrong < 1e-6 * squares ? 0 : 1;
}
