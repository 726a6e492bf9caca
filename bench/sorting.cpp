// Cases in which work-items of a group work together in local memory: reduction, histogram, two sorts.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/case.h"

namespace bench {
namespace {

class Reduction final : public KernelCase {
 public:
  Reduction() : KernelCase(4e-9 * kCount, "GB/s") {}

 private:
  static constexpr size_t kCount = size_t{8} << 20, kGroups = 1024, kLocal = 256;

  void prepare(const Gpu& gpu) override {
    Random random(7);
    in_ = random.reals(kCount, -1, 2);
    cl_mem partial = gpu.buffer(kGroups * sizeof(float));
    out_ = gpu.buffer(sizeof(float));
    cl_program program = gpu.build(R"(
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void sum(global const float* in, global float* out, int count) {
  local float part[256];
  int l = get_local_id(0);
  float mine = 0;
  for (int i = get_global_id(0); i < count; i += get_global_size(0)) mine += in[i];
  part[l] = mine;
  for (int step = 128; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < step) part[l] += part[l + step];
  }
  if (l == 0) out[get_group_id(0)] = part[0];
}
)");
    first_ = Kernel(program, "sum");
    first_.args(gpu.buffer(in_), partial, static_cast<int>(kCount));
    second_ = Kernel(program, "sum");
    second_.args(partial, out_, static_cast<int>(kGroups));
  }
  void launch(const Gpu& gpu) override {
    first_.enqueue(gpu, {{kGroups * kLocal}, {kLocal}});
    second_.enqueue(gpu, {{kLocal}, {kLocal}});
  }
  double error(const Gpu& gpu) override {
    const double sum = std::accumulate(in_.begin(), in_.end(), 0.0);
    return worst(gpu.read<float>(out_, 1), {static_cast<float>(sum)}, 1e-5);
  }

  std::vector<float> in_;
  cl_mem out_ = nullptr;
  Kernel first_, second_;
};

class Histogram final : public KernelCase {
 public:
  Histogram() : KernelCase(1e-9 * kCount, "Gitems/s") {}

 private:
  static constexpr size_t kCount = size_t{8} << 20, kGroups = 128, kLocal = 256;

  void prepare(const Gpu& gpu) override {
    Random random(8);
    in_.resize(kCount);
    // Some bins are met far more often than others.
    for (uint8_t& value : in_) value = static_cast<uint8_t>((random.bits() & 0xff) & (random.bits() | 0x3f));
    out_ = gpu.buffer(256 * sizeof(uint32_t));
    kernel_ = Kernel(gpu.build(R"(
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void histogram(global const uint* in, global uint* out, int count) {
  local uint bins[256];
  int l = get_local_id(0);
  bins[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
    uint four = in[i];
    atomic_inc(&bins[four & 255]);
    atomic_inc(&bins[four >> 8 & 255]);
    atomic_inc(&bins[four >> 16 & 255]);
    atomic_inc(&bins[four >> 24]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&out[l], bins[l]);
}
)"),
                     "histogram");
    kernel_.args(gpu.buffer(in_), out_, static_cast<int>(kCount / 4));
  }
  void launch(const Gpu& gpu) override {
    const uint32_t zero = 0;
    CHECK(
        clEnqueueFillBuffer(gpu.queue, out_, &zero, sizeof zero, 0, 256 * sizeof zero, 0, nullptr, nullptr));
    kernel_.enqueue(gpu, {{kGroups * kLocal}, {kLocal}});
  }
  double error(const Gpu& gpu) override {
    std::vector<uint32_t> wanted(256);
    for (uint8_t value : in_) ++wanted[value];
    return gpu.read<uint32_t>(out_, 256) == wanted ? 0 : HUGE_VAL;
  }

  std::vector<uint8_t> in_;
  cl_mem out_ = nullptr;
  Kernel kernel_;
};

// What the two sorts share: keys that are copied to `keys_` at the start of every launch.
class Sort : public KernelCase {
 protected:
  static constexpr size_t kCount = size_t{1} << 17;

  Sort() : KernelCase(1e-9 * kCount, "Gkeys/s") {}
  virtual void prepare_sort(const Gpu& gpu) = 0;
  virtual void sort(const Gpu& gpu) = 0;
  cl_mem keys_ = nullptr;

 private:
  void prepare(const Gpu& gpu) override {
    Random random(9);
    in_.resize(kCount);
    for (uint32_t& key : in_) key = random.bits();
    unsorted_ = gpu.buffer(in_);
    keys_ = gpu.buffer(kCount * sizeof(uint32_t));
    prepare_sort(gpu);
  }
  void launch(const Gpu& gpu) override {
    CHECK(clEnqueueCopyBuffer(gpu.queue, unsorted_, keys_, 0, 0, kCount * sizeof(uint32_t), 0, nullptr,
                              nullptr));
    sort(gpu);
  }
  double error(const Gpu& gpu) override {
    std::vector<uint32_t> wanted = in_;
    std::sort(wanted.begin(), wanted.end());
    return gpu.read<uint32_t>(keys_, kCount) == wanted ? 0 : HUGE_VAL;
  }

  std::vector<uint32_t> in_;
  cl_mem unsorted_ = nullptr;
};

class Bitonic final : public Sort {
  static constexpr uint32_t kBlock = 512;  // keys that a group of 256 sorts in local memory

  void prepare_sort(const Gpu& gpu) override {
    cl_program program = gpu.build(R"(
void order(local uint* a, local uint* b, bool down) {
  uint x = *a, y = *b;
  if ((x > y) != down) *a = y, *b = x;
}
/* Stages `first` to `last` (block sizes) of the network as far as they stay within 512 keys. */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void within(global uint* keys, uint first, uint last) {
  local uint part[512];
  uint l = get_local_id(0), base = get_group_id(0) * 512;
  part[l] = keys[base + l];
  part[l + 256] = keys[base + l + 256];
  for (uint size = first; size <= last; size *= 2)
    for (uint step = min(size / 2, 256u); step > 0; step /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      uint i = 2 * l - (l & (step - 1));
      order(&part[i], &part[i + step], (base + i) & size);
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  keys[base + l] = part[l];
  keys[base + l + 256] = part[l + 256];
}
kernel void across(global uint* keys, uint size, uint step) {
  uint l = get_global_id(0), i = 2 * l - (l & (step - 1));
  uint x = keys[i], y = keys[i + step];
  if ((x > y) != ((i & size) != 0)) keys[i] = y, keys[i + step] = x;
}
)");
    within_ = Kernel(program, "within");
    across_ = Kernel(program, "across");
  }
  void sort(const Gpu& gpu) override {
    const Range half{{kCount / 2}, {256}};
    within_.args(keys_, uint32_t{2}, kBlock).enqueue(gpu, half);
    for (uint32_t size = 2 * kBlock; size <= kCount; size *= 2) {
      for (uint32_t step = size / 2; step >= kBlock; step /= 2)
        across_.args(keys_, size, step).enqueue(gpu, half);
      within_.args(keys_, size, size).enqueue(gpu, half);
    }
  }

  Kernel within_, across_;
};

// Least significant digit first, four bits a pass: count, scan, scatter.
class Radix final : public Sort {
  static constexpr uint32_t kLocal = 256, kGroups = 64, kTile = kCount / kGroups;

  void prepare_sort(const Gpu& gpu) override {
    cl_program program = gpu.build(R"(
/* counts[digit * groups + group] */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void count(global const uint* keys, global uint* counts, uint shift, uint tile) {
  local uint bins[16];
  uint l = get_local_id(0), start = get_group_id(0) * tile;
  if (l < 16) bins[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = l; i < tile; i += 256) atomic_inc(&bins[keys[start + i] >> shift & 15]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 16) counts[l * get_num_groups(0) + get_group_id(0)] = bins[l];
}
/* Exclusive, in place, by one group; 4 counts a work-item. */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scan(global uint4* counts) {
  local uint sums[256];
  uint l = get_local_id(0);
  uint4 c = counts[l];
  uint total = c.x + c.y + c.z + c.w;
  sums[l] = total;
  for (uint step = 1; step < 256; step *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before = l >= step ? sums[l - step] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[l] += before;
  }
  uint base = sums[l] - total;
  counts[l] = (uint4)(base, base + c.x, base + c.x + c.y, base + c.x + c.y + c.z);
}
/* Stable: the 256 keys of a round are ranked by a scan of one flag a digit, four digits packed in a ulong. */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scatter(global const uint* keys, global uint* out, global const uint* counts, uint shift, uint tile) {
  local ulong4 ranks[256];
  local uint next[16];
  uint l = get_local_id(0), start = get_group_id(0) * tile;
  if (l < 16) next[l] = counts[l * get_num_groups(0) + get_group_id(0)];
  for (uint i = l; i < tile; i += 256) {
    uint key = keys[start + i], digit = key >> shift & 15;
    ulong one = (ulong)1 << 16 * (digit & 3);
    ulong4 mine = (ulong4)(digit < 4 ? one : 0, digit / 4 == 1 ? one : 0, digit / 4 == 2 ? one : 0, digit >= 12 ? one : 0);
    ranks[l] = mine;
    for (uint step = 1; step < 256; step *= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      ulong4 before = l >= step ? ranks[l - step] : (ulong4)(0);
      barrier(CLK_LOCAL_MEM_FENCE);
      ranks[l] += before;
    }
    ulong4 rank = ranks[l];
    ulong packed = digit < 8 ? (digit < 4 ? rank.x : rank.y) : (digit < 12 ? rank.z : rank.w);
    out[next[digit] + (uint)(packed >> 16 * (digit & 3) & 0xffff) - 1] = key;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 16) {
      ulong4 last = ranks[255];
      ulong all = l < 8 ? (l < 4 ? last.x : last.y) : (l < 12 ? last.z : last.w);
      next[l] += (uint)(all >> 16 * (l & 3) & 0xffff);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
)");
    count_ = Kernel(program, "count");
    scan_ = Kernel(program, "scan");
    scatter_ = Kernel(program, "scatter");
    other_ = gpu.buffer(kCount * sizeof(uint32_t));
    counts_ = gpu.buffer(16 * kGroups * sizeof(uint32_t));
  }
  void sort(const Gpu& gpu) override {
    static_assert(16 * kGroups == 4 * kLocal);
    const Range all{{kGroups * kLocal}, {kLocal}};
    cl_mem from = keys_, to = other_;
    for (uint32_t shift = 0; shift < 32; shift += 4) {
      count_.args(from, counts_, shift, kTile).enqueue(gpu, all);
      scan_.args(counts_).enqueue(gpu, {{kLocal}, {kLocal}});
      scatter_.args(from, to, counts_, shift, kTile).enqueue(gpu, all);
      std::swap(from, to);
    }
  }

  cl_mem other_ = nullptr, counts_ = nullptr;
  Kernel count_, scan_, scatter_;
};

}  // namespace

std::unique_ptr<Case> make_reduction() { return std::make_unique<Reduction>(); }
std::unique_ptr<Case> make_histogram() { return std::make_unique<Histogram>(); }
std::unique_ptr<Case> make_bitonic() { return std::make_unique<Bitonic>(); }
std::unique_ptr<Case> make_radix() { return std::make_unique<Radix>(); }

}  // namespace bench
