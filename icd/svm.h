// Shared virtual memory: allocations by clSVMAlloc, in one table. Any thread.
//
// Since a device address is a host address, all four levels of SVM hold for all memory of the process.
#pragma once

#include <cstddef>

namespace morgana::icd {

// Whether [pointer, pointer + size) lies in one allocation of clSVMAlloc.
bool is_svm_range(const void* pointer, size_t size);

// Bytes from `pointer` to the end of its allocation by clSVMAlloc; 0 for other memory.
size_t svm_extent(const void* pointer);

// Frees what clSVMAlloc returned; other pointers are ignored.
void free_svm(void* pointer);

}  // namespace morgana::icd
