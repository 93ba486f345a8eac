#include "drawn_networks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

namespace weft::test {

RandomNetwork network_of(const std::string& expression,
                         const std::function<RandomOperand(const std::string& name, const std::vector<std::string>& indices)>& operand) {
  static const std::regex access(R"((\w+)\(([\w,]*)\))");
  static const std::regex coefficient(R"(= (-?[0-9.]+) \*)");
  RandomNetwork made;
  made.expression = expression;
  if (std::smatch found; std::regex_search(expression, found, coefficient)) made.coefficient = std::stod(found[1]);
  bool is_result = true;
  for (std::sregex_iterator each(expression.begin(), expression.end(), access), end; each != end; ++each) {
    std::vector<std::string> indices;
    for (const char letter : (*each)[2].str())
      if (letter != ',') indices.emplace_back(1, letter);
    const std::string name = (*each)[1];
    if (is_result) {
      made.result = indices;
      is_result = false;
      continue;
    }
    const auto known = std::ranges::find(made.operands, name, &RandomOperand::name);
    made.factors.push_back({static_cast<std::size_t>(known - made.operands.begin()), indices});
    if (known == made.operands.end()) made.operands.push_back(operand(name, indices));
  }
  return made;
}

RandomOperand empty_operand(const std::string& name, const std::vector<std::string>& indices,
                            const std::map<std::string, std::uint64_t>& extents, const Format& format) {
  RandomOperand made{name, {}, format, true, {}};
  for (const std::string& index : indices) made.extents.push_back(extents.at(index));
  return made;
}

void for_each_drawn(const Runs& drawn, const std::function<RandomNetwork(Dice&)>& draw,
                    const std::function<void(const DrawnNetwork&)>& check) {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    Dice dice(seed);
    const RandomNetwork random = draw(dice);
    const std::string text = "seed " + std::to_string(seed) + ": " + reproduction(random);
    CAPTURE(text);
    const Watchdog watchdog(text, 60);
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    const CoordinateMap expected = expected_result(random);
    const Judge judge = [&](const Tensor& tensor, const Resources& given) -> std::string {
      const auto result = entries_of(tensor, given);
      return result ? differences(*result, expected) : result.error().message;
    };
    check({seed, *made, expected, judge});
  }
}

}  // namespace weft::test
