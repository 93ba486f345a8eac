// Random networks: their print parses back to them, and so does any other way of writing the same.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "frontend/resolve.h"
#include "oracle/long_extents.h"
#include "unit/sanitized.h"

namespace network_round_trip_test {

using namespace weft;

namespace {

// A network as names, before anything is numbered.
struct NamedAccess {
  std::string name;
  std::vector<std::string> indices;
};

struct NamedAssignment {
  NamedAccess result;
  std::vector<NamedAccess> factors;
  std::map<std::string, std::uint64_t> extents;  // of its indices
  ContractionTree tree;
  bool open = true;
  int coefficient = 1;
};

class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : random_(seed) {
    long_extent_ = test::long_extents[below(test::long_extents.size())];
    for (std::size_t count = 1 + below(3); count > 0; --count)
      assignments_.push_back(make_assignment(assignments_.size()));
  }

  // Numbered by first appearance: for each assignment the result, then the factors.
  Network network() const {
    Network network;
    for (const NamedAssignment& named : assignments_) {
      std::map<std::string, IndexId> ids;
      const auto access = [&](const NamedAccess& written) {
        TensorAccess result;
        for (const std::string& index : written.indices) {
          if (!ids.contains(index)) ids[index] = number_index(network, {index, named.extents.at(index)});
          result.indices.push_back(ids[index]);
        }
        const auto same = [&](const TensorDeclaration& tensor) { return tensor.name == written.name; };
        const auto known = std::find_if(network.tensors.begin(), network.tensors.end(), same);
        result.tensor = static_cast<TensorId>(known - network.tensors.begin());
        if (known == network.tensors.end()) network.tensors.push_back(declarations_.at(written.name));
        return result;
      };
      Assignment assignment;
      assignment.result = access(named.result);
      Term term;
      term.coefficient = named.coefficient;
      for (const NamedAccess& factor : named.factors) term.factors.push_back(access(factor));
      term.pinned = named.tree;
      term.open = named.open;
      assignment.terms.push_back(std::move(term));
      network.assignments.push_back(std::move(assignment));
    }
    return network;
  }

  // The same in another hand: spaces, brackets, redundant parentheses, the coefficient in pieces.
  std::string text() {
    std::string text;
    for (const NamedAssignment& named : assignments_) {
      if (!text.empty()) text += pick({";", "\n", " ;\n", "\n\n"});
      left_ = named.coefficient;
      text += write(named.result) + pick({"=", " = ", " =\n"});
      std::string product;
      if (!named.tree.nodes.empty()) product = write(named, static_cast<std::uint32_t>(named.tree.nodes.size() - 1));
      text += product.empty() ? std::to_string(left_) : left_ == 1 ? product : fmt::format("{}*{}", left_, product);
    }
    return text;
  }

  std::vector<OperandShape> operands() {
    std::vector<OperandShape> shapes;
    for (const auto& [name, declaration] : declarations_) {
      if (!declaration.is_result) shapes.push_back({name, declaration.extents, declaration.scalar});
    }
    std::shuffle(shapes.begin(), shapes.end(), random_);
    return shapes;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  std::string pick(std::vector<std::string> choices) { return choices[below(choices.size())]; }

  static IndexId number_index(Network& network, const Index& index) {
    const auto known = std::find(network.indices.begin(), network.indices.end(), index);
    const IndexId id = static_cast<IndexId>(known - network.indices.begin());
    if (known == network.indices.end()) network.indices.push_back(index);
    return id;
  }

  // An index of this extent: one the assignment has, or a new one.
  std::string choose_index(NamedAssignment& assignment, std::uint64_t extent) {
    std::vector<std::string> known;
    for (const auto& [name, bound] : assignment.extents) {
      if (bound == extent) known.push_back(name);
    }
    if (!known.empty() && below(2) == 0) return known[below(known.size())];
    while (true) {
      const std::string name =
          pick({"i", "j", "k", "r", "_x", "Row", "i2", "u", "v", "w", "a", "b"}) + (below(3) == 0 ? "9" : "");
      const auto [place, is_new] = assignment.extents.emplace(name, extent);
      if (is_new || place->second == extent) return name;
    }
  }

  NamedAssignment make_assignment(std::size_t number) {
    NamedAssignment assignment;
    const std::vector<std::uint64_t> extents{0, 1, 2, 7, long_extent_};
    bool all_f32 = true;
    const std::size_t factors = below(12) == 0 ? 16 : below(6);
    for (std::size_t factor = 0; factor < factors; ++factor) {
      std::string name = fmt::format("T{}", declarations_.size());
      if (!declarations_.empty() && below(3) == 0) {
        name = std::next(declarations_.begin(), static_cast<std::ptrdiff_t>(below(declarations_.size())))->first;
      } else {
        std::vector<std::uint64_t> shape(below(5));
        for (std::uint64_t& extent : shape) extent = extents[below(extents.size())];
        declarations_[name] = {name, shape, below(3) == 0 ? Scalar::f64 : Scalar::f32, false};
      }
      NamedAccess access{name, {}};
      for (const std::uint64_t extent : declarations_[name].extents) {
        access.indices.push_back(choose_index(assignment, extent));
      }
      all_f32 = all_f32 && declarations_[name].scalar == Scalar::f32;
      assignment.factors.push_back(std::move(access));
    }
    for (const auto& [index, extent] : assignment.extents) {
      if (assignment.result.indices.size() < 5 && below(2) == 0) assignment.result.indices.push_back(index);
    }
    std::shuffle(assignment.result.indices.begin(), assignment.result.indices.end(), random_);
    assignment.result.name = fmt::format("R{}", number);
    std::vector<std::uint64_t> shape;
    for (const std::string& index : assignment.result.indices) shape.push_back(assignment.extents.at(index));
    const Scalar scalar = all_f32 && factors > 0 ? Scalar::f32 : Scalar::f64;
    declarations_[assignment.result.name] = {assignment.result.name, shape, scalar, true};
    if (factors > 0) grow(assignment.tree, 0, static_cast<std::uint32_t>(factors));
    const std::size_t children = factors == 0 ? 0 : assignment.tree.nodes.back().children.size();
    const bool flat = assignment.tree.nodes.size() <= children + 1;
    assignment.open = children > 2 || (children == 2 && flat) ? below(2) == 0 : flat;
    assignment.coefficient = static_cast<int>(below(61)) - 30;
    return assignment;
  }

  std::uint32_t grow(ContractionTree& tree, std::uint32_t begin, std::uint32_t end) {
    if (end - begin == 1) {
      tree.nodes.push_back({{}, begin});
    } else {
      ContractionTree::Node node;
      while (begin < end) {
        const bool first = node.children.empty();
        const std::uint32_t most = end - begin - (first ? 1 : 0);
        const std::uint32_t next = begin + 1 + static_cast<std::uint32_t>(below(most));
        node.children.push_back(grow(tree, begin, next));
        begin = next;
      }
      tree.nodes.push_back(std::move(node));
    }
    return static_cast<std::uint32_t>(tree.nodes.size() - 1);
  }

  std::string space() { return below(6) == 0 ? pick({" ", "  ", "\t"}) : std::string(); }

  std::string write(const NamedAccess& access) {
    if (access.indices.empty()) return access.name + pick({"", "()", "[ ]"});
    const bool square = below(2) == 0;
    std::string text = access.name + space() + (square ? '[' : '(');
    for (const std::string& index : access.indices) {
      if (&index != &access.indices.front()) text += ',';
      text += space() + index + space();
    }
    return text + (square ? ']' : ')');
  }

  // A divisor of what is left of the coefficient, as a factor of its own.
  std::string piece() {
    for (const int divisor : {-1, 2, 3, 5}) {
      if (below(6) == 0 && left_ % divisor == 0) {
        left_ /= divisor;
        return divisor == -1 ? pick({"-1*", "-"}) : std::to_string(divisor) + pick({"*", ".0 * ", "e0 *"});
      }
    }
    return {};
  }

  std::string write(const NamedAssignment& named, std::uint32_t number) {
    const ContractionTree::Node& node = named.tree.nodes[number];
    const bool is_root = number + 1 == named.tree.nodes.size();
    std::string text = piece();
    if (node.children.empty()) {
      text += write(named.factors[node.factor]);
    } else {
      text += write(named, node.children.front());
      for (std::size_t child = 1; child < node.children.size(); ++child) {
        text += space() + "*" + space() + piece() + write(named, node.children[child]);
      }
    }
    const bool free_root = is_root && (named.open || (node.children.size() == 2 && named.tree.nodes.size() > 3));
    const bool may_wrap = node.children.empty() || !is_root || !named.open;
    std::size_t wraps = node.children.empty() || free_root ? 0 : 1;
    if (may_wrap && below(4) == 0) wraps += 1 + below(3);
    for (; wraps > 0; --wraps) {
      text = fmt::format("{}({}{})", piece(), space(), text);
      if (below(8) == 0 && left_ % 2 == 0) {
        left_ /= 2;
        // The parentheses keep the piece within this node.
        text = fmt::format("({} * 2)", text);
      }
    }
    return text;
  }

  std::mt19937 random_;
  std::uint64_t long_extent_ = 0;  // one, for there are not names for many
  std::vector<NamedAssignment> assignments_;
  std::map<std::string, TensorDeclaration> declarations_;
  int left_ = 1;
};

}  // namespace

TEST_CASE("random networks: print parses back, and other ways of writing them mean the same") {
  const char* chosen = std::getenv("WEFT_SEED");
  const unsigned first = chosen ? static_cast<unsigned>(std::strtoul(chosen, nullptr, 10)) : 1;
  for (unsigned seed = first; seed < first + (chosen ? 1 : test::scaled(3000)); ++seed) {
    INFO("to repeat: WEFT_SEED=", seed, " test_frontend -tc='random networks*'");
    RandomNetwork random(seed);
    const Network network = random.network();
    const auto good = check(network);
    REQUIRE_MESSAGE(good, good.error().message);

    const std::string printed = print(network);
    const std::string written = random.text();
    for (const std::string& text : {printed, written}) {
      INFO(text);
      const auto expression = parse_expression(text);
      REQUIRE_MESSAGE(expression, expression.error().message);
      const auto back = resolve(*expression, random.operands());
      REQUIRE_MESSAGE(back, back.error().message);
      CHECK(*back == network);
      CHECK(print(*back) == printed);
    }
  }
}

}  // namespace network_round_trip_test
