// What an operand of a kernel was bound to, so that the same one again costs a comparison.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "python/_weft/compressed.h"
#include "python/_weft/dense.h"
#include "python/_weft/handles.h"
#include "python/_weft/operand.h"

namespace weft_python {

/// A matrix that was looked at, as long as its three arrays live: its tensor, and its sorted copy where it needs one.
struct KnownMatrix {
  CompressedView view;
  Ref pos, crd, values;  ///< weak references
  TensorHandle tensor;
  std::unique_ptr<SortedCopy> sorted;

  /// Whether these are the same arrays, alive, and laid out as they were.
  bool is(const CompressedView& other, const CompressedArrays& arrays) const;
};

/// The matrix as a tensor: known, or checked now. NULL with an error set.
std::shared_ptr<KnownMatrix> known_matrix(const weft_engine* engine, const char* name, const CompressedView& view,
                                          const CompressedArrays& arrays);

/// In the child of a fork: none is known any more; what is known in the parent is not freed.
void forget_matrices();

class BoundOperand {
 public:
  explicit BoundOperand(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  enum class Bound { same, anew, failed };
  /// Sets the operand in the bindings unless it is the one that is set; failed with an error set.
  Bound bind(const weft_engine* engine, weft_bindings* bindings, const Operand& operand);

 private:
  bool set(weft_bindings* bindings, const weft_tensor* tensor, bool changes);
  Bound bind_dense(const weft_engine* engine, weft_bindings* bindings, const DenseView& view);
  Bound bind_matrix(const weft_engine* engine, weft_bindings* bindings, const Operand& operand);

  std::string name_;
  Kind kind_ = Kind::other;
  DenseView dense_;
  std::shared_ptr<KnownMatrix> matrix_;
  std::uint64_t serial_ = 0;                                     ///< of a tensor
  std::unique_ptr<double> number_ = std::make_unique<double>();  ///< where the tensor of a number has its value
};

}  // namespace weft_python
