#include "python/_weft/bound_operand.h"

#include "python/_weft/errors.h"
#include "python/_weft/holders.h"
#include "python/_weft/object.h"
#include "python/_weft/tensor.h"

namespace weft_python {
namespace {

/// Smaller arrays are not watched: what may be made of one takes less than that.
constexpr std::uint64_t watched_bytes = 1 << 20;

/// A number in the place of what has died; there from the first binding on.
weft_tensor* nothing = nullptr;

bool make_nothing(const weft_engine* engine) {
  if (nothing) return true;
  const double zero = 0;
  Failure failure;
  const std::int32_t kind =
      weft_tensor_dense(engine, WEFT_F64, 0, nullptr, nullptr, &zero, WEFT_COPY, &nothing, failure);
  return kind == WEFT_OK || failure.raise(kind) != nullptr;
}

}  // namespace

BoundOperand::~BoundOperand() { hold_only(nullptr); }

void BoundOperand::hold_only(const void* key) {
  if (held_) release_hold(held_, this);
  held_ = key;
  if (held_) hold(held_, this);
}

void BoundOperand::let_go() {
  hold_only(nullptr);
  kind_ = Kind::other;
  // Where there is no memory for this the next operand takes its place.
  weft_bindings_set(bindings_, name_.c_str(), nothing, 0, nullptr);
  matrix_.reset();
  gathered_ = {};
  array_ = Ref();
}

bool BoundOperand::set(const weft_tensor* tensor, bool changes) {
  Failure failure;
  const std::int32_t kind = weft_bindings_set(bindings_, name_.c_str(), tensor, changes ? WEFT_CHANGES : 0, failure);
  return kind == WEFT_OK || failure.raise(kind) != nullptr;
}

BoundOperand::Bound BoundOperand::bind_dense(const weft_engine* engine, const DenseView& view, PyObject* array) {
  if (kind_ == Kind::dense && view.values == dense_.values && view.same_layout(dense_)) return Bound::same;
  kind_ = Kind::other;
  TensorHandle made;
  Failure failure;
  const std::int32_t kind = weft_tensor_dense(engine, view.scalar, static_cast<std::uint32_t>(view.order),
                                              view.extents.data(), view.row_major() ? nullptr : view.strides.data(),
                                              view.values, WEFT_BORROW | WEFT_TRUSTED, Out(made), failure);
  if (kind != WEFT_OK) failure.raise(kind);
  if (kind != WEFT_OK || !set(made.get(), true)) return Bound::failed;
  matrix_.reset();
  array_ = Ref();
  if (array && view.size() >= watched_bytes / sizeof(double)) {
    array_ = watch(array, let_go_of);
    if (!array_) return Bound::failed;
  }
  hold_only(array_.get());
  dense_ = view;
  kind_ = Kind::dense;
  return Bound::anew;
}

BoundOperand::Bound BoundOperand::bind_matrix(const weft_engine* engine, const Operand& operand, bool verify) {
  if (!verify && kind_ == operand.kind && matrix_->is(engine, operand.matrix, operand.arrays)) {
    if (matrix_->sorted) matrix_->sorted->values(engine, operand.matrix, gathered_);
    return Bound::same;
  }
  kind_ = Kind::other;
  // The matrix before may die while others have the GIL, and its death must not take away the values gathered here.
  hold_only(nullptr);
  if (!set_matrix(engine, operand, verify)) {
    let_go();
    return Bound::failed;
  }
  hold_only(matrix_.get());
  kind_ = operand.kind;
  return Bound::anew;
}

bool BoundOperand::set_matrix(const weft_engine* engine, const Operand& operand, bool verify) {
  const auto matrix = known_matrix(engine, name_.c_str(), operand.matrix, operand.arrays, verify);
  if (!matrix) return false;
  if (!matrix->sorted || matrix->sorted->in_order()) {
    if (!set(matrix->tensor.get(), true)) return false;
  } else {
    // Values of its own: the same matrix may be in another call at the same time.
    const void* const values = matrix->sorted->values(engine, operand.matrix, gathered_);
    TensorHandle own;
    Failure failure;
    const std::int32_t kind =
        weft_tensor_same_pattern(engine, matrix->tensor.get(), operand.matrix.scalar, values,
                                 weft_tensor_nnz(matrix->tensor.get()), WEFT_BORROW, Out(own), failure);
    if (kind != WEFT_OK) failure.raise(kind);
    if (kind != WEFT_OK || !set(own.get(), true)) return false;
  }
  matrix_ = matrix;
  return true;
}

BoundOperand::Bound BoundOperand::bind(const weft_engine* engine, const Operand& operand, bool verify) {
  if (!make_nothing(engine)) return Bound::failed;
  switch (operand.kind) {
    case Kind::csr:
    case Kind::csc:
    case Kind::bsr:
    case Kind::dia:
    case Kind::coo:
      return bind_matrix(engine, operand, verify);
    case Kind::dense:
      return bind_dense(engine, operand.dense, operand.object.get());
    case Kind::tensor: {
      Tensor& tensor = value_of<Tensor>(operand.object.get());
      if (kind_ == Kind::tensor && held_ == &tensor) return Bound::same;
      kind_ = Kind::other;
      if (!set(tensor.tensor.get(), tensor.borrowed())) return Bound::failed;
      matrix_.reset();
      hold_only(&tensor);
      kind_ = Kind::tensor;
      return Bound::anew;
    }
    case Kind::number: {
      DenseView view;
      if (!write_number(name_.c_str(), operand, *number_, view)) return Bound::failed;
      if (kind_ == Kind::number && dense_.scalar == view.scalar) return Bound::same;
      const Bound bound = bind_dense(engine, view, nullptr);
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
