// MemoryTable: every range of memory that a runtime has allocated, registered or imported through the thunk.
//
// GPU and host addresses are the same. Only the program's own memory has a second address when it is
// registered as fine-grained (hipHostRegister). So mapping is bookkeeping: it serves pointer queries, and
// says which agents may execute code of a range. Callable from any thread.
#pragma once

#include <hsakmt.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/agent.h"

namespace morgana::kmt {

// Whose pages a range's are.
enum class Origin {
  allocated,  // runtime::allocate's
  placed,     // put where the caller has reserved addresses; the reservation is left when the range goes
  thunk,      // that it has mapped for itself, at their place: nothing else lies there
  program     // the program's own, at their place
};

struct Range {
  uint64_t address = 0, size = 0;
  uint64_t alias = 0;  // the program's own memory: its address on devices; 0: `address`
  uint32_t node = 0;
  HsaMemFlags flags{};
  HSA_POINTER_TYPE type = HSA_POINTER_ALLOCATED;
  Origin origin = Origin::allocated;
  uint32_t references = 1;  // registrations of the same range
  std::vector<uint32_t> registered_nodes, mapped_nodes;
  void* user_data = nullptr;
  bool is_ring = false;                      // packets, not code
  std::vector<runtime::Agent*> executed_by;  // devices that know the range as code

  bool holds(uint64_t at) const { return at >= address && at - address < size; }
};

class MemoryTable {
 public:
  static MemoryTable& get();

  // `alignment`: a power of two; 0: a page, or a huge page for large sizes.
  HSAKMT_STATUS allocate(uint32_t node, uint64_t size, HsaMemFlags flags, void** address,
                         uint64_t alignment = 0);
  // Bytes of the node that are left.
  uint64_t available(uint32_t node);
  // A range at addresses that the caller chose. `placed` gets zeroed pages there, or those of `file` (which
  // stays the caller's) from `offset` on.
  HSAKMT_STATUS place(uint64_t address, uint64_t size, uint32_t node, HsaMemFlags flags, Origin origin,
                      int file = -1, uint64_t offset = 0);
  // Of what `allocate` and `place` made.
  HSAKMT_STATUS free(void* address, uint64_t size);
  // The file that holds an allocation's pages, which move there at the first call; stays the table's. -1: no
  // such allocation, or no memory.
  int file_of(uint64_t address);
  // Whether addresses that the program wants to give up hold code that was freed and may still run. They go
  // back to the system when it ends.
  bool keeps(uint64_t address, uint64_t size);
  HSAKMT_STATUS add_user_range(void* address, uint64_t size, HsaMemFlags flags,
                               std::span<const uint32_t> nodes);
  HSAKMT_STATUS remove_range(void* address);
  // `alternate`: the range's other address, or 0.
  HSAKMT_STATUS map(void* address, uint64_t size, std::optional<std::span<const uint32_t>> nodes,
                    uint64_t& alternate);
  HSAKMT_STATUS unmap(void* address);
  HSAKMT_STATUS query(const void* address, HsaPointerInfo& info);
  // Whether any of these bytes were allocated or imported here, so are not the program's own.
  bool owns_any(uint64_t address, uint64_t size);
  HSAKMT_STATUS set_user_data(const void* address, void* data);

  // Memory of another process. `handle`: eight words that name it.
  HSAKMT_STATUS share(void* address, uint64_t size, HsaSharedMemoryHandle& handle);
  HSAKMT_STATUS import(const HsaSharedMemoryHandle& handle, std::span<const uint32_t> nodes, void** address,
                       uint64_t* size);

  // Whether `bytes` counts the ring twice: on gfx7 and gfx8 runtimes ask for rings that are mapped twice in a
  // row.
  bool is_doubled(uint64_t ring, uint64_t bytes);
  // A range that holds packets of a queue.
  void mark_ring(uint64_t address);
  // Makes every executable range known to the agent's device. False: `entry` lies in none. Each call is
  // followed by one of leave_code; until then code that is freed stays where it is, since waves may stand in
  // it.
  bool enter_code(runtime::Agent& agent, uint64_t entry);
  void leave_code();
  // Changes whenever code that was executed has gone.
  uint64_t code_version();

 private:
  Range* find(uint64_t address);
  Range* find_exact(uint64_t address);
  bool prepare_code(runtime::Agent& agent, uint64_t entry);
  void forget_code(Range& range);
  void bury();
  void dig_grave(const Range& range);
  bool fill_grave(const Range& range);
  void let_go(const Range& range);
  void leave_file(const Range& range);
  int move_to_file(const Range& range);

  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<Range>> owned_;       // allocated and imported, disjoint
  std::multimap<uint64_t, std::unique_ptr<Range>> users_;  // the program's own memory, registered
  std::vector<uint64_t> used_;                             // bytes allocated, by node
  // Shared ranges: the file that backs each.
  std::map<uint64_t, int> files_;
  uint32_t running_ = 0;                           // dispatches between enter_code and leave_code
  std::vector<std::unique_ptr<Range>> graveyard_;  // freed code that waits for them
  // Of those in the graveyard the ones that the program placed. Under a lock of their own, which nothing else
  // is done under: an allocator's munmap may ask.
  struct Grave {
    uint64_t address = 0, size = 0;
    bool is_given_up = false;  // the program has unmapped it
  };
  std::mutex graves_mutex_;
  std::vector<Grave> graves_;
  std::atomic<size_t> grave_count_{0};
  // The last entry that prepare_code found, and the table's state then.
  uint64_t version_ = 1, code_version_ = 1;
  struct Known {
    runtime::Agent* agent = nullptr;
    uint64_t entry = 0, version = 0;
  } known_;
};

// Gives the pages back to the host; their addresses stay reserved.
void leave_reserved(void* address, uint64_t size);

}  // namespace morgana::kmt
