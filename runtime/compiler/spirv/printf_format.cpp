#include "runtime/compiler/spirv/printf_format.h"

#include <spirv-tools/libspirv.h>
#include <spirv/unified1/OpenCL.std.h>

#include <map>
#include <spirv/unified1/spirv.hpp>
#include <unordered_map>
#include <unordered_set>

namespace morgana::runtime::spirv {
namespace {

constexpr size_t kBoundWord = 3;

class Rewriter {
 public:
  static spv_result_t header(void* self, spv_endianness_t, uint32_t magic, uint32_t version,
                             uint32_t generator, uint32_t bound, uint32_t schema) {
    auto& rewriter = *static_cast<Rewriter*>(self);
    rewriter.words_ = {magic, version, generator, bound, schema};
    rewriter.next_ = bound;
    return SPV_SUCCESS;
  }
  static spv_result_t instruction(void* self, const spv_parsed_instruction_t* parsed) {
    static_cast<Rewriter*>(self)->add(*parsed);
    return SPV_SUCCESS;
  }
  std::optional<std::vector<uint32_t>> result() && {
    if (!has_cast_) return std::nullopt;
    words_[kBoundWord] = next_;
    return std::move(words_);
  }

 private:
  void emit(spv::Op op, std::initializer_list<uint32_t> operands) {
    words_.push_back(static_cast<uint32_t>(operands.size() + 1) << spv::WordCountShift | op);
    words_.insert(words_.end(), operands);
  }

  void add(const spv_parsed_instruction_t& in) {
    const std::span<const uint32_t> given(in.words, in.num_words);
    if (in.type_id != 0 && in.result_id != 0) types_[in.result_id] = in.type_id;
    constexpr size_t kInstruction = 4, kFormat = 5;
    if (in.opcode == spv::OpExtInst && in.ext_inst_type == SPV_EXT_INST_TYPE_OPENCL_STD &&
        given.size() > kFormat && given[kInstruction] == OpenCLLIB::Printf) {
      const auto format = pointers_to_arrays_.find(types_[given[kFormat]]);
      if (format != pointers_to_arrays_.end()) {
        const uint32_t cast = next_++;
        emit(spv::OpBitcast, {pointers_to_bytes_[format->second], cast, given[kFormat]});
        words_.insert(words_.end(), given.begin(), given.end());
        words_[words_.size() - given.size() + kFormat] = cast;
        has_cast_ = true;
        return;
      }
    }
    if (in.opcode == spv::OpFunction) declare_pointers();
    words_.insert(words_.end(), given.begin(), given.end());
    switch (in.opcode) {
      case spv::OpTypeInt:
        if (given[2] == 8) byte_ = in.result_id;
        break;
      case spv::OpTypeArray:
        if (given[2] == byte_) arrays_.insert(in.result_id);
        break;
      case spv::OpTypePointer:
        if (given[3] == byte_) pointers_to_bytes_[given[2]] = in.result_id;
        if (arrays_.contains(given[3])) pointers_to_arrays_[in.result_id] = given[2];
        break;
      default: break;
    }
  }

  // Before the first function, when all types are known, of which none may be there twice.
  void declare_pointers() {
    for (const auto& [pointer, storage] : pointers_to_arrays_) {
      uint32_t& to_bytes = pointers_to_bytes_[storage];
      if (to_bytes != 0) continue;
      to_bytes = next_++;
      emit(spv::OpTypePointer, {to_bytes, storage, byte_});
    }
  }

  std::vector<uint32_t> words_;
  uint32_t next_ = 0;
  uint32_t byte_ = 0;
  bool has_cast_ = false;
  std::unordered_map<uint32_t, uint32_t> types_;     // by value
  std::unordered_set<uint32_t> arrays_;              // types: arrays of bytes
  std::map<uint32_t, uint32_t> pointers_to_arrays_;  // types: the storage class of pointers to those
  std::map<uint32_t, uint32_t> pointers_to_bytes_;   // types: pointers to a byte, by storage class
};

}  // namespace

std::optional<std::vector<uint32_t>> with_formats_of_bytes(const spv_context_t* context,
                                                           std::span<const uint32_t> words) {
  Rewriter rewriter;
  if (spvBinaryParse(context, &rewriter, words.data(), words.size(), Rewriter::header, Rewriter::instruction,
                     nullptr) != SPV_SUCCESS)
    return std::nullopt;
  return std::move(rewriter).result();
}

}  // namespace morgana::runtime::spirv
