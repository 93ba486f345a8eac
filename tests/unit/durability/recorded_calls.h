// A record of the system calls that change files below a directory, and what a power loss may leave of them. The binary
// is linked with --wrap, so every such call of the thread that records is seen.
//
// Model: names (creating, renaming, removing) reach the disk in any subset in which a file exists before it is renamed
// or removed; the bytes of a file that was synchronised are there from then on; of others none, half, all, or as many
// zeros. That is less than file systems promise (ext4 keeps the order of names), so what survives here survives there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace durability {

struct Call {
  enum class Kind { create, write, sync, rename, unlink } kind = Kind::create;
  std::string path;      ///< relative to the directory
  std::string other;     ///< new name
  std::string bytes;     ///< written
  std::size_t file = 0;  ///< number of the file: it keeps that through renames
};

/// Records the calls of the body on this thread below the directory.
std::vector<Call> recorded(const std::filesystem::path& directory, const std::function<void()>& body);

/// Calls visit(number of calls made) for every state that a power loss at any point of the calls may leave behind, made
/// anew in `directory`, where `before` are the files that were there. Returns how many states there were.
std::size_t for_each_loss(const std::vector<Call>& calls, const std::filesystem::path& before,
                          const std::filesystem::path& directory, const std::function<void(std::size_t)>& visit);

}  // namespace durability
