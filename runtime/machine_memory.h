// How much memory there is for arrays.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Bytes that the arrays of this process can fill: the machine's memory or, in control groups that may have less, theirs without
/// the 64 MB that code, threads and solver take beside arrays: in a container of 512 MB 448 MB. Read once.
std::uint64_t machine_memory();

/// The least that the groups of a process may have, in bytes; ~0 where none is limited. `groups`: what /proc/self/cgroup says;
/// `mounted`: where the file systems of both versions are (/sys/fs/cgroup). Throws std::bad_alloc.
std::uint64_t memory_of_groups(const std::string& groups, const std::string& mounted);

}  // namespace weft
