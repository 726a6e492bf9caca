// Device-side enqueue: what compiled code (compiler/device_library/enqueue.cl) and the host (children.h)
// share.
//
// Plain structures of C, alike in OpenCL C for AMDGPU and in C++ for x86-64; addresses are integers. Compiled
// code may write anything here: the host checks what it reads.
#pragma once

// What a queue_t points to. Compiled code only reads it.
struct DeviceQueueHead {
  unsigned long magic;       // kDeviceQueueMagic, while the queue exists
  unsigned int size;         // bytes, CL_QUEUE_SIZE
  unsigned int local_bytes;  // local memory that a work-group of its device may have
};
#define MORGANA_DEVICE_QUEUE_MAGIC 0x65756575712d6d63UL

// Clang's block.runtime.handle.t, which stands for a block's kernel. The runtime fills it when a program is
// loaded.
struct BlockHandle {
  unsigned long kernel_object;
  unsigned int private_bytes;
  unsigned int group_bytes;
};

// What a clk_event_t points to.
struct ChildEvent {
  int status;            // CL_SUBMITTED, CL_COMPLETE or a negative error
  unsigned int holders;  // references; at 0 the event is free
  unsigned int is_user;
  unsigned int next_free;   // of a free one: the index behind it, plus 1; 0: none
  unsigned long executed;   // nanoseconds from the start of the command to its end
  unsigned long completed;  // to the end of all that it enqueued
  unsigned long reserved[4];
};

// What hidden_completion_action shows to every kernel that may enqueue others: those of one command share it.
// Records lie one behind the other from `records` on.
struct ChildArena {
  unsigned long used;  // bytes of records; may exceed `capacity` where one did not fit
  unsigned long end;   // where the first one that did not fit would have begun
  unsigned long records;
  unsigned long capacity;  // bytes that records may take
  unsigned long events;    // array of ChildEvent
  unsigned long event_capacity;
  unsigned long events_used;  // so many were handed out, the freed ones apart
  unsigned long free_events;  // a counter in the high half, in the low one the index of a free event, plus 1
};

#define MORGANA_RECORD_KERNEL 1
#define MORGANA_RECORD_MARKER 2
#define MORGANA_RECORD_CAPTURE 3  // `event` and, in `handle`, where its two times are to go

// Followed by `wait_count` addresses of events, `local_count` sizes of local arguments (8 bytes each), and
// `block_bytes` bytes of the block literal.
struct ChildRecord {
  unsigned int size;  // of all, a multiple of 8
  unsigned int kind;
  unsigned long handle;  // address of the block's BlockHandle
  unsigned long event;   // 0: none
  unsigned int dimensions;
  unsigned int wait_count;
  unsigned int local_count;
  unsigned int block_bytes;
  unsigned long offset[3];
  unsigned long global_size[3];
  unsigned long local_size[3];
};
