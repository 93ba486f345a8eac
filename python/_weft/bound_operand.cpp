#include "python/_weft/bound_operand.h"

#include <deque>

#include "python/_weft/errors.h"
#include "python/_weft/object.h"
#include "python/_weft/tensor.h"

namespace weft_python {
namespace {

constexpr std::size_t most_matrices = 64;

/// Looked at last first. Under the GIL.
std::deque<std::shared_ptr<KnownMatrix>>* all_matrices = nullptr;
std::deque<std::shared_ptr<KnownMatrix>>& matrices() {
  if (!all_matrices) all_matrices = new std::deque<std::shared_ptr<KnownMatrix>>;
  return *all_matrices;
}

bool refers_to(const Ref& weak, const Ref& object) { return PyWeakref_GetObject(weak.get()) == object.get(); }
bool dead(const Ref& weak) { return PyWeakref_GetObject(weak.get()) == Py_None; }

TensorHandle tensor_of(const weft_engine* engine, const CompressedView& view) {
  TensorHandle made;
  Failure failure;
  const auto make = view.by_columns ? weft_tensor_csc : weft_tensor_csr;
  const std::int32_t kind = make(engine, view.scalar, view.rows, view.columns, view.nnz, view.index_bits, view.pos,
                                 view.crd, view.values, WEFT_BORROW | WEFT_TRUSTED, Out(made), failure);
  if (kind != WEFT_OK) failure.raise(kind);
  return made;
}

}  // namespace

bool KnownMatrix::is(const CompressedView& other, const CompressedArrays& arrays) const {
  return view == other && refers_to(pos, arrays.pos) && refers_to(crd, arrays.crd) &&
         refers_to(values, arrays.values) && (!sorted || sorted->still_of(other));
}

std::shared_ptr<KnownMatrix> known_matrix(const weft_engine* engine, const char* name, const CompressedView& view,
                                          const CompressedArrays& arrays) {
  auto& known = matrices();
  for (const auto& one : known) {
    if (one->is(view, arrays)) return one;
  }
  const Order order = check_compressed(view, name);
  if (order == Order::failed) return nullptr;
  auto made = std::make_shared<KnownMatrix>();
  made->view = view;
  for (const auto& [weak, array] :
       {std::pair{&made->pos, &arrays.pos}, {&made->crd, &arrays.crd}, {&made->values, &arrays.values}}) {
    *weak = Ref::taken(PyWeakref_NewRef(array->get(), nullptr));
    if (!*weak) return nullptr;
  }
  if (order == Order::unsorted) made->sorted = std::make_unique<SortedCopy>(view);
  made->tensor = tensor_of(engine, made->sorted ? made->sorted->view() : view);
  if (!made->tensor) return nullptr;
  std::erase_if(known, [](const auto& one) { return dead(one->pos) || dead(one->crd) || dead(one->values); });
  if (known.size() >= most_matrices) known.pop_back();
  known.push_front(made);
  return made;
}

void forget_matrices() { all_matrices = nullptr; }

bool BoundOperand::set(weft_bindings* bindings, const weft_tensor* tensor, bool changes) {
  Failure failure;
  const std::int32_t kind = weft_bindings_set(bindings, name_.c_str(), tensor, changes ? WEFT_CHANGES : 0, failure);
  if (kind != WEFT_OK) failure.raise(kind);
  return kind == WEFT_OK;
}

BoundOperand::Bound BoundOperand::bind_dense(const weft_engine* engine, weft_bindings* bindings,
                                             const DenseView& view) {
  if (kind_ == Kind::dense && view.values == dense_.values && view.same_layout(dense_)) return Bound::same;
  kind_ = Kind::other;
  TensorHandle made;
  Failure failure;
  const std::int32_t kind = weft_tensor_dense(engine, view.scalar, static_cast<std::uint32_t>(view.order),
                                              view.extents.data(), view.row_major() ? nullptr : view.strides.data(),
                                              view.values, WEFT_BORROW | WEFT_TRUSTED, Out(made), failure);
  if (kind != WEFT_OK) failure.raise(kind);
  if (kind != WEFT_OK || !set(bindings, made.get(), true)) return Bound::failed;
  dense_ = view;
  kind_ = Kind::dense;
  return Bound::anew;
}

BoundOperand::Bound BoundOperand::bind_matrix(const weft_engine* engine, weft_bindings* bindings,
                                              const Operand& operand) {
  Bound bound = Bound::same;
  if (kind_ != operand.kind || !matrix_->is(operand.matrix, operand.arrays)) {
    kind_ = Kind::other;
    bound = Bound::anew;
    matrix_ = known_matrix(engine, name_.c_str(), operand.matrix, operand.arrays);
    if (!matrix_ || !set(bindings, matrix_->tensor.get(), true)) return Bound::failed;
    kind_ = operand.kind;
  }
  if (matrix_->sorted) matrix_->sorted->gather(operand.matrix);
  return bound;
}

BoundOperand::Bound BoundOperand::bind(const weft_engine* engine, weft_bindings* bindings, const Operand& operand) {
  switch (operand.kind) {
    case Kind::csr:
    case Kind::csc:
      return bind_matrix(engine, bindings, operand);
    case Kind::dense:
      return bind_dense(engine, bindings, operand.dense);
    case Kind::tensor: {
      const Tensor& tensor = value_of<Tensor>(operand.object.get());
      if (kind_ == Kind::tensor && serial_ == tensor.serial) return Bound::same;
      kind_ = Kind::other;
      if (!set(bindings, tensor.tensor.get(), tensor.borrowed())) return Bound::failed;
      kind_ = Kind::tensor;
      serial_ = tensor.serial;
      return Bound::anew;
    }
    case Kind::number: {
      *number_ = operand.number;
      if (kind_ == Kind::number) return Bound::same;
      kind_ = Kind::other;
      DenseView view;
      view.values = number_.get();
      view.scalar = WEFT_F64;
      const Bound bound = bind_dense(engine, bindings, view);
      if (bound != Bound::failed) kind_ = Kind::number;
      return bound;
    }
    case Kind::other:
      break;
  }
  raise_input(name_.c_str(), "%s: an operand that cannot be read", name_.c_str());
  return Bound::failed;
}

}  // namespace weft_python
