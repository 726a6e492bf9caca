// Mem: a buffer, sub-buffer, pipe or image. Its bytes are host memory that kernels address directly.
//
// Callbacks and mappings are guarded by a mutex, all else is immutable. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "icd/context.h"
#include "icd/image.h"

namespace morgana::icd {

class Mem : public Object<Mem> {
 public:
  using Destructor = void(CL_CALLBACK*)(cl_mem memobj, void* user_data);

  // What a buffer is made of. Owned memory is released with it.
  struct Storage {
    uint8_t* address = nullptr;
    void* owned = nullptr;             // from runtime::allocate
    const void* registered = nullptr;  // known to runtime::register_host
    void* host_ptr = nullptr;          // what CL_MEM_HOST_PTR shows
    size_t mapped = 0;                 // bytes at `address` that a descriptor shows: external memory
    bool svm = false;                  // host_ptr lies in an SVM allocation
    bool marked = false;               // runtime::mark_unwritten
    uint64_t charged = 0;              // bytes counted against the global memory
  };

  // What makes it a pipe: a packet's size is never 0.
  struct Pipe {
    cl_uint packet_size = 0;
    cl_uint max_packets = 0;
  };

  Mem(Context& context, cl_mem_flags flags, size_t size, Storage storage,
      std::vector<cl_mem_properties> properties);
  // A sub-buffer.
  Mem(Mem& parent, cl_mem_flags flags, size_t origin, size_t size);
  // A pipe, whose packets follow the header of pipe.cpp in the storage.
  Mem(Context& context, cl_mem_flags flags, size_t size, Storage storage, Pipe pipe);
  // An image; one that shows the texels of `parent`, a buffer or an image, has no storage of its own.
  Mem(Context& context, Mem* parent, cl_mem_flags flags, size_t size, Storage storage, Image image,
      std::vector<cl_mem_properties> properties);
  ~Mem();

  Context& context() const { return *context_; }
  Mem* parent() const { return parent_.get(); }
  cl_mem_flags flags() const { return flags_; }
  size_t size() const { return size_; }
  size_t origin() const { return origin_; }
  uint8_t* data() const { return storage_.address; }
  void* host_ptr() const { return storage_.host_ptr; }
  bool uses_svm() const { return storage_.svm; }
  // Whether it was made from an external memory handle.
  bool is_external() const { return storage_.mapped != 0; }
  // Whether its bytes, or those of what it shows a part of, are external.
  bool shows_external() const {
    return is_external() || (parent_.get() != nullptr && parent_->shows_external());
  }
  // Whether it began without contents, and that is to be seen.
  bool begins_unwritten() const {
    return storage_.marked || (parent_.get() != nullptr && parent_->begins_unwritten());
  }
  // Whether the application may ask for its address (cl_ext_buffer_device_address); sub-buffers follow.
  bool has_device_address() const;
  bool is_pipe() const { return pipe_.packet_size != 0; }
  const Pipe& pipe() const { return pipe_; }
  bool is_image() const { return image_.has_value(); }
  // Of an image.
  const Image& image() const { return *image_; }
  std::span<const cl_mem_properties> properties() const { return properties_; }

  void add_destructor(Destructor callback, void* user_data);

  // What a pointer that was handed out shows: a box of an image's texels, else (buffers, and images that show
  // a line of one) the addresses in x.
  struct Mapping {
    bool writes = false;
    ImageBox box;
  };
  cl_uint map_count();
  bool is_mapped_for_writing();
  // False, and no mapping, if it would write what another one writes, also through a sub-buffer.
  bool add_mapping(void* pointer, const Mapping& mapping);
  // Nothing when `pointer` is no current mapping.
  std::optional<Mapping> remove_mapping(void* pointer);

 private:
  struct Callback {
    Destructor function;
    void* user_data;
  };

  // The object that knows of all mappings that write these bytes.
  Mem& writers();

  Ref<Context> context_;
  Ref<Mem> parent_;
  const cl_mem_flags flags_;
  const size_t size_;
  const size_t origin_ = 0;
  Storage storage_;
  const Pipe pipe_;
  const std::optional<Image> image_;
  const std::vector<cl_mem_properties> properties_;

  std::mutex mutex_;
  std::vector<Callback> destructors_;
  std::multimap<void*, Mapping> mappings_;
  std::map<void*, ImageBox> written_;  // of writers(): by the mappings of it, and of what shows its bytes
};

// Younger than the headers of Debian 12: CL_MEM_IMMUTABLE_EXT of cl_ext_immutable_memory_objects (nobody
// writes the object after its creation), and what cl_ext_buffer_device_address has.
inline constexpr cl_mem_flags kMemImmutable = cl_mem_flags{1} << 6;
inline constexpr cl_mem_properties kMemDevicePrivateAddress = 0x5000;
inline constexpr cl_mem_info kMemDeviceAddress = 0x5001;
inline constexpr cl_kernel_exec_info kExecInfoDevicePointers = 0x5002;

// A buffer or sub-buffer, or nullptr: what takes buffers does not take pipes and images.
inline Mem* find_buffer(cl_mem handle) {
  Mem* mem = find<Mem>(handle);
  return mem == nullptr || mem->is_pipe() || mem->is_image() ? nullptr : mem;
}
inline Mem* find_image(cl_mem handle) {
  Mem* mem = find<Mem>(handle);
  return mem == nullptr || !mem->is_image() ? nullptr : mem;
}

// CL_INVALID_VALUE if values specified in the flags of a buffer or image are not valid.
bool are_memory_flags(cl_mem_flags flags);
// CL_INVALID_VALUE if an object shall be immutable, but comes without contents.
bool has_contents(cl_mem_flags flags);
// CL_INVALID_HOST_PTR if host_ptr is NULL and a flag needs it, or not NULL and no flag does.
bool fits_flags(const void* host_ptr, cl_mem_flags flags);
// The flags of what shows a part of another memory object, with what it takes from that; CL_INVALID_VALUE if
// they contradict the other's.
Made<cl_mem_flags> inherited_flags(cl_mem_flags parent, cl_mem_flags flags);
// Without a kernel access flag: CL_MEM_READ_WRITE, unless immutable.
cl_mem_flags with_kernel_access(cl_mem_flags flags);

// Storage from the device's memory, counted against it. CL_MEM_OBJECT_ALLOCATION_FAILURE when there is none.
// At a multiple of `alignment`, a power of two, at least.
Made<Mem::Storage> allocate_storage(const Context& context, size_t size, const char* name,
                                    size_t alignment = kBaseAlignment);
void release_storage(const Mem::Storage& storage);

}  // namespace morgana::icd
