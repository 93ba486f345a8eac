// cp_als: a tensor as a sum of rank-one terms, T(i,j,k,...) ~ sum over r of A(i,r) * B(j,r) * C(k,r) * ..., by alternating least
// squares (Kolda and Bader, "Tensor Decompositions and Applications", SIAM Review 2009, figure 3.3). The dear step is one product of
// the tensor with all factors but one; each of these is compiled once and run in every sweep.
//
//   cp_als [FILE [RANK [SWEEPS [PREFIX]]]]    the fit of every sweep; with PREFIX the factors too, as PREFIX0.npy, PREFIX1.npy, ...
#include <weft/engine.h>
#include <weft/file.h>
#include <weft/host.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Matrix = std::vector<double>;  // row-major, `rank` columns

template <class T>
T value_or_exit(weft::Expected<T> expected) {
  if (!expected) {
    std::fprintf(stderr, "cp_als: %s\n", expected.error().message.c_str());
    std::exit(1);
  }
  return std::move(*expected);
}

/// "M(i1,r) = T(i0,i1,i2) * A0(i0,r) * A2(i2,r)" for mode 1 of 3.
std::string product_for(std::size_t mode, std::size_t order) {
  std::string tensor = "T(";
  std::string factors;
  for (std::size_t m = 0; m < order; ++m) {
    const std::string number = std::to_string(m);
    tensor += (m > 0 ? ",i" : "i") + number;
    if (m != mode) factors += " * A" + number + "(i" + number + ",r)";
  }
  return "M(i" + std::to_string(mode) + ",r) = " + tensor + ")" + factors;
}

/// columns' * columns, rank x rank.
Matrix gram(const Matrix& columns, std::size_t rank) {
  Matrix product(rank * rank, 0);
  for (std::size_t row = 0; row < columns.size(); row += rank)
    for (std::size_t a = 0; a < rank; ++a)
      for (std::size_t b = 0; b < rank; ++b) product[a * rank + b] += columns[row + a] * columns[row + b];
  return product;
}

/// The grams of all modes but `without`, multiplied entry by entry.
Matrix product_of_grams(const std::vector<Matrix>& grams, std::size_t without, std::size_t rank) {
  Matrix product(rank * rank, 1);
  for (std::size_t mode = 0; mode < grams.size(); ++mode)
    for (std::size_t entry = 0; entry < product.size() && mode != without; ++entry) product[entry] *= grams[mode][entry];
  return product;
}

/// Rows x of x * V = row, in place, by Cholesky. V is positive semidefinite; a touch of the identity makes it definite.
void solve(Matrix& rows, Matrix v, std::size_t rank) {
  double trace = 0;
  for (std::size_t a = 0; a < rank; ++a) trace += v[a * rank + a];
  for (std::size_t a = 0; a < rank; ++a) v[a * rank + a] += 1e-13 * trace + 1e-300;
  for (std::size_t a = 0; a < rank; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      double entry = v[a * rank + b];
      for (std::size_t c = 0; c < b; ++c) entry -= v[a * rank + c] * v[b * rank + c];
      v[a * rank + b] = a == b ? std::sqrt(entry) : entry / v[b * rank + b];
    }
  for (std::size_t row = 0; row < rows.size(); row += rank) {
    for (std::size_t a = 0; a < rank; ++a) {
      for (std::size_t c = 0; c < a; ++c) rows[row + a] -= v[a * rank + c] * rows[row + c];
      rows[row + a] /= v[a * rank + a];
    }
    for (std::size_t a = rank; a-- > 0;) {
      for (std::size_t c = a + 1; c < rank; ++c) rows[row + a] -= v[c * rank + a] * rows[row + c];
      rows[row + a] /= v[a * rank + a];
    }
  }
}

/// Columns of length 1; their lengths were these.
std::vector<double> normalised(Matrix& columns, std::size_t rank) {
  std::vector<double> lengths(rank, 0);
  for (std::size_t entry = 0; entry < columns.size(); ++entry) lengths[entry % rank] += columns[entry] * columns[entry];
  for (double& length : lengths) length = std::sqrt(length);
  for (std::size_t entry = 0; entry < columns.size(); ++entry)
    if (lengths[entry % rank] > 0) columns[entry] /= lengths[entry % rank];
  return lengths;
}

}  // namespace

int main(int arguments, char** argument) {
  const std::string file = arguments > 1 ? argument[1] : "samples/data/flights2001_count.tns.zst";
  const std::size_t rank = arguments > 2 ? std::strtoul(argument[2], nullptr, 10) : 16;
  const unsigned long sweeps = arguments > 3 ? std::strtoul(argument[3], nullptr, 10) : 10;
  if (rank == 0) return std::fprintf(stderr, "cp_als: the rank is a number from 1\n"), 2;

  // 1. An engine, and the tensor.
  const auto engine = value_or_exit(weft::Engine::create());
  const weft::Tensor tensor = value_or_exit(weft::read_tensor(file, {}, engine.options().resources, "T"));
  const std::size_t order = tensor.order();
  double squares = 0;  // of the tensor's entries
  for (const double value : tensor.values().as<const double>()) squares += value * value;

  // 2. Factors are ordinary memory of this program, with columns of length 1, the same in every run.
  std::vector<Matrix> factors, grams;
  std::uint64_t state = 1;
  for (const std::uint64_t extent : tensor.extents()) {
    Matrix& factor = factors.emplace_back(extent * rank);
    for (double& entry : factor) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      entry = static_cast<double>(state >> 11) * 0x1p-53;
    }
    normalised(factor, rank);
    grams.push_back(gram(factor, rank));
  }

  // 3. They are lent to the engine, which is told that they change from run to run; so is the memory for the products.
  std::vector<Matrix> products;
  std::vector<weft::Bindings> bindings(order);
  for (std::size_t mode = 0; mode < order; ++mode) products.emplace_back(factors[mode].size());
  weft::Tensors operands = {{"T", tensor}};
  for (std::size_t mode = 0; mode < order; ++mode)
    operands["A" + std::to_string(mode)] = value_or_exit(weft::borrow_dense({tensor.extents()[mode], rank}, factors[mode]));

  // 4. One kernel per mode. To be told how often it will run lets the planner lay the tensor out anew where that pays.
  std::vector<weft::Kernel> kernels;
  weft::CompileOptions options;
  options.calls = static_cast<double>(sweeps);
  for (std::size_t mode = 0; mode < order; ++mode) {
    weft::Tensors used = operands;
    used.erase("A" + std::to_string(mode));
    kernels.push_back(value_or_exit(engine.compile(product_for(mode, order), used, options)));
    for (const auto& [name, operand] : used) bindings[mode].set(name, operand, {.changes = name != "T"});
    bindings[mode].output("M", value_or_exit(weft::borrow_dense({tensor.extents()[mode], rank}, products[mode])));
  }

  // 5. Sweeps: each factor in turn becomes the best one for the others.
  std::vector<double> weights;
  for (unsigned long sweep = 1; sweep <= sweeps; ++sweep) {
    for (std::size_t mode = 0; mode < order; ++mode) {
      value_or_exit(kernels[mode].run(bindings[mode]));
      factors[mode] = products[mode];  // in the memory that was lent
      solve(factors[mode], product_of_grams(grams, mode, rank), rank);
      weights = normalised(factors[mode], rank);
      grams[mode] = gram(factors[mode], rank);
    }

    // 6. The fit, 1 - |T - model| / |T|, from what is there: the last product is T times all factors but the last.
    const Matrix all = product_of_grams(grams, order, rank);
    double model = 0, common = 0;
    for (std::size_t a = 0; a < rank; ++a)
      for (std::size_t b = 0; b < rank; ++b) model += weights[a] * weights[b] * all[a * rank + b];
    for (std::size_t entry = 0; entry < products.back().size(); ++entry)
      common += weights[entry % rank] * factors.back()[entry] * products.back()[entry];
    std::printf("sweep %lu: fit %.9f\n", sweep, 1 - std::sqrt(std::fabs(squares + model - 2 * common)) / std::sqrt(squares));
  }

  // 7. The weights go into the last factor; any tensor can be written to a file.
  for (std::size_t entry = 0; entry < factors.back().size() && sweeps > 0; ++entry) factors.back()[entry] *= weights[entry % rank];
  for (std::size_t mode = 0; mode < order && arguments > 4; ++mode) {
    const auto factor = weft::borrow_dense({tensor.extents()[mode], rank}, factors[mode]);
    const auto written = weft::write_tensor(*factor, argument[4] + std::to_string(mode) + ".npy", engine.options().resources, "A");
    if (!written) return std::fprintf(stderr, "cp_als: %s\n", written.error().message.c_str()), 1;
  }
  return 0;
}
