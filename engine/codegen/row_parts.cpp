// Rows of a few elements that a kernel adds to in memory, a rest of 6 lanes of 8, say: written and read as 4 and 2. What a masked store
// has written cannot be handed to the next load, which waits until it is in the cache: x[j,a] of six a, added to once an entry and
// multiplied by 6 x 6 blocks, took 3.9 ms with masks, 1.0 without (a row of eight takes 1.0). What the kernel only reads keeps its mask.
#include <bit>

#include "engine/codegen/generate.h"

namespace weft {
namespace {

struct RowPart {
  unsigned first = 0;
  unsigned lanes = 0;
};

// The lanes of a rest, which come first, the widest part first.
std::vector<RowPart> parts_of(const Piece& piece) {
  const auto* mask = llvm::cast<llvm::Constant>(piece.mask);
  unsigned lanes = 0;
  while (lanes < piece.lanes && mask->getAggregateElement(lanes)->isOneValue()) ++lanes;
  std::vector<RowPart> parts;
  for (unsigned first = 0; first < lanes; first += parts.back().lanes) parts.push_back({first, std::bit_floor(lanes - first)});
  return parts;
}

// A vector of so many lanes, of which those of the part are the first ones of another.
std::vector<int> replaced(unsigned lanes, const RowPart& part) {
  std::vector<int> picks;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const bool inside = lane >= part.first && lane < part.first + part.lanes;
    picks.push_back(static_cast<int>(inside ? lanes + lane - part.first : lane));
  }
  return picks;
}

}  // namespace

bool Generator::in_parts(const StorageCode& storage, const Piece& piece) const {
  return piece.mask && llvm::isa<llvm::Constant>(piece.mask) && storage.storage->role != loop::Role::input;
}

llvm::Value* Generator::load_parts(const StorageCode& storage, const Piece& piece, llvm::Value* base) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const unsigned bytes = scalar_bytes(storage.storage->scalar);
  llvm::Value* row = llvm::Constant::getNullValue(llvm::FixedVectorType::get(storage.type, piece.lanes));
  for (const RowPart& part : parts_of(piece)) {
    llvm::Value* place = emit_->address(storage.type, base, emit_->add(piece.offset, emit_->constant(part.first)));
    llvm::Value* some = emit_->load(llvm::FixedVectorType::get(storage.type, part.lanes), place, bytes);
    std::vector<int> widened;
    for (unsigned lane = 0; lane < piece.lanes; ++lane) widened.push_back(lane < part.lanes ? static_cast<int>(lane) : -1);
    row = ir.CreateShuffleVector(row, ir.CreateShuffleVector(some, widened), replaced(piece.lanes, part));
  }
  return row;
}

void Generator::store_parts(const StorageCode& storage, const Piece& piece, llvm::Value* base, llvm::Value* value) {
  const unsigned bytes = scalar_bytes(storage.storage->scalar);
  for (const RowPart& part : parts_of(piece)) {
    std::vector<int> picks;
    for (unsigned lane = 0; lane < part.lanes; ++lane) picks.push_back(static_cast<int>(part.first + lane));
    llvm::Value* place = emit_->address(storage.type, base, emit_->add(piece.offset, emit_->constant(part.first)));
    emit_->store(emit_->ir().CreateShuffleVector(value, picks), place, bytes);
  }
}

}  // namespace weft
