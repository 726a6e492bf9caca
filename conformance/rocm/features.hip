// What HIP programs rely on beside launches and copies, one small check each: cooperative launches, managed
// and registered memory, memory of another process, graphs, streams and events, callbacks of many threads,
// device-side malloc, printf, occupancy, and access to another device's memory where there are two
// (`MORGANA_DEVICES=gfx90a,gfx90a`).
#include <hip/hip_runtime.h>

#include <hip/hip_cooperative_groups.h>  // of HIP 5.2: needs the other one before it
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

constexpr int kCount = 4096, kGroup = 128;
bool failed = false;

void check(hipError_t error, int line) {
  if (error == hipSuccess) return;
  std::printf("line %d: %s\n", line, hipGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

void report(const char* what, bool good) {
  std::printf("%s: %s\n", what, good ? "ok" : "wrong");
  failed |= !good;
}

// All of `numbers` are first, first + step, ...
bool is_row(const int* numbers, int first, int step) {
  for (int i = 0; i < kCount; i++)
    if (numbers[i] != first + i * step) return false;
  return true;
}

__global__ void add_index(int* numbers, int add) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  numbers[i] += i + add;
}

// Every work-group's sum, and behind the grid's barrier the sum of all in every group.
__global__ void sum_of_all(const int* numbers, int* sums, int* totals) {
  auto grid = cooperative_groups::this_grid();
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, numbers[grid.thread_rank()]);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  grid.sync();
  if (threadIdx.x != 0) return;
  int total = 0;
  for (unsigned g = 0; g < gridDim.x; g++) total += sums[g];
  totals[blockIdx.x] = total;
}

void cooperative() {
  int resident = 0;
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&resident, sum_of_all, kGroup, 0));
  hipDeviceProp_t device;
  CHECK(hipGetDeviceProperties(&device, 0));
  int groups = std::min(resident * device.multiProcessorCount, kCount / kGroup);
  report("occupancy", resident > 0 && device.cooperativeLaunch);
  int *numbers, *sums, *totals;
  CHECK(hipMalloc(&numbers, kCount * sizeof(int)));
  CHECK(hipMalloc(&sums, groups * sizeof(int)));
  CHECK(hipMalloc(&totals, groups * sizeof(int)));
  CHECK(hipMemset(numbers, 0, kCount * sizeof(int)));
  add_index<<<kCount / kGroup, kGroup>>>(numbers, 1);
  void* arguments[] = {&numbers, &sums, &totals};
  CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(sum_of_all), dim3(groups), dim3(kGroup), arguments,
                                   0, 0));
  std::vector<int> got(groups);
  CHECK(hipMemcpy(got.data(), totals, groups * sizeof(int), hipMemcpyDeviceToHost));
  const int items = groups * kGroup;
  bool good = true;
  for (const int total : got) good = good && total == items * (items + 1) / 2;
  report("cooperative launch", good);
  for (int* memory : {numbers, sums, totals}) CHECK(hipFree(memory));
}

void managed() {
  int* numbers;
  CHECK(hipMallocManaged(&numbers, kCount * sizeof(int)));
  for (int i = 0; i < kCount; i++) numbers[i] = i;
  CHECK(hipMemPrefetchAsync(numbers, kCount * sizeof(int), 0, 0));
  add_index<<<kCount / kGroup, kGroup>>>(numbers, 5);
  CHECK(hipDeviceSynchronize());
  report("managed memory", is_row(numbers, 5, 2));
  int is_read_mostly, prefetched;
  void* pinned;
  CHECK(hipHostMalloc(&pinned, kCount));
  const auto ask = [&](void* of) {
    (void)hipMemRangeGetAttribute(&prefetched, sizeof prefetched, hipMemRangeAttributeLastPrefetchLocation,
                                  of, kCount);
    return hipMemRangeGetAttribute(&is_read_mostly, sizeof is_read_mostly, hipMemRangeAttributeReadMostly, of,
                                   kCount);
  };
  report("attributes of managed memory, and of no other",
         ask(numbers) == hipSuccess && ask(pinned) == hipErrorInvalidValue);
  (void)hipMemPrefetchAsync(pinned, kCount, 0, 0);  // refused or without effect, not the end of the program
  CHECK(hipHostFree(pinned));
  CHECK(hipFree(numbers));
}

void registered() {
  std::vector<int> numbers(kCount + 7);
  CHECK(hipHostRegister(numbers.data() + 3, kCount * sizeof(int), hipHostRegisterMapped));
  void* device = nullptr;
  CHECK(hipHostGetDevicePointer(&device, numbers.data() + 3, 0));
  add_index<<<kCount / kGroup, kGroup>>>(static_cast<int*>(device), 2);
  CHECK(hipDeviceSynchronize());
  CHECK(hipHostUnregister(numbers.data() + 3));
  report("registered memory",
         is_row(numbers.data() + 3, 2, 1) && numbers[2] == 0 && numbers[kCount + 3] == 0);
}

void graph() {
  int* numbers;
  std::vector<int> got(kCount);
  CHECK(hipMalloc(&numbers, kCount * sizeof(int)));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipMemsetAsync(numbers, 0, kCount * sizeof(int), stream));
  for (int i = 0; i < 3; i++) add_index<<<kCount / kGroup, kGroup, 0, stream>>>(numbers, i);
  CHECK(hipMemcpyAsync(got.data(), numbers, kCount * sizeof(int), hipMemcpyDeviceToHost, stream));
  hipGraph_t captured;
  CHECK(hipStreamEndCapture(stream, &captured));
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, captured, nullptr, nullptr, 0));
  bool good = true;
  for (int round = 0; round < 3; round++) {
    std::fill(got.begin(), got.end(), 0);
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    good = good && is_row(got.data(), 3, 3);
  }
  report("graph", good);
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(captured));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(numbers));
}

// Work of two streams in the order that an event gives.
void streams() {
  int* numbers;
  CHECK(hipMalloc(&numbers, kCount * sizeof(int)));
  hipStream_t first, second;
  hipEvent_t done;
  CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  CHECK(hipEventCreate(&done));
  CHECK(hipMemsetAsync(numbers, 0, kCount * sizeof(int), first));
  for (int i = 0; i < 50; i++) {
    add_index<<<kCount / kGroup, kGroup, 0, i % 2 ? second : first>>>(numbers, 1);
    CHECK(hipEventRecord(done, i % 2 ? second : first));
    CHECK(hipStreamWaitEvent(i % 2 ? first : second, done, 0));
  }
  CHECK(hipEventSynchronize(done));
  std::vector<int> got(kCount);
  CHECK(hipMemcpy(got.data(), numbers, kCount * sizeof(int), hipMemcpyDeviceToHost));
  report("streams and events", is_row(got.data(), 50, 50));
  CHECK(hipEventDestroy(done));
  CHECK(hipStreamDestroy(first));
  CHECK(hipStreamDestroy(second));
  CHECK(hipFree(numbers));
}

// More callbacks wait in one stream than HIP has signals for: it uses signals again while others wait for them.
void callbacks() {
  constexpr int kThreads = 64, kEach = 8;
  std::atomic<int> called{0};
  int* number;
  hipStream_t stream;
  CHECK(hipHostMalloc(&number, kCount * sizeof(int)));
  std::memset(number, 0, kCount * sizeof(int));
  CHECK(hipStreamCreate(&stream));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; i++) {
        add_index<<<kCount / kGroup, kGroup, 0, stream>>>(number, 1);
        CHECK(hipStreamAddCallback(
            stream, [](hipStream_t, hipError_t, void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called, 0));
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(hipStreamSynchronize(stream));
  report("callbacks", called == kThreads * kEach && is_row(number, kThreads * kEach, kThreads * kEach));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipHostFree(number));
}

__global__ void lists(int* sums) {
  struct Node {
    Node* next;
    int value;
  };
  Node* list = nullptr;
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i <= me % 4; i++) {
    auto* node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) break;
    node->next = list, node->value = me + i;
    list = node;
  }
  int sum = 0;
  while (list != nullptr) {
    sum += list->value;
    Node* next = list->next;
    free(list);
    list = next;
  }
  sums[me] = sum;
}

void device_malloc() {
  constexpr int kItems = 256;
  int* sums;
  CHECK(hipMalloc(&sums, kItems * sizeof(int)));
  lists<<<4, kItems / 4>>>(sums);
  int got[kItems];
  CHECK(hipMemcpy(got, sums, sizeof got, hipMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < kItems; i++) {
    int expected = 0;
    for (int k = 0; k <= i % 4; k++) expected += i + k;
    good = good && got[i] == expected;
  }
  report("device malloc", good);
  CHECK(hipFree(sums));
}

__global__ void say(int number) {
  if (threadIdx.x < 2)
    printf("<%d %s %.2f>", number + int(threadIdx.x), "from the device", 0.25 * threadIdx.x);
}

void device_printf() {
  std::fflush(stdout);
  char path[] = "/tmp/features_XXXXXX";
  const int file = mkstemp(path), before = dup(1);
  dup2(file, 1);
  say<<<1, 64>>>(40);
  CHECK(hipDeviceSynchronize());
  std::fflush(stdout);
  dup2(before, 1);
  char text[256] = {};
  const ssize_t size = pread(file, text, sizeof text - 1, 0);
  close(file), close(before), unlink(path);
  report("printf", size > 0 && std::strstr(text, "<40 from the device 0.00>") &&
                       std::strstr(text, "<41 from the device 0.25>"));
}

std::string hex(const hipIpcMemHandle_t& handle) {
  std::string text;
  char digits[3];
  for (size_t i = 0; i < sizeof handle; i++) {
    std::snprintf(digits, sizeof digits, "%02x", reinterpret_cast<const unsigned char*>(&handle)[i]);
    text += digits;
  }
  return text;
}

// In the other process: what the first one stored is there, and is changed.
int other_process(const char* text) {
  hipIpcMemHandle_t handle;
  for (size_t i = 0; i < sizeof handle; i++)
    reinterpret_cast<unsigned char*>(&handle)[i] =
        static_cast<unsigned char>(std::strtoul(std::string(text + 2 * i, 2).c_str(), nullptr, 16));
  void* memory = nullptr;
  CHECK(hipIpcOpenMemHandle(&memory, handle, hipIpcMemLazyEnablePeerAccess));
  std::vector<int> got(kCount);
  CHECK(hipMemcpy(got.data(), memory, kCount * sizeof(int), hipMemcpyDeviceToHost));
  if (!is_row(got.data(), 9, 1)) return 2;
  add_index<<<kCount / kGroup, kGroup>>>(static_cast<int*>(memory), 1);
  CHECK(hipDeviceSynchronize());
  CHECK(hipIpcCloseMemHandle(memory));
  return 0;
}

void shared() {
  int* numbers;
  CHECK(hipMalloc(&numbers, kCount * sizeof(int)));
  CHECK(hipMemset(numbers, 0, kCount * sizeof(int)));
  add_index<<<kCount / kGroup, kGroup>>>(numbers, 9);
  CHECK(hipDeviceSynchronize());
  hipIpcMemHandle_t handle;
  CHECK(hipIpcGetMemHandle(&handle, numbers));
  std::string name = "features", text = hex(handle);
  char* arguments[] = {name.data(), text.data(), nullptr};
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0)
    waitpid(child, &status, 0);
  std::vector<int> got(kCount);
  CHECK(hipMemcpy(got.data(), numbers, kCount * sizeof(int), hipMemcpyDeviceToHost));
  report("another process", WIFEXITED(status) && WEXITSTATUS(status) == 0 && is_row(got.data(), 10, 2));
  CHECK(hipFree(numbers));
}

// A kernel of device 1 works on memory of device 0, and copies go between them.
void peers() {
  int devices = 0, can = 0;
  CHECK(hipGetDeviceCount(&devices));
  if (devices < 2) return;
  CHECK(hipDeviceCanAccessPeer(&can, 1, 0));
  int *here, *there;
  CHECK(hipMalloc(&here, kCount * sizeof(int)));
  CHECK(hipMemset(here, 0, kCount * sizeof(int)));
  CHECK(hipDeviceSynchronize());
  CHECK(hipSetDevice(1));
  CHECK(hipDeviceEnablePeerAccess(0, 0));
  add_index<<<kCount / kGroup, kGroup>>>(here, 3);
  CHECK(hipMalloc(&there, kCount * sizeof(int)));
  CHECK(hipMemcpyPeer(there, 1, here, 0, kCount * sizeof(int)));
  add_index<<<kCount / kGroup, kGroup>>>(there, 0);
  std::vector<int> got(kCount);
  CHECK(hipMemcpy(got.data(), there, kCount * sizeof(int), hipMemcpyDeviceToHost));
  report("peers", can == 1 && is_row(got.data(), 3, 2));
  CHECK(hipFree(there));
  CHECK(hipSetDevice(0));
  CHECK(hipFree(here));
}

}  // namespace

int main(int count, char** words) {
  if (count > 1) return other_process(words[1]);
  cooperative();
  managed();
  registered();
  graph();
  streams();
  callbacks();
  device_malloc();
  device_printf();
  shared();
  peers();
  std::printf(failed ? "FAILED\n" : "PASSED\n");
  return failed ? 1 : 0;
}
