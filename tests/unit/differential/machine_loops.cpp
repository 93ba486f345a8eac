#include "unit/differential/machine_loops.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

namespace weft::test {
namespace {

struct Block {
  std::string source;
  std::vector<MachineInstruction> body;
  std::vector<std::size_t> next;
};

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string()
                                         : std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// "64(%r14,%r9), %zmm6 {%k1} {z}" -> {"64(%r14,%r9)", "%zmm6"}
std::vector<std::string> operands_of(std::string_view text) {
  std::vector<std::string> operands(1);
  int depth = 0;
  for (const char character : text) {
    depth += character == '(' || character == '{' ? 1 : character == ')' || character == '}' ? -1 : 0;
    if (character == ',' && depth == 0)
      operands.emplace_back();
    else
      operands.back() += character;
  }
  for (std::string& operand : operands) operand = trimmed(operand.substr(0, operand.find('{')));
  return operands;
}

MachineInstruction instruction_of(const std::string& line) {
  const std::string code = trimmed(line.substr(0, line.find('#')));
  const std::size_t space = std::min(code.find_first_of(" \t"), code.size());
  return {code.substr(0, space), operands_of(code.substr(space)), trimmed(line)};
}

// `# %"for k: drive T, locate C; body"` -> "for k: drive T, locate C"
std::string source_of(const std::string& line) {
  const std::size_t begin = line.find("# %\"");
  return begin == std::string::npos ? std::string()
                                    : line.substr(begin + 4, line.find_first_of(";\"", begin + 4) - begin - 4);
}

bool jumps(const MachineInstruction& each) { return each.name.starts_with('j'); }
bool ends(const MachineInstruction& each) { return each.name.starts_with("jmp") || each.name.starts_with("ret"); }

// A block ends at each jump and before each label.
std::vector<Block> blocks_of(const std::string& assembly) {
  std::vector<Block> blocks(1);
  std::map<std::string, std::size_t> labels;
  std::istringstream lines(assembly.substr(std::min(assembly.find("\nweft_loops:"), assembly.size())));
  for (std::string line; std::getline(lines, line) && !line.starts_with(".Lfunc_end");) {
    const std::string code = trimmed(line.substr(0, line.find('#')));
    if (line.starts_with(".LBB") || line.starts_with("# %bb")) {
      if (!blocks.back().body.empty()) blocks.emplace_back();
      blocks.back().source = source_of(line);
      if (line.starts_with(".LBB")) labels[line.substr(0, line.find(':'))] = blocks.size() - 1;
    } else if (!code.empty() && line.starts_with('\t') && !code.starts_with('.')) {
      blocks.back().body.push_back(instruction_of(line));
      if (!jumps(blocks.back().body.back())) continue;
      const std::string source = blocks.back().source;
      blocks.push_back({source, {}, {}});
    }
  }
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    const auto& body = blocks[number].body;
    if (!body.empty() && jumps(body.back()))
      if (const auto target = labels.find(body.back().operands.front()); target != labels.end())
        blocks[number].next.push_back(target->second);
    if ((body.empty() || !ends(body.back())) && number + 1 < blocks.size()) blocks[number].next.push_back(number + 1);
  }
  return blocks;
}

// First blocks of loops with the blocks that jump back to them: those of a search in depth that meets what it came
// from.
std::map<std::size_t, std::set<std::size_t>> jumps_back(const std::vector<Block>& blocks) {
  std::map<std::size_t, std::set<std::size_t>> found;
  std::vector<int> state(blocks.size(), 0);  // 1: on the way from the entry, 2: done
  const std::function<void(std::size_t)> visit = [&](std::size_t block) {
    state[block] = 1;
    for (const std::size_t next : blocks[block].next) {
      if (state[next] == 1) found[next].insert(block);
      if (state[next] == 0) visit(next);
    }
    state[block] = 2;
  };
  if (!blocks.empty()) visit(0);
  return found;
}

// Every block from which one of `last` is reached without coming by `first`.
std::set<std::size_t> loop_blocks(const std::vector<Block>& blocks, std::size_t first,
                                  const std::set<std::size_t>& last) {
  std::set<std::size_t> inside = last;
  inside.insert(first);
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t block = 0; block < blocks.size(); ++block)
      for (const std::size_t next : blocks[block].next)
        if (next != first && inside.contains(next)) grown |= inside.insert(block).second;
  }
  return inside;
}

// "%r10d" and "%r10" are one register, as are "%xmm3" and "%zmm3".
std::string register_of(std::string_view name) {
  name.remove_prefix(name.starts_with('%') ? 1 : 0);
  std::string text(name);
  if (text.size() > 3 && text.substr(1, 2) == "mm") return "v" + text.substr(3);
  if (text.starts_with('k')) return text;
  if (text.starts_with('r') && std::isdigit(static_cast<unsigned char>(text[1]))) {
    while (!std::isdigit(static_cast<unsigned char>(text.back()))) text.pop_back();
    return text;
  }
  if (text.size() == 3 && (text[0] == 'r' || text[0] == 'e')) text.erase(0, 1);
  if (text.size() == 3) text.pop_back();                                      // "sil", "dil", "bpl", "spl"
  if (text.size() == 2 && (text[1] == 'l' || text[1] == 'h')) text[1] = 'x';  // "al"
  return text;
}

// Registers of "64(%r14,%zmm9,8)"; none of an operand that is no memory.
std::vector<std::string> address_of(const std::string& operand) {
  std::vector<std::string> registers;
  const std::size_t open = operand.find('(');
  if (open == std::string::npos || operand.starts_with('%')) return registers;
  std::istringstream parts(operand.substr(open + 1, operand.find(')') - open - 1));
  for (std::string part; std::getline(parts, part, ',');)
    if (trimmed(part).starts_with('%')) registers.push_back(register_of(trimmed(part)));
  return registers;
}

bool writes_nothing(const std::string& name) {
  for (const char* prefix :
       {"cmp", "test", "j", "prefetch", "nop", "vucomi", "vcomi", "ucomi", "kortest", "ktest", "push", "bt"})
    if (name.starts_with(prefix)) return true;
  return false;
}

std::set<std::string> written(const MachineLoop& loop) {
  std::set<std::string> registers;
  for (const MachineInstruction& each : loop.body)
    if (!writes_nothing(each.name) && each.operands.back().starts_with('%'))
      registers.insert(register_of(each.operands.back()));
  return registers;
}

bool reads_memory(const MachineInstruction& each, std::size_t operand) {
  if (each.name.starts_with("lea") || each.name.starts_with("prefetch") || each.name.starts_with("nop")) return false;
  const bool stored =
      operand + 1 == each.operands.size() && (each.name.starts_with("mov") || each.name.starts_with("vmov"));
  return !stored && !address_of(each.operands[operand]).empty();
}

std::string listed(const MachineLoop& loop, const std::function<bool(const MachineInstruction&)>& is_such) {
  std::string lines;
  for (const MachineInstruction& each : loop.body)
    if (is_such(each)) lines += each.text + "\n";
  return lines;
}

}  // namespace

std::vector<MachineLoop> innermost_loops(const std::string& assembly) {
  const std::vector<Block> blocks = blocks_of(assembly);
  const auto all = jumps_back(blocks);
  std::vector<MachineLoop> loops;
  for (const auto& [first, last] : all) {
    const std::set<std::size_t> inside = loop_blocks(blocks, first, last);
    if (std::ranges::count_if(all, [&](const auto& other) { return inside.contains(other.first); }) > 1) continue;
    MachineLoop loop{blocks[first].source, {}, assembly.find("%rsp, %rbp\n") != std::string::npos};
    for (const std::size_t block : inside)
      loop.body.insert(loop.body.end(), blocks[block].body.begin(), blocks[block].body.end());
    loops.push_back(std::move(loop));
  }
  return loops;
}

unsigned vector_bits_of(const MachineLoop& loop) {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(loop.body, [&](const MachineInstruction& each) {
      return std::ranges::any_of(each.operands,
                                 [&](const std::string& operand) { return operand.find(name) != std::string::npos; });
    });
  };
  return has("%zmm") ? 512 : has("%ymm") ? 256 : has("%xmm") ? 128 : 0;
}

std::string calls(const MachineLoop& loop) {
  return listed(loop, [](const MachineInstruction& each) { return each.name.starts_with("call"); });
}

std::string spills(const MachineLoop& loop) {
  const auto on_stack = [&](const std::string& operand) {
    const std::vector<std::string> address = address_of(operand);
    return address.size() == 1 && (address[0] == "sp" || (loop.frame_pointer && address[0] == "bp"));
  };
  return listed(loop, [&](const MachineInstruction& each) {
    if (each.text.find(" Spill") != std::string::npos || each.text.find(" Reload") != std::string::npos) return true;
    return !each.name.starts_with("lea") && std::ranges::any_of(each.operands, on_stack);
  });
}

std::string invariant_loads(const MachineLoop& loop) {
  const std::set<std::string> changing = written(loop);
  return listed(loop, [&](const MachineInstruction& each) {
    for (std::size_t operand = 0; operand < each.operands.size(); ++operand)
      if (reads_memory(each, operand) &&
          std::ranges::none_of(address_of(each.operands[operand]),
                               [&](const std::string& part) { return changing.contains(part); }))
        return true;
    return false;
  });
}

}  // namespace weft::test
