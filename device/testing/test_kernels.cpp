#include "device/testing/test_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "device/testing/wave_rig.h"

namespace morgana::device {

TestKernel::TestKernel(const std::string& name, Target target) {
  std::ifstream file(MORGANA_SOURCE_DIR "/device/dispatch/testdata/kernels.txt");
  const std::string heading = fmt::format("kernel {} {}", name, info(target).name);
  bool found = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("kernel ")) {
      if (found) break;
      found = line == heading;
    } else if (found) {
      for (uint32_t dword : dwords_of_hex(line.substr(0, line.find(' ')))) code_.push_back(dword);
    }
  }
  if (!found) {
    fmt::print(stderr, "no \"{}\" in kernels.txt\n", heading);
    std::abort();
  }
  descriptor.target = target;
  descriptor.compute_pgm_rsrc1 = 0xf0u << 12;
  descriptor.ieee_mode = descriptor.dx10_clamp = true;
  descriptor.vgpr_count = 32;
  descriptor.accum_offset = info(target).unified_vgprs ? 32 : 0;
  descriptor.sgpr_count = 96;
  descriptor.user_sgpr_count = 2;
  descriptor.enable_sgpr_kernarg_segment_ptr = true;
  descriptor.enable_sgpr_workgroup_id_x = descriptor.enable_sgpr_workgroup_id_y = true;
  descriptor.enable_sgpr_workgroup_id_z = descriptor.enable_sgpr_workgroup_info = true;
  descriptor.enable_vgpr_workitem_id = 2;
}

Fault TestKernel::run(Device& device) {
  launch.kernarg = reinterpret_cast<uint64_t>(arguments.data());
  load(device);
  Fault fault = device.run(launch);
  unload(device);
  return fault;
}

void TestKernel::load(Device& device) {
  launch.descriptor = &descriptor;
  launch.entry = reinterpret_cast<uint64_t>(code_.data());
  device.add_code(launch.entry, code_.size() * 4);
}

Fault TestKernel::launch_with(Device& device, const std::vector<uint64_t>& own, uint32_t groups,
                              uint32_t size) const {
  Launch copy = launch;
  copy.kernarg = reinterpret_cast<uint64_t>(own.data());
  copy.grid = {groups * size, 1, 1};
  copy.group = {size, 1, 1};
  return device.run(copy);
}

void TestKernel::unload(Device& device) { device.remove_code(launch.entry); }

void TestKernel::replace_literal(uint32_t from, uint32_t to) {
  std::replace(code_.begin(), code_.end(), from, to);
}

}  // namespace morgana::device
