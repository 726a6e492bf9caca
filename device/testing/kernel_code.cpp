#include "device/testing/kernel_code.h"

#include "device/dispatch/launch_plan.h"
#include "device/jit/kernel.h"

namespace morgana::device {

struct KernelCompiler::Impl {
  explicit Impl(Target which) : target(which), code(which) {}
  Target target;
  CodeMap code;
};

KernelCompiler::KernelCompiler(Target target) : impl_(std::make_unique<Impl>(target)) { jit::warm_up(); }
KernelCompiler::~KernelCompiler() = default;

void KernelCompiler::add_code(uint64_t address, uint64_t size) {
  impl_->code.add(address, Bytes(reinterpret_cast<const void*>(address), size));
}

Result<KernelCode> KernelCompiler::compile(const codeobj::KernelDescriptor& descriptor, uint64_t entry,
                                           uint32_t items, bool quick) {
  Launch launch;
  launch.descriptor = &descriptor;
  launch.entry = entry;
  launch.grid = launch.group = {items, 1, 1};
  launch.group_bytes = descriptor.group_segment_fixed_size;
  Fault problem;
  const auto plan = LaunchPlan::make(impl_->target, launch, {}, impl_->code, nullptr, nullptr, problem);
  if (!plan) return make_error(ErrorCode::unsupported, "{}", problem.detail);
  if (!plan->can_compile()) return make_error(ErrorCode::unsupported, "{}", plan->why_interpreted());
  jit::Specialisation key = plan->specialisation();
  key.local = launch.group;
  key.full_wave = true;
  key.quick = quick;
  MORGANA_TRY(const auto kernel, jit::compile(*impl_->code.find(entry), plan->first_step, key));
  const jit::Kernel::Shares& shares = kernel->shares();
  return KernelCode{shares.instructions, shares.by_handlers, shares.host_bytes};
}

}  // namespace morgana::device
