// Attributes of ranges of the program's own memory (managed memory). Every device reaches all memory here, so
// they have no effect: they are kept by page range, split where ranges meet, and told back. Memory that the
// driver gave out has none, nor has what is not mapped, as in Linux's; of those only a prefetch is taken and
// told to be nowhere.
#include <algorithm>
#include <map>
#include <mutex>

#include "kmt/alias.h"
#include "kmt/entry.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"
#include "runtime/managed_memory.h"

namespace morgana::kmt {
namespace {

constexpr uint32_t kDefaultFlags = HSA_SVM_FLAG_HOST_ACCESS | HSA_SVM_FLAG_COHERENT;
constexpr uint32_t kDefaultGranularity = 9;  // 2 MiB

struct Attributes {
  uint32_t preferred = INVALID_NODEID, prefetch = INVALID_NODEID;
  uint32_t flags = kDefaultFlags, granularity = kDefaultGranularity;
  std::map<uint32_t, uint32_t> access;  // node: HSA_SVM_ATTR_ACCESS, _IN_PLACE or NO_ACCESS

  uint32_t access_of(uint32_t node) const {
    const auto found = access.find(node);
    return found == access.end() ? static_cast<uint32_t>(HSA_SVM_ATTR_NO_ACCESS) : found->second;
  }
};

struct Piece {
  uint64_t end;
  Attributes attributes;
};

std::mutex mutex;

std::map<uint64_t, Piece>& pieces() {
  static auto* map = new std::map<uint64_t, Piece>;
  return *map;
}

// Makes `at` a border between pieces.
void split(uint64_t at) {
  auto above = pieces().upper_bound(at);
  if (above == pieces().begin()) return;
  auto piece = std::prev(above);
  if (piece->first == at || piece->second.end <= at) return;
  pieces().emplace(at, Piece{piece->second.end, piece->second.attributes});
  piece->second.end = at;
}

// Calls f(attributes) for every piece of [start, end); gaps are made into pieces.
template <typename F>
void change(uint64_t start, uint64_t end, const F& f) {
  split(start);
  split(end);
  for (uint64_t at = start; at < end;) {
    auto piece = pieces().find(at);
    if (piece == pieces().end()) {
      const auto next = pieces().upper_bound(at);
      const uint64_t until = next == pieces().end() ? end : std::min(end, next->first);
      piece = pieces().emplace(at, Piece{until, {}}).first;
    }
    f(piece->second.attributes);
    at = piece->second.end;
  }
}

// Calls f(attributes) for every piece of [start, end), gaps with the defaults.
template <typename F>
void visit(uint64_t start, uint64_t end, const F& f) {
  const Attributes none;
  auto piece = pieces().upper_bound(start);
  if (piece != pieces().begin()) --piece;
  for (uint64_t at = start; at < end;) {
    while (piece != pieces().end() && piece->second.end <= at) ++piece;
    if (piece == pieces().end() || piece->first > at) {
      f(none);
      at = piece == pieces().end() ? end : piece->first;
    } else {
      f(piece->second.attributes);
      at = piece->second.end;
    }
  }
}

bool is_node(uint32_t value) { return value < node_count(); }

bool is_valid(const HSA_SVM_ATTRIBUTE& attribute) {
  switch (attribute.type) {
    case HSA_SVM_ATTR_PREFERRED_LOC:
    case HSA_SVM_ATTR_PREFETCH_LOC: return attribute.value == INVALID_NODEID || is_node(attribute.value);
    case HSA_SVM_ATTR_ACCESS:
    case HSA_SVM_ATTR_ACCESS_IN_PLACE:
    case HSA_SVM_ATTR_NO_ACCESS: return is_node(attribute.value);
    case HSA_SVM_ATTR_SET_FLAGS:
    case HSA_SVM_ATTR_CLR_FLAGS:
    case HSA_SVM_ATTR_GRANULARITY: return true;
    default: return false;
  }
}

void apply(const HSA_SVM_ATTRIBUTE& attribute, Attributes& to) {
  switch (attribute.type) {
    case HSA_SVM_ATTR_PREFERRED_LOC: to.preferred = attribute.value; break;
    case HSA_SVM_ATTR_PREFETCH_LOC: to.prefetch = attribute.value; break;
    case HSA_SVM_ATTR_SET_FLAGS: to.flags |= attribute.value; break;
    case HSA_SVM_ATTR_CLR_FLAGS: to.flags &= ~attribute.value; break;
    case HSA_SVM_ATTR_GRANULARITY: to.granularity = attribute.value & 0x3f; break;
    default: to.access[attribute.value] = attribute.type; break;
  }
}

// What is true of the whole range: the location that all pieces share, the flags that all have, the least
// access.
void collect(HSA_SVM_ATTRIBUTE& attribute, uint64_t start, uint64_t end) {
  bool is_first = true;
  const uint32_t node = attribute.value;
  const auto merge = [&](uint32_t value, auto combine) {
    attribute.value = is_first ? value : combine(attribute.value, value);
    is_first = false;
  };
  const auto same = [](uint32_t a, uint32_t b) { return a == b ? a : INVALID_NODEID; };
  const auto both = [](uint32_t a, uint32_t b) { return a & b; };
  const auto least = [](uint32_t a, uint32_t b) { return std::min(a, b); };
  uint32_t access = HSA_SVM_ATTR_ACCESS;
  visit(start, end, [&](const Attributes& a) {
    switch (attribute.type) {
      case HSA_SVM_ATTR_PREFERRED_LOC: merge(a.preferred, same); break;
      case HSA_SVM_ATTR_PREFETCH_LOC: merge(a.prefetch, same); break;
      case HSA_SVM_ATTR_SET_FLAGS: merge(a.flags, both); break;
      case HSA_SVM_ATTR_CLR_FLAGS: merge(~a.flags, both); break;
      case HSA_SVM_ATTR_GRANULARITY: merge(a.granularity, least); break;
      default: access = std::max(access, a.access_of(node)); break;
    }
  });
  const bool asks_access = attribute.type == HSA_SVM_ATTR_ACCESS ||
                           attribute.type == HSA_SVM_ATTR_ACCESS_IN_PLACE ||
                           attribute.type == HSA_SVM_ATTR_NO_ACCESS;
  if (asks_access) attribute.type = access;
}

bool is_range(const void* start, uint64_t size) {
  const auto address = reinterpret_cast<uint64_t>(start);
  return address % kPage == 0 && size % kPage == 0 && size != 0 && address + size > address;
}

bool can_have(uint64_t address, uint64_t size) {
  return !MemoryTable::get().owns_any(address, size) && is_mapped(address, size);
}

// ROCR (Runtime::SvmPrefetch and GetSVMPrefetchAgent of 5.2 to 7.2) asserts that the driver prefetches and
// tells where it did, also where memory cannot have attributes: hipMemPrefetchAsync and
// hipMemRangeGetAttribute of pinned memory would end a program where ROCR is built with assertions, as Debian
// builds it.
bool is_prefetch(unsigned count, const HSA_SVM_ATTRIBUTE* attributes) {
  return count == 1 && attributes[0].type == HSA_SVM_ATTR_PREFETCH_LOC;
}

}  // namespace

KMT_EXPORT hsaKmtSVMSetAttr(void* start, HSAuint64 size, unsigned int count, HSA_SVM_ATTRIBUTE* attributes) {
  return entry([&] {
    if (!is_range(start, size) || (count != 0 && attributes == nullptr))
      return HSAKMT_STATUS_INVALID_PARAMETER;
    if (!std::all_of(attributes, attributes + count, is_valid)) return HSAKMT_STATUS_INVALID_PARAMETER;
    const auto address = reinterpret_cast<uint64_t>(start);
    if (!can_have(address, size))
      return is_prefetch(count, attributes) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
    std::lock_guard lock(mutex);
    change(address, address + size, [&](Attributes& piece) {
      for (unsigned i = 0; i < count; ++i) apply(attributes[i], piece);
    });
    runtime::note_managed({address, address + size});
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtSVMGetAttr(void* start, HSAuint64 size, unsigned int count, HSA_SVM_ATTRIBUTE* attributes) {
  return entry([&] {
    if (!is_range(start, size) || (count != 0 && attributes == nullptr))
      return HSAKMT_STATUS_INVALID_PARAMETER;
    const auto address = reinterpret_cast<uint64_t>(start);
    if (!can_have(address, size)) {
      if (!is_prefetch(count, attributes)) return HSAKMT_STATUS_ERROR;
      attributes[0].value = INVALID_NODEID;
      return HSAKMT_STATUS_SUCCESS;
    }
    std::lock_guard lock(mutex);
    for (unsigned i = 0; i < count; ++i) {
      const bool names_node =
          attributes[i].type >= HSA_SVM_ATTR_ACCESS && attributes[i].type <= HSA_SVM_ATTR_NO_ACCESS;
      if (attributes[i].type > HSA_SVM_ATTR_GRANULARITY || (names_node && !is_node(attributes[i].value)))
        return HSAKMT_STATUS_INVALID_PARAMETER;
      collect(attributes[i], address, address + size);
    }
    return HSAKMT_STATUS_SUCCESS;
  });
}

}  // namespace morgana::kmt
