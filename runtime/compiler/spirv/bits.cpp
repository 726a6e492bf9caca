// Bits, comparisons and choices.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {

Reader::Handled Reader::bits(const Instruction& in, Values v) {
  const bool nuw = has(in, spv::DecorationNoUnsignedWrap), nsw = has(in, spv::DecorationNoSignedWrap);
  // The shift may have another width than what is shifted.
  const auto shift = [&] { return build_.CreateZExtOrTrunc(v[1], v[0]->getType()); };
  const auto uint = [&](size_t index) -> Argument {
    return {build_.CreateZExtOrTrunc(v[index], i32()), "j"};
  };
  switch (in.op()) {
    case spv::OpShiftLeftLogical: return build_.CreateShl(v[0], shift(), "", nuw, nsw);
    case spv::OpShiftRightLogical: return build_.CreateLShr(v[0], shift());
    case spv::OpShiftRightArithmetic: return build_.CreateAShr(v[0], shift());
    case spv::OpBitwiseOr: return build_.CreateOr(v[0], v[1]);
    case spv::OpBitwiseXor: return build_.CreateXor(v[0], v[1]);
    case spv::OpBitwiseAnd: return build_.CreateAnd(v[0], v[1]);
    case spv::OpNot: return build_.CreateNot(v[0]);
    case spv::OpBitReverse: return build_.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, v[0]);
    case spv::OpBitCount:
      return build_.CreateZExtOrTrunc(build_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, v[0]),
                                      type(in.type()));
    case spv::OpBitFieldInsert:
      return call("bitfield_insert", type(in.type()),
                  {argument(in, v, 0), argument(in, v, 1), uint(2), uint(3)});
    case spv::OpBitFieldSExtract:
      return call("bitfield_extract_signed", type(in.type()), {argument(in, v, 0), uint(1), uint(2)});
    case spv::OpBitFieldUExtract:
      return call("bitfield_extract_unsigned", type(in.type()), {argument(in, v, 0, 'u'), uint(1), uint(2)});
    default: return std::nullopt;
  }
}

Reader::Handled Reader::comparisons(const Instruction& in, Values v) {
  using llvm::CmpInst;
  const auto is_class = [&](unsigned mask) -> llvm::Value* { return build_.createIsFPClass(v[0], mask); };
  set_math_flags(in);
  switch (in.op()) {
    case spv::OpAny: return v[0]->getType()->isVectorTy() ? build_.CreateOrReduce(v[0]) : v[0];
    case spv::OpAll: return v[0]->getType()->isVectorTy() ? build_.CreateAndReduce(v[0]) : v[0];
    case spv::OpIsNan: return is_class(llvm::fcNan);
    case spv::OpIsInf: return is_class(llvm::fcInf);
    case spv::OpIsFinite: return is_class(llvm::fcFinite);
    case spv::OpIsNormal: return is_class(llvm::fcNormal);
    case spv::OpSignBitSet: {
      llvm::Type* const number = v[0]->getType();
      llvm::Type* const bits =
          number->getWithNewType(llvm::Type::getIntNTy(context(), number->getScalarSizeInBits()));
      return build_.CreateICmpSLT(build_.CreateBitCast(v[0], bits), llvm::Constant::getNullValue(bits));
    }
    case spv::OpLessOrGreater: return build_.CreateFCmpONE(v[0], v[1]);
    case spv::OpOrdered: return build_.CreateFCmpORD(v[0], v[1]);
    case spv::OpUnordered: return build_.CreateFCmpUNO(v[0], v[1]);
    case spv::OpLogicalEqual:
    case spv::OpIEqual:
    case spv::OpPtrEqual: return build_.CreateICmpEQ(v[0], v[1]);
    case spv::OpLogicalNotEqual:
    case spv::OpINotEqual:
    case spv::OpPtrNotEqual: return build_.CreateICmpNE(v[0], v[1]);
    case spv::OpLogicalOr: return build_.CreateOr(v[0], v[1]);
    case spv::OpLogicalAnd: return build_.CreateAnd(v[0], v[1]);
    case spv::OpLogicalNot: return build_.CreateNot(v[0]);
    case spv::OpSelect: return build_.CreateSelect(v[0], v[1], v[2]);
    case spv::OpUGreaterThan: return build_.CreateICmpUGT(v[0], v[1]);
    case spv::OpSGreaterThan: return build_.CreateICmpSGT(v[0], v[1]);
    case spv::OpUGreaterThanEqual: return build_.CreateICmpUGE(v[0], v[1]);
    case spv::OpSGreaterThanEqual: return build_.CreateICmpSGE(v[0], v[1]);
    case spv::OpULessThan: return build_.CreateICmpULT(v[0], v[1]);
    case spv::OpSLessThan: return build_.CreateICmpSLT(v[0], v[1]);
    case spv::OpULessThanEqual: return build_.CreateICmpULE(v[0], v[1]);
    case spv::OpSLessThanEqual: return build_.CreateICmpSLE(v[0], v[1]);
    case spv::OpFOrdEqual: return build_.CreateFCmpOEQ(v[0], v[1]);
    case spv::OpFUnordEqual: return build_.CreateFCmpUEQ(v[0], v[1]);
    case spv::OpFOrdNotEqual: return build_.CreateFCmpONE(v[0], v[1]);
    case spv::OpFUnordNotEqual: return build_.CreateFCmpUNE(v[0], v[1]);
    case spv::OpFOrdLessThan: return build_.CreateFCmpOLT(v[0], v[1]);
    case spv::OpFUnordLessThan: return build_.CreateFCmpULT(v[0], v[1]);
    case spv::OpFOrdGreaterThan: return build_.CreateFCmpOGT(v[0], v[1]);
    case spv::OpFUnordGreaterThan: return build_.CreateFCmpUGT(v[0], v[1]);
    case spv::OpFOrdLessThanEqual: return build_.CreateFCmpOLE(v[0], v[1]);
    case spv::OpFUnordLessThanEqual: return build_.CreateFCmpULE(v[0], v[1]);
    case spv::OpFOrdGreaterThanEqual: return build_.CreateFCmpOGE(v[0], v[1]);
    case spv::OpFUnordGreaterThanEqual: return build_.CreateFCmpUGE(v[0], v[1]);
    default: return std::nullopt;
  }
}

}  // namespace morgana::runtime::spirv
