// What gdb and perf see of loaded kernels.
#include <doctest/doctest.h>

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/jit/debugger.h"
#include "engine/jit/jit.h"
#include "engine/jit/perf_map.h"

namespace symbols_test {

using namespace weft;

namespace {

ObjectCode sum_code() {
  const Expected<loop::Program> program =
      loop::parse("program sum\n  index i\n  input a : f64 {dense} access a[i]\n"
                  "  output s : f64 {} access s[]\n  for i: locate a\n    s += a\n");
  REQUIRE(program.has_value());
  const Expected<ObjectCode> object = compile(*program, host_target(), {});
  REQUIRE_MESSAGE(object.has_value(), object.error().message);
  return *object;
}

/// The symbols of a file as a debugger reads them: at the address of their section.
std::vector<CodeSymbol> symbols_in(const unsigned char* file, std::uint64_t bytes) {
  std::vector<CodeSymbol> found;
  Elf64_Ehdr header;
  REQUIRE(bytes >= sizeof header);
  std::memcpy(&header, file, sizeof header);
  REQUIRE(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0);
  REQUIRE(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr) <= bytes);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), file + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    REQUIRE(section.sh_offset + section.sh_size <= bytes);
    const Elf64_Shdr& strings = sections.at(section.sh_link);
    REQUIRE(strings.sh_offset + strings.sh_size <= bytes);
    for (std::uint64_t n = 1; n < section.sh_size / sizeof(Elf64_Sym); ++n) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, file + section.sh_offset + n * sizeof symbol, sizeof symbol);
      REQUIRE(symbol.st_name < strings.sh_size);
      CHECK(ELF64_ST_TYPE(symbol.st_info) == STT_FUNC);
      found.push_back({reinterpret_cast<const char*>(file + strings.sh_offset + symbol.st_name),
                       sections.at(symbol.st_shndx).sh_addr + symbol.st_value, symbol.st_size});
    }
  }
  return found;
}

/// What a debugger that stops now finds in the list.
std::vector<CodeSymbol> known_to_debuggers() {
  std::vector<CodeSymbol> found;
  const WeftDebuggerCode* before = nullptr;
  for (const WeftDebuggerCode* code = __jit_debug_descriptor.first; code != nullptr; code = code->next) {
    CHECK(code->previous == before);
    before = code;
    for (const CodeSymbol& symbol : symbols_in(code->file, code->bytes)) found.push_back(symbol);
  }
  return found;
}

bool contains(const std::vector<CodeSymbol>& all, const CodeSymbol& one) { return std::ranges::find(all, one) != all.end(); }

}  // namespace

TEST_CASE("symbols: a kernel's functions lie where its code is, under its name") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE(jit.has_value());
  const Expected<LoadedCode> code = jit->load(sum_code(), "s_a_i");
  REQUIRE(code.has_value());
  const std::vector<CodeSymbol> symbols = code->symbols();
  const auto entry = std::ranges::find(symbols, "s_a_i", &CodeSymbol::name);
  REQUIRE(entry != symbols.end());
  CHECK(entry->address == reinterpret_cast<std::uintptr_t>(code->function()));
  const auto loops = std::ranges::find(symbols, "s_a_i_loops", &CodeSymbol::name);
  REQUIRE(loops != symbols.end());
  CHECK(loops->bytes > 0);
  CHECK(loops->address != entry->address);
  CHECK(LoadedCode().symbols().empty());
}

TEST_CASE("symbols: a debugger knows of code as long as it is loaded") {
  const Expected<Jit> jit = Jit::create();
  const Expected<Jit> other = Jit::create();
  REQUIRE(jit.has_value());
  REQUIRE(other.has_value());
  CHECK(__jit_debug_descriptor.version == 1);
  const std::size_t before = known_to_debuggers().size();
  std::vector<CodeSymbol> first;
  {
    const Expected<LoadedCode> a = jit->load(sum_code(), "first");
    REQUIRE(a.has_value());
    first = a->symbols();
    {
      const Expected<LoadedCode> b = other->load(sum_code(), "second");
      const Expected<LoadedCode> c = jit->load(sum_code(), "third");
      REQUIRE(b.has_value());
      REQUIRE(c.has_value());
      CHECK(__jit_debug_descriptor.action == 1);
      const std::vector<CodeSymbol> known = known_to_debuggers();
      for (const LoadedCode& code : {*a, *b, *c})
        for (const CodeSymbol& symbol : code.symbols()) CHECK(contains(known, symbol));
    }
    CHECK(__jit_debug_descriptor.action == 2);
    const std::vector<CodeSymbol> known = known_to_debuggers();
    CHECK(contains(known, first.front()));
    CHECK(known.size() == before + first.size());
  }
  CHECK(known_to_debuggers().size() == before);
}

TEST_CASE("symbols: the debugger's list stays whole when threads load and unload") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE(jit.has_value());
  const ObjectCode object = sum_code();
  const std::size_t before = known_to_debuggers().size();
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) (void)jit->load(object, "kernel");
    });
  threads.clear();
  CHECK(known_to_debuggers().size() == before);
}

TEST_CASE("symbols: perf's map has a line for each function, if it is asked for") {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::remove(path.c_str());
  const Expected<Jit> quiet = Jit::create();
  REQUIRE(quiet.has_value());
  REQUIRE(quiet->load(sum_code(), "quiet").has_value());
  CHECK_FALSE(std::ifstream(path).good());
  const Expected<Jit> jit = Jit::create({.perf_map = true});
  REQUIRE(jit.has_value());
  const Expected<LoadedCode> a = jit->load(sum_code(), "s_a_i");
  const Expected<LoadedCode> b = jit->load(sum_code(), "other");
  REQUIRE(a.has_value());
  REQUIRE(b.has_value());
  std::vector<CodeSymbol> written;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    CodeSymbol symbol;
    words >> std::hex >> symbol.address >> symbol.bytes >> symbol.name;
    CHECK(words.eof());
    written.push_back(symbol);
  }
  std::vector<CodeSymbol> wanted = a->symbols();
  for (const CodeSymbol& symbol : b->symbols()) wanted.push_back(symbol);
  CHECK(written == wanted);
  std::remove(path.c_str());

  // Somebody else's link in /tmp is not written through.
  const std::string elsewhere = path + ".elsewhere";
  std::ofstream(elsewhere) << "mine";
  REQUIRE(symlink(elsewhere.c_str(), path.c_str()) == 0);
  append_to_perf_map(wanted);
  std::ifstream untouched(elsewhere);
  std::string text;
  std::getline(untouched, text);
  CHECK(text == "mine");
  std::remove(path.c_str());
  std::remove(elsewhere.c_str());
}

TEST_CASE("symbols: without symbols there is no file") { CHECK(symbol_file({}).empty()); }

}  // namespace symbols_test
