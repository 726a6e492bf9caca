// Mapping: buffers and images are host memory already, so a mapping is their own address and nothing is
// copied; but for images whose texels cannot lie where the application has them (Image::host_copy).
#include "icd/api_check.h"
#include "icd/checks.h"
#include "icd/entries_khr.h"
#include "icd/host_read.h"

using namespace morgana::icd;

namespace {

bool writes(cl_map_flags flags) { return (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0; }

// CL_INVALID_OPERATION if the flags of the buffer or image forbid the host this access.
cl_int check_host_access(const Mem& mem, cl_map_flags flags) {
  if ((flags & CL_MAP_READ) != 0 && !host_may_read(mem)) return CL_INVALID_OPERATION;
  return writes(flags) && !host_may_write(mem) ? CL_INVALID_OPERATION : CL_SUCCESS;
}

// What a mapping of bytes shows (Mem::Mapping).
ImageBox addresses(const void* first, size_t size) {
  return {{reinterpret_cast<size_t>(first), 0, 0}, {size, 1, 1}};
}

// Moves a box of an image with a host copy to that copy, or back.
void move_host_copy(const Mem& mem, const ImageBox& box, bool to_host) {
  const Image& image = mem.image();
  move_texels(image, box, to_host, mem.data(), image.host_copy() + image.host_offset(box),
              image.host_strides());
}

// Where a mapping of an image lies, and the pitches that it has.
struct Place {
  uint8_t* first;
  size_t row_pitch, slice_pitch;
};

Place place_of(const Mem& mem, const ImageBox& box) {
  const Image& image = mem.image();
  const auto& pitches = image.pitches(box.level);
  if (image.host_copy() == nullptr)
    return {mem.data() + image_rect(image, box).start, pitches.row, image.has_slices() ? pitches.slice : 0};
  const Image::Description& d = image.description();
  return {image.host_copy() + image.host_offset(box), d.row_pitch, d.slice_pitch};
}

}  // namespace

void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_map,
                                     cl_map_flags map_flags, size_t offset, size_t size,
                                     cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                     cl_event* event, cl_int* errcode_ret) {
  return api_create<void*>(__func__, errcode_ret, [&]() -> Made<void*> {
    Queue* queue;
    Mem* mem;
    if (cl_int error = resolve(command_queue, buffer, queue, mem); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if the region is out of bounds, size is 0, or map_flags are not valid.
    if (!in_bounds(*mem, offset, size) || size == 0 || !are_map_flags(map_flags)) return CL_INVALID_VALUE;
    WaitList waits;
    cl_int error = check_wait_list(queue->context(), num_events_in_wait_list, event_wait_list, waits);
    if (error != CL_SUCCESS) return error;
    if (cl_int denied = check_host_access(*mem, map_flags); denied != CL_SUCCESS) return denied;

    void* pointer = mem->data() + offset;
    // CL_INVALID_OPERATION if mapping would lead to overlapping regions being mapped for writing.
    if (!mem->add_mapping(pointer, {writes(map_flags), addresses(pointer, size)}))
      return CL_INVALID_OPERATION;
    // Who may write there, too, may be about to write first.
    const HostRead read = map_flags == CL_MAP_READ ? HostRead("clEnqueueMapBuffer", *mem) : HostRead();
    error = queue->enqueue(host_command(CL_COMMAND_MAP_BUFFER, [hold = Ref<Mem>(mem), read, offset,
                                                                size] { read.look(offset, size); }),
                           waits, event, blocking_map != CL_FALSE);
    if (error == CL_SUCCESS) {
      api_check::mapped("clEnqueueMapBuffer", buffer, pointer);
      return pointer;
    }
    mem->remove_mapping(pointer);
    return error;
  });
}

void* CL_API_CALL clEnqueueMapImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking_map,
                                    cl_map_flags map_flags, const size_t* origin, const size_t* region,
                                    size_t* image_row_pitch, size_t* image_slice_pitch,
                                    cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                    cl_event* event, cl_int* errcode_ret) {
  return api_create<void*>(__func__, errcode_ret, [&]() -> Made<void*> {
    Queue* queue;
    Mem* mem;
    if (cl_int error = resolve_image(command_queue, image, queue, mem); error != CL_SUCCESS) return error;
    ImageBox box;
    if (cl_int error = make_box(mem->image(), origin, region, box); error != CL_SUCCESS) return error;
    // The suite's negative test of immutable images maps them without pitches.
    if (is_immutable(*mem) && writes(map_flags)) return CL_INVALID_OPERATION;
    // CL_INVALID_VALUE if map_flags are not valid, image_row_pitch is NULL, or the image has slices and
    // image_slice_pitch is NULL.
    if (!are_map_flags(map_flags) || image_row_pitch == nullptr ||
        (mem->image().has_slices() && image_slice_pitch == nullptr))
      return CL_INVALID_VALUE;
    WaitList waits;
    cl_int error = check_wait_list(queue->context(), num_events_in_wait_list, event_wait_list, waits);
    if (error != CL_SUCCESS) return error;
    if (cl_int denied = check_host_access(*mem, map_flags); denied != CL_SUCCESS) return denied;

    const Place place = place_of(*mem, box);
    // CL_INVALID_OPERATION if mapping would lead to overlapping regions being mapped for writing.
    const Image& of = mem->image();
    const ImageBox shown = of.type() == CL_MEM_OBJECT_IMAGE1D_BUFFER
                               ? addresses(place.first, box.region[0] * of.element_size())
                               : box;
    if (!mem->add_mapping(place.first, {writes(map_flags), shown})) return CL_INVALID_OPERATION;
    const bool brings =
        mem->image().host_copy() != nullptr && (map_flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0;
    error = queue->enqueue(host_command(CL_COMMAND_MAP_IMAGE,
                                        [hold = Ref<Mem>(mem), brings, box] {
                                          if (brings) move_host_copy(*hold, box, true);
                                        }),
                           waits, event, blocking_map != CL_FALSE);
    if (error != CL_SUCCESS) {
      mem->remove_mapping(place.first);
      return error;
    }
    *image_row_pitch = place.row_pitch;
    if (image_slice_pitch != nullptr) *image_slice_pitch = place.slice_pitch;
    api_check::mapped("clEnqueueMapImage", image, place.first);
    return place.first;
  });
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue command_queue, cl_mem memobj, void* mapped_ptr,
                                           cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                           cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    Queue* queue;
    Mem* mem;
    if (cl_int error = resolve_memory(command_queue, memobj, queue, mem); error != CL_SUCCESS) return error;
    WaitList waits;
    cl_int error = check_wait_list(queue->context(), num_events_in_wait_list, event_wait_list, waits);
    if (error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if mapped_ptr is not a valid pointer returned by a map of memobj.
    const std::optional<Mem::Mapping> mapping = mem->remove_mapping(mapped_ptr);
    if (!mapping) return CL_INVALID_VALUE;
    api_check::unmapped(memobj, mapped_ptr);
    const bool takes_back = mem->is_image() && mem->image().host_copy() != nullptr && mapping->writes;
    return queue->enqueue(host_command(CL_COMMAND_UNMAP_MEM_OBJECT,
                                       [hold = Ref<Mem>(mem), takes_back, box = mapping->box] {
                                         if (takes_back) move_host_copy(*hold, box, false);
                                       }),
                          waits, event);
  });
}

namespace morgana::icd {
namespace {

// Devices share their memory with the host, so that migration has nothing to move.
cl_int migrate(cl_command_queue command_queue, cl_command_type type, cl_uint count, const cl_mem* list,
               bool known_flags, const Waits& waits) {
  // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
  Queue* queue = find_queue(command_queue);
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  // CL_INVALID_VALUE if num_mem_objects is zero or mem_objects is NULL, or flags is not 0 or a known flag.
  if (count == 0 || list == nullptr || !known_flags) return CL_INVALID_VALUE;
  // CL_INVALID_MEM_OBJECT if any memory object is not valid; CL_INVALID_CONTEXT if its context is another.
  std::vector<Ref<Mem>> holds;
  for (cl_uint i = 0; i < count; ++i) {
    Mem* mem;
    if (cl_int error = resolve_memory(command_queue, list[i], queue, mem); error != CL_SUCCESS) return error;
    holds.emplace_back(mem);
  }
  return submit(*queue, type, waits, CL_FALSE, [holds = std::move(holds)] {});
}

}  // namespace

// cl_ext_migrate_memobject, which clEnqueueMigrateMemObjects came from.
cl_int CL_API_CALL clEnqueueMigrateMemObjectEXT(cl_command_queue command_queue, cl_uint num_mem_objects,
                                                const cl_mem* mem_objects, cl_mem_migration_flags_ext flags,
                                                cl_uint num_events_in_wait_list,
                                                const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    const bool known = (flags & ~cl_mem_migration_flags_ext{CL_MIGRATE_MEM_OBJECT_HOST_EXT}) == 0;
    return migrate(command_queue, CL_COMMAND_MIGRATE_MEM_OBJECT_EXT, num_mem_objects, mem_objects, known,
                   {num_events_in_wait_list, event_wait_list, event});
  });
}

}  // namespace morgana::icd

cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue command_queue, cl_uint num_mem_objects,
                                              const cl_mem* mem_objects, cl_mem_migration_flags flags,
                                              cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return migrate(command_queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, num_mem_objects, mem_objects,
                   are_migration_flags(flags), {num_events_in_wait_list, event_wait_list, event});
  });
}
