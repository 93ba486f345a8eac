#include "engine/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/cache/entry.h"
#include "engine/pipeline.h"
#include "runtime/output_file.h"

namespace weft {
namespace {

constexpr std::size_t longest_name = 96;

bool is_plain(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
}

std::string option(const std::string& name, const Format& format) {
  const std::string scalar = format.scalar == Scalar::f64 ? "" : fmt::format(":{}", weft::name(format.scalar));
  return fmt::format(" --format {}", shell_word(fmt::format("{}:{}{}", name, format.text(), scalar)));
}

/// An operand in the like: a generated one, since a tensor does not tell where it is from.
std::string operand(const TensorDeclaration& declared, const OperandFacts& facts) {
  const std::size_t order = declared.extents.size();
  if (order == 0) return fmt::format(" {}=1", declared.name);
  const std::string extents = fmt::format("{}", fmt::join(declared.extents, "x"));
  const Statistics& statistics = facts.counted ? facts.counted->statistics : facts.statistics;
  const bool dense = facts.format.all_dense();
  const std::string specification = dense ? fmt::format("{}=uniform({})", declared.name, extents)
                                          : fmt::format("{}=sparse({},nnz={:.0f})", declared.name, extents, statistics.nnz());
  const Format usual = dense ? dense_format(order, Scalar::f64) : sparse_format(order, Scalar::f64);
  std::string text = fmt::format(" {}", shell_word(specification));
  if (facts.format.text() != usual.text() || facts.format.scalar != usual.scalar) text += option(declared.name, facts.format);
  return text;
}

Expected<void> write(const std::string& path, const std::string& text) {
  auto file = OutputFile::create(path);
  if (!file) return std::unexpected(file.error());
  if (auto written = file->write(text); !written) return written;
  return file->finish();
}

}  // namespace

std::string command_line(const Network& network, const std::vector<OperandFacts>& operands, const Schedule& schedule,
                         const EngineOptions& options) {
  std::string expression;
  for (const char letter : print(network)) {
    if (letter == '\n')
      expression += "; ";
    else
      expression += letter;
  }
  while (expression.ends_with("; ")) expression.resize(expression.size() - 2);
  std::string text = fmt::format("weft run {}", shell_word(expression));
  for (const OperandFacts& facts : operands) {
    if (!facts.computed) text += operand(network.tensors[facts.tensor], facts);
  }
  for (const ScheduledTensor& scheduled : schedule.tensors) {
    if (scheduled.role != TensorRole::result) continue;
    if (scheduled.like) {
      text += fmt::format(" --format {}", shell_word(fmt::format("{}:like({})", scheduled.name, schedule.tensors[*scheduled.like].name)));
    } else if (scheduled.format.order() > 0) {
      text += option(scheduled.name, scheduled.delivered ? *scheduled.delivered : scheduled.format);
    }
  }
  if (options.strict_fp) text += " --strict-fp";
  if (options.deterministic) text += " --deterministic";
  if (options.checked) text += " --checked";
  return text + fmt::format(" --threads {}", options.resources.threads.count());
}

std::string kernel_name(const loop::Program& program, const std::string& key) {
  std::string name = "weft";
  std::set<loop::StorageId> named;
  for (const loop::Role role : {loop::Role::output, loop::Role::input}) {
    for (const loop::Access& access : program.accesses) {
      if (program.storages[access.storage].role != role) continue;
      if (role == loop::Role::output && !named.insert(access.storage).second) continue;
      name += fmt::format("_{}{}", program.storages[access.storage].name, access.indices.empty() ? "" : "_");
      for (const loop::IndexId index : access.indices) name += program.indices[index];
    }
  }
  for (char& letter : name) letter = is_plain(letter) ? letter : '_';
  return fmt::format("{:.{}}_{:.8}", name, longest_name - 9, entry_name(key));
}

Expected<void> dump(const std::string& directory, const std::string& name, const KernelTexts& texts) {
  const std::string path = directory + "/" + name;
  for (const auto& [suffix, text] : {std::pair(".loops", &texts.loops), std::pair(".ll", &texts.llvm), std::pair(".s", &texts.assembly)}) {
    if (auto written = write(path + suffix, *text); !written) return written;
  }
  return {};
}

}  // namespace weft
