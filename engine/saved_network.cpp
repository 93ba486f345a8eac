#include "engine/saved_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/compiled_state.h"
#include "runtime/abi.h"

namespace weft {
namespace {

/// The lines of a text, without their ends.
std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    all.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::string_view value_of(const std::vector<std::string_view>& all, std::string_view name) {
  for (const std::string_view line : all) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) return line.substr(name.size() + 1);
  }
  return {};
}

std::unexpected<Error> does_not_fit(std::string_view what) {
  return input_error(fmt::format("the saved kernel is damaged: {}", what));
}

/// Numbers of a nest's parts that something else is looked up by.
Expected<void> check_nest(const SavedNest& saved) {
  const LoweredNest& nest = saved.nest;
  if (auto right = loop::verify(nest.program); !right)
    return right.error().kind == ErrorKind::resource ? std::unexpected(right.error()) : does_not_fit(right.error().message);
  if (nest.tensors.size() != nest.program.storages.size()) return does_not_fit("another number of storages");
  if (nest.indices.size() != nest.program.indices.size()) return does_not_fit("another number of indices");
  if (nest.scaled.size() != nest.coefficients.size()) return does_not_fit("another number of coefficients");
  for (const std::uint32_t word : loop::canonical(nest.program).coefficients) {
    if (word >= nest.coefficients.size()) return does_not_fit("a coefficient is missing");
  }
  if (saved.object.empty()) return does_not_fit("there is no code");
  return {};
}

}  // namespace

Expected<SavedNetwork> saved(const CompiledNetwork& network) {
  const Plan& plan = network.plan();
  SavedNetwork made{.schedule = network.explain(Stage::schedule).value_or(""),
                    .producer = plan.producer,
                    .optimal = plan.optimal,
                    .proof = plan.proof,
                    .grade = network.grade(),
                    .finite = network.state().finite,
                    .nests = {}};
  for (const CompiledNest& nest : network.nests()) {
    CodeOptions code = network.state().code;
    auto object = weft::compile(nest.canonical.program, network.state().target, code);
    if (!object) return std::unexpected(object.error());
    made.nests.push_back({nest.nest, std::move(object->bytes), {}});
    if (!nest.counting) continue;
    code.symbolic = true;
    code.count = false;
    auto counting = weft::compile(nest.canonical.program, network.state().target, code);
    if (!counting) return std::unexpected(counting.error());
    made.nests.back().counting = std::move(counting->bytes);
  }
  return made;
}

void write(ByteWriter& to, const SavedNetwork& network) {
  for (const std::string_view text : {std::string_view(network.schedule), word(network.producer), word(network.optimal),
                                      std::string_view(network.proof)}) {
    to.text(text);
  }
  to.number(static_cast<std::uint64_t>(network.grade));
  to.list(network.finite, [&](bool finite) { to.number(finite ? 1 : 0); });
  to.list(network.nests, [&](const SavedNest& saved) {
    const LoweredNest& nest = saved.nest;
    to.text(loop::print(nest.program));
    to.text(nest.program.name);
    to.numbers(nest.tensors);
    to.numbers(nest.indices);
    to.list(nest.coefficients, [&](double value) { to.real(value); });
    to.numbers(nest.scaled);
    to.list(nest.loops, [&](const LoopOrigin& loop) {
      to.number(loop.statement);
      to.number(loop.depth);
    });
    to.text(saved.object);
    to.text(saved.counting);
  });
}

Expected<SavedNetwork> read_network(ByteReader& from) {
  SavedNetwork network;
  network.schedule = from.text();
  const auto producer = parse_producer(from.text());
  const auto optimal = parse_optimal(from.text());
  network.proof = from.text();
  if (from.good() && (!producer || !optimal)) return does_not_fit("an unknown claim");
  network.producer = producer.value_or(Producer::user);
  network.optimal = optimal.value_or(Optimal::none);
  const std::uint64_t grade = from.number();
  if (grade > static_cast<std::uint64_t>(Specialization::baked)) return does_not_fit("an unknown grade");
  network.grade = static_cast<Specialization>(grade);
  from.list([&] { network.finite.push_back(from.number() != 0); });
  std::vector<std::string> programs, names;
  from.list([&] {
    SavedNest saved;
    programs.push_back(from.text());
    names.push_back(from.text());
    saved.nest.tensors = from.numbers<std::uint32_t>();
    saved.nest.indices = from.numbers<IndexId>();
    from.list([&] { saved.nest.coefficients.push_back(from.real()); });
    saved.nest.scaled = from.numbers<std::uint32_t>();
    from.list([&] {
      const auto statement = static_cast<std::uint32_t>(from.number());
      saved.nest.loops.push_back({statement, static_cast<std::uint32_t>(from.number())});
    });
    saved.object = from.text();
    saved.counting = from.text();
    network.nests.push_back(std::move(saved));
  });
  if (!from.good()) return does_not_fit("it is too short");
  for (std::size_t number = 0; number < network.nests.size(); ++number) {
    auto program = loop::parse(programs[number]);
    if (!program) return does_not_fit(program.error().message);
    network.nests[number].nest.program = std::move(*program);
    network.nests[number].nest.program.name = names[number];
    if (auto right = check_nest(network.nests[number]); !right) return std::unexpected(right.error());
  }
  return network;
}

std::string environment(const CodeOptions& code, const Target& target) {
  return fmt::format("version {}\nkernels abi {} code {} options {}\ngenerator {}\nCPU {}\n", WEFT_VERSION, kernel_abi_version,
                     generated_code_version, code.text(), code_generator_version(), target.text());
}

std::string difference(const std::string& saved, const std::string& here) {
  if (saved == here) return {};
  const std::vector<std::string_view> of_saved = lines(saved), of_here = lines(here);
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"version", "another version of weft"}, {"kernels", "other options of the engine, or another version of weft"},
      {"generator", "another version of LLVM"}, {"CPU", "another CPU"}};
  for (const auto& [name, words] : names) {
    const std::string_view then = value_of(of_saved, name), now = value_of(of_here, name);
    if (then != now) return fmt::format("{}: {}, and this is {}", words, then, now);
  }
  return "another version of weft";
}

}  // namespace weft
