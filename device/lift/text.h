// Wave IR as text, and back: docs/wave-ir.md. What `print` writes `parse` reads; comments begin with a
// semicolon. Pure; any thread. Any text is a Function or an error that names the line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "device/lift/ir.h"

namespace morgana::device::lift {

// `comment`: what stands behind a value, if anything.
std::string print(const Function& function, const std::function<std::string(ValueId)>& comment = {});

Result<Function> parse(std::string_view text);

}  // namespace morgana::device::lift
