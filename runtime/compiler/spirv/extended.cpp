// The extended instructions of OpenCL.std: the functions of the device library that OpenCL C calls.
#include <spirv/unified1/OpenCL.std.h>

#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

// Instructions that are a function of their operands. `signs`: 's' or 'u' for the integers of each operand,
// the last for all that follow.
struct LibraryRow {
  OpenCLLIB::Entrypoints number;
  const char* name;
  const char* signs;
};
constexpr LibraryRow kLibraryRows[] = {
    {OpenCLLIB::Acos, "acos", "s"},
    {OpenCLLIB::Acosh, "acosh", "s"},
    {OpenCLLIB::Acospi, "acospi", "s"},
    {OpenCLLIB::Asin, "asin", "s"},
    {OpenCLLIB::Asinh, "asinh", "s"},
    {OpenCLLIB::Asinpi, "asinpi", "s"},
    {OpenCLLIB::Atan, "atan", "s"},
    {OpenCLLIB::Atan2, "atan2", "s"},
    {OpenCLLIB::Atanh, "atanh", "s"},
    {OpenCLLIB::Atanpi, "atanpi", "s"},
    {OpenCLLIB::Atan2pi, "atan2pi", "s"},
    {OpenCLLIB::Cbrt, "cbrt", "s"},
    {OpenCLLIB::Ceil, "ceil", "s"},
    {OpenCLLIB::Copysign, "copysign", "s"},
    {OpenCLLIB::Cos, "cos", "s"},
    {OpenCLLIB::Cosh, "cosh", "s"},
    {OpenCLLIB::Cospi, "cospi", "s"},
    {OpenCLLIB::Erfc, "erfc", "s"},
    {OpenCLLIB::Erf, "erf", "s"},
    {OpenCLLIB::Exp, "exp", "s"},
    {OpenCLLIB::Exp2, "exp2", "s"},
    {OpenCLLIB::Exp10, "exp10", "s"},
    {OpenCLLIB::Expm1, "expm1", "s"},
    {OpenCLLIB::Fabs, "fabs", "s"},
    {OpenCLLIB::Fdim, "fdim", "s"},
    {OpenCLLIB::Floor, "floor", "s"},
    {OpenCLLIB::Fma, "fma", "s"},
    {OpenCLLIB::Fmax, "fmax", "s"},
    {OpenCLLIB::Fmin, "fmin", "s"},
    {OpenCLLIB::Fmod, "fmod", "s"},
    {OpenCLLIB::Fract, "fract", "s"},
    {OpenCLLIB::Frexp, "frexp", "s"},
    {OpenCLLIB::Hypot, "hypot", "s"},
    {OpenCLLIB::Ilogb, "ilogb", "s"},
    {OpenCLLIB::Ldexp, "ldexp", "s"},
    {OpenCLLIB::Lgamma, "lgamma", "s"},
    {OpenCLLIB::Lgamma_r, "lgamma_r", "s"},
    {OpenCLLIB::Log, "log", "s"},
    {OpenCLLIB::Log2, "log2", "s"},
    {OpenCLLIB::Log10, "log10", "s"},
    {OpenCLLIB::Log1p, "log1p", "s"},
    {OpenCLLIB::Logb, "logb", "s"},
    {OpenCLLIB::Mad, "mad", "s"},
    {OpenCLLIB::Maxmag, "maxmag", "s"},
    {OpenCLLIB::Minmag, "minmag", "s"},
    {OpenCLLIB::Modf, "modf", "s"},
    {OpenCLLIB::Nan, "nan", "u"},
    {OpenCLLIB::Nextafter, "nextafter", "s"},
    {OpenCLLIB::Pow, "pow", "s"},
    {OpenCLLIB::Pown, "pown", "s"},
    {OpenCLLIB::Powr, "powr", "s"},
    {OpenCLLIB::Remainder, "remainder", "s"},
    {OpenCLLIB::Remquo, "remquo", "s"},
    {OpenCLLIB::Rint, "rint", "s"},
    {OpenCLLIB::Rootn, "rootn", "s"},
    {OpenCLLIB::Round, "round", "s"},
    {OpenCLLIB::Rsqrt, "rsqrt", "s"},
    {OpenCLLIB::Sin, "sin", "s"},
    {OpenCLLIB::Sincos, "sincos", "s"},
    {OpenCLLIB::Sinh, "sinh", "s"},
    {OpenCLLIB::Sinpi, "sinpi", "s"},
    {OpenCLLIB::Sqrt, "sqrt", "s"},
    {OpenCLLIB::Tan, "tan", "s"},
    {OpenCLLIB::Tanh, "tanh", "s"},
    {OpenCLLIB::Tanpi, "tanpi", "s"},
    {OpenCLLIB::Tgamma, "tgamma", "s"},
    {OpenCLLIB::Trunc, "trunc", "s"},
    {OpenCLLIB::Half_cos, "half_cos", "s"},
    {OpenCLLIB::Half_divide, "half_divide", "s"},
    {OpenCLLIB::Half_exp, "half_exp", "s"},
    {OpenCLLIB::Half_exp2, "half_exp2", "s"},
    {OpenCLLIB::Half_exp10, "half_exp10", "s"},
    {OpenCLLIB::Half_log, "half_log", "s"},
    {OpenCLLIB::Half_log2, "half_log2", "s"},
    {OpenCLLIB::Half_log10, "half_log10", "s"},
    {OpenCLLIB::Half_powr, "half_powr", "s"},
    {OpenCLLIB::Half_recip, "half_recip", "s"},
    {OpenCLLIB::Half_rsqrt, "half_rsqrt", "s"},
    {OpenCLLIB::Half_sin, "half_sin", "s"},
    {OpenCLLIB::Half_sqrt, "half_sqrt", "s"},
    {OpenCLLIB::Half_tan, "half_tan", "s"},
    {OpenCLLIB::Native_cos, "native_cos", "s"},
    {OpenCLLIB::Native_divide, "native_divide", "s"},
    {OpenCLLIB::Native_exp, "native_exp", "s"},
    {OpenCLLIB::Native_exp2, "native_exp2", "s"},
    {OpenCLLIB::Native_exp10, "native_exp10", "s"},
    {OpenCLLIB::Native_log, "native_log", "s"},
    {OpenCLLIB::Native_log2, "native_log2", "s"},
    {OpenCLLIB::Native_log10, "native_log10", "s"},
    {OpenCLLIB::Native_powr, "native_powr", "s"},
    {OpenCLLIB::Native_recip, "native_recip", "s"},
    {OpenCLLIB::Native_rsqrt, "native_rsqrt", "s"},
    {OpenCLLIB::Native_sin, "native_sin", "s"},
    {OpenCLLIB::Native_sqrt, "native_sqrt", "s"},
    {OpenCLLIB::Native_tan, "native_tan", "s"},
    {OpenCLLIB::FClamp, "clamp", "s"},
    {OpenCLLIB::Degrees, "degrees", "s"},
    {OpenCLLIB::FMax_common, "max", "s"},
    {OpenCLLIB::FMin_common, "min", "s"},
    {OpenCLLIB::Mix, "mix", "s"},
    {OpenCLLIB::Radians, "radians", "s"},
    {OpenCLLIB::Step, "step", "s"},
    {OpenCLLIB::Smoothstep, "smoothstep", "s"},
    {OpenCLLIB::Sign, "sign", "s"},
    {OpenCLLIB::Cross, "cross", "s"},
    {OpenCLLIB::Distance, "distance", "s"},
    {OpenCLLIB::Length, "length", "s"},
    {OpenCLLIB::Normalize, "normalize", "s"},
    {OpenCLLIB::Fast_distance, "fast_distance", "s"},
    {OpenCLLIB::Fast_length, "fast_length", "s"},
    {OpenCLLIB::Fast_normalize, "fast_normalize", "s"},
    {OpenCLLIB::SAbs, "abs", "s"},
    {OpenCLLIB::SAbs_diff, "abs_diff", "s"},
    {OpenCLLIB::SAdd_sat, "add_sat", "s"},
    {OpenCLLIB::UAdd_sat, "add_sat", "u"},
    {OpenCLLIB::SHadd, "hadd", "s"},
    {OpenCLLIB::UHadd, "hadd", "u"},
    {OpenCLLIB::SRhadd, "rhadd", "s"},
    {OpenCLLIB::URhadd, "rhadd", "u"},
    {OpenCLLIB::SClamp, "clamp", "s"},
    {OpenCLLIB::UClamp, "clamp", "u"},
    {OpenCLLIB::Clz, "clz", "s"},
    {OpenCLLIB::Ctz, "ctz", "s"},
    {OpenCLLIB::SMad_hi, "mad_hi", "s"},
    {OpenCLLIB::UMad_sat, "mad_sat", "u"},
    {OpenCLLIB::SMad_sat, "mad_sat", "s"},
    {OpenCLLIB::SMax, "max", "s"},
    {OpenCLLIB::UMax, "max", "u"},
    {OpenCLLIB::SMin, "min", "s"},
    {OpenCLLIB::UMin, "min", "u"},
    {OpenCLLIB::SMul_hi, "mul_hi", "s"},
    {OpenCLLIB::Rotate, "rotate", "s"},
    {OpenCLLIB::SSub_sat, "sub_sat", "s"},
    {OpenCLLIB::USub_sat, "sub_sat", "u"},
    {OpenCLLIB::U_Upsample, "upsample", "u"},
    {OpenCLLIB::S_Upsample, "upsample", "su"},
    {OpenCLLIB::Popcount, "popcount", "s"},
    {OpenCLLIB::SMad24, "mad24", "s"},
    {OpenCLLIB::UMad24, "mad24", "u"},
    {OpenCLLIB::SMul24, "mul24", "s"},
    {OpenCLLIB::UMul24, "mul24", "u"},
    {OpenCLLIB::Shuffle, "shuffle", "su"},
    {OpenCLLIB::Shuffle2, "shuffle2", "ssu"},
    {OpenCLLIB::Bitselect, "bitselect", "s"},
    {OpenCLLIB::Select, "select", "s"},
    {OpenCLLIB::UAbs, "abs", "u"},
    {OpenCLLIB::UAbs_diff, "abs_diff", "u"},
    {OpenCLLIB::UMul_hi, "mul_hi", "u"},
    {OpenCLLIB::UMad_hi, "mad_hi", "u"},
};

// "4" of a vector of four, nothing of a scalar.
std::string count_of(const llvm::Type* type) {
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? "" : std::to_string(vector->getNumElements());
}

}  // namespace

Result<llvm::Value*> Reader::print(const Instruction& in, Values v) {
  auto* const printf_type = llvm::FunctionType::get(i32(), {pointer(kConstant)}, true);
  if (v[2]->getType() != pointer(kConstant))
    return make_error(ErrorCode::unsupported, "a printf whose format is not in constant memory");
  std::vector<llvm::Value*> arguments = {v[2]};
  // As C's variable arguments: whoever made the module knows the sign of small integers and has widened them.
  for (size_t i = 3; i < in.size(); ++i) {
    llvm::Type* const given = v[i]->getType();
    llvm::Value* argument = v[i];
    if (given->isHalfTy() || given->isFloatTy())
      argument = build_.CreateFPExt(argument, llvm::Type::getDoubleTy(context()));
    if (given->isIntegerTy() && given->getIntegerBitWidth() < 32)
      argument = build_.CreateZExt(argument, i32());
    arguments.push_back(argument);
  }
  if (llvm::Function* own = module_.getFunction("printf"); own != nullptr && own->hasLocalLinkage())
    own->setName("printf.of_program");
  return build_.CreateCall(module_.getOrInsertFunction("printf", printf_type), arguments);
}

Reader::Handled Reader::extended(const Instruction& in, Values v) {
  if (in.op() != spv::OpExtInst) return std::nullopt;
  llvm::Type* const result = type(in.type());
  const uint32_t number = in.word(1);
  set_math_flags(in);
  for (const LibraryRow& row : kLibraryRows) {
    if (row.number != number) continue;
    std::vector<Argument> arguments;
    const char* sign = row.signs;
    for (size_t i = 2; i < in.size(); ++i) {
      arguments.push_back(argument(in, v, i, *sign));
      if (sign[1] != 0) ++sign;
    }
    return call(row.name, result, arguments);
  }
  // Loads and stores of vectors: the number of components is part of the name.
  const auto place = [&](size_t index, bool constant) -> Argument {
    return {v[index], code(binary_.definition(in.word(index)).type(), 's', constant)};
  };
  const auto offset = [&](size_t index) -> Argument {
    return {build_.CreateZExtOrTrunc(v[index], i64()), "m"};
  };
  switch (number) {
    case OpenCLLIB::Vloadn: return call("vload" + count_of(result), result, {offset(2), place(3, true)});
    case OpenCLLIB::Vload_half: return call("vload_half", result, {offset(2), place(3, true)});
    case OpenCLLIB::Vload_halfn:
      return call("vload_half" + count_of(result), result, {offset(2), place(3, true)});
    case OpenCLLIB::Vloada_halfn:
      return call("vloada_half" + count_of(result), result, {offset(2), place(3, true)});
    case OpenCLLIB::Vstoren:
      return call("vstore" + count_of(v[2]->getType()), result,
                  {argument(in, v, 2), offset(3), place(4, false)});
    case OpenCLLIB::Vstore_half:
    case OpenCLLIB::Vstore_half_r:
    case OpenCLLIB::Vstore_halfn:
    case OpenCLLIB::Vstore_halfn_r:
    case OpenCLLIB::Vstorea_halfn:
    case OpenCLLIB::Vstorea_halfn_r: {
      const bool aligned = number == OpenCLLIB::Vstorea_halfn || number == OpenCLLIB::Vstorea_halfn_r;
      const std::string name = std::string(aligned ? "vstorea_half" : "vstore_half") +
                               count_of(v[2]->getType()) + (in.size() > 5 ? rounding_suffix(in.word(5)) : "");
      return call(name, result, {argument(in, v, 2), offset(3), place(4, false)});
    }
    case OpenCLLIB::Prefetch: return call("prefetch", result, {place(2, true), offset(3)});
    case OpenCLLIB::Printf: return print(in, v);
    default: return make_error(ErrorCode::unsupported, "instruction {} of OpenCL.std", number);
  }
}

}  // namespace morgana::runtime::spirv
