// RunSummary: what the processes of one run executed, counted in memory that they share.
//
// `morgana run --summary` (or --require) makes the memory and names it in MORGANA_SUMMARY. A process that has
// the variable maps it and counts into it, so that the counts outlive the process, however it ends, and reach
// over fork and exec. Counting takes no lock: callable from any thread. What is read back is not trusted,
// since the program could write there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace morgana::device {
struct Fault;
}

namespace morgana::runtime {

class RunSummary {
 public:
  // No option of the user: `morgana run` sets it.
  static constexpr const char* kVariable = "MORGANA_SUMMARY";

  struct Kernel;  // the counts of one kernel
  enum class Build { made, cached, failed };

  // The summary of the run that this process belongs to; null when nobody asked for one.
  static RunSummary* of_process();
  // The same, and from then on the process counts as one that builds or launches.
  static RunSummary* of_working_process();

  static Result<RunSummary> create();
  static Result<RunSummary> open(const std::string& path);
  RunSummary(RunSummary&& other) noexcept;
  ~RunSummary();

  // Where processes of this run find it, as long as it exists in this one.
  std::string path() const;

  // The counts of all kernels of that name; "" stands for code that has none.
  Kernel& kernel(std::string_view name);
  // A launch begins and has ended; null: nobody counts.
  static void count_launch(Kernel* kernel);
  static void count_end(Kernel* kernel, const device::Fault& fault);
  void count_build(Build outcome);
  void count_process();
  // Of dispatches under checks (checking.h): until all of one has been checked it counts as unchecked.
  void begin_checked();
  void end_checked();
  void count_finding(bool is_suppressed);

  struct KernelCounts {
    std::string name;
    uint64_t launches = 0, faults = 0;
    // Not code that AMD's runtime brings along for copies and fills.
    bool is_of_program() const;
  };
  struct Counts {
    uint64_t processes = 0;  // that built or launched something
    uint64_t builds = 0, cached_builds = 0, failed_builds = 0;
    uint64_t checked = 0, unchecked = 0;    // dispatches; unchecked: of those, some part was not
    uint64_t findings = 0, suppressed = 0;  // of checks
    std::vector<KernelCounts> kernels;      // most launches first, then by name
  };
  Counts counts() const;
  // Adds what another run counted.
  void add(const Counts& counts);

 private:
  struct Table;
  RunSummary(int descriptor, Table* table) : descriptor_(descriptor), table_(table) {}
  static Result<RunSummary> map(int descriptor);

  int descriptor_ = -1;
  Table* table_ = nullptr;
};

}  // namespace morgana::runtime
