#include "frontend/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "engine/text/names.h"
#include "frontend/nearest.h"
#include "frontend/token.h"
#include "frontend/words.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

std::string counted(std::size_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::vector<const ParsedAccess*> factors_of(const ParsedAssignment& assignment) {
  std::vector<const ParsedAccess*> factors;
  for (const ParsedTerm& term : assignment.terms) {
    for (const ParsedAccess& factor : term.factors) factors.push_back(&factor);
  }
  return factors;
}

Expected<void> check_given_names(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    if (!is_name(name)) {
      return input_error(
          fmt::format("\"{}\" cannot name an operand: names are letters, digits and '_' and do not start "
                      "with a digit",
                      name));
    }
    if (!seen.insert(name).second)
      return fail(ErrorKind::input, ErrorCode::surplus_operand, name, fmt::format("operand {} is given twice", name));
  }
  return {};
}

Expected<std::vector<std::string>> names_of_einsum(const ParsedExpression& expression,
                                                   const std::vector<std::string>& given) {
  const std::vector<const ParsedAccess*> factors = factors_of(expression.assignments.front());
  if (given.size() != factors.size()) {
    std::vector<Span> without;
    for (std::size_t factor = given.size(); factor < factors.size(); ++factor) without.push_back(factors[factor]->span);
    return about(error_at(ErrorKind::input, expression.text,
                          fmt::format("the expression has {} but {} given", counted(factors.size(), "operand", "operands"),
                                      given.size() == 1 ? std::string("1 is") : fmt::format("{} are", given.size())),
                          without),
                 given.size() < factors.size() ? ErrorCode::missing_operand : ErrorCode::surplus_operand, {});
  }
  std::vector<std::string> names = given;
  for (std::size_t operand = 0; operand < names.size(); ++operand) {
    if (!names[operand].empty()) continue;
    names[operand] = fmt::format("T{}", operand);
    if (std::find(given.begin(), given.end(), names[operand]) != given.end()) {
      return input_error(
          fmt::format("the unnamed operand {0} would be called {0}, but another operand has that name: "
                      "give it a name",
                      names[operand]));
    }
  }
  const std::string& result = expression.assignments.front().result.name;
  if (std::find(names.begin(), names.end(), result) != names.end()) {
    return input_error(fmt::format("the result of einsum is named {0}: give the operand {0} another name", result));
  }
  return names;
}

Expected<void> check_results(const ParsedExpression& expression, const std::set<std::string_view>& operands) {
  std::map<std::string_view, Span> assigned;
  for (const ParsedAssignment& assignment : expression.assignments) {
    const ParsedAccess& result = assignment.result;
    if (operands.contains(result.name)) {
      return about(error_at(ErrorKind::input, expression.text,
                            fmt::format("the result {} is named like an operand", result.name), {result.named}),
                   ErrorCode::syntax, result.name);
    }
    const auto [first, is_new] = assigned.emplace(result.name, result.named);
    if (!is_new) {
      return about(error_at(ErrorKind::input, expression.text, fmt::format("{} is assigned twice", result.name),
                            {first->second, result.named}),
                   ErrorCode::syntax, result.name);
    }
  }
  return {};
}

// Factors that are neither operands nor assigned before: assigned too late, or missing.
Expected<void> check_factors(const ParsedExpression& expression, const std::set<std::string_view>& operands) {
  std::set<std::string_view> results;
  for (const ParsedAssignment& assignment : expression.assignments) results.insert(assignment.result.name);
  std::set<std::string_view> assigned;
  std::vector<std::string> missing;
  std::vector<Span> missing_at;
  for (const ParsedAssignment& assignment : expression.assignments) {
    for (const ParsedAccess* factor : factors_of(assignment)) {
      if (operands.contains(factor->name) || assigned.contains(factor->name)) continue;
      if (results.contains(factor->name)) {
        return about(error_at(ErrorKind::input, expression.text,
                              fmt::format("{} is used before it is assigned", factor->name), {factor->named}),
                     ErrorCode::syntax, factor->name);
      }
      if (std::find(missing.begin(), missing.end(), factor->name) == missing.end()) missing.push_back(factor->name);
      missing_at.push_back(factor->named);
    }
    assigned.insert(assignment.result.name);
  }
  if (missing.empty()) return {};
  std::vector<std::string> unused;
  for (const std::string_view operand : operands) {
    const auto reads = [&](const ParsedAssignment& assignment) {
      return std::ranges::any_of(factors_of(assignment), [&](const ParsedAccess* factor) { return factor->name == operand; });
    };
    if (std::ranges::none_of(expression.assignments, reads)) unused.emplace_back(operand);
  }
  const auto meant = nearest(missing.front(), unused);
  return about(error_at(ErrorKind::input, expression.text,
                        fmt::format("no operand is given for {}{}", in_a_row(missing),
                                    meant ? fmt::format("; is {} meant?", *meant) : ""),
                        missing_at),
               ErrorCode::missing_operand, missing.front());
}

Expected<void> check_used(const ParsedExpression& expression, const std::vector<std::string>& given) {
  std::set<std::string_view> used;
  for (const ParsedAssignment& assignment : expression.assignments) {
    for (const ParsedAccess* factor : factors_of(assignment)) used.insert(factor->name);
  }
  std::vector<std::string> unused;
  for (const std::string& name : given) {
    if (!used.contains(name)) unused.push_back(name);
  }
  if (unused.empty()) return {};
  return fail(ErrorKind::input, ErrorCode::surplus_operand, unused.front(),
              fmt::format("{} {} {} not used in the expression", unused.size() == 1 ? "operand" : "operands", in_a_row(unused),
                          unused.size() == 1 ? "is" : "are"));
}

class Resolver {
 public:
  Resolver(const ParsedExpression& expression, const std::vector<OperandShape>& operands,
           std::vector<std::string> names)
      : expression_(expression), operands_(operands), names_(std::move(names)) {
    for (std::size_t operand = 0; operand < names_.size(); ++operand) operand_of_[names_[operand]] = operand;
  }

  Expected<Network> resolve() {
    for (const ParsedAssignment& assignment : expression_.assignments) {
      if (auto good = resolve_assignment(assignment); !good) return std::unexpected(good.error());
    }
    if (const auto good = check(network_); !good) {
      return internal_error(fmt::format("{} (in: {})", good.error().message, expression_.text));
    }
    return std::move(network_);
  }

 private:
  // Where an index got its extent.
  struct Binding {
    std::uint64_t extent = 0;
    std::string tensor;
    std::size_t mode = 0;
    Span span;
  };

  std::unexpected<Error> wrong(std::string message, const std::vector<Span>& places) const {
    return error_at(ErrorKind::input, expression_.text, std::move(message), places);
  }

  Expected<void> resolve_assignment(const ParsedAssignment& assignment) {
    if (auto good = check_result(assignment.result); !good) return good;
    bindings_.clear();
    ids_.clear();
    std::size_t position = 0;
    for (const ParsedAccess* factor : factors_of(assignment)) {
      if (auto good = bind(*factor, name_of(*factor, position++)); !good) return good;
    }
    for (const ParsedIndex& index : assignment.result.indices) {
      if (!bindings_.contains(index.name)) {
        return about(wrong(fmt::format("index {} of the result {} is in no factor", index.name, assignment.result.name),
                           {index.span}),
                     ErrorCode::syntax, assignment.result.name, index.name);
      }
    }
    const TensorId result = static_cast<TensorId>(network_.tensors.size());
    network_.tensors.push_back({assignment.result.name, extents_of(assignment.result), Scalar::f64, true});
    tensor_of_[assignment.result.name] = result;

    Assignment resolved;
    resolved.result = {result, ids_of(assignment.result)};
    std::optional<Scalar> widest;
    position = 0;
    for (const ParsedTerm& term : assignment.terms) {
      Term product{term.coefficient, {}, term.pinned, term.open};
      for (const ParsedAccess& factor : term.factors) {
        const TensorId tensor = declare(name_of(factor, position++));
        product.factors.push_back({tensor, ids_of(factor)});
        const Scalar scalar = network_.tensors[tensor].scalar;
        widest = wider(widest.value_or(scalar), scalar);
      }
      resolved.terms.push_back(std::move(product));
    }
    if (widest) network_.tensors[result].scalar = *widest;
    network_.assignments.push_back(std::move(resolved));
    return {};
  }

  Expected<void> check_result(const ParsedAccess& result) const {
    std::map<std::string_view, Span> seen;
    for (const ParsedIndex& index : result.indices) {
      const auto [first, is_new] = seen.emplace(index.name, index.span);
      if (!is_new) {
        return about(wrong(fmt::format("index {} stands twice in the result {}", index.name, result.name),
                           {first->second, index.span}),
                     ErrorCode::syntax, result.name, index.name);
      }
    }
    return {};
  }

  const std::string& name_of(const ParsedAccess& factor, std::size_t position) const {
    return expression_.notation == Notation::einsum ? names_[position] : factor.name;
  }

  const std::vector<std::uint64_t>& extents_of(const std::string& name) const {
    const auto operand = operand_of_.find(name);
    return operand != operand_of_.end() ? operands_[operand->second].extents
                                        : network_.tensors[tensor_of_.at(name)].extents;
  }

  Expected<void> bind(const ParsedAccess& factor, const std::string& name) {
    const std::vector<std::uint64_t>& extents = extents_of(name);
    if (extents.size() != factor.indices.size()) {
      return about(wrong(fmt::format("{} has {} but is written with {}", name, counted(extents.size(), "mode", "modes"),
                                     counted(factor.indices.size(), "index", "indices")),
                         {factor.span}),
                   ErrorCode::order, name);
    }
    for (std::size_t mode = 0; mode < extents.size(); ++mode) {
      const ParsedIndex& index = factor.indices[mode];
      const auto [known, is_new] = bindings_.emplace(index.name, Binding{extents[mode], name, mode, index.span});
      const Binding& first = known->second;
      if (!is_new && first.extent != extents[mode]) {
        return about(wrong(fmt::format("index {} is {} in {} (mode {}) but {} in {} (mode {})", index.name, first.extent,
                                       first.tensor, first.mode, extents[mode], name, mode),
                           {first.span, index.span}),
                     ErrorCode::extents_disagree, name, index.name);
      }
    }
    return {};
  }

  std::vector<std::uint64_t> extents_of(const ParsedAccess& result) const {
    std::vector<std::uint64_t> extents;
    for (const ParsedIndex& index : result.indices) extents.push_back(bindings_.at(index.name).extent);
    return extents;
  }

  std::vector<IndexId> ids_of(const ParsedAccess& access) {
    std::vector<IndexId> ids;
    for (const ParsedIndex& index : access.indices) ids.push_back(id_of(index.name));
    return ids;
  }

  IndexId id_of(const std::string& name) {
    if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
    const Index wanted{name, bindings_.at(name).extent};
    const auto same = std::find(network_.indices.begin(), network_.indices.end(), wanted);
    const IndexId id = static_cast<IndexId>(same - network_.indices.begin());
    if (same == network_.indices.end()) network_.indices.push_back(wanted);
    ids_[name] = id;
    return id;
  }

  TensorId declare(const std::string& name) {
    if (const auto known = tensor_of_.find(name); known != tensor_of_.end()) return known->second;
    const OperandShape& operand = operands_[operand_of_.at(name)];
    const TensorId tensor = static_cast<TensorId>(network_.tensors.size());
    network_.tensors.push_back({name, operand.extents, operand.scalar, false});
    tensor_of_[name] = tensor;
    return tensor;
  }

  const ParsedExpression& expression_;
  const std::vector<OperandShape>& operands_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> operand_of_;
  std::map<std::string, TensorId> tensor_of_;
  std::map<std::string, Binding> bindings_;  // of the current assignment
  std::map<std::string, IndexId> ids_;       // of the current assignment
  Network network_;
};

}  // namespace

Expected<std::vector<std::string>> operand_names(const ParsedExpression& expression,
                                                 const std::vector<std::string>& given) {
  if (auto good = check_given_names(given); !good) return std::unexpected(good.error());
  if (expression.notation == Notation::einsum) return names_of_einsum(expression, given);
  for (std::size_t operand = 0; operand < given.size(); ++operand) {
    if (given[operand].empty()) {
      return input_error(
          fmt::format("operand {} has no name: with index notation every operand is NAME=SPEC", operand + 1));
    }
  }
  const std::set<std::string_view> operands(given.begin(), given.end());
  if (auto good = check_results(expression, operands); !good) return std::unexpected(good.error());
  if (auto good = check_factors(expression, operands); !good) return std::unexpected(good.error());
  if (auto good = check_used(expression, given); !good) return std::unexpected(good.error());
  return given;
}

Expected<Network> resolve(const ParsedExpression& expression, const std::vector<OperandShape>& operands) {
  std::vector<std::string> given;
  for (const OperandShape& operand : operands) given.push_back(operand.name);
  auto names = operand_names(expression, given);
  if (!names) return std::unexpected(names.error());
  return Resolver(expression, operands, std::move(*names)).resolve();
}

}  // namespace weft
