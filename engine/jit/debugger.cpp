#include "engine/jit/debugger.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <mutex>

extern "C" {
WeftDebuggerDescriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
// Not to be merged with other empty functions, nor left out: a debugger's breakpoint is here.
void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
}

namespace weft {
namespace {

constexpr std::uint32_t registered = 1;
constexpr std::uint32_t unregistered = 2;

// The list is the process's, as the protocol wants it; engines share it.
std::mutex& list_mutex() {
  static std::mutex mutex;
  return mutex;
}

template <class Part>
void append(std::vector<unsigned char>& file, const Part& part) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&part);
  file.insert(file.end(), bytes, bytes + sizeof(Part));
}

/// Strings after each other, each ended by 0; the first is empty.
class Strings {
 public:
  std::uint32_t add(std::string_view text) {
    const auto place = static_cast<std::uint32_t>(bytes_.size());
    bytes_.append(text);
    bytes_.push_back('\0');
    return place;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

}  // namespace

std::string symbol_name(const std::string& kernel, const std::string& function) {
  if (function == "weft_kernel") return kernel;
  const std::string_view prefix = "weft_";
  return kernel + "_" + (function.starts_with(prefix) ? function.substr(prefix.size()) : function);
}

// Header, four section headers behind the null one (code, of which only the place is told; strings; symbols), strings,
// symbols.
std::vector<unsigned char> symbol_file(std::span<const CodeSymbol> symbols) {
  if (symbols.empty()) return {};
  std::uint64_t begin = symbols.front().address;
  std::uint64_t end = begin;
  Strings strings;
  std::vector<Elf64_Sym> table(1);
  for (const CodeSymbol& symbol : symbols) {
    begin = std::min(begin, symbol.address);
    end = std::max(end, symbol.address + symbol.bytes);
  }
  constexpr unsigned char code_section = 1;
  for (const CodeSymbol& symbol : symbols) {
    Elf64_Sym one{};
    one.st_name = strings.add(symbol.name);
    one.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    one.st_shndx = code_section;
    one.st_value = symbol.address - begin;
    one.st_size = symbol.bytes;
    table.push_back(one);
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = sizeof(Elf64_Ehdr);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 2;

  Elf64_Shdr code{};
  code.sh_name = strings.add(".text");
  code.sh_type = SHT_NOBITS;
  code.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  code.sh_addr = begin;
  code.sh_size = end - begin;
  code.sh_addralign = 16;
  Elf64_Shdr names{};
  names.sh_name = strings.add(".strtab");
  names.sh_type = SHT_STRTAB;
  names.sh_offset = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr);
  names.sh_addralign = 1;
  Elf64_Shdr entries{};
  entries.sh_name = strings.add(".symtab");
  entries.sh_type = SHT_SYMTAB;
  names.sh_size = strings.bytes().size();
  entries.sh_offset = (names.sh_offset + names.sh_size + 7) & ~std::uint64_t{7};
  entries.sh_size = table.size() * sizeof(Elf64_Sym);
  entries.sh_link = 2;
  entries.sh_info = 1;  // the first that is not local
  entries.sh_addralign = 8;
  entries.sh_entsize = sizeof(Elf64_Sym);

  std::vector<unsigned char> file;
  append(file, header);
  append(file, Elf64_Shdr{});
  append(file, code);
  append(file, names);
  append(file, entries);
  file.insert(file.end(), strings.bytes().begin(), strings.bytes().end());
  file.resize(entries.sh_offset);
  for (const Elf64_Sym& symbol : table) append(file, symbol);
  return file;
}

struct DebuggerEntry::State {
  std::vector<unsigned char> file;
  WeftDebuggerCode code{};
};

DebuggerEntry::DebuggerEntry(std::span<const CodeSymbol> symbols) : state_(std::make_unique<State>()) {
  state_->file = symbol_file(symbols);
  state_->code.file = state_->file.data();
  state_->code.bytes = state_->file.size();
  const std::lock_guard lock(list_mutex());
  WeftDebuggerDescriptor& list = __jit_debug_descriptor;
  state_->code.next = list.first;
  if (list.first != nullptr) list.first->previous = &state_->code;
  list.first = &state_->code;
  list.relevant = &state_->code;
  list.action = registered;
  __jit_debug_register_code();
}

std::size_t debugger_entries() {
  const std::lock_guard lock(list_mutex());
  std::size_t count = 0;
  for (const WeftDebuggerCode* code = __jit_debug_descriptor.first; code != nullptr; code = code->next) ++count;
  return count;
}

DebuggerEntry::~DebuggerEntry() {
  const std::lock_guard lock(list_mutex());
  WeftDebuggerDescriptor& list = __jit_debug_descriptor;
  WeftDebuggerCode& code = state_->code;
  if (code.previous != nullptr) code.previous->next = code.next;
  if (code.next != nullptr) code.next->previous = code.previous;
  if (list.first == &code) list.first = code.next;
  list.relevant = &code;
  list.action = unregistered;
  __jit_debug_register_code();
}

}  // namespace weft
