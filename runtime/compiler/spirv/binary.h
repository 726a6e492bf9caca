// A SPIR-V module taken apart: instructions with their operands, and tables of what refers to ids.
// SPIRV-Tools validates and parses it; nothing of LLVM is known here. Private to runtime/compiler/spirv.
//
// A Binary owns its words; instructions and views point into it. It does not change once it is read; any
// thread.
#pragma once

#include <spirv-tools/libspirv.h>

#include <memory>
#include <span>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace morgana::runtime::spirv {

// Of a module's first words (SPIR-V 2.3): how many they are, and which has the bound of the ids.
inline constexpr size_t kHeaderWords = 5, kBoundWord = 3;

struct Operand {
  spv_operand_type_t kind;
  std::span<const uint32_t> words;
};

// Operands are counted without result type and result.
class Instruction {
 public:
  Instruction() = default;
  Instruction(spv::Op op, uint32_t type, uint32_t result, spv_ext_inst_type_t set,
              std::span<const Operand> operands)
      : op_(op), type_(type), result_(result), set_(set), operands_(operands) {}

  spv::Op op() const { return op_; }
  uint32_t type() const { return type_; }
  uint32_t result() const { return result_; }
  spv_ext_inst_type_t set() const { return set_; }  // of OpExtInst
  size_t size() const { return operands_.size(); }
  const Operand& operand(size_t index) const { return operands_[index]; }
  // The first word of an operand; 0 where there is none.
  uint32_t word(size_t index) const { return index < size() ? operands_[index].words[0] : 0; }
  // A literal of up to two words.
  uint64_t literal(size_t index) const;
  std::string_view text(size_t index) const;
  // This instruction without its first `count` operands, as another one.
  Instruction tail(spv::Op op, size_t count) const {
    return {op, type_, result_, set_, operands_.subspan(count)};
  }

 private:
  spv::Op op_ = spv::OpNop;
  uint32_t type_ = 0;
  uint32_t result_ = 0;
  spv_ext_inst_type_t set_ = SPV_EXT_INST_TYPE_NONE;
  std::span<const Operand> operands_;
};

struct Decoration {
  static constexpr uint32_t kWhole = ~0u;
  uint32_t member = kWhole;
  spv::Decoration kind = spv::DecorationMax;
  const Instruction* by = nullptr;  // with the operands of the decoration from `first` on
  size_t first = 0;

  uint32_t word(size_t index) const { return by->word(first + index); }
  std::string_view text(size_t index) const { return by->text(first + index); }
};

class Binary {
 public:
  // Parses what is valid, or known to be; malformed says what is wrong.
  static Result<std::unique_ptr<Binary>> read(std::string_view bytes, bool is_valid = false);
  // Whether read() took the bytes as they are, and may be told so when it reads them again.
  bool is_valid() const { return is_valid_; }

  std::span<const Instruction> instructions() const { return instructions_; }
  uint32_t bound() const { return bound_; }
  // The instruction whose result is `id`, or an OpNop.
  const Instruction& definition(uint32_t id) const;
  std::string_view name(uint32_t id) const;
  std::span<const Decoration> decorations(uint32_t id) const;
  // The first decoration of that kind of the id itself, or null.
  const Decoration* find(uint32_t id, spv::Decoration kind) const;
  // The OpExecutionMode and OpExecutionModeId of an entry point.
  std::span<const Instruction* const> modes(uint32_t function) const;

 private:
  static spv_result_t add(void* binary, const spv_parsed_instruction_t* instruction);
  void index();
  void index_decoration(const Instruction& in);

  uint32_t bound_ = 0;
  bool is_valid_ = true;
  std::vector<uint32_t> words_;    // of all operands
  std::vector<Operand> operands_;  // of all instructions
  std::vector<Instruction> instructions_;
  std::vector<uint32_t> definitions_;  // index of an instruction + 1, by id
  std::unordered_map<uint32_t, std::string_view> names_;
  std::unordered_map<uint32_t, std::vector<Decoration>> decorations_;
  std::unordered_map<uint32_t, std::vector<const Instruction*>> modes_;
};

}  // namespace morgana::runtime::spirv
