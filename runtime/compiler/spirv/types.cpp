// Types of SPIR-V as types of LLVM, and under their names in the device library and in OpenCL C.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

// Larger than anything that a program can have, and small enough for sums of sizes.
constexpr uint64_t kMostBytes = uint64_t{1} << 40;

std::optional<unsigned> address_space(uint32_t storage) {
  switch (storage) {
    case spv::StorageClassUniformConstant: return kConstant;
    case spv::StorageClassCrossWorkgroup: return kGlobal;
    case spv::StorageClassWorkgroup: return kLocal;
    case spv::StorageClassFunction:
    case spv::StorageClassInput: return kPrivate;  // built-in variables: a copy in each function
    case spv::StorageClassGeneric: return kGeneric;
    default: return std::nullopt;
  }
}

bool is_narrow(const llvm::Type* type) {
  return type->isPointerTy() &&
         (type->getPointerAddressSpace() == kLocal || type->getPointerAddressSpace() == kPrivate);
}

}  // namespace

Status Reader::check_size(llvm::Type* type) const {
  if (type->isSized() && layout_.getTypeAllocSize(type).getFixedValue() > kMostBytes)
    return make_error(ErrorCode::build_failed, "a type is larger than the memory of any device");
  return {};
}

// How many scalars and vectors an array or a structure consists of.
uint64_t Reader::elements_of(llvm::Type* type) {
  if (!type->isAggregateType()) return 1;
  if (const auto known = elements_.find(type); known != elements_.end()) return known->second;
  uint64_t sum = 0;
  if (const auto* array = llvm::dyn_cast<llvm::ArrayType>(type))
    sum = array->getNumElements() * elements_of(array->getElementType());
  else
    for (llvm::Type* member : llvm::cast<llvm::StructType>(type)->elements()) sum += elements_of(member);
  return elements_[type] = sum;
}

// LLVM makes a value of each element of such a value, and its time grows with the square of their number: a
// load and a store of 512 take 0.2 seconds, volatile 1.6. No producer is known to have values of more than
// some dozen.
Status Reader::check_value(llvm::Type* type, bool is_volatile) {
  constexpr uint64_t kFew = 64, kMost = 512, kMostSquares = 1 << 23;
  const uint64_t elements = std::min(elements_of(type), kMost + 1);
  if (elements > kFew) squares_ += elements * elements * (is_volatile ? 8 : 1);
  if (elements <= kMost && squares_ <= kMostSquares) return {};
  return make_error(ErrorCode::build_failed, "values of more than {} elements, or too many of that size",
                    kMost);
}

Result<llvm::Type*> Reader::make_array(const Instruction& in) {
  const std::optional<uint64_t> count = integer(in.word(1));
  llvm::Type* const element = memory_type(in.word(0));
  if (!count || element == nullptr || !element->isSized())
    return make_error(ErrorCode::unsupported, "an array of that type or length");
  const uint64_t size = layout_.getTypeAllocSize(element).getFixedValue();
  if (size != 0 && *count > kMostBytes / size)
    return make_error(ErrorCode::build_failed, "a type is larger than the memory of any device");
  return llvm::ArrayType::get(element, *count);
}

Result<llvm::Type*> Reader::make_struct(const Instruction& in) {
  std::vector<llvm::Type*> members;
  for (size_t i = 0; i < in.size(); ++i) {
    llvm::Type* const member = memory_type(in.word(i));
    if (member == nullptr || !member->isSized())
      return make_error(ErrorCode::unsupported, "a structure with a member of no size");
    members.push_back(member);
  }
  return llvm::StructType::get(context(), members, has(in, spv::DecorationCPacked));
}

Result<llvm::Type*> Reader::make_type(const Instruction& in) {
  switch (in.op()) {
    case spv::OpTypeVoid: return llvm::Type::getVoidTy(context());
    case spv::OpTypeBool: return llvm::Type::getInt1Ty(context());
    case spv::OpTypeInt: {
      const uint32_t width = in.word(0);
      if (width != 8 && width != 16 && width != 32 && width != 64)
        return make_error(ErrorCode::unsupported, "integers of {} bits", width);
      return llvm::Type::getIntNTy(context(), width);
    }
    case spv::OpTypeFloat:
      switch (in.word(0)) {
        case 16: return llvm::Type::getHalfTy(context());
        case 32: return llvm::Type::getFloatTy(context());
        case 64: return llvm::Type::getDoubleTy(context());
        default: return make_error(ErrorCode::unsupported, "floating-point numbers of {} bits", in.word(0));
      }
    case spv::OpTypeVector: {
      llvm::Type* const element = type(in.word(0));
      if (element == nullptr || !(element->isIntegerTy() || element->isFloatingPointTy()))
        return make_error(ErrorCode::unsupported, "vectors of that type");
      return llvm::FixedVectorType::get(element, in.word(1));
    }
    case spv::OpTypeArray: return make_array(in);
    case spv::OpTypeStruct: return make_struct(in);
    case spv::OpTypeOpaque: return llvm::Type::getInt8Ty(context());  // only ever pointed to
    case spv::OpTypePointer: {
      const std::optional<unsigned> space = address_space(in.word(0));
      if (!space) return make_error(ErrorCode::unsupported, "pointers of storage class {}", in.word(0));
      return pointer(*space);
    }
    case spv::OpTypeFunction: {
      llvm::Type* const result = type(in.word(0));
      std::vector<llvm::Type*> parameters;
      for (size_t i = 1; i < in.size(); ++i) parameters.push_back(type(in.word(i)));
      if (result == nullptr || std::find(parameters.begin(), parameters.end(), nullptr) != parameters.end())
        return make_error(ErrorCode::unsupported, "a function of such types");
      return llvm::FunctionType::get(result, parameters, false);
    }
    // As Clang has them on this target: images and samplers are records in constant memory.
    case spv::OpTypeImage:
    case spv::OpTypeSampler: return pointer(kConstant);
    case spv::OpTypeSampledImage:
      return llvm::StructType::get(context(), {pointer(kConstant), pointer(kConstant)});
    case spv::OpTypeEvent: return pointer(kGeneric);
    case spv::OpTypeNamedBarrier: return pointer(kLocal);
    case spv::OpTypePipe:
    case spv::OpTypeQueue:
    case spv::OpTypeDeviceEvent:
    case spv::OpTypeReserveId: return pointer(kGlobal);
    default: return make_error(ErrorCode::unsupported, "type instruction {}", static_cast<int>(in.op()));
  }
}

Status Reader::read_type(const Instruction& in) {
  // Named before what it points to, so that structures can have it.
  if (in.op() == spv::OpTypeForwardPointer) {
    const std::optional<unsigned> space = address_space(in.word(1));
    if (!space) return make_error(ErrorCode::unsupported, "pointers of storage class {}", in.word(1));
    types_[in.word(0)] = pointer(*space);
    return {};
  }
  MORGANA_TRY(llvm::Type * made, make_type(in));
  MORGANA_CHECK(check_size(made));
  types_[in.result()] = made;
  return {};
}

llvm::Type* Reader::memory_type(uint32_t id) const {
  llvm::Type* const plain = type(id);
  return plain != nullptr && is_narrow(plain) ? i64() : plain;
}

llvm::Value* Reader::to_memory(llvm::Value* value, uint32_t type) {
  return memory_type(type) == value->getType() ? value : build_.CreatePtrToInt(value, memory_type(type));
}

llvm::Value* Reader::from_memory(llvm::Value* value, uint32_t id) {
  return type(id) == value->getType() ? value : build_.CreateIntToPtr(value, type(id));
}

std::string Reader::image_code(const Instruction& image) const {
  std::string name = "ocl_image";
  switch (image.word(1)) {
    case spv::Dim1D: name += "1d"; break;
    case spv::Dim2D: name += "2d"; break;
    case spv::Dim3D: name += "3d"; break;
    case spv::DimBuffer: name += "1d_buffer"; break;
    default: name += "?"; break;
  }
  if (image.word(3) != 0) name += "_array";
  if (image.word(4) != 0) name += "_msaa";
  if (image.word(2) == 1) name += "_depth";
  switch (image.word(7)) {
    case spv::AccessQualifierWriteOnly: name += "_wo"; break;
    case spv::AccessQualifierReadWrite: name += "_rw"; break;
    default: name += "_ro"; break;
  }
  return std::to_string(name.size()) + name;
}

std::string Reader::code(uint32_t id, char sign, bool constant) const {
  const Instruction& in = binary_.definition(id);
  switch (in.op()) {
    case spv::OpTypeBool: return "b";
    case spv::OpTypeInt:
      switch (in.word(0)) {
        case 8: return sign == 'u' ? "h" : "c";
        case 16: return sign == 'u' ? "t" : "s";
        case 32: return sign == 'u' ? "j" : "i";
        default: return sign == 'u' ? "m" : "l";
      }
    case spv::OpTypeFloat: return in.word(0) == 16 ? "Dh" : in.word(0) == 32 ? "f" : "d";
    case spv::OpTypeVector: return "Dv" + std::to_string(in.word(1)) + "_" + code(in.word(0), sign);
    case spv::OpTypePointer: {
      std::string text = "P";
      const unsigned space = type(id)->getPointerAddressSpace();
      if (space != kGeneric) text += "U3AS" + std::to_string(space);
      if (constant) text += 'K';
      // One to an array is one to its elements.
      uint32_t pointee = in.word(1);
      while (binary_.definition(pointee).op() == spv::OpTypeArray)
        pointee = binary_.definition(pointee).word(0);
      // A pointer's pointee is never again a pointer where the library is concerned.
      if (binary_.definition(pointee).op() == spv::OpTypePointer) return text + "v";
      return text + code(pointee, sign);
    }
    case spv::OpTypeImage: return image_code(in);
    case spv::OpTypeSampler: return "11ocl_sampler";
    case spv::OpTypeEvent: return "9ocl_event";
    case spv::OpTypeReserveId: return "13ocl_reserveid";
    default: return "v";
  }
}

Argument Reader::argument(const Instruction& in, Values v, size_t index, char sign) const {
  return {v[index], code(binary_.definition(in.word(index)).type(), sign)};
}

std::string Reader::type_name(uint32_t id) const {
  const Instruction& in = binary_.definition(id);
  switch (in.op()) {
    case spv::OpTypeBool: return "bool";
    case spv::OpTypeInt: {
      const char* const name = in.word(0) == 8    ? "char"
                               : in.word(0) == 16 ? "short"
                               : in.word(0) == 32 ? "int"
                                                  : "long";
      return std::string(in.word(1) == 0 ? "u" : "") + name;
    }
    case spv::OpTypeFloat: return in.word(0) == 16 ? "half" : in.word(0) == 32 ? "float" : "double";
    case spv::OpTypeVector: return type_name(in.word(0)) + std::to_string(in.word(1));
    case spv::OpTypePointer:
      return (binary_.definition(in.word(1)).op() == spv::OpTypePointer ? "void*" : type_name(in.word(1))) +
             "*";
    case spv::OpTypeImage: {
      // "14ocl_image2d_ro" without what surrounds the name.
      std::string name = image_code(in);
      name = name.substr(name.find('_') + 1);
      return name.substr(0, name.size() - 3) + "_t";
    }
    case spv::OpTypeSampler: return "sampler_t";
    case spv::OpTypeEvent: return "event_t";
    case spv::OpTypePipe: return "pipe";
    case spv::OpTypeReserveId: return "reserve_id_t";
    case spv::OpTypeQueue: return "queue_t";
    case spv::OpTypeDeviceEvent: return "clk_event_t";
    case spv::OpTypeVoid: return "void";
    default: {
      std::string_view name = binary_.name(id);
      if (name.starts_with("struct.")) return "struct " + std::string(name.substr(7));
      return name.empty() ? "struct" : std::string(name);
    }
  }
}

}  // namespace morgana::runtime::spirv
