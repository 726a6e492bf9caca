// Device-side enqueue (OpenCL C 3.0, 6.15.18): a kernel leaves records of what it enqueues, and the host launches that
// when the kernel has ended (runtime/children.h). That is soon enough for each of the flags NO_WAIT, WAIT_KERNEL and
// WAIT_WORK_GROUP. AMD's functions want a scheduler on the device. Its ndrange_1D, _2D and _3D serve here, too.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

#include "runtime/enqueue_records.h"

typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned char uchar;
// A block literal holds values of any type.
typedef uint __attribute__((may_alias)) AnyWord;

extern constant const int __oclc_ABI_version;
// Whether the program was built with -g and is told more than that it failed.
extern constant const int __morgana_enqueue_errors;

typedef struct {
  uint dimensions;
  ulong offset[3];
  ulong global_size[3];
  ulong local_size[3];
} Range;

typedef global struct ChildArena Arena;
typedef global struct ChildEvent Event;

#define F __attribute__((overloadable))
#define UNUSED __attribute__((unused))

#define CLK_SUCCESS 0
#define CLK_ENQUEUE_FAILURE -101
#define CLK_INVALID_QUEUE -102
#define CLK_INVALID_NDRANGE -160
#define CLK_INVALID_EVENT_WAIT_LIST -57
#define CLK_DEVICE_QUEUE_FULL -161
#define CLK_INVALID_ARG_SIZE -51
#define CLK_EVENT_ALLOCATION_FAILURE -100
#define CLK_OUT_OF_RESOURCES -5

#define CL_COMPLETE 0
#define CL_SUBMITTED 2
#define CLK_PROFILING_COMMAND_EXEC_TIME 1

// Clang compiles blocks for groups of so many work-items.
#define LARGEST_GROUP 256
#define WAVE (__oclc_wavefrontsize64 ? 64u : 32u)
extern constant const uchar __oclc_wavefrontsize64;
// Local memory fits the largest type, as the host places it.
#define LOCAL_ALIGNMENT 128

#define WORD(p) ((volatile global atomic_uint*)(p))
#define LONG(p) ((volatile global atomic_ulong*)(p))
#define DEVICE __OPENCL_MEMORY_SCOPE_DEVICE

// Where code object V4, and V5 and later, have the implicit arguments of that number.
static ulong implicit_argument(int in_v4, int in_v5) {
  constant const ulong* arguments = (constant const ulong*)__builtin_amdgcn_implicitarg_ptr();
  return arguments[__oclc_ABI_version < 500 ? in_v4 : in_v5];
}
static Arena* find_arena(void) { return (Arena*)implicit_argument(5, 14); }

F queue_t get_default_queue(void) { return __builtin_astype(implicit_argument(4, 13), queue_t); }

static int failure(int code) { return __morgana_enqueue_errors ? code : CLK_ENQUEUE_FAILURE; }

// --- Events ---

// The event behind a handle; null: it is none.
static Event* find_event(Arena* arena, clk_event_t handle) {
  if (arena == 0) return 0;
  const ulong offset = __builtin_astype(handle, ulong) - arena->events;
  if (offset >= arena->event_capacity * sizeof(struct ChildEvent) || offset % sizeof(struct ChildEvent) != 0) return 0;
  Event* event = (Event*)(arena->events + offset);
  return __opencl_atomic_load(WORD(&event->holders), __ATOMIC_RELAXED, DEVICE) != 0 ? event : 0;
}

static Event* take_freed_event(Arena* arena) {
  Event* const events = (Event*)arena->events;
  ulong top = __opencl_atomic_load(LONG(&arena->free_events), __ATOMIC_ACQUIRE, DEVICE);
  while ((uint)top != 0) {
    Event* const event = events + ((uint)top - 1);
    const ulong next = ((top >> 32) + 1) << 32 | *(volatile global uint*)&event->next_free;
    if (__opencl_atomic_compare_exchange_strong(LONG(&arena->free_events), &top, next, __ATOMIC_ACQ_REL,
                                                __ATOMIC_ACQUIRE, DEVICE))
      return event;
  }
  return 0;
}

static Event* make_event(Arena* arena, uint is_user, uint holders) {
  Event* event = take_freed_event(arena);
  if (event == 0) {
    const ulong index = __opencl_atomic_fetch_add(LONG(&arena->events_used), 1ul, __ATOMIC_RELAXED, DEVICE);
    if (index >= arena->event_capacity) return 0;
    event = (Event*)arena->events + index;
  }
  event->is_user = is_user;
  event->executed = event->completed = 0;
  __opencl_atomic_store(WORD(&event->status), (uint)CL_SUBMITTED, __ATOMIC_RELAXED, DEVICE);
  __opencl_atomic_store(WORD(&event->holders), holders, __ATOMIC_RELEASE, DEVICE);
  return event;
}

static void hold(Event* event) { __opencl_atomic_fetch_add(WORD(&event->holders), 1u, __ATOMIC_RELAXED, DEVICE); }

static void let_go(Arena* arena, Event* event, uint times) {
  if (__opencl_atomic_fetch_sub(WORD(&event->holders), times, __ATOMIC_ACQ_REL, DEVICE) != times) return;
  const ulong index = event - (Event*)arena->events;
  ulong top = __opencl_atomic_load(LONG(&arena->free_events), __ATOMIC_RELAXED, DEVICE);
  ulong next;
  do {
    *(volatile global uint*)&event->next_free = (uint)top;
    next = ((top >> 32) + 1) << 32 | (index + 1);
  } while (!__opencl_atomic_compare_exchange_strong(LONG(&arena->free_events), &top, next, __ATOMIC_ACQ_REL,
                                                    __ATOMIC_RELAXED, DEVICE));
}

F clk_event_t create_user_event(void) {
  Arena* const arena = find_arena();
  Event* const event = arena == 0 ? 0 : make_event(arena, 1, 1);
  return __builtin_astype(event == 0 ? ~0ul : (ulong)event, clk_event_t);  // CLK_NULL_EVENT
}

F bool is_valid_event(clk_event_t handle) { return find_event(find_arena(), handle) != 0; }

F void retain_event(clk_event_t handle) {
  Event* const event = find_event(find_arena(), handle);
  if (event != 0) hold(event);
}

F void release_event(clk_event_t handle) {
  Arena* const arena = find_arena();
  Event* const event = find_event(arena, handle);
  if (event != 0) let_go(arena, event, 1);
}

F void set_user_event_status(clk_event_t handle, int status) {
  Event* const event = find_event(find_arena(), handle);
  if (event == 0 || !event->is_user || status > CL_COMPLETE) return;
  uint submitted = CL_SUBMITTED;
  __opencl_atomic_compare_exchange_strong(WORD(&event->status), &submitted, (uint)status, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED, DEVICE);
}

// --- Records ---

// Room for a record of `size` bytes, in which only kind and counts are still to be written; null: there is none.
static global struct ChildRecord* reserve(Arena* arena, uint size, uint kind) {
  const ulong at = __opencl_atomic_fetch_add(LONG(&arena->used), (ulong)size, __ATOMIC_RELAXED, DEVICE);
  const ulong capacity = arena->capacity;
  if (at > capacity || size > capacity - at) {
    __opencl_atomic_fetch_min(LONG(&arena->end), at, __ATOMIC_RELAXED, DEVICE);
    return 0;
  }
  global struct ChildRecord* const record = (global struct ChildRecord*)(arena->records + at);
  record->size = size;
  record->kind = kind;
  record->handle = record->event = 0;
  record->dimensions = record->wait_count = record->local_count = record->block_bytes = 0;
  return record;
}

F void capture_event_profiling_info(clk_event_t handle, int name, global void* value) {
  Arena* const arena = find_arena();
  Event* const event = find_event(arena, handle);
  if (event == 0 || event->is_user || name != CLK_PROFILING_COMMAND_EXEC_TIME) return;
  if (__opencl_atomic_load(WORD(&event->status), __ATOMIC_ACQUIRE, DEVICE) == CL_COMPLETE) {
    ((global ulong*)value)[0] = event->executed;
    ((global ulong*)value)[1] = event->completed;
    return;
  }
  global struct ChildRecord* const record = reserve(arena, sizeof(struct ChildRecord), MORGANA_RECORD_CAPTURE);
  if (record == 0) return;
  record->event = (ulong)event;
  record->handle = (ulong)value;
}

static bool is_queue(queue_t queue) {
  global const struct DeviceQueueHead* const head =
      (global const struct DeviceQueueHead*)__builtin_astype(queue, ulong);
  return head != 0 && head->magic == MORGANA_DEVICE_QUEUE_MAGIC;
}

static bool is_range(private const Range* range) {
  if (range->dimensions < 1 || range->dimensions > 3) return false;
  ulong items = 1;
  for (uint i = 0; i < range->dimensions; ++i) {
    if (range->global_size[i] > 0xffffffff || range->local_size[i] == 0 || range->local_size[i] > LARGEST_GROUP)
      return false;
    items *= range->local_size[i];
  }
  return items <= LARGEST_GROUP;
}

// CLK_SUCCESS, or what is wrong with the sizes of local arguments.
static int check_local(queue_t queue, const struct BlockHandle* block, uint count, private const ulong* sizes) {
  const ulong most = ((global const struct DeviceQueueHead*)__builtin_astype(queue, ulong))->local_bytes;
  ulong bytes = block->group_bytes;
  for (uint i = 0; i < count; ++i) {
    if (sizes[i] == 0) return CLK_INVALID_ARG_SIZE;
    if (sizes[i] > most) return CLK_OUT_OF_RESOURCES;
    bytes = ((bytes + LOCAL_ALIGNMENT - 1) & ~(ulong)(LOCAL_ALIGNMENT - 1)) + sizes[i];
  }
  return bytes > most ? CLK_OUT_OF_RESOURCES : CLK_SUCCESS;
}

static bool are_events(Arena* arena, uint count, const clk_event_t* list) {
  if ((count == 0) != (list == 0)) return false;
  for (uint i = 0; i < count; ++i)
    if (find_event(arena, list[i]) == 0) return false;
  return true;
}

// Writes what follows a record.
static void write_lists(Arena* arena, global struct ChildRecord* record, const clk_event_t* waits,
                        private const ulong* local_sizes, const AnyWord* literal) {
  global ulong* list = (global ulong*)(record + 1);
  for (uint i = 0; i < record->wait_count; ++i) {
    Event* const event = find_event(arena, waits[i]);
    hold(event);
    *list++ = (ulong)event;
  }
  for (uint i = 0; i < record->local_count; ++i) *list++ = local_sizes[i];
  const uint words = record->block_bytes / 4;
  for (uint i = 0; i < words; ++i) ((global AnyWord*)list)[i] = literal[i];
  for (uint i = words * 4; i < record->block_bytes; ++i) ((global uchar*)list)[i] = ((const uchar*)literal)[i];
}

// A command: of a block, or, without a handle, a marker. A function of its own: kernels that enqueue much stay small.
__attribute__((noinline)) static int enqueue(queue_t queue, private const Range* range, uint wait_count,
                                             const clk_event_t* waits, clk_event_t* event_ret, const void* handle,
                                             const void* literal, uint literal_bytes, uint local_count,
                                             private const ulong* local_sizes) {
  Arena* const arena = find_arena();
  if (arena == 0 || !is_queue(queue)) return failure(CLK_INVALID_QUEUE);
  uint block_bytes = 0;
  if (handle != 0) {
    if (!is_range(range)) return failure(CLK_INVALID_NDRANGE);
    const int wrong = check_local(queue, handle, local_count, local_sizes);
    if (wrong != CLK_SUCCESS) return failure(wrong);
    block_bytes = literal_bytes;
  }
  if (!are_events(arena, wait_count, waits)) return failure(CLK_INVALID_EVENT_WAIT_LIST);
  Event* event = 0;
  if (event_ret != 0) {
    event = make_event(arena, 0, 2);  // the command's reference and the caller's
    if (event == 0) return failure(CLK_EVENT_ALLOCATION_FAILURE);
  }
  const ulong size =
      sizeof(struct ChildRecord) + (ulong)wait_count * 8 + (ulong)local_count * 8 + (((ulong)block_bytes + 7) & ~7ul);
  global struct ChildRecord* const record =
      size > 0xffffffff ? 0
                        : reserve(arena, (uint)size, handle != 0 ? MORGANA_RECORD_KERNEL : MORGANA_RECORD_MARKER);
  if (record == 0) {
    if (event != 0) let_go(arena, event, 2);
    return failure(CLK_DEVICE_QUEUE_FULL);
  }
  record->handle = (ulong)handle;
  record->event = (ulong)event;
  record->wait_count = wait_count;
  record->local_count = local_count;
  record->block_bytes = block_bytes;
  if (handle != 0) {
    record->dimensions = range->dimensions;
    for (uint i = 0; i < 3; ++i) {
      record->offset[i] = i < range->dimensions ? range->offset[i] : 0;
      record->global_size[i] = i < range->dimensions ? range->global_size[i] : 1;
      record->local_size[i] = i < range->dimensions ? range->local_size[i] : 1;
    }
  }
  write_lists(arena, record, waits, local_sizes, literal);
  if (event != 0) *event_ret = __builtin_astype((ulong)event, clk_event_t);
  return CLK_SUCCESS;
}

// --- What Clang calls ---

// A literal begins with its size.
static uint size_of(const void* literal) { return *(const AnyWord*)literal; }

int __enqueue_kernel_basic(queue_t queue, UNUSED uint flags, private const Range* range, const void* handle,
                           const void* literal) {
  return enqueue(queue, range, 0, 0, 0, handle, literal, size_of(literal), 0, 0);
}
int __enqueue_kernel_basic_events(queue_t queue, UNUSED uint flags, private const Range* range, uint wait_count,
                                  const clk_event_t* waits, clk_event_t* event, const void* handle,
                                  const void* literal) {
  return enqueue(queue, range, wait_count, waits, event, handle, literal, size_of(literal), 0, 0);
}
int __enqueue_kernel_varargs(queue_t queue, UNUSED uint flags, private const Range* range, const void* handle,
                             const void* literal, uint local_count, private const ulong* local_sizes) {
  return enqueue(queue, range, 0, 0, 0, handle, literal, size_of(literal), local_count, local_sizes);
}
int __enqueue_kernel_events_varargs(queue_t queue, UNUSED uint flags, private const Range* range, uint wait_count,
                                    const clk_event_t* waits, clk_event_t* event, const void* handle,
                                    const void* literal, uint local_count, private const ulong* local_sizes) {
  return enqueue(queue, range, wait_count, waits, event, handle, literal, size_of(literal), local_count, local_sizes);
}

F int enqueue_marker(queue_t queue, uint wait_count, const clk_event_t* waits, clk_event_t* event) {
  return enqueue(queue, 0, wait_count, waits, event, 0, 0, 0, 0, 0);
}

// Of SPIR-V (compiler/spirv/enqueue.cpp), whose parameter may hold anything.
int __morgana_enqueue_kernel(queue_t queue, private const Range* range, uint wait_count, const clk_event_t* waits,
                             clk_event_t* event, const void* handle, const void* parameter, uint bytes,
                             uint local_count, private const ulong* local_sizes) {
  return enqueue(queue, range, wait_count, waits, event, handle, parameter, bytes, local_count, local_sizes);
}
uint __morgana_most_sub_groups(void) { return LARGEST_GROUP / WAVE; }
uint __morgana_local_size_for_sub_groups(uint count) { return count > LARGEST_GROUP / WAVE ? 0 : count * WAVE; }

uint __get_kernel_work_group_size_impl(UNUSED const void* handle, UNUSED const void* literal) { return LARGEST_GROUP; }
uint __get_kernel_preferred_work_group_size_multiple_impl(UNUSED const void* handle, UNUSED const void* literal) {
  return WAVE;
}

static uint group_items(const Range* range) {
  ulong items = 1;
  for (uint i = 0; i < range->dimensions && i < 3; ++i) items *= range->local_size[i];
  return (uint)items;
}
uint __get_kernel_sub_group_count_for_ndrange_impl(const Range* range, UNUSED const void* handle,
                                                   UNUSED const void* literal) {
  return (group_items(range) + WAVE - 1) / WAVE;
}
uint __get_kernel_max_sub_group_size_for_ndrange_impl(const Range* range, UNUSED const void* handle,
                                                      UNUSED const void* literal) {
  const uint items = group_items(range);
  return items < WAVE ? items : WAVE;
}
