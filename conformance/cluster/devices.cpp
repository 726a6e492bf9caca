// One OpenCL program over every GPU of the platform, wherever it is: cluster.py runs it on the devices of two
// hosts.
//
//   cluster_devices list                     one line a device
//   cluster_devices bodies COUNT STEPS       all pairs; a share for each device, exchanged after each step
//   cluster_devices stream MEBIBYTES TIMES   data of the host scaled: a share for each device, there and back
//   cluster_devices launches TIMES           an empty kernel, each awaited
//
// Each ends with a line `result ...`, and with 1 when a call failed or a value is wrong.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "conformance/cluster/bodies.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Ends the process when a device is lost. Calls that wait for a host may wait for ever: PoCL's client goes on
// trying to reach it.
class Watch {
 public:
  explicit Watch(std::vector<cl::Device> devices)
      : devices_(std::move(devices)), thread_([this] { run(); }) {}
  ~Watch() {
    ended_ = true;
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void run() {
    while (!ended_) {
      for (size_t d = 0; d < devices_.size(); ++d) {
        if (devices_[d].getInfo<CL_DEVICE_AVAILABLE>()) continue;
        std::fprintf(stderr, "failed: device %zu is no longer available\n", d);
        std::fflush(nullptr);
        std::_Exit(1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  std::vector<cl::Device> devices_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

struct Devices {
  std::vector<cl::Device> list;
  cl::Context context;
  cl::Program program;

  std::optional<Watch> watch;

  Devices() {
    cl::Platform::getDefault().getDevices(CL_DEVICE_TYPE_GPU, &list);
    if (list.empty()) throw std::runtime_error("the platform has no GPU");
    context = cl::Context(list);
    program = bodies::build(context);
    watch.emplace(list);
  }

  std::vector<bodies::Share> shares(int total) const {
    std::vector<bodies::Share> shares;
    int groups = total / bodies::kGroup, count = static_cast<int>(list.size());
    for (int d = 0; d < count; ++d) {
      int first = groups * d / count, last = groups * (d + 1) / count;
      shares.emplace_back(context, list[static_cast<size_t>(d)], program, first * bodies::kGroup,
                          (last - first) * bodies::kGroup, total);
    }
    return shares;
  }
};

int list_devices() {
  std::vector<cl::Device> devices;
  cl::Platform::getDefault().getDevices(CL_DEVICE_TYPE_GPU, &devices);
  for (const cl::Device& device : devices)
    std::printf("device %s, %s\n", device.getInfo<CL_DEVICE_NAME>().c_str(),
                device.getInfo<CL_DEVICE_VERSION>().c_str());
  std::printf("result devices=%zu\n", devices.size());
  return devices.empty() ? 1 : 0;
}

// Every device gets what the others have moved.
std::vector<cl::Event> share_out(std::vector<bodies::Share>& shares, const std::vector<cl::Event>& moved) {
  std::vector<cl::Event> copied;
  for (bodies::Share& to : shares) {
    for (const bodies::Share& from : shares) {
      cl::Event done;
      to.queue.enqueueCopyBuffer(from.moved, to.all, 0, sizeof(cl_float4) * static_cast<size_t>(from.first),
                                 bodies::Share::bytes_of(from.count), &moved, &done);
      copied.push_back(done);
    }
    to.queue.flush();
  }
  return copied;
}

std::vector<cl_float4> read_all(std::vector<bodies::Share>& shares, int count) {
  std::vector<cl_float4> positions(static_cast<size_t>(count));
  for (bodies::Share& share : shares)
    share.queue.enqueueReadBuffer(share.moved, CL_TRUE, 0, bodies::Share::bytes_of(share.count),
                                  &positions[static_cast<size_t>(share.first)]);
  return positions;
}

int move_bodies(int count, int steps) {
  Devices devices;
  std::vector<bodies::Share> shares = devices.shares(count);
  const std::vector<cl_float4> before = bodies::start(count);
  for (bodies::Share& share : shares) share.load(before);
  double error = 0;
  std::vector<cl::Event> copied;
  Clock::time_point begin = Clock::now();
  for (int s = 0; s <= steps; ++s) {
    std::vector<cl::Event> moved;
    for (bodies::Share& share : shares) moved.push_back(share.step(copied));
    cl::Event::waitForEvents(moved);
    if (s == 0) {  // not timed: programs are built and kernels get hot
      error = bodies::error_of_first_step(before, read_all(shares, count));
      begin = Clock::now();
    }
    copied = share_out(shares, moved);
    std::printf("step %d\n", s);
    std::fflush(stdout);
  }
  cl::Event::waitForEvents(copied);
  const double seconds = seconds_since(begin);
  const bool right = error < 1e-4;
  std::printf("result devices=%zu seconds=%.4f digest=%016llx error=%.1e %s\n", shares.size(), seconds,
              static_cast<unsigned long long>(bodies::digest(read_all(shares, count))), error,
              right ? "right" : "WRONG");
  return right ? 0 : 1;
}

int stream(int mebibytes, int times) {
  Devices devices;
  const size_t each = (static_cast<size_t>(mebibytes) << 20) / sizeof(float) / devices.list.size();
  std::vector<std::vector<float>> values(devices.list.size(), std::vector<float>(each, 1.0f));
  std::vector<cl::CommandQueue> queues;
  std::vector<cl::Buffer> buffers;
  std::vector<cl::Kernel> kernels;
  for (const cl::Device& device : devices.list) {
    queues.emplace_back(devices.context, device);
    buffers.emplace_back(devices.context, CL_MEM_READ_WRITE, each * sizeof(float));
    kernels.emplace_back(devices.program, "scale");
    kernels.back().setArg(0, buffers.back());
    kernels.back().setArg(1, 2.0f);
  }
  Clock::time_point begin = Clock::now();
  for (int t = 0; t <= times; ++t) {
    if (t == 1) begin = Clock::now();
    for (size_t d = 0; d < queues.size(); ++d) {
      queues[d].enqueueWriteBuffer(buffers[d], CL_FALSE, 0, each * sizeof(float), values[d].data());
      queues[d].enqueueNDRangeKernel(kernels[d], cl::NullRange, cl::NDRange(each));
      queues[d].enqueueReadBuffer(buffers[d], CL_FALSE, 0, each * sizeof(float), values[d].data());
      queues[d].flush();
    }
    for (cl::CommandQueue& queue : queues) queue.finish();
  }
  const double seconds = seconds_since(begin);
  const float wanted = std::ldexp(1.0f, times + 1);
  size_t wrong = 0;
  for (const std::vector<float>& part : values)
    for (float value : part) wrong += value != wanted;
  std::printf("result devices=%zu seconds=%.4f wrong=%zu %s\n", queues.size(), seconds, wrong,
              wrong == 0 ? "right" : "WRONG");
  return wrong == 0 ? 0 : 1;
}

int launches(int times) {
  Devices devices;
  cl::CommandQueue queue(devices.context, devices.list.at(0));
  cl::Buffer buffer(devices.context, CL_MEM_READ_WRITE, sizeof(float));
  cl::Kernel kernel(devices.program, "nothing");
  kernel.setArg(0, buffer);
  Clock::time_point begin = Clock::now();
  for (int t = -10; t < times; ++t) {
    if (t == 0) begin = Clock::now();
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1));
    queue.finish();
  }
  std::printf("result devices=%zu seconds=%.6f right\n", devices.list.size(), seconds_since(begin) / times);
  return 0;
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "list") return list_devices();
  if (words.size() == 3 && words[0] == "bodies") return move_bodies(std::stoi(words[1]), std::stoi(words[2]));
  if (words.size() == 3 && words[0] == "stream") return stream(std::stoi(words[1]), std::stoi(words[2]));
  if (words.size() == 2 && words[0] == "launches") return launches(std::stoi(words[1]));
  std::fprintf(
      stderr, "usage: cluster_devices list | bodies COUNT STEPS | stream MEBIBYTES TIMES | launches TIMES\n");
  return 2;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run({words + 1, words + count});
  } catch (const cl::Error& error) {
    std::fprintf(stderr, "failed: %s: error %d\n", error.what(), error.err());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
  }
  // A lost device is not given back: what is released at the end of a process would wait for it.
  std::fflush(nullptr);
  std::_Exit(1);
}
