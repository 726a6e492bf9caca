#include "runtime/profiling.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/options.h"
#include "base/own_records.h"
#include "codeobj/code_object.h"
#include "codeobj/line_table.h"
#include "codeobj/occupancy.h"
#include "device/profile.h"
#include "runtime/content_hash.h"

namespace morgana::runtime {
namespace {

using device::InstructionCounts;
using device::ProfiledInstruction;
using Json = nlohmann::ordered_json;

struct Instruction {
  device::InstructionText what;
  InstructionCounts counts;  // of all launches
  FaultPlace place;
};

struct KernelProfile {
  std::string name, processor;
  uint64_t launches = 0, groups = 0, waves = 0;
  std::array<uint32_t, 3> grid{}, group{};  // of the last launch
  uint32_t lds = 0, scratch = 0;            // bytes of a group, of a work-item: the most
  uint32_t wave_lanes = 64;
  std::optional<codeobj::Kernel> kernel;
  uint64_t code = 0;                                                  // hash of its function's bytes
  std::map<std::pair<uint64_t, uint64_t>, Instruction> instructions;  // by address and its code's region
};

// The code that a launch executes, read when somebody asks.
class Reader {
 public:
  explicit Reader(CodePlaces& code) : code_(code) {}

  FaultPlace place_of(uint64_t pc) {
    read();
    if (!object_) return code_.place_of(pc);
    const uint64_t address = pc - bias_;
    const codeobj::ElfSymbol* const function = object_->function_at(address);
    if (function == nullptr) return code_.place_of(pc);
    FaultPlace place;
    place.function = function->name;
    place.offset_in_function = address - function->value;
    if (lines_)
      if (auto line = lines_->find(address)) place.source = fmt::format("{}:{}", line->file, line->line);
    return place;
  }
  // The part of `region`, which is loaded code, that has the function at `entry`; all behind it where nobody
  // knows how long that is.
  Bytes function(uint64_t entry, Bytes region) {
    read();
    const uint64_t at = entry - reinterpret_cast<uint64_t>(region.data());
    if (at >= region.size()) return {};
    uint64_t size = region.size() - at;
    if (object_)
      if (const codeobj::ElfSymbol* const symbol = object_->function_at(entry - bias_); symbol != nullptr)
        size = std::min(size, symbol->size);
    return {region.data() + at, size};
  }
  std::optional<codeobj::Kernel> kernel(uint64_t entry) {
    read();
    if (!object_) return {};
    for (const codeobj::Kernel& one : object_->kernels())
      if (one.entry_address == entry - bias_) return one;
    return {};
  }

 private:
  void read() {
    if (has_read_) return;
    has_read_ = true;
    const CodeImage image = code_.code_object();
    bias_ = image.bias;
    auto object = codeobj::CodeObject::parse(Bytes(image.bytes));
    if (!object.ok()) return;
    object_ = std::move(object).value();
    if (auto lines = codeobj::LineTable::read(*object_); lines.ok()) lines_ = std::move(lines).value();
  }

  CodePlaces& code_;
  bool has_read_ = false;
  uint64_t bias_ = 0;
  std::optional<codeobj::CodeObject> object_;
  std::optional<codeobj::LineTable> lines_;
};

// Of this process. Never destroyed: queues may still run at exit.
class Profiles {
 public:
  static Profiles& get() {
    static auto* const profiles = new Profiles;
    return *profiles;
  }
  bool is_wanted() const { return !folder_.empty(); }
  void add(const device::Device& device, const device::Launch& launch, const device::LaunchProfile& profile,
           CodePlaces& code);

 private:
  Profiles() {
    folder_ = output_folder("MORGANA_PROFILE", options().profile);
    if (folder_.empty()) return;
    // The program may go to another folder.
    folder_ = std::filesystem::absolute(folder_);
    std::atexit([] { get().write(); });
  }
  // By name, processor, number of the code's region, and entry: others may be loaded where one was.
  using Kernels = std::map<std::tuple<std::string, std::string, uint64_t, uint64_t>, KernelProfile>;
  void write();

  std::string folder_;
  OwnRecords<Kernels> kernels_;
};

void add_to(KernelProfile& kernel, const device::Device& device, const device::Launch& launch,
            const device::LaunchProfile& profile, Reader& reader) {
  kernel.groups += profile.groups;
  kernel.waves += profile.waves;
  kernel.grid = launch.grid;
  kernel.group = launch.group;
  kernel.wave_lanes = static_cast<uint32_t>(launch.descriptor->wave_size());
  kernel.lds = std::max(kernel.lds, launch.group_bytes);
  kernel.scratch = std::max(kernel.scratch, launch.private_bytes);
  for (const ProfiledInstruction& one : profile.instructions) {
    const auto [at, is_new] = kernel.instructions.try_emplace({one.pc, device.code_number(one.pc)});
    Instruction& instruction = at->second;
    if (is_new) {
      instruction.what = text_of(one);
      instruction.place = reader.place_of(one.pc);
    }
    instruction.counts.add(one.counts);
  }
}

void Profiles::add(const device::Device& device, const device::Launch& launch,
                   const device::LaunchProfile& profile, CodePlaces& code) {
  const FaultPlace entry = code.place_of(launch.entry);
  const uint64_t region = device.code_number(launch.entry);
  Reader reader(code);
  kernels_.with([&](Kernels& kernels) {
    KernelProfile& kernel = kernels[{entry.kernel, entry.processor, region, launch.entry}];
    if (kernel.launches++ == 0) {
      kernel.name = entry.kernel;
      kernel.processor = entry.processor;
      kernel.kernel = reader.kernel(launch.entry);
      const Bytes function = reader.function(launch.entry, device.code_around(launch.entry));
      kernel.code = hash_bytes(function.data(), function.size());
    }
    add_to(kernel, device, launch, profile, reader);
  });
}

Json json_of(const Instruction& one) {
  const InstructionCounts& counts = one.counts;
  return {{"function", one.place.function},
          {"offset", one.place.offset_in_function},
          {"source", one.place.source},
          {"text", one.what.text},
          {"kind", device::name(one.what.kind)},
          {"is_atomic", one.what.is_atomic},
          {"is_barrier", one.what.is_barrier},
          {"executions", counts.executions},
          {"lanes", counts.lanes},
          {"idle", counts.idle},
          {"flop", counts.flop},
          {"matrix_flop", counts.matrix_flop},
          {"global_bytes", counts.bytes[0]},
          {"lds_bytes", counts.bytes[1]},
          {"scratch_bytes", counts.bytes[2]},
          {"lines", counts.lines},
          {"least_lines", counts.least_lines},
          {"lds_phases", counts.lds_phases},
          {"least_lds_phases", counts.least_lds_phases}};
}

Json json_of(const KernelProfile& kernel) {
  Json made = {{"name", kernel.name},         {"processor", kernel.processor},  {"code", kernel.code},
               {"launches", kernel.launches}, {"groups", kernel.groups},        {"waves", kernel.waves},
               {"grid", kernel.grid},         {"group", kernel.group},          {"lds", kernel.lds},
               {"scratch", kernel.scratch},   {"wave_lanes", kernel.wave_lanes}};
  if (kernel.kernel) {
    const codeobj::Kernel& known = *kernel.kernel;
    codeobj::WaveResources resources = codeobj::resources_of(known);
    made["sgprs"] = resources.sgprs;
    made["vgprs"] = resources.vgprs;
    made["sgpr_spills"] = known.metadata.sgpr_spill_count;
    made["vgpr_spills"] = known.metadata.vgpr_spill_count;
    const codeobj::Occupancy compiled = codeobj::occupancy(known.descriptor.target, resources);
    made["compiled_occupancy"] = compiled.waves;
    // As it was launched: with dynamic LDS, in groups of that size.
    resources.lds = std::max(resources.lds, kernel.lds);
    resources.group_least = resources.group_most = kernel.group[0] * kernel.group[1] * kernel.group[2];
    const codeobj::Occupancy launched = codeobj::occupancy(known.descriptor.target, resources);
    made["occupancy"] = launched.waves;
    made["occupancy_most"] = launched.most;
    made["limiter"] = launched.limiter;
  }
  Json& list = made["instructions"] = Json::array();
  for (const auto& [pc, one] : kernel.instructions) list.push_back(json_of(one));
  return made;
}

void Profiles::write() {
  const Kernels kernels = kernels_.with([](Kernels& own) { return std::exchange(own, {}); });
  if (kernels.empty()) return;
  Json all = {{"version", 1}, {"process", getpid()}};
  Json& list = all["kernels"] = Json::array();
  for (const auto& [key, kernel] : kernels) list.push_back(json_of(kernel));
  // Names come from code objects and may be no UTF-8.
  const std::string text = all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const Status written = write_whole_file(fmt::format("{}/{}.json", folder_, getpid()), text);
  if (!written.ok()) log(LogLevel::warn, "MORGANA_PROFILE: {}", written.error().message);
}

}  // namespace

bool profile_wanted() {
  static const bool wanted =
      !options().profile.empty() && checks_wanted() == 0 && Profiles::get().is_wanted();
  return wanted;
}

device::Fault run_profiled(device::Device& device, device::Launch& launch, CodePlaces& code) {
  device::LaunchProfile profile;
  launch.profile = &profile;
  device::Fault fault = device.run(launch);
  launch.profile = nullptr;
  Profiles::get().add(device, launch, profile, code);
  return fault;
}

}  // namespace morgana::runtime
