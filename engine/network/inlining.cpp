#include "engine/network/inlining.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace weft {
namespace {

std::string unused_name(const std::string& wanted, const std::set<std::string>& taken) {
  for (std::size_t number = 2;; ++number) {
    const std::string name = wanted + "_" + std::to_string(number);
    if (!taken.contains(name)) return name;
  }
}

// The text of a schedule names indices without saying of which assignment.
void name_indices_apart(Network& network) {
  std::set<std::string> taken;
  for (const Index& index : network.indices) taken.insert(index.name);
  std::set<std::string> seen;
  for (Index& index : network.indices) {
    if (seen.insert(index.name).second) continue;
    index.name = unused_name(index.name, taken);
    taken.insert(index.name);
    seen.insert(index.name);
  }
}

std::set<IndexId> indices_of(const TensorAccess& result, const Term& term) {
  std::set<IndexId> indices(result.indices.begin(), result.indices.end());
  for (const TensorAccess& factor : term.factors) indices.insert(factor.indices.begin(), factor.indices.end());
  return indices;
}

// What a node of the reading product becomes: nodes of the new tree, or nothing for a product without factors.
class TreeWriter {
 public:
  TreeWriter(const Term& reader, const std::vector<const Term*>& inlined) : reader_(reader), inlined_(inlined) {
    std::uint32_t position = 0;
    for (std::size_t factor = 0; factor < reader.factors.size(); ++factor) {
      first_.push_back(position);
      position += inlined[factor] == nullptr ? 1 : static_cast<std::uint32_t>(inlined[factor]->factors.size());
    }
  }

  // The tree of the product that results, and whether its root is open.
  void write(Term& product) {
    if (reader_.pinned.nodes.empty()) return;
    const auto root = static_cast<std::uint32_t>(reader_.pinned.nodes.size() - 1);
    const ContractionTree::Node& node = reader_.pinned.nodes[root];
    product.open = reader_.open;
    if (node.children.empty()) {
      if (inlined_[node.factor] != nullptr) product.open = inlined_[node.factor]->open;
      append(root);
    } else {
      const bool merges = reader_.open && count_units(node) <= most_merged_factors;
      std::vector<std::uint32_t> children;
      for (const std::uint32_t child : node.children) append_part(child, merges, children);
      const auto whole = close(children);
      // What was a group beside a mere number is the whole product now, and stays as its parentheses say.
      if (children.size() == 1 && !tree_.nodes[*whole].children.empty()) product.open = false;
    }
    product.pinned = std::move(tree_);
  }

 private:
  // A reader's leaf whose product may lose its parentheses: what an open product reads.
  bool mergeable(std::uint32_t child) const {
    const ContractionTree::Node& node = reader_.pinned.nodes[child];
    return node.children.empty() && inlined_[node.factor] != nullptr && inlined_[node.factor]->open;
  }

  // Units of the root if all that can be merged is.
  std::size_t count_units(const ContractionTree::Node& root) const {
    std::size_t units = 0;
    for (const std::uint32_t child : root.children) {
      const ContractionTree::Node& node = reader_.pinned.nodes[child];
      units += mergeable(child) && !inlined_[node.factor]->pinned.nodes.empty()
                   ? std::max<std::size_t>(1, inlined_[node.factor]->pinned.nodes.back().children.size())
                   : 1;
    }
    return units;
  }

  std::optional<std::uint32_t> append(std::uint32_t number) {
    const ContractionTree::Node& node = reader_.pinned.nodes[number];
    if (node.children.empty()) {
      const Term* product = inlined_[node.factor];
      if (product == nullptr) return add({{}, first_[node.factor]});
      if (product->pinned.nodes.empty()) return std::nullopt;
      return append_inlined(*product, static_cast<std::uint32_t>(product->pinned.nodes.size() - 1), first_[node.factor]);
    }
    std::vector<std::uint32_t> children;
    for (const std::uint32_t child : node.children) append_part(child, false, children);
    return close(children);
  }

  // A child, or the factors of the open product that it stands for.
  void append_part(std::uint32_t number, bool merges, std::vector<std::uint32_t>& children) {
    if (!merges || !mergeable(number)) {
      if (const auto node = append(number)) children.push_back(*node);
      return;
    }
    const std::uint32_t factor = reader_.pinned.nodes[number].factor;
    const Term& product = *inlined_[factor];
    if (product.pinned.nodes.empty()) return;
    const ContractionTree::Node& root = product.pinned.nodes.back();
    if (root.children.empty()) children.push_back(append_inlined(product, 0, first_[factor]));
    for (const std::uint32_t child : root.children) children.push_back(append_inlined(product, child, first_[factor]));
  }

  std::uint32_t append_inlined(const Term& product, std::uint32_t number, std::uint32_t first) {
    ContractionTree::Node node = product.pinned.nodes[number];
    if (node.children.empty()) {
      node.factor += first;
    } else {
      for (std::uint32_t& child : node.children) child = append_inlined(product, child, first);
    }
    return add(std::move(node));
  }

  // Where products without factors leave one child, or none, there is nothing to contract.
  std::optional<std::uint32_t> close(const std::vector<std::uint32_t>& children) {
    if (children.empty()) return std::nullopt;
    if (children.size() == 1) return children.front();
    return add({children, 0});
  }

  std::uint32_t add(ContractionTree::Node node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }

  const Term& reader_;
  const std::vector<const Term*>& inlined_;  // per factor of the reader; null: stays
  std::vector<std::uint32_t> first_;         // where each factor's own begin
  ContractionTree tree_;
};

class Inliner {
 public:
  Inliner(Network network, const std::vector<TensorId>& dropped)
      : network_(std::move(network)), written_(network_.tensors.size()) {
    for (const TensorId tensor : dropped) dropped_.insert(tensor);
    for (const Index& index : network_.indices) names_.insert(index.name);
  }

  Network run() {
    std::vector<Assignment> kept;
    for (std::size_t number = 0; number < network_.assignments.size(); ++number) {
      Assignment assignment = network_.assignments[number];
      note_readers_of_sums(assignment);
      for (Term& term : assignment.terms) term = expanded(assignment.result, term);
      const bool last = number + 1 == network_.assignments.size();
      if (!last && dropped_.contains(assignment.result.tensor) && assignment.terms.size() == 1) {
        network_.tensors[assignment.result.tensor].is_result = false;
        written_[assignment.result.tensor] = std::move(assignment);
      } else {
        kept.push_back(std::move(assignment));
      }
    }
    network_.assignments = std::move(kept);
    return std::move(network_);
  }

  // After run(). What reads them has to be computed: a dropped result that nothing reads is not.
  std::vector<TensorId> summed_in_parentheses(const Network& given) const {
    std::vector<bool> read(given.tensors.size(), false);
    std::vector<TensorId> found;
    for (auto assignment = given.assignments.rbegin(); assignment != given.assignments.rend(); ++assignment) {
      const TensorId result = assignment->result.tensor;
      if (!read[result] && written_[result]) continue;
      for (const Term& term : assignment->terms) {
        for (const TensorAccess& factor : term.factors) read[factor.tensor] = true;
      }
      const auto sums = sums_in_parentheses_.find(result);
      if (sums != sums_in_parentheses_.end()) found.insert(found.end(), sums->second.begin(), sums->second.end());
    }
    return found;
  }

 private:
  // Whether the factor stands in parentheses, those of the whole product included.
  static bool is_in_parentheses(const Term& term, std::size_t factor) {
    for (std::size_t number = 0; number < term.pinned.nodes.size(); ++number) {
      for (const std::uint32_t child : term.pinned.nodes[number].children) {
        const ContractionTree::Node& node = term.pinned.nodes[child];
        if (node.children.empty() && node.factor == factor) return number + 1 < term.pinned.nodes.size() || !term.open;
      }
    }
    return false;
  }

  void note_readers_of_sums(const Assignment& assignment) {
    for (const Term& term : assignment.terms) {
      for (std::size_t number = 0; number < term.factors.size(); ++number) {
        const auto& written = written_[term.factors[number].tensor];
        if (!written) continue;
        const std::set<IndexId> kept = indices_beside(assignment, term, number);
        bool elsewhere = sums_in_group(*written, term.factors[number], kept);
        if (is_in_parentheses(term, number)) {
          const bool single = written->terms.front().factors.size() == 1;
          elsewhere = elsewhere || (single ? sums_its_factor(*written) : sums_after(term.factors[number], kept));
        }
        if (elsewhere) sums_in_parentheses_[assignment.result.tensor].insert(term.factors[number].tensor);
      }
    }
  }

  // One factor with an index that the result lacks: no node of a tree sums a leaf.
  static bool sums_its_factor(const Assignment& written) {
    const std::vector<IndexId>& kept = written.result.indices;
    const std::vector<IndexId>& read = written.terms.front().factors.front().indices;
    return std::ranges::any_of(read, [&](IndexId index) { return std::ranges::find(kept, index) == kept.end(); });
  }

  // What the reader does not sum, or not before its other factors are met.
  static std::set<IndexId> indices_beside(const Assignment& reader, const Term& term, std::size_t number) {
    std::set<IndexId> others(reader.result.indices.begin(), reader.result.indices.end());
    for (std::size_t other = 0; other < term.factors.size(); ++other) {
      if (other != number) others.insert(term.factors[other].indices.begin(), term.factors[other].indices.end());
    }
    return others;
  }

  // An index that the reader sums and that only this factor has: the node of a product would sum it before the others
  // are met.
  static bool sums_after(const TensorAccess& read, const std::set<IndexId>& kept) {
    return std::ranges::any_of(read.indices, [&](IndexId index) { return !kept.contains(index); });
  }

  // An index that the reader sums and that the product has within one of its groups alone, as j in
  // S(j,k) = (T(k) * (U(j) * V(j,k))); O(k) = S(j,k): the group would sum it before T is met. An open product around the
  // group leaves that open, too.
  static bool sums_in_group(const Assignment& written, const TensorAccess& read, const std::set<IndexId>& kept) {
    const Term& product = written.terms.front();
    const std::vector<ContractionTree::Node>& nodes = product.pinned.nodes;
    std::map<IndexId, std::set<IndexId>> read_as;  // by the reader's index, several of the product's on a diagonal
    for (std::size_t mode = 0; mode < read.indices.size(); ++mode) {
      if (!kept.contains(read.indices[mode])) read_as[read.indices[mode]].insert(written.result.indices[mode]);
    }
    return std::ranges::any_of(read_as, [&](const auto& summed) {
      const auto has = [&](const TensorAccess& factor) {
        return std::ranges::any_of(factor.indices, [&](IndexId index) { return summed.second.contains(index); });
      };
      const auto all = static_cast<std::size_t>(std::ranges::count_if(product.factors, has));
      std::vector<std::size_t> below(nodes.size(), 0);  // of those factors; children stand before their parents
      std::size_t group = nodes.size();
      for (std::size_t number = 0; number < nodes.size(); ++number) {
        const ContractionTree::Node& node = nodes[number];
        if (node.children.empty()) {
          below[number] = has(product.factors[node.factor]) ? 1 : 0;
          continue;
        }
        if (group < number && std::ranges::find(node.children, group) != node.children.end())
          return !product.open || number + 1 < nodes.size();
        for (const std::uint32_t child : node.children) below[number] += below[child];
        if (group == nodes.size() && below[number] == all) group = number;
      }
      return false;
    });
  }

  Term expanded(const TensorAccess& result, const Term& term) {
    std::vector<const Term*> inlined;
    for (const TensorAccess& factor : term.factors) {
      const auto& assignment = written_[factor.tensor];
      inlined.push_back(assignment ? &assignment->terms.front() : nullptr);
    }
    if (std::all_of(inlined.begin(), inlined.end(), [](const Term* one) { return one == nullptr; })) return term;
    std::set<IndexId> used = indices_of(result, term);
    Term product{term.coefficient, {}, {}, term.open};
    for (std::size_t number = 0; number < term.factors.size(); ++number) {
      const TensorAccess& factor = term.factors[number];
      if (inlined[number] == nullptr) {
        product.factors.push_back(factor);
        continue;
      }
      product.coefficient *= inlined[number]->coefficient;
      const TensorAccess& own = written_[factor.tensor]->result;
      std::map<IndexId, IndexId> renamed;
      for (std::size_t mode = 0; mode < own.indices.size(); ++mode) renamed[own.indices[mode]] = factor.indices[mode];
      for (TensorAccess inner : inlined[number]->factors) {
        for (IndexId& index : inner.indices) {
          const auto [place, is_summed] = renamed.try_emplace(index, index);
          if (is_summed) place->second = free_index(index, used);
          index = place->second;
        }
        product.factors.push_back(std::move(inner));
      }
    }
    TreeWriter(term, inlined).write(product);
    return product;
  }

  // An index that the product does not have yet: the same one, or a new one of its extent.
  IndexId free_index(IndexId index, std::set<IndexId>& used) {
    if (used.insert(index).second) return index;
    Index fresh{unused_name(network_.indices[index].name, names_), network_.indices[index].extent};
    names_.insert(fresh.name);
    network_.indices.push_back(std::move(fresh));
    const auto number = static_cast<IndexId>(network_.indices.size() - 1);
    used.insert(number);
    return number;
  }

  Network network_;
  std::set<TensorId> dropped_;
  std::map<TensorId, std::set<TensorId>> sums_in_parentheses_;  // by the result of their reader
  std::set<std::string> names_;                     // of indices
  std::vector<std::optional<Assignment>> written_;  // by tensor: dropped assignments, themselves expanded
};

}  // namespace

Network inlined(const Network& network, const std::vector<TensorId>& dropped) {
  if (network.assignments.size() < 2) return network;
  Network named = network;
  name_indices_apart(named);
  return Inliner(std::move(named), dropped).run();
}

std::vector<TensorId> summed_in_parentheses(const Network& network, const std::vector<TensorId>& dropped) {
  if (network.assignments.size() < 2 || dropped.empty()) return {};
  Inliner inliner(network, dropped);
  inliner.run();
  return inliner.summed_in_parentheses(network);
}

std::vector<std::size_t> times_read(const Network& network) {
  std::vector<std::size_t> times(network.tensors.size(), 0);
  for (const Assignment& assignment : network.assignments) {
    for (const Term& term : assignment.terms) {
      for (const TensorAccess& factor : term.factors) ++times[factor.tensor];
    }
  }
  return times;
}

}  // namespace weft
