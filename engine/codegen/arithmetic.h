// What values are to LLVM, and how they are added and multiplied: the one file that a type of values touches.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "weft/format.h"

namespace weft::arithmetic {

/// Of a stored value.
llvm::Type* type_of(llvm::LLVMContext& context, Scalar scalar);
/// Of the sums that lose nothing over any number of addends (long_sum.h), and of coefficients.
llvm::Type* widest(llvm::LLVMContext& context);
/// The one of two types of values that holds both.
llvm::Type* wider(llvm::Type* left, llvm::Type* right);

/// Of scalars and of vectors of them alike. The builder's flags say what may be reordered.
llvm::Value* convert(llvm::IRBuilder<>& ir, llvm::Value* value, llvm::Type* type);
llvm::Value* add(llvm::IRBuilder<>& ir, llvm::Value* left, llvm::Value* right);
llvm::Value* multiply(llvm::IRBuilder<>& ir, llvm::Value* left, llvm::Value* right);
/// left * right + sum; `fused`: rounded once where the target does that.
llvm::Value* multiply_add(llvm::IRBuilder<>& ir, llvm::Value* left, llvm::Value* right, llvm::Value* sum, bool fused);
llvm::Value* negate(llvm::IRBuilder<>& ir, llvm::Value* value);
/// What changes no sum that it is added to.
llvm::Constant* nothing(llvm::Type* type);
llvm::Constant* minus_one(llvm::Type* type);
/// start + all lanes, one after the other.
llvm::CallInst* add_lanes(llvm::IRBuilder<>& ir, llvm::Value* start, llvm::Value* lanes);
/// Whether a sum is another than zero; true of NaN.
llvm::Value* is_nonzero(llvm::IRBuilder<>& ir, llvm::Value* sum);

}  // namespace weft::arithmetic
