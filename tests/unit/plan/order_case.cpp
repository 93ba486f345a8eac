#include "unit/plan/order_case.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft::plan_test {
namespace {

std::map<char, std::uint64_t> extents_of(const std::string& text) {
  std::map<char, std::uint64_t> extents;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    REQUIRE_MESSAGE((word.size() > 2 && word[1] == '='), "extents are written i=12, not " << word);
    extents[word[0]] = std::stoull(word.substr(2));
  }
  return extents;
}

OrderCase read_case(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path << " cannot be read");
  OrderCase found;
  found.name = path.stem().string();
  std::map<std::string, std::string> lines;
  bool in_schedule = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string key, value;
    words >> key;
    std::getline(words >> std::ws, value);
    in_schedule = key == "schedule" || (in_schedule && line[0] == ' ');
    if (in_schedule) {
      REQUIRE_MESSAGE(!found.nests.empty(), path << ": a schedule follows a line 'nest'");
      found.nests.back().schedule += line + "\n";
    } else if (key == "nest") {
      found.nests.push_back({static_cast<std::uint32_t>(std::stoul(value)), ""});
    } else {
      const bool known = key == "source" || key == "network" || key == "extents" || key == "tree" || key == "pinned" ||
                         key == "order";
      REQUIRE_MESSAGE(known, path << ": unknown line " << line);
      REQUIRE_MESSAGE(lines.emplace(key, value).second, path << ": two lines " << key);
    }
  }
  for (const char* key : {"source", "network", "extents", "tree", "order"}) {
    REQUIRE_MESSAGE(lines.count(key) == 1, path << ": no line " << key);
  }
  REQUIRE_MESSAGE(!found.nests.empty(), path << ": no nest");
  found.source = lines["source"];
  found.problem = problem(lines["network"], extents_of(lines["extents"]));
  found.order = static_cast<std::uint32_t>(std::stoul(lines["order"]));
  std::vector<std::string> names;
  for (const TensorAccess& factor : found.problem.network.assignments[0].terms[0].factors) {
    names.push_back(found.problem.network.tensors[factor.tensor].name);
  }
  const auto tree = parse_tree(lines["tree"], names);
  REQUIRE_MESSAGE(tree.has_value(), path << ": " << tree.error().message);
  found.problem.options.tree = *tree;
  std::istringstream pinned(lines["pinned"]);
  for (std::string name; pinned >> name;) {
    const auto operand = std::find_if(found.problem.operands.begin(), found.problem.operands.end(), [&](const auto& facts) {
      return found.problem.network.tensors[facts.tensor].name == name;
    });
    REQUIRE_MESSAGE(operand != found.problem.operands.end(), path << ": no operand " << name);
    operand->pinned = true;
  }
  return found;
}

}  // namespace

std::vector<OrderCase> read_order_cases(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".order") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<OrderCase> cases;
  for (const std::filesystem::path& path : paths) cases.push_back(read_case(path));
  return cases;
}

}  // namespace weft::plan_test
