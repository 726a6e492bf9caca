// The subcommands of `morgana`. Each takes the words behind its name and returns the exit status:
// 0 done, 1 the work failed, 2 the words are off.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace morgana::tools {

using Words = std::span<const std::string_view>;

int run_command(Words words);
int dispatch_command(Words words);
int replay_command(Words words);
int profile_command(Words words);
int explore_command(Words words);
int doctor_command(Words words);
int info_command(Words words);
int disasm_command(Words words);
int ir_command(Words words);
int isa_command(Words words);
int vectors_command(Words words);

// Prints "morgana NAME: message" on standard error and returns `status`.
int fail(std::string_view command, std::string_view message, int status = 1);

Status write_file(const std::string& path, std::span<const uint8_t> bytes);

// The program and its arguments behind "--", empty when there are none; `own` gets the words before it.
std::vector<std::string> program_behind(Words words, std::vector<std::string_view>& own);
// Removes "--name VALUE" or "--name=VALUE" from `words` and returns VALUE; an error when the value is
// missing.
Result<std::optional<std::string>> take_option(std::vector<std::string_view>& words, std::string_view name);
// Every value of an option that may repeat, in order.
Result<std::vector<std::string>> take_options(std::vector<std::string_view>& words, std::string_view name);
// Removes a flag and says whether it was there.
bool take_flag(std::vector<std::string_view>& words, std::string_view name);
// Complains about what is left; true when nothing is.
bool nothing_left(std::string_view command, const std::vector<std::string_view>& words);

}  // namespace morgana::tools
