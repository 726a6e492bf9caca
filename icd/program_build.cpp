// Building: clBuildProgram, clCompileProgram, clLinkProgram. Builds run on the calling thread, also when
// there is a callback, which is called before the function returns.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "base/file.h"
#include "base/options.h"
#include "icd/device_info.h"
#include "icd/extensions.h"
#include "icd/identity.h"
#include "icd/image.h"
#include "icd/program.h"
#include "icd/program_binary.h"
#include "runtime/cache.h"
#include "runtime/checking.h"
#include "runtime/compiler/cached.h"

namespace morgana::icd {
namespace {

using Notify = void(CL_CALLBACK*)(cl_program, void*);

std::string with_appended(const char* text) {
  std::string all = text == nullptr ? "" : text;
  const char* amd = std::getenv("AMD_OCL_BUILD_OPTIONS_APPEND");
  for (std::string_view more :
       {std::string_view(options().build_options_append), std::string_view(amd ? amd : "")})
    if (!more.empty()) all.append(" ").append(more);
  return all;
}

runtime::TargetDescription describe(const Device& device) {
  runtime::TargetDescription target;
  target.processor = device.name();
  target.extensions = compiler_extensions(device.target());
  target.images = has_images(device.target());
  const cl_version newest = identity().newest_c;
  target.opencl_version = static_cast<int>(CL_VERSION_MAJOR(newest) * 100 + CL_VERSION_MINOR(newest) * 10);
  // Before gfx9 there are no aperture registers. In objects of version 5 LLVM 22 then has functions that are
  // called read the apertures behind a null pointer; in those of version 4 they find them in the queue.
  if (info(device.target()).generation < Generation::gfx9) target.code_object_version = 4;
  return target;
}

runtime::BuildOptions for_context(const Context& context, runtime::BuildOptions options) {
  options.zero_local_memory = (context.initialized_memory() & kInitializeLocal) != 0;
  options.zero_private_memory = (context.initialized_memory() & kInitializePrivate) != 0;
  const auto is_wanted = [](device::Check check) {
    return (runtime::checks_wanted() & static_cast<device::CheckBits>(check)) != 0;
  };
  options.group_size = kernel_group_size();
  options.check_memory = is_wanted(device::Check::memory);
  options.check_races = is_wanted(device::Check::race);
  options.check_values = is_wanted(device::Check::init);
  options.check_alignment = is_wanted(device::Check::aligned);
  return options;
}

const std::string& dump_folder() {
  static const std::string folder = output_folder("MORGANA_DUMP_DIR", options().dump_dir);
  return folder;
}

void dump(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (file.flush()) return;
  const int error = errno;
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    log(LogLevel::warn, "MORGANA_DUMP_DIR: {}: {}; the log does not say so of further files", path,
        std::strerror(error));
}

// What went into a build and what came out, numbered in the order of building.
void dump(const Device& device, std::string_view source, std::string_view il, const Build& build) {
  if (dump_folder().empty()) return;
  static std::atomic<unsigned> counter{0};
  const std::string stem =
      fmt::format("{}/program-{}-{}", dump_folder(), counter.fetch_add(1), device.spec().processor);
  if (!source.empty()) dump(stem + ".cl", source);
  if (!il.empty()) dump(stem + ".spv", il);
  dump(stem + ".options", build.options);
  dump(stem + ".log", build.log);
  const bool is_executable = build.type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
  if (build.binary) dump(stem + (is_executable ? ".co" : ".bc"), *build.binary);
}

// Makes `build` an executable from ELF bytes.
void load_executable(Device& device, std::string_view elf, Build& build) {
  auto executable = runtime::Executable::load(device.agent(), Bytes(elf));
  if (!executable.ok()) {
    build.log += fmt::format("error: {}\n", executable.error().message);
    build.status = CL_BUILD_ERROR;
    return;
  }
  build.type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
  build.binary = std::make_shared<const std::string>(elf);
  build.executable = std::move(executable).value();
  build.status = CL_BUILD_SUCCESS;
}

void fail(Build& build, const Error& error) {
  build.status = CL_BUILD_ERROR;
  // What the compiler itself did not say.
  if (build.log.empty()) build.log = fmt::format("error: {}\n", error.message);
}

// One build of one program, for several devices: devices of one target share the compiler's output.
class Builder {
 public:
  Builder(runtime::BuildOptions options, std::string text)
      : options_(std::move(options)), text_(std::move(text)) {}

  void add_header(std::string name, std::string text) {
    headers_.push_back({std::move(name), std::move(text)});
  }

  Build build(Device& device, const Program& program, const Build& before) {
    Build build = fresh();
    if (program.can_compile()) {
      Output& output = once(device, [&](std::string& log) {
        return runtime::cached_build(runtime::DiskCache::of_process(), program.input(), options_,
                                     describe(device), log);
      });
      take_executable(device, output, build);
    } else if (before.type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE) {
      // Loaded when the binary was given; loading anew resets the program-scope variables.
      load_executable(device, before.binary_view(), build);
    } else {
      auto binary = read_binary(Bytes(before.binary_view()));
      if (!binary.ok()) {
        fail(build, binary.error());
      } else {
        Output output;
        output.result = runtime::cached_link(runtime::DiskCache::of_process(), {binary->payload}, options_,
                                             describe(device), output.log);
        take_executable(device, output, build);
      }
    }
    dump(device, program.source(), program.il(), build);
    return build;
  }

  Build compile(Device& device, const Program& program) {
    Build build = fresh();
    Output& output = once(device, [&](std::string& log) {
      runtime::CompileInput input = program.input();
      if (program.origin() == Program::Origin::source) input.headers = headers_;
      return runtime::cached_compile(runtime::DiskCache::of_process(), input, options_, describe(device),
                                     log);
    });
    take_bitcode(device, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, output, build);
    dump(device, program.source(), program.il(), build);
    return build;
  }

  Build link(Device& device, const std::vector<std::string_view>& objects) {
    Build build = fresh();
    Output output;
    output.result = runtime::cached_link(runtime::DiskCache::of_process(), objects, options_,
                                         describe(device), output.log);
    if (options_.create_library)
      take_bitcode(device, CL_PROGRAM_BINARY_TYPE_LIBRARY, output, build);
    else
      take_executable(device, output, build);
    dump(device, {}, {}, build);
    return build;
  }

 private:
  struct Output {
    Result<std::string> result = std::string();
    std::string log;
  };

  Build fresh() const {
    Build build;
    build.options = text_;
    return build;
  }

  template <typename Compile>
  Output& once(const Device& device, Compile compile) {
    auto [place, is_new] = outputs_.try_emplace(device.name());
    if (is_new) place->second.result = compile(place->second.log);
    return place->second;
  }

  static void take_executable(Device& device, const Output& output, Build& build) {
    build.log = output.log;
    if (output.result.ok())
      load_executable(device, output.result.value(), build);
    else
      fail(build, output.result.error());
  }

  static void take_bitcode(const Device& device, cl_program_binary_type type, const Output& output,
                           Build& build) {
    build.log = output.log;
    if (!output.result.ok()) return fail(build, output.result.error());
    build.type = type;
    build.binary = std::make_shared<const std::string>(
        pack_bitcode(type, device.spec().processor, output.result.value()));
    build.status = CL_BUILD_SUCCESS;
  }

  runtime::BuildOptions options_;
  std::string text_;
  std::vector<runtime::Header> headers_;
  std::map<std::string, Output> outputs_;
};

// The checks that clBuildProgram and clCompileProgram share.
cl_int resolve_devices(const Program& program, cl_uint num_devices, const cl_device_id* device_list,
                       Notify notify, const void* user_data, std::vector<size_t>& indices) {
  // CL_INVALID_VALUE if device_list is NULL and num_devices is greater than zero, or the reverse.
  if ((device_list == nullptr) != (num_devices == 0)) return CL_INVALID_VALUE;
  // CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL.
  if (notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
  if (num_devices == 0)
    for (size_t i = 0; i < program.devices().size(); ++i) indices.push_back(i);
  // CL_INVALID_DEVICE if any device in device_list is not in the list of devices associated with program. A
  // device stands for its sub-devices too: what is built for it is theirs.
  for (cl_uint i = 0; i < num_devices; ++i) {
    Device* device = find<Device>(device_list[i]);
    bool found = false;
    for (size_t index = 0; device != nullptr && index < program.devices().size(); ++index) {
      if (!program.devices()[index]->descends_from(*device)) continue;
      found = true;
      if (std::find(indices.begin(), indices.end(), index) == indices.end()) indices.push_back(index);
    }
    if (!found) return CL_INVALID_DEVICE;
  }
  return CL_SUCCESS;
}

// Runs `step` for each device and tells whether all succeeded.
template <typename Step>
bool run_builds(Program& program, const std::vector<size_t>& indices, Step step) {
  struct End {
    Program& program;
    ~End() { program.end_build(); }
  } end{program};
  bool success = true;
  for (size_t index : indices) {
    Build build = step(index);
    success &= build.status == CL_BUILD_SUCCESS;
    program.set_build(index, std::move(build));
  }
  return success;
}

cl_int build_program(Program& program, const std::vector<size_t>& indices, const char* text) {
  std::string given = text == nullptr ? "" : text;
  // CL_INVALID_BINARY if program was created from binaries and a device has none.
  if (program.origin() == Program::Origin::binary)
    for (size_t index : indices)
      if (!program.build(index).binary) return CL_INVALID_BINARY;
  // CL_INVALID_BUILD_OPTIONS if the build options are invalid.
  auto parsed = runtime::parse_build_options(with_appended(text), runtime::BuildStage::build);
  if (!parsed.ok()) {
    log(LogLevel::warn, "clBuildProgram: {}", parsed.error().message);
    return CL_INVALID_BUILD_OPTIONS;
  }
  // CL_INVALID_OPERATION if program was made by linking.
  if (program.origin() == Program::Origin::linked) return CL_INVALID_OPERATION;
  // CL_INVALID_OPERATION if a previous build has not completed, or kernel objects are attached to program.
  if (!program.begin_build(indices, given)) return CL_INVALID_OPERATION;
  Builder builder(for_context(program.context(), std::move(parsed).value()), given);
  bool success = run_builds(program, indices, [&](size_t index) {
    return builder.build(*program.devices()[index], program, program.build(index));
  });
  // CL_BUILD_PROGRAM_FAILURE if there is a failure to build the program executable.
  return success ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}

// The bitcode of every input program for one device. `have` counts those that have some.
std::vector<std::shared_ptr<const std::string>> inputs_for(const Device& device,
                                                           std::span<Program* const> programs, size_t& have) {
  std::vector<std::shared_ptr<const std::string>> inputs;
  for (Program* program : programs) {
    int index = program->index_of(&device);
    if (index < 0) continue;
    Build build = program->build(static_cast<size_t>(index));
    bool usable =
        build.type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT || build.type == CL_PROGRAM_BINARY_TYPE_LIBRARY;
    if (!usable) continue;
    ++have;
    inputs.push_back(std::move(build.binary));
  }
  return inputs;
}

Made<cl_program> link_program(Context& context, std::vector<Ref<Device>> devices, const char* text,
                              std::span<Program* const> programs) {
  // CL_INVALID_LINKER_OPTIONS if the linker options are invalid.
  auto parsed = runtime::parse_build_options(text == nullptr ? "" : text, runtime::BuildStage::link);
  if (!parsed.ok()) return CL_INVALID_LINKER_OPTIONS;
  // CL_INVALID_OPERATION if some devices have compiled binaries or libraries for all input programs and
  // others have not.
  std::vector<std::vector<std::shared_ptr<const std::string>>> inputs;
  size_t have = 0;
  for (const Ref<Device>& device : devices) inputs.push_back(inputs_for(*device, programs, have));
  if (have != programs.size() * devices.size()) return CL_INVALID_OPERATION;

  auto linked = make<Program>(context, std::move(devices), Program::Origin::linked, std::string());
  Builder builder(for_context(context, std::move(parsed).value()), text == nullptr ? "" : text);
  bool success = true;
  for (size_t i = 0; i < linked->devices().size(); ++i) {
    std::vector<std::string_view> objects;
    for (const auto& input : inputs[i]) {
      auto binary = read_binary(Bytes(std::string_view(*input)));
      if (binary.ok()) objects.push_back(binary->payload);
    }
    Build build = builder.link(*linked->devices()[i], objects);
    success &= build.status == CL_BUILD_SUCCESS;
    linked->set_build(i, std::move(build));
  }
  // CL_LINK_PROGRAM_FAILURE if there is a failure to link; the program is returned all the same, with its
  // log.
  return Made<cl_program>(linked.publish(), success ? CL_SUCCESS : CL_LINK_PROGRAM_FAILURE);
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint num_devices, const cl_device_id* device_list,
                                  const char* options, void(CL_CALLBACK* pfn_notify)(cl_program, void*),
                                  void* user_data) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PROGRAM if program is not a valid program object.
    Program* p = find<Program>(program);
    if (p == nullptr) return CL_INVALID_PROGRAM;
    Ref<Program> hold(p);
    std::vector<size_t> indices;
    cl_int error = resolve_devices(*p, num_devices, device_list, pfn_notify, user_data, indices);
    if (error != CL_SUCCESS) return error;
    cl_int result = build_program(*p, indices, options);
    bool started = result == CL_SUCCESS || result == CL_BUILD_PROGRAM_FAILURE;
    if (started && pfn_notify != nullptr) pfn_notify(program, user_data);
    return result;
  });
}

cl_int CL_API_CALL clCompileProgram(cl_program program, cl_uint num_devices, const cl_device_id* device_list,
                                    const char* options, cl_uint num_input_headers,
                                    const cl_program* input_headers, const char** header_include_names,
                                    void(CL_CALLBACK* pfn_notify)(cl_program, void*), void* user_data) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PROGRAM if program is not a valid program object.
    Program* p = find<Program>(program);
    if (p == nullptr) return CL_INVALID_PROGRAM;
    Ref<Program> hold(p);
    std::vector<size_t> indices;
    cl_int error = resolve_devices(*p, num_devices, device_list, pfn_notify, user_data, indices);
    if (error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if num_input_headers is zero and header_include_names or input_headers are not NULL,
    // or the reverse.
    if ((num_input_headers == 0) != (input_headers == nullptr) ||
        (num_input_headers == 0) != (header_include_names == nullptr))
      return CL_INVALID_VALUE;
    // CL_INVALID_COMPILER_OPTIONS if the compiler options are invalid.
    auto parsed = runtime::parse_build_options(with_appended(options), runtime::BuildStage::compile);
    if (!parsed.ok()) return CL_INVALID_COMPILER_OPTIONS;
    Builder builder(for_context(p->context(), std::move(parsed).value()), options == nullptr ? "" : options);
    for (cl_uint i = 0; i < num_input_headers; ++i) {
      Program* header = find<Program>(input_headers[i]);
      if (header == nullptr) return CL_INVALID_PROGRAM;
      // CL_INVALID_CONTEXT if the contexts of program and header are not the same.
      if (&header->context() != &p->context()) return CL_INVALID_CONTEXT;
      if (header_include_names[i] == nullptr) return CL_INVALID_VALUE;
      builder.add_header(header_include_names[i], std::string(header->source()));
    }
    // CL_INVALID_OPERATION if program has no source or intermediate language.
    if (!p->can_compile()) return CL_INVALID_OPERATION;
    // CL_INVALID_OPERATION if a previous build has not completed, or kernel objects are attached to program.
    if (!p->begin_build(indices, options == nullptr ? "" : options)) return CL_INVALID_OPERATION;
    bool success =
        run_builds(*p, indices, [&](size_t index) { return builder.compile(*p->devices()[index], *p); });
    if (pfn_notify != nullptr) pfn_notify(program, user_data);
    // CL_COMPILE_PROGRAM_FAILURE if there is a failure to compile the program source.
    return success ? CL_SUCCESS : CL_COMPILE_PROGRAM_FAILURE;
  });
}

cl_program CL_API_CALL clLinkProgram(cl_context context, cl_uint num_devices, const cl_device_id* device_list,
                                     const char* options, cl_uint num_input_programs,
                                     const cl_program* input_programs,
                                     void(CL_CALLBACK* pfn_notify)(cl_program, void*), void* user_data,
                                     cl_int* errcode_ret) {
  cl_program result = api_create<cl_program>(__func__, errcode_ret, [&]() -> Made<cl_program> {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c;
    if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if device_list is NULL and num_devices is greater than zero, or the reverse.
    if ((device_list == nullptr) != (num_devices == 0)) return CL_INVALID_VALUE;
    // CL_INVALID_VALUE if num_input_programs is zero or input_programs is NULL.
    if (num_input_programs == 0 || input_programs == nullptr) return CL_INVALID_VALUE;
    // CL_INVALID_PROGRAM if programs specified in input_programs are not valid program objects.
    std::vector<Program*> programs;
    for (cl_uint i = 0; i < num_input_programs; ++i) {
      Program* input = find<Program>(input_programs[i]);
      if (input == nullptr) return CL_INVALID_PROGRAM;
      // CL_INVALID_CONTEXT if an input program's context is another than context.
      if (&input->context() != c) return CL_INVALID_CONTEXT;
      programs.push_back(input);
    }
    // CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL.
    if (pfn_notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
    // CL_INVALID_DEVICE if any device in device_list is not associated with context.
    std::vector<Ref<Device>> devices(c->devices().begin(), c->devices().end());
    if (num_devices > 0) devices.clear();
    for (cl_uint i = 0; i < num_devices; ++i) {
      Device* device = find<Device>(device_list[i]);
      if (device == nullptr || !c->has(device)) return CL_INVALID_DEVICE;
      devices.emplace_back(device);
    }
    return link_program(*c, std::move(devices), options, programs);
  });
  if (result != nullptr && pfn_notify != nullptr) pfn_notify(result, user_data);
  return result;
}
