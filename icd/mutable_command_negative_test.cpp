// What updates of command buffers refuse: one row a condition.
#include <memory>

#include "icd/command_buffer_support.h"
#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

class UpdateRefusals : public Negative {
 protected:
  void SetUp() override {
    Negative::SetUp();
    api = std::make_unique<CommandBufferApi>(platform);
    // Its work-groups need not be uniform.
    loose =
        make_program("kernel void set(global int* x, int y) { x[get_global_id(0)] = y; }", "-cl-std=CL3.0");
    set = make_kernel(loose, "set");
    clSetKernelArg(set, 0, sizeof buffer, &buffer);
    clSetKernelArg(set, 1, sizeof number, &number);
    mutable_buffer = create(kFlagMutable);
    other_buffer = create(kFlagMutable);
    fixed_buffer = create(0);
    command = record(mutable_buffer, nullptr);
    static const cl_properties nothing[] = {kUpdatableFields, 0, 0};
    frozen = record(mutable_buffer, nothing);
    elsewhere = record(other_buffer, nullptr);
    fixed = record(fixed_buffer, nullptr);
    recording = create(kFlagMutable);
    for (cl_command_buffer_khr b : {mutable_buffer, other_buffer, fixed_buffer})
      ASSERT_EQ(api->finalize(b), CL_SUCCESS);
  }
  void TearDown() override {
    for (cl_command_buffer_khr b : {mutable_buffer, other_buffer, fixed_buffer, recording}) api->release(b);
    clReleaseKernel(set);
    clReleaseProgram(loose);
    Negative::TearDown();
  }

  cl_command_buffer_khr create(cl_properties flags) {
    const cl_properties properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR, flags, 0};
    cl_int error;
    cl_command_buffer_khr made = api->create(1, &queue, properties, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  cl_mutable_command_khr record(cl_command_buffer_khr to, const cl_properties* properties) {
    cl_mutable_command_khr handle = nullptr;
    EXPECT_EQ(
        api->launch(to, nullptr, properties, set, 1, nullptr, &items, &group, 0, nullptr, nullptr, &handle),
        CL_SUCCESS);
    return handle;
  }
  // The code of an update of `command`, changed by `change`.
  template <typename Change>
  std::function<cl_int()> with(Change change) {
    return [=, this] {
      DispatchConfig config;
      config.command = command;
      change(config);
      const cl_uint type = 0;
      const void* configs[] = {&config};
      return api->update(mutable_buffer, 1, &type, configs);
    };
  }

  const size_t items = 64, group = 16, odd = 7, zero = 0;
  const int number = 3;
  std::unique_ptr<CommandBufferApi> api;
  cl_program loose;
  cl_kernel set;
  cl_command_buffer_khr mutable_buffer, other_buffer, fixed_buffer, recording;
  cl_mutable_command_khr command, frozen, elsewhere, fixed;
};

TEST_F(UpdateRefusals, OfWholeCalls) {
  DispatchConfig config;
  config.command = command;
  const cl_uint type = 0, wrong_type = 5;
  const void* configs[] = {&config};
  const void* nothing[] = {nullptr};
  auto wrong = reinterpret_cast<cl_command_buffer_khr>(buffer);
  check({
      {"no buffer", CL_INVALID_COMMAND_BUFFER_KHR, [&] { return api->update(wrong, 1, &type, configs); }},
      {"a buffer in recording", CL_INVALID_OPERATION,
       [&] { return api->update(recording, 1, &type, configs); }},
      {"an immutable buffer", CL_INVALID_OPERATION,
       [&] { return api->update(fixed_buffer, 1, &type, configs); }},
      {"no types", CL_INVALID_VALUE, [&] { return api->update(mutable_buffer, 1, nullptr, configs); }},
      {"types without a count", CL_INVALID_VALUE,
       [&] { return api->update(mutable_buffer, 0, &type, nullptr); }},
      {"no configs", CL_INVALID_VALUE, [&] { return api->update(mutable_buffer, 1, &type, nullptr); }},
      {"configs without a count", CL_INVALID_VALUE,
       [&] { return api->update(mutable_buffer, 0, nullptr, configs); }},
      {"an unknown type", CL_INVALID_VALUE,
       [&] { return api->update(mutable_buffer, 1, &wrong_type, configs); }},
      {"a config of NULL", CL_INVALID_VALUE, [&] { return api->update(mutable_buffer, 1, &type, nothing); }},
  });
  EXPECT_EQ(api->update(mutable_buffer, 0, nullptr, nullptr), CL_SUCCESS);
}

TEST_F(UpdateRefusals, OfOneCommand) {
  static const DispatchArgument value{1, sizeof(int), host}, far{9, sizeof(int), host}, wide{1, 8, host},
      none_given{1, sizeof(int), nullptr}, no_memory{0, sizeof(cl_mem), &dangling},
      foreign_memory{0, sizeof(cl_mem), &foreign}, svm{1, 0, host};
  static const DispatchExecInfo info{CL_KERNEL_EXEC_INFO_SVM_PTRS, 3, host}, unknown{0, 8, host};
  const auto arguments = [&](const DispatchArgument& argument) {
    return with([&argument](DispatchConfig& c) { c.arg_list = &argument, c.num_args = 1; });
  };
  const auto frozen_with = [&](auto change) {
    return with([=, this](DispatchConfig& c) { c.command = frozen, change(c); });
  };
  check({
      {"no command", CL_INVALID_MUTABLE_COMMAND_KHR, with([](DispatchConfig& c) { c.command = nullptr; })},
      {"another buffer's", CL_INVALID_MUTABLE_COMMAND_KHR,
       with([this](DispatchConfig& c) { c.command = elsewhere; })},
      {"other dimensions", CL_INVALID_OPERATION, with([](DispatchConfig& c) { c.work_dim = 2; })},
      {"uniformity", CL_INVALID_OPERATION, with([this](DispatchConfig& c) { c.local_work_size = &odd; })},
      {"a fixed offset", CL_INVALID_OPERATION,
       frozen_with([this](DispatchConfig& c) { c.global_work_offset = &items; })},
      {"a fixed size", CL_INVALID_OPERATION,
       frozen_with([this](DispatchConfig& c) { c.global_work_size = &items; })},
      {"a fixed local size", CL_INVALID_OPERATION,
       frozen_with([this](DispatchConfig& c) { c.local_work_size = &group; })},
      {"fixed arguments", CL_INVALID_OPERATION,
       frozen_with([](DispatchConfig& c) { c.arg_list = &value, c.num_args = 1; })},
      {"fixed execution information", CL_INVALID_OPERATION,
       frozen_with([](DispatchConfig& c) { c.exec_info_list = &info, c.num_exec_infos = 1; })},
      {"a list without a count", CL_INVALID_VALUE, with([](DispatchConfig& c) { c.arg_list = &value; })},
      {"a count without a list", CL_INVALID_VALUE, with([](DispatchConfig& c) { c.num_svm_args = 1; })},
      {"a count without information", CL_INVALID_VALUE,
       with([](DispatchConfig& c) { c.num_exec_infos = 1; })},
      {"wrong information", CL_INVALID_VALUE,
       with([](DispatchConfig& c) { c.exec_info_list = &info, c.num_exec_infos = 1; })},
      {"unknown information", CL_INVALID_VALUE,
       with([](DispatchConfig& c) { c.exec_info_list = &unknown, c.num_exec_infos = 1; })},
      {"an argument that is not there", CL_INVALID_ARG_INDEX, arguments(far)},
      {"an argument of another size", CL_INVALID_ARG_SIZE, arguments(wide)},
      {"no value", CL_INVALID_ARG_VALUE, arguments(none_given)},
      {"no memory object", CL_INVALID_MEM_OBJECT, arguments(no_memory)},
      {"another context's", CL_INVALID_CONTEXT, arguments(foreign_memory)},
      {"a pointer for a number", CL_INVALID_ARG_VALUE,
       with([](DispatchConfig& c) { c.arg_svm_list = &svm, c.num_svm_args = 1; })},
      {"a local size of 0", CL_INVALID_WORK_GROUP_SIZE,
       with([this](DispatchConfig& c) { c.local_work_size = &zero; })},
  });
}

TEST_F(UpdateRefusals, OfQueriesAndRemapping) {
  size_t value;
  auto wrong_buffer = reinterpret_cast<cl_command_buffer_khr>(buffer);
  auto wrong_queue = reinterpret_cast<cl_command_queue>(buffer);
  cl_int error;
  cl_command_queue foreign_queue = clCreateCommandQueue(other_context, device, 0, &error);
  const auto remap = [&](cl_command_buffer_khr of, cl_uint queues, const cl_command_queue* list,
                         cl_uint handles, const cl_mutable_command_khr* old) {
    cl_mutable_command_khr fresh[1];
    return code_of([&](cl_int* e) {
      return api->remap(of, CL_FALSE, queues, list, handles, old, handles ? fresh : nullptr, e);
    });
  };
  check({
      {"info of no command", CL_INVALID_MUTABLE_COMMAND_KHR,
       [&] {
         return api->command_info(reinterpret_cast<cl_mutable_command_khr>(buffer),
                                  CL_MUTABLE_DISPATCH_DIMENSIONS_KHR, sizeof value, &value, nullptr);
       }},
      {"info of nothing", CL_INVALID_VALUE,
       [&] { return api->command_info(command, 0, sizeof value, &value, nullptr); }},
      {"info without room", CL_INVALID_VALUE,
       [&] { return api->command_info(command, CL_MUTABLE_DISPATCH_DIMENSIONS_KHR, 1, &value, nullptr); }},
      {"remap no buffer", CL_INVALID_COMMAND_BUFFER_KHR,
       [&] { return remap(wrong_buffer, 1, &queue, 0, nullptr); }},
      {"remap to no queues", CL_INVALID_VALUE, [&] { return remap(mutable_buffer, 0, &queue, 0, nullptr); }},
      {"remap to queues of NULL", CL_INVALID_VALUE,
       [&] { return remap(mutable_buffer, 1, nullptr, 0, nullptr); }},
      {"remap no handles", CL_INVALID_VALUE, [&] { return remap(mutable_buffer, 1, &queue, 1, nullptr); }},
      {"remap another's handle", CL_INVALID_VALUE,
       [&] { return remap(mutable_buffer, 1, &queue, 1, &elsewhere); }},
      {"remap to a wrong queue", CL_INVALID_COMMAND_QUEUE,
       [&] { return remap(mutable_buffer, 1, &wrong_queue, 0, nullptr); }},
      {"remap to another context", CL_INVALID_CONTEXT,
       [&] { return remap(mutable_buffer, 1, &foreign_queue, 0, nullptr); }},
      {"remap at all", CL_INVALID_OPERATION, [&] { return remap(mutable_buffer, 1, &queue, 0, nullptr); }},
  });
  clReleaseCommandQueue(foreign_queue);
}

}  // namespace
}  // namespace morgana::icd::test
