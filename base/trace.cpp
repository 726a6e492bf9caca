#include "base/trace.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/options.h"
#include "base/own_records.h"

namespace morgana {
namespace {

// Some hundred MB; further ones are counted.
constexpr size_t kMostEvents = 1'000'000;
// Behind every thread's id (Linux: PID_MAX_LIMIT is 2^22).
constexpr TraceTrack kFirstTrack = 5'000'000;

uint64_t now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// A string of JSON, in ASCII: names may be any bytes.
std::string json_text(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      made += {'\\', c};
    else if (byte < 0x20 || byte >= 0x7f)
      made += fmt::format("\\u{:04x}", byte);
    else
      made += c;
  }
  return made + '"';
}

struct Event {
  const char* category;
  std::string name, arguments;  // arguments: members of a JSON object
  TraceTrack track;
  uint64_t begin, end;
};

// Of this process. Never destroyed: threads may still run at exit.
class Trace {
 public:
  static Trace& get() {
    static auto* const trace = new Trace;
    return *trace;
  }
  bool is_wanted() const { return !folder_.empty(); }

  TraceTrack make_track(std::string_view name) {
    std::lock_guard lock(tracks_mutex_);
    tracks_.emplace_back(name);
    return kFirstTrack + tracks_.size() - 1;
  }
  void add(Event event) {
    records_.with([&](Records& own) {
      if (own.events.size() < kMostEvents)
        own.events.push_back(std::move(event));
      else
        own.lost++;
    });
  }

 private:
  Trace() {
    folder_ = output_folder("MORGANA_TRACE", options().trace);
    if (folder_.empty()) return;
    folder_ = std::filesystem::absolute(folder_);
    std::atexit([] { get().write(); });
  }
  struct Records {
    std::vector<Event> events;
    uint64_t lost = 0;
  };
  std::string tracks_text();
  void write();

  std::string folder_;
  OwnRecords<Records> records_;
  ForkSafe<std::mutex> tracks_mutex_;
  std::vector<std::string> tracks_;  // under it. A forked child may have the queues, too
};

std::string Trace::tracks_text() {
  std::lock_guard lock(tracks_mutex_);
  std::string text;
  for (size_t i = 0; i < tracks_.size(); ++i)
    text += fmt::format(
        "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}},\n",
        getpid(), kFirstTrack + i, json_text(fmt::format("{} {}", tracks_[i], i + 1)));
  return text;
}

void Trace::write() {
  const Records own = records_.with([](Records& records) { return std::exchange(records, {}); });
  if (own.events.empty()) return;
  std::string text = "{\"traceEvents\":[" + tracks_text();
  // Microseconds, with fractions.
  const auto time = [](uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); };
  for (size_t i = 0; i < own.events.size(); ++i) {
    const Event& event = own.events[i];
    fmt::format_to(
        std::back_inserter(text),
        "{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{{}}}"
        "}}{}\n",
        event.category, json_text(event.name), getpid(), event.track, time(event.begin),
        time(event.end - event.begin), event.arguments, i + 1 < own.events.size() ? "," : "");
  }
  text += "],\"displayTimeUnit\":\"ns\"}\n";
  const Status written = write_whole_file(fmt::format("{}/{}.json", folder_, getpid()), text);
  if (!written.ok()) log(LogLevel::warn, "MORGANA_TRACE: {}", written.error().message);
  if (own.lost != 0)
    log(LogLevel::warn, "MORGANA_TRACE: {} events more than {} are left out", own.lost, kMostEvents);
}

}  // namespace

bool trace_wanted() {
  static const bool wanted = !options().trace.empty() && Trace::get().is_wanted();
  return wanted;
}

TraceTrack make_trace_track(std::string_view name) {
  return trace_wanted() ? Trace::get().make_track(name) : 0;
}

void TraceSpan::begin(const char* category, std::string_view name, TraceTrack track) {
  category_ = category;
  name_ = name;
  track_ = track != 0 ? track : static_cast<TraceTrack>(syscall(SYS_gettid));
  begin_ = now();
}

void TraceSpan::add(const char* argument, std::string_view value) {
  if (category_ == nullptr) return;
  arguments_ += fmt::format("{}\"{}\":{}", arguments_.empty() ? "" : ",", argument, json_text(value));
}

void TraceSpan::end() {
  Trace::get().add({category_, std::move(name_), std::move(arguments_), track_, begin_, now()});
}

}  // namespace morgana
