#include "python/_weft/known_matrix.h"

#include <deque>

#include "python/_weft/errors.h"

namespace weft_python {
namespace {

constexpr std::size_t most_matrices = 64;

/// Looked at last first. Under the GIL; never destroyed.
std::deque<std::shared_ptr<const KnownMatrix>>* all_matrices = nullptr;
std::deque<std::shared_ptr<const KnownMatrix>>& matrices() {
  if (!all_matrices) all_matrices = new std::deque<std::shared_ptr<const KnownMatrix>>;
  return *all_matrices;
}

bool refers_to(const Ref& weak, const Ref& object) { return PyWeakref_GetObject(weak.get()) == object.get(); }
bool dead(const Ref& weak) { return PyWeakref_GetObject(weak.get()) == Py_None; }

/// Of the matrix, or of its sorted copy; of one that has the pattern of another nothing is looked at again.
bool make_tensor_of(KnownMatrix& made, const weft_engine* engine, const KnownMatrix* like) {
  CompressedView view = made.view;
  if (made.sorted) {
    made.gathered.resize(made.sorted->value_bytes());
    made.sorted->gather(made.view, made.gathered.data());
    view = made.sorted->view(made.gathered.data());
  }
  const auto make = view.by_columns ? weft_tensor_csc : weft_tensor_csr;
  Failure failure;
  const std::int32_t kind =
      like ? weft_tensor_same_pattern(engine, like->tensor.get(), view.scalar, view.values, view.nnz, WEFT_BORROW,
                                      Out(made.tensor), failure)
           : make(engine, view.scalar, view.rows, view.columns, view.nnz, view.index_bits, view.pos, view.crd,
                  view.values, WEFT_BORROW | WEFT_TRUSTED, Out(made.tensor), failure);
  if (kind != WEFT_OK) failure.raise(kind);
  return kind == WEFT_OK;
}

}  // namespace

bool KnownMatrix::is(const CompressedView& other, const CompressedArrays& arrays) const {
  return view == other && refers_to(pos, arrays.pos) && refers_to(crd, arrays.crd) &&
         refers_to(values, arrays.values) && (!sorted || sorted->still_of(other));
}

bool KnownMatrix::has_pattern_of(const CompressedView& other, const CompressedArrays& arrays) const {
  CompressedView with_its_values = other;
  with_its_values.values = view.values;
  with_its_values.value_count = view.value_count;
  return !sorted && view == with_its_values && refers_to(pos, arrays.pos) && refers_to(crd, arrays.crd);
}

std::shared_ptr<const KnownMatrix> known_matrix(const weft_engine* engine, const char* name, const CompressedView& view,
                                                const CompressedArrays& arrays, bool anew) {
  std::shared_ptr<const KnownMatrix> like;
  for (const auto& one : matrices()) {
    if (anew) break;
    if (one->is(view, arrays)) return one;
    if (!like && one->has_pattern_of(view, arrays)) like = one;
  }
  const Order order = like ? Order::canonical : check_compressed(view, name);
  if (order == Order::failed) return nullptr;
  auto made = std::make_shared<KnownMatrix>();
  made->view = view;
  for (const auto& [weak, array] :
       {std::pair{&made->pos, &arrays.pos}, {&made->crd, &arrays.crd}, {&made->values, &arrays.values}}) {
    *weak = Ref::taken(PyWeakref_NewRef(array->get(), nullptr));
    if (!*weak) return nullptr;
  }
  if (order == Order::unsorted) made->sorted = std::make_unique<SortedCopy>(view);
  if (!make_tensor_of(*made, engine, like.get())) return nullptr;
  auto& known = matrices();
  std::erase_if(known, [&](const auto& one) {
    return dead(one->pos) || dead(one->crd) || dead(one->values) || (anew && one->is(view, arrays));
  });
  if (known.size() >= most_matrices) known.pop_back();
  known.push_front(made);
  return made;
}

void forget_matrices() { all_matrices = nullptr; }

}  // namespace weft_python
