#include "icd/program.h"

#include <algorithm>
#include <cstring>

#include "icd/program_binary.h"

namespace morgana::icd {

Program::Program(Context& context, std::vector<Ref<Device>> devices, Origin origin, std::string content,
                 runtime::SpirvFacts facts)
    : context_(&context),
      devices_(std::move(devices)),
      origin_(origin),
      content_(std::move(content)),
      facts_(std::move(facts)),
      builds_(devices_.size()) {}

Program::~Program() = default;

int Program::index_of(const Device* device) const {
  for (size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].get() == device) return static_cast<int>(i);
  return -1;
}

Build Program::build(size_t index) const {
  std::lock_guard lock(mutex_);
  return builds_[index];
}

void Program::set_build(size_t index, Build build) {
  std::lock_guard lock(mutex_);
  builds_[index] = std::move(build);
}

runtime::CompileInput Program::input() const {
  runtime::CompileInput input;
  input.source = content_;
  if (origin_ == Origin::il) input.language = runtime::Language::spirv;
  input.is_valid = facts_.is_valid;
  std::lock_guard lock(mutex_);
  input.specialization = specialization_;
  return input;
}

const runtime::SpecConstant* Program::find_constant(cl_uint id) const {
  for (const runtime::SpecConstant& constant : facts_.constants)
    if (constant.id == id) return &constant;
  return nullptr;
}

void Program::specialize(runtime::SpecValue value) {
  std::lock_guard lock(mutex_);
  auto place = std::lower_bound(specialization_.begin(), specialization_.end(), value,
                                [](const auto& a, const auto& b) { return a.id < b.id; });
  if (place != specialization_.end() && place->id == value.id)
    *place = value;
  else
    specialization_.insert(place, value);
}

bool Program::begin_build(std::span<const size_t> indices, const std::string& options) {
  std::lock_guard lock(mutex_);
  if (building_ || kernels_.load(std::memory_order_relaxed) != 0) return false;
  building_ = true;
  for (size_t index : indices) {
    builds_[index].status = CL_BUILD_IN_PROGRESS;
    builds_[index].options = options;
    builds_[index].log.clear();
  }
  return true;
}

void Program::end_build() {
  std::lock_guard lock(mutex_);
  building_ = false;
}

namespace {

// CL_INVALID_BINARY if the bytes are no program for the device.
cl_int accept_binary(Device& device, Bytes bytes, Build& build) {
  auto binary = read_binary(bytes);
  if (!binary.ok()) return CL_INVALID_BINARY;
  build.type = binary->type;
  if (binary->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE) {
    auto executable = runtime::Executable::load(device.agent(), bytes);
    if (!executable.ok()) {
      log(LogLevel::info, "clCreateProgramWithBinary: {}", executable.error().message);
      return CL_INVALID_BINARY;
    }
    build.executable = std::move(executable).value();
  } else if (binary->processor != device.spec().processor || !runtime::is_bitcode(binary->payload)) {
    return CL_INVALID_BINARY;
  }
  build.binary = std::make_shared<const std::string>(bytes.text());
  return CL_SUCCESS;
}

Made<cl_program> create_with_il(cl_context context, const void* il, size_t length) {
  // CL_INVALID_CONTEXT if context is not a valid context.
  Context* c;
  if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
  // CL_INVALID_VALUE if il is NULL or if length is zero.
  if (il == nullptr || length == 0) return CL_INVALID_VALUE;
  // CL_INVALID_VALUE if the memory that il points to does not contain well-formed intermediate language.
  std::string bytes(static_cast<const char*>(il), length);
  auto facts = runtime::inspect_spirv(bytes);
  if (!facts.ok()) {
    log(LogLevel::warn, "clCreateProgramWithIL: {}", facts.error().message);
    return CL_INVALID_VALUE;
  }
  std::vector<Ref<Device>> devices(c->devices().begin(), c->devices().end());
  return make<Program>(*c, std::move(devices), Program::Origin::il, std::move(bytes), *std::move(facts))
      .publish();
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                                 const size_t* lengths, cl_int* errcode_ret) {
  return api_create<cl_program>(__func__, errcode_ret, [&]() -> Made<cl_program> {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c;
    if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if count is zero or if strings or any entry in strings is NULL.
    if (count == 0 || strings == nullptr) return CL_INVALID_VALUE;
    std::string source;
    for (cl_uint i = 0; i < count; ++i) {
      if (strings[i] == nullptr) return CL_INVALID_VALUE;
      size_t length = lengths == nullptr || lengths[i] == 0 ? std::strlen(strings[i]) : lengths[i];
      source.append(strings[i], length);
    }
    std::vector<Ref<Device>> devices(c->devices().begin(), c->devices().end());
    return make<Program>(*c, std::move(devices), Program::Origin::source, std::move(source)).publish();
  });
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void* il, size_t length,
                                             cl_int* errcode_ret) {
  return api_create<cl_program>(__func__, errcode_ret, [&] { return create_with_il(context, il, length); });
}

cl_program CL_API_CALL clCreateProgramWithILKHR(cl_context context, const void* il, size_t length,
                                                cl_int* errcode_ret) {
  return api_create<cl_program>(__func__, errcode_ret, [&] { return create_with_il(context, il, length); });
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program program, cl_uint spec_id, size_t spec_size,
                                                      const void* spec_value) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PROGRAM if program is not a valid program object created from an intermediate language.
    Program* p = find<Program>(program);
    if (p == nullptr || p->origin() != Program::Origin::il) return CL_INVALID_PROGRAM;
    // CL_INVALID_SPEC_ID if spec_id is not a valid specialization constant identifier.
    const runtime::SpecConstant* constant = p->find_constant(spec_id);
    if (constant == nullptr) return CL_INVALID_SPEC_ID;
    // CL_INVALID_VALUE if spec_size does not match the size of the constant, or spec_value is NULL.
    runtime::SpecValue value{spec_id, 0};
    if (spec_size != constant->bytes || spec_size > sizeof value.bits || spec_value == nullptr)
      return CL_INVALID_VALUE;
    std::memcpy(&value.bits, spec_value, spec_size);
    p->specialize(value);
    return CL_SUCCESS;
  });
}

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint num_devices,
                                                 const cl_device_id* device_list, const size_t* lengths,
                                                 const unsigned char** binaries, cl_int* binary_status,
                                                 cl_int* errcode_ret) {
  return api_create<cl_program>(__func__, errcode_ret, [&]() -> Made<cl_program> {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c;
    if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if device_list is NULL or num_devices is zero.
    if (device_list == nullptr || num_devices == 0) return CL_INVALID_VALUE;
    // CL_INVALID_DEVICE if any device in device_list is not associated with context.
    std::vector<Ref<Device>> devices;
    for (cl_uint i = 0; i < num_devices; ++i) {
      Device* device = find<Device>(device_list[i]);
      if (device == nullptr || !c->has(device)) return CL_INVALID_DEVICE;
      // Which of two binaries a device that is given twice would have, nothing says.
      if (std::find(device_list, device_list + i, device_list[i]) != device_list + i)
        return CL_INVALID_DEVICE;
      devices.emplace_back(device);
    }
    // CL_INVALID_VALUE if lengths or binaries is NULL, or any of their entries is zero or NULL.
    if (lengths == nullptr || binaries == nullptr) return CL_INVALID_VALUE;
    bool empty = false;
    for (cl_uint i = 0; i < num_devices; ++i) {
      bool bad = lengths[i] == 0 || binaries[i] == nullptr;
      if (binary_status != nullptr) binary_status[i] = bad ? CL_INVALID_VALUE : CL_SUCCESS;
      empty |= bad;
    }
    if (empty) return CL_INVALID_VALUE;

    auto program = make<Program>(*c, std::move(devices), Program::Origin::binary, std::string());
    // CL_INVALID_BINARY if an invalid program binary was encountered for any device.
    cl_int result = CL_SUCCESS;
    for (cl_uint i = 0; i < num_devices; ++i) {
      Build build;
      cl_int status = accept_binary(*program->devices()[i], Bytes(binaries[i], lengths[i]), build);
      if (binary_status != nullptr) binary_status[i] = status;
      if (status != CL_SUCCESS) result = status;
      program->set_build(i, std::move(build));
    }
    if (result != CL_SUCCESS) return result;
    return program.publish();
  });
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context context, cl_uint num_devices,
                                                         const cl_device_id* device_list,
                                                         const char* kernel_names, cl_int* errcode_ret) {
  return api_create<cl_program>(__func__, errcode_ret, [&]() -> Made<cl_program> {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c;
    if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if device_list is NULL or num_devices is zero.
    if (device_list == nullptr || num_devices == 0) return CL_INVALID_VALUE;
    // CL_INVALID_DEVICE if any device in device_list is not associated with context.
    for (cl_uint i = 0; i < num_devices; ++i) {
      Device* device = find<Device>(device_list[i]);
      if (device == nullptr || !c->has(device)) return CL_INVALID_DEVICE;
    }
    // CL_INVALID_VALUE if kernel_names is NULL or names a kernel that is not supported by any of the devices:
    // there are no built-in kernels.
    static_cast<void>(kernel_names);
    return CL_INVALID_VALUE;
  });
}

cl_int CL_API_CALL clRetainProgram(cl_program program) {
  return api(__func__, [&] { return retain_handle<Program>(program); });
}

cl_int CL_API_CALL clReleaseProgram(cl_program program) {
  return api(__func__, [&] { return release_handle<Program>(program); });
}
