// Dispatches and barriers through ROCR's own queues, eight at a time: every completion signal has to arrive, and
// every dispatch has to have run once. `queue_stress [PACKETS]`.
#include <hip/hiprtc.h>
#include <hsa/hsa.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kQueues = 8;
constexpr int kBatch = 500;  // packets on one signal
constexpr uint16_t kFences = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                             HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE |
                             1 << HSA_PACKET_HEADER_BARRIER;

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  const char* text = "unknown";
  hsa_status_string(status, &text);
  std::printf("%s: %s\n", what, text);
  std::exit(1);
}

std::vector<char> compile(const std::string& isa) {
  constexpr const char* kSource =
      "extern \"C\" __global__ void count(unsigned* p) { if (threadIdx.x == 0) atomicAdd(p, 1u); }";
  const std::string target = "--gpu-architecture=" + isa;
  const char* options[] = {target.c_str()};
  hiprtcProgram program;
  size_t size = 0;
  std::vector<char> code;
  if (hiprtcCreateProgram(&program, kSource, "count.hip", 0, nullptr, nullptr) != HIPRTC_SUCCESS ||
      hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS ||
      hiprtcGetCodeSize(program, &size) != HIPRTC_SUCCESS)
    return code;
  code.resize(size);
  if (hiprtcGetCode(program, code.data()) != HIPRTC_SUCCESS) code.clear();
  hiprtcDestroyProgram(&program);
  return code;
}

hsa_status_t find_device(hsa_agent_t agent, void* found) {
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_agent_t*>(found) = agent;
  return HSA_STATUS_INFO_BREAK;
}

hsa_status_t find_arguments(hsa_region_t region, void* found) {
  hsa_region_segment_t segment;
  uint32_t flags = 0;
  hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment);
  hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags);
  if (segment != HSA_REGION_SEGMENT_GLOBAL || !(flags & HSA_REGION_GLOBAL_FLAG_KERNARG))
    return HSA_STATUS_SUCCESS;
  *static_cast<hsa_region_t*>(found) = region;
  return HSA_STATUS_INFO_BREAK;
}

struct Kernel {
  uint64_t object = 0;
  uint32_t group_bytes = 0, private_bytes = 0;
};

// Writes a packet: everything behind the first word, then that word, which makes it valid.
template <typename Packet>
void publish(hsa_queue_t* queue, uint64_t index, const Packet& packet, uint32_t first) {
  char* const slot = static_cast<char*>(queue->base_address) + index % queue->size * 64;
  std::memcpy(slot + 4, reinterpret_cast<const char*>(&packet) + 4, 60);
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), first, __ATOMIC_RELEASE);
}

// What one thread does with a queue of its own; the signals and dispatches that are missing.
long drive(hsa_agent_t agent, hsa_region_t region, const Kernel& kernel, int packets) {
  hsa_queue_t* queue;
  check(hsa_queue_create(agent, 1024, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue), "queue");
  constexpr size_t kCounterOffset = 2048;
  char* memory;
  check(hsa_memory_allocate(region, 4096, reinterpret_cast<void**>(&memory)), "arguments");
  std::memset(memory, 0, 4096);
  auto* counter = reinterpret_cast<unsigned*>(memory + kCounterOffset);
  std::memcpy(memory, &counter, sizeof counter);
  hsa_signal_t signal;
  check(hsa_signal_create(0, 0, nullptr, &signal), "signal");
  long dispatched = 0, missing = 0;
  for (int done = 0; done < packets && missing == 0; done += kBatch) {
    const int batch = std::min(kBatch, packets - done);
    hsa_signal_store_relaxed(signal, batch);
    for (int i = 0; i < batch; ++i) {
      const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
      while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) std::this_thread::yield();
      if (i % 3 == 2) {
        hsa_barrier_and_packet_t packet{};
        packet.completion_signal = signal;
        publish(queue, index, packet, HSA_PACKET_TYPE_BARRIER_AND | kFences);
      } else {
        hsa_kernel_dispatch_packet_t packet{};
        packet.workgroup_size_x = packet.grid_size_x = 64;
        packet.workgroup_size_y = packet.workgroup_size_z = packet.grid_size_y = packet.grid_size_z = 1;
        packet.group_segment_size = kernel.group_bytes;
        packet.private_segment_size = kernel.private_bytes;
        packet.kernel_object = kernel.object;
        packet.kernarg_address = memory;
        packet.completion_signal = signal;
        constexpr uint32_t kOneDimension = 1u << 16;
        publish(queue, index, packet, HSA_PACKET_TYPE_KERNEL_DISPATCH | kFences | kOneDimension);
        ++dispatched;
      }
      // Doorbells are rung now and then, and for the last packet.
      if (i % 7 == 0 || i == batch - 1)
        hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    }
    constexpr uint64_t kPatience = 60'000'000'000;  // ns
    missing += hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 0, kPatience, HSA_WAIT_STATE_BLOCKED);
  }
  missing += dispatched - static_cast<long>(*counter);
  check(hsa_queue_destroy(queue), "queue's end");
  check(hsa_signal_destroy(signal), "signal's end");
  return missing;
}

}  // namespace

int main(int argc, char** argv) {
  const int packets = argc > 1 ? std::atoi(argv[1]) : 100'000;
  check(hsa_init(), "hsa_init");
  hsa_agent_t agent{};
  check(hsa_iterate_agents(find_device, &agent), "agents");
  hsa_region_t region{};
  check(hsa_agent_iterate_regions(agent, find_arguments, &region), "regions");
  hsa_isa_t isa;
  check(hsa_agent_get_info(agent, HSA_AGENT_INFO_ISA, &isa), "isa");
  char name[64] = {};
  check(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name), "isa's name");
  const char* const processor = std::strstr(name, "--");  // amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
  if (processor == nullptr) return std::printf("an isa called %s\n", name), 1;
  const std::vector<char> code = compile(processor + 2);
  if (code.empty()) return std::puts("hipRTC built no code"), 1;
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  hsa_executable_symbol_t symbol;
  check(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader), "reader");
  check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable),
        "executable");
  check(hsa_executable_load_agent_code_object(executable, agent, reader, nullptr, nullptr), "load");
  check(hsa_executable_freeze(executable, nullptr), "freeze");
  check(hsa_executable_get_symbol_by_name(executable, "count.kd", &agent, &symbol), "symbol");
  Kernel kernel;
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object), "kernel");
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                       &kernel.group_bytes),
        "kernel");
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                       &kernel.private_bytes),
        "kernel");
  std::atomic<long> missing{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kQueues; ++i)
    threads.emplace_back([&] { missing += drive(agent, region, kernel, packets / kQueues); });
  for (std::thread& thread : threads) thread.join();
  std::printf("%d packets over %d queues, %ld missing: %s\n", packets / kQueues * kQueues, kQueues, missing.load(),
              missing == 0 ? "PASSED" : "FAILED");
  return missing == 0 ? 0 : 1;
}
