#include <charconv>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>

#include "base/log.h"
#include "runtime/memory.h"
#include "runtime/queue.h"
#include "runtime/report.h"
#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

using runtime::Arguments;

// A buffer argument and what becomes of it.
struct Buffer {
  void* memory = nullptr;
  uint64_t size = 0;
  std::string write_to;  // empty: nothing
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory, other.memory);
    std::swap(size, other.size);
    std::swap(write_to, other.write_to);
    return *this;
  }
  ~Buffer() { runtime::release(memory); }
};

template <typename T>
Result<T> parse_number(std::string_view text) {
  T value{};
  std::string_view digits = text;
  int base = 10;
  if constexpr (std::is_integral_v<T>) {
    if (digits.starts_with("0x")) {
      digits.remove_prefix(2);
      base = 16;
    }
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error == std::errc() && end == digits.data() + digits.size()) return value;
  } else {
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) return value;
  }
  return make_error(ErrorCode::invalid_argument, "'{}' is not a number of the type", text);
}

Result<std::array<uint32_t, 3>> parse_sizes(std::string_view text, uint32_t& dimensions) {
  std::array<uint32_t, 3> sizes{1, 1, 1};
  dimensions = 0;
  while (dimensions < 3) {
    size_t comma = std::min(text.find(','), text.size());
    MORGANA_TRY(sizes[dimensions], parse_number<uint32_t>(text.substr(0, comma)));
    ++dimensions;
    if (comma == text.size()) return sizes;
    text.remove_prefix(comma + 1);
  }
  return make_error(ErrorCode::invalid_argument, "more than three sizes");
}

template <typename T, typename Wide = T>
Status append_numbers(std::string_view text, std::vector<uint8_t>& bytes) {
  for (;;) {
    size_t comma = std::min(text.find(','), text.size());
    MORGANA_TRY(Wide wide, parse_number<Wide>(text.substr(0, comma)));
    T value = static_cast<T>(wide);
    const auto* begin = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
    if (comma == text.size()) return {};
    text.remove_prefix(comma + 1);
  }
}

Result<std::vector<uint8_t>> parse_scalars(std::string_view type, std::string_view text) {
  std::vector<uint8_t> bytes;
  Status status = make_error(ErrorCode::invalid_argument, "'{}' is no argument type", type);
  if (type == "i8") status = append_numbers<int8_t>(text, bytes);
  if (type == "u8") status = append_numbers<uint8_t>(text, bytes);
  if (type == "i16") status = append_numbers<int16_t>(text, bytes);
  if (type == "u16") status = append_numbers<uint16_t>(text, bytes);
  if (type == "i32") status = append_numbers<int32_t>(text, bytes);
  if (type == "u32") status = append_numbers<uint32_t>(text, bytes);
  if (type == "i64") status = append_numbers<int64_t>(text, bytes);
  if (type == "u64") status = append_numbers<uint64_t>(text, bytes);
  if (type == "f16") status = append_numbers<_Float16, float>(text, bytes);
  if (type == "f32") status = append_numbers<float>(text, bytes);
  if (type == "f64") status = append_numbers<double>(text, bytes);
  if (!status.ok()) return status.error();
  return bytes;
}

// "in:FILE", "inout:FILE[:OUT]", "out:FILE:BYTES", "zero:BYTES".
Result<Buffer> make_buffer(std::string_view kind, std::string_view rest) {
  Buffer buffer;
  std::vector<uint8_t> content;
  if (kind == "in" || kind == "inout") {
    std::string_view path = rest;
    if (kind == "inout") {
      size_t colon = std::min(rest.find(':'), rest.size());
      path = rest.substr(0, colon);
      buffer.write_to = colon == rest.size() ? path : rest.substr(colon + 1);
    }
    MORGANA_TRY(content, read_file(std::string(path)));
    buffer.size = content.size();
  } else {
    std::string_view digits = rest;
    if (kind == "out") {
      size_t colon = rest.rfind(':');
      if (colon == std::string_view::npos)
        return make_error(ErrorCode::invalid_argument, "out needs a size: out:FILE:BYTES");
      buffer.write_to = rest.substr(0, colon);
      digits = rest.substr(colon + 1);
    }
    MORGANA_TRY(buffer.size, parse_number<uint64_t>(digits));
  }
  MORGANA_TRY(buffer.memory, runtime::allocate(buffer.size, 4096, fmt::format("buffer {}:{}", kind, rest)));
  if (!content.empty()) std::memcpy(buffer.memory, content.data(), content.size());
  return buffer;
}

Status set_argument(Arguments& arguments, size_t index, std::string_view spec, std::vector<Buffer>& buffers) {
  size_t colon = std::min(spec.find(':'), spec.size());
  std::string_view kind = spec.substr(0, colon);
  std::string_view rest = colon < spec.size() ? spec.substr(colon + 1) : std::string_view{};
  if (kind == "local") {
    MORGANA_TRY(uint32_t size, parse_number<uint32_t>(rest));
    return arguments.set_local(index, size);
  }
  uint64_t pointer = 0;
  if (kind == "null") return arguments.set(index, Bytes(&pointer, sizeof pointer));
  if (kind == "in" || kind == "inout" || kind == "out" || kind == "zero") {
    MORGANA_TRY(Buffer buffer, make_buffer(kind, rest));
    pointer = reinterpret_cast<uint64_t>(buffer.memory);
    buffers.push_back(std::move(buffer));
    return arguments.set(index, Bytes(&pointer, sizeof pointer));
  }
  MORGANA_TRY(std::vector<uint8_t> bytes, parse_scalars(kind, rest));
  return arguments.set(index, Bytes(bytes));
}

// One launch; the main thread waits for it.
class OneDispatch final : public runtime::Task {
 public:
  explicit OneDispatch(runtime::Dispatch& dispatch) : dispatch_(dispatch) {}
  bool begin() override {
    start_ = runtime::now_ns();
    return true;
  }
  runtime::Dispatch* dispatch() override { return &dispatch_; }
  void finished(const device::Fault& fault) override {
    nanoseconds_ = runtime::now_ns() - start_;
    done_.set_value(fault);
  }
  device::Fault wait() { return done_.get_future().get(); }
  uint64_t nanoseconds() const { return nanoseconds_; }

 private:
  runtime::Dispatch& dispatch_;
  std::promise<device::Fault> done_;
  uint64_t start_ = 0, nanoseconds_ = 0;
};

struct Request {
  std::string file, kernel, device;
  runtime::Geometry geometry;
  std::vector<std::string> arguments;
  uint32_t repeat = 1;
};

Result<Request> parse_request(std::vector<std::string_view> words) {
  Request request;
  MORGANA_TRY(auto kernel, take_option(words, "--kernel"));
  MORGANA_TRY(auto grid, take_option(words, "--grid"));
  MORGANA_TRY(auto group, take_option(words, "--group"));
  MORGANA_TRY(auto offset, take_option(words, "--offset"));
  MORGANA_TRY(auto device, take_option(words, "--device"));
  MORGANA_TRY(auto repeat, take_option(words, "--repeat"));
  MORGANA_TRY(request.arguments, take_options(words, "--arg"));
  if (words.size() != 1)
    return make_error(
        ErrorCode::invalid_argument, "{}",
        words.empty() ? "no code object given" : fmt::format("'{}' is not understood", words[1]));
  if (!kernel || !grid) return make_error(ErrorCode::invalid_argument, "--kernel and --grid are needed");
  request.file = words[0];
  request.kernel = *kernel;
  request.device = device.value_or("");
  uint32_t ignored = 0;
  MORGANA_TRY(request.geometry.global, parse_sizes(*grid, request.geometry.dimensions));
  request.geometry.local = {std::min(64u, request.geometry.global[0]), 1, 1};
  if (group) {
    MORGANA_TRY(request.geometry.local, parse_sizes(*group, ignored));
  }
  if (offset) {
    MORGANA_TRY(auto values, parse_sizes(*offset, ignored));
    for (uint32_t i = 0; i < 3; ++i) request.geometry.offset[i] = i < ignored ? values[i] : 0;
  }
  if (repeat) {
    MORGANA_TRY(request.repeat, parse_number<uint32_t>(*repeat));
  }
  return request;
}

Status run(const Request& request) {
  MORGANA_TRY(std::vector<uint8_t> file, read_file(request.file));
  std::string processor = request.device;
  if (processor.empty()) {
    MORGANA_TRY(processor, runtime::Executable::processor_of(Bytes(file)));
  }
  MORGANA_TRY(runtime::AgentSpec spec, runtime::agent_spec(processor));
  runtime::Agent agent(std::move(spec));
  MORGANA_TRY(auto executable, runtime::Executable::load(agent, Bytes(file)));
  const runtime::Kernel* kernel = executable->kernel(request.kernel);
  if (kernel == nullptr) {
    std::string names;
    for (const auto& known : executable->kernels()) names += ' ' + known.name;
    return make_error(ErrorCode::not_found, "no kernel '{}'; there are:{}", request.kernel, names);
  }
  Arguments arguments(*kernel);
  if (request.arguments.size() != arguments.count())
    return make_error(ErrorCode::invalid_argument, "kernel '{}' takes {} arguments; {} given", kernel->name,
                      arguments.count(), request.arguments.size());
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < request.arguments.size(); ++i) {
    Status status = set_argument(arguments, i, request.arguments[i], buffers);
    if (!status.ok()) return status.error().in(fmt::format("--arg {}", request.arguments[i]));
  }
  MORGANA_TRY(auto dispatch, runtime::Dispatch::create(executable, *kernel, arguments, request.geometry));
  MORGANA_TRY(auto queue, runtime::Queue::create(agent));
  for (uint32_t i = 0; i < request.repeat; ++i) {
    OneDispatch task(*dispatch);
    queue->submit(&task);
    device::Fault fault = task.wait();
    if (fault.kind != device::FaultKind::none) {
      fmt::print(stderr, "{}", runtime::fault_report(fault, *dispatch));
      return make_error(ErrorCode::faulted, "kernel '{}' faulted: {}", kernel->name,
                        device::name(fault.kind));
    }
    fmt::print("{}: {:.3f} ms on {}\n", kernel->name, static_cast<double>(task.nanoseconds()) / 1e6,
               agent.spec().processor);
  }
  for (const Buffer& buffer : buffers) {
    if (buffer.write_to.empty()) continue;
    MORGANA_CHECK(write_file(buffer.write_to, {static_cast<const uint8_t*>(buffer.memory), buffer.size}));
  }
  return {};
}

}  // namespace

int dispatch_command(Words words) {
  auto request = parse_request({words.begin(), words.end()});
  if (!request.ok()) return fail("dispatch", request.error().message, 2);
  Status status = run(*request);
  return status.ok() ? 0 : fail("dispatch", status.error().message);
}

}  // namespace morgana::tools
