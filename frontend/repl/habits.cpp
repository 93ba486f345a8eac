#include "frontend/repl/habits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/text/names.h"
#include "frontend/repl/commands.h"
#include "frontend/words.h"
#include "runtime/file_content.h"
#include "runtime/file_name.h"

namespace weft {
namespace {

constexpr std::string_view functions[] = {"exp", "log", "sqrt", "sin",  "cos", "tan", "tanh", "abs",    "pow", "max",
                                          "min", "sum", "mean", "norm", "dot", "inv", "relu", "maximum", "minimum"};

std::string_view leading_name(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && continues_name(text[end])) ++end;
  return is_name(text.substr(0, end)) ? text.substr(0, end) : std::string_view();
}

class Habits {
 public:
  Habits(std::string_view text, const Tensors& tensors) : tensors_(tensors) {
    text = trimmed(text);
    while (text.ends_with(';')) text = trimmed(text.substr(0, text.size() - 1));
    text_ = right_ = text;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_name(trimmed(text.substr(0, equals)))) return;
    target_ = trimmed(text.substr(0, equals));
    right_ = trimmed(text.substr(equals + 1));
  }

  std::optional<Error> told() const {
    const std::vector<std::string_view> words = words_of(text_);
    if (words.empty() || text_.starts_with(':') || text_.starts_with('!')) return std::nullopt;
    if (words.front() == "import" || words.front() == "from")
      return input("the prompt is none of Python's: :help tells what can be said, and tensors are loaded by NAME = FILE");
    if (auto said = print(words)) return said;
    if (auto said = command_without_colon(words)) return said;
    if (auto said = length()) return said;
    if (auto said = einsum_call()) return said;
    if (auto said = reduction()) return said;
    if (auto said = generator()) return said;
    if (auto said = element_assigned()) return said;
    if (auto said = member()) return said;
    if (auto said = function()) return said;
    if (auto said = slice_in_round_brackets()) return said;
    return product_of_names();
  }

 private:
  static std::optional<Error> input(std::string message) { return Error{ErrorKind::input, std::move(message)}; }
  static std::optional<Error> unsupported(std::string message) { return Error{ErrorKind::unsupported, std::move(message)}; }

  const Tensor* tensor(std::string_view name) const {
    const auto found = tensors_.find(std::string(name));
    return found == tensors_.end() ? nullptr : &found->second;
  }

  /// "A(i,j)", with the indices of an order.
  static std::string access(std::string_view name, std::size_t order) {
    std::string indices;
    for (std::size_t mode = 0; mode < order; ++mode) {
      if (mode > 0) indices += ',';
      indices += static_cast<char>('i' + mode % 18);
    }
    return fmt::format("{}({})", name, indices);
  }

  /// "print A", "print(A)", "disp(A)".
  std::optional<Error> print(const std::vector<std::string_view>& words) const {
    const std::string_view name = leading_name(text_);
    if (name != "print" && name != "disp" && name != "show") return std::nullopt;
    std::string_view what = words.size() > 1 ? words[1] : trimmed(text_.substr(name.size()));
    if (what.starts_with('(') && what.ends_with(')')) what = what.substr(1, what.size() - 2);
    if (tensor(what) == nullptr || tensor(name) != nullptr) return std::nullopt;
    return input(fmt::format("write {} alone to print it", what));
  }

  /// "load T x.tns", "plan y(i) = A(i,j)": the name of a command that is no tensor's, and no einsum such as "info A".
  std::optional<Error> command_without_colon(const std::vector<std::string_view>& words) const {
    const std::string_view name = words.front();
    const bool is_command = name.size() > 2 && find_command(name) != nullptr && tensor(name) == nullptr;
    if (words.size() < 2 || !is_command || words[1].front() == '=' || words[1].front() == '(') return std::nullopt;
    if (const Tensor* const operand = tensor(words[1]); operand != nullptr && operand->order() == name.size())
      return std::nullopt;
    return input(fmt::format("commands begin with a colon: :{}", text_));
  }

  /// "np.einsum('ij,jk->ik', A, B)" to "ij,jk->ik A B".
  std::optional<Error> einsum_call() const {
    constexpr std::string_view call = "einsum(";
    const std::size_t at = right_.find(call);
    if (at == std::string_view::npos || !right_.ends_with(')')) return std::nullopt;
    std::string inside(right_.substr(at + call.size(), right_.size() - at - call.size() - 1));
    const std::size_t open = inside.find_first_of("'\"");
    const std::size_t close = open == std::string::npos ? open : inside.find(inside[open], open + 1);
    if (close == std::string::npos)
      return input("an einsum is written alone, with the names of its operands: ij,jk->ik A B");
    std::string operands = inside.substr(close + 1);
    std::ranges::replace(operands, ',', ' ');
    std::string names;
    for (const std::string_view word : words_of(operands)) names += fmt::format(" {}", word);
    const std::string target = target_.empty() ? "" : fmt::format("{} = ", target_);
    return input(fmt::format("write {}{}{}", target, inside.substr(open + 1, close - open - 1), names));
  }

  /// "sum(A)", "np.trace(A)", "transpose(A)", "norm(A)": what an expression says instead.
  std::optional<Error> reduction() const {
    std::string_view rest = right_;
    if (const std::size_t point = rest.rfind('.', rest.find('(')); point != std::string_view::npos)
      rest.remove_prefix(point + 1);
    const std::string_view name = leading_name(rest);
    rest = trimmed(rest.substr(name.size()));
    if (name.empty() || tensor(name) != nullptr || !rest.starts_with('(') || !rest.ends_with(')')) return std::nullopt;
    const std::string_view argument = trimmed(rest.substr(1, rest.size() - 2));
    const std::string_view of = trimmed(argument.substr(0, argument.find(',')));
    const Tensor* const known = tensor(of);
    if (known == nullptr) return std::nullopt;
    const std::string written = access(of, known->order());
    const std::string_view scalar = target_.empty() ? "s" : target_;
    if (name == "sum") return input(fmt::format("a sum leaves indices out on the left: {} = {}", scalar, written));
    if (name == "norm")
      return input(fmt::format("the square of a norm is a sum of products: {} = {} * {}", scalar, written, written));
    if (name == "trace" && known->order() == 2)
      return input(fmt::format("a trace is a sum along a diagonal: {} = {}(i,i)", scalar, of));
    if (name == "transpose") return transposed(of, *known);
    return std::nullopt;
  }

  std::optional<Error> transposed(std::string_view name, const Tensor& known) const {
    std::string indices;
    for (std::size_t mode = known.order(); mode-- > 0;) {
      indices += static_cast<char>('i' + mode % 18);
      if (mode > 0) indices += ',';
    }
    return input(fmt::format("a transposed tensor is an expression: {}({}) = {}", target_.empty() ? "B" : target_,
                             indices, access(name, known.order())));
  }

  /// "T = zeros(3x4)", "T = rand(3,4)", "T = [1,2,3]".
  std::optional<Error> generator() const {
    if (target_.empty()) return std::nullopt;
    if (right_.starts_with('['))
      return input("values are read from a file, or generated: T = x.tns, T = ones(2000x32), s = 2.5");
    const std::string_view name =
        leading_name(right_.substr(std::min(right_.size(), right_.rfind('.', right_.find('(')) + 1)));
    const bool opens = right_.find('(') != std::string_view::npos;
    constexpr std::string_view foreign[] = {"zeros",  "rand",   "random", "randn", "eye",
                                            "arange", "normal", "full",   "empty"};
    if (!opens || std::ranges::find(foreign, name) == std::end(foreign) || tensor(name) != nullptr) return std::nullopt;
    return input(
        fmt::format("there is no generator {}: T = uniform(2000x32,seed=1), T = ones(2000x32) and "
                    "T = sparse(2000x300,nnz=10000,seed=1) are there",
                    name));
  }

  /// "A[1,2] = 5".
  std::optional<Error> element_assigned() const {
    const std::string_view name = leading_name(text_);
    const std::size_t equals = text_.find('=');
    if (tensor(name) == nullptr || equals == std::string_view::npos || text_.substr(equals).starts_with("=="))
      return std::nullopt;
    const std::string_view left = trimmed(text_.substr(name.size(), equals - name.size()));
    const bool is_slice = left.starts_with('[') && left.ends_with(']') &&
                          left.find_first_of("0123456789:") != std::string_view::npos &&
                          std::ranges::none_of(left, starts_name);
    if (!is_slice) return std::nullopt;
    return unsupported(
        fmt::format("entries are not assigned one by one: {} is as it was read or computed; write it with :write, "
                    "change the file, and load that",
                    name));
  }

  /// "len(A)", "size(A)", "shape(A)".
  std::optional<Error> length() const {
    const std::string_view name = leading_name(right_);
    if (name != "len" && name != "size" && name != "shape") return std::nullopt;
    const std::string_view rest = trimmed(right_.substr(name.size()));
    if (!rest.starts_with('(') || !rest.ends_with(')') || tensor(name) != nullptr) return std::nullopt;
    const std::string_view of = trimmed(rest.substr(1, rest.size() - 2));
    const Tensor* const known = tensor(of);
    if (known == nullptr) return std::nullopt;
    return input(fmt::format("{} has the extents {}; :info {} tells more", of, fmt::join(known->extents(), "x"), of));
  }

  /// "A.shape", "A.T", "A.sum()", "A[0][1]".
  std::optional<Error> member() const {
    const std::string_view name = leading_name(right_);
    const Tensor* const known = tensor(name);
    if (known == nullptr) return std::nullopt;
    const std::string_view rest = right_.substr(name.size());
    const std::size_t closed = rest.find(']');
    if (rest.starts_with('[') && closed != std::string_view::npos && trimmed(rest.substr(closed + 1)).starts_with('[')) {
      const std::string_view second = trimmed(rest.substr(closed + 1));
      return input(fmt::format("an element has all its coordinates in one pair of brackets: {}{},{}", name, rest.substr(0, closed),
                               trimmed(second.substr(1))));
    }
    if (!rest.starts_with('.') || rest.size() < 2 || !starts_name(rest[1])) return std::nullopt;
    const std::string_view what = leading_name(rest.substr(1));
    const std::string path = fmt::format("{}.{}", name, what);
    const FileName file = parse_file_name(path);
    const bool is_file = file.kind || file.compression || foreign_by_name(path) != Content::text;
    if (is_file) return std::nullopt;
    if (what == "shape" || what == "size" || what == "ndim" || what == "nnz") {
      return input(fmt::format("{} has the extents {} and stores {} entries; :info {} tells more", name, fmt::join(known->extents(), "x"),
                               known->nnz(), name));
    }
    const std::string written = access(name, known->order());
    if (what == "T" && known->order() > 1) return transposed(name, *known);
    if (what == "sum") return input(fmt::format("a sum leaves indices out on the left: {} = {}", target_.empty() ? "s" : target_, written));
    return input(fmt::format("{} has no member {}: tensors are used in expressions, as in s = {}; :help tells what can be said", name, what,
                             written));
  }

  /// "exp(A(i,j))", "y(i) = sqrt(x(i))".
  std::optional<Error> function() const {
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (!starts_name(text_[at]) || (at > 0 && continues_name(text_[at - 1]))) continue;
      const std::string_view name = leading_name(text_.substr(at));
      const std::string_view rest = trimmed(text_.substr(at + name.size()));
      const bool is_function = std::ranges::find(functions, name) != std::end(functions);
      // The first name of an assignment is its result.
      const bool is_result = at == 0 && text_.find('=') != std::string_view::npos;
      if (is_function && rest.starts_with('(') && !is_result && tensor(name) == nullptr)
        return unsupported(fmt::format("functions of entries such as {} are not supported: weft computes sums of products", name));
    }
    return std::nullopt;
  }

  /// "A(i,2:4)", "A(0,1)".
  std::optional<Error> slice_in_round_brackets() const {
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (!starts_name(text_[at]) || (at > 0 && continues_name(text_[at - 1]))) continue;
      const std::string_view name = leading_name(text_.substr(at));
      const std::string_view rest = text_.substr(at + name.size());
      const std::size_t end = rest.find(')');
      if (tensor(name) == nullptr || !rest.starts_with('(') || end == std::string_view::npos) continue;
      const std::string_view inside = rest.substr(1, end - 1);
      if (inside.find(':') == std::string_view::npos && inside.find_first_of("0123456789") != 0) continue;
      std::string slice(inside);
      // Letters stand for whole modes in a slice.
      for (std::size_t letter = 0; letter < slice.size(); ++letter) {
        if (starts_name(slice[letter])) slice[letter] = ':';
      }
      return input(fmt::format("a slice stands in square brackets and alone: B = {}[{}], and then B in the expression", name, slice));
    }
    return std::nullopt;
  }

  /// "y = A * 2", "A @ B", "A + B": tensors without their indices.
  std::optional<Error> product_of_names() const {
    std::string product;
    std::vector<std::string_view> matrices;
    std::size_t order = 0;
    bool plus = false, matrix = false;
    for (std::size_t at = 0; at < right_.size();) {
      const char c = right_[at];
      if (starts_name(c)) {
        const std::string_view name = leading_name(right_.substr(at));
        const Tensor* const known = tensor(name);
        if (known == nullptr) return std::nullopt;
        order = std::max(order, known->order());
        matrices.push_back(name);
        product += known->order() == 0 ? std::string(name) : access(name, known->order());
        at += name.size();
        continue;
      }
      if (c == '@') matrix = true;
      if (c == '+' || c == '-') plus = true;
      if (std::string_view("0123456789.eE+-*/@ ").find(c) == std::string_view::npos) return std::nullopt;
      product += c;
      ++at;
    }
    const bool operates = right_.find_first_of("*/@+-") != std::string_view::npos;
    if (order == 0 || matrices.empty() || !operates) return std::nullopt;
    const std::string_view result = target_.empty() ? "y" : target_;
    if (matrix && matrices.size() == 2) {
      const std::size_t left = tensor(matrices[0])->order(), right = tensor(matrices[1])->order();
      if (left == 2 && right == 2) return input(fmt::format("write {}(i,k) = {}(i,j) * {}(j,k)", result, matrices[0], matrices[1]));
      if (left == 1 && right == 1)
        return input(fmt::format("write {} = {}(i) * {}(i)", result, matrices[0], matrices[1]));
      if (left == 2 && right == 1) return input(fmt::format("write {}(i) = {}(i,j) * {}(j)", result, matrices[0], matrices[1]));
    }
    if (matrix) return input("a product says which indices it sums, as in C(i,k) = A(i,j) * B(j,k)");
    if (plus) return unsupported("sums and differences of tensors are not supported yet: weft computes sums of products");
    if (right_.find('/') != std::string_view::npos) {
      return input(fmt::format("tensors are not divided: multiply by a number, as in {} = {} * 0.5", access(result, order),
                               access(matrices[0], order)));
    }
    return input(fmt::format("a tensor is written with its indices: {} = {}", access(result, order), product));
  }

  const Tensors& tensors_;
  std::string_view text_, target_, right_;
};

}  // namespace

std::optional<Error> habit(std::string_view text, const Tensors& tensors) { return Habits(text, tensors).told(); }

}  // namespace weft
