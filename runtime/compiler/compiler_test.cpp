#include "runtime/compiler/compiler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstring>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "codeobj/code_object.h"
#include "runtime/compiler/containment.h"
#include "runtime/compiler/test_support.h"

namespace morgana::runtime {
namespace {

constexpr const char* kScale =
    "kernel void scale(global float* data, float factor) { data[get_global_id(0)] *= factor; }\n";

TEST(Compiler, BuildsAKernelToACodeObject) {
  Built built = build(kScale);
  ASSERT_TRUE(built.ok()) << built.log;
  EXPECT_EQ(built.log, "");
  ElfFacts facts = elf_facts(built);
  EXPECT_TRUE(facts.is_elf);
  EXPECT_EQ(facts.machine, 224);     // EM_AMDGPU
  EXPECT_EQ(facts.abi_version, 3);   // ELFABIVERSION_AMDGPU_HSA_V5
  EXPECT_EQ(facts.processor, 0x4f);  // EF_AMDGPU_MACH_AMDGCN_GFX950
  EXPECT_TRUE(built.object_has("scale.kd"));
  // clGetKernelArgInfo is answered from the metadata, with or without -cl-kernel-arg-info.
  for (const char* text : {"factor", "float*", "hidden_global_offset_x", "amdhsa.kernels"})
    EXPECT_TRUE(built.object_has(text)) << text;
}

// LLVM AMDGPUUsage, "AMDGPU Machine Values".
struct ProcessorCase {
  const char* name;
  int number;
};
constexpr ProcessorCase kProcessors[] = {
    {"gfx600", 0x20},  {"gfx701", 0x23},  {"gfx803", 0x2a}, {"gfx900", 0x2c}, {"gfx906", 0x2f},
    {"gfx908", 0x30},  {"gfx90a", 0x3f},  {"gfx942", 0x4c}, {"gfx950", 0x4f}, {"gfx1010", 0x33},
    {"gfx1030", 0x36}, {"gfx1100", 0x41}, {"gfx1200", 0x48}};

// What the samples and the usual benchmarks are made of: loops, local memory, barriers, atomics, mathematics.
constexpr const char* kVaried = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
constant float kTable[4] = {1.0f, 0.5f, 0.25f, 0.125f};
float helper(float x, int n) { for (int i = 0; i < n; ++i) x = mad(x, kTable[i & 3], sin(x)); return x; }
kernel void mathematics(global float* o, global const float* a, int n) {
  int i = get_global_id(0);
  float x = a[i], y = a[i + 1], part;
  o[i] = helper(pow(x, y) + exp(x) + log(fabs(y)) + tan(x) + sqrt(x) / y + fract(x, &part) + native_sin(y) + erf(x), n);
}
kernel void doubles(global double* o, global const double* a) {
  int i = get_global_id(0);
  o[i] = sin(a[i]) + pow(a[i], 2.5) / sqrt(a[i + 1]) + fmod(a[i], 3.0);
}
kernel void sum(global int* result, global const int* a, local int* scratch) {
  int l = get_local_id(0);
  scratch[l] = a[get_global_id(0)];
  for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < s) scratch[l] += scratch[l + s];
  }
  if (l == 0) atomic_add(result, scratch[0]);
}
kernel void histogram(global uint* bins, global const uchar* a, int n) {
  local uint counts[256];
  for (int i = get_local_id(0); i < 256; i += get_local_size(0)) counts[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&counts[a[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_local_id(0); i < 256; i += get_local_size(0)) atomic_add(&bins[i], counts[i]);
}
kernel void vectors(global float4* o, global const float* a, global half* h, global short8* s) {
  float4 v = vload4(get_global_id(1), a);
  vstore_half4(v, 0, h);
  s[1] = add_sat(s[0], convert_short8_sat_rte((float8)(v, v)));
  o[get_group_id(2)] = normalize(v) + shuffle(v, (uint4)(3, 2, 1, 0)) + vload_half4(1, h);
}
kernel void matrix(global const float* a, global const float* b, global float* c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
  if (x < n && y < n) c[y * n + x] = sum;
  if (x == 0) printf("row %d: %f\n", y, sum);
}
)";

class EveryTarget : public ::testing::TestWithParam<std::tuple<ProcessorCase, const char*>> {};

TEST_P(EveryTarget, BuildsAVariedProgram) {
  auto [processor, options] = GetParam();
  Built built = build(kVaried, options, processor.name);
  ASSERT_TRUE(built.ok()) << built.log;
  EXPECT_EQ(elf_facts(built).processor, processor.number);
  for (const char* kernel :
       {"mathematics.kd", "doubles.kd", "sum.kd", "histogram.kd", "vectors.kd", "matrix.kd"})
    EXPECT_TRUE(built.object_has(kernel)) << kernel;
}

INSTANTIATE_TEST_SUITE_P(Compiler, EveryTarget,
                         ::testing::Combine(::testing::ValuesIn(kProcessors),
                                            ::testing::Values("-O0", "-O2",
                                                              "-cl-std=CL3.0 -g -cl-fast-relaxed-math")),
                         [](const auto& instance) {
                           const char* options = std::get<1>(instance.param);
                           return std::string(std::get<0>(instance.param).name) + (options[2] == '0' ? "_O0"
                                                                                   : options[2] == '2'
                                                                                       ? "_O2"
                                                                                       : "_fast");
                         });

TEST(Compiler, TargetIdsChooseFeatures) {
  Built plain = build(kScale, "", "gfx90a"), chosen = build(kScale, "", "gfx90a:sramecc+:xnack-");
  ASSERT_TRUE(plain.ok() && chosen.ok()) << plain.log << chosen.log;
  EXPECT_TRUE(plain.object_has("amdgcn-amd-amdhsa--gfx90a"));
  EXPECT_FALSE(plain.object_has("gfx90a:sramecc+"));
  EXPECT_TRUE(chosen.object_has("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"));
}

constexpr const char* kSubGroup =
    "kernel void f(global uint* o) { o[get_global_id(0)] = __builtin_amdgcn_wavefrontsize(); }";

// The size of waves in the metadata, which is that of the descriptor.
Result<uint32_t> waves_of(const Built& built) {
  if (!built.ok()) return built.object.error();
  MORGANA_TRY(const codeobj::CodeObject object, codeobj::CodeObject::parse(Bytes(*built.object)));
  const codeobj::Kernel& kernel = object.kernels().front();
  EXPECT_EQ(kernel.metadata.wavefront_size, static_cast<uint32_t>(kernel.descriptor.wave_size()));
  return kernel.metadata.wavefront_size;
}

Built build_sub_group(const std::string& attribute, std::string_view options, std::string processor,
                      const char* more = "") {
  const std::string source = "__attribute__((" + attribute + ")) " + kSubGroup + more;
  return build(source, std::string("-cl-std=CL3.0 ") + std::string(options), std::move(processor));
}

TEST(Compiler, WavesOfRdnaHave32LanesAnd64OnRequest) {
  for (const char* processor : {"gfx1010", "gfx1030", "gfx1100", "gfx1200", "gfx11-generic"}) {
    EXPECT_EQ(waves_of(build_sub_group("", "", processor)).value(), 32u) << processor;
    EXPECT_EQ(waves_of(build_sub_group("", "-mwavefrontsize64", processor)).value(), 64u) << processor;
    const char* const attribute = "intel_reqd_sub_group_size";
    for (const uint32_t size : {32u, 64u})
      for (const char* options : {"", "-mwavefrontsize64", "-O0"})
        EXPECT_EQ(
            waves_of(build_sub_group(fmt::format("{}({})", attribute, size), options, processor)).value(),
            size)
            << processor << options;
    EXPECT_TRUE(build_sub_group("intel_reqd_sub_group_size(16)", "", processor)
                    .log_has("requires sub-groups of 16 work-items; the device has 32 and 64"));
  }
  EXPECT_EQ(waves_of(build_sub_group("", "-mwavefrontsize64", "gfx90a")).value(), 64u);
  EXPECT_EQ(waves_of(build_sub_group("", "-mno-wavefrontsize64", "gfx90a")).value(), 64u);
  EXPECT_TRUE(build_sub_group("intel_reqd_sub_group_size(32)", "", "gfx90a").log_has("the device has 64"));
  EXPECT_TRUE(build_sub_group("intel_reqd_sub_group_size(64)", "", "gfx1030",
                              "__attribute__((intel_reqd_sub_group_size(32))) kernel void g() {}")
                  .log_has("another kernel of the program, 64"));
}

TEST(Compiler, WorkGroupsOfRdnaKeepToOneComputeUnitOnRequest) {
  const auto is_wgp = [](std::string_view options, std::string processor) {
    const Built built = build_sub_group("", options, std::move(processor));
    return codeobj::CodeObject::parse(Bytes(built.object.value())).value().kernels()[0].descriptor.wgp_mode;
  };
  for (const char* processor : {"gfx1010", "gfx1030", "gfx1100", "gfx1200"}) {
    EXPECT_TRUE(is_wgp("", processor)) << processor;
    EXPECT_FALSE(is_wgp("-mcumode", processor)) << processor;
    EXPECT_TRUE(is_wgp("-mcumode -mno-cumode", processor)) << processor;
  }
  EXPECT_FALSE(is_wgp("-mcumode", "gfx90a"));
}

TEST(Compiler, CodeObjectVersionsAreSelectable) {
  for (auto [version, abi] : {std::pair(4, 2), {5, 3}, {6, 4}}) {
    TargetDescription target = describe("gfx906");
    target.code_object_version = version;
    Built built;
    CompileInput input;
    input.source = kScale;
    built.object = build_source(input, {}, target, built.log);
    ASSERT_TRUE(built.ok()) << built.log;
    EXPECT_EQ(elf_facts(built).abi_version, abi);
    EXPECT_EQ(built.object_has("hidden_block_count_x"), version >= 5);
  }
}

TEST(Compiler, DiagnosticsReadAsClangPrintsThem) {
  Built built = build("kernel void f(global int* a) {\n  a[0] = b;\n}\n");
  EXPECT_EQ(built.object.error().code, ErrorCode::build_failed);
  EXPECT_EQ(built.log,
            "<source>:2:10: error: use of undeclared identifier 'b'\n"
            "    2 |   a[0] = b;\n"
            "      |          ^\n"
            "1 error generated.\n");
}

TEST(Compiler, WarningsAreLoggedAndObeyOptions) {
  constexpr const char* kWarns = "kernel void f(global int* a) { int x; a[0] = x; }\n";
  Built warned = build(kWarns, "-Wall");
  EXPECT_TRUE(warned.ok());
  EXPECT_TRUE(warned.log_has("<source>:1:46: warning: variable 'x' is uninitialized")) << warned.log;
  EXPECT_EQ(build(kWarns, "-w").log, "");
  EXPECT_EQ(build(kWarns, "-Wall -Werror").object.error().code, ErrorCode::build_failed);
}

// Whatever the parser lets through, Clang must take.
TEST(Compiler, EveryAcceptedOptionBuilds) {
  for (const char* options : {"-w",
                              "-Werror",
                              "-pedantic",
                              "-cl-single-precision-constant",
                              "-cl-denorms-are-zero",
                              "-cl-strict-aliasing",
                              "-cl-fp32-correctly-rounded-divide-sqrt",
                              "-cl-opt-disable",
                              "-cl-uniform-work-group-size",
                              "-cl-no-subgroup-ifp",
                              "-mwavefrontsize64",
                              "-mno-wavefrontsize64",
                              "-cl-mad-enable",
                              "-cl-no-signed-zeros",
                              "-cl-unsafe-math-optimizations",
                              "-cl-finite-math-only",
                              "-cl-fast-relaxed-math",
                              "-cl-kernel-arg-info",
                              "-g",
                              "-O0",
                              "-O1",
                              "-O2",
                              "-O3",
                              "-O5",
                              "-Os",
                              "-Wall -Wextra -Wno-unused",
                              "-Weverything",
                              "-ffp-contract=fast",
                              "-ffp-contract=off",
                              "-ffast-math",
                              "-ffinite-math-only",
                              "-fno-signed-zeros",
                              "-fno-inline",
                              "-fno-inline-functions",
                              "-fno-strict-aliasing",
                              "-funroll-loops",
                              "-fno-unroll-loops",
                              "-fno-builtin",
                              "-fsigned-char",
                              "-m64",
                              "-cl-std=CL3.0 -cl-uniform-work-group-size",
                              "-cl-std=CLC++",
                              "-x cl",
                              "-fno-bin-llvmir -save-temps"}) {
    Built built = build(kScale, options);
    EXPECT_TRUE(built.ok()) << options << ": " << built.log;
  }
}

TEST(Compiler, MacrosReachTheSource) {
  EXPECT_TRUE(build("kernel void f(global int* a) { a[0] = A + B; }", "-DA=3 -D B").ok());
  EXPECT_TRUE(build("#ifdef A\n#error A\n#endif\nkernel void f() {}", "-DA -UA").ok());
  EXPECT_TRUE(
      build("constant char s[] = S; kernel void f(global char* o) { o[0] = s[0]; }", R"(-DS=\"text\")").ok());
}

TEST(Compiler, StandardsDefineTheirVersions) {
  auto version_is = [](const char* options, const char* test) {
    Built built = build(std::string("#if !(") + test + ")\n#error no\n#endif\nkernel void f() {}\n", options);
    EXPECT_TRUE(built.ok()) << options << ": " << built.log;
  };
  version_is("", "__OPENCL_C_VERSION__ == 120 && __OPENCL_VERSION__ == 300");
  version_is("-cl-std=CL1.0", "__OPENCL_C_VERSION__ == 100");
  version_is("-cl-std=CL1.1", "__OPENCL_C_VERSION__ == 110");
  version_is("-cl-std=CL2.0", "__OPENCL_C_VERSION__ == 200");
  version_is("-cl-std=CL3.0", "__OPENCL_C_VERSION__ == 300");
  version_is("", "CL_VERSION_3_1 == 310");
  version_is("-cl-std=CLC++", "__OPENCL_CPP_VERSION__ == 100");
  version_is("-cl-std=CLC++2021", "__OPENCL_CPP_VERSION__ == 202100");
  version_is("-cl-fast-relaxed-math", "defined(__FAST_RELAXED_MATH__)");
}

TEST(Compiler, ExtensionMacrosAreThoseOfTheTarget) {
  constexpr const char* kOn[] = {"cl_khr_fp64",
                                 "cl_khr_fp16",
                                 "cl_khr_int64_base_atomics",
                                 "__opencl_c_fp64",
                                 "__opencl_c_generic_address_space",
                                 "__opencl_c_atomic_scope_all_devices"};
  constexpr const char* kOff[] = {"__IMAGE_SUPPORT__",
                                  "cl_khr_subgroups",
                                  "cl_khr_3d_image_writes",
                                  "cl_khr_mipmap_image",
                                  "__opencl_c_images",
                                  "__opencl_c_read_write_images",
                                  "__opencl_c_3d_image_writes",
                                  "__opencl_c_pipes",
                                  "__opencl_c_device_enqueue",
                                  "__opencl_c_subgroups",
                                  "__opencl_c_work_group_collective_functions",
                                  "__opencl_subgroup_builtins"};
  std::string source = "kernel void f() {}\n";
  for (const char* name : kOn) source += std::string("#ifndef ") + name + "\n#error " + name + "\n#endif\n";
  for (const char* name : kOff) source += std::string("#ifdef ") + name + "\n#error " + name + "\n#endif\n";
  Built built = build(source, "-cl-std=CL3.0");
  EXPECT_TRUE(built.ok()) << built.log;
}

TEST(Compiler, ImageArgumentsAreInTheMetadataOfEveryTargetAndLanguageVersion) {
  constexpr const char* kSource = R"(
#if !defined(__IMAGE_SUPPORT__) || defined(cl_khr_mipmap_image)
#error macros
#endif
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
constant sampler_t in_text = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
kernel void f(read_only image2d_t a, write_only image3d_t b, sampler_t s, read_only image1d_array_t c) {
  float4 v = read_imagef(a, s, (float2)(get_global_id(0))) + read_imagef(a, in_text, (float2)(get_global_id(1)));
  write_imagef(b, (int4)(get_image_width(a)), v + read_imagef(c, s, (int2)(1, 2)));
}
kernel void h(read_only image2d_t a, write_only image3d_t b, sampler_t s) {
  write_imagef(b, (int4)(get_global_id(2)), read_imagef(a, s, (float2)(get_global_id(2))));
}
#if __OPENCL_C_VERSION__ >= 200
kernel void g(read_write image2d_t a, read_write image1d_buffer_t b) {
  write_imageui(a, (int2)(1, 2), read_imageui(b, 3) + read_imageui(a, (int2)(3, 4)));
}
#endif
)";
  for (const char* processor : {"gfx600", "gfx701", "gfx803", "gfx90a", "gfx942", "gfx950", "gfx1010",
                                "gfx1030", "gfx1100", "gfx1200"})
    for (const char* options : {"-cl-std=CL1.2", "-cl-std=CL2.0", "-cl-std=CL3.0", "-cl-opt-disable"}) {
      TargetDescription target = describe(processor);
      target.images = true;
      for (const char* name :
           {"__opencl_c_images", "__opencl_c_3d_image_writes", "__opencl_c_read_write_images",
            "cl_khr_3d_image_writes", "cl_khr_depth_images"})
        target.extensions.push_back(name);
      Built built;
      CompileInput input;
      input.source = kSource;
      built.object = build_source(input, options_of(options), target, built.log);
      EXPECT_TRUE(built.ok()) << processor << " " << options << "\n" << built.log;
      for (const char* text : {"image", "sampler", "read_only", "write_only"})
        EXPECT_TRUE(built.object_has(text)) << text;
      // Without image instructions: a called function would have the record in vector registers.
      if (!info(*find_target(processor)).is_gfx940) continue;
      for (const char* text : {"__morgana_image_", "_Z11read_imagef", "_Z12write_imagef"})
        EXPECT_FALSE(built.object_has(text)) << processor << " " << options << " " << text;
    }
}

TEST(Compiler, PrintfStringsAreInTheMetadata) {
  for (const char* options : {"-O2", "-O0"}) {
    Built built = build("kernel void f(int x) { printf(\"value %d of %s\\n\", x, \"text\"); }", options);
    ASSERT_TRUE(built.ok()) << built.log;
    EXPECT_TRUE(built.object_has("amdhsa.printf"));
    EXPECT_TRUE(built.object_has("value %d of %s\\n")) << options;
    EXPECT_TRUE(built.object_has("hidden_printf_buffer"));
  }
  EXPECT_FALSE(build(kScale).object_has("hidden_printf_buffer"));
}

TEST(Compiler, DebugInformationHoldsLinesAndSource) {
  Built plain = build(kScale), debug = build(kScale, "-g");
  ASSERT_TRUE(plain.ok() && debug.ok());
  EXPECT_TRUE(debug.object_has(".debug_line"));
  EXPECT_TRUE(debug.object_has("data[get_global_id(0)] *= factor"));
  EXPECT_TRUE(debug.object_has(kSourceName));
  EXPECT_FALSE(plain.object_has(".debug_line"));
}

// Clang 22 mangles generic pointers in another way than the compiler of AMD's library files.
TEST(Compiler, BuiltinsTakeGenericPointers) {
  constexpr const char* kGeneric = R"(
kernel void f(global float4* a, global atomic_int* counter) {
  float4 part, r = sincos(a[0], &part);
  int expected = 3;
  atomic_compare_exchange_strong_explicit(counter, &expected, 4, memory_order_seq_cst, memory_order_relaxed,
                                          memory_scope_device);
  float* where = (float*)a;
  vstore4(part + r + vload4(0, where), 0, where);
  atomic_fetch_add((atomic_int*)counter, expected);
  a[1] = frexp(fract(r, a + 3), (int4*)a) + (to_global(where) != 0 ? get_fence(where) : 2);
})";
  for (const char* options : {"-cl-std=CL2.0", "-cl-std=CL3.0", "-cl-std=CL3.0 -O0"}) {
    Built built = build(kGeneric, options);
    EXPECT_TRUE(built.ok()) << options << ": " << built.log;
  }
}

// The same source must mean different machine code.
TEST(Compiler, MathematicalOptionsReachTheDeviceLibrary) {
  constexpr const char* kMaths =
      "kernel void f(global float* a) { int i = get_global_id(0); a[i] = sin(a[i]) + sqrt(a[i + 1]) / a[i + "
      "2]; }";
  const Built plain = build(kMaths);
  ASSERT_TRUE(plain.ok()) << plain.log;
  EXPECT_EQ(*plain.object, *build(kMaths).object);
  for (const char* options : {"-cl-fast-relaxed-math", "-cl-fp32-correctly-rounded-divide-sqrt",
                              "-cl-denorms-are-zero", "-cl-unsafe-math-optimizations", "-O0"}) {
    Built changed = build(kMaths, options);
    ASSERT_TRUE(changed.ok()) << options << ": " << changed.log;
    EXPECT_NE(*plain.object, *changed.object) << options;
  }
}

// docs/decisions/003-division-is-exact.md: PolyBench's adi compares with a CPU's quotients and amplifies one
// ulp.
TEST(Compiler, DivisionIsExactUnlessTheProgramAsksForLess) {
  constexpr const char* kQuotient = "kernel void f(global float* a) { a[0] = a[1] / a[2]; }";
  constexpr const char* kExact = "-cl-fp32-correctly-rounded-divide-sqrt";
  ASSERT_TRUE(build(kQuotient).ok());
  EXPECT_EQ(*build(kQuotient).object, *build(kQuotient, kExact).object);
  EXPECT_NE(*build(kQuotient).object, *build(kQuotient, "-cl-fast-relaxed-math").object);
}

// The widest scope costs nothing: no loop around a global_atomic_cmpswap (flat opcode 65 of the CDNA4 guide).
TEST(Compiler, AtomicsOfAllDevicesAreNative) {
  const auto has_swap = [](const std::string& operation) {
    const Built built = build(
        "kernel void f(volatile global atomic_int* a) { int e = 0; " + operation + "; }", "-cl-std=CL3.0");
    EXPECT_TRUE(built.ok()) << built.log;
    for (size_t at = 0; built.ok() && at + 4 <= built.object->size(); at += 4) {
      uint32_t dword;
      std::memcpy(&dword, built.object->data() + at, 4);
      if ((dword & 0xfdfe0000) == 0xdd040000) return true;
    }
    return false;
  };
  EXPECT_FALSE(
      has_swap("atomic_fetch_or_explicit(a, 1 << get_local_id(0), memory_order_relaxed, "
               "memory_scope_all_svm_devices)"));
  EXPECT_TRUE(has_swap("atomic_compare_exchange_strong(a, &e, 1)"));
}

// LLVM's floor of double for gfx6, told by the greatest number below 1, is not exact
// (device_library/rounding.cl).
TEST(Compiler, DoublesAreRoundedExactlyWithoutInstructions) {
  constexpr uint32_t kBelowOne = 0x3fefffff;
  for (const char* call :
       {"floor(a[1])", "floor((double3)(a[1])).y", "ceil(a[1])", "rint(a[1])", "fract(a[1], &b)"})
    for (const char* options : {"-O2", "-O0"}) {
      const Built built =
          build(std::string("kernel void f(global double* a) { double b; a[0] = ") + call + "; }", options,
                "gfx600");
      ASSERT_TRUE(built.ok()) << call << options << built.log;
      const std::string pattern(reinterpret_cast<const char*>(&kBelowOne), sizeof kBelowOne);
      const bool of_fract = std::string_view(call).starts_with("fract");  // its own limit
      EXPECT_EQ(built.object->find(pattern) != std::string::npos, of_fract) << call << options;
    }
}

// The overlay of device_library/atan.cl, told by a coefficient that AMD's functions do not have.
TEST(Compiler, ArcTangentsAreMorganasOnEveryTarget) {
  const std::string_view coefficient("\x55\xcc\x1f\x3d", 4);  // 0x1.3f98aap-5f
  for (const char* call :
       {"atan(a[1])", "atan((float3)(a[1])).y", "atanpi(a[1])", "atan2(a[1], a[2])", "atan2pi(a[1], a[2])"})
    for (const ProcessorCase& processor : kProcessors)
      for (const char* options : {"", "-O0"}) {
        Built built = build(fmt::format("kernel void f(global float* a) {{ a[0] = {}; }}", call), options,
                            processor.name);
        EXPECT_TRUE(built.object_has(coefficient))
            << call << ' ' << processor.name << ' ' << options << built.log;
      }
  EXPECT_FALSE(build("kernel void f(global float* a) { a[0] = sin(a[1]); }").object_has(coefficient));
}

TEST(Compiler, ObjectsAndLibrariesLink) {
  Built caller = compile("int twice(int); kernel void f(global int* a) { a[0] = twice(a[1]); }");
  Built callee = compile("int thrice(int); int twice(int x) { return thrice(x) - x; }");
  Built further = compile("int thrice(int x) { return 3 * x; }");
  ASSERT_TRUE(caller.ok() && callee.ok() && further.ok());
  EXPECT_TRUE(is_bitcode(*caller.object));
  EXPECT_FALSE(elf_facts(caller).is_elf);

  Built program = link({caller, callee, further});
  ASSERT_TRUE(program.ok()) << program.log;
  EXPECT_TRUE(elf_facts(program).is_elf);
  EXPECT_TRUE(program.object_has("f.kd"));

  Built library = link({callee, further}, "-create-library");
  ASSERT_TRUE(library.ok()) << library.log;
  EXPECT_TRUE(is_bitcode(*library.object));
  EXPECT_TRUE(link({caller, library}).ok());
  EXPECT_EQ(*link({caller, callee, further}).object, *program.object);
}

TEST(Compiler, LinkedProgramsKeepPrintfLibraryFunctionsAndLevels) {
  Built one = compile(
      "float g(float); kernel void f(global float* a) { printf(\"linked %f\\n\", a[0]); a[0] = g(a[1]); }");
  Built two = compile("float g(float x) { return pow(x, 3.5f); }", "-cl-opt-disable -g");
  Built program = link({one, two});
  ASSERT_TRUE(program.ok()) << program.log;
  EXPECT_TRUE(program.object_has("linked %f\\n"));
}

TEST(Compiler, LinkErrorsNameTheSymbol) {
  Built missing = build("int absent(int); kernel void f(global int* a) { a[0] = absent(a[1]); }");
  EXPECT_EQ(missing.object.error().code, ErrorCode::build_failed);
  EXPECT_TRUE(missing.log_has("undefined hidden symbol: absent")) << missing.log;
  EXPECT_FALSE(missing.log_has("/proc/")) << missing.log;

  Built one = compile("int g(int x) { return x; }"), two = compile("int g(int x) { return -x; }");
  Built twice = link({one, two});
  EXPECT_EQ(twice.object.error().code, ErrorCode::build_failed);
  EXPECT_TRUE(twice.log_has("symbol multiply defined")) << twice.log;
}

TEST(Compiler, LinkingTakesNothingButBitcode) {
  std::string log;
  const TargetDescription target = describe("gfx950");
  EXPECT_EQ(link_objects({}, {}, target, log).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(link_objects({"not bitcode"}, {}, target, log).error().code, ErrorCode::malformed);
  EXPECT_EQ(link_objects({*build(kScale).object}, {}, target, log).error().code, ErrorCode::malformed);
  const std::string whole = *compile(kScale).object;
  for (size_t size = 4; size < whole.size(); size += 61)
    EXPECT_FALSE(link_objects({std::string_view(whole).substr(0, size)}, {}, target, log).ok()) << size;
}

TEST(Compiler, HeadersComeFromTheMap) {
  std::vector<Header> headers = {{"one.h", "#include \"sub/two.h\"\n#define ONE TWO\n"},
                                 {"sub/two.h", "#define TWO 2\n"}};
  constexpr const char* kSource =
      "#include \"one.h\"\n#include <sub/two.h>\nkernel void f(global int* a) { a[0] = ONE; }\n";
  EXPECT_TRUE(compile(kSource, "", headers).ok());
  Built absent = compile(kSource, "", {headers[0]});
  EXPECT_FALSE(absent.ok());
  EXPECT_TRUE(absent.log_has("'sub/two.h' file not found")) << absent.log;
  EXPECT_FALSE(absent.log_has("/.morgana/")) << absent.log;
  EXPECT_TRUE(absent.log_has("\none.h:1:10: fatal error")) << absent.log;
}

TEST(Compiler, HeadersComeFromFolders) {
  std::string folder = ::testing::TempDir() + "/morgana include XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/disk.h") << "#define DISK 7\n";
  constexpr const char* kSource = "#include \"disk.h\"\nkernel void f(global int* a) { a[0] = DISK; }\n";
  EXPECT_TRUE(build(kSource, "-I \"" + folder + "\"").ok());
  EXPECT_FALSE(build(kSource).ok());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  EXPECT_TRUE(build(kSource).ok()) << "the host program's folder is searched, too";
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

TEST(Compiler, BackEndErrorsFailTheBuildOnly) {
  Built assembly =
      build("kernel void f(global int* a) {\n  __asm volatile(\"v_bogus v0, v1\");\n  a[0] = 1;\n}\n");
  EXPECT_EQ(assembly.object.error().code, ErrorCode::build_failed);
  EXPECT_TRUE(assembly.log_has("<source>:2:18: error: invalid instruction")) << assembly.log;

  Built memory = build(
      "kernel void f(global int* a) { local int big[200000]; big[get_local_id(0)] = a[0]; barrier(1); a[1] = "
      "big[3]; }");
  EXPECT_EQ(memory.object.error().code, ErrorCode::build_failed);
  EXPECT_TRUE(memory.log_has("error: local memory (800000) exceeds limit (163840) in function 'f'"))
      << memory.log;

  EXPECT_TRUE(build(kScale).ok());
}

TEST(Compiler, PointersOfNoAddressSpaceNeedNoFlatInstructions) {
  constexpr const char* kSum =
      "int sum(const int* at) { return at[0] + at[1]; }\n"
      "kernel void f(global int* a) { int b[2] = {a[2], a[3]}; a[0] = sum(b) + sum(a); }\n";
  constexpr const char* kApart =
      "__attribute__((noinline)) int* next(int* at) { return at + 1; }\n"
      "__attribute__((noinline)) void put(int* to, int value) { *next(to) += value; }\n"
      "kernel void f(global int* a) { local int l[2]; int b[2] = {a[0], a[1]}; l[1] = 0; put(b, 2); put(l, "
      "b[1]);"
      " put(a, l[1]); }\n";
  for (const char* source : {kSum, kApart})
    for (const char* options : {"-cl-std=CL2.0", "-cl-std=CL2.0 -O0", "-cl-std=clc++ -cl-opt-disable"}) {
      Built built = build(source, options, "gfx600");
      EXPECT_TRUE(built.ok()) << options << built.log;
    }
}

// gfx600 cannot split a half: LLVM gives up with a fatal error, which would end the process.
bool survives_fatal_error() {
  TargetDescription target = describe("gfx600");
  target.extensions.push_back("cl_khr_fp16");
  Built fatal;
  CompileInput input;
  input.source =
      "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
      "kernel void f(global half* a, int i) { a[0] = frexp(a[1], &i); }";
  fatal.object = build_source(input, {}, target, fatal.log);
  return !fatal.ok() && fatal.object.error().code == ErrorCode::build_failed &&
         fatal.log_has("fatal error: the compiler failed: Do not know how to promote") && build(kScale).ok();
}

TEST(Compiler, FatalErrorsFailTheBuildOnly) {
  // In a child, which ends without the leak check: an abandoned build leaks on purpose.
  EXPECT_EXIT(::_exit(survives_fatal_error() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST(Compiler, OddSourcesAreOrdinaryErrors) {
  EXPECT_TRUE(build("").ok());
  EXPECT_FALSE(build("\xff\xfe\x01 \"").ok());
  EXPECT_FALSE(build(std::string(300000, '(')).ok());
  EXPECT_FALSE(build(std::string(300000, '{')).ok());
  EXPECT_FALSE(build("#include \"<source>\"\nkernel void f() {}").ok());
}

TEST(Compiler, ManyThreadsBuildAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  const std::string expected = *build(kVaried, "", "gfx906").object;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      Built built = i % 2 == 0 ? build(kVaried, "", "gfx906") : build("kernel void f() { error }");
      good += i % 2 == 0 ? built.ok() && *built.object == expected : !built.ok();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
}

TEST(Containment, CrashesBecomeReasons) {
  std::string reason;
  EXPECT_TRUE(run_contained([] {}, reason));
  EXPECT_FALSE(run_contained([] { ::raise(SIGSEGV); }, reason));
  EXPECT_EQ(reason, "Segmentation fault");
  EXPECT_FALSE(run_contained([] { std::abort(); }, reason));
  EXPECT_EQ(reason, "Aborted");
  EXPECT_TRUE(build(kScale).ok());
}

int endless(volatile char* caller) {
  volatile char frame[4096];
  frame[0] = *caller;
  if (frame[0] == 1) return 0;  // never: the caller's byte is 0
  return endless(frame) + frame[0];
}

TEST(Containment, AnExhaustedStackBecomesAReason) {
  std::string reason;
  volatile char start = 0;
  EXPECT_FALSE(run_contained([&] { start = static_cast<char>(endless(&start)); }, reason));
  EXPECT_EQ(reason, "Segmentation fault");
}

std::atomic<int> handled = 0;  // lock-free, so fit for a signal handler

TEST(Containment, TheHostsHandlersStayInForce) {
  struct sigaction mine = {}, before, after;
  mine.sa_handler = [](int) { ++handled; };
  ASSERT_EQ(::sigaction(SIGFPE, &mine, &before), 0);
  std::string reason;
  // A host thread's signal while a build runs.
  EXPECT_TRUE(run_contained(
      [host = ::pthread_self()] {
        ::pthread_kill(host, SIGFPE);
        while (handled == 0) ::usleep(100);
      },
      reason));
  EXPECT_EQ(handled, 1);
  ::sigaction(SIGFPE, nullptr, &after);
  EXPECT_EQ(after.sa_handler, mine.sa_handler);
  ::sigaction(SIGFPE, &before, nullptr);
}

}  // namespace
}  // namespace morgana::runtime
