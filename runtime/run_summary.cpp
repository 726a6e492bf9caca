#include "runtime/run_summary.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "device/fault.h"

namespace morgana::runtime {
namespace {

constexpr uint64_t kMagic = 0x32'59'52'4d'4d'55'53'4d;  // "MSUMMRY2"
constexpr size_t kKernels = 4096;
constexpr size_t kLongestName = 228;

using Counter = std::atomic<uint64_t>;

void increment(Counter& counter, uint64_t by = 1) { counter.fetch_add(by, std::memory_order_relaxed); }

// FNV-1a. Never 0, which marks a free row.
uint64_t hash_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

Error system_error(const std::string& what) {
  return make_error(ErrorCode::io, "{}: {}", what, std::strerror(errno));
}

}  // namespace

// A row belongs to the name whose hash it holds; the name itself is there for readers and is written once.
struct RunSummary::Kernel {
  Counter hash, launches, faults;
  std::atomic<uint32_t> name_length;
  std::array<char, kLongestName> name;
};

struct RunSummary::Table {
  Counter magic, processes, builds, cached_builds, failed_builds;
  Counter checked, unchecked, findings, suppressed;
  std::array<Kernel, kKernels> kernels;
  Kernel others;  // when the rows are used up
};

RunSummary* RunSummary::of_process() {
  static RunSummary* const summary = []() -> RunSummary* {
    const char* const path = std::getenv(kVariable);
    if (path == nullptr || *path == 0) return nullptr;
    auto opened = open(path);
    if (!opened.ok()) {
      log(LogLevel::warn, "{}: {}", kVariable, opened.error().message);
      return nullptr;
    }
    return new RunSummary(std::move(*opened));  // outlives static destructors, as the queues that count do
  }();
  return summary;
}

RunSummary* RunSummary::of_working_process() {
  static RunSummary* const summary = [] {
    RunSummary* const found = of_process();
    if (found != nullptr) found->count_process();
    return found;
  }();
  return summary;
}

Result<RunSummary> RunSummary::create() {
  const int descriptor = ::memfd_create("morgana-summary", MFD_CLOEXEC);
  if (descriptor < 0) return system_error("memfd_create");
  if (::ftruncate(descriptor, sizeof(Table)) != 0) {
    const Error error = system_error("a summary");
    ::close(descriptor);
    return error;
  }
  MORGANA_TRY(RunSummary summary, map(descriptor));
  summary.table_->magic.store(kMagic);
  return summary;
}

Result<RunSummary> RunSummary::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return system_error(path);
  MORGANA_TRY(RunSummary summary, map(descriptor));
  if (summary.table_->magic.load() != kMagic)
    return make_error(ErrorCode::invalid_argument, "{}: not a summary", path);
  return summary;
}

// Takes the descriptor.
Result<RunSummary> RunSummary::map(int descriptor) {
  struct stat status{};
  void* memory = MAP_FAILED;
  errno = EINVAL;
  if (::fstat(descriptor, &status) == 0 && status.st_size == sizeof(Table))
    memory = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    const Error error = system_error("a summary's memory");
    ::close(descriptor);
    return error;
  }
  return RunSummary(descriptor, static_cast<Table*>(memory));
}

RunSummary::RunSummary(RunSummary&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), table_(std::exchange(other.table_, nullptr)) {}

RunSummary::~RunSummary() {
  if (table_ != nullptr) ::munmap(table_, sizeof(Table));
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string RunSummary::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor_); }

RunSummary::Kernel& RunSummary::kernel(std::string_view name) {
  const uint64_t hash = hash_of(name);
  for (size_t i = 0; i < kKernels; ++i) {
    Kernel& row = table_->kernels[(hash + i) % kKernels];
    uint64_t owner = row.hash.load(std::memory_order_relaxed);
    if (owner == 0 && row.hash.compare_exchange_strong(owner, hash)) {
      const std::string_view kept = name.substr(0, kLongestName);
      std::ranges::copy(kept, row.name.begin());
      row.name_length.store(static_cast<uint32_t>(kept.size()), std::memory_order_release);
      return row;
    }
    if (owner == hash) return row;
  }
  return table_->others;
}

void RunSummary::count_launch(Kernel* kernel) {
  if (kernel != nullptr) increment(kernel->launches);
}

void RunSummary::count_end(Kernel* kernel, const device::Fault& fault) {
  // The program's own cancelling gives no detail.
  const bool well = fault.kind == device::FaultKind::none ||
                    (fault.kind == device::FaultKind::cancelled && fault.detail.empty());
  if (kernel != nullptr && !well) increment(kernel->faults);
}

void RunSummary::count_process() { increment(table_->processes); }

void RunSummary::begin_checked() {
  increment(table_->checked);
  increment(table_->unchecked);
}

void RunSummary::end_checked() { table_->unchecked.fetch_sub(1, std::memory_order_relaxed); }

void RunSummary::count_finding(bool is_suppressed) {
  increment(is_suppressed ? table_->suppressed : table_->findings);
}

void RunSummary::count_build(Build outcome) {
  increment(table_->builds);
  if (outcome == Build::cached) increment(table_->cached_builds);
  if (outcome == Build::failed) increment(table_->failed_builds);
}

bool RunSummary::KernelCounts::is_of_program() const {
  return !name.empty() && !name.starts_with("__amd_rocclr_");
}

RunSummary::Counts RunSummary::counts() const {
  Counts counts{table_->processes.load(),     table_->builds.load(),     table_->cached_builds.load(),
                table_->failed_builds.load(), table_->checked.load(),    table_->unchecked.load(),
                table_->findings.load(),      table_->suppressed.load(), {}};
  for (const Kernel& row : table_->kernels) {
    if (row.launches.load() == 0) continue;
    const size_t length = std::min<size_t>(row.name_length.load(std::memory_order_acquire), kLongestName);
    counts.kernels.push_back({std::string(row.name.data(), length), row.launches.load(), row.faults.load()});
  }
  if (const uint64_t launches = table_->others.launches.load(); launches != 0)
    counts.kernels.push_back({"(further kernels)", launches, table_->others.faults.load()});
  std::sort(counts.kernels.begin(), counts.kernels.end(), [](const auto& a, const auto& b) {
    return a.launches != b.launches ? a.launches > b.launches : a.name < b.name;
  });
  return counts;
}

void RunSummary::add(const Counts& counts) {
  increment(table_->processes, counts.processes);
  increment(table_->builds, counts.builds);
  increment(table_->cached_builds, counts.cached_builds);
  increment(table_->failed_builds, counts.failed_builds);
  increment(table_->checked, counts.checked);
  increment(table_->unchecked, counts.unchecked);
  increment(table_->findings, counts.findings);
  increment(table_->suppressed, counts.suppressed);
  for (const KernelCounts& more : counts.kernels) {
    Kernel& row = kernel(more.name);
    increment(row.launches, more.launches);
    increment(row.faults, more.faults);
  }
}

}  // namespace morgana::runtime
