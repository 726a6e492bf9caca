// Shared by the tests of the compiler: the extensions of a typical target, and looking into what was built.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/target.h"
#include "runtime/compiler/compiler.h"

namespace morgana::runtime {

inline TargetDescription describe(std::string processor) {
  TargetDescription target;
  auto table = find_target(processor.substr(0, processor.find(':')));
  target.processor = std::move(processor);
  target.extensions = {"cl_khr_fp64",
                       "cl_khr_byte_addressable_store",
                       "cl_khr_global_int32_base_atomics",
                       "cl_khr_global_int32_extended_atomics",
                       "cl_khr_local_int32_base_atomics",
                       "cl_khr_local_int32_extended_atomics",
                       "cl_khr_int64_base_atomics",
                       "cl_khr_int64_extended_atomics",
                       "__opencl_c_fp64",
                       "__opencl_c_int64",
                       "__opencl_c_generic_address_space",
                       "__opencl_c_program_scope_global_variables",
                       "__opencl_c_atomic_order_acq_rel",
                       "__opencl_c_atomic_order_seq_cst",
                       "__opencl_c_atomic_scope_device",
                       "__opencl_c_atomic_scope_all_devices"};
  if (table && info(*table).generation >= Generation::gfx8) target.extensions.push_back("cl_khr_fp16");
  return target;
}

inline BuildOptions options_of(std::string_view text, BuildStage stage = BuildStage::build) {
  auto options = parse_build_options(text, stage);
  EXPECT_TRUE(options.ok()) << text;
  return options.ok() ? *options : BuildOptions();
}

struct Built {
  Result<std::string> object = make_error(ErrorCode::internal, "not built");
  std::string log;
  bool ok() const { return object.ok(); }
  bool object_has(std::string_view text) const { return ok() && object->find(text) != std::string::npos; }
  bool log_has(std::string_view text) const { return log.find(text) != std::string::npos; }
};

inline Built build(std::string_view source, std::string_view options = "", std::string processor = "gfx950") {
  Built built;
  CompileInput input;
  input.source = source;
  built.object = build_source(input, options_of(options), describe(std::move(processor)), built.log);
  return built;
}

inline Built compile(std::string_view source, std::string_view options = "",
                     std::vector<Header> headers = {}) {
  Built built;
  CompileInput input;
  input.source = source;
  input.headers = std::move(headers);
  built.object =
      compile_source(input, options_of(options, BuildStage::compile), describe("gfx950"), built.log);
  return built;
}

inline Built link(const std::vector<Built>& objects, std::string_view options = "") {
  Built built;
  std::vector<std::string_view> bytes;
  for (const Built& object : objects) bytes.push_back(object.ok() ? std::string_view(*object.object) : "");
  built.object = link_objects(bytes, options_of(options, BuildStage::link), describe("gfx950"), built.log);
  return built;
}

// Fields of the ELF header: e_ident[EI_ABIVERSION], e_machine and the EF_AMDGPU_MACH byte of e_flags.
struct ElfFacts {
  bool is_elf = false;
  int abi_version = 0;
  int machine = 0;
  int processor = 0;
};

inline ElfFacts elf_facts(const Built& built) {
  ElfFacts facts;
  if (!built.ok() || built.object->size() < 64) return facts;
  auto byte = [&](size_t i) { return static_cast<unsigned char>((*built.object)[i]); };
  facts.is_elf = built.object->substr(0, 4) ==
                 "\x7f"
                 "ELF";
  facts.abi_version = byte(8);
  facts.machine = byte(18) | byte(19) << 8;
  facts.processor = byte(48);
  return facts;
}

}  // namespace morgana::runtime
