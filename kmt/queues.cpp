#include "kmt/queues.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "base/log.h"
#include "base/options.h"
#include "kmt/alias.h"
#include "kmt/events.h"
#include "kmt/fault_report.h"
#include "kmt/loaded_code.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"
#include "runtime/hsa/aql_queue.h"
#include "runtime/hsa/sdma_queue.h"
#include "runtime/memory.h"
#include "runtime/report.h"

namespace morgana::kmt {
namespace {

constexpr uint64_t kDoorbellStride = 64;  // a cache line each; trap handlers find a queue by bits 3 to 12
constexpr uint32_t kDoorbells = Queues::kDoorbellBytes / kDoorbellStride;
// Before gfx9 a doorbell has four bytes and lies at that multiple of its queue's number, in a page of 4 KiB.
constexpr uint32_t kNumberedDoorbells = 4096 / kDoorbellStride;
constexpr uint64_t kNumberedWidth = 4;

// What a runtime without an exception signal reads in queue_inactive_signal.
int64_t legacy_code(runtime::QueueError error) {
  using runtime::QueueError;
  switch (error) {
    case QueueError::packet_dimensions: return 2;
    case QueueError::packet_group_segment: return 4;
    case QueueError::packet_code: return 8;
    case QueueError::packet_unsupported: return 32;
    case QueueError::packet_work_group_size: return 64;
    case QueueError::packet_vendor_unsupported: return 256;
    case QueueError::wave_memory_violation:
    case QueueError::wave_aperture_violation: return 0x2000'0000;
    case QueueError::wave_illegal_instruction: return 0x4000'0000;
    default: return 0x8000'0000;
  }
}

bool is_sdma(HSA_QUEUE_TYPE type) { return type == HSA_QUEUE_SDMA || type == HSA_QUEUE_SDMA_XGMI; }

}  // namespace

Queues& Queues::get() {
  static auto* queues = new Queues;  // outlives every static destructor: queues may still run at exit
  return *queues;
}

// Doorbells lie in a file, since runtimes may map them at an address of their own.
bool Queues::make_page(Page& page) {
  const int file = memfd_create("morgana-doorbells", MFD_CLOEXEC);
  if (file < 0) return false;
  void* const memory = ftruncate(file, kDoorbellBytes) == 0
                           ? mmap(nullptr, kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                           : MAP_FAILED;
  if (memory == MAP_FAILED) {
    close(file);
    return false;
  }
  runtime::register_host(memory, kDoorbellBytes, "doorbells");
  page.address = reinterpret_cast<uint64_t>(memory);
  page.file = file;
  page.taken.resize(kDoorbells);
  return true;
}

int Queues::doorbell_file(uint32_t node) {
  std::lock_guard lock(mutex_);
  const auto found = pages_.find(node);
  return found == pages_.end() ? -1 : found->second.file;
}

uint64_t Queues::doorbell_place(HSA_QUEUEID id) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? 0 : found->second->doorbell * kDoorbellStride;
}

bool Queues::numbers_doorbells(uint32_t node) {
  return info(agent_of(node)->target()).generation < Generation::gfx9;
}

bool Queues::take_doorbell(Entry& entry) {
  Page& page = pages_[entry.node];
  if (page.address == 0 && !make_page(page)) return false;
  const bool numbered = numbers_doorbells(entry.node);
  // Numbers are the process's: what one such node has taken no other may.
  const auto is_taken = [&](uint32_t i) {
    return std::ranges::any_of(pages_, [&](const auto& other) {
      return (other.first == entry.node || (numbered && numbers_doorbells(other.first))) &&
             !other.second.taken.empty() && other.second.taken[i];
    });
  };
  for (uint32_t i = 0; i < (numbered ? kNumberedDoorbells : kDoorbells); ++i) {
    if (is_taken(i)) continue;
    page.taken[i] = true;
    entry.doorbell = i;
    // A value that is no packet index: so a program's first write is a change.
    __atomic_store_n(reinterpret_cast<uint64_t*>(doorbell_address(entry)), ~uint64_t{0}, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

uint64_t Queues::doorbell_address(const Entry& entry) {
  return pages_[entry.node].address + entry.doorbell * kDoorbellStride;
}

HSAKMT_STATUS Queues::create(uint32_t node, HSA_QUEUE_TYPE type, device::Priority priority, void* ring,
                             uint64_t bytes, uint32_t event, HsaQueueResource& resource) {
  runtime::Agent* agent = agent_of(node);
  if (agent == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  if (!is_sdma(type) && type != HSA_QUEUE_COMPUTE_AQL) return HSAKMT_STATUS_NOT_SUPPORTED;
  constexpr uint64_t kSmallest = 64;
  if (ring == nullptr || bytes < kSmallest || !std::has_single_bit(bytes))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  const bool has_indices = resource.Queue_read_ptr_aql != nullptr && resource.Queue_write_ptr_aql != nullptr;
  if (type == HSA_QUEUE_COMPUTE_AQL && !has_indices) return HSAKMT_STATUS_INVALID_PARAMETER;

  if (type == HSA_QUEUE_COMPUTE_AQL) device::Device::prepare_compiler();
  auto entry = std::make_shared<Entry>();
  entry->node = node;
  entry->event_id = event;
  entry->error_reason = resource.ErrorReason;
  runtime::UserQueue::Memory memory;
  memory.ring = reinterpret_cast<uint64_t>(ring);
  memory.bytes = bytes;
  std::lock_guard lock(mutex_);
  if (!take_doorbell(*entry)) return HSAKMT_STATUS_OUT_OF_RESOURCES;
  memory.doorbell = doorbell_address(*entry);
  MemoryTable::get().mark_ring(memory.ring);
  if (is_sdma(type) && !has_indices) {
    entry->indices = std::make_unique<uint64_t[]>(2);
    resource.Queue_read_ptr_aql = &entry->indices[0];
    resource.Queue_write_ptr_aql = &entry->indices[1];
  }
  memory.read_index = resource.QueueRptrValue;
  memory.write_index = resource.QueueWptrValue;
  if (is_sdma(type)) {
    entry->queue = std::make_unique<runtime::SdmaQueue>(*agent, memory, *this);
  } else {
    if (MemoryTable::get().is_doubled(memory.ring, bytes)) memory.bytes /= 2;
    entry->queue = std::make_unique<runtime::AqlQueue>(*agent, memory, *this);
  }
  entry->queue->share().set_priority(priority);
  resource.QueueId =
      numbers_doorbells(node) ? entry->doorbell * kDoorbellStride / kNumberedWidth : next_id_++;
  resource.QueueDoorBell = memory.doorbell;
  entries_.emplace(resource.QueueId, entry);
  entry->queue->start();
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Queues::update(HSA_QUEUEID id, uint32_t percentage, device::Priority priority) {
  if (percentage > 100) return HSAKMT_STATUS_INVALID_PARAMETER;
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return HSAKMT_STATUS_INVALID_HANDLE;
  found->second->queue->share().set_priority(priority);
  found->second->queue->suspend(percentage == 0);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Queues::set_units(HSA_QUEUEID id, const device::UnitMask& units) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return HSAKMT_STATUS_INVALID_HANDLE;
  found->second->queue->share().set_units(units);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Queues::destroy(HSA_QUEUEID id) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return HSAKMT_STATUS_INVALID_HANDLE;
    entry = found->second;
    entries_.erase(found);
  }
  // This waits for the threads of the queue's crew, which may be telling us of a fault and need the lock.
  entry->queue.reset();
  std::lock_guard lock(mutex_);
  pages_[entry->node].taken[entry->doorbell] = false;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Queues::ring(HSA_QUEUEID id) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return HSAKMT_STATUS_INVALID_HANDLE;
  found->second->queue->ring();
  return HSAKMT_STATUS_SUCCESS;
}

bool Queues::exists(HSA_QUEUEID id) {
  std::lock_guard lock(mutex_);
  return entries_.contains(id);
}

void Queues::raise_event(uint32_t event_id) { Events::get().raise(event_id); }

bool Queues::enter_code(runtime::Agent& agent, uint64_t entry) {
  DeferredAliases::get().before_kernel();
  return MemoryTable::get().enter_code(agent, entry);
}

uint64_t Queues::pages_of(uint64_t address, uint64_t bytes) {
  return DeferredAliases::get().pages_of(address, bytes);
}

void Queues::leave_code() {
  DeferredAliases::get().after_kernel();
  MemoryTable::get().leave_code();
}

std::string Queues::kernel_name(uint64_t kernel_object) {
  return loaded_kernel_name(kernel_object, MemoryTable::get().code_version());
}

runtime::CodeImage Queues::code_object(uint64_t kernel_object) { return loaded_code_object(kernel_object); }

void Queues::find_place(uint64_t kernel_object, uint64_t pc, runtime::FaultPlace& place) {
  kmt::find_place(kernel_object, pc, place);
}

void Queues::queue_failed(runtime::UserQueue& queue, const runtime::QueueFailure& failure) {
  if (options().fault_report) print_fault_report(failure, queue.agent());
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, candidate] : entries_)
      if (candidate->queue.get() == &queue) entry = candidate;
  }
  if (entry) tell_runtime(*entry, queue, failure);
}

void Queues::tell_runtime(const Entry& entry, const runtime::UserQueue& queue,
                          const runtime::QueueFailure& failure) {
  // Runtimes expect a memory fault as the node's memory event, not as an error of the queue.
  const auto* aql = dynamic_cast<const runtime::AqlQueue*>(&queue);
  const bool is_memory = failure.error == runtime::QueueError::wave_memory_violation;
  const bool has_signal = entry.error_reason != nullptr;
  const bool is_mute = aql == nullptr;  // an SDMA queue has no signal for errors: a hang of the engine
  if ((is_memory || is_mute) && Events::get().report_memory_fault(entry.node, failure.fault, !is_memory))
    return;
  if (has_signal) {
    // Without interrupts there is no memory event, and yet ROCR ignores a queue's memory violation because of
    // it. An aperture violation is the nearest that ROCR passes on.
    const auto error = is_memory ? runtime::QueueError::wave_aperture_violation : failure.error;
    __atomic_fetch_or(entry.error_reason, int64_t{1} << (static_cast<uint32_t>(error) - 1), __ATOMIC_RELEASE);
    Events::get().raise(entry.event_id);
    runtime::signal_hub().notify();
  } else if (aql != nullptr && aql->amd_queue() != nullptr) {
    if (!runtime::store_signal(aql->amd_queue()->queue_inactive_signal, legacy_code(failure.error), *this))
      log(LogLevel::warn, "kmt: the queue's inactive signal is no writable address");
  }
}

}  // namespace morgana::kmt
