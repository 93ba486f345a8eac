// cp_als: a tensor as a sum of rank-one terms, T(i,j,k) ~ sum over r of A(i,r) * B(j,r) * C(k,r), by alternating least
// squares (Kolda and Bader, "Tensor Decompositions and Applications", SIAM Review 2009, figure 3.3). The dear step is
// one product of the tensor with all factors but one; each is compiled once and run in every sweep.
//
//   cp_als [FILE [RANK [SWEEPS [PREFIX]]]]    the fit of every sweep; with PREFIX the factors too, in PREFIX0.npy, ...
#include <weft/engine.h>
#include <weft/file.h>
#include <weft/host.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using Matrix = std::vector<double>;  // row-major

template <class Expected>
Expected checked(Expected expected) {
  if (!expected) std::fprintf(stderr, "cp_als: %s\n", expected.error().message.c_str()), std::exit(1);
  return expected;
}

/// "M(i1,r) = T(i0,i1,i2) * A0(i0,r) * A2(i2,r)" for mode 1 of 3.
static std::string product_for(std::size_t mode, std::size_t order) {
  std::string modes, factors;
  for (std::size_t m = 0; m < order; ++m) {
    const std::string number = std::to_string(m);
    modes += (m > 0 ? ",i" : "i") + number;
    if (m != mode) factors += " * A" + number + "(i" + number + ",r)";
  }
  return "M(i" + std::to_string(mode) + ",r) = T(" + modes + ")" + factors;
}

/// factor' * factor, rank x rank.
static Matrix gram(const Matrix& factor, std::size_t rank) {
  Matrix product(rank * rank, 0);
  for (std::size_t row = 0; row < factor.size(); row += rank)
    for (std::size_t n = 0; n < product.size(); ++n) product[n] += factor[row + n / rank] * factor[row + n % rank];
  return product;
}

/// Rows x of x * V = row, in place, by Cholesky. V is positive semidefinite; a touch of the identity makes it definite.
static void solve(Matrix& rows, Matrix v, std::size_t rank) {
  for (std::size_t a = 0; a < rank; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      double entry = v[a * rank + b] + (a == b ? 1e-13 * v[a * rank + a] + 1e-300 : 0);
      for (std::size_t c = 0; c < b; ++c) entry -= v[a * rank + c] * v[b * rank + c];
      v[a * rank + b] = a == b ? std::sqrt(entry) : entry / v[b * rank + b];
    }
  for (double* row = rows.data(); row != rows.data() + rows.size(); row += rank) {
    for (std::size_t a = 0; a < rank; row[a] /= v[a * rank + a], ++a)
      for (std::size_t c = 0; c < a; ++c) row[a] -= v[a * rank + c] * row[c];
    for (std::size_t a = rank; a-- > 0; row[a] /= v[a * rank + a])
      for (std::size_t c = a + 1; c < rank; ++c) row[a] -= v[c * rank + a] * row[c];
  }
}

int main(int arguments, char** argument) {
  const std::string file = arguments > 1 ? argument[1] : "samples/data/flights2001_count.tns.zst";
  const std::size_t rank = arguments > 2 ? std::strtoul(argument[2], nullptr, 10) : 16;
  const unsigned long sweeps = arguments > 3 ? std::strtoul(argument[3], nullptr, 10) : 10;
  if (rank == 0) return std::fprintf(stderr, "cp_als: the rank is a number from 1\n"), 2;

  // 1. An engine, and the tensor.
  const auto engine = *checked(weft::Engine::create());
  const auto& resources = engine.options().resources;
  const weft::Tensor tensor = *checked(weft::read_tensor(file, {}, resources, "T"));
  const std::size_t order = tensor.order();
  double squares = 0;
  for (const double value : tensor.values().as<const double>()) squares += value * value;

  // 2. Factors are memory of this program, lent to the engine; so is that for the products.
  std::vector<std::string> names;
  std::vector<Matrix> factors, products, grams;
  weft::Tensors operands = {{"T", tensor}};
  std::vector<weft::Bindings> bindings(order);
  std::uint64_t state = 1;
  for (std::size_t mode = 0; mode < order; ++mode) {
    const std::vector<std::uint64_t> extents = {tensor.extents()[mode], rank};
    for (double& entry : factors.emplace_back(products.emplace_back(extents[0] * rank)))
      entry = static_cast<double>((state = state * 6364136223846793005u + 1442695040888963407u) >> 11) * 0x1p-53;
    grams.push_back(gram(factors[mode], rank));
    operands[names.emplace_back("A" + std::to_string(mode))] = *checked(weft::borrow_dense(extents, factors[mode]));
    bindings[mode].output("M", *checked(weft::borrow_dense(extents, products[mode])));
  }

  // 3. One kernel a mode. The number of runs lets the planner lay the tensor out anew where that pays; the factors are
  //    written to between runs without a further word.
  std::vector<weft::Kernel> kernels;
  for (std::size_t mode = 0; mode < order; ++mode) {
    weft::CompileOptions options;
    options.calls = static_cast<double>(sweeps);
    options.changing = names;
    std::erase(options.changing, names[mode]);
    for (const auto& [name, operand] : operands) bindings[mode].set(name, operand);
    kernels.push_back(*checked(engine.compile(product_for(mode, order), operands, options)));
  }

  // 4. Sweeps: each factor in turn becomes the best one for the others. The fit, 1 - |T - model| / |T|, is there for
  //    free: the last product is T times all factors but the last.
  for (unsigned long sweep = 1; sweep <= sweeps; ++sweep) {
    double model = 0, common = 0;
    for (std::size_t mode = 0; mode < order; ++mode) {
      checked(kernels[mode].run(bindings[mode]));
      Matrix v(rank * rank, 1);  // the grams of the other modes, multiplied entry by entry
      for (std::size_t n = 0; n < order * v.size(); ++n)
        if (n / v.size() != mode) v[n % v.size()] *= grams[n / v.size()][n % v.size()];
      factors[mode] = products[mode];  // in the memory that was lent
      solve(factors[mode], v, rank);
      grams[mode] = gram(factors[mode], rank);
      for (std::size_t n = 0; n < v.size() && mode + 1 == order; ++n) model += v[n] * grams[mode][n];
    }
    for (std::size_t n = 0; n < products.back().size(); ++n) common += factors.back()[n] * products.back()[n];
    std::printf("sweep %lu: fit %.9f\n", sweep, 1 - std::sqrt(std::fabs(squares + model - 2 * common) / squares));
  }
  for (std::size_t mode = 0; mode < order && arguments > 4; ++mode)
    checked(weft::write_tensor(operands[names[mode]], argument[4] + std::to_string(mode) + ".npy", resources, "A"));
}
