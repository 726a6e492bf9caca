// What queries of image requirements, images from buffers and the older migration refuse: one row a
// condition.
#include "icd/image_negative_support.h"

namespace morgana::icd::test {
namespace {

constexpr cl_uint kRowPitchAlignment = 0x1290, kSize = 0x12B2, kMaxHeight = 0x12B4, kMaxDepth = 0x12B5,
                  kMaxArraySize = 0x12B6;

TEST_F(ImageNegative, Requirements) {
  using Ask = cl_int (*)(cl_context, const cl_mem_properties*, cl_mem_flags, const cl_image_format*,
                         const cl_image_desc*, cl_uint, size_t, void*, size_t*);
  const auto ask = extension<Ask>("clGetImageRequirementsInfoEXT");
  size_t value;
  const cl_mem_properties unknown[] = {0x7777, 1, 0};
  const cl_image_format wrong_format{CL_RGBA, CL_UNORM_SHORT_565};
  const cl_image_desc flat = desc_of(CL_MEM_OBJECT_IMAGE2D), line = desc_of(CL_MEM_OBJECT_IMAGE1D);
  cl_image_desc no_type = flat, no_width = flat, narrow = flat;
  no_type.image_type = CL_MEM_OBJECT_BUFFER;
  no_width.image_width = 0;
  narrow.image_row_pitch = 4;
  const auto of = [&](const cl_image_format* format, const cl_image_desc* desc, cl_uint name,
                      size_t size = 8) {
    return ask(context, nullptr, 0, format, desc, name, size, &value, nullptr);
  };
  check({
      {"no context", CL_INVALID_CONTEXT,
       [&] { return ask(nullptr, nullptr, 0, &rgba, &flat, kSize, 8, &value, nullptr); }},
      {"an unknown property", CL_INVALID_PROPERTY,
       [&] { return ask(context, unknown, 0, &rgba, &flat, kSize, 8, &value, nullptr); }},
      {"wrong flags", CL_INVALID_VALUE,
       [&] { return ask(context, nullptr, ~cl_mem_flags{0}, &rgba, &flat, kSize, 8, &value, nullptr); }},
      {"a wrong format", CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, [&] { return of(&wrong_format, &flat, kSize); }},
      {"a buffer's type", CL_INVALID_IMAGE_DESCRIPTOR,
       [&] { return of(&rgba, &no_type, kRowPitchAlignment); }},
      {"no width", CL_INVALID_IMAGE_DESCRIPTOR, [&] { return of(&rgba, &no_width, kRowPitchAlignment); }},
      {"a pitch that is too small", CL_INVALID_IMAGE_DESCRIPTOR, [&] { return of(&rgba, &narrow, kSize); }},
      {"height of a line", CL_INVALID_IMAGE_DESCRIPTOR, [&] { return of(&rgba, &line, kMaxHeight); }},
      {"depth of a plane", CL_INVALID_IMAGE_DESCRIPTOR, [&] { return of(&rgba, &flat, kMaxDepth); }},
      {"layers of a plane", CL_INVALID_IMAGE_DESCRIPTOR, [&] { return of(&rgba, &flat, kMaxArraySize); }},
      {"size without a format", CL_INVALID_VALUE, [&] { return of(nullptr, &flat, kSize); }},
      {"size without a descriptor", CL_INVALID_VALUE, [&] { return of(&rgba, nullptr, kSize); }},
      {"an unknown name", CL_INVALID_VALUE, [&] { return of(&rgba, &flat, 0x1234); }},
      {"no room", CL_INVALID_VALUE, [&] { return of(&rgba, &flat, kRowPitchAlignment, 4); }},
  });
}

TEST_F(ImageNegative, OlderMigration) {
  using Migrate =
      cl_int (*)(cl_command_queue, cl_uint, const cl_mem*, cl_bitfield, cl_uint, const cl_event*, cl_event*);
  const auto migrate = extension<Migrate>("clEnqueueMigrateMemObjectEXT");
  auto no_queue = reinterpret_cast<cl_command_queue>(buffer);
  auto no_event = reinterpret_cast<cl_event>(buffer);
  cl_int error;
  cl_event foreign_event = clCreateUserEvent(other_context, &error),
           event = clCreateUserEvent(context, &error);
  check({
      {"no queue", CL_INVALID_COMMAND_QUEUE,
       [&] { return migrate(no_queue, 1, &buffer, 0, 0, nullptr, nullptr); }},
      {"no objects", CL_INVALID_VALUE, [&] { return migrate(queue, 0, &buffer, 0, 0, nullptr, nullptr); }},
      {"no list", CL_INVALID_VALUE, [&] { return migrate(queue, 1, nullptr, 0, 0, nullptr, nullptr); }},
      {"unknown flags", CL_INVALID_VALUE, [&] { return migrate(queue, 1, &buffer, 2, 0, nullptr, nullptr); }},
      {"a dangling object", CL_INVALID_MEM_OBJECT,
       [&] { return migrate(queue, 1, &dangling, 0, 0, nullptr, nullptr); }},
      {"a foreign object", CL_INVALID_CONTEXT,
       [&] { return migrate(queue, 1, &foreign, 0, 0, nullptr, nullptr); }},
      {"a foreign event", CL_INVALID_CONTEXT,
       [&] { return migrate(queue, 1, &buffer, 0, 1, &foreign_event, nullptr); }},
      {"a count without events", CL_INVALID_EVENT_WAIT_LIST,
       [&] { return migrate(queue, 1, &buffer, 0, 1, nullptr, nullptr); }},
      {"events without a count", CL_INVALID_EVENT_WAIT_LIST,
       [&] { return migrate(queue, 1, &buffer, 0, 0, &event, nullptr); }},
      {"no event", CL_INVALID_EVENT_WAIT_LIST,
       [&] { return migrate(queue, 1, &buffer, 0, 1, &no_event, nullptr); }},
  });
  cl_event moved;
  ASSERT_EQ(migrate(queue, 1, &buffer, 1, 0, nullptr, &moved), CL_SUCCESS);
  cl_command_type type;
  ASSERT_EQ(clGetEventInfo(moved, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr), CL_SUCCESS);
  EXPECT_EQ(type, 0x4040u);
  clSetUserEventStatus(event, CL_COMPLETE);
  clSetUserEventStatus(foreign_event, CL_COMPLETE);
  for (cl_event one : {event, foreign_event, moved}) clReleaseEvent(one);
}

}  // namespace
}  // namespace morgana::icd::test
