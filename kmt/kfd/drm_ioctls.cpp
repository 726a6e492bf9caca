// amdgpu's ioctls on a render node or card: what libdrm asks to describe the device, and buffers by GEM
// handle.
#include <fcntl.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "device/clock.h"
#include "kmt/kfd/buffers.h"
#include "kmt/kfd/driver.h"
#include "kmt/kfd/status.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"

namespace morgana::kmt::kfd {
namespace {

// A string for a program that gives room for `length` characters and learns how many there are.
bool give_text(std::string_view text, uint64_t to, uint64_t& length) {
  const size_t bytes = std::min<size_t>(text.size(), length);
  length = text.size();
  return to == 0 || copy_guest(pointer(to), text.data(), bytes);
}

int version(DrmVersion& args) {
  args.major = 3;
  args.minor = 54;
  args.patch = 0;
  const bool copied = give_text("amdgpu", args.name, args.name_length) &&
                      give_text("20150101", args.date, args.date_length) &&
                      give_text("AMD GPU", args.description, args.description_length);
  return copied ? 0 : -EFAULT;
}

// ---- What a device is.

DeviceInfo device_info(uint32_t node) {
  const runtime::AgentSpec& spec = agent_of(node)->spec();
  DeviceInfo to{};
  to.device_id = spec.device_id;
  to.family = family_of(node);
  to.shader_engines = 1;
  to.arrays_per_engine = 1;
  to.counter_khz = device::kClockHz / 1000;
  to.max_engine_khz = uint64_t{spec.max_clock_mhz} * 1000;
  to.cus = compute_units(spec);
  to.first_address = 16 * kPage;
  to.last_address = (uint64_t{1} << 47) - 1;
  to.address_alignment = kPage;
  to.fragment_bytes = 2 * 1024 * 1024;
  to.gart_page = kPage;
  to.wave_size = spec.wave_size;
  to.visible_vgprs = 256;
  to.cus_per_array = compute_units(spec);
  return to;
}

// GB_ADDR_CONFIG and the tile modes of before gfx9 by their registers' numbers; others read as 0.
uint32_t read_register(uint32_t node, uint32_t number) {
  constexpr uint32_t kAddressConfig = 0x263e, kTileModes = 0x2644, kMacroTileModes = 0x2664;
  std::vector<HSAuint32> tiles(32), macro_tiles(16);
  HsaGpuTileConfig config{};
  config.TileConfig = tiles.data();
  config.NumTileConfigs = static_cast<HSAuint32>(tiles.size());
  config.MacroTileConfig = macro_tiles.data();
  config.NumMacroTileConfigs = static_cast<HSAuint32>(macro_tiles.size());
  if (hsaKmtGetTileConfig(node, &config) != HSAKMT_STATUS_SUCCESS) return 0;
  if (number == kAddressConfig) return config.GbAddrConfig;
  if (number >= kTileModes && number - kTileModes < config.NumTileConfigs) return tiles[number - kTileModes];
  if (number >= kMacroTileModes && number - kMacroTileModes < config.NumMacroTileConfigs)
    return macro_tiles[number - kMacroTileModes];
  return 0;
}

template <typename T>
int give(const DrmInfo& args, const T& value) {
  return copy_guest(pointer(args.to), &value, std::min<size_t>(args.size, sizeof value)) ? 0 : -EFAULT;
}

int give_registers(uint32_t node, const DrmInfo& args) {
  constexpr uint32_t kMost = 128;
  const uint32_t first = args.parameters[0], count = args.parameters[1];
  if (count == 0 || count > kMost || args.size < count * sizeof(uint32_t)) return -EINVAL;
  std::vector<uint32_t> values;
  for (uint32_t i = 0; i < count; ++i) values.push_back(read_register(node, first + i));
  return copy_guest(pointer(args.to), values.data(), values.size() * sizeof(uint32_t)) ? 0 : -EFAULT;
}

struct Heap {
  uint64_t total, usable, used, largest;
};
Heap heap_of(uint32_t node) {
  const uint64_t total = memory_size(node), used = total - MemoryTable::get().available(node);
  return {total, total, used, total};
}

int info(uint32_t node, DrmInfo& args) {
  const Heap vram = heap_of(node), gtt = heap_of(kHostNode);
  switch (static_cast<Info>(args.query)) {
    case Info::accel_working: return give(args, uint32_t{1});
    case Info::firmware_version: {
      const uint32_t version_and_feature[2] = {engine_firmware(node), 0};
      return give(args, version_and_feature);
    }
    case Info::vram_usage:
    case Info::visible_vram_usage: return give(args, vram.used);
    case Info::gtt_usage: return give(args, gtt.used);
    case Info::vram_gtt: {
      const uint64_t sizes[3] = {vram.total, vram.total, gtt.total};
      return give(args, sizes);
    }
    case Info::memory: {
      const Heap heaps[3] = {vram, vram, gtt};
      return give(args, heaps);
    }
    case Info::registers: return give_registers(node, args);
    case Info::device: return give(args, device_info(node));
  }
  return -EINVAL;
}

// ---- Buffers.

int gem_va(GemVa& args) {
  enum { kMap = 1, kUnmap, kClear, kReplace };
  constexpr uint32_t kExecutable = 8;
  switch (args.operation) {
    case kReplace:
      if (const int error = Buffers::get().unmap_at(args.address, args.size); error != 0) return error;
      [[fallthrough]];
    case kMap:
      return Buffers::get().map_at(args.handle, args.address, args.size, args.offset,
                                   (args.flags & kExecutable) != 0);
    case kUnmap:
    case kClear: return Buffers::get().unmap_at(args.address, args.size);
    default: return -EINVAL;
  }
}

int gem_metadata(GemMetadata& args) {
  enum { kSet = 1, kGet };
  Buffer buffer;
  if (!Buffers::get().find(args.handle, buffer)) return -ENOENT;
  if (args.operation == kSet) {
    Metadata metadata{args.flags, args.tiling, args.bytes};
    if (args.bytes > sizeof args.data) return -EINVAL;
    std::copy(std::begin(args.data), std::end(args.data), metadata.data);
    return Buffers::get().set_metadata(args.handle, metadata);
  }
  if (args.operation != kGet) return -EINVAL;
  const int file = Buffers::get().file_of(args.handle);
  if (file < 0) return file;
  const Metadata metadata = metadata_of(file);
  args.flags = metadata.flags;
  args.tiling = metadata.tiling;
  args.bytes = metadata.bytes;
  std::copy(std::begin(metadata.data), std::end(metadata.data), args.data);
  return 0;
}

int gem_op(GemOp& args) {
  constexpr uint32_t kHowCreated = 0;
  constexpr uint64_t kVramDomain = 4, kGttDomain = 2;
  Buffer buffer;
  if (!Buffers::get().find(args.handle, buffer)) return -ENOENT;
  if (args.operation != kHowCreated) return -EINVAL;
  const GemCreateIn how = {buffer.size, kPage, buffer.node == kHostNode ? kGttDomain : kVramDomain, 0};
  return copy_guest(pointer(args.value), &how, sizeof how) ? 0 : -EFAULT;
}

}  // namespace

long drm_ioctl(uint32_t node, unsigned long request, void* program) {
  device::ensure_guard_installed();
  const auto with = [&]<typename Arguments>(int (*call)(Arguments&)) {
    return with_arguments<Arguments>(request, program, call);
  };
  switch (static_cast<Drm>(number_of(request))) {
    case Drm::version: return with(version);
    case Drm::info:
      return with_arguments<DrmInfo>(request, program, [&](DrmInfo& args) { return info(node, args); });
    case Drm::gem_close: return with(+[](GemClose& args) { return Buffers::get().free(args.handle); });
    case Drm::prime_handle_to_file:
      return with(+[](Prime& args) {
        args.file = Buffers::get().export_file(args.handle, (args.flags & O_CLOEXEC) != 0);
        return args.file < 0 ? args.file : 0;
      });
    case Drm::prime_file_to_handle:
      return with_arguments<Prime>(request, program, [&](Prime& args) {
        uint64_t handle = 0;
        const int result = Buffers::get().import_file(args.file, 0, node, handle);
        args.handle = static_cast<uint32_t>(handle);
        return result;
      });
    case Drm::gem_mmap:
      return with(+[](GemMmap& args) {
        Buffer buffer;
        if (!Buffers::get().find(args.handle, buffer)) return -ENOENT;
        args.offset = map_offset(MapKind::buffer, args.handle);
        return 0;
      });
    case Drm::gem_va: return with(gem_va);
    case Drm::gem_metadata: return with(gem_metadata);
    case Drm::gem_op: return with(gem_op);
  }
  return -EOPNOTSUPP;
}

}  // namespace morgana::kmt::kfd
