// C11 atomics that AMD's library lacks: all of them on pointers to a named address space, which is how they are called on
// targets without generic pointers (gfx6), and those of cl_ext_float_atomics. Order and scope are constants once a
// function is inlined, and the switches over them go.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

typedef unsigned int uint;
typedef unsigned long ulong;

typedef enum memory_order {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST
} memory_order;
typedef enum memory_scope {
  memory_scope_work_item = __OPENCL_MEMORY_SCOPE_WORK_ITEM,
  memory_scope_work_group = __OPENCL_MEMORY_SCOPE_WORK_GROUP,
  memory_scope_device = __OPENCL_MEMORY_SCOPE_DEVICE,
  memory_scope_all_svm_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
  memory_scope_sub_group = __OPENCL_MEMORY_SCOPE_SUB_GROUP
} memory_scope;

#define F __attribute__((overloadable, always_inline))

// A function of object and value, with its three lists of parameters.
#define VALUE(R, NAME, BUILTIN, AS, T, V)                                                                      \
  F R atomic_##NAME##_explicit(volatile AS atomic_##T * p, V v, memory_order o, memory_scope s) {              \
    return __opencl_atomic_##BUILTIN(p, (T)v, o, s);                                                           \
  }                                                                                                            \
  F R atomic_##NAME##_explicit(volatile AS atomic_##T * p, V v, memory_order o) {                              \
    return __opencl_atomic_##BUILTIN(p, (T)v, o, memory_scope_device);                                         \
  }                                                                                                            \
  F R atomic_##NAME(volatile AS atomic_##T * p, V v) {                                                         \
    return __opencl_atomic_##BUILTIN(p, (T)v, memory_order_seq_cst, memory_scope_device);                      \
  }
#define FETCH(NAME, AS, T) VALUE(T, fetch_##NAME, fetch_##NAME, AS, T, T)

#define COMPARE(NAME, AS, EXPECTED, T)                                                                         \
  F bool atomic_compare_exchange_##NAME##_explicit(volatile AS atomic_##T * p, EXPECTED T * e, T v,            \
                                                   memory_order o, memory_order f, memory_scope s) {           \
    return __opencl_atomic_compare_exchange_##NAME(p, e, v, o, f, s);                                          \
  }                                                                                                            \
  F bool atomic_compare_exchange_##NAME##_explicit(volatile AS atomic_##T * p, EXPECTED T * e, T v,            \
                                                   memory_order o, memory_order f) {                           \
    return __opencl_atomic_compare_exchange_##NAME(p, e, v, o, f, memory_scope_device);                        \
  }                                                                                                            \
  F bool atomic_compare_exchange_##NAME(volatile AS atomic_##T * p, EXPECTED T * e, T v) {                     \
    return __opencl_atomic_compare_exchange_##NAME(p, e, v, memory_order_seq_cst, memory_order_seq_cst,        \
                                                   memory_scope_device);                                       \
  }
#define COMPARES(NAME, AS, T)      \
  COMPARE(NAME, AS, global, T)     \
  COMPARE(NAME, AS, local, T)      \
  COMPARE(NAME, AS, private, T)

#define ANY(AS, T)                                                                                             \
  F void atomic_init(volatile AS atomic_##T * p, T v) { __opencl_atomic_init(p, v); }                          \
  VALUE(void, store, store, AS, T, T)                                                                          \
  VALUE(T, exchange, exchange, AS, T, T)                                                                       \
  F T atomic_load_explicit(volatile AS atomic_##T * p, memory_order o, memory_scope s) {                       \
    return __opencl_atomic_load(p, o, s);                                                                      \
  }                                                                                                            \
  F T atomic_load_explicit(volatile AS atomic_##T * p, memory_order o) {                                       \
    return __opencl_atomic_load(p, o, memory_scope_device);                                                    \
  }                                                                                                            \
  F T atomic_load(volatile AS atomic_##T * p) {                                                                \
    return __opencl_atomic_load(p, memory_order_seq_cst, memory_scope_device);                                 \
  }                                                                                                            \
  COMPARES(strong, AS, T)                                                                                      \
  COMPARES(weak, AS, T)

#define INTEGER(AS, T)   \
  ANY(AS, T)             \
  FETCH(add, AS, T)      \
  FETCH(sub, AS, T)      \
  FETCH(or, AS, T)       \
  FETCH(xor, AS, T)      \
  FETCH(and, AS, T)      \
  FETCH(min, AS, T)      \
  FETCH(max, AS, T)

#define FLAG(AS)                                                                                               \
  F bool atomic_flag_test_and_set_explicit(volatile AS atomic_int * p, memory_order o, memory_scope s) {     \
    return __opencl_atomic_exchange(p, 1, o, s) != 0;                                                          \
  }                                                                                                            \
  F bool atomic_flag_test_and_set_explicit(volatile AS atomic_int * p, memory_order o) {                     \
    return __opencl_atomic_exchange(p, 1, o, memory_scope_device) != 0;                                        \
  }                                                                                                            \
  F bool atomic_flag_test_and_set(volatile AS atomic_int * p) {                                              \
    return __opencl_atomic_exchange(p, 1, memory_order_seq_cst, memory_scope_device) != 0;                     \
  }                                                                                                            \
  F void atomic_flag_clear_explicit(volatile AS atomic_int * p, memory_order o, memory_scope s) {            \
    __opencl_atomic_store(p, 0, o, s);                                                                         \
  }                                                                                                            \
  F void atomic_flag_clear_explicit(volatile AS atomic_int * p, memory_order o) {                            \
    __opencl_atomic_store(p, 0, o, memory_scope_device);                                                       \
  }                                                                                                            \
  F void atomic_flag_clear(volatile AS atomic_int * p) {                                                     \
    __opencl_atomic_store(p, 0, memory_order_seq_cst, memory_scope_device);                                    \
  }

// uintptr_t takes ptrdiff_t.
#define DIFFERENCE(AS)                                  \
  VALUE(ulong, fetch_add, fetch_add, AS, ulong, long)   \
  VALUE(ulong, fetch_sub, fetch_sub, AS, ulong, long)

#define SPACE(AS)       \
  INTEGER(AS, int)      \
  INTEGER(AS, uint)     \
  INTEGER(AS, long)     \
  INTEGER(AS, ulong)    \
  DIFFERENCE(AS)        \
  ANY(AS, float)        \
  ANY(AS, double)       \
  FLAG(AS)
SPACE(global)
SPACE(local)

#define REAL(AS, T)     \
  FETCH(add, AS, T)     \
  FETCH(sub, AS, T)     \
  FETCH(min, AS, T)     \
  FETCH(max, AS, T)
REAL(global, float)
REAL(local, float)
REAL(generic, float)
REAL(global, double)
REAL(local, double)
REAL(generic, double)
