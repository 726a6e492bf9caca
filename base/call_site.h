// Where in the process a return address lies, as who resolves addresses (addr2line) wants it. Any thread.
#pragma once

#include <string>

namespace morgana {

// "program+0x1234 (function)"; null: "somewhere".
std::string site_of(const void* frame);

}  // namespace morgana
