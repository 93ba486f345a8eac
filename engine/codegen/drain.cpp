#include "engine/codegen/drain.h"

#include <algorithm>
#include <cstddef>

#include "engine/codegen/structure.h"
#include "runtime/abi.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

const loop::Step* step_of(const loop::For& each, loop::Use use) {
  const auto found = std::ranges::find(each.steps, use, &loop::Step::use);
  return found == each.steps.end() ? nullptr : &*found;
}

/// The one statement of a block, if it is of that kind.
template <class T>
const T* only(const loop::Block& block) {
  return block.size() == 1 ? std::get_if<T>(&block.front().node) : nullptr;
}

}  // namespace

/// None: the loops are walked, each entry through all of them. So they are where iterations are counted or accesses checked.
std::optional<Generator::Drain> Generator::find_drain(const loop::For& each, const Scope& scope) const {
  const loop::Step* drives = step_of(each, loop::Use::drive);
  const loop::Step* appends = step_of(each, loop::Use::append);
  if (!drives || !appends || drives->algorithm != loop::Algorithm::sort || options_.count || emit_->checked()) return std::nullopt;
  const StorageCode& workspace = storage_of(drives->access);
  const StorageCode& output = storage_of(appends->access);
  const loop::Access& read = program_.accesses[drives->access];
  const loop::Access& written = program_.accesses[appends->access];
  const std::uint32_t key = key_levels(*workspace.storage);
  const std::uint32_t first = scope.cursors[appends->access].bound;
  const std::size_t levels = output.storage->levels.size();
  if (!workspace.size.place() || scope.cursors[drives->access].bound != 0 || key != workspace.storage->levels.size() ||
      first + key != levels || levels > HashedTable::most_appended_modes || workspace.storage->scalar != output.storage->scalar)
    return std::nullopt;
  const loop::For* one = &each;
  for (std::uint32_t mode = 0; mode < key; ++mode) {
    if (mode > 0) one = only<loop::For>(one->body);
    if (!one || one->steps.size() != 2 || one->marks.vector || read.indices[mode] != one->index ||
        written.indices[first + mode] != one->index || !is_compressed(output.level(first + mode).kind))
      return std::nullopt;
    const loop::Step* drive = step_of(*one, loop::Use::drive);
    const loop::Step* append = step_of(*one, loop::Use::append);
    if (!drive || !append || drive->access != drives->access || append->access != appends->access) return std::nullopt;
  }
  const auto* sum = only<loop::Accumulate>(one->body);
  if (!sum || sum->target != appends->access || sum->factors != std::vector{drives->access} || sum->negative || sum->coefficient)
    return std::nullopt;
  return Drain{drives->access, *appends};
}

/// Code for each of the loops would be longer, and slower: an entry that differs from the one before in its last mode went through all
/// of them.
void Generator::append_table(const Drain& drain, const Scope& scope) {
  const StorageCode& workspace = storage_of(drain.workspace);
  const StorageCode& output = storage_of(drain.appends.access);
  const AppendedCode& code = appended_.at(output.id);
  open_fibers(std::span(&drain.appends, 1), scope);
  std::uint64_t wide = 0;
  for (std::size_t level = 0; level < output.levels.size(); ++level)
    if (output.storage->levels[level].crd_bits == 64) wide |= std::uint64_t{1} << level;
  store_table_size(workspace);
  store_appended_size(output.id);
  emit_->return_unless_done(emit_->call(
      "weft_hashed_append", emit_->ir().getInt32Ty(),
      {workspace.table, code.output, emit_->constant(scope.cursors[drain.appends.access].bound), emit_->constant(wide),
       emit_->constant(options_.symbolic ? 1 : 0), emit_->worker_member(offsetof(Worker, grow))}));
  emit_->set(code.size, emit_->load(emit_->word(), appended_level(output.id, code.last, offsetof(AppendedLevel, size)), 8));
  emit_->set(code.room, appended_room(output.id, code.last));
}

}  // namespace weft
