#include "icd/host_read.h"

#include <fmt/format.h>

#include "icd/call_site.h"
#include "runtime/findings.h"
#include "runtime/unwritten.h"

namespace morgana::icd {

HostRead::HostRead(const char* call, const Mem& mem) : call_(call) {
  if (!mem.begins_unwritten()) return;
  mem_ = &mem;
  frame_ = frame_of_call();
}

void HostRead::look(const Rect& rows, const std::array<size_t, 3>& region) const {
  if (mem_ == nullptr) return;
  size_t bytes = 0, first = 0;
  for (size_t slice = 0; slice < region[2]; slice++)
    for (size_t row = 0; row < region[1]; row++) {
      const size_t at = rows.start + slice * rows.slice_pitch + row * rows.row_pitch;
      const runtime::Unwritten found = runtime::find_unwritten(mem_->data() + at, region[0]);
      if (bytes == 0) first = at + found.first;
      bytes += found.bytes;
    }
  if (bytes == 0) return;
  runtime::found_call({.kind = device::name(device::FindingKind::uninitialized),
                       .call = call_,
                       .site = site_of(frame_),
                       .what = "the host reads what nobody has written",
                       .detail = fmt::format("{} of {} bytes, the first at offset {} of a buffer of {}",
                                             bytes, region[0] * region[1] * region[2], first, mem_->size())});
}

}  // namespace morgana::icd
