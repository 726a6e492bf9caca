// Named barriers of sub-groups (cl_khr_subgroup_named_barrier), as the SPIR-V reader calls them (spirv/named_barriers.cpp):
// a work-group's local memory holds one for each place that initializes one.

typedef unsigned int uint;

struct NamedBarrier {
  uint sub_groups;      // that meet there
  atomic_uint arrived;  // since it opened last
  atomic_uint openings;
};

__SIZE_TYPE__ __attribute__((const)) __ockl_get_local_linear_id(void);
void __attribute__((overloadable)) work_group_barrier(uint);
int __attribute__((overloadable)) sub_group_elect(void);

#define LOCAL_MEMORY 1u  // CLK_LOCAL_MEM_FENCE
#define GROUP __OPENCL_MEMORY_SCOPE_WORK_GROUP

// By all work-items of the group, which may still wait there when the place is in a loop.
void __morgana_named_barrier_initialize(local struct NamedBarrier* barrier, uint sub_groups) {
  work_group_barrier(LOCAL_MEMORY);
  if (__ockl_get_local_linear_id() == 0) {
    barrier->sub_groups = sub_groups;
    __opencl_atomic_store(&barrier->arrived, 0u, __ATOMIC_RELAXED, GROUP);
    __opencl_atomic_store(&barrier->openings, 0u, __ATOMIC_RELAXED, GROUP);
  }
  work_group_barrier(LOCAL_MEMORY);
}

// An atomic operation of the target, by which the check of races knows it: an atomic load is a load there.
static uint count_of(local atomic_uint* counter) { return __opencl_atomic_fetch_add(counter, 0u, __ATOMIC_ACQ_REL, GROUP); }

// By all work-items of as many sub-groups as were named.
void __morgana_named_barrier_wait(local struct NamedBarrier* barrier) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  if (sub_group_elect()) {
    uint before = count_of(&barrier->openings);
    if (__opencl_atomic_fetch_add(&barrier->arrived, 1u, __ATOMIC_ACQ_REL, GROUP) + 1 == barrier->sub_groups) {
      __opencl_atomic_exchange(&barrier->arrived, 0u, __ATOMIC_RELAXED, GROUP);
      __opencl_atomic_fetch_add(&barrier->openings, 1u, __ATOMIC_RELEASE, GROUP);
    } else {
      while (count_of(&barrier->openings) == before) __builtin_amdgcn_s_sleep(1);
    }
  }
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
