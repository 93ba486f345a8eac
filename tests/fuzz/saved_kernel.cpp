// Files of Kernel::save(). What is in them is run, so a checksum is all that stands before damage: a file that was edited is refused.
// Where the checksum is made to fit, everything but the machine code is edited, which has to be read, and loaded, without harm; such a
// kernel is run where the edit leaves its code and what binds its operands alone.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/cache/entry.h"
#include "frontend/operand.h"
#include "frontend/saved_kernel.h"
#include "fuzz/mutate_text.h"
#include "fuzz/scratch.h"
#include "fuzz/target.h"
#include "oracle/dice.h"
#include "weft/engine.h"

namespace weft::fuzz {
namespace saved_kernels {
namespace {

using test::Dice;

const Engine& engine() {
  static const Engine one = [] {
    EngineOptions options;
    options.resources = small_resources(1, 512);
    options.use_cache = false;
    auto made = Engine::create(options);
    require(made.has_value(), [&] { return made.error().message; });
    return *made;
  }();
  return one;
}

Tensor operand(const std::string& text, const std::string& format = "") {
  auto made = load_operand(text, std::nullopt, small_resources(), text);
  if (made && !format.empty()) made = convert(*made, *parse_format(format), small_resources(), text);
  require(made.has_value(), [&] { return made.error().message; });
  return *made;
}

struct Asked {
  std::string text;
  Tensors operands;
  CompileOptions options;
};

/// One that bakes in what it knows, one that counts what it appends, two results of which one is like an operand and one is scaled, and
/// layouts that are planned over their levels.
std::vector<Asked> kernels() {
  const Tensor M = operand("sparse(6x5,nnz=12,seed=1)", "ds");
  std::vector<Asked> all = {{"y(i,r) = M(i,j) * x(j,r)", {{"M", M}, {"x", operand("uniform(5x2)")}}, {}}};
  all.back().options.specialize = Specialization::baked;
  all.push_back({"C(i,j) = A(i,k) * B(k,j)", {{"A", M}, {"B", operand("sparse(5x7,nnz=14,seed=2)", "sh")}}, {}});
  all.back().options.formats["C"] = *parse_format("ds");
  all.push_back({"S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = 3 * S(i,j) * D(j,h)",
                 {{"M", M}, {"A", operand("uniform(6x3)")}, {"B", operand("uniform(5x3)")}, {"D", operand("uniform(5x2)")}},
                 {}});
  all.back().options.patterns["S"] = "M";
  all.back().options.results = {"S", "O"};
  all.back().options.scaled = {"O"};
  all.push_back({"y(i) = A(i,j) * z(j)", {{"A", operand("sparse(6x5,nnz=12,seed=1)", "bcsr(2,2)")}, {"z", operand("uniform(5)")}}, {}});
  all.back().options.calls = 100;
  all.push_back({"C(i,j) = M(i,j) * B(i,j) * v(i)",
                 {{"M", M}, {"B", operand("sparse(6x5,nnz=9,seed=4)", "bcsr(3,2)")}, {"v", operand("uniform(6)")}},
                 {}});
  all.back().options.formats["C"] = *parse_format("bcsr(2,2)");
  return all;
}

/// What is compared of results: the same code gives the same bits.
std::string results_of(const Kernel& kernel, const Asked& asked) {
  Bindings bindings;
  for (const auto& [name, tensor] : asked.operands) bindings.set(name, tensor);
  const auto results = kernel.run(bindings);
  require(results.has_value(), [&] { return asked.text + ": " + results.error().message; });
  std::string all;
  for (const auto& [name, tensor] : *results) {
    const auto sound = verify(tensor, small_resources(), name);
    require(sound.has_value(), [&] { return asked.text + ": " + sound.error().message; });
    const auto dense = convert(tensor, dense_format(tensor.order()), small_resources(), name);
    require(dense.has_value(), [&] { return dense.error().message; });
    const auto values = dense->values().as<const char>();
    all += name + " " + tensor.format().text() + " " + std::string(values.begin(), values.end()) + "\n";
  }
  return all;
}

struct Original {
  Asked asked;
  std::string file;
  std::string environment;
  std::string contents;
  SavedKernel kernel;
  std::string results;
};

const Original& original(std::size_t number) {
  static std::map<std::size_t, Original> made;
  static const std::vector<Asked> all = kernels();
  number %= all.size();
  if (const auto known = made.find(number); known != made.end()) return known->second;
  const Asked& asked = all[number];
  const auto kernel = engine().compile(asked.text, asked.operands, asked.options);
  require(kernel.has_value(), [&] { return asked.text + ": " + kernel.error().message; });
  auto file = kernel->save();
  require(file.has_value(), [&] { return asked.text + ": " + file.error().message; });
  auto entry = open_entry(*file);
  require(entry.has_value(), "what was saved is no entry");
  auto read = unpacked(*file, entry->key);
  require(read.has_value(), [&] { return read.error().message; });
  return made.emplace(number, Original{asked, *file, entry->key, entry->contents, *read, results_of(*kernel, asked)}).first->second;
}

void require_refusal(const Error& error) {
  const bool answers =
      error.kind == ErrorKind::input || error.kind == ErrorKind::unsupported || error.kind == ErrorKind::resource;
  require(answers && !error.message.empty(), [&] { return "the error is no answer: " + error.message; });
}

/// Where a length and a text of as many printable bytes stand: words of it may change.
struct Text {
  std::size_t at = 0;
  std::size_t bytes = 0;
};

std::vector<Text> texts_in(std::string_view contents) {
  constexpr std::uint64_t most_bytes = 1 << 14;
  std::vector<Text> found;
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at + sizeof bytes < contents.size(); ++at) {
    std::memcpy(&bytes, contents.data() + at, sizeof bytes);
    if (bytes == 0 || bytes > most_bytes || bytes > contents.size() - at - sizeof bytes) continue;
    const std::string_view text = contents.substr(at + sizeof bytes, bytes);
    if (!std::ranges::all_of(text, [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; })) continue;
    found.push_back({at, bytes});
    at += sizeof bytes + bytes - 1;
  }
  return found;
}

std::uint64_t interesting_number(Dice& dice) {
  static const std::vector<std::uint64_t> numbers = {
      0, 1, 2, 3, 31, 63, 64, 255, (1ULL << 31) - 1, 1ULL << 31, (1ULL << 32) - 1, 1ULL << 32, 1ULL << 62, 1ULL << 63, ~0ULL,
      std::bit_cast<std::uint64_t>(-1.0), std::bit_cast<std::uint64_t>(1e300), 0x7ff8000000000000, 0x7ff0000000000000};
  return dice.pick(numbers);
}

/// One change: a bit, a byte, a number of eight bytes, bytes removed, inserted, copied, cut off, or words of a text.
void edit(std::string& bytes, const std::vector<Text>& texts, Dice& dice) {
  const std::uint64_t how = dice.below(10);
  if (how < 4 && !texts.empty()) {
    const Text& text = dice.pick(texts);
    if (text.at + sizeof(std::uint64_t) + text.bytes > bytes.size()) return;
    std::mt19937_64 random(dice.below(1 << 16));
    std::string changed = mutated_text(std::string_view(bytes).substr(text.at + sizeof(std::uint64_t), text.bytes), random);
    const std::uint64_t size = changed.size();
    changed.insert(0, reinterpret_cast<const char*>(&size), sizeof size);
    bytes.replace(text.at, sizeof size + text.bytes, changed);
    return;
  }
  const std::size_t at = dice.below(bytes.size() + 1), left = bytes.size() - at;
  const std::size_t count = std::min<std::size_t>(1 + dice.below(16), left);
  if (how < 6) {
    std::uint64_t number = interesting_number(dice);
    if (left >= sizeof number) std::memcpy(bytes.data() + at, &number, sizeof number);
  } else if (how == 6) {
    if (left > 0) bytes[at] = static_cast<char>(dice.percent(50) ? bytes[at] ^ (1 << dice.below(8)) : dice.below(256));
  } else if (how == 7) {
    bytes.erase(at, count);
  } else if (how == 8) {
    bytes.insert(at, bytes.substr(dice.below(bytes.size() + 1), count));
  } else {
    bytes.resize(at);
  }
}

/// The file as it is damaged: only the same bytes are loaded.
void check_damaged(const Original& saved, std::string file) {
  const auto loaded = engine().load(file);
  require(loaded.has_value() == (file == saved.file), "a damaged file is loaded, or a sound one is not");
  if (!loaded) {
    require(loaded.error().kind == ErrorKind::input, [&] { return "the error is no answer: " + loaded.error().message; });
    return require_refusal(loaded.error());
  }
  require(results_of(*loaded, saved.asked) == saved.results, "the kernel that is loaded gives other results");
}

bool same_code(const SavedNetwork& left, const SavedNetwork& right) {
  return std::ranges::equal(left.nests, right.nests, [](const SavedNest& one, const SavedNest& other) {
    return one.object == other.object && one.counting == other.counting;
  });
}

/// With the figures and claims of the other, on which nothing rests but reports and what is planned next.
SavedKernel with_figures(SavedKernel kernel, const SavedKernel& other) {
  for (auto& [name, figures] : kernel.request.operands) {
    const auto known = other.request.operands.find(name);
    if (known == other.request.operands.end()) continue;
    figures.nnz = known->second.nnz;
    figures.distinct = known->second.distinct;
  }
  kernel.request.options.calls = other.request.options.calls;
  kernel.network.producer = other.network.producer;
  kernel.network.optimal = other.network.optimal;
  kernel.network.proof = other.network.proof;
  return kernel;
}

/// With a name for its programs, which is a text of any kind where the text of a program has but one word for it.
SavedKernel named(SavedKernel kernel) {
  for (SavedNest& nest : kernel.network.nests) nest.nest.program.name = "nest";
  return kernel;
}

/// The contents with a checksum that fits.
void check_contents(const Original& saved, const std::string& contents) {
  const std::string file = pack_entry(saved.environment, contents);
  const auto read = unpacked(file, saved.environment);
  if (!read) return require_refusal(read.error());
  // Another text of a format, or of a program, may be read as the same.
  const std::string once = packed(named(*read), saved.environment);
  const auto again = unpacked(once, saved.environment);
  require(again.has_value(), [&] { return "what was read is not read again: " + again.error().message; });
  require(packed(named(*again), saved.environment) == once, "what was read is another kernel when it is read again");
  if (!same_code(read->network, saved.kernel.network)) return;
  const auto loaded = engine().load(file);
  if (!loaded) return require_refusal(loaded.error());
  for (const Stage stage : {Stage::network, Stage::tree, Stage::schedule, Stage::loops, Stage::signature}) {
    const auto told = loaded->explain(stage);
    if (!told) require_refusal(told.error());
  }
  if (packed(with_figures(*read, saved.kernel), saved.environment) == packed(saved.kernel, saved.environment))
    require(results_of(*loaded, saved.asked) == saved.results, "other figures make other results");
}

/// Changes between the pieces of machine code, whose bytes stay.
std::string with_edits(const Original& saved, Dice& dice) {
  std::string contents = saved.contents;
  std::vector<std::string> code;
  for (const SavedNest& nest : saved.kernel.network.nests)
    for (const std::string& object : {nest.object, nest.counting})
      if (!object.empty()) code.push_back(object);
  std::vector<std::string> between;
  std::size_t at = 0;
  for (const std::string& object : code) {
    const std::size_t found = contents.find(object, at);
    require(found != std::string::npos, "the code of a kernel is not in its file");
    between.push_back(contents.substr(at, found - at));
    at = found + object.size();
  }
  between.push_back(contents.substr(at));
  for (std::uint64_t edits = 1 + dice.below(3); edits > 0; --edits) {
    std::string& part = between[dice.below(between.size())];
    edit(part, texts_in(part), dice);
  }
  std::string joined = between.front();
  for (std::size_t n = 0; n < code.size(); ++n) joined += code[n] + between[n + 1];
  return joined;
}

}  // namespace
}  // namespace saved_kernels

/// The first byte chooses a kernel and what the others are: a file, the contents of one whose checksum fits, or dice for edits of either.
void saved_kernel(Bytes bytes) {
  using namespace saved_kernels;
  if (bytes.empty()) return;
  const Original& saved = original(bytes.front() / 4);
  const Bytes rest = bytes.subspan(1);
  switch (bytes.front() % 4) {
    case 0: return check_damaged(saved, std::string(text_of(rest)));
    case 1: return check_contents(saved, std::string(text_of(rest)));
    case 2: {
      Dice dice(rest);
      std::string file = saved.file;
      for (std::uint64_t edits = dice.below(4); edits > 0; --edits) edit(file, {}, dice);
      return check_damaged(saved, std::move(file));
    }
    default: {
      Dice dice(rest);
      return check_contents(saved, with_edits(saved, dice));
    }
  }
}

}  // namespace weft::fuzz
