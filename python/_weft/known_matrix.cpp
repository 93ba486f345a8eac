#include "python/_weft/known_matrix.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "python/_weft/errors.h"
#include "python/_weft/holders.h"

namespace weft_python {
namespace {

constexpr std::size_t most_matrices = 64;

/// Looked at last first. Under the GIL; never destroyed.
std::deque<std::shared_ptr<const KnownMatrix>>* all_matrices = nullptr;
std::deque<std::shared_ptr<const KnownMatrix>>& matrices() {
  if (!all_matrices) all_matrices = new std::deque<std::shared_ptr<const KnownMatrix>>;
  return *all_matrices;
}

/// By weak reference.
std::unordered_map<const void*, const KnownMatrix*>* all_watched = nullptr;
std::unordered_map<const void*, const KnownMatrix*>& watched() {
  if (!all_watched) all_watched = new std::unordered_map<const void*, const KnownMatrix*>;
  return *all_watched;
}

/// An array has died: so has the matrix, and whatever is bound to it lets go.
void array_died(const void* weak) {
  const auto found = watched().find(weak);
  if (found == watched().end()) return;
  const KnownMatrix* const matrix = found->second;
  auto& known = matrices();
  const auto place = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.get() == matrix; });
  const std::shared_ptr<const KnownMatrix> kept = place == known.end() ? nullptr : *place;
  if (place != known.end()) known.erase(place);
  let_go_of(matrix);
}

bool refers_to(const Ref& weak, const Ref& object) {
  return !weak ? !object : object && PyWeakref_GetObject(weak.get()) == object.get();
}

/// Of the matrix, or of its sorted copy; of one that has the pattern of another nothing is looked at again.
bool make_tensor_of(KnownMatrix& made, const weft_engine* engine, const KnownMatrix* like) {
  CompressedView view = made.view;
  if (made.sorted) view = made.sorted->view(made.sorted->values(engine, made.view, made.gathered));
  Failure failure;
  const std::int32_t kind =
      like ? weft_tensor_same_pattern(engine, like->tensor.get(), view.scalar, view.values, view.stored(), WEFT_BORROW,
                                      Out(made.tensor), failure)
           : matrix_tensor(engine, view, made.diagonals.get(), WEFT_BORROW | WEFT_TRUSTED, Out(made.tensor), failure);
  if (kind != WEFT_OK) failure.raise(kind);
  return kind == WEFT_OK;
}

}  // namespace

bool KnownMatrix::is(const weft_engine* engine, const CompressedView& other, const CompressedArrays& arrays) const {
  return view == other && refers_to(pos, arrays.pos) && refers_to(crd, arrays.crd) &&
         refers_to(values, arrays.values) && (!sorted || sorted->still_of(engine, other)) &&
         (!diagonals || diagonals->still_of(other));
}

bool KnownMatrix::has_pattern_of(const CompressedView& other, const CompressedArrays& arrays) const {
  CompressedView with_its_values = other;
  with_its_values.values = view.values;
  with_its_values.value_count = view.value_count;
  return !sorted && view == with_its_values && refers_to(pos, arrays.pos) && refers_to(crd, arrays.crd) &&
         (!diagonals || diagonals->still_of(other));
}

std::shared_ptr<const KnownMatrix> known_matrix(const weft_engine* engine, const char* name, const CompressedView& view,
                                                const CompressedArrays& arrays, bool anew) {
  std::shared_ptr<const KnownMatrix> like;
  for (const auto& one : matrices()) {
    if (anew) break;
    if (one->is(engine, view, arrays)) return one;
    if (!like && one->has_pattern_of(view, arrays)) like = one;
  }
  const Order order = like ? Order::canonical : check_compressed(view, name);
  if (order == Order::failed) return nullptr;
  auto made = std::make_shared<KnownMatrix>();
  made->view = view;
  for (const auto& [weak, array] :
       {std::pair{&made->pos, &arrays.pos}, {&made->crd, &arrays.crd}, {&made->values, &arrays.values}}) {
    if (!*array) continue;
    *weak = watch(array->get(), array_died);
    if (!*weak) return nullptr;
    watched()[weak->get()] = made.get();
  }
  if (like) made->diagonals = like->diagonals;
  if (view.arrangement == Arrangement::diagonals && !like) made->diagonals = std::make_shared<DiagonalLevel>(view);
  if (order == Order::unsorted) made->sorted = std::make_unique<SortedCopy>(engine, view);
  if (!make_tensor_of(*made, engine, like.get())) return nullptr;
  auto& known = matrices();
  if (anew) std::erase_if(known, [&](const auto& one) { return one->is(engine, view, arrays); });
  if (known.size() >= most_matrices) known.pop_back();
  known.push_front(made);
  return made;
}

KnownMatrix::~KnownMatrix() {
  for (const Ref* weak : {&pos, &crd, &values}) watched().erase(weak->get());
}

void forget_matrices() {
  all_matrices = nullptr;
  all_watched = nullptr;
}

}  // namespace weft_python
