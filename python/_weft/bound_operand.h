// What an operand of a kernel was bound to, so that the same one again costs a comparison.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "python/_weft/compressed.h"
#include "python/_weft/dense.h"
#include "python/_weft/handles.h"
#include "python/_weft/known_matrix.h"
#include "python/_weft/operand.h"

namespace weft_python {

class BoundOperand {
 public:
  BoundOperand(std::string name, weft_bindings* bindings) : name_(std::move(name)), bindings_(bindings) {}
  ~BoundOperand();
  BoundOperand(const BoundOperand&) = delete;
  BoundOperand& operator=(const BoundOperand&) = delete;
  const std::string& name() const { return name_; }
  enum class Bound { same, anew, failed };
  /// Sets the operand in the bindings unless it is the one that is set; failed with an error set.
  /// `verify`: indices of matrices are looked at, whatever is known of them.
  Bound bind(const weft_engine* engine, const Operand& operand, bool verify);
  /// What it is bound to dies: the bindings hold nothing of it.
  void let_go();

  /// The matrix that is bound, as a tensor; NULL for other operands.
  const weft_tensor* matrix() const { return matrix_ ? matrix_->tensor.get() : nullptr; }

 private:
  bool set(const weft_tensor* tensor, bool changes);
  void hold_only(const void* key);
  Bound bind_dense(const weft_engine* engine, const DenseView& view, PyObject* array);
  Bound bind_matrix(const weft_engine* engine, const Operand& operand, bool verify);
  bool set_matrix(const weft_engine* engine, const Operand& operand, bool verify);

  std::string name_;
  weft_bindings* bindings_;
  const void* held_ = nullptr;  ///< the tensor, the matrix, or the weak reference to an array, that it is bound to
  Ref array_;                   ///< a weak reference, if the array is large
  Kind kind_ = Kind::other;
  DenseView dense_;
  std::shared_ptr<const KnownMatrix> matrix_;
  Array<std::byte> gathered_;  ///< values of a matrix that has a sorted copy
  std::unique_ptr<double> number_ = std::make_unique<double>();  ///< where a number has its value, f8 or f4
};

}  // namespace weft_python
