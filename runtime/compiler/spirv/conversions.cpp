// Conversions between numbers, and of pointers.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

// "uchar4" of {"Dv4_h"}.
std::string c_name(std::string_view code) {
  std::string count;
  if (code.starts_with("Dv")) {
    count = code.substr(2, code.find('_') - 2);
    code = code.substr(code.find('_') + 1);
  }
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"c", "char"}, {"h", "uchar"}, {"s", "short"}, {"t", "ushort"}, {"i", "int"},   {"j", "uint"},
      {"l", "long"}, {"m", "ulong"}, {"Dh", "half"}, {"f", "float"},  {"d", "double"}};
  for (auto [mangled, name] : kNames)
    if (mangled == code) return name + count;
  return {};
}

}  // namespace

// Nearest even is also what LLVM's own conversions between and to floating-point numbers do.
const char* rounding_suffix(uint32_t mode) {
  switch (mode) {
    case spv::FPRoundingModeRTE: return "_rte";
    case spv::FPRoundingModeRTZ: return "_rtz";
    case spv::FPRoundingModeRTP: return "_rtp";
    default: return "_rtn";
  }
}

// `from` and `to` are 's' or 'u' where integers are. A conversion that saturates or rounds as told is a
// function of the device library; others are an instruction.
Result<llvm::Value*> Reader::convert(const Instruction& in, Values v, char from, char to, bool saturate) {
  llvm::Type* const result = type(in.type());
  llvm::Type* const given = v[0]->getType();
  const bool from_float = given->isFPOrFPVectorTy(), to_float = result->isFPOrFPVectorTy();
  const Decoration* rounding = binary_.find(in.result(), spv::DecorationFPRoundingMode);
  saturate |= has(in, spv::DecorationSaturatedConversion);
  if ((rounding != nullptr && (from_float || to_float)) || saturate) {
    const std::string name = "convert_" + c_name(code(in.type(), to)) + (saturate ? "_sat" : "") +
                             (rounding != nullptr ? rounding_suffix(rounding->word(0)) : "");
    llvm::Value* const converted = call(name, result, {argument(in, v, 0, from)});
    if (!saturate || !from_float || to_float) return converted;
    // OpenCL C leaves it open what becomes of NaN.
    return build_.CreateSelect(build_.CreateFCmpUNO(v[0], v[0]), llvm::Constant::getNullValue(result),
                               converted);
  }
  if (from_float && to_float) return build_.CreateFPCast(v[0], result);
  if (from_float) return to == 's' ? build_.CreateFPToSI(v[0], result) : build_.CreateFPToUI(v[0], result);
  if (to_float) return from == 's' ? build_.CreateSIToFP(v[0], result) : build_.CreateUIToFP(v[0], result);
  return build_.CreateIntCast(v[0], result, from == 's');
}

Reader::Handled Reader::conversions(const Instruction& in, Values v) {
  llvm::Type* const result = type(in.type());
  switch (in.op()) {
    case spv::OpConvertFToU: return convert(in, v, 's', 'u', false);
    case spv::OpConvertFToS: return convert(in, v, 's', 's', false);
    case spv::OpConvertSToF: return convert(in, v, 's', 's', false);
    case spv::OpConvertUToF: return convert(in, v, 'u', 'u', false);
    case spv::OpUConvert: return convert(in, v, 'u', 'u', false);
    case spv::OpSConvert: return convert(in, v, 's', 's', false);
    case spv::OpFConvert: return convert(in, v, 's', 's', false);
    case spv::OpSatConvertSToU: return convert(in, v, 's', 'u', true);
    case spv::OpSatConvertUToS: return convert(in, v, 'u', 's', true);
    case spv::OpConvertPtrToU: return build_.CreatePtrToInt(v[0], result);
    case spv::OpConvertUToPtr: return build_.CreateIntToPtr(v[0], result);
    case spv::OpPtrCastToGeneric:
    case spv::OpGenericCastToPtr: return build_.CreateAddrSpaceCast(v[0], result);
    case spv::OpGenericCastToPtrExplicit: {
      const unsigned space = result->getPointerAddressSpace();
      const char* const name = space == kGlobal  ? "__to_global"
                               : space == kLocal ? "__to_local"
                                                 : "__to_private";
      return call_plain(name, pointer(space), {v[0]});
    }
    case spv::OpGenericPtrMemSemantics: {
      // get_fence gives OpenCL C's flags (local 1, global 2); the bits here are 0x100 and 0x200.
      llvm::Value* const fence = call("get_fence", i32(), {{v[0], "PKv"}});
      return build_.CreateZExtOrTrunc(build_.CreateShl(fence, 8), result);
    }
    case spv::OpBitcast: {
      if (result->isPointerTy() && v[0]->getType()->isPointerTy())
        return result == v[0]->getType() ? v[0] : build_.CreateAddrSpaceCast(v[0], result);
      if (result->isPointerTy()) {
        llvm::Type* const number = llvm::Type::getIntNTy(
            context(), static_cast<unsigned>(v[0]->getType()->getPrimitiveSizeInBits().getFixedValue()));
        return build_.CreateIntToPtr(build_.CreateBitCast(v[0], number), result);
      }
      if (v[0]->getType()->isPointerTy()) {
        llvm::Type* const number = llvm::Type::getIntNTy(
            context(), static_cast<unsigned>(result->getPrimitiveSizeInBits().getFixedValue()));
        return build_.CreateBitCast(build_.CreatePtrToInt(v[0], number), result);
      }
      if (!llvm::CastInst::castIsValid(llvm::Instruction::BitCast, v[0]->getType(), result))
        return make_error(ErrorCode::unsupported, "a bit cast between such types");
      return build_.CreateBitCast(v[0], result);
    }
    default: return std::nullopt;
  }
}

}  // namespace morgana::runtime::spirv
