// Programs from SPIR-V give, bit for bit, what the same programs give from source. Clang makes the modules of
// testdata/il/*.cl when the test runs, at -O0 and at -O2; each file runs on three targets, or on all with
// --all.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <unistd.h>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr size_t kItems = 256, kGroup = 64, kWordsOfItem = 32;
constexpr size_t kWords = 2 * kItems * kWordsOfItem;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The module that Clang makes of a file; empty when it cannot.
std::string compile(const std::string& path, const std::string& options) {
  const std::string module = testing::TempDir() + "morgana_il_" + std::to_string(getpid()) + ".spv";
  const std::string command =
      std::string(MORGANA_CLANG) +
      " --target=spirv64 -x cl -cl-std=CL3.0 -Xclang -cl-ext=+all -w -mllvm -spirv-ext="
      "+SPV_EXT_shader_atomic_float_add,+SPV_EXT_shader_atomic_float_min_max,+SPV_KHR_bit_instructions,"
      "+SPV_KHR_integer_dot_product,+SPV_KHR_subgroup_rotate,+SPV_KHR_uniform_group_instructions,+SPV_KHR_"
      "expect_assume,"
      "+SPV_KHR_no_integer_wrap_decoration " +
      options + " -c " + path + " -o " + module;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::string bytes = text_of(module);
  std::filesystem::remove(module);
  return bytes;
}

// Random, and the same everywhere.
std::vector<cl_uint> random_words(size_t count, uint64_t seed) {
  std::vector<cl_uint> words(count);
  for (cl_uint& word : words) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    word = static_cast<cl_uint>(seed >> 33) ^ static_cast<cl_uint>(seed >> 11);
  }
  return words;
}

class IlEqual : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_EQ(clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
    cl_uint count = 0;
    ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 16, devices, &count), CL_SUCCESS);
    device_count = count;
  }

  std::string info(cl_device_info what) {
    size_t size = 0;
    clGetDeviceInfo(device, what, 0, nullptr, &size);
    std::string text(size, '\0');
    clGetDeviceInfo(device, what, size, text.data(), nullptr);
    return text;
  }
  bool offers(const std::string& name) {
    if (name == "images") {
      cl_bool images = CL_FALSE;
      clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, nullptr);
      return images;
    }
    if (!name.starts_with("__opencl_c_")) {
      std::istringstream names(info(CL_DEVICE_EXTENSIONS).c_str());
      return std::find(std::istream_iterator<std::string>(names), {}, name) !=
             std::istream_iterator<std::string>();
    }
    size_t size = 0;
    clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_FEATURES, 0, nullptr, &size);
    std::vector<cl_name_version> features(size / sizeof(cl_name_version));
    clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_FEATURES, size, features.data(), nullptr);
    return std::any_of(features.begin(), features.end(),
                       [&](const cl_name_version& one) { return name == one.name; });
  }
  // "// needs: a b" of a file's first line.
  bool offers_needs_of(const std::string& source) {
    const std::string first = source.substr(0, source.find('\n'));
    constexpr std::string_view kNeeds = "// needs: ";
    if (!first.starts_with(kNeeds)) return true;
    std::istringstream needs(first.substr(kNeeds.size()));
    return std::all_of(std::istream_iterator<std::string>(needs), std::istream_iterator<std::string>(),
                       [&](const std::string& name) { return offers(name); });
  }

  // Builds, and writes the log where that fails. Null: not built.
  cl_program build(const std::string& text, bool is_source) {
    cl_int error;
    const char* start = text.data();
    cl_program program = is_source ? clCreateProgramWithSource(context, 1, &start, nullptr, &error)
                                   : clCreateProgramWithIL(context, start, text.size(), &error);
    if (error == CL_SUCCESS)
      error = clBuildProgram(program, 0, nullptr, is_source ? "-cl-std=CL3.0" : "", nullptr, nullptr);
    if (error == CL_SUCCESS) return program;
    std::string log;
    if (program != nullptr) {
      size_t size = 0;
      clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
      log.resize(size);
      clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
      clReleaseProgram(program);
    }
    ADD_FAILURE() << (is_source ? "source" : "IL") << " is not built: " << error << ' ' << log;
    return nullptr;
  }

  cl_mem image(cl_image_format format, cl_image_desc description, uint64_t seed) {
    std::vector<cl_uint> texels = random_words(4096, seed);
    if (format.image_channel_data_type == CL_FLOAT)
      for (cl_uint& texel : texels) texel = 0x3f800000u | (texel & 0x7fffff);
    cl_int error;
    cl_mem made = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &description, texels.data(), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    held_.push_back(made);
    return made;
  }
  void read_image(cl_mem image, size_t depth, size_t texel, std::vector<cl_uint>& all) {
    const size_t origin[3] = {0, 0, 0}, region[3] = {16, 16, depth};
    std::vector<cl_uint> texels(16 * 16 * depth * texel / sizeof(cl_uint));
    if (depth > 1) texels.resize(texels.size() / 16);
    const size_t small[3] = {4, 4, depth};
    EXPECT_EQ(clEnqueueReadImage(queue, image, CL_TRUE, origin, depth > 1 ? small : region, 0, 0,
                                 texels.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    all.insert(all.end(), texels.begin(), texels.end());
  }

  // All kernels of the program, each on fresh data but for the pipe; what they print goes to the standard
  // output. Returns everything that they may have written, by kernel.
  std::vector<std::pair<std::string, std::vector<cl_uint>>> run(cl_program program) {
    cl_uint count = 0;
    EXPECT_EQ(clCreateKernelsInProgram(program, 0, nullptr, &count), CL_SUCCESS);
    std::vector<cl_kernel> kernels(count);
    EXPECT_EQ(clCreateKernelsInProgram(program, count, kernels.data(), nullptr), CL_SUCCESS);
    std::vector<std::pair<std::string, std::vector<cl_uint>>> results;
    cl_int error;
    cl_mem pipe = nullptr;
    const auto name_of = [](cl_kernel kernel) {
      char name[128] = {};
      clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr);
      return std::string(name);
    };
    // "fill" before "drain".
    std::sort(kernels.begin(), kernels.end(), [&](cl_kernel a, cl_kernel b) {
      const std::string x = name_of(a), y = name_of(b);
      return std::pair(x == "drain", x) < std::pair(y == "drain", y);
    });
    for (cl_kernel kernel : kernels) {
      const std::string name = name_of(kernel);
      std::vector<cl_uint> words = random_words(kWords, 7);
      cl_mem data =
          clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, kWords * sizeof(cl_uint), words.data(), &error);
      std::vector<cl_mem> written;
      cl_uint next = 0;
      const auto set = [&](auto value) {
        EXPECT_EQ(clSetKernelArg(kernel, next++, sizeof value, &value), CL_SUCCESS) << name;
      };
      cl_sampler sampler = nullptr;
      constexpr cl_image_format kFloats{CL_RGBA, CL_FLOAT}, kBytes{CL_RGBA, CL_UNORM_INT8},
          kWords8{CL_RGBA, CL_UNSIGNED_INT8}, kInts{CL_RGBA, CL_SIGNED_INT32},
          kUints{CL_RGBA, CL_UNSIGNED_INT16};
      const cl_image_desc flat{.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
      const cl_image_desc deep{
          .image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 4, .image_height = 4, .image_depth = 2};
      if (name == "of_images") {
        cl_mem texels = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 256, words.data(), &error);
        held_.push_back(texels);
        set(image(kBytes, flat, 1));
        set(image(kWords8, deep, 2));
        set(image(kFloats,
                  {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
                   .image_width = 8,
                   .image_height = 8,
                   .image_array_size = 2},
                  3));
        set(image(kInts, {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 16}, 4));
        cl_image_desc buffer{.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 16};
        buffer.mem_object = texels;
        const cl_image_format format = kUints;
        cl_mem line = clCreateImage(context, 0, &format, &buffer, nullptr, &error);
        EXPECT_EQ(error, CL_SUCCESS);
        held_.push_back(line);
        set(line);
        written.push_back(image(kFloats, flat, 5));
        set(written.back());
        sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR, &error);
        set(sampler);
        set(data);
      } else if (name == "in_place") {
        written = {image(kUints, flat, 6), image(kInts, deep, 8)};
        set(written[0]);
        set(written[1]);
      } else {
        set(data);
        if (name == "fill" || name == "drain") {
          if (pipe == nullptr) pipe = clCreatePipe(context, 0, sizeof(cl_uint), 64, nullptr, &error);
          set(pipe);
        }
      }
      const size_t items = kItems, group = kGroup;
      EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
                CL_SUCCESS)
          << name;
      EXPECT_EQ(clFinish(queue), CL_SUCCESS) << name;
      EXPECT_EQ(clEnqueueReadBuffer(queue, data, CL_TRUE, 0, kWords * sizeof(cl_uint), words.data(), 0,
                                    nullptr, nullptr),
                CL_SUCCESS);
      if (name == "of_images") read_image(written[0], 1, 16, words);
      if (name == "in_place") {
        read_image(written[0], 1, 8, words);
        read_image(written[1], 2, 16, words);
      }
      results.emplace_back(name, std::move(words));
      if (sampler != nullptr) clReleaseSampler(sampler);
      clReleaseMemObject(data);
      for (cl_mem one : held_) clReleaseMemObject(one);
      held_.clear();
      clReleaseKernel(kernel);
    }
    if (pipe != nullptr) clReleaseMemObject(pipe);
    return results;
  }

  // As run(), with what was printed.
  std::pair<std::vector<std::pair<std::string, std::vector<cl_uint>>>, std::string> outcome(
      const std::string& text, bool is_source) {
    cl_program program = build(text, is_source);
    if (program == nullptr) return {};
    testing::internal::CaptureStdout();
    auto results = run(program);
    std::fflush(stdout);
    std::string printed = testing::internal::GetCapturedStdout();
    clReleaseProgram(program);
    return {std::move(results), std::move(printed)};
  }

  void on_device(const std::string& source, const std::vector<std::pair<std::string, std::string>>& modules) {
    cl_int error;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    queue = clCreateCommandQueue(context, device, 0, &error);
    const auto expected = outcome(source, true);
    for (const auto& [level, module] : modules) {
      SCOPED_TRACE(level);
      const auto given = outcome(module, false);
      EXPECT_EQ(given.second, expected.second);
      ASSERT_EQ(given.first.size(), expected.first.size());
      for (size_t i = 0; i < given.first.size(); ++i) {
        const auto& [name, words] = given.first[i];
        ASSERT_EQ(name, expected.first[i].first);
        const std::vector<cl_uint>& right = expected.first[i].second;
        ASSERT_EQ(words.size(), right.size());
        const auto [wrong, other] = std::mismatch(words.begin(), words.end(), right.begin());
        if (wrong != words.end())
          ADD_FAILURE() << name << ": word " << wrong - words.begin() << " is " << std::hex << *wrong
                        << " from IL, " << *other << " from source";
      }
    }
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
  }

  cl_platform_id platform = nullptr;
  cl_device_id devices[16] = {};
  size_t device_count = 0;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;

 private:
  std::vector<cl_mem> held_;
};

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(MORGANA_SOURCE_DIR "/icd/testdata/il"))
    names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

bool everywhere = false;

TEST_P(IlEqual, SourceAndIl) {
  const std::string path = MORGANA_SOURCE_DIR "/icd/testdata/il/" + GetParam() + ".cl";
  const std::string source = text_of(path);
  const std::vector<std::string> all = files();
  const size_t place = std::find(all.begin(), all.end(), GetParam()) - all.begin();
  // gfx6 has no generic pointers: modules without them.
  const auto compile_all = [&](const std::string& options) {
    std::vector<std::pair<std::string, std::string>> modules;
    for (const char* level : {"-O0", "-O2"}) modules.emplace_back(level, compile(path, level + options));
    return modules;
  };
  std::vector<std::pair<std::string, std::string>> with_generic, without_generic;
  // Three of the targets, each third one, and the others where those lack what the file needs.
  std::vector<size_t> order;
  for (size_t first = 0; first < 3; ++first)
    for (size_t i = first; i < device_count; i += 3) order.push_back(i);
  size_t ran = 0;
  for (size_t i = 0; i < device_count && (everywhere || ran < 3); ++i) {
    device = devices[(place + order[i]) % device_count];
    if (!offers_needs_of(source)) continue;
    SCOPED_TRACE(info(CL_DEVICE_NAME).c_str());
    const bool generic = offers("__opencl_c_generic_address_space");
    auto& modules = generic ? with_generic : without_generic;
    if (modules.empty())
      modules = compile_all(
          generic ? ""
                  : " -Xclang "
                    "-cl-ext=-__opencl_c_generic_address_space,-__opencl_c_pipes,-__opencl_c_device_enqueue");
    on_device(source, modules);
    ++ran;
  }
  EXPECT_GT(ran, 0u);
}

INSTANTIATE_TEST_SUITE_P(Files, IlEqual, ::testing::ValuesIn(files()),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace morgana::icd::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  morgana::icd::test::everywhere = argc > 1 && std::string_view(argv[1]) == "--all";
  return RUN_ALL_TESTS();
}
