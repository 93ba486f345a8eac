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
  explicit BoundOperand(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  enum class Bound { same, anew, failed };
  /// Sets the operand in the bindings unless it is the one that is set; failed with an error set.
  /// `verify`: indices of matrices are looked at, whatever is known of them.
  Bound bind(const weft_engine* engine, weft_bindings* bindings, const Operand& operand, bool verify);

 private:
  bool set(weft_bindings* bindings, const weft_tensor* tensor, bool changes);
  Bound bind_dense(const weft_engine* engine, weft_bindings* bindings, const DenseView& view);
  Bound bind_matrix(const weft_engine* engine, weft_bindings* bindings, const Operand& operand, bool verify);

  std::string name_;
  Kind kind_ = Kind::other;
  DenseView dense_;
  std::shared_ptr<const KnownMatrix> matrix_;
  std::vector<std::byte> gathered_;                              ///< values of a matrix that has a sorted copy
  std::uint64_t serial_ = 0;                                     ///< of a tensor
  std::unique_ptr<double> number_ = std::make_unique<double>();  ///< where the tensor of a number has its value
};

}  // namespace weft_python
