// What generated code and the engine agree on. The layout of Worker and the meaning of the return values are part of
// the kernel cache's key (kernel_abi_version).
#pragma once

#include <cstdint>

namespace weft {

constexpr std::uint32_t kernel_abi_version = 10;

/// One compressed level of an appended output, as far as one chunk fills it. The parents of the level are numbered from
/// the chunk's first coordinate on where level 0 is dense and bound by the root loop.
struct AppendedLevel {
  std::uint64_t* pos = nullptr;    ///< pos[0] = 0, then an end per parent closed so far: always 64 bits
  void* crd = nullptr;             ///< in the width of the storage
  std::uint64_t closed = 0;        ///< parents whose end is written; the engine closes those after the last
  std::uint64_t size = 0;          ///< entries
  std::uint64_t pos_capacity = 0;  ///< parents that pos has room for
  std::uint64_t crd_capacity = 0;  ///< entries that crd has room for
};

/// An output with compressed levels, one per chunk and storage. The kernel keeps sizes in registers and writes them back
/// before it returns or grows.
struct AppendedOutput {
  AppendedLevel* levels = nullptr;     ///< by level of the storage; unused for dense ones
  unsigned char* values = nullptr;     ///< below every entry of the last compressed level, a block of the dense levels
  std::uint64_t values_capacity = 0;   ///< entries of the last compressed level that values has room for
  void* owner = nullptr;               ///< the engine's
};

/// Room for at least one more parent and entry at `level` (and its values, if it is the last compressed one).
/// KernelStatus::done, or limit or out_of_memory: the kernel returns it.
using GrowFunction = std::int32_t(AppendedOutput* output, std::uint64_t level, std::uint64_t parents,
                                  std::uint64_t entries);

/// A workspace with a hashed key: its entries in the order they were made, and an open-addressed table of their numbers.
/// One per thread and storage, all members zero but `allocate` and `owner` before the first kernel runs. Kernels leave it
/// empty; after a status other than done it may not be.
struct HashedTable {
  enum Array : std::uint64_t { slots_array, keys_array, values_array, sorted_array, arrays };

  /// A key whose coordinates fit into 64 bits is told by its tag, all of them side by side; of longer keys it is a hash.
  struct Slot {
    std::uint64_t tag = 0;
    std::uint64_t entry = 0;  ///< 0: free, else an entry + 1
  };
  static constexpr std::uint64_t most_packed_modes = 16;
  static constexpr std::uint64_t most_appended_modes = 64;  ///< of keys that weft_hashed_append() takes

  Slot* slots = nullptr;            ///< found by linear probing from the tag's hash on
  std::uint64_t* keys = nullptr;    ///< entry by entry, its coordinates by mode; its tag, if `deferrable`
  unsigned char* values = nullptr;  ///< a block of dense levels below every entry
  std::uint64_t* sorted = nullptr;  ///< keys in increasing order, each followed by the number of its entry
  std::uint64_t size = 0;           ///< entries
  std::uint64_t slot_count = 0;     ///< a power of two, or none
  std::uint64_t capacity = 0;       ///< entries that keys and values have room for
  std::uint64_t modes = 0;          ///< of the key
  std::uint64_t block_bytes = 0;
  std::int32_t status = 0;          ///< KernelStatus of the last growth
  std::int32_t packed = 0;          ///< 1: tags are whole keys
  /// Bytes of a scalar, if the workspace is only inserted into and then read in order, with tags that are whole keys: tuples
  /// are then appended without a look at the slots, and those of equal keys summed when they are sorted. 0: it is not.
  std::uint32_t deferrable = 0;
  std::uint32_t deferred = 0;       ///< 1: so it is now, until too many tuples have turned out to have equal keys
  std::uint64_t threshold = 0;      ///< tuples at which that is looked at
  std::uint64_t limit = 0;          ///< tuples up to which kernels append by themselves
  std::uint64_t listed = 0;         ///< records of `sorted`
  std::uint64_t made = 0;           ///< 1: the last insertion made its entry
  std::uint8_t bits[most_packed_modes] = {};  ///< of the coordinates of a mode, where tags are whole keys
  std::uint8_t below[most_packed_modes] = {};  ///< where they stand in the tag
  std::uint64_t masks[most_packed_modes] = {};
  std::uint8_t mode_of_bit[64] = {};
  std::uint64_t sorted_room = 0;  ///< words of `sorted`, at least
  const std::uint8_t* cancelled = nullptr;    ///< nonzero: sorting may stop; null: it goes on to its end
  /// Makes an array at least so long and keeps its contents; null where there is no room.
  void* (*allocate)(HashedTable* table, std::uint64_t array, std::uint64_t bytes) = nullptr;
  void* owner = nullptr;
};

/// One per running thread (slot). Written by the engine before the run; failed_* by checked kernels.
struct Worker {
  const std::uint8_t* cancelled = nullptr;  ///< nonzero: stop at the next poll
  unsigned char* scratch = nullptr;         ///< 64-byte aligned; workspaces lie at the offsets given in the frame
  std::uint64_t failed_storage = 0;         ///< status failed_check: storage, level and coordinate or position
  std::uint64_t failed_level = 0;
  std::uint64_t failed_value = 0;
  std::uint64_t* counts = nullptr;  ///< of counting kernels: by loop of the program, iterations are added here
  AppendedOutput* appended = nullptr;  ///< of this chunk, in the order of Signature::appended
  GrowFunction* grow = nullptr;
  HashedTable* tables = nullptr;  ///< in the order of Signature::hashed, then of Signature::sorted
  std::uint64_t present = 0;      ///< bit n is set where something was accumulated into output n of Signature::told
  std::uint64_t fresh = 0;        ///< bit n: output n of Signature::begun holds anything, and not what is to be added to
  std::uint64_t clean = 0;        ///< 1 once a kernel has cleared the marks in `scratch`, which each leaves clean that is done
};

enum class KernelStatus : std::int32_t { done = 0, cancelled = 1, out_of_memory = 2, limit = 3, failed_check = 4 };

/// Runs the root loop for coordinates [begin, end) of the root index (a program without a loop: once, begin 0, end 1).
/// Thread safe for disjoint ranges with different Workers, if targets are owned or private.
using KernelFunction = std::int32_t(const std::uint64_t* frame, std::uint64_t begin, std::uint64_t end, Worker* worker);

/// What kernels call, by these names: the touched coordinates of an accumulator in increasing order. `marks` are 1 for
/// those and 0 for all others below `extent`; `touched` has room for `extent` of them. Thread safe for different lists.
extern "C" {
void weft_sort_touched_32(std::uint32_t* touched, std::uint64_t count, const std::uint8_t* marks, std::uint64_t extent);
void weft_sort_touched_64(std::uint64_t* touched, std::uint64_t count, const std::uint8_t* marks, std::uint64_t extent);
/// Lists the coordinates below `extent` whose mark is not 0, in increasing order; how many.
std::uint64_t weft_list_marked_32(std::uint32_t* list, const std::uint8_t* marks, std::uint64_t extent);

/// The first position in [begin, end) whose coordinate is not below `coordinate`, or `end`; coordinates increase.
std::uint64_t weft_lower_bound_32(const std::uint32_t* crd, std::uint64_t begin, std::uint64_t end, std::uint64_t coordinate);
std::uint64_t weft_lower_bound_64(const std::uint64_t* crd, std::uint64_t begin, std::uint64_t end, std::uint64_t coordinate);

/// Makes the table fit for a workspace, whose coordinates stay below `extents` (by mode), and empties it. `scalar_bytes`
/// (8: double, 4: float) where no kernel looks keys up or reads them unsorted, else 0.
void weft_hashed_open(HashedTable* table, std::uint64_t modes, std::uint64_t block_bytes, const std::uint64_t* extents,
                      std::uint64_t scalar_bytes);
constexpr std::uint64_t no_entry = ~std::uint64_t{0};
/// The entry of a key, made with zeros if there is none; no_entry if it has no room: `status` says why.
std::uint64_t weft_hashed_insert(HashedTable* table, const std::uint64_t* key);
/// Takes back the entry made last.
void weft_hashed_remove_last(HashedTable* table);
/// The entry of a key, or no_entry.
std::uint64_t weft_hashed_find(const HashedTable* table, const std::uint64_t* key);
/// Fills `sorted`. KernelStatus: done, limit or cancelled.
std::int32_t weft_hashed_sort(HashedTable* table);
/// Appends all entries, in order, to an output below the fiber that is open: its levels from `first` on are compressed and the key's
/// modes, its values one scalar for each entry. Bit n of `wide`: level n has coordinates of 64 bits. `counts`: sizes are counted and
/// nothing is written. Stands for sorting and a loop for each mode that appends. KernelStatus: done, cancelled, or what `grow` says.
std::int32_t weft_hashed_append(HashedTable* table, AppendedOutput* output, std::uint64_t first, std::uint64_t wide,
                                std::uint64_t counts, GrowFunction* grow);
/// At the cost of what is in it.
void weft_hashed_clear(HashedTable* table);
/// The taken ones of the slots [begin, end) of a hashed level (runtime/gaps.h) whose coordinates lie in [first, last), in
/// increasing order: pairs of coordinate and slot in `sorted` of an otherwise unused table, `listed` of them. `crd` has
/// `crd_bits`, 32 or 64, per slot. KernelStatus: done, limit or cancelled.
std::int32_t weft_sort_slots(HashedTable* list, const void* crd, std::uint64_t crd_bits, std::uint64_t begin,
                             std::uint64_t end, std::uint64_t first, std::uint64_t last);
}

}  // namespace weft
