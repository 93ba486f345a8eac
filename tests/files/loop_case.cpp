#include "tests/files/loop_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft::test {
namespace {

using loop::Entries;

struct NumberedLine {
  std::size_t number = 0;
  std::string text;
};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A double, "inf" and "nan" included.
std::optional<double> number_of(const std::string& text) {
  const std::string word = trimmed(text);
  double value = 0;
  const auto [stop, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (code != std::errc{} || stop != word.data() + word.size()) return std::nullopt;
  return value;
}

/// "(0,1) 2; (1,1) 3", "() 4", or nothing.
std::optional<Entries> entries_of(const std::string& text) {
  Entries entries;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    part = trimmed(part);
    const std::size_t close = part.find(')');
    if (part.empty() || part[0] != '(' || close == std::string::npos) return std::nullopt;
    std::vector<std::uint64_t> coordinates;
    std::istringstream list(part.substr(1, close - 1));
    for (std::string each; std::getline(list, each, ',');) {
      each = trimmed(each);
      if (each.empty() || each.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
      coordinates.push_back(std::stoull(each));
    }
    const std::optional<double> value = number_of(part.substr(close + 1));
    if (!value || !entries.emplace(std::move(coordinates), *value).second) return std::nullopt;
  }
  return entries;
}

const loop::Storage* storage_named(const loop::Program& program, const std::string& name) {
  for (const loop::Storage& storage : program.storages)
    if (storage.name == name) return &storage;
  return nullptr;
}

bool all_dense(const loop::Storage& storage) {
  return std::ranges::all_of(storage.levels, [](const Level& level) { return level.kind == LevelKind::dense; });
}

/// Whether the entry at `coordinates` is stored, as a zero at least: the dense levels below an entry are whole.
bool in_block(const loop::Storage& storage, const Entries& entries, const std::vector<std::uint64_t>& coordinates) {
  std::size_t levels = storage.levels.size();
  while (levels > 0 && storage.levels[levels - 1].kind == LevelKind::dense) --levels;
  const std::vector<std::uint64_t> prefix(coordinates.begin(),
                                          coordinates.begin() + static_cast<std::ptrdiff_t>(levels));
  const auto entry = entries.lower_bound(prefix);
  return levels == 0 || (entry != entries.end() && std::equal(prefix.begin(), prefix.end(), entry->first.begin()));
}

class Reader {
 public:
  Reader(std::string file, std::vector<NumberedLine> lines) : file_(std::move(file)), lines_(std::move(lines)) {}

  Expected<LoopCase> read() {
    LoopCase result;
    result.name = fmt::format("{}:{}", file_, lines_.front().number);
    std::size_t line = 0;
    for (; line < lines_.size() && (line == 0 || lines_[line].text.starts_with(' ')); ++line)
      result.program_text += lines_[line].text + "\n";
    const bool refused =
        std::ranges::any_of(lines_, [](const NumberedLine& l) { return l.text.starts_with("error "); });
    if (!refused) {
      Expected<loop::Program> program = loop::parse(result.program_text);
      if (!program) return input_error(fmt::format("{}: {}", result.name, program.error().message));
      result.program = *std::move(program);
    }
    // Extents first: "values" needs them.
    for (const bool extents : {true, false})
      for (std::size_t n = line; n < lines_.size(); ++n)
        if (lines_[n].text.starts_with("extent ") == extents)
          if (Expected<void> read = section(lines_[n], result); !read) return std::unexpected(read.error());
    if (refused) return result;
    for (const loop::Storage& storage : result.program.storages)
      if (storage.role == loop::Role::output && !result.expected.contains(storage.name))
        return input_error(fmt::format("{}: output {} has no expectation", result.name, storage.name));
    if (result.expected.empty()) return input_error(fmt::format("{}: no expectation", result.name));
    return result;
  }

 private:
  Expected<void> section(const NumberedLine& line, LoopCase& result) const {
    const auto wrong = [&](std::string_view what) {
      return input_error(fmt::format("{}:{}: {}: {}", file_, line.number, what, line.text));
    };
    if (line.text.starts_with("error ")) {
      result.error = trimmed(line.text.substr(6));
      return {};
    }
    const std::size_t space = line.text.find(' ');
    const std::size_t equals = line.text.find('=');
    if (space == std::string::npos || equals == std::string::npos || equals < space)
      return wrong("expected \"extent|tensor|coefficient|expect NAME = …\" or \"error RULE: …\"");
    const std::string keyword = line.text.substr(0, space);
    const std::string name = trimmed(line.text.substr(space, equals - space));
    const std::string value = trimmed(line.text.substr(equals + 1));
    if (keyword == "extent") {
      const std::optional<double> extent = number_of(value);
      if (!extent) return wrong("expected a number");
      result.values.extents[name] = static_cast<std::uint64_t>(*extent);
      for (const loop::IndexDefinition& each : result.program.definitions)
        if (result.program.indices[each.of.front().index] == name)
          result.values.extents[result.program.indices[each.index]] = loop::given_extent(each, static_cast<std::uint64_t>(*extent));
      return {};
    }
    if (keyword == "coefficient") {
      const std::optional<double> number = number_of(value);
      if (!number || name != fmt::format("c{}", result.values.coefficients.size()))
        return wrong("expected the next of c0, c1, … and a number");
      result.values.coefficients.push_back(*number);
      return {};
    }
    if (keyword != "tensor" && keyword != "expect") return wrong("unknown section");
    const loop::Role role = keyword == "tensor" ? loop::Role::input : loop::Role::output;
    const loop::Storage* storage = storage_named(result.program, name);
    if (storage == nullptr || storage->role != role) return wrong("the program has no such input or output");
    std::map<std::string, Entries>& into = role == loop::Role::input ? result.values.inputs : result.expected;
    std::optional<Entries> entries =
        value.starts_with("values") ? row_major(result, *storage, value.substr(6)) : entries_of(value);
    if (!entries) return wrong("expected \"(0,1) 2; (1,1) 3\" without repetition, or \"values\" and every value");
    for (const auto& [coordinates, each] : *entries)
      if (coordinates.size() != storage->levels.size()) return wrong("wrong number of coordinates");
    if (!into.emplace(name, *std::move(entries)).second) return wrong("given twice");
    return {};
  }

  static std::optional<Entries> row_major(const LoopCase& result, const loop::Storage& storage,
                                          const std::string& text) {
    if (!all_dense(storage)) return std::nullopt;
    std::vector<std::uint64_t> extents;
    for (const loop::Access& access : result.program.accesses) {
      if (result.program.storages[access.storage].name != storage.name) continue;
      extents.clear();
      for (loop::IndexId index : access.indices) {
        const auto extent = result.values.extents.find(result.program.indices[index]);
        if (extent == result.values.extents.end()) return std::nullopt;
        extents.push_back(extent->second);
      }
    }
    std::uint64_t count = 1;
    for (std::uint64_t extent : extents) count *= extent;
    Entries entries;
    std::istringstream stream(text);
    std::string each;
    for (std::uint64_t n = 0; n < count; ++n) {
      const std::optional<double> value = stream >> each ? number_of(each) : std::nullopt;
      if (!value) return std::nullopt;
      std::vector<std::uint64_t> coordinates(extents.size());
      std::uint64_t rest = n;
      for (std::size_t level = extents.size(); level-- > 0; rest /= extents[level])
        coordinates[level] = rest % extents[level];
      entries[coordinates] = *value;
    }
    if (stream >> each) return std::nullopt;
    return entries;
  }

  std::string file_;
  std::vector<NumberedLine> lines_;
};

}  // namespace

Expected<std::vector<LoopCase>> read_loop_cases(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code))
    if (entry.path().extension() == ".loop") paths.push_back(entry.path());
  if (code) return input_error(fmt::format("{}: {}", folder, code.message()));
  std::ranges::sort(paths);
  std::vector<LoopCase> cases;
  for (const std::filesystem::path& path : paths) {
    std::ifstream stream(path);
    if (!stream) return input_error(fmt::format("{}: cannot be read", path.string()));
    std::vector<std::vector<NumberedLine>> texts;
    std::size_t number = 0;
    for (std::string text; std::getline(stream, text);) {
      ++number;
      text = text.substr(0, text.find('#'));
      if (trimmed(text).empty()) continue;
      if (text.starts_with("program ")) texts.emplace_back();
      if (texts.empty())
        return input_error(fmt::format("{}:{}: expected \"program NAME\"", path.filename().string(), number));
      texts.back().push_back({number, std::move(text)});
    }
    if (texts.empty()) return input_error(fmt::format("{}: no case", path.filename().string()));
    for (std::vector<NumberedLine>& lines : texts) {
      Expected<LoopCase> read = Reader(path.filename().string(), std::move(lines)).read();
      if (!read) return std::unexpected(read.error());
      cases.push_back(*std::move(read));
    }
  }
  return cases;
}

std::string difference(const loop::Program& program, const std::map<std::string, Entries>& expected,
                       const std::map<std::string, Entries>& found) {
  for (loop::StorageId id = 0; id < program.storages.size(); ++id) {
    const loop::Storage& storage = program.storages[id];
    if (storage.role != loop::Role::output) continue;
    const bool told = loop::tells_presence(program, id);
    const auto wanted = expected.find(storage.name);
    const auto got = found.find(storage.name);
    if (wanted == expected.end()) return fmt::format("{} has no expectation", storage.name);
    if (got == found.end()) return fmt::format("{} did not come out", storage.name);
    Entries all = wanted->second;
    all.insert(got->second.begin(), got->second.end());
    for (const auto& [coordinates, unused] : all) {
      const auto a = wanted->second.find(coordinates);
      const auto b = got->second.find(coordinates);
      const bool absent_differs = (a == wanted->second.end() && (told || !in_block(storage, wanted->second, coordinates))) ||
                                  (b == got->second.end() && (told || !in_block(storage, got->second, coordinates)));
      const double want = a == wanted->second.end() ? 0 : a->second;
      const double have = b == got->second.end() ? 0 : b->second;
      const bool both_nan = want != want && have != have;
      if (absent_differs || (want != have && !both_nan))
        return fmt::format("{}({}) is {}, expected {}", storage.name, fmt::join(coordinates, ","),
                           b == got->second.end() ? "absent" : fmt::format("{}", have),
                           a == wanted->second.end() ? "absent" : fmt::format("{}", want));
    }
  }
  return {};
}

void add_patterns(const loop::Program& program, const loop::Interpretation& values, std::map<std::string, Entries>& outputs) {
  for (loop::StorageId id = 0; id < program.storages.size(); ++id)
    if (const auto pattern = loop::pattern_of(program, id)) {
      const loop::Storage& storage = program.storages[id];
      const auto access = std::ranges::find(program.accesses, id, &loop::Access::storage);
      auto own = storage.levels.end();  // dense levels of its own
      while (own != storage.levels.begin() && own[-1].kind == LevelKind::dense) --own;
      for (const auto& entry : values.inputs.at(program.storages[*pattern].name)) {
        std::vector<std::vector<std::uint64_t>> all{{entry.first.begin(), entry.first.begin() + (own - storage.levels.begin())}};
        for (auto level = own; level != storage.levels.end(); ++level) {
          std::vector<std::vector<std::uint64_t>> deeper;
          for (const std::vector<std::uint64_t>& above : all)
            for (std::uint64_t c = 0; c < values.extents.at(program.indices[access->indices[above.size()]]); ++c) {
              deeper.push_back(above);
              deeper.back().push_back(c);
            }
          all = std::move(deeper);
        }
        for (std::vector<std::uint64_t>& coordinates : all) outputs[storage.name].emplace(std::move(coordinates), 0);
      }
    }
}

}  // namespace weft::test
