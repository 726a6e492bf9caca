// Trace: what the process did and when, by the host's monotonic clock (MORGANA_TRACE=DIR), as events that
// ui.perfetto.dev and chrome://tracing load (Trace Event Format, "complete" events). Any thread.
//
// Each process writes DIR/PID.json when it exits. Times are the host's; nothing here is a time of a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace morgana {

// Of this process; never changes.
bool trace_wanted();

// A row of the timeline that is no thread: a queue. 0 stands for the thread that asks.
using TraceTrack = uint64_t;
TraceTrack make_trace_track(std::string_view name);

// An event from its construction to its end. `category`, `argument`: literals.
class TraceSpan {
 public:
  TraceSpan(const char* category, std::string_view name, TraceTrack track = 0) {
    if (trace_wanted()) begin(category, name, track);
  }
  ~TraceSpan() {
    if (category_ != nullptr) end();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  bool is_kept() const { return category_ != nullptr; }
  // What a person sees beside it.
  void add(const char* argument, std::string_view value);
  void drop() { category_ = nullptr; }

 private:
  void begin(const char* category, std::string_view name, TraceTrack track);
  void end();

  const char* category_ = nullptr;  // null: not kept
  TraceTrack track_ = 0;
  uint64_t begin_ = 0;
  std::string name_, arguments_;
};

}  // namespace morgana
