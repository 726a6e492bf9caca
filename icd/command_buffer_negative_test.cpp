// What command buffers refuse: one row a condition. The platform of these tests has several devices, and so
// cl_khr_command_buffer_multi_device.
#include <memory>

#include "icd/command_buffer_support.h"
#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

// The arguments that every clCommandXKHR has.
struct Common {
  cl_command_buffer_khr buffer = nullptr;
  cl_command_queue queue = nullptr;
  const cl_properties* properties = nullptr;
  cl_uint count = 0;
  const cl_sync_point_khr* list = nullptr;
  cl_mutable_command_khr* handle = nullptr;
};

class CommandBufferRefusals : public Negative {
 protected:
  void SetUp() override {
    Negative::SetUp();
    api = std::make_unique<CommandBufferApi>(platform);
    cl_int error;
    second = make_queue(0);
    unlisted = make_queue(0);
    foreign_queue = clCreateCommandQueue(other_context, device, 0, &error);
    recording = create({queue});
    finished = create({queue});
    ASSERT_EQ(api->finalize(finished), CL_SUCCESS);
    of_two = create({queue, second});
    const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
    const cl_image_format other_format{CL_R, CL_FLOAT};
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = desc.image_height = 8;
    image = clCreateImage(context, 0, &format, &desc, nullptr, &error);
    other_image = clCreateImage(context, 0, &other_format, &desc, nullptr, &error);
    foreign_image = clCreateImage(other_context, 0, &format, &desc, nullptr, &error);
    constant_image =
        clCreateImage(context, kImmutableFlag | CL_MEM_COPY_HOST_PTR, &format, &desc, host, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    constant = make_buffer(256, kImmutableFlag | CL_MEM_COPY_HOST_PTR, host);
    target = make_buffer(1024);
  }
  void TearDown() override {
    for (cl_command_buffer_khr b : {recording, finished, of_two}) EXPECT_EQ(api->release(b), CL_SUCCESS);
    for (cl_mem m : {image, other_image, foreign_image, constant_image, constant, target})
      clReleaseMemObject(m);
    for (cl_command_queue q : {second, unlisted, foreign_queue}) clReleaseCommandQueue(q);
    Negative::TearDown();
  }

  cl_command_buffer_khr create(const std::vector<cl_command_queue>& queues,
                               std::vector<cl_properties> properties = {}) {
    cl_int error;
    properties.push_back(0);
    cl_command_buffer_khr made =
        api->create(static_cast<cl_uint>(queues.size()), queues.data(), properties.data(), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }

  // The rows of what every clCommandXKHR refuses alike; `call` passes on the common arguments.
  void check_common(const std::function<cl_int(const Common&)>& call, bool takes_handle = false) {
    const auto with = [&](auto change) {
      return [=, this] {
        Common common{recording};
        change(common);
        return call(common);
      };
    };
    static const cl_properties unknown[] = {0x7777, 1, 0};
    static const cl_sync_point_khr nowhere[] = {1000000}, zero[] = {0};
    static cl_mutable_command_khr handle;
    check({
        {"nothing as buffer", CL_INVALID_COMMAND_BUFFER_KHR, with([](Common& c) { c.buffer = nullptr; })},
        {"a finalized buffer", CL_INVALID_OPERATION, with([&](Common& c) { c.buffer = finished; })},
        {"no queue of two", CL_INVALID_COMMAND_QUEUE, with([&](Common& c) { c.buffer = of_two; })},
        {"an unlisted queue", CL_INVALID_COMMAND_QUEUE, with([&](Common& c) { c.queue = unlisted; })},
        {"a buffer as queue", CL_INVALID_COMMAND_QUEUE,
         with([&](Common& c) { c.queue = reinterpret_cast<cl_command_queue>(buffer); })},
        {"a foreign queue", CL_INVALID_CONTEXT, with([&](Common& c) { c.queue = foreign_queue; })},
        {"an unknown property", CL_INVALID_VALUE, with([&](Common& c) { c.properties = unknown; })},
        {"a count without sync points", CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
         with([](Common& c) { c.count = 1; })},
        {"sync points without a count", CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
         with([&](Common& c) { c.list = nowhere; })},
        {"an unknown sync point", CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
         with([&](Common& c) { c.list = nowhere, c.count = 1; })},
        {"sync point 0", CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
         with([&](Common& c) { c.list = zero, c.count = 1; })},
    });
    if (!takes_handle) check({{"a handle", CL_INVALID_VALUE, with([&](Common& c) { c.handle = &handle; })}});
  }

  const size_t start[3] = {0, 0, 0}, some[3] = {4, 4, 1}, too_many[3] = {9, 4, 1}, empty[3] = {4, 0, 1};
  std::unique_ptr<CommandBufferApi> api;
  cl_command_queue second, unlisted, foreign_queue;
  cl_command_buffer_khr recording, finished, of_two;
  cl_mem image, other_image, foreign_image, constant_image, constant, target;
};

#define MORGANA_FRONT(c) (c).buffer, (c).queue, (c).properties
#define MORGANA_BACK(c) (c).count, (c).list, nullptr, (c).handle

TEST_F(CommandBufferRefusals, Create) {
  const auto create_with = [&](std::vector<cl_command_queue> queues, std::vector<cl_properties> list) {
    list.push_back(0);
    return code_of([&](cl_int* error) {
      return api->create(static_cast<cl_uint>(queues.size()), queues.empty() ? nullptr : queues.data(),
                         list.data(), error);
    });
  };
  check({
      {"no queues", CL_INVALID_VALUE, [&] { return create_with({}, {}); }},
      {"queues NULL", CL_INVALID_VALUE,
       [&] { return code_of([&](cl_int* error) { return api->create(1, nullptr, nullptr, error); }); }},
      {"queue NULL", CL_INVALID_COMMAND_QUEUE, [&] { return create_with({nullptr}, {}); }},
      {"another context's queue", CL_INVALID_CONTEXT,
       [&] { return create_with({queue, foreign_queue}, {}); }},
      {"unknown property", CL_INVALID_VALUE, [&] { return create_with({queue}, {0x7777, 0}); }},
      {"unknown flag", CL_INVALID_VALUE,
       [&] { return create_with({queue}, {CL_COMMAND_BUFFER_FLAGS_KHR, 1 << 10}); }},
      {"unknown assertion", CL_INVALID_VALUE, [&] { return create_with({queue}, {kBufferAsserts, 2}); }},
      {"property twice", CL_INVALID_VALUE,
       [&] {
         return create_with({queue}, {CL_COMMAND_BUFFER_FLAGS_KHR, 0, CL_COMMAND_BUFFER_FLAGS_KHR, 0});
       }},
  });
}

TEST_F(CommandBufferRefusals, LifeAndQueries) {
  auto wrong = reinterpret_cast<cl_command_buffer_khr>(buffer);
  cl_uint value;
  check({
      {"retain", CL_INVALID_COMMAND_BUFFER_KHR, [&] { return api->retain(wrong); }},
      {"release", CL_INVALID_COMMAND_BUFFER_KHR, [&] { return api->release(nullptr); }},
      {"finalize", CL_INVALID_COMMAND_BUFFER_KHR, [&] { return api->finalize(wrong); }},
      {"finalize twice", CL_INVALID_OPERATION, [&] { return api->finalize(finished); }},
      {"info", CL_INVALID_COMMAND_BUFFER_KHR,
       [&] { return api->info(wrong, CL_COMMAND_BUFFER_STATE_KHR, 4, &value, nullptr); }},
      {"info of nothing", CL_INVALID_VALUE, [&] { return api->info(recording, 0, 4, &value, nullptr); }},
      {"info without room", CL_INVALID_VALUE,
       [&] { return api->info(recording, CL_COMMAND_BUFFER_STATE_KHR, 3, &value, nullptr); }},
  });
}

TEST_F(CommandBufferRefusals, Enqueue) {
  cl_device_id devices[2];
  ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, devices, nullptr), CL_SUCCESS);
  cl_int error;
  cl_context both = clCreateContext(nullptr, 2, devices, nullptr, nullptr, &error);
  cl_command_queue on_first = clCreateCommandQueue(both, devices[0], 0, &error);
  cl_command_queue on_second = clCreateCommandQueue(both, devices[1], 0, &error);
  cl_command_buffer_khr of_first = create({on_first});
  ASSERT_EQ(api->finalize(of_first), CL_SUCCESS);
  auto no_event = reinterpret_cast<cl_event>(buffer);
  auto no_queue = reinterpret_cast<cl_command_queue>(buffer);
  cl_command_queue two[] = {queue, second};
  check({
      {"nothing", CL_INVALID_COMMAND_BUFFER_KHR,
       [&] { return api->enqueue(0, nullptr, nullptr, 0, nullptr, nullptr); }},
      {"while it is recorded", CL_INVALID_OPERATION,
       [&] { return api->enqueue(0, nullptr, recording, 0, nullptr, nullptr); }},
      {"a count without queues", CL_INVALID_VALUE,
       [&] { return api->enqueue(1, nullptr, finished, 0, nullptr, nullptr); }},
      {"queues without a count", CL_INVALID_VALUE,
       [&] { return api->enqueue(0, &queue, finished, 0, nullptr, nullptr); }},
      {"another count of queues", CL_INVALID_VALUE,
       [&] { return api->enqueue(2, two, finished, 0, nullptr, nullptr); }},
      {"no queue", CL_INVALID_COMMAND_QUEUE,
       [&] { return api->enqueue(1, &no_queue, finished, 0, nullptr, nullptr); }},
      {"another context's queue", CL_INVALID_CONTEXT,
       [&] { return api->enqueue(1, &foreign_queue, finished, 0, nullptr, nullptr); }},
      {"another device's queue", CL_INVALID_DEVICE,
       [&] { return api->enqueue(1, &on_second, of_first, 0, nullptr, nullptr); }},
      {"another context's event", CL_INVALID_CONTEXT,
       [&] { return api->enqueue(0, nullptr, finished, 1, &foreign_event, nullptr); }},
      {"a count without events", CL_INVALID_EVENT_WAIT_LIST,
       [&] { return api->enqueue(0, nullptr, finished, 1, nullptr, nullptr); }},
      {"events without a count", CL_INVALID_EVENT_WAIT_LIST,
       [&] { return api->enqueue(0, nullptr, finished, 0, &user_event, nullptr); }},
      {"no event", CL_INVALID_EVENT_WAIT_LIST,
       [&] { return api->enqueue(0, nullptr, finished, 1, &no_event, nullptr); }},
  });
  api->release(of_first);
  for (cl_command_queue q : {on_first, on_second}) clReleaseCommandQueue(q);
  clReleaseContext(both);
}

TEST_F(CommandBufferRefusals, CopiesAndFillsOfBuffers) {
  const auto copy = [&](cl_mem from, cl_mem to, size_t src, size_t dst, size_t size, const Common& c) {
    return api->copy(MORGANA_FRONT(c), from, to, src, dst, size, MORGANA_BACK(c));
  };
  const auto rect = [&](cl_mem from, cl_mem to, const size_t* at, const size_t* region, const Common& c) {
    return api->copy_rect(MORGANA_FRONT(c), from, to, at, start, region, 16, 0, 16, 0, MORGANA_BACK(c));
  };
  const auto fill = [&](cl_mem to, const void* pattern, size_t width, size_t at, size_t size,
                        const Common& c) {
    return api->fill(MORGANA_FRONT(c), to, pattern, width, at, size, MORGANA_BACK(c));
  };
  check_common([&](const Common& c) { return api->barrier(MORGANA_FRONT(c), MORGANA_BACK(c)); });
  check_common([&](const Common& c) { return copy(buffer, target, 0, 0, 16, c); });
  check_common([&](const Common& c) { return rect(buffer, target, start, some, c); });
  check_common([&](const Common& c) { return fill(buffer, host, 4, 0, 16, c); });
  const Common c{recording};
  const size_t far[3] = {1024, 0, 0}, near[3] = {2, 0, 0};
  check({
      {"copy: a foreign source", CL_INVALID_CONTEXT, [&] { return copy(foreign, target, 0, 0, 16, c); }},
      {"copy: a foreign target", CL_INVALID_CONTEXT, [&] { return copy(buffer, foreign, 0, 0, 16, c); }},
      {"copy: no source", CL_INVALID_MEM_OBJECT, [&] { return copy(dangling, target, 0, 0, 16, c); }},
      {"copy: no target", CL_INVALID_MEM_OBJECT, [&] { return copy(buffer, nullptr, 0, 0, 16, c); }},
      {"copy: beyond the source", CL_INVALID_VALUE, [&] { return copy(buffer, target, 1020, 0, 16, c); }},
      {"copy: beyond the target", CL_INVALID_VALUE, [&] { return copy(buffer, target, 0, 1020, 16, c); }},
      {"copy: overlap", CL_MEM_COPY_OVERLAP, [&] { return copy(buffer, buffer, 0, 8, 16, c); }},
      {"copy: immutable", CL_INVALID_OPERATION, [&] { return copy(buffer, constant, 0, 0, 16, c); }},
      {"rect: a foreign source", CL_INVALID_CONTEXT, [&] { return rect(foreign, target, start, some, c); }},
      {"rect: no target", CL_INVALID_MEM_OBJECT, [&] { return rect(buffer, nullptr, start, some, c); }},
      {"rect: no origin", CL_INVALID_VALUE, [&] { return rect(buffer, target, nullptr, some, c); }},
      {"rect: empty", CL_INVALID_VALUE, [&] { return rect(buffer, target, start, empty, c); }},
      {"rect: beyond the source", CL_INVALID_VALUE, [&] { return rect(buffer, target, far, some, c); }},
      {"rect: overlap", CL_MEM_COPY_OVERLAP, [&] { return rect(buffer, buffer, near, some, c); }},
      {"rect: immutable", CL_INVALID_OPERATION, [&] { return rect(buffer, constant, start, some, c); }},
      {"fill: foreign", CL_INVALID_CONTEXT, [&] { return fill(foreign, host, 4, 0, 16, c); }},
      {"fill: nothing", CL_INVALID_MEM_OBJECT, [&] { return fill(dangling, host, 4, 0, 16, c); }},
      {"fill: beyond", CL_INVALID_VALUE, [&] { return fill(buffer, host, 4, 1020, 16, c); }},
      {"fill: no pattern", CL_INVALID_VALUE, [&] { return fill(buffer, nullptr, 4, 0, 16, c); }},
      {"fill: a pattern of 3", CL_INVALID_VALUE, [&] { return fill(buffer, host, 3, 0, 12, c); }},
      {"fill: an odd offset", CL_INVALID_VALUE, [&] { return fill(buffer, host, 4, 2, 16, c); }},
      {"fill: an odd size", CL_INVALID_VALUE, [&] { return fill(buffer, host, 4, 0, 18, c); }},
      {"fill: immutable", CL_INVALID_OPERATION, [&] { return fill(constant, host, 4, 0, 16, c); }},
  });
}

TEST_F(CommandBufferRefusals, Images) {
  const auto copy = [&](cl_mem from, cl_mem to, const size_t* region, const Common& c) {
    return api->copy_image(MORGANA_FRONT(c), from, to, start, start, region, MORGANA_BACK(c));
  };
  const auto store = [&](cl_mem from, cl_mem to, const size_t* region, size_t at, const Common& c) {
    return api->copy_from_image(MORGANA_FRONT(c), from, to, start, region, at, MORGANA_BACK(c));
  };
  const auto load = [&](cl_mem from, cl_mem to, const size_t* region, size_t at, const Common& c) {
    return api->copy_to_image(MORGANA_FRONT(c), from, to, at, start, region, MORGANA_BACK(c));
  };
  const auto fill = [&](cl_mem to, const void* color, const size_t* region, const Common& c) {
    return api->fill_image(MORGANA_FRONT(c), to, color, start, region, MORGANA_BACK(c));
  };
  cl_int error;
  const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 8;
  cl_mem twin = clCreateImage(context, 0, &format, &desc, nullptr, &error);
  check_common([&](const Common& c) { return copy(image, twin, some, c); });
  check_common([&](const Common& c) { return store(image, target, some, 0, c); });
  check_common([&](const Common& c) { return load(buffer, image, some, 0, c); });
  check_common([&](const Common& c) { return fill(image, host, some, c); });
  const Common c{recording};
  check({
      {"copy: foreign", CL_INVALID_CONTEXT, [&] { return copy(foreign_image, image, some, c); }},
      {"copy: a buffer", CL_INVALID_MEM_OBJECT, [&] { return copy(image, buffer, some, c); }},
      {"copy: formats", CL_IMAGE_FORMAT_MISMATCH, [&] { return copy(image, other_image, some, c); }},
      {"copy: too many", CL_INVALID_VALUE, [&] { return copy(image, twin, too_many, c); }},
      {"copy: no region", CL_INVALID_VALUE, [&] { return copy(image, twin, nullptr, c); }},
      {"copy: overlap", CL_MEM_COPY_OVERLAP, [&] { return copy(image, image, some, c); }},
      {"copy: immutable", CL_INVALID_OPERATION, [&] { return copy(image, constant_image, some, c); }},
      {"store: foreign", CL_INVALID_CONTEXT, [&] { return store(image, foreign, some, 0, c); }},
      {"store: a buffer", CL_INVALID_MEM_OBJECT, [&] { return store(buffer, target, some, 0, c); }},
      {"store: no buffer", CL_INVALID_MEM_OBJECT, [&] { return store(image, image, some, 0, c); }},
      {"store: too many", CL_INVALID_VALUE, [&] { return store(image, target, too_many, 0, c); }},
      {"store: beyond the buffer", CL_INVALID_VALUE, [&] { return store(image, target, some, 1000, c); }},
      {"store: immutable", CL_INVALID_OPERATION, [&] { return store(image, constant, some, 0, c); }},
      {"load: foreign", CL_INVALID_CONTEXT, [&] { return load(foreign, image, some, 0, c); }},
      {"load: no image", CL_INVALID_MEM_OBJECT, [&] { return load(buffer, target, some, 0, c); }},
      {"load: too many", CL_INVALID_VALUE, [&] { return load(buffer, image, too_many, 0, c); }},
      {"load: beyond the buffer", CL_INVALID_VALUE, [&] { return load(buffer, image, some, 1000, c); }},
      {"load: immutable", CL_INVALID_OPERATION, [&] { return load(buffer, constant_image, some, 0, c); }},
      {"fill: foreign", CL_INVALID_CONTEXT, [&] { return fill(foreign_image, host, some, c); }},
      {"fill: a buffer", CL_INVALID_MEM_OBJECT, [&] { return fill(buffer, host, some, c); }},
      {"fill: no color", CL_INVALID_VALUE, [&] { return fill(image, nullptr, some, c); }},
      {"fill: empty", CL_INVALID_VALUE, [&] { return fill(image, host, empty, c); }},
      {"fill: immutable", CL_INVALID_OPERATION, [&] { return fill(constant_image, host, some, c); }},
  });
  clReleaseMemObject(twin);
}

TEST_F(CommandBufferRefusals, Svm) {
  const auto copy = [&](void* to, const void* from, const Common& c) {
    return api->svm_copy(MORGANA_FRONT(c), to, from, 16, MORGANA_BACK(c));
  };
  const auto fill = [&](void* to, const void* pattern, size_t width, size_t size, const Common& c) {
    return api->svm_fill(MORGANA_FRONT(c), to, pattern, width, size, MORGANA_BACK(c));
  };
  auto* shared = static_cast<uint8_t*>(clSVMAlloc(context, CL_MEM_READ_WRITE, 256, 0));
  check_common([&](const Common& c) { return copy(shared, shared + 64, c); });
  check_common([&](const Common& c) { return fill(shared, host, 4, 16, c); });
  const Common c{recording};
  check({
      {"copy: to NULL", CL_INVALID_VALUE, [&] { return copy(nullptr, shared, c); }},
      {"copy: from NULL", CL_INVALID_VALUE, [&] { return copy(shared, nullptr, c); }},
      {"copy: overlap", CL_MEM_COPY_OVERLAP, [&] { return copy(shared, shared + 8, c); }},
      {"fill: NULL", CL_INVALID_VALUE, [&] { return fill(nullptr, host, 4, 16, c); }},
      {"fill: no pattern", CL_INVALID_VALUE, [&] { return fill(shared, nullptr, 4, 16, c); }},
      {"fill: a pattern of 3", CL_INVALID_VALUE, [&] { return fill(shared, host, 3, 12, c); }},
      {"fill: misaligned", CL_INVALID_VALUE, [&] { return fill(shared + 1, host, 4, 16, c); }},
      {"fill: an odd size", CL_INVALID_VALUE, [&] { return fill(shared, host, 4, 18, c); }},
  });
  clSVMFree(context, shared);
}

TEST_F(CommandBufferRefusals, Launches) {
  const size_t one = 1, many = 4096, zero = 0;
  const auto launch = [&](cl_kernel k, cl_uint dimensions, const size_t* offset, const size_t* global,
                          const size_t* local, const Common& c) {
    return api->launch(MORGANA_FRONT(c), k, dimensions, offset, global, local, MORGANA_BACK(c));
  };
  check_common([&](const Common& c) { return launch(none, 1, nullptr, &one, nullptr, c); }, true);
  cl_program foreign_program;
  cl_int error;
  const char* source = kNegativeSource;
  foreign_program = clCreateProgramWithSource(other_context, 1, &source, nullptr, &error);
  ASSERT_EQ(clBuildProgram(foreign_program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  cl_kernel foreign_kernel = make_kernel(foreign_program, "none");
  static const cl_properties twice[] = {kUpdatableFields, 1, kUpdatableFields, 1, 0},
                             unknown_field[] = {kUpdatableFields, 64, 0},
                             unknown_assert[] = {kLaunchAsserts, 2, 0}, asserted[] = {kLaunchAsserts, 1, 0},
                             deferred[] = {kUpdatableFields, 8, 0};
  const Common c{recording};
  const auto with = [&](const cl_properties* list) { return Common{recording, nullptr, list}; };
  const size_t wrap = SIZE_MAX, large = size_t{1} << 33, pair[2] = {8, 3}, required_size[2] = {8, 2};
  check({
      {"no kernel", CL_INVALID_KERNEL, [&] { return launch(nullptr, 1, nullptr, &one, nullptr, c); }},
      {"a foreign kernel", CL_INVALID_CONTEXT,
       [&] { return launch(foreign_kernel, 1, nullptr, &one, nullptr, c); }},
      {"no arguments", CL_INVALID_KERNEL_ARGS, [&] { return launch(kernel, 1, nullptr, &one, nullptr, c); }},
      {"no arguments, deferred in a buffer that never changes", CL_INVALID_KERNEL_ARGS,
       [&] { return launch(kernel, 1, nullptr, &one, nullptr, with(deferred)); }},
      {"no dimensions", CL_INVALID_WORK_DIMENSION,
       [&] { return launch(none, 0, nullptr, &one, nullptr, c); }},
      {"an offset that wraps", CL_INVALID_GLOBAL_OFFSET,
       [&] { return launch(none, 1, &wrap, &many, nullptr, c); }},
      {"a size beyond the packet's", CL_INVALID_GLOBAL_WORK_SIZE,
       [&] { return launch(none, 1, nullptr, &large, nullptr, c); }},
      {"a local size of 0", CL_INVALID_WORK_GROUP_SIZE,
       [&] { return launch(none, 1, nullptr, &many, &zero, c); }},
      {"a local size too large", CL_INVALID_WORK_ITEM_SIZE,
       [&] { return launch(none, 1, nullptr, &many, &many, c); }},
      {"not the required size", CL_INVALID_WORK_GROUP_SIZE,
       [&] { return launch(required, 2, nullptr, required_size, pair, c); }},
      {"a property twice", CL_INVALID_VALUE,
       [&] { return launch(none, 1, nullptr, &one, &one, with(twice)); }},
      {"an unknown field", CL_INVALID_VALUE,
       [&] { return launch(none, 1, nullptr, &one, &one, with(unknown_field)); }},
      {"an unknown assertion", CL_INVALID_VALUE,
       [&] { return launch(none, 1, nullptr, &one, &one, with(unknown_assert)); }},
      {"asserted without a local size", CL_INVALID_VALUE,
       [&] { return launch(none, 1, nullptr, &one, nullptr, with(asserted)); }},
  });
  clReleaseKernel(foreign_kernel);
  clReleaseProgram(foreign_program);
}

}  // namespace
}  // namespace morgana::icd::test
