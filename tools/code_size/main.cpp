// morgana_code_size: what the JIT makes of the kernels of kernels.cl.
//
//   --check TABLE    exits 1 when a kernel's host code is larger than the table says, or so much smaller that
//                    the table is out of date, 77 when it has no rows of this level
//   --update TABLE   writes the rows of this host vector level (MORGANA_SIMD)
//   --times [NAME]   instructions, bytes and CPU milliseconds: compiled, compiled quickly, and from a cache;
//                    of one kernel
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "base/clock.h"
#include "base/file.h"
#include "codeobj/code_object.h"
#include "codeobj/kernel_descriptor.h"
#include "codeobj/loader.h"
#include "device/device.h"
#include "device/object_store.h"
#include "device/testing/kernel_code.h"
#include "runtime/compiler/compiler.h"

namespace morgana {
namespace {

constexpr const char* kTargets[] = {"gfx90a", "gfx950"};
constexpr uint32_t kGroup = 256;
constexpr int kNotHere = 77;  // ctest: skipped
// A change of the code by more than this is one that somebody should see; bytes, then parts of a hundred.
constexpr uint64_t kSlack = 256, kPercent = 8;

// The one kernel that is measured; empty: all.
std::string_view only;

double cpu_milliseconds() { return static_cast<double>(nanoseconds(CLOCK_PROCESS_CPUTIME_ID)) * 1e-6; }

// The latest object, as a disk cache keeps it.
class OneObject final : public device::ObjectStore {
 public:
  std::optional<std::string> load(std::string_view identity) override {
    return identity == identity_ ? std::optional(object_) : std::nullopt;
  }
  void store(std::string_view identity, std::string object) override {
    identity_ = identity;
    object_ = std::move(object);
  }

 private:
  std::string identity_, object_;
};

struct Measured {
  device::KernelCode code;
  double compile = 0, quick = 0, load = 0;  // CPU milliseconds
};
using Results = std::map<std::pair<std::string, std::string>, Measured>;  // by target and kernel

Result<std::string> build(const char* processor) {
  MORGANA_TRY(const std::vector<uint8_t> source, read_file(MORGANA_SOURCE_DIR "/tools/code_size/kernels.cl"));
  runtime::TargetDescription target;
  target.processor = processor;
  target.extensions = {"cl_khr_fp64", "cl_khr_fp16", "__opencl_c_fp64"};
  MORGANA_TRY(const runtime::BuildOptions options,
              runtime::parse_build_options("-cl-std=CL3.0", runtime::BuildStage::build));
  std::string log;
  const std::string_view text(reinterpret_cast<const char*>(source.data()), source.size());
  auto built = runtime::build_source({text, {}, nullptr}, options, target, log);
  if (!built.ok()) return built.error().in(log);
  return built;
}

Result<Measured> measure(device::KernelCompiler& compiler, const codeobj::KernelDescriptor& descriptor,
                         uint64_t entry, bool times) {
  Measured result;
  const auto take = [&](bool quick, double& time) -> Status {
    const double begin = cpu_milliseconds();
    MORGANA_TRY(result.code, compiler.compile(descriptor, entry, kGroup, quick));
    time = cpu_milliseconds() - begin;
    return {};
  };
  if (times) MORGANA_CHECK(take(true, result.quick));
  MORGANA_CHECK(take(false, result.compile));
  if (times) MORGANA_CHECK(take(false, result.load));
  return result;
}

Status measure_target(const char* processor, bool times, Results& results) {
  const Target target = *find_target(processor);
  MORGANA_TRY(const std::string bytes, build(processor));
  MORGANA_TRY(const codeobj::CodeObject object,
              codeobj::CodeObject::parse(Bytes(bytes.data(), bytes.size())));
  codeobj::LoadCallbacks callbacks;
  callbacks.allocate = [](size_t size, size_t) -> Result<void*> {
    return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  MORGANA_TRY(const codeobj::LoadedCode loaded, codeobj::load(object, callbacks));
  device::KernelCompiler compiler(target);
  for (const codeobj::LoadedSegment& segment : loaded.segments)
    if (segment.flags & PF_X) compiler.add_code(segment.address, segment.size);
  for (size_t i = 0; i < loaded.kernels.size(); i++) {
    const codeobj::Kernel& kernel = object.kernels()[i];
    if (!only.empty() && loaded.kernels[i].name != only) continue;
    auto measured = measure(compiler, kernel.descriptor, loaded.kernels[i].entry_address, times);
    if (!measured.ok()) return measured.error().in(loaded.kernels[i].name);
    results[{processor, loaded.kernels[i].name}] = *measured;
  }
  return {};
}

struct Row {
  std::string level, target, kernel;
  uint64_t instructions = 0, by_handlers = 0, bytes = 0;
};

Result<std::vector<Row>> read_table(const std::string& path) {
  MORGANA_TRY(const std::vector<uint8_t> bytes, read_file(path));
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  std::vector<Row> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#') || line.starts_with("level")) continue;
    std::istringstream words(line);
    Row row;
    if (!(words >> row.level >> row.target >> row.kernel >> row.instructions >> row.by_handlers >> row.bytes))
      return make_error(ErrorCode::malformed, "{}: '{}'", path, line);
    rows.push_back(std::move(row));
  }
  return rows;
}

Status update(const std::string& path, const Results& results) {
  std::vector<Row> rows;
  if (auto before = read_table(path); before.ok()) rows = std::move(before).value();
  const std::string level = name(device::Device::host_level());
  std::erase_if(rows, [&](const Row& row) { return row.level == level; });
  for (const auto& [name, measured] : results)
    rows.push_back({level, name.first, name.second, measured.code.instructions, measured.code.by_handlers,
                    measured.code.host_bytes});
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.level, a.target, a.kernel) < std::tie(b.level, b.target, b.kernel);
  });
  std::ofstream file(path);
  file << "# Host code of the kernels of kernels.cl, work-groups of 256. Written by ./dev code-size.\n"
          "level\ttarget\tkernel\tinstructions\tby_handlers\thost_bytes\n";
  for (const Row& row : rows)
    file << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", row.level, row.target, row.kernel, row.instructions,
                        row.by_handlers, row.bytes);
  if (!file.flush()) return make_error(ErrorCode::io, "{} cannot be written", path);
  return {};
}

int check(const std::string& path, const Results& results) {
  auto rows = read_table(path);
  if (!rows.ok()) {
    fmt::print(stderr, "{}\n", rows.error().message);
    return 1;
  }
  int wrong = 0, known = 0;
  const std::string level = name(device::Device::host_level());
  for (const Row& row : *rows) {
    if (row.level != level) continue;
    known++;
    const auto found = results.find({row.target, row.kernel});
    if (found == results.end()) {
      fmt::print("{} {}: no such kernel\n", row.target, row.kernel);
      wrong++;
      continue;
    }
    const uint64_t now = found->second.code.host_bytes, slack = kSlack + row.bytes * kPercent / 100;
    if (now <= row.bytes + slack && now + slack >= row.bytes) continue;
    fmt::print("{} {}: {} bytes of host code, {} in the table; {} guest instructions, {} in the table\n",
               row.target, row.kernel, now, row.bytes, found->second.code.instructions, row.instructions);
    wrong++;
  }
  if (known == 0) {
    fmt::print("the table has no rows of {}\n", level);
    return kNotHere;
  }
  if (known != static_cast<int>(results.size())) {
    fmt::print("the table has {} rows of {}, there are {} kernels\n", known, level, results.size());
    wrong++;
  }
  if (wrong) fmt::print("if that is meant: ./dev code-size\n");
  return wrong != 0;
}

void print_times(const Results& results) {
  fmt::print(
      "| kernel | target | instructions | by handlers | host bytes | compile, ms | quickly, ms | from the "
      "cache, ms |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const auto& [name, m] : results)
    fmt::print("| {} | {} | {} | {} | {} | {:.0f} | {:.0f} | {:.1f} |\n", name.second, name.first,
               m.code.instructions, m.code.by_handlers, m.code.host_bytes, m.compile, m.quick, m.load);
}

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  const bool times = verb == "--times";
  if (!(times && argc <= 3) && !((verb == "--check" || verb == "--update") && argc == 3)) {
    fmt::print(stderr, "morgana_code_size --check TABLE | --update TABLE | --times [NAME]\n");
    return 2;
  }
  OneObject store;
  if (times) {
    device::set_object_store(&store);
    if (argc == 3) only = argv[2];
  }
  Results results;
  for (const char* target : kTargets)
    if (auto done = measure_target(target, times, results); !done.ok()) {
      fmt::print(stderr, "{}: {}\n", target, done.error().message);
      return 1;
    }
  if (times) {
    print_times(results);
    return 0;
  }
  if (verb == "--check") return check(argv[2], results);
  auto written = update(argv[2], results);
  if (!written.ok()) fmt::print(stderr, "{}\n", written.error().message);
  return written.ok() ? 0 : 1;
}

}  // namespace
}  // namespace morgana

int main(int argc, char** argv) { return morgana::main(argc, argv); }
