// The text of immediates that name things: hardware registers, messages, counters, versions. Only for
// print_*.cpp of this folder.
#pragma once

#include <string>

#include "device/isa/internal.h"

namespace morgana::isa {

std::string print_hwreg(const TargetInfo& target, uint16_t simm16);
std::string print_message(const TargetInfo& target, uint16_t simm16);
std::string print_waitcnt(const TargetInfo& target, uint16_t simm16);
std::string print_depctr(const TargetInfo& target, uint16_t simm16);
std::string print_delay(uint16_t simm16);
std::string print_version(uint16_t simm16);

}  // namespace morgana::isa
