#include "frontend/repl/habits.h"

#include <doctest/doctest.h>

namespace habits_test {

using namespace weft;

namespace {

Tensors some() {
  const auto zeros = [](std::vector<std::uint64_t> extents) {
    const std::size_t order = extents.size();
    return *dense_zeros(extents, dense_format(order, Scalar::f64), Resources(), "A");
  };
  return {{"A", zeros({100, 80})}, {"B", zeros({80, 3})}, {"x", zeros({80})}, {"s", zeros({})}, {"T", zeros({2, 3, 4})}};
}

std::string said(std::string_view text) {
  const auto told = habit(text, some());
  return told ? told->message : "nothing";
}

}  // namespace

TEST_CASE("habits of other languages get a sentence about what to write") {
  CHECK(said("A.shape").starts_with("A has the extents 100x80 and stores 8000 entries"));
  CHECK(said("n = A.nnz").starts_with("A has the extents 100x80"));
  CHECK(said("A.T") == "a transposed tensor is an expression: B(j,i) = A(i,j)");
  CHECK(said("C = A.T;") == "a transposed tensor is an expression: C(j,i) = A(i,j)");
  CHECK(said("A.sum()") == "a sum leaves indices out on the left: s = A(i,j)");
  CHECK(said("A.dot(x)").starts_with("A has no member dot"));
  CHECK(said("print A") == "write A alone to print it");
  CHECK(said("print(A)") == "write A alone to print it");
  CHECK(said("len(A)").starts_with("A has the extents 100x80"));
  CHECK(said("A[0][1]") == "an element has all its coordinates in one pair of brackets: A[0,1]");
  CHECK(said("y = A * 2") == "a tensor is written with its indices: y(i,j) = A(i,j) * 2");
  CHECK(said("A * 2") == "a tensor is written with its indices: y(i,j) = A(i,j) * 2");
  CHECK(said("y = s * T") == "a tensor is written with its indices: y(i,j,k) = s * T(i,j,k)");
  CHECK(said("A / 2") == "tensors are not divided: multiply by a number, as in y(i,j) = A(i,j) * 0.5");
  CHECK(said("A @ B") == "write y(i,k) = A(i,j) * B(j,k)");
  CHECK(said("v = A @ x") == "write v(i) = A(i,j) * x(j)");
  CHECK(said("A(i,2:4)") == "a slice stands in square brackets and alone: B = A[:,2:4], and then B in the expression");
  CHECK(said("y(i) = A(i,2:4)").starts_with("a slice stands in square brackets"));
  CHECK(said("A(0,1)") == "a slice stands in square brackets and alone: B = A[0,1], and then B in the expression");
  CHECK(said("C = x @ x") == "write C = x(i) * x(i)");
  CHECK(said("T.T") == "a transposed tensor is an expression: B(k,j,i) = T(i,j,k)");
  CHECK(said("C = transpose(A)") == "a transposed tensor is an expression: C(j,i) = A(i,j)");
  CHECK(said("np.sum(T)") == "a sum leaves indices out on the left: s = T(i,j,k)");
  CHECK(said("t = sum(A, axis=0)") == "a sum leaves indices out on the left: t = A(i,j)");
  CHECK(said("np.linalg.norm(x)") == "the square of a norm is a sum of products: s = x(i) * x(i)");
  CHECK(said("trace(A)") == "a trace is a sum along a diagonal: s = A(i,i)");
  CHECK(said("C = np.einsum('ij,jk->ik', A, B)") == "write C = ij,jk->ik A B");
  CHECK(said("einsum(\"ij->i\", A)") == "write ij->i A");
  CHECK(said("Z = zeros(3x4)").starts_with("there is no generator zeros: T = uniform(2000x32,seed=1)"));
  CHECK(said("Z = np.random.rand(3,4)").starts_with("there is no generator rand:"));
  CHECK(said("v = [1,2,3]").starts_with("values are read from a file, or generated"));
  CHECK(said("A[1,2] = 5").starts_with("entries are not assigned one by one"));
  CHECK(said("load T x.tns") == "commands begin with a colon: :load T x.tns");
  CHECK(said("plan y(i) = A(i,j) * x(j)") == "commands begin with a colon: :plan y(i) = A(i,j) * x(j)");
  CHECK(said("import numpy as np").find("none of Python's") != std::string::npos);
}

TEST_CASE("what weft does not compute is unsupported, by its name") {
  for (const char* text : {"A + B", "C = A - B", "exp(A(i,j))", "y(i) = sqrt(x(i))", "C(i,j) = 2 * relu(A(i,j))"}) {
    const auto told = habit(text, some());
    REQUIRE_MESSAGE(told, text);
    CHECK_MESSAGE(told->kind == ErrorKind::unsupported, text);
    CHECK_MESSAGE(told->message.find("not supported") != std::string::npos, text);
  }
}

TEST_CASE("what means something is left alone") {
  for (const char* text : {"",
                           "A",
                           "A[0,1]",
                           "A[0:2, 1]",
                           "s * 2",
                           "2 * 3",
                           "y(i,j) = A(i,j) * 2",
                           "y = s * 2",
                           "B = A",
                           "C = A[0,:]",
                           ":time A",
                           "!ls A.T",
                           "A = A.tns",
                           "x = x.npy",
                           "ij,jk->ik A B",
                           "X = ij->j A",
                           "print",
                           "sum(i) = A(i,j)",
                           "exp = 2.5",
                           "T = sparse(3x4,nnz=2)",
                           "nosuch.shape",
                           "unknown * 2",
                           "T = x.mat",
                           "T = A.csv",
                           "spy T",
                           "plan = T",
                           "A[i,j] = T(i,j,k)",
                           "sum = ij->j A"}) {
    CHECK_MESSAGE(said(text) == "nothing", text);
  }
}

}  // namespace habits_test
