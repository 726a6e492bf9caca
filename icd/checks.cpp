#include "icd/checks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/unwritten.h"

namespace morgana::icd {

namespace {

cl_int resolve_as(Mem* (*find_as)(cl_mem), const Context& context, cl_mem memobj, Mem*& mem) {
  mem = find_as(memobj);
  if (mem == nullptr) return CL_INVALID_MEM_OBJECT;
  return &mem->context() == &context ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

Mem* find_buffer_or_image(cl_mem handle) {
  Mem* found = find<Mem>(handle);
  return found == nullptr || found->is_pipe() ? nullptr : found;
}

}  // namespace

cl_int resolve(const Context& context, cl_mem memobj, Mem*& mem) {
  return resolve_as(find_buffer, context, memobj, mem);
}

cl_int resolve_image(const Context& context, const Device& device, cl_mem image, Mem*& mem) {
  if (cl_int error = resolve_as(find_image, context, image, mem); error != CL_SUCCESS) return error;
  return has_images(device.target()) ? CL_SUCCESS : CL_INVALID_OPERATION;
}

cl_int resolve(cl_command_queue command_queue, cl_mem memobj, Queue*& queue, Mem*& mem) {
  queue = find_queue(command_queue);
  return queue == nullptr ? CL_INVALID_COMMAND_QUEUE : resolve(queue->context(), memobj, mem);
}

cl_int resolve_memory(cl_command_queue command_queue, cl_mem memobj, Queue*& queue, Mem*& mem) {
  queue = find_queue(command_queue);
  return queue == nullptr ? CL_INVALID_COMMAND_QUEUE
                          : resolve_as(find_buffer_or_image, queue->context(), memobj, mem);
}

cl_int resolve_image(cl_command_queue command_queue, cl_mem image, Queue*& queue, Mem*& mem) {
  queue = find_queue(command_queue);
  return queue == nullptr ? CL_INVALID_COMMAND_QUEUE
                          : resolve_image(queue->context(), queue->device(), image, mem);
}

bool are_map_flags(cl_map_flags flags) {
  constexpr cl_map_flags kKnown = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
  const bool invalidates = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  return (flags & ~kKnown) == 0 && !(invalidates && (flags & (CL_MAP_READ | CL_MAP_WRITE)) != 0);
}

bool are_migration_flags(cl_mem_migration_flags flags) {
  constexpr cl_mem_migration_flags kKnown =
      CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
  return (flags & ~kKnown) == 0;
}

cl_int make_rect(const size_t* origin, const size_t* region, size_t row_pitch, size_t slice_pitch,
                 Rect& rect) {
  if (origin == nullptr || region == nullptr) return CL_INVALID_VALUE;
  // What lies beyond the address space is out of bounds of anything, and below it nothing overflows 128 bits.
  constexpr size_t kLimit = size_t{1} << 56;
  for (int i = 0; i < 3; ++i)
    if (region[i] == 0 || region[i] > kLimit || origin[i] > kLimit) return CL_INVALID_VALUE;
  using Wide = unsigned __int128;
  if (row_pitch == 0) row_pitch = region[0];
  if (row_pitch < region[0]) return CL_INVALID_VALUE;
  Wide packed = Wide{region[1]} * row_pitch;
  Wide slice = slice_pitch == 0 ? packed : Wide{slice_pitch};
  if (slice < packed || slice % row_pitch != 0 || slice > kLimit) return CL_INVALID_VALUE;
  Wide start = origin[2] * slice + Wide{origin[1]} * row_pitch + origin[0];
  Wide end = start + (region[2] - 1) * slice + (Wide{region[1]} - 1) * row_pitch + region[0];
  if (end > kLimit) return CL_INVALID_VALUE;
  rect.start = static_cast<uint64_t>(start);
  rect.row_pitch = row_pitch;
  rect.slice_pitch = static_cast<uint64_t>(slice);
  rect.end = static_cast<uint64_t>(end);
  return CL_SUCCESS;
}

bool rects_overlap(const Rect& a, const Rect& b, const size_t* region) {
  const Rect& low = a.start <= b.start ? a : b;
  const Rect& high = a.start <= b.start ? b : a;
  if (high.start >= low.end) return false;
  // With equal pitches the two differ by a translation: split it into slices, rows and bytes. Either
  // remainder may also be reached from the next row or slice, backwards.
  uint64_t delta = high.start - low.start;
  uint64_t slices = delta / low.slice_pitch, rest = delta % low.slice_pitch;
  uint64_t rows = rest / low.row_pitch, bytes = rest % low.row_pitch;
  uint64_t rows_per_slice = low.slice_pitch / low.row_pitch;
  for (int back_row = 0; back_row < 2; ++back_row) {
    bool byte_hit = back_row == 0 ? bytes < region[0] : low.row_pitch - bytes < region[0];
    if (!byte_hit) continue;
    uint64_t r = rows + static_cast<uint64_t>(back_row);
    if (r < region[1] && slices < region[2]) return true;
    if (rows_per_slice - r < region[1] && slices + 1 < region[2]) return true;
  }
  return false;
}

bool boxes_overlap(const size_t* a, const size_t* a_region, const size_t* b, const size_t* b_region) {
  for (int i = 0; i < 3; ++i)
    if (a[i] >= b[i] + b_region[i] || b[i] >= a[i] + a_region[i]) return false;
  return true;
}

bool boxes_overlap(const ImageBox& a, const ImageBox& b) {
  return a.level == b.level &&
         boxes_overlap(a.origin.data(), a.region.data(), b.origin.data(), b.region.data());
}

void copy_rect(uint8_t* dst, const Rect& to, const uint8_t* src, const Rect& from,
               const std::array<size_t, 3>& region) {
  for (size_t z = 0; z < region[2]; ++z)
    for (size_t y = 0; y < region[1]; ++y) {
      uint8_t* target = dst + to.start + z * to.slice_pitch + y * to.row_pitch;
      const uint8_t* source = src + from.start + z * from.slice_pitch + y * from.row_pitch;
      const runtime::HostWrite write(target, region[0], source);
      if (target > source && target < source + region[0])
        for (size_t x = 0; x < region[0]; ++x) target[x] = source[x];
      else
        std::memmove(target, source, region[0]);
    }
}

cl_int make_box(const Image& image, const size_t* origin, const size_t* region, ImageBox& box) {
  if (origin == nullptr || region == nullptr) return CL_INVALID_VALUE;
  std::copy_n(origin, 3, box.origin.begin());
  std::copy_n(region, 3, box.region.begin());
  if (const size_t levels = image.description().levels(); levels > 1) {
    // Of a mipmapped image the level stands behind the coordinates ("Specifying Mipmap Levels to Image
    // Operations").
    const bool is_flat = image.type() == CL_MEM_OBJECT_IMAGE2D || image.type() == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    const size_t place = image.type() == CL_MEM_OBJECT_IMAGE1D ? 1 : is_flat ? 2 : 3;
    box.level = origin[place];
    if (box.level >= levels) return CL_INVALID_MIP_LEVEL;
    if (place < 3) box.origin[place] = 0;
  }
  const std::array<size_t, 3> extents = image.extents(box.level);
  for (size_t i = 0; i < 3; ++i)
    if (box.region[i] == 0 || box.region[i] > extents[i] || box.origin[i] > extents[i] - box.region[i])
      return CL_INVALID_VALUE;
  const size_t together = find_format(image.format())->packed_texels;
  return box.origin[0] % together == 0 && box.region[0] % together == 0 ? CL_SUCCESS : CL_INVALID_VALUE;
}

Rect image_rect(const Image& image, const ImageBox& box) {
  const uint64_t element = image.element_size();
  const ImageStrides strides = image.strides(box.level);
  Rect rect;
  rect.row_pitch = strides.y;
  rect.slice_pitch = strides.z;
  rect.start = image.offset(box.level) + box.origin[0] * element + box.origin[1] * strides.y +
               box.origin[2] * strides.z;
  rect.end = rect.start + (box.region[0] * element) + (box.region[1] - 1) * strides.y +
             (box.region[2] - 1) * strides.z;
  return rect;
}

std::array<size_t, 3> byte_region(const Image& image, const ImageBox& box) {
  return {box.region[0] * image.element_size(), box.region[1], box.region[2]};
}

// cl_ext_image_raw10_raw12: the upper eight bits of each texel, then the lower ones of all, from the first
// one up.
static void move_packed(const runtime::ImageFormat& format, bool to_host, uint16_t* device, uint8_t* host,
                        size_t texels) {
  const size_t together = format.packed_texels;
  const unsigned low = 8 / together;
  for (; texels != 0; texels -= together, device += together, host += format.packed_bytes) {
    if (to_host) host[together] = 0;
    for (unsigned i = 0; i < together; ++i) {
      const unsigned shift = i * low, mask = (1u << low) - 1;
      if (to_host) {
        host[i] = static_cast<uint8_t>(device[i] >> low);
        host[together] |= static_cast<uint8_t>((device[i] & mask) << shift);
      } else {
        device[i] = static_cast<uint16_t>(host[i] << low | (host[together] >> shift & mask));
      }
    }
  }
}

void move_texels(const Image& image, const ImageBox& box, bool to_host, uint8_t* device, uint8_t* host,
                 const ImageStrides& strides) {
  const Rect inside = image_rect(image, box);
  if (!image.is_packed()) {
    const Rect outside{0, strides.y, strides.z};
    if (to_host)
      copy_rect(host, outside, device, inside, byte_region(image, box));
    else
      copy_rect(device, inside, host, outside, byte_region(image, box));
    return;
  }
  for (size_t z = 0; z < box.region[2]; ++z)
    for (size_t y = 0; y < box.region[1]; ++y)
      move_packed(
          *find_format(image.format()), to_host,
          reinterpret_cast<uint16_t*>(device + inside.start + z * inside.slice_pitch + y * inside.row_pitch),
          host + z * strides.z + y * strides.y, box.region[0]);
}

void copy_bytes(void* to, const void* from, size_t size) {
  const runtime::HostWrite write(to, size, from);
  std::memmove(to, from, size);
}

void fill_pattern(uint8_t* to, size_t size, const uint8_t* pattern, size_t pattern_size) {
  if (size == 0) return;
  const runtime::HostWrite write(to, size);
  if (pattern_size == 1) {
    std::memset(to, *pattern, size);
    return;
  }
  // Doubling, up to a chunk that stays in the cache.
  constexpr size_t kChunk = 64 * 1024;
  std::memcpy(to, pattern, pattern_size);
  size_t done = pattern_size;
  while (done < size) {
    size_t step = std::min({done, kChunk, size - done});
    std::memcpy(to + done, to, step);
    done += step;
  }
}

bool is_pattern_size(size_t size) { return std::has_single_bit(size) && size <= 128; }

}  // namespace morgana::icd
