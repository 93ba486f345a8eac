#include "engine/build_id.h"

#include <link.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace weft {
namespace {

struct Search {
  std::uintptr_t address = 0;
  std::string found;
};

bool contains(const dl_phdr_info& object, std::uintptr_t address) {
  for (const ElfW(Phdr)& part : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    const std::uintptr_t begin = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz) return true;
  }
  return false;
}

std::string hex(std::span<const unsigned char> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

// Notes follow each other: name and contents, each padded to four bytes, behind a header with their sizes.
std::string identifier_in(std::span<const unsigned char> notes) {
  const auto padded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes = notes.subspan(sizeof note);
    const std::size_t name = padded(note.n_namesz);
    if (notes.size() < name || notes.size() - name < note.n_descsz) break;
    const bool is_gnu = note.n_namesz == 4 && std::memcmp(notes.data(), "GNU", 4) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID) return hex(notes.subspan(name, note.n_descsz));
    if (notes.size() < name + padded(note.n_descsz)) break;
    notes = notes.subspan(name + padded(note.n_descsz));
  }
  return {};
}

int visit(dl_phdr_info* object, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (!contains(*object, search.address)) return 0;
  for (const ElfW(Phdr)& part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (part.p_type != PT_NOTE || !search.found.empty()) continue;
    search.found = identifier_in({reinterpret_cast<const unsigned char*>(object->dlpi_addr + part.p_vaddr), part.p_memsz});
  }
  return 1;
}

}  // namespace

std::string build_id() {
  Search search{reinterpret_cast<std::uintptr_t>(&visit), {}};
  dl_iterate_phdr(visit, &search);
  return search.found;
}

}  // namespace weft
