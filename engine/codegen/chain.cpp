// Chains: a nonunique level, packed like a compressed one but with a coordinate once per entry of the chain, and the singletons below
// it, with one entry at each position above. Neither stands without the other. A cursor above the last level of a chain is the run
// of entries that share the coordinates so far.
#include "engine/codegen/sorted_level.h"

namespace weft {

namespace {

class ChainLevel : public LevelKindCode {
 public:
  Cursor entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* place, llvm::Value* end) const final {
    return sorted_entry(emit, storage, parent, place, end);
  }
  void locate(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, const FingerCode* finger,
              Found then) const final {
    locate_sorted(emit, storage, cursor, coordinate, finger, then);
  }

 protected:
  ~ChainLevel() = default;
};

class NonuniqueLevel final : public ChainLevel {
 public:
  Range positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor) const override {
    return packed_positions(emit, storage, cursor);
  }
};

class SingletonLevel final : public ChainLevel {
 public:
  Range positions(Emitter& emit, const StorageCode&, const Cursor& cursor) const override { return positions_of_run(emit, cursor); }
};

}  // namespace

const LevelKindCode& nonunique_level() {
  static constexpr NonuniqueLevel kind;
  return kind;
}

const LevelKindCode& singleton_level() {
  static constexpr SingletonLevel kind;
  return kind;
}

}  // namespace weft
