// Which registers an instruction reads and writes, as code numbers of the operand space (isa/inst.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "device/isa/inst.h"
#include "device/state/wave.h"

namespace morgana::device {

struct RegisterRange {
  uint16_t first = 0, count = 0;
  bool has(uint32_t code) const { return code - first < count; }
  bool operator==(const RegisterRange&) const = default;
};

class Registers {
 public:
  void add(uint32_t first, uint32_t count) {
    if (count != 0 && size_ < ranges_.size())
      ranges_[size_++] = {static_cast<uint16_t>(first), static_cast<uint16_t>(count)};
  }
  bool has(uint32_t code) const {
    return std::any_of(begin(), end(), [code](const RegisterRange& one) { return one.has(code); });
  }
  const RegisterRange* begin() const { return ranges_.data(); }
  const RegisterRange* end() const { return ranges_.data() + size_; }
  bool empty() const { return size_ == 0; }

 private:
  std::array<RegisterRange, 9> ranges_;  // of five sources, two destinations, VCC and EXEC
  uint8_t size_ = 0;
};

struct UsedRegisters {
  // By source and destination: what the operand names, moved by M0 where it is relative. Empty: no register.
  std::array<RegisterRange, std::tuple_size_v<decltype(isa::Inst::src)>> src;
  std::array<RegisterRange, 2> dst;
  // With VCC and EXEC where they are read or written without being named. EXEC that lanes are active by is
  // left out.
  Registers read, written;
};

// Of an instruction that `wave` is about to execute. The old value of a register that is loaded in part is
// not read.
UsedRegisters used_registers(const Wave& wave, const isa::Inst& inst);

// "v3", "s[4:5]", "vcc".
std::string register_name(RegisterRange range);

bool is_valu(isa::Format format);
bool is_salu(isa::Format format);

}  // namespace morgana::device
