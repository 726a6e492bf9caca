// Arithmetic on integers and floating-point numbers.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {

void Reader::set_math_flags(const Instruction& in) {
  llvm::FastMathFlags flags;
  if (const Decoration* decoration = binary_.find(in.result(), spv::DecorationFPFastMathMode)) {
    const uint32_t mode = decoration->word(0);
    if ((mode & spv::FPFastMathModeFastMask) != 0) flags.setFast();
    if ((mode & spv::FPFastMathModeNotNaNMask) != 0) flags.setNoNaNs();
    if ((mode & spv::FPFastMathModeNotInfMask) != 0) flags.setNoInfs();
    if ((mode & spv::FPFastMathModeNSZMask) != 0) flags.setNoSignedZeros();
    if ((mode & spv::FPFastMathModeAllowRecipMask) != 0) flags.setAllowReciprocal();
    if ((mode & spv::FPFastMathModeAllowContractFastINTELMask) != 0) flags.setAllowContract();
    if ((mode & spv::FPFastMathModeAllowReassocINTELMask) != 0) flags.setAllowReassoc();
  }
  if (may_contract_) flags.setAllowContract();
  if (has(in, spv::DecorationNoContraction)) flags.setAllowContract(false);
  build_.setFastMathFlags(flags);
}

// The sign of the divisor goes to the result, where OpFRem's is the dividend's.
llvm::Value* Reader::floating_modulo(const Instruction& in, Values v) {
  llvm::Type* const number = type(in.type());
  llvm::Value* const rest = call("fmod", number, {argument(in, v, 0), argument(in, v, 1)});
  if (in.op() == spv::OpFRem) return rest;
  llvm::Value* const zero = llvm::Constant::getNullValue(number);
  llvm::Value* const differs =
      build_.CreateXor(build_.CreateFCmpOLT(rest, zero), build_.CreateFCmpOLT(v[1], zero));
  llvm::Value* const moves = build_.CreateAnd(differs, build_.CreateFCmpONE(rest, zero));
  return build_.CreateSelect(moves, build_.CreateFAdd(rest, v[1]), rest);
}

llvm::Value* Reader::signed_modulo(llvm::Value* a, llvm::Value* b) {
  llvm::Value* const zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* const rest = build_.CreateSRem(a, b);
  llvm::Value* const moves = build_.CreateAnd(build_.CreateICmpNE(rest, zero),
                                              build_.CreateICmpSLT(build_.CreateXor(rest, b), zero));
  return build_.CreateSelect(moves, build_.CreateAdd(rest, b), rest);
}

// The structure of two members that instructions with two results have.
llvm::Value* Reader::wide_result(const Instruction& in, llvm::Value* low, llvm::Value* high) {
  llvm::Value* result = llvm::PoisonValue::get(type(in.type()));
  result = build_.CreateInsertValue(result, low, 0);
  return build_.CreateInsertValue(result, high, 1);
}

llvm::Value* Reader::extended_multiply(const Instruction& in, Values v, bool is_signed) {
  llvm::Type* const narrow = v[0]->getType();
  const unsigned bits = narrow->getScalarSizeInBits();
  llvm::Type* const wide = narrow->getWithNewBitWidth(2 * bits);
  llvm::Value* const product = build_.CreateMul(build_.CreateIntCast(v[0], wide, is_signed),
                                                build_.CreateIntCast(v[1], wide, is_signed));
  return wide_result(in, build_.CreateTrunc(product, narrow),
                     build_.CreateTrunc(build_.CreateLShr(product, bits), narrow));
}

Reader::Handled Reader::arithmetic(const Instruction& in, Values v) {
  const bool nuw = has(in, spv::DecorationNoUnsignedWrap), nsw = has(in, spv::DecorationNoSignedWrap);
  const auto with_overflow = [&](llvm::Intrinsic::ID intrinsic) {
    llvm::Value* const pair = build_.CreateBinaryIntrinsic(intrinsic, v[0], v[1]);
    return wide_result(in, build_.CreateExtractValue(pair, 0),
                       build_.CreateZExt(build_.CreateExtractValue(pair, 1), v[0]->getType()));
  };
  set_math_flags(in);
  switch (in.op()) {
    case spv::OpSNegate: return build_.CreateNeg(v[0], "", nsw);
    case spv::OpFNegate: return build_.CreateFNeg(v[0]);
    case spv::OpIAdd: return build_.CreateAdd(v[0], v[1], "", nuw, nsw);
    case spv::OpISub: return build_.CreateSub(v[0], v[1], "", nuw, nsw);
    case spv::OpIMul: return build_.CreateMul(v[0], v[1], "", nuw, nsw);
    case spv::OpFAdd: return build_.CreateFAdd(v[0], v[1]);
    case spv::OpFSub: return build_.CreateFSub(v[0], v[1]);
    case spv::OpFMul: return build_.CreateFMul(v[0], v[1]);
    case spv::OpUDiv: return build_.CreateUDiv(v[0], v[1]);
    case spv::OpSDiv: return build_.CreateSDiv(v[0], v[1]);
    case spv::OpUMod: return build_.CreateURem(v[0], v[1]);
    case spv::OpSRem: return build_.CreateSRem(v[0], v[1]);
    case spv::OpSMod: return signed_modulo(v[0], v[1]);
    case spv::OpFRem:
    case spv::OpFMod: return floating_modulo(in, v);
    case spv::OpFDiv: {
      llvm::Value* const quotient = build_.CreateFDiv(v[0], v[1]);
      // What OpenCL C asks of `/`; it counts only where the module allows an inexact one.
      if (auto* division = llvm::dyn_cast<llvm::Instruction>(quotient);
          division != nullptr && division->getType()->getScalarType()->isFloatTy())
        division->setMetadata(
            llvm::LLVMContext::MD_fpmath,
            llvm::MDNode::get(context(), llvm::ConstantAsMetadata::get(
                                             llvm::ConstantFP::get(llvm::Type::getFloatTy(context()), 2.5))));
      return quotient;
    }
    case spv::OpVectorTimesScalar: {
      auto* const vector = llvm::cast<llvm::FixedVectorType>(v[0]->getType());
      return build_.CreateFMul(v[0], build_.CreateVectorSplat(vector->getNumElements(), v[1]));
    }
    case spv::OpDot: return call("dot", type(in.type()), {argument(in, v, 0), argument(in, v, 1)});
    case spv::OpIAddCarry: return with_overflow(llvm::Intrinsic::uadd_with_overflow);
    case spv::OpISubBorrow: return with_overflow(llvm::Intrinsic::usub_with_overflow);
    case spv::OpUMulExtended: return extended_multiply(in, v, false);
    case spv::OpSMulExtended: return extended_multiply(in, v, true);
    default: return std::nullopt;
  }
}

// Products of the components of two vectors, or of the four bytes of two integers, and their sum.
Reader::Handled Reader::dot_products(const Instruction& in, Values v) {
  struct Row {
    spv::Op op;
    bool first_signed, second_signed, accumulates;
  };
  static constexpr Row kRows[] = {
      {spv::OpSDotKHR, true, true, false},        {spv::OpUDotKHR, false, false, false},
      {spv::OpSUDotKHR, true, false, false},      {spv::OpSDotAccSatKHR, true, true, true},
      {spv::OpUDotAccSatKHR, false, false, true}, {spv::OpSUDotAccSatKHR, true, false, true}};
  for (const Row& row : kRows) {
    if (row.op != in.op()) continue;
    llvm::Type* const result = type(in.type());
    auto* const bytes = llvm::FixedVectorType::get(build_.getInt8Ty(), 4);
    llvm::Value* parts[2] = {v[0], v[1]};
    for (llvm::Value*& part : parts)
      if (part->getType() == i32()) part = build_.CreateBitCast(part, bytes);
    auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(parts[0]->getType());
    if (vector == nullptr || parts[1]->getType() != vector || !result->isIntegerTy() ||
        !vector->isIntOrIntVectorTy())
      return make_error(ErrorCode::unsupported, "a dot product of such types");
    // Bytes have functions in the device library, which use the device's instructions.
    if (vector == bytes && result == i32()) {
      std::vector<Argument> arguments = {{parts[0], row.first_signed ? "Dv4_c" : "Dv4_h"},
                                         {parts[1], row.second_signed ? "Dv4_c" : "Dv4_h"}};
      if (row.accumulates) arguments.push_back({v[2], row.first_signed ? "i" : "j"});
      return call(row.accumulates ? "dot_acc_sat" : "dot", result, arguments);
    }
    llvm::Type* const wide = vector->getWithNewType(result);
    llvm::Value* const products = build_.CreateMul(build_.CreateIntCast(parts[0], wide, row.first_signed),
                                                   build_.CreateIntCast(parts[1], wide, row.second_signed));
    llvm::Value* const sum = build_.CreateAddReduce(products);
    if (!row.accumulates) return sum;
    return build_.CreateBinaryIntrinsic(
        row.first_signed ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::uadd_sat, sum, v[2]);
  }
  return std::nullopt;
}

}  // namespace morgana::runtime::spirv
