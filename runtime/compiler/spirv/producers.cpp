#include "runtime/compiler/spirv/producers.h"

#include <spirv-tools/libspirv.h>
#include <spirv/unified1/OpenCL.std.h>

#include <bit>
#include <cstring>
#include <map>
#include <spirv/unified1/spirv.hpp>
#include <string_view>
#include <unordered_map>

#include "runtime/compiler/spirv/binary.h"
#include "runtime/compiler/spirv/block_order.h"

namespace morgana::runtime::spirv {
namespace {

constexpr std::string_view kFastMath = "SPV_INTEL_fp_fast_math_mode";
// Words of instructions.
constexpr size_t kNullWords = 3;               // opcode, type, result
constexpr size_t kExtNumber = 4, kFormat = 5;  // opcode, type, result, set, number, format
constexpr size_t kTruthOperand = 3;            // opcode, type, result, operand

// The words with the lengths of OpConstantNull mended; nothing when no word was dropped.
std::optional<std::vector<uint32_t>> with_short_nulls(std::span<const uint32_t> words) {
  if (words.size() < kHeaderWords || words[0] != spv::MagicNumber) return std::nullopt;
  std::vector<uint32_t> result(words.begin(), words.begin() + kHeaderWords);
  for (size_t at = kHeaderWords; at < words.size();) {
    const size_t length = words[at] >> spv::WordCountShift;
    if (length == 0 || length > words.size() - at) return std::nullopt;
    const bool is_long = (words[at] & spv::OpCodeMask) == spv::OpConstantNull && length > kNullWords;
    const std::span<const uint32_t> one = words.subspan(at, is_long ? kNullWords : length);
    result.insert(result.end(), one.begin(), one.end());
    if (is_long) result[result.size() - kNullWords] = kNullWords << spv::WordCountShift | spv::OpConstantNull;
    at += length;
  }
  if (result.size() == words.size()) return std::nullopt;
  return result;
}

class Rewriter {
 public:
  static spv_result_t header(void* self, spv_endianness_t, uint32_t magic, uint32_t version,
                             uint32_t generator, uint32_t bound, uint32_t schema) {
    auto& rewriter = *static_cast<Rewriter*>(self);
    rewriter.out_ = {magic, version, generator, bound, schema};
    rewriter.next_ = bound;
    return SPV_SUCCESS;
  }
  static spv_result_t instruction(void* self, const spv_parsed_instruction_t* parsed) {
    static_cast<Rewriter*>(self)->add(*parsed);
    return SPV_SUCCESS;
  }
  std::optional<std::vector<uint32_t>> result() && {
    if (!has_changed_) return std::nullopt;
    out_[kBoundWord] = next_;
    return std::move(out_);
  }

 private:
  struct Vector {
    uint32_t component = 0, count = 0;
  };

  void emit(spv::Op op, std::initializer_list<uint32_t> operands) {
    out_.push_back(static_cast<uint32_t>(operands.size() + 1) << spv::WordCountShift | op);
    out_.insert(out_.end(), operands);
  }
  void copy(std::span<const uint32_t> words) { out_.insert(out_.end(), words.begin(), words.end()); }

  void add(const spv_parsed_instruction_t& in) {
    const std::span<const uint32_t> given(in.words, in.num_words);
    if (in.type_id != 0 && in.result_id != 0) type_of_[in.result_id] = in.type_id;
    if (in.opcode == spv::OpFunction && !declared_) declare();
    name_extensions(in, given);
    if (replace(in, given)) {
      has_changed_ = true;
      return;
    }
    copy(given);
    switch (in.opcode) {
      case spv::OpTypeBool: bool_ = in.result_id; break;
      case spv::OpTypeInt: integers_[in.result_id] = given[2]; break;
      case spv::OpTypeVector:
        vectors_[in.result_id] = {given[2], given[3]};
        if (given[2] == bool_) truths_[given[3]] = in.result_id;
        break;
      case spv::OpTypeArray:
        if (is_byte(given[2])) bytes_of_[in.result_id] = given[2];
        break;
      case spv::OpTypePointer:
        if (is_byte(given[3])) to_bytes_[given[2]] = in.result_id;
        if (const auto array = bytes_of_.find(given[3]); array != bytes_of_.end())
          to_arrays_[in.result_id] = {given[2], array->second};
        break;
      case spv::OpConstantNull: nulls_[in.type_id] = in.result_id; break;
      default: break;
    }
  }

  // Behind capabilities and extensions: an extension that a capability is of.
  void name_extensions(const spv_parsed_instruction_t& in, std::span<const uint32_t> given) {
    if (are_extensions_named_) return;
    if (in.opcode == spv::OpCapability) {
      needs_fast_math_ |= given[1] == spv::CapabilityFPFastMathModeINTEL;
    } else if (in.opcode == spv::OpExtension) {
      const std::string_view name(reinterpret_cast<const char*>(given.data() + 1), (given.size() - 1) * 4);
      if (name.starts_with(kFastMath)) needs_fast_math_ = false;
    } else {
      are_extensions_named_ = true;
      if (!needs_fast_math_) return;
      // With a NUL behind it at least.
      std::vector<uint32_t> words(1 + kFastMath.size() / 4 + 1);
      words[0] = static_cast<uint32_t>(words.size()) << spv::WordCountShift | spv::OpExtension;
      std::memcpy(words.data() + 1, kFastMath.data(), kFastMath.size());
      copy(words);
      has_changed_ = true;
    }
  }

  bool is_byte(uint32_t type) const {
    const auto found = integers_.find(type);
    return found != integers_.end() && found->second == 8;
  }

  // Writes something else than the instruction, where that must be.
  bool replace(const spv_parsed_instruction_t& in, std::span<const uint32_t> given) {
    switch (in.opcode) {
      case spv::OpExtInst: return replace_printf(in, given);
      // Hints, of which nothing is left.
      case spv::OpSelectionMerge:
      case spv::OpLoopMerge:
      case spv::OpAliasDomainDeclINTEL:
      case spv::OpAliasScopeDeclINTEL:
      case spv::OpAliasScopeListDeclINTEL: return true;
      case spv::OpCapability: return given[1] == spv::CapabilityMemoryAccessAliasingINTEL;
      case spv::OpDecorate:
      case spv::OpDecorateId:
        return given[2] == spv::DecorationAliasScopeINTEL || given[2] == spv::DecorationNoAliasINTEL;
      case spv::OpLoad:
      case spv::OpCopyMemorySized: return drop_aliases(given, 4);
      case spv::OpStore:
      case spv::OpCopyMemory: return drop_aliases(given, 3);
      case spv::OpAtomicCompareExchangeWeak:
        out_.push_back(static_cast<uint32_t>(given.size()) << spv::WordCountShift |
                       spv::OpAtomicCompareExchange);
        copy(given.subspan(1));
        return true;
      case spv::OpConstantNull: {
        const auto width = integers_.find(in.type_id);
        if (width == integers_.end() || width->second > 64) return false;
        if (width->second > 32) {
          emit(spv::OpConstant, {in.type_id, in.result_id, 0, 0});
        } else {
          emit(spv::OpConstant, {in.type_id, in.result_id, 0});
        }
        nulls_[in.type_id] = in.result_id;
        return true;
      }
      case spv::OpAny:
      case spv::OpAll: {
        const uint32_t type = type_of_[given[kTruthOperand]];
        const auto zero = nulls_.find(type);
        if (zero == nulls_.end()) return false;
        const auto vector = vectors_.find(type);
        if (vector == vectors_.end()) {
          emit(spv::OpSLessThan, {in.type_id, in.result_id, given[kTruthOperand], zero->second});
          return true;
        }
        if (!integers_.contains(vector->second.component)) return false;
        const uint32_t signs = next_++;
        emit(spv::OpSLessThan, {truths_[vector->second.count], signs, given[kTruthOperand], zero->second});
        emit(static_cast<spv::Op>(in.opcode), {in.type_id, in.result_id, signs});
        return true;
      }
      default: return false;
    }
  }

  // The memory operands that stand last.
  bool drop_aliases(std::span<const uint32_t> given, size_t mask) {
    constexpr uint32_t kScope = spv::MemoryAccessAliasScopeINTELMaskMask,
                       kNone = spv::MemoryAccessNoAliasINTELMaskMask;
    if (given.size() <= mask || (given[mask] & (kScope | kNone)) == 0) return false;
    const size_t dropped = static_cast<size_t>(std::popcount(given[mask] & (kScope | kNone)));
    if (given.size() - mask <= dropped) return false;
    const std::span<const uint32_t> kept = given.first(given.size() - dropped);
    const size_t start = out_.size();
    copy(kept);
    out_[start] = static_cast<uint32_t>(kept.size()) << spv::WordCountShift | (given[0] & spv::OpCodeMask);
    out_[start + mask] &= ~(kScope | kNone);
    return true;
  }

  bool replace_printf(const spv_parsed_instruction_t& in, std::span<const uint32_t> given) {
    if (in.ext_inst_type != SPV_EXT_INST_TYPE_OPENCL_STD || given.size() <= kFormat ||
        given[kExtNumber] != OpenCLLIB::Printf)
      return false;
    const auto pointer = to_arrays_.find(type_of_[given[kFormat]]);
    if (pointer == to_arrays_.end()) return false;
    const uint32_t cast = next_++;
    emit(spv::OpBitcast, {to_bytes_[pointer->second.storage], cast, given[kFormat]});
    copy(given);
    out_[out_.size() - given.size() + kFormat] = cast;
    return true;
  }

  // Before the first function, when all types are known, of which none may be there twice: those that
  // replacements need. What is of no use does no harm.
  void declare() {
    declared_ = true;
    for (const auto& [type, pointer] : to_arrays_) {
      uint32_t& to_bytes = to_bytes_[pointer.storage];
      if (to_bytes != 0) continue;
      to_bytes = next_++;
      emit(spv::OpTypePointer, {to_bytes, pointer.storage, pointer.byte});
    }
    if (bool_ == 0) return;
    const auto zero = [&](uint32_t type) {
      uint32_t& id = nulls_[type];
      if (id != 0) return;
      id = next_++;
      emit(spv::OpConstantNull, {type, id});
    };
    for (const auto& [type, width] : integers_) zero(type);
    for (const auto& [type, vector] : vectors_) {
      if (!integers_.contains(vector.component)) continue;
      zero(type);
      uint32_t& truths = truths_[vector.count];
      if (truths != 0) continue;
      truths = next_++;
      emit(spv::OpTypeVector, {truths, bool_, vector.count});
    }
  }

  struct Pointer {
    uint32_t storage = 0, byte = 0;
  };

  std::vector<uint32_t> out_;
  uint32_t next_ = 0;
  bool has_changed_ = false;
  bool declared_ = false;
  bool are_extensions_named_ = false;
  bool needs_fast_math_ = false;
  std::unordered_map<uint32_t, uint32_t> type_of_;  // by value
  uint32_t bool_ = 0;
  std::map<uint32_t, uint32_t> integers_;  // types: widths
  std::map<uint32_t, Vector> vectors_;     // types
  std::map<uint32_t, uint32_t> bytes_of_;  // types, arrays of bytes: the type of bytes
  std::map<uint32_t, Pointer> to_arrays_;  // types: pointers to those
  std::map<uint32_t, uint32_t> to_bytes_;  // types: pointers to a byte, by storage class
  std::map<uint32_t, uint32_t> truths_;    // types: vectors of booleans, by count
  std::map<uint32_t, uint32_t> nulls_;     // constants, by type
};

}  // namespace

std::optional<std::vector<uint32_t>> as_meant(const spv_context_t* context, std::span<const uint32_t> words) {
  std::optional<std::vector<uint32_t>> shortened = with_short_nulls(words);
  if (shortened) words = *shortened;
  Rewriter rewriter;
  if (spvBinaryParse(context, &rewriter, words.data(), words.size(), Rewriter::header, Rewriter::instruction,
                     nullptr) != SPV_SUCCESS)
    return std::nullopt;
  std::optional<std::vector<uint32_t>> rewritten = std::move(rewriter).result();
  if (!rewritten) rewritten = std::move(shortened);
  std::optional<std::vector<uint32_t>> ordered = with_ordered_blocks(rewritten ? *rewritten : words);
  return ordered ? ordered : rewritten;
}

}  // namespace morgana::runtime::spirv
