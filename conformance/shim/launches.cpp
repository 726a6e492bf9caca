// What launches leave in buffers, how many there are, and what surrounds and fills buffers.
//
// MORGANA_SHIM_LOG: the file to write: a kernel's name and a sum of its buffers, a line for each of the first
// launches. MORGANA_SHIM_LAUNCHES: how many; the process ends then. 0: any number. MORGANA_SHIM_EACH: of each
// kernel so many launches are executed, further ones do nothing; the process ends where it launches again
// what the host has read. MORGANA_SHIM_FILL: a byte. Buffers lie in margins of it, and what has no contents
// begins with it; CL_MEM_USE_HOST_PTR becomes a copy. Instead of sums of buffers the log has those of what
// the host reads, and says where a launch has changed a margin.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "conformance/shim/shim.h"

namespace {

using shim::mutex;
using shim::setting;

constexpr int kFaulted = 78;  // the process ends with it where buffers cannot be read: a kernel has failed
constexpr unsigned kMostLogged = 64;
constexpr size_t kMargin = 1 << 16;

struct Buffer {
  size_t size = 0;
  cl_mem whole = nullptr;  // it lies in the middle of this
};
std::map<cl_mem, Buffer> buffers;
std::map<cl_kernel, std::map<cl_uint, cl_mem>> arguments;
unsigned launches = 0;
std::map<cl_kernel, unsigned> launches_of;
bool host_has_read = false;

std::vector<uint8_t> read(cl_command_queue queue, cl_mem buffer, size_t size) {
  std::vector<uint8_t> bytes(size);
  if (NEXT(clEnqueueReadBuffer)(queue, buffer, CL_TRUE, 0, size, bytes.data(), 0, nullptr, nullptr) !=
      CL_SUCCESS)
    std::_Exit(kFaulted);
  return bytes;
}

uint64_t added(uint64_t sum, const uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min(sizeof word, size - i));
    sum = (sum ^ word) * 1099511628211u;
  }
  return sum;
}

bool is_margin_intact(const std::vector<uint8_t>& bytes) {
  const uint8_t fill = static_cast<uint8_t>(std::stoul(setting("MORGANA_SHIM_FILL"), nullptr, 0));
  const auto is_fill = [&](uint8_t byte) { return byte == fill; };
  return std::all_of(bytes.begin(), bytes.begin() + kMargin, is_fill) &&
         std::all_of(bytes.end() - kMargin, bytes.end(), is_fill);
}

std::FILE* log_file() {
  static std::FILE* const file = std::fopen(setting("MORGANA_SHIM_LOG").c_str(), "w");
  std::setvbuf(file, nullptr, _IOLBF, BUFSIZ);
  return file;
}

constexpr uint64_t kNoBytes = 14695981039346656037u;

void log_launch(cl_command_queue queue, cl_kernel kernel) {
  if (launches >= kMostLogged) return;
  char name[128] = {};
  clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr);
  uint64_t sum = kNoBytes;
  const char* damage = "";
  for (auto [index, handle] : arguments[kernel]) {
    const Buffer buffer = buffers[handle];
    if (buffer.whole == nullptr)
      sum = added(sum, read(queue, handle, buffer.size).data(), buffer.size);
    else if (!is_margin_intact(read(queue, buffer.whole, buffer.size + 2 * kMargin)))
      damage = " margin";
  }
  std::fprintf(log_file(), "%s %016lx%s\n", name, sum, damage);
}

// What the host has got.
void log_read(const void* bytes, size_t size) {
  host_has_read = true;
  if (setting("MORGANA_SHIM_LOG").empty() || setting("MORGANA_SHIM_FILL").empty()) return;
  if (bytes == nullptr) std::_Exit(kFaulted);
  std::fprintf(log_file(), "read %016lx\n", added(kNoBytes, static_cast<const uint8_t*>(bytes), size));
}

// 0: no limit.
unsigned most(const char* name) {
  const std::string number = setting(name);
  return number.empty() ? 0 : static_cast<unsigned>(std::stoul(number));
}

cl_mem make_in_margins(cl_context context, cl_mem_flags flags, size_t size, const void* host, cl_int* error) {
  const std::string fill = setting("MORGANA_SHIM_FILL");
  std::vector<uint8_t> bytes(size + 2 * kMargin, static_cast<uint8_t>(std::stoul(fill, nullptr, 0)));
  if (host != nullptr) std::memcpy(bytes.data() + kMargin, host, size);
  constexpr cl_mem_flags kHost = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
  cl_mem whole = NEXT(clCreateBuffer)(context, (flags & ~kHost) | CL_MEM_COPY_HOST_PTR, bytes.size(),
                                      bytes.data(), error);
  const cl_buffer_region region{kMargin, size};
  cl_mem buffer = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, error);
  if (buffer == nullptr) std::_Exit(1);
  const std::lock_guard lock(mutex);
  buffers[buffer] = {size, whole};
  return buffer;
}

}  // namespace

extern "C" {

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* error) {
  if (!setting("MORGANA_SHIM_FILL").empty()) return make_in_margins(context, flags, size, host, error);
  cl_mem buffer = NEXT(clCreateBuffer)(context, flags, size, host, error);
  const std::lock_guard lock(mutex);
  buffers[buffer] = {size, nullptr};
  return buffer;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  const cl_int error = NEXT(clSetKernelArg)(kernel, index, size, value);
  cl_mem buffer = nullptr;
  if (size == sizeof buffer && value != nullptr) std::memcpy(static_cast<void*>(&buffer), value, size);
  const std::lock_guard lock(mutex);
  arguments[kernel].erase(index);
  if (buffers.contains(buffer)) arguments[kernel][index] = buffer;
  return error;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, void* to, cl_uint count, const cl_event* wait, cl_event* event) {
  const std::lock_guard lock(mutex);
  const cl_int error =
      NEXT(clEnqueueReadBuffer)(queue, buffer, CL_TRUE, offset, size, to, count, wait, event);
  log_read(error == CL_SUCCESS ? to : nullptr, size);
  return error;
}
void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint count, const cl_event* wait, cl_event* event,
                         cl_int* error) {
  const std::lock_guard lock(mutex);
  void* const mapped =
      NEXT(clEnqueueMapBuffer)(queue, buffer, CL_TRUE, flags, offset, size, count, wait, event, error);
  if ((flags & CL_MAP_READ) != 0) log_read(mapped, size);
  return mapped;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local, cl_uint count,
                              const cl_event* wait, cl_event* event) {
  const std::lock_guard lock(mutex);
  const unsigned each = most("MORGANA_SHIM_EACH");
  if (each != 0 && ++launches_of[kernel] > each) {
    if (host_has_read) std::exit(0);
    return clEnqueueMarkerWithWaitList(queue, count, wait, event);
  }
  const cl_int error =
      NEXT(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, count, wait, event);
  if (error == CL_SUCCESS && !setting("MORGANA_SHIM_LOG").empty()) log_launch(queue, kernel);
  if (++launches == most("MORGANA_SHIM_LAUNCHES")) std::_Exit(0);
  return error;
}

}  // extern "C"
