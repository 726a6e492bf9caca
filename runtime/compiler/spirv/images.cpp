// Images and samplers.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

// Enumerations of SPIR-V begin at 0, those of OpenCL C here.
constexpr uint32_t kFirstChannelOrder = 0x10b0;
constexpr uint32_t kFirstChannelType = 0x10d0;

constexpr uint32_t kSigns =
    uint32_t{spv::ImageOperandsSignExtendMask} | uint32_t{spv::ImageOperandsZeroExtendMask};

bool is_depth(const Instruction& image) { return image.word(2) == 1; }

// Components that OpenCL C gives a coordinate.
unsigned coordinates(const Instruction& image) {
  const bool is_array = image.word(3) != 0;
  switch (image.word(1)) {
    case spv::Dim2D: return is_array ? 4 : 2;
    case spv::Dim3D: return 4;
    default: return is_array ? 2 : 1;
  }
}

}  // namespace

// The coordinate with as many components as the library's functions take; null where it has too few, or
// another type.
llvm::Value* Reader::coordinate(const Instruction& image, llvm::Value* value) {
  const unsigned wanted = coordinates(image);
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  const unsigned given = vector == nullptr ? 1 : vector->getNumElements();
  if (given == wanted) return value;
  if (wanted == 1) return build_.CreateExtractElement(value, uint64_t{0});
  if (vector == nullptr || given + 1 < wanted) return nullptr;
  llvm::Value* result =
      llvm::Constant::getNullValue(llvm::FixedVectorType::get(vector->getElementType(), wanted));
  for (unsigned i = 0; i < std::min(given, wanted); ++i)
    result = build_.CreateInsertElement(result, build_.CreateExtractElement(value, i), i);
  return result;
}

// OpImageRead of an image, or OpImageSampleExplicitLod of an image and a sampler.
Result<llvm::Value*> Reader::read_image(const Instruction& in, Values v) {
  const bool sampled = in.op() == spv::OpImageSampleExplicitLod;
  const Instruction& given = type_of(in.word(0));
  const Instruction& image = sampled ? binary_.definition(given.word(0)) : given;
  if (image.op() != spv::OpTypeImage || (sampled && !v[0]->getType()->isStructTy()))
    return make_error(ErrorCode::unsupported, "a read of what is no image");
  llvm::Type* const result = type(in.type());
  llvm::Type* const element = result->getScalarType();
  llvm::Value* const at = coordinate(image, v[1]);
  const char kind = element->isHalfTy()        ? 'h'
                    : element->isFloatTy()     ? 'f'
                    : element->isIntegerTy(32) ? 'i'
                                               : 0;
  if (at == nullptr || kind == 0) return make_error(ErrorCode::unsupported, "an image read of that type");
  const uint32_t operands = in.word(2);
  std::string name = std::string("read_image") + kind;
  if (kind == 'i' && (operands & kSigns) == spv::ImageOperandsZeroExtendMask) name = "read_imageui";
  std::vector<Argument> arguments;
  if (sampled) {
    arguments = {{build_.CreateExtractValue(v[0], 0), image_code(image)},
                 {build_.CreateExtractValue(v[0], 1), "11ocl_sampler"}};
  } else {
    arguments = {{v[0], image_code(image)}};
  }
  std::string place = at->getType()->isIntOrIntVectorTy() ? "i" : "f";
  if (!at->getType()->getScalarType()->isIntegerTy(32) && !at->getType()->getScalarType()->isFloatTy())
    return make_error(ErrorCode::unsupported, "a coordinate of that type");
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(at->getType()))
    place = "Dv" + std::to_string(vector->getNumElements()) + "_" + place;
  arguments.push_back({at, place});
  size_t next = 3;
  if ((operands & spv::ImageOperandsLodMask) != 0) {
    // Level 0 is what there is without mipmaps.
    auto* const level = llvm::dyn_cast<llvm::Constant>(v[next]);
    if (level == nullptr || !level->isNullValue()) {
      if (sampled)
        arguments.push_back(argument(in, v, next));
      else if (v[next]->getType()->isIntegerTy())
        arguments[0].value = level_of(v[0], v[next]);
      else
        return make_error(ErrorCode::unsupported, "a level that is no integer");
    }
    ++next;
  }
  if ((operands & spv::ImageOperandsGradMask) != 0) {
    arguments.push_back(argument(in, v, next));
    arguments.push_back(argument(in, v, next + 1));
    next += 2;
  }
  if ((operands & spv::ImageOperandsSampleMask) != 0) arguments.push_back(argument(in, v, next));
  // A depth image has one component.
  if (is_depth(image)) {
    llvm::Value* const depth = call(name, element, arguments);
    if (!result->isVectorTy()) return depth;
    return build_.CreateInsertElement(llvm::Constant::getNullValue(result), depth, uint64_t{0});
  }
  llvm::Type* const texel = llvm::FixedVectorType::get(element, 4);
  llvm::Value* const read = call(name, texel, arguments);
  if (!result->isVectorTy()) return build_.CreateExtractElement(read, uint64_t{0});
  return read;
}

Result<llvm::Value*> Reader::write_image(const Instruction& in, Values v) {
  const Instruction& image = type_of(in.word(0));
  llvm::Value* const at = coordinate(image, v[1]);
  llvm::Value* texel = v[2];
  llvm::Type* const element = texel->getType()->getScalarType();
  const char kind = element->isHalfTy()        ? 'h'
                    : element->isFloatTy()     ? 'f'
                    : element->isIntegerTy(32) ? 'i'
                                               : 0;
  if (image.op() != spv::OpTypeImage || at == nullptr || kind == 0 ||
      !at->getType()->getScalarType()->isIntegerTy(32))
    return make_error(ErrorCode::unsupported, "an image write of that type");
  const uint32_t operands = in.word(3);
  std::string name = std::string("write_image") + kind;
  std::string sign = "i";
  if (kind == 'i' && (operands & kSigns) == spv::ImageOperandsZeroExtendMask) {
    name = "write_imageui";
    sign = "j";
  }
  std::string place = "i";
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(at->getType()))
    place = "Dv" + std::to_string(vector->getNumElements()) + "_i";
  std::vector<Argument> arguments = {{v[0], image_code(image)}, {at, place}};
  if ((operands & spv::ImageOperandsLodMask) != 0) {
    auto* const level = llvm::dyn_cast<llvm::Constant>(v[4]);
    if (level == nullptr || !level->isNullValue()) arguments.push_back(argument(in, v, 4));
  }
  const std::string component = kind == 'i' ? sign : kind == 'h' ? "Dh" : "f";
  if (is_depth(image)) {
    if (texel->getType()->isVectorTy()) texel = build_.CreateExtractElement(texel, uint64_t{0});
    arguments.push_back({texel, component});
  } else {
    if (!texel->getType()->isVectorTy())
      texel = build_.CreateInsertElement(llvm::Constant::getNullValue(llvm::FixedVectorType::get(element, 4)),
                                         texel, uint64_t{0});
    if (llvm::cast<llvm::FixedVectorType>(texel->getType())->getNumElements() != 4)
      return make_error(ErrorCode::unsupported, "an image write of that type");
    arguments.push_back({texel, "Dv4_" + component});
  }
  call(name, llvm::Type::getVoidTy(context()), arguments);
  return nullptr;
}

// The record of an image's level (runtime/image_record.h).
llvm::Value* Reader::level_of(llvm::Value* image, llvm::Value* level) {
  constexpr uint64_t kRecordBytes = 256;
  llvm::Value* const bytes =
      build_.CreateMul(build_.CreateZExtOrTrunc(level, i64()), build_.getInt64(kRecordBytes));
  return build_.CreateGEP(build_.getInt8Ty(), image, bytes);
}

Result<llvm::Value*> Reader::image_size(const Instruction& in, Values v) {
  const Instruction& image = type_of(in.word(0));
  if (image.op() != spv::OpTypeImage) return make_error(ErrorCode::unsupported, "a size of what is no image");
  const bool names_level = in.op() == spv::OpImageQuerySizeLod && v[1]->getType()->isIntegerTy();
  const Argument of{names_level ? level_of(v[0], v[1]) : v[0], image_code(image)};
  std::vector<llvm::Value*> sizes = {call("get_image_width", i32(), {of})};
  if (image.word(1) == spv::Dim2D || image.word(1) == spv::Dim3D)
    sizes.push_back(call("get_image_height", i32(), {of}));
  if (image.word(1) == spv::Dim3D) sizes.push_back(call("get_image_depth", i32(), {of}));
  if (image.word(3) != 0) sizes.push_back(call("get_image_array_size", i64(), {of}));
  llvm::Type* const result = type(in.type());
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(result);
  if (!result->isIntOrIntVectorTy() || (vector == nullptr ? 1 : vector->getNumElements()) != sizes.size())
    return make_error(ErrorCode::unsupported, "an image's size of that type");
  if (vector == nullptr) return build_.CreateZExtOrTrunc(sizes[0], result);
  llvm::Value* all = llvm::PoisonValue::get(vector);
  for (size_t i = 0; i < sizes.size(); ++i)
    all = build_.CreateInsertElement(all, build_.CreateZExtOrTrunc(sizes[i], vector->getElementType()), i);
  return all;
}

Reader::Handled Reader::images(const Instruction& in, Values v) {
  const auto query = [&](const char* name, uint32_t first) {
    llvm::Value* const answer = call(name, i32(), {{v[0], image_code(type_of(in.word(0)))}});
    return build_.CreateZExtOrTrunc(build_.CreateSub(answer, build_.getInt32(first)), type(in.type()));
  };
  switch (in.op()) {
    case spv::OpSampledImage: {
      llvm::Value* const image = build_.CreateInsertValue(llvm::PoisonValue::get(type(in.type())), v[0], 0);
      return build_.CreateInsertValue(image, v[1], 1);
    }
    case spv::OpImage: return build_.CreateExtractValue(v[0], 0);
    case spv::OpImageSampleExplicitLod:
    case spv::OpImageRead:
    case spv::OpImageFetch: return read_image(in, v);
    case spv::OpImageWrite: return write_image(in, v);
    case spv::OpImageQuerySize:
    case spv::OpImageQuerySizeLod: return image_size(in, v);
    case spv::OpImageQueryFormat: return query("get_image_channel_data_type", kFirstChannelType);
    case spv::OpImageQueryOrder: return query("get_image_channel_order", kFirstChannelOrder);
    case spv::OpImageQueryLevels: return query("get_image_num_mip_levels", 0);
    case spv::OpImageQuerySamples: return query("get_image_num_samples", 0);
    default: return std::nullopt;
  }
}

}  // namespace morgana::runtime::spirv
