// The interface of Linux's KFD and amdgpu drivers as far as ROCm's runtimes and libdrm use it: numbers and
// layouts of ioctls. Facts of include/uapi/linux/kfd_ioctl.h (version 1.16, with the additions of AMD's own
// driver: memory of other processes), drm.h and amdgpu_drm.h. All fields are in the program's byte order.
#pragma once

#include <cstdint>

namespace morgana::kmt::kfd {

// An ioctl's request word: direction, size of its arguments, type, number.
inline constexpr unsigned kKfdType = 'K', kDrmType = 'd';
constexpr unsigned type_of(unsigned long request) { return request >> 8 & 0xff; }
constexpr unsigned number_of(unsigned long request) { return request & 0xff; }
constexpr unsigned size_of(unsigned long request) { return request >> 16 & 0x3fff; }

inline constexpr uint32_t kKfdMajor = 1, kKfdMinor = 16;

enum class Kfd : unsigned {
  get_version = 0x01,
  create_queue = 0x02,
  destroy_queue = 0x03,
  set_memory_policy = 0x04,
  get_clock_counters = 0x05,
  get_process_apertures = 0x06,
  update_queue = 0x07,
  create_event = 0x08,
  destroy_event = 0x09,
  set_event = 0x0a,
  reset_event = 0x0b,
  wait_events = 0x0c,
  set_scratch_backing_va = 0x11,
  get_tile_config = 0x12,
  set_trap_handler = 0x13,
  get_process_apertures_new = 0x14,
  acquire_vm = 0x15,
  alloc_memory = 0x16,
  free_memory = 0x17,
  map_memory = 0x18,
  unmap_memory = 0x19,
  set_cu_mask = 0x1a,
  get_dmabuf_info = 0x1c,
  import_dmabuf = 0x1d,
  alloc_queue_gws = 0x1e,
  smi_events = 0x1f,
  svm = 0x20,
  set_xnack_mode = 0x21,
  available_memory = 0x23,
  export_dmabuf = 0x24,
  runtime_enable = 0x25,
  ipc_import = 0x80,
  ipc_export = 0x81,
  debug_trap = 0x82,  // of ROCm 5
};

struct GetVersion {
  uint32_t major, minor;
};

enum class QueueType : uint32_t { compute = 0, sdma = 1, compute_aql = 2, sdma_xgmi = 3, sdma_by_engine = 4 };

struct CreateQueue {
  uint64_t ring, write_index, read_index;
  uint64_t doorbell_offset;  // out
  uint32_t ring_bytes, gpu;
  QueueType type;
  uint32_t percentage, priority;
  uint32_t queue;  // out
  uint64_t eop_buffer, eop_bytes;
  uint64_t save_area;
  uint32_t save_bytes, control_stack_bytes;
  uint32_t sdma_engine, pad;
};
static_assert(sizeof(CreateQueue) == 96);

// What lies at the beginning of a queue's save area.
struct SaveAreaHeader {
  uint32_t offsets[6];
  uint64_t error_reason;  // payload of the signal for exceptions; 0: none
  uint32_t error_event, reserved;
};
static_assert(sizeof(SaveAreaHeader) == 40);

struct UpdateQueue {
  uint64_t ring;
  uint32_t queue, ring_bytes, percentage, priority;
};
struct SetCuMask {
  uint32_t queue, bits;
  uint64_t mask;
};
struct AllocQueueGws {
  uint32_t queue, count;
  uint32_t first, pad;  // out
};

struct SetMemoryPolicy {
  uint64_t alternate_base, alternate_size;
  uint32_t gpu, policy, alternate_policy, flags;
};
struct GetClockCounters {
  uint64_t gpu_clock, cpu_clock, system_clock, system_hz;  // out
  uint32_t gpu, pad;
};

struct Apertures {
  uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
  uint32_t gpu, pad;
};
struct GetApertures {
  Apertures list[7];
  uint32_t count, pad;
};
struct GetAperturesNew {
  uint64_t list;
  uint32_t count, pad;  // in: room; out: how many
};

struct CreateEvent {
  uint64_t page;     // in: handle of the memory for mailboxes, once; out
  uint32_t trigger;  // out
  uint32_t type, auto_reset, node;
  uint32_t event, slot;  // out
};
struct OneEvent {
  uint32_t event, pad;
};
struct MemoryException {
  uint32_t not_present, read_only, no_execute, imprecise;
  uint64_t address;
  uint32_t gpu, error_type;
};
struct EventData {
  union {
    MemoryException memory;
    uint64_t last_age;  // of signal events, in and out
  };
  uint64_t extension;
  uint32_t event, pad;
};
static_assert(sizeof(EventData) == 48);
struct WaitEvents {
  uint64_t events;
  uint32_t count, all, milliseconds;
  uint32_t result;  // out: 0 complete, 1 timeout, 2 failed
};

struct SetScratchBacking {
  uint64_t address;
  uint32_t gpu, pad;
};
struct GetTileConfig {
  uint64_t tiles, macro_tiles;
  uint32_t tile_count, macro_tile_count;  // in: room; out: how many
  uint32_t gpu;
  uint32_t address_config, banks, ranks;  // out
};
struct SetTrapHandler {
  uint64_t code, memory;
  uint32_t gpu, pad;
};
struct AcquireVm {
  uint32_t drm_file, gpu;
};

enum MemoryFlags : uint32_t {
  kVram = 1 << 0,
  kGtt = 1 << 1,
  kUserPointer = 1 << 2,
  kDoorbell = 1 << 3,
  kMmioRemap = 1 << 4,
  kCoherent = 1 << 26,
  kAqlQueue = 1 << 27,
  kPublic = 1 << 29,
  kExecutable = 1 << 30,
};
struct AllocMemory {
  uint64_t address, size;
  uint64_t handle;       // out
  uint64_t mmap_offset;  // in: of a user pointer, its address; out
  uint32_t gpu, flags;
};
struct FreeMemory {
  uint64_t handle;
};
struct AvailableMemory {
  uint64_t bytes;  // out
  uint32_t gpu, pad;
};
struct MapMemory {
  uint64_t handle, gpus;
  uint32_t count;
  uint32_t done;  // out
};

struct GetDmabufInfo {
  uint64_t size;  // out
  uint64_t metadata;
  uint32_t metadata_size;  // in: room; out
  uint32_t gpu, flags;     // out
  uint32_t file;
};
struct ImportDmabuf {
  uint64_t address;
  uint64_t handle;  // out
  uint32_t gpu, file;
};
struct ExportDmabuf {
  uint64_t handle;
  uint32_t flags;
  uint32_t file;  // out
};
struct IpcExport {
  uint64_t handle;
  uint32_t share[4];  // out
  uint32_t gpu, flags;
};
struct IpcImport {
  uint64_t handle;  // out
  uint64_t address;
  uint64_t mmap_offset;  // out
  uint32_t share[4], gpu;
  uint32_t flags;  // out
};

struct SmiEvents {
  uint32_t gpu;
  uint32_t file;  // out
};

// Followed by `count` attributes (HSA_SVM_ATTRIBUTE).
struct Svm {
  uint64_t start, size;
  uint32_t operation;  // 0: set, 1: get
  uint32_t count;
};

struct RuntimeEnable {
  uint64_t r_debug;
  uint32_t mode;  // bit 0: enable
  uint32_t capabilities;
};

// The version of the interface for debuggers (in `data`, major and minor), and what RuntimeEnable is in later
// versions.
enum class DebugOperation : uint32_t { get_version = 7, runtime_enable = 13 };
struct DebugTrap {
  uint64_t exceptions, r_debug;
  uint32_t process;
  DebugOperation operation;
  uint32_t data[4];  // runtime_enable: whether, and whether TTMPs are set up
};
static_assert(sizeof(DebugTrap) == 40);

// amdgpu. The driver's own ioctls are numbered from 0x40 on.
enum class Drm : unsigned {
  version = 0x00,
  gem_close = 0x09,
  prime_handle_to_file = 0x2d,
  prime_file_to_handle = 0x2e,
  gem_mmap = 0x41,
  info = 0x45,
  gem_metadata = 0x46,
  gem_va = 0x48,
  gem_op = 0x50,
};

struct DrmVersion {
  int32_t major, minor, patch;
  uint64_t name_length, name, date_length, date, description_length, description;
};
static_assert(sizeof(DrmVersion) == 64);
struct GemClose {
  uint32_t handle, pad;
};
struct Prime {
  uint32_t handle, flags;
  int32_t file;
};
union GemMmap {
  uint32_t handle;
  uint64_t offset;  // out
};
struct GemVa {
  uint32_t handle, pad;
  uint32_t operation;  // 1 map, 2 unmap, 3 clear, 4 replace
  uint32_t flags;      // 2 readable, 4 writable, 8 executable
  uint64_t address, offset, size;
};
struct GemMetadata {
  uint32_t handle;
  uint32_t operation;  // 1 set, 2 get
  uint64_t flags, tiling;
  uint32_t bytes, data[64];
};
static_assert(sizeof(GemMetadata) == 288);
struct GemOp {
  uint32_t handle;
  uint32_t operation;  // 0: tell how it was created
  uint64_t value;
};
struct GemCreateIn {
  uint64_t size, alignment, domains, flags;
};

struct DrmInfo {
  uint64_t to;
  uint32_t size, query;
  uint32_t parameters[4];  // of registers: first, count, instance, flags
};
static_assert(sizeof(DrmInfo) == 32);
enum class Info : uint32_t {
  accel_working = 0x00,
  firmware_version = 0x0e,
  vram_usage = 0x10,
  gtt_usage = 0x11,
  vram_gtt = 0x14,
  registers = 0x15,
  device = 0x16,
  visible_vram_usage = 0x17,
  memory = 0x19,
};
struct DeviceInfo {
  uint32_t device_id, chip_revision, external_revision, pci_revision, family;
  uint32_t shader_engines, arrays_per_engine, counter_khz;
  uint64_t max_engine_khz, max_memory_khz;
  uint32_t cus, always_on_cus, cu_bitmap[4][4];
  uint32_t backends_mask, backends, contexts, pad;
  uint64_t ids_flags;
  uint64_t first_address, last_address;
  uint32_t address_alignment, fragment_bytes, gart_page, ce_ram;
  uint32_t memory_type, memory_bits, vce_harvest, double_offchip_lds;
  uint64_t ngg_addresses[4];
  uint32_t ngg_sizes[4];
  uint32_t wave_size, visible_vgprs, cus_per_array, tcc_blocks;
  uint32_t gs[3], pad1;
  uint32_t always_on_bitmap[4][4];
  uint64_t first_high_address, last_high_address;
};
static_assert(sizeof(DeviceInfo) == 352);

}  // namespace morgana::kmt::kfd
