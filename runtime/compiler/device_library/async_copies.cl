// async_work_group_copy and async_work_group_strided_copy, as runtime/compiler/async_copies.h wants them.

typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned short ushort;

__SIZE_TYPE__ __attribute__((const)) __ockl_get_local_linear_id(void);
__SIZE_TYPE__ __attribute__((const)) __ockl_get_local_size(uint);

// The elements lie side by side in local memory, `stride` of them apart in global memory. Call number `turn` is
// made by other work-items and, in large groups, by other waves than the one before.
#define COPY(NAME, TO, FROM, TO_STRIDE, FROM_STRIDE)                                                                \
  void NAME(TO char* to, const FROM char* from, ulong count, ulong stride, uint bytes, uint turn) {                 \
    uint items = (uint)__ockl_get_local_size(0) * (uint)__ockl_get_local_size(1) * (uint)__ockl_get_local_size(2);  \
    for (ulong i = ((uint)__ockl_get_local_linear_id() + 65 * turn) % items; i < count; i += items) {               \
      TO char* a = to + i * (TO_STRIDE) * bytes;                                                                    \
      const FROM char* b = from + i * (FROM_STRIDE) * bytes;                                                        \
      if (bytes == 1)                                                                                               \
        *a = *b;                                                                                                    \
      else if (bytes == 2)                                                                                          \
        *(TO ushort*)a = *(const FROM ushort*)b;                                                                    \
      else                                                                                                          \
        for (uint at = 0; at < bytes; at += 4) *(TO uint*)(a + at) = *(const FROM uint*)(b + at);                   \
    }                                                                                                               \
  }

COPY(__morgana_copy_to_local, local, global, 1, stride)
COPY(__morgana_copy_to_global, global, local, stride, 1)
