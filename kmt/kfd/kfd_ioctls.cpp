// KFD's ioctls. What the thunk's entry points say as well is left to them.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <vector>

#include "device/apertures.h"
#include "kmt/events.h"
#include "kmt/kfd/buffers.h"
#include "kmt/kfd/driver.h"
#include "kmt/kfd/status.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"
#include "kmt/queues.h"

// Of the thunk; hsakmt.h of ROCm 5 does not declare it.
extern "C" HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 node, HSAuint64* bytes);

namespace morgana::kmt::kfd {
namespace {

constexpr uint64_t kAperture = uint64_t{1} << 32;
// A GPU's number is its node's.
bool is_gpu(uint32_t gpu) { return agent_of(gpu) != nullptr; }

// ---- Queues.

HSA_QUEUE_TYPE thunk_type(QueueType type) {
  switch (type) {
    case QueueType::compute_aql: return HSA_QUEUE_COMPUTE_AQL;
    case QueueType::sdma:
    case QueueType::sdma_by_engine: return HSA_QUEUE_SDMA;
    case QueueType::sdma_xgmi: return HSA_QUEUE_SDMA_XGMI;
    default: return HSA_QUEUE_COMPUTE;
  }
}

// Where programs find the doorbell: for gfx9 the place within the page is in the offset, before it follows
// from the queue's number.
uint64_t doorbell_offset(uint32_t node, uint64_t doorbell) {
  const uint64_t base = map_offset(MapKind::doorbells, node);
  return Queues::numbers_doorbells(node) ? base : base + doorbell;
}

// pipe_priority_map of kfd_mqd_manager.c.
device::Priority level(uint32_t priority) {
  if (priority < 7) return device::Priority::low;
  return priority < 11 ? device::Priority::normal : device::Priority::high;
}

int create_queue(CreateQueue& args) {
  if (!is_gpu(args.gpu) || args.percentage > 100 || args.priority > 15) return -EINVAL;
  SaveAreaHeader header{};
  if (args.save_area != 0 && !copy_guest(&header, pointer(args.save_area), sizeof header)) return -EFAULT;
  HsaQueueResource resource{};
  resource.QueueRptrValue = args.read_index;
  resource.QueueWptrValue = args.write_index;
  resource.ErrorReason = reinterpret_cast<volatile HSAint64*>(header.error_reason);
  const int result =
      error_of(Queues::get().create(args.gpu, thunk_type(args.type), level(args.priority), pointer(args.ring),
                                    args.ring_bytes, header.error_event, resource));
  if (result != 0) return result;
  args.queue = static_cast<uint32_t>(resource.QueueId);
  args.doorbell_offset = doorbell_offset(args.gpu, Queues::get().doorbell_place(resource.QueueId));
  return args.percentage == 0 ? error_of(Queues::get().update(resource.QueueId, 0, level(args.priority))) : 0;
}

int set_cu_mask(SetCuMask& args) {
  constexpr uint32_t kMostBits = 1024;
  if (args.bits == 0 || args.bits % 32 != 0 || args.bits > kMostBits) return -EINVAL;
  std::vector<HSAuint32> mask(args.bits / 32);
  if (!copy_guest(mask.data(), pointer(args.mask), args.bits / 8)) return -EFAULT;
  return error_of(hsaKmtSetQueueCUMask(args.queue, args.bits, mask.data()));
}

// ---- Events.

int create_event(CreateEvent& args) {
  if (args.page != 0) {
    Buffer page;
    if (!Buffers::get().find(args.page, page) || page.address == 0 ||
        page.size < Events::kMaxEvents * sizeof(uint64_t))
      return -EINVAL;
    Events::get().use_mailboxes(static_cast<std::atomic<uint64_t>*>(pointer(page.address)));
  }
  HsaEventDescriptor descriptor{};
  descriptor.EventType = static_cast<HSA_EVENTTYPE>(args.type);
  descriptor.NodeId = args.node;
  HsaEvent* event = nullptr;
  const int result = error_of(Events::get().create(descriptor, args.auto_reset == 0, false, &event));
  if (result != 0) return result;
  args.event = args.trigger = args.slot = event->EventId;
  args.page = map_offset(MapKind::events, 0);  // not 0: there are mailboxes
  return 0;
}

template <typename Function>
long with_event(unsigned long request, void* program, const Function& function) {
  return with_arguments<OneEvent>(request, program, [&](OneEvent& args) {
    HsaEvent* event = Events::get().at(args.event);
    return event == nullptr ? -EINVAL : error_of((Events::get().*function)(event));
  });
}

MemoryException exception_of(const HsaEvent& event) {
  const HsaMemoryAccessFault& fault = event.EventData.EventData.MemoryAccessFault;
  MemoryException to{};
  to.not_present = fault.Failure.NotPresent;
  to.read_only = fault.Failure.ReadOnly;
  to.no_execute = fault.Failure.NoExecute;
  to.imprecise = fault.Failure.Imprecise;
  to.address = fault.VirtualAddress;
  to.gpu = fault.NodeId;
  to.error_type = fault.Failure.ErrorType;
  return to;
}

int wait_events(WaitEvents& args) {
  enum { kComplete, kTimeout, kFailed };
  if (args.count > Events::kMaxEvents) return -EINVAL;
  std::vector<EventData> data(args.count);
  if (!copy_guest(data.data(), pointer(args.events), data.size() * sizeof(EventData))) return -EFAULT;
  std::vector<HsaEvent*> events;
  std::vector<uint64_t> ages;
  args.result = kFailed;
  for (const EventData& one : data) {
    HsaEvent* event = Events::get().at(one.event);
    if (event == nullptr) return -EINVAL;
    events.push_back(event);
    ages.push_back(event->EventData.EventType == HSA_EVENTTYPE_SIGNAL ? one.last_age : 0);
  }
  const HSAKMT_STATUS status =
      Events::get().wait(events.data(), args.count, args.all != 0, args.milliseconds, ages.data());
  if (status != HSAKMT_STATUS_SUCCESS && status != HSAKMT_STATUS_WAIT_TIMEOUT) return error_of(status);
  for (size_t i = 0; i < data.size(); ++i) {
    const HsaEvent* event = Events::get().at(data[i].event);
    if (event == nullptr) continue;  // destroyed meanwhile
    if (event->EventData.EventType == HSA_EVENTTYPE_MEMORY)
      data[i].memory = exception_of(*event);
    else if (event->EventData.EventType == HSA_EVENTTYPE_SIGNAL)
      data[i].last_age = ages[i];
  }
  if (!copy_guest(pointer(args.events), data.data(), data.size() * sizeof(EventData))) return -EFAULT;
  args.result = status == HSAKMT_STATUS_SUCCESS ? kComplete : kTimeout;
  return 0;
}

// ---- Memory.

Apertures apertures_of(uint32_t node) {
  Apertures to{};
  to.lds_base = device::kSharedBase;
  to.lds_limit = device::kSharedBase + kAperture - 1;
  to.scratch_base = device::kPrivateBase;
  to.scratch_limit = device::kPrivateBase + kAperture - 1;
  // A device address is a host address.
  to.gpuvm_base = 16 * kPage;
  to.gpuvm_limit = (uint64_t{1} << 47) - 1;
  to.gpu = node;
  return to;
}

int get_apertures(GetApertures& args) {
  args.count = 0;
  for (uint32_t node : gpu_nodes())
    if (args.count < std::size(args.list)) args.list[args.count++] = apertures_of(node);
  return 0;
}

int get_apertures_new(GetAperturesNew& args) {
  std::vector<Apertures> list;
  for (uint32_t node : gpu_nodes()) list.push_back(apertures_of(node));
  if (args.count != 0) {
    list.resize(std::min<size_t>(list.size(), args.count));
    if (!copy_guest(pointer(args.list), list.data(), list.size() * sizeof(Apertures))) return -EFAULT;
  }
  args.count = static_cast<uint32_t>(list.size());
  return 0;
}

int alloc_memory(AllocMemory& args) {
  if (!is_gpu(args.gpu)) return -EINVAL;
  Buffer wanted;
  wanted.address = args.address;
  wanted.size = args.size;
  wanted.node = (args.flags & kVram) != 0 ? args.gpu : kHostNode;
  wanted.flags = args.flags;
  wanted.user_address = args.mmap_offset;
  const int result = Buffers::get().allocate(wanted, args.handle);
  if (result == 0 && (args.flags & kUserPointer) == 0)
    args.mmap_offset = map_offset(MapKind::buffer, args.handle);
  return result;
}

// Devices reach all memory; what is mapped for which of them only has to exist.
int map_memory(MapMemory& args) {
  Buffer buffer;
  constexpr uint32_t kMost = 1024;
  if (args.count == 0 || args.count > kMost || args.done > args.count ||
      !Buffers::get().find(args.handle, buffer))
    return -EINVAL;
  std::vector<uint32_t> gpus(args.count);
  if (!copy_guest(gpus.data(), pointer(args.gpus), gpus.size() * sizeof(uint32_t))) return -EFAULT;
  for (uint32_t gpu : gpus)
    if (!is_gpu(gpu)) return -EINVAL;
  args.done = args.count;
  return 0;
}

int get_tile_config(GetTileConfig& args) {
  constexpr uint32_t kMost = 64;
  if (args.tile_count > kMost || args.macro_tile_count > kMost) return -EINVAL;
  std::vector<HSAuint32> tiles(args.tile_count), macro_tiles(args.macro_tile_count);
  HsaGpuTileConfig config{};
  config.TileConfig = tiles.data();
  config.NumTileConfigs = args.tile_count;
  config.MacroTileConfig = macro_tiles.data();
  config.NumMacroTileConfigs = args.macro_tile_count;
  const int result = error_of(hsaKmtGetTileConfig(args.gpu, &config));
  if (result != 0) return result;
  args.tile_count = config.NumTileConfigs;
  args.macro_tile_count = config.NumMacroTileConfigs;
  args.address_config = config.GbAddrConfig;
  args.banks = config.NumBanks;
  args.ranks = config.NumRanks;
  const bool copied =
      copy_guest(pointer(args.tiles), tiles.data(), args.tile_count * sizeof(HSAuint32)) &&
      copy_guest(pointer(args.macro_tiles), macro_tiles.data(), args.macro_tile_count * sizeof(HSAuint32));
  return copied ? 0 : -EFAULT;
}

// The attributes stand behind the arguments and go both ways.
long svm(unsigned long request, void* program) {
  Svm args{};
  const size_t bytes = size_of(request);
  if (bytes < sizeof args) return -EINVAL;
  if (!copy_guest(&args, program, sizeof args)) return -EFAULT;
  if (args.count > (bytes - sizeof args) / sizeof(HSA_SVM_ATTRIBUTE)) return -EINVAL;
  std::vector<HSA_SVM_ATTRIBUTE> attributes(args.count);
  const size_t size = args.count * sizeof(HSA_SVM_ATTRIBUTE);
  void* const list = static_cast<uint8_t*>(program) + sizeof args;
  if (!copy_guest(attributes.data(), list, size)) return -EFAULT;
  const auto call = args.operation == 0 ? hsaKmtSVMSetAttr : hsaKmtSVMGetAttr;
  if (args.operation > 1) return -EINVAL;
  const int result = error_of(call(pointer(args.start), args.size, args.count, attributes.data()));
  return result != 0 ? result : copy_guest(list, attributes.data(), size) ? 0 : -EFAULT;
}

// ---- Memory of other processes and devices.

uint32_t file_digest(int file) {
  struct stat status{};
  return fstat(file, &status) != 0 ? 0 : static_cast<uint32_t>(status.st_ino ^ status.st_dev << 20);
}

// A share handle names process and descriptor, and the file, so that another one of that number is not taken
// for it.
int ipc_export(IpcExport& args) {
  const int file = Buffers::get().file_of(args.handle);
  if (file < 0) return file;
  args.share[0] = static_cast<uint32_t>(getpid());
  args.share[1] = static_cast<uint32_t>(file);
  args.share[2] = file_digest(file);
  args.share[3] = args.flags;
  return 0;
}

int ipc_import(IpcImport& args) {
  if (!is_gpu(args.gpu)) return -EINVAL;
  const std::string path = "/proc/" + std::to_string(args.share[0]) + "/fd/" + std::to_string(args.share[1]);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return -EINVAL;
  const int result = file_digest(file) == args.share[2]
                         ? Buffers::get().import_file(file, args.address, args.gpu, args.handle)
                         : -EINVAL;
  close(file);
  args.mmap_offset = map_offset(MapKind::buffer, args.handle);
  args.flags = args.share[3];
  return result;
}

int get_dmabuf_info(GetDmabufInfo& args) {
  const uint64_t size = buffer_file_size(static_cast<int>(args.file));
  if (size == 0) return -EINVAL;
  const Metadata metadata = metadata_of(static_cast<int>(args.file));
  const uint32_t room = args.metadata_size;
  args.metadata_size = metadata.bytes;
  if (args.metadata != 0 && room < metadata.bytes) return -EINVAL;
  if (args.metadata != 0 && !copy_guest(pointer(args.metadata), metadata.data, metadata.bytes))
    return -EFAULT;
  args.size = size;
  args.gpu = gpu_nodes().front();
  args.flags = kVram | kPublic;
  return 0;
}

int export_dmabuf(ExportDmabuf& args) {
  const int file = Buffers::get().export_file(args.handle, (args.flags & O_CLOEXEC) != 0);
  if (file < 0) return file;
  args.file = static_cast<uint32_t>(file);
  return 0;
}

// A stream of events that never come: devices are not reset, do not throttle, and move no pages. Programs
// write to it which events they want; its other end stays open, or they would read its end.
int smi_events(SmiEvents& args) {
  int ends[2];
  if (!is_gpu(args.gpu)) return -EINVAL;
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return -errno;
  args.file = static_cast<uint32_t>(ends[0]);
  return 0;
}

// ---- Debuggers.

int enable_runtime(uint64_t r_debug, bool enabled) {
  return error_of(enabled ? hsaKmtRuntimeEnable(pointer(r_debug), true) : hsaKmtRuntimeDisable());
}

// The thunk of ROCm 5 asks for major version 10 before it tells where the list of code objects is.
int debug_trap(DebugTrap& args) {
  switch (args.operation) {
    case DebugOperation::get_version: args.data[0] = 10, args.data[1] = 0; return 0;
    case DebugOperation::runtime_enable: return enable_runtime(args.r_debug, args.data[0] != 0);
  }
  return -EOPNOTSUPP;
}

}  // namespace

long kfd_ioctl(unsigned long request, void* program) {
  device::ensure_guard_installed();
  const auto with = [&]<typename Arguments>(int (*call)(Arguments&)) {
    return with_arguments<Arguments>(request, program, call);
  };
  switch (static_cast<Kfd>(number_of(request))) {
    case Kfd::get_version:
      return with(+[](GetVersion& args) {
        args = {kKfdMajor, kKfdMinor};
        return 0;
      });
    case Kfd::create_queue: return with(create_queue);
    case Kfd::destroy_queue:
      return with(+[](OneEvent& queue) { return error_of(hsaKmtDestroyQueue(queue.event)); });
    case Kfd::update_queue:
      return with(+[](UpdateQueue& args) {
        return args.priority > 15
                   ? -EINVAL
                   : error_of(Queues::get().update(args.queue, args.percentage, level(args.priority)));
      });
    case Kfd::set_cu_mask: return with(set_cu_mask);
    case Kfd::alloc_queue_gws:
      return with(+[](AllocQueueGws& args) {
        return error_of(hsaKmtAllocQueueGWS(args.queue, args.count, &args.first));
      });
    case Kfd::set_trap_handler:
      return with(+[](SetTrapHandler& args) {
        return error_of(hsaKmtSetTrapHandler(args.gpu, pointer(args.code), args.code != 0,
                                             pointer(args.memory), args.memory != 0));
      });
    case Kfd::create_event: return with(create_event);
    case Kfd::destroy_event: return with_event(request, program, &Events::destroy);
    case Kfd::set_event: return with_event(request, program, &Events::set);
    case Kfd::reset_event: return with_event(request, program, &Events::reset);
    case Kfd::wait_events: return with(wait_events);
    case Kfd::get_process_apertures: return with(get_apertures);
    case Kfd::get_process_apertures_new: return with(get_apertures_new);
    case Kfd::acquire_vm: return with(+[](AcquireVm& args) { return is_gpu(args.gpu) ? 0 : -EINVAL; });
    case Kfd::set_scratch_backing_va:
      return with(+[](SetScratchBacking& args) { return is_gpu(args.gpu) ? 0 : -EINVAL; });
    case Kfd::set_memory_policy:  // memory is coherent under every policy
      return with(+[](SetMemoryPolicy& args) {
        return is_gpu(args.gpu) && args.policy <= 1 && args.alternate_policy <= 1 ? 0 : -EINVAL;
      });
    case Kfd::get_clock_counters:
      return with(+[](GetClockCounters& args) {
        HsaClockCounters clocks{};
        const int result = error_of(hsaKmtGetClockCounters(args.gpu, &clocks));
        args.gpu_clock = clocks.GPUClockCounter;
        args.cpu_clock = clocks.CPUClockCounter;
        args.system_clock = clocks.SystemClockCounter;
        args.system_hz = clocks.SystemClockFrequencyHz;
        return result;
      });
    case Kfd::get_tile_config: return with(get_tile_config);
    case Kfd::alloc_memory: return with(alloc_memory);
    case Kfd::free_memory: return with(+[](FreeMemory& args) { return Buffers::get().free(args.handle); });
    case Kfd::map_memory:
    case Kfd::unmap_memory: return with(map_memory);
    case Kfd::available_memory:
      return with(+[](AvailableMemory& args) {
        HSAuint64 bytes = 0;
        const int result = error_of(hsaKmtAvailableMemory(args.gpu, &bytes));
        args.bytes = bytes;
        return result;
      });
    case Kfd::svm: return svm(request, program);
    case Kfd::set_xnack_mode:
      return with_arguments<int32_t>(request, program, [](int32_t& mode) {
        if (mode >= 0) return mode == 0 ? 0 : -EPERM;
        mode = 0;  // it was asked for
        return 0;
      });
    case Kfd::runtime_enable:
      return with(+[](RuntimeEnable& args) {
        args.capabilities = 0;
        return enable_runtime(args.r_debug, (args.mode & 1) != 0);
      });
    case Kfd::debug_trap: return with(debug_trap);
    case Kfd::get_dmabuf_info: return with(get_dmabuf_info);
    case Kfd::import_dmabuf:
      return with(+[](ImportDmabuf& args) {
        return is_gpu(args.gpu) ? Buffers::get().import_file(static_cast<int>(args.file), args.address,
                                                             args.gpu, args.handle)
                                : -EINVAL;
      });
    case Kfd::export_dmabuf: return with(export_dmabuf);
    case Kfd::ipc_export: return with(ipc_export);
    case Kfd::ipc_import: return with(ipc_import);
    case Kfd::smi_events: return with(smi_events);
  }
  return -EOPNOTSUPP;
}

}  // namespace morgana::kmt::kfd
