// Asynchronous copies: cl_khr_extended_async_copies and cl_khr_async_work_group_copy_fence (OpenCL C 3.1, 6.15.11),
// and async_work_group_copy and async_work_group_strided_copy as runtime/compiler/async_copies.h wants them.

typedef __SIZE_TYPE__ size_t;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned short ushort;

#define OVERLOADED __attribute__((overloadable))

size_t __attribute__((const)) __ockl_get_local_linear_id(void);
size_t __attribute__((const)) __ockl_get_local_size(uint);
void OVERLOADED work_group_barrier(uint);

// Planes of lines of elements, whose distances are in elements on either side. Call number `turn` is made by other
// work-items and, in large groups, by other waves than the one before. One of the sides is local memory: 32 bits
// count everything.
#define COPY(NAME, TO, FROM)                                                                                        \
  void NAME(TO char* to, const FROM char* from, uint bytes, uint elements, uint lines, uint planes,                 \
            ulong to_line, ulong from_line, ulong to_plane, ulong from_plane, uint turn) {                          \
    uint items = (uint)__ockl_get_local_size(0) * (uint)__ockl_get_local_size(1) * (uint)__ockl_get_local_size(2);  \
    uint plane = elements * lines, count = plane * planes;                                                          \
    uint alike = bytes | (uint)(size_t)to | (uint)(size_t)from;                                                     \
    uint unit = (alike & 1) != 0 ? 1 : (alike & 2) != 0 ? 2 : 4;                                                    \
    for (uint i = ((uint)__ockl_get_local_linear_id() + 65 * turn) % items; i < count; i += items) {                \
      uint p = i / plane, line = i % plane / elements, element = i % elements;                                      \
      TO char* a = to + (p * to_plane + line * to_line + element) * bytes;                                          \
      const FROM char* b = from + (p * from_plane + line * from_line + element) * bytes;                            \
      for (uint at = 0; at < bytes; at += unit)                                                                     \
        if (unit == 1)                                                                                              \
          a[at] = b[at];                                                                                            \
        else if (unit == 2)                                                                                         \
          *(TO ushort*)(a + at) = *(const FROM ushort*)(b + at);                                                    \
        else                                                                                                        \
          *(TO uint*)(a + at) = *(const FROM uint*)(b + at);                                                        \
    }                                                                                                               \
  }                                                                                                                 \
  event_t OVERLOADED async_work_group_copy_3D3D(                                                                    \
      TO void* to, size_t to_offset, const FROM void* from, size_t from_offset, size_t bytes, size_t elements,      \
      size_t lines, size_t planes, size_t from_line, size_t from_plane, size_t to_line, size_t to_plane,            \
      event_t event) {                                                                                              \
    NAME((TO char*)to + to_offset * bytes, (const FROM char*)from + from_offset * bytes, (uint)bytes,               \
         (uint)elements, (uint)lines, (uint)planes, to_line, from_line, to_plane, from_plane, 0);                   \
    return event;                                                                                                   \
  }                                                                                                                 \
  event_t OVERLOADED async_work_group_copy_2D2D(TO void* to, size_t to_offset, const FROM void* from,               \
                                                size_t from_offset, size_t bytes, size_t elements, size_t lines,    \
                                                size_t from_line, size_t to_line, event_t event) {                  \
    return async_work_group_copy_3D3D(to, to_offset, from, from_offset, bytes, elements, lines, 1ul, from_line,     \
                                      0ul, to_line, 0ul, event);                                                    \
  }

COPY(__morgana_copy_to_local, local, global)
COPY(__morgana_copy_to_global, global, local)

// Copies are made where they are called: what is to come behind them has to wait for all work-items.
void OVERLOADED async_work_group_copy_fence(uint flags) { work_group_barrier(flags); }
