#include "engine/network/inlining.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace inlining_test {

using namespace weft;

namespace {

// "S(ij) = M(ij) A(ik) B(jk); O(ih) = S(ij) D(jh)": letters are indices of extent 2, capital letters of extent 3. A
// tree replaces the free product where one is given after '|'.
class Builder {
 public:
  Network read(const std::string& text) {
    std::stringstream stream(text);
    for (std::string line; std::getline(stream, line, ';');) assign(line);
    const auto good = check(network_);
    REQUIRE_MESSAGE(good, good.error().message);
    return network_;
  }

 private:
  void assign(const std::string& line) {
    const std::size_t bar = line.find('|');
    std::stringstream words(line.substr(0, bar));
    std::string word;
    words >> word;
    const std::string result = word;
    words >> word;
    Term term;
    std::vector<std::string> names;
    while (words >> word) {
      if (word[0] >= '0' && word[0] <= '9') {
        term.coefficient = std::stod(word);
        continue;
      }
      term.factors.push_back(access(word, false));
      names.push_back(word.substr(0, word.find('(')));
    }
    term.pinned = flat_tree(term.factors.size());
    if (bar != std::string::npos) {
      const auto tree = parse_tree(line.substr(bar + 1), names);
      REQUIRE_MESSAGE(tree, tree.error().message);
      term.pinned = *tree;
      term.open = false;
    }
    Assignment assignment;
    assignment.result = access(result, true);
    assignment.terms.push_back(std::move(term));
    network_.assignments.push_back(std::move(assignment));
  }

  TensorAccess access(const std::string& word, bool is_result) {
    const std::string name = word.substr(0, word.find('('));
    TensorAccess access;
    TensorDeclaration declaration{name, {}, Scalar::f64, is_result};
    for (const char letter : word.substr(word.find('(') + 1, word.find(')') - word.find('(') - 1)) {
      const Index wanted{std::string(1, static_cast<char>(letter | 0x20)), letter >= 'a' ? 2U : 3U};
      const auto known = std::find(network_.indices.begin(), network_.indices.end(), wanted);
      access.indices.push_back(static_cast<IndexId>(known - network_.indices.begin()));
      declaration.extents.push_back(wanted.extent);
      if (known == network_.indices.end()) network_.indices.push_back(wanted);
    }
    const auto known = std::find_if(network_.tensors.begin(), network_.tensors.end(),
                                    [&](const TensorDeclaration& one) { return one.name == name; });
    access.tensor = static_cast<TensorId>(known - network_.tensors.begin());
    if (known == network_.tensors.end()) network_.tensors.push_back(declaration);
    return access;
  }

  Network network_;
};

Network network(const std::string& text) { return Builder().read(text); }

// What is left without the named results; each is checked.
std::string without(const std::string& names, const Network& network) {
  std::vector<TensorId> dropped;
  for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
    if (names.find(network.tensors[tensor].name) != std::string::npos) dropped.push_back(tensor);
  }
  const Network left = inlined(network, dropped);
  const auto good = check(left);
  CHECK_MESSAGE(good, good.error().message);
  return print(left);
}
std::string without(const std::string& names, const std::string& text) { return without(names, network(text)); }

}  // namespace

TEST_CASE("an assignment is written into the product that reads it") {
  CHECK(without("S", "S(ij) = M(ij) A(ik) B(jk); O(ih) = S(ij) D(jh)") == "O(i,h) = M(i,j) * A(i,k) * B(j,k) * D(j,h)");
  CHECK(without("S", "S(ij) = M(ij); O(ih) = D(jh) S(ij)") == "O(i,h) = D(j,h) * M(i,j)");
  CHECK(without("", "S(ij) = M(ij); O(i) = S(ij)") == "S(i,j) = M(i,j)\nO(i) = S(i,j)");
  CHECK(without("O", "S(ij) = M(ij); O(i) = S(ij)") == "S(i,j) = M(i,j)\nO(i) = S(i,j)");  // the last stays
}

TEST_CASE("with the indices of the access: renamed, transposed, on a diagonal") {
  CHECK(without("S", "S(ij) = M(ij); O(kl) = S(lk)") == "O(k,l) = M(l,k)");
  CHECK(without("S", "S(ij) = M(ij) v(i); O(k) = S(kk)") == "O(k) = M(k,k) * v(k)");
}

TEST_CASE("summed indices stay apart from those of the reader and of other occurrences") {
  CHECK(without("S", "S(i) = A(ik); O(k) = S(k) v(k)") == "O(k) = A(k,k_2) * v(k)");
  CHECK(without("S", "S(i) = A(ik); O(i) = S(i) S(i)") == "O(i) = A(i,k) * A(i,k_2)");
  CHECK(without("S", "S(i) = A(ik); O() = S(i) S(k) v(k)") == "O() = A(i,k_2) * A(k,k_3) * v(k)");
  // An index of the reader that stands after the occurrence is taken too.
  CHECK(without("S", "S(i) = A(ik); O(i) = S(i) B(ik)") == "O(i) = A(i,k_2) * B(i,k)");
}

TEST_CASE("chains and dead assignments") {
  CHECK(without("RS", "R(i) = A(ij); S(i) = R(i) B(ij); O() = S(i)") == "O() = A(i,j_2) * B(i,j)");
  CHECK(without("S", "R(i) = A(ij); S(i) = R(i) B(ij); O() = S(i)") == "R(i) = A(i,j)\nO() = R(i) * B(i,j)");
  CHECK(without("R", "R(i) = A(ij); O(i) = v(i)") == "O(i) = v(i)");
}

TEST_CASE("coefficients are multiplied and numbers become them") {
  CHECK(without("S", "S(i) = 2 v(i); O(i) = 3 S(i) S(i)") == "O(i) = 12 * v(i) * v(i)");
  CHECK(without("q", "q() = 4; O(i) = q() v(i)") == "O(i) = 4 * v(i)");
  CHECK(without("q", "q() = 4; O(i) = q() A(ij) B(jk) C(kl) | (q * (A * B * C))") == "O(i) = 4 * (A(i,j) * B(j,k) * C(k,l))");
}

TEST_CASE("a pinned product stays a group, an open one is merged while the product is small") {
  CHECK(without("S", "S(i) = A(ij) B(jk) C(kl) | ((A * B) * C); O(i) = S(i) v(i)") ==
        "O(i) = ((A(i,j) * B(j,k)) * C(k,l)) * v(i)");
  CHECK(without("S", "S(i) = A(ij) B(jk) C(kl); O(i) = S(i) v(i) w(i) | (S * (v * w))") ==
        "O(i) = (A(i,j) * B(j,k) * C(k,l)) * (v(i) * w(i))");
  CHECK(without("S", "S(i) = A(i) B(i) C(i); O(i) = S(i) v(i) w(i) x(i)") == "O(i) = A(i) * B(i) * C(i) * v(i) * w(i) * x(i)");
  CHECK(without("S", "S(i) = A(i) B(i) C(i); O(i) = S(i) v(i) w(i) x(i) y(i)") ==
        "O(i) = (A(i) * B(i) * C(i)) * v(i) * w(i) * x(i) * y(i)");
  CHECK(without("S", "S(i) = A(i) B(i) C(i) | (A * B * C); O(i) = S(i)") == "O(i) = (A(i) * B(i) * C(i))");
}

TEST_CASE("what parentheses read has to be stored where a group would sum it at another place") {
  const auto kept = [](const std::string& text) {
    const Network given = network(text);
    return summed_in_parentheses(given, {given.assignments[0].result.tensor}).size();
  };
  CHECK(kept("S(i) = A(ij); O(i) = S(i) v(i) w(i) | ((S * v) * w)") == 1);
  CHECK(kept("S(i) = A(ij); O(i) = S(i) v(i) w(i)") == 0);             // any order will do
  CHECK(kept("S(i) = A(i); O(i) = S(i) v(i) w(i) | ((S * v) * w)") == 0);  // no sum
  CHECK(kept("S(i) = A(ij) B(jk); O(i) = S(i) v(i) w(i) | ((S * v) * w)") == 0);
  CHECK(kept("S(i) = A(ij); O(i) = S(i)") == 0);
  CHECK(kept("S(i) = A(i) B(i); O(j) = S(i) v(j) | (S * v)") == 1);    // i is summed after v
  CHECK(kept("S(i) = A(i) B(i); O(j) = S(i) v(j)") == 0);
  CHECK(kept("S(i) = A(i) B(i); O(i) = S(i) v(j) | (S * v)") == 0);    // i is kept
  CHECK(kept("S(i) = A(i); O(j) = S(i) v(j) | (S * v)") == 0);         // a leaf is summed where it is read
  CHECK(kept("S(i) = A(ij); P(i) = S(i) v(i) w(i) | (S * v * w); O(i) = A(ij)") == 1);
  // j is summed after T, in a group before.
  CHECK(kept("S(jk) = T(ik) U(j) V(jk) | (T * (U * V)); O(k) = S(jk)") == 1);
  CHECK(kept("S(jk) = T(ik) U(j) V(jk) | (T * (U * V)); O(k) = S(jk) w(k)") == 1);
  CHECK(kept("S(jlk) = T(ik) U(ll) V(jk) | (T * (U * V)); O() = S(iik)") == 1);
  CHECK(kept("S(jlk) = T(ik) U(ll) V(jk) | (T * (U * V)); O() = S(ijk) w(ij)") == 0);  // w has both
  CHECK(kept("S(jk) = T(ij) U(j) V(jk) | (T * (U * V)); O(k) = S(jk)") == 0);           // and so has T
  CHECK(kept("S(jk) = T(ik) U(j) V(jk) | (T * (U * V)); O(jk) = S(jk)") == 0);
  CHECK(kept("S(jk) = T(ik) U(j) V(jk) | (T * U * V); O(k) = S(jk)") == 0);
  CHECK(kept("S(j) = T(k) U(j) | (T * U); O() = S(j)") == 0);
  CHECK(kept("S(j) = T(k) U(j) v(k) w(k) | (T * (v * (U * w))); O() = S(j)") == 1);
  const Network given = network("S(i) = A(ij); P(i) = S(i); O(i) = P(i) v(i) w(i) | ((P * v) * w)");
  CHECK(summed_in_parentheses(given, {given.assignments[0].result.tensor, given.assignments[1].result.tensor}).size() == 1);
  CHECK(summed_in_parentheses(given, {given.assignments[0].result.tensor}).empty());
  // What is not computed asks for nothing.
  const Network dead = network("S(i) = A(ij); P(i) = S(i) v(i) w(i) | (S * v * w); O(i) = A(ij)");
  CHECK(summed_in_parentheses(dead, {dead.assignments[0].result.tensor, dead.assignments[1].result.tensor}).empty());
}

TEST_CASE("indices of one name are told apart, and doing it again changes nothing") {
  const Network given = network("S(i) = A(ij); O(i) = S(i) B(iJ)");
  CHECK(without("", given) == "S(i) = A(i,j)\nO(i) = S(i) * B(i,j_2)");
  const Network once = inlined(given, {given.assignments[0].result.tensor});
  CHECK(inlined(once, {given.assignments[0].result.tensor}) == once);
  CHECK(inlined(inlined(given, {}), {given.assignments[0].result.tensor}) == once);
}

TEST_CASE("what cannot be inlined stays") {
  Network given = network("S(i) = A(ij); O(i) = S(i)");
  given.assignments[0].terms.push_back(given.assignments[0].terms[0]);
  CHECK(inlined(given, {given.assignments[0].result.tensor}).assignments.size() == 2);
}

TEST_CASE("reads are counted") {
  const Network given = network("S(i) = A(ij); P(i) = S(i) S(i); O(i) = S(i) P(i)");
  const std::vector<std::size_t> times = times_read(given);
  CHECK(times[given.assignments[0].result.tensor] == 3);
  CHECK(times[given.assignments[1].result.tensor] == 1);
  CHECK(times[given.assignments[2].result.tensor] == 0);
}

}  // namespace inlining_test
