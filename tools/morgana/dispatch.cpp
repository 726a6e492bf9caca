#include <algorithm>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <sstream>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "runtime/checking.h"
#include "runtime/queue.h"
#include "runtime/report.h"
#include "runtime/trap_handler.h"
#include "tools/morgana/commands.h"
#include "tools/morgana/program.h"
#include "tools/morgana/values.h"

namespace morgana::tools {
namespace {

using runtime::Arguments;

// One launch; the main thread waits for it.
class OneDispatch final : public runtime::Task {
 public:
  explicit OneDispatch(runtime::Dispatch& dispatch) : dispatch_(dispatch) {}
  bool begin() override {
    start_ = now_ns();
    return true;
  }
  runtime::Dispatch* dispatch() override { return &dispatch_; }
  void finished(const device::Fault& fault) override {
    nanoseconds_ = now_ns() - start_;
    done_.set_value(fault);
  }
  device::Fault wait() { return done_.get_future().get(); }
  uint64_t nanoseconds() const { return nanoseconds_; }

 private:
  runtime::Dispatch& dispatch_;
  std::promise<device::Fault> done_;
  uint64_t start_ = 0, nanoseconds_ = 0;
};

struct Launch {
  std::string kernel;
  runtime::Geometry geometry;
  bool continues = false;  // the same kernel as the launch before: what is not given keeps its value
  std::vector<std::string> arguments;
  std::string kernarg;
  bool zero_rest = false;
  uint32_t dynamic_local = 0;
  uint32_t repeat = 1;
};

struct DispatchRequest {
  std::string file, device, trap_handler, trap_memory;
  std::vector<std::string> buffers;
  std::vector<Launch> launches;
};

using Views = std::vector<std::string_view>;

// Takes the options of one launch out of `words`; `before`: the launch that came before.
Result<Launch> parse_launch(Views& words, const Launch* before) {
  MORGANA_TRY(auto kernel, take_option(words, "--kernel"));
  MORGANA_TRY(auto grid, take_option(words, "--grid"));
  MORGANA_TRY(auto group, take_option(words, "--group"));
  MORGANA_TRY(auto offset, take_option(words, "--offset"));
  MORGANA_TRY(auto dynamic_local, take_option(words, "--lds"));
  MORGANA_TRY(auto repeat, take_option(words, "--repeat"));
  Launch launch = before != nullptr ? *before : Launch{};
  if (before == nullptr && (!kernel || !grid))
    return make_error(ErrorCode::invalid_argument, "--kernel and --grid are needed");
  launch.continues = before != nullptr && (!kernel || *kernel == before->kernel);
  if (kernel) launch.kernel = *kernel;
  MORGANA_TRY(launch.arguments, take_options(words, "--arg"));
  MORGANA_TRY(auto kernarg, take_option(words, "--kernarg"));
  if (kernarg || !launch.continues) launch.kernarg = kernarg.value_or("");
  launch.zero_rest = take_flag(words, "--zero-rest");
  if (grid) {
    MORGANA_TRY(Sizes sizes, parse_sizes(*grid, 1));
    launch.geometry.global = sizes.values;
    launch.geometry.dimensions = sizes.dimensions;
  }
  if (group) {
    MORGANA_TRY(Sizes sizes, parse_sizes(*group, 1));
    launch.geometry.local = sizes.values;
  } else if (grid) {
    launch.geometry.local = {std::min(64u, launch.geometry.global[0]), 1, 1};
  }
  if (offset) {
    MORGANA_TRY(Sizes sizes, parse_sizes(*offset, 0));
    for (int i = 0; i < 3; ++i) launch.geometry.offset[i] = sizes.values[i];
  }
  if (dynamic_local) {
    MORGANA_TRY(Sizes bytes, parse_sizes(*dynamic_local, 0));
    launch.dynamic_local = bytes.values[0];
  }
  launch.repeat = 1;
  if (repeat) {
    MORGANA_TRY(Sizes times, parse_sizes(*repeat, 0));
    launch.repeat = times.values[0];
    if (launch.repeat == 0) return make_error(ErrorCode::invalid_argument, "--repeat 0 would run nothing");
  }
  return launch;
}

Result<DispatchRequest> parse_request(Views words) {
  DispatchRequest request;
  MORGANA_TRY(auto device, take_option(words, "--device"));
  request.device = device.value_or("");
  MORGANA_TRY(auto trap_handler, take_option(words, "--trap-handler"));
  MORGANA_TRY(auto trap_memory, take_option(words, "--trap-memory"));
  request.trap_handler = trap_handler.value_or("");
  request.trap_memory = trap_memory.value_or("");
  MORGANA_TRY(request.buffers, take_options(words, "--buffer"));
  for (;;) {
    auto then = std::find(words.begin(), words.end(), "--then");
    bool last = then == words.end();
    Views part(words.begin(), then);
    const Launch* before = request.launches.empty() ? nullptr : &request.launches.back();
    MORGANA_TRY(Launch launch, parse_launch(part, before));
    request.launches.push_back(std::move(launch));
    if (before == nullptr && !part.empty()) {
      request.file = part.front();
      part.erase(part.begin());
    }
    if (!part.empty()) return make_error(ErrorCode::invalid_argument, "'{}' is not understood", part.front());
    if (last) break;
    words.erase(words.begin(), then + 1);
  }
  if (request.file.empty()) return make_error(ErrorCode::invalid_argument, "no code object given");
  return request;
}

// "NAME=SPEC", "INDEX=SPEC" or "SPEC" alone; what precedes '=' has no ':', which every SPEC but `null` has.
struct Named {
  std::string_view name, spec;
};
Named split_name(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || text.find(':') < equals) return {{}, text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Result<size_t> find_argument(const Arguments& arguments, std::string_view name) {
  if (auto index = parse_count(name); index.ok() && *index < arguments.count()) return size_t(*index);
  std::optional<size_t> found;
  for (size_t i = 0; i < arguments.count(); ++i) {
    if (arguments.arg(i).name != name) continue;
    if (found) return make_error(ErrorCode::invalid_argument, "several arguments are named '{}'", name);
    found = i;
  }
  if (!found) return make_error(ErrorCode::not_found, "no argument '{}'", name);
  return *found;
}

using Values = std::vector<std::optional<Value>>;

Status set_arguments(const Launch& launch, Arguments& arguments, Buffers& buffers, Values& values) {
  if (!launch.continues) values.assign(arguments.count(), std::nullopt);
  size_t next = 0;
  for (const std::string& text : launch.arguments) {
    auto [name, spec] = split_name(text);
    size_t index = next;
    if (!name.empty()) {
      MORGANA_TRY(index, find_argument(arguments, name));
    } else if (++next > arguments.count()) {
      break;
    }
    auto value = make_value(spec, buffers);
    if (!value.ok()) return value.error().in(fmt::format("--arg {}", text));
    values[index] = std::move(*value);
  }
  if (!launch.kernarg.empty()) {
    auto segment = make_block(launch.kernarg, buffers);
    Status status = segment.ok() ? arguments.set_segment(Bytes(*segment)) : segment.error();
    if (!status.ok()) {
      Error error = status.error().in("--kernarg");
      if (Buffers::describes(launch.kernarg)) error.message += " (a BLOCK begins with the name of its file)";
      return error;
    }
  }
  size_t given = 0;
  for (size_t i = 0; i < arguments.count(); ++i) {
    const bool is_given = values[i] || arguments.is_set(i);
    if (!is_given && launch.zero_rest && arguments.arg(i).kind == codeobj::ArgKind::by_value)
      values[i] = Value{std::vector<uint8_t>(arguments.arg(i).size), false, 0};
    given += is_given || values[i];
  }
  if (given != arguments.count() || next > arguments.count()) {
    Error error = make_error(ErrorCode::invalid_argument, "kernel '{}' takes {} arguments; {} given",
                             launch.kernel, arguments.count(), std::max(given, next));
    if (!launch.kernarg.empty())
      error.message += fmt::format("; its kernarg segment has {} bytes", arguments.segment_bytes());
    return error;
  }
  for (size_t i = 0; i < arguments.count(); ++i) {
    if (!values[i]) continue;
    Status status = give(arguments, i, *values[i]);
    if (!status.ok()) return status.error();
  }
  arguments.set_dynamic_local(launch.dynamic_local);
  return {};
}

Status run_launch(const Launch& launch, const std::shared_ptr<runtime::Executable>& executable,
                  runtime::Queue& queue, Buffers& buffers, Values& values) {
  const runtime::Kernel* kernel = executable->kernel(launch.kernel);
  if (kernel == nullptr) {
    std::string names;
    for (const auto& known : executable->kernels()) names += ' ' + known.name;
    return make_error(ErrorCode::not_found, "no kernel '{}'; there are:{}", launch.kernel, names);
  }
  Arguments arguments(*kernel);
  MORGANA_CHECK(set_arguments(launch, arguments, buffers, values));
  MORGANA_TRY(auto dispatch, runtime::Dispatch::create(executable, *kernel, arguments, launch.geometry));
  if (dispatch->may_enqueue()) {
    MORGANA_TRY(auto by_default, runtime::DeviceQueue::create(runtime::kMaxDeviceQueueBytes,
                                                              executable->agent().spec().local_memory));
    dispatch->use_queues({std::move(by_default), {}});
  }
  for (uint32_t i = 0; i < launch.repeat; ++i) {
    OneDispatch task(*dispatch);
    queue.submit(&task);
    device::Fault fault = task.wait();
    if (fault.kind != device::FaultKind::none) {
      fmt::print(stderr, "{}", runtime::fault_report(fault, dispatch->culprit()));
      return make_error(ErrorCode::faulted, "kernel '{}' faulted: {}", kernel->name,
                        device::name(fault.kind));
    }
    fmt::print("{}: {:.3f} ms on {}\n", kernel->name, static_cast<double>(task.nanoseconds()) / 1e6,
               queue.agent().spec().processor);
  }
  return {};
}

Result<std::unique_ptr<runtime::TrapHandler>> install_trap_handler(const DispatchRequest& request,
                                                                   runtime::Agent& agent, Buffers& buffers) {
  uint64_t memory = 0;
  if (!request.trap_memory.empty()) {
    auto address = buffers.make(request.trap_memory);
    if (!address.ok()) return address.error().in(fmt::format("--trap-memory {}", request.trap_memory));
    memory = *address;
  }
  if (request.trap_handler.empty()) return runtime::install_selected_trap_handler(agent, memory);
  MORGANA_TRY(std::vector<uint8_t> file, read_file(request.trap_handler));
  return runtime::TrapHandler::install(agent, Bytes(file), memory);
}

Status run(const DispatchRequest& request) {
  MORGANA_TRY(std::vector<uint8_t> file, read_program(request.file, request.device));
  std::string processor = request.device;
  if (processor.empty()) {
    MORGANA_TRY(processor, runtime::Executable::processor_of(Bytes(file)));
  }
  MORGANA_TRY(runtime::AgentSpec spec, runtime::agent_spec(processor));
  runtime::Agent agent(std::move(spec));
  MORGANA_TRY(auto executable, runtime::Executable::load(agent, Bytes(file)));
  Buffers buffers;
  for (const std::string& text : request.buffers) {
    auto [name, spec_text] = split_name(text);
    auto address = name.empty() ? Result<uint64_t>(make_error(ErrorCode::invalid_argument, "no name"))
                                : buffers.make(spec_text);
    if (!address.ok()) return address.error().in(fmt::format("--buffer {}", text));
    MORGANA_CHECK(buffers.name(name, *address));
  }
  MORGANA_TRY(auto handler, install_trap_handler(request, agent, buffers));
  MORGANA_TRY(auto queue, runtime::Queue::create(agent));
  Values values;
  for (const Launch& launch : request.launches)
    MORGANA_CHECK(run_launch(launch, executable, *queue, buffers, values));
  return buffers.write_files();
}

// Replaces "@FILE" by the words of the file; a line that begins with '#' is a comment.
Result<std::vector<std::string>> expand(Words words) {
  std::vector<std::string> expanded;
  for (std::string_view word : words) {
    if (!word.starts_with('@')) {
      expanded.emplace_back(word);
      continue;
    }
    MORGANA_TRY(auto bytes, read_file(std::string(word.substr(1))));
    std::istringstream lines(std::string(bytes.begin(), bytes.end()));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream parts(line);
      for (std::string part; parts >> part;) expanded.push_back(part);
    }
  }
  return expanded;
}

}  // namespace

int dispatch_command(Words words) {
  auto expanded = expand(words);
  if (!expanded.ok()) return fail("dispatch", expanded.error().message, 2);
  auto request = parse_request(Views(expanded->begin(), expanded->end()));
  if (!request.ok()) return fail("dispatch", request.error().message, 2);
  const auto checks = runtime::parse_checks(options().check);
  if (!checks.ok()) return fail("dispatch", "MORGANA_CHECK: " + checks.error().message, 2);
  Status status = run(*request);
  if (!status.ok()) return fail("dispatch", status.error().message);
  return *checks == 0 ? 0 : runtime::checked_status(runtime::checked_so_far(), 0);
}

}  // namespace morgana::tools
