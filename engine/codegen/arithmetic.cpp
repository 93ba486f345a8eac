#include "engine/codegen/arithmetic.h"

#include <utility>

namespace weft::arithmetic {

llvm::Type* type_of(llvm::LLVMContext& context, Scalar scalar) {
  switch (scalar) {
    case Scalar::f64: return llvm::Type::getDoubleTy(context);
    case Scalar::f32: return llvm::Type::getFloatTy(context);
  }
  std::unreachable();
}

llvm::Type* widest(llvm::LLVMContext& context) { return llvm::Type::getDoubleTy(context); }

llvm::Type* wider(llvm::Type* left, llvm::Type* right) {
  return left->getScalarSizeInBits() < right->getScalarSizeInBits() ? right : left;
}

llvm::Value* convert(llvm::IRBuilder<>& ir, llvm::Value* value, llvm::Type* type) { return ir.CreateFPCast(value, type); }

llvm::Value* add(llvm::IRBuilder<>& ir, llvm::Value* left, llvm::Value* right) { return ir.CreateFAdd(left, right); }

llvm::Value* multiply(llvm::IRBuilder<>& ir, llvm::Value* left, llvm::Value* right) { return ir.CreateFMul(left, right); }

llvm::Value* multiply_add(llvm::IRBuilder<>& ir, llvm::Value* left, llvm::Value* right, llvm::Value* sum, bool fused) {
  if (!fused) return add(ir, sum, multiply(ir, left, right));
  return ir.CreateIntrinsic(llvm::Intrinsic::fmuladd, {sum->getType()}, {left, right, sum});
}

llvm::Value* negate(llvm::IRBuilder<>& ir, llvm::Value* value) { return ir.CreateFNeg(value); }

llvm::Constant* nothing(llvm::Type* type) { return llvm::ConstantFP::get(type, -0.0); }

llvm::Constant* minus_one(llvm::Type* type) { return llvm::ConstantFP::get(type, -1.0); }

llvm::CallInst* add_lanes(llvm::IRBuilder<>& ir, llvm::Value* start, llvm::Value* lanes) { return ir.CreateFAddReduce(start, lanes); }

llvm::Value* is_nonzero(llvm::IRBuilder<>& ir, llvm::Value* sum) {
  return ir.CreateFCmpUNE(sum, llvm::ConstantFP::get(sum->getType(), 0.0));
}

}  // namespace weft::arithmetic
