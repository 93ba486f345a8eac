#include "python/_weft/bound_operand.h"

#include "python/_weft/errors.h"
#include "python/_weft/object.h"
#include "python/_weft/tensor.h"

namespace weft_python {
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
                                              const Operand& operand, bool verify) {
  if (!verify && kind_ == operand.kind && matrix_->is(operand.matrix, operand.arrays)) {
    if (matrix_->sorted) matrix_->sorted->gather(operand.matrix, gathered_.data());
    return Bound::same;
  }
  kind_ = Kind::other;
  matrix_ = known_matrix(engine, name_.c_str(), operand.matrix, operand.arrays, verify);
  if (!matrix_) return Bound::failed;
  if (!matrix_->sorted) {
    if (!set(bindings, matrix_->tensor.get(), true)) return Bound::failed;
  } else {
    // Values of its own: the same matrix may be in another call at the same time.
    gathered_.resize(matrix_->sorted->value_bytes());
    matrix_->sorted->gather(operand.matrix, gathered_.data());
    TensorHandle own;
    Failure failure;
    const std::int32_t kind =
        weft_tensor_same_pattern(engine, matrix_->tensor.get(), operand.matrix.scalar, gathered_.data(),
                                 weft_tensor_nnz(matrix_->tensor.get()), WEFT_BORROW, Out(own), failure);
    if (kind != WEFT_OK) failure.raise(kind);
    if (kind != WEFT_OK || !set(bindings, own.get(), true)) return Bound::failed;
  }
  kind_ = operand.kind;
  return Bound::anew;
}

BoundOperand::Bound BoundOperand::bind(const weft_engine* engine, weft_bindings* bindings, const Operand& operand,
                                       bool verify) {
  switch (operand.kind) {
    case Kind::csr:
    case Kind::csc:
      return bind_matrix(engine, bindings, operand, verify);
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
