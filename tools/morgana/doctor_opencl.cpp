// The OpenCL loader, its ICD files and platforms, and a kernel from source to result. All that runs others'
// code is in a process of its own (probe_opencl), which prints lines of fields between tabs.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/morgana/child.h"
#include "tools/morgana/doctor.h"

namespace morgana::tools {
namespace {

namespace fs = std::filesystem;
using Fields = std::vector<std::string>;

constexpr unsigned kProbeSeconds = 60;
constexpr const char* kVendors = "/etc/OpenCL/vendors";
constexpr const char* kSource =
    "kernel void probe(global float* x) { size_t i = get_global_id(0); x[i] = sin((float)i); }";

// --- In the probe ---

void say(const Fields& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : "\t") + field;
  std::replace(line.begin(), line.end(), '\n', ' ');
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

template <typename Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define ENTRY(name) auto* const name = symbol<decltype(::name)>(library, #name)

std::string text_of(decltype(::clGetPlatformInfo)* query, cl_platform_id platform, cl_platform_info what) {
  char text[256] = {};
  return query(platform, what, sizeof text - 1, text, nullptr) == CL_SUCCESS ? text : "";
}

// Builds a kernel and runs it; "" or what failed.
std::string run_kernel(void* library, cl_platform_id platform) {
  ENTRY(clGetDeviceIDs);
  ENTRY(clCreateContext);
  ENTRY(clCreateCommandQueue);
  ENTRY(clCreateProgramWithSource);
  ENTRY(clBuildProgram);
  ENTRY(clCreateKernel);
  ENTRY(clCreateBuffer);
  ENTRY(clSetKernelArg);
  ENTRY(clEnqueueNDRangeKernel);
  ENTRY(clEnqueueReadBuffer);
  cl_int error = 0;
  cl_device_id device = nullptr;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != 0) return "there is no device";
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  if (error != 0) return "no context can be made";
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  if (error != 0) return "no queue can be made";
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  if (error != 0 || clBuildProgram(program, 1, &device, "", nullptr, nullptr) != 0)
    return "a program is not built";
  cl_kernel kernel = clCreateKernel(program, "probe", &error);
  if (error != 0) return "the program has no kernel";
  constexpr size_t kItems = 64;
  float result[kItems] = {};
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof result, nullptr, &error);
  if (error != 0 || clSetKernelArg(kernel, 0, sizeof buffer, &buffer) != 0) return "no buffer can be made";
  if (clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr) != 0 ||
      clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof result, result, 0, nullptr, nullptr) != 0)
    return "a kernel does not run";
  constexpr float kSineOfOne = 0.84147098F;
  return result[0] == 0 && std::abs(result[1] - kSineOfOne) < 1e-5F ? "" : "a kernel's result is wrong";
}

// What ocl-icd and the Khronos loader answer as an extension: cl_loader_info.
std::string loader_version(void* library) {
  ENTRY(clGetExtensionFunctionAddress);
  using Query = cl_int(cl_uint, size_t, void*, size_t*);
  constexpr cl_uint kVersion = 2, kName = 3;
  auto* query = symbol<Query>(library, "clGetICDLoaderInfoOCLICD");
  if (query == nullptr && clGetExtensionFunctionAddress != nullptr)
    query = reinterpret_cast<Query*>(clGetExtensionFunctionAddress("clGetICDLoaderInfoOCLICD"));
  char name[64] = {}, version[64] = {};
  if (query == nullptr || query(kName, sizeof name - 1, name, nullptr) != 0 ||
      query(kVersion, sizeof version - 1, version, nullptr) != 0)
    return "of unknown version";
  return fmt::format("{} {}", name, version);
}

// The folder's ICD files, or the one that OCL_ICD_VENDORS names.
void probe_icd_files() {
  const char* const variable = std::getenv("OCL_ICD_VENDORS");
  const fs::path place = variable != nullptr && *variable != 0 ? variable : kVendors;
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(place, error)) {
    for (const auto& entry : fs::directory_iterator(place, error))
      if (entry.path().extension() == ".icd") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (files.empty() && variable != nullptr) say({"no-icd", place.string()});
  } else if (place.extension() == ".icd") {
    files.push_back(place);
  } else if (variable != nullptr && place.is_absolute() &&
             dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    say({"icd", "OCL_ICD_VENDORS", place.string(), dlerror()});
  }
  for (const fs::path& file : files) {
    say({"opens", file.string()});  // the last line where the library ends this process
    std::ifstream stream(file);
    std::string library;
    std::getline(stream, library);
    while (!library.empty() && std::isspace(static_cast<unsigned char>(library.back()))) library.pop_back();
    if (library.empty())
      say({"icd", file.string(), "no library",
           stream.is_open() ? "the file is empty" : "the file cannot be read"});
    else if (void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL); handle == nullptr)
      say({"icd", file.string(), library, dlerror()});
    else if (dlsym(handle, "clIcdGetPlatformIDsKHR") == nullptr &&
             dlsym(handle, "clGetExtensionFunctionAddress") == nullptr)
      say({"icd", file.string(), library, "it is no OpenCL driver"});
    else
      say({"icd", file.string(), library, ""});
  }
}

void probe_loader() {
  void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return say({"no-loader", dlerror()});
  Dl_info place{};
  ENTRY(clGetPlatformIDs);
  ENTRY(clGetPlatformInfo);
  if (clGetPlatformIDs == nullptr || clGetPlatformInfo == nullptr)
    return say({"no-loader", "libOpenCL.so.1 has no clGetPlatformIDs"});
  dladdr(reinterpret_cast<void*>(clGetPlatformIDs), &place);
  say({"loader", place.dli_fname == nullptr ? "libOpenCL.so.1" : place.dli_fname, loader_version(library)});
  for (const char* name : {"clCreateCommandQueueWithProperties", "clCreateBufferWithProperties"})
    if (dlsym(library, name) == nullptr) say({"old", name});
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < std::min(count, 16u); ++i)
    say({"platform", text_of(clGetPlatformInfo, platforms[i], CL_PLATFORM_NAME),
         text_of(clGetPlatformInfo, platforms[i], CL_PLATFORM_ICD_SUFFIX_KHR)});
  for (cl_uint i = 0; i < std::min(count, 16u); ++i) {
    if (text_of(clGetPlatformInfo, platforms[i], CL_PLATFORM_ICD_SUFFIX_KHR) != "MORGANA") continue;
    say({"kernel", run_kernel(library, platforms[i])});
    break;
  }
}
#undef ENTRY

// --- What the probe found ---

struct Probe {
  std::vector<Fields> lines;
  std::string failure;  // of the process
  std::vector<Fields> all(std::string_view kind) const {
    std::vector<Fields> some;
    for (const Fields& line : lines)
      if (line[0] == kind) some.push_back(line);
    return some;
  }
};

std::string how_it_ended(int status) {
  if (status == 128 + SIGALRM) return fmt::format("did not end within {} seconds", kProbeSeconds);
  if (status > 128) return fmt::format("was ended by signal {} ({})", status - 128, strsignal(status - 128));
  return fmt::format("ended with status {}", status);
}

// With OCL_ICD_VENDORS as it is, or as given.
Probe probe(const std::string& vendors = "") {
  Probe probe;
  std::error_code error;
  std::vector<std::string> words = {fs::read_symlink("/proc/self/exe", error).string(), "doctor",
                                    "--probe-opencl"};
  if (!vendors.empty()) words.insert(words.begin(), {"env", "OCL_ICD_VENDORS=" + vendors});
  auto output = capture_child(std::move(words));
  if (!output.ok()) {
    probe.failure = output.error().message;
    return probe;
  }
  for (std::string_view rest = output->text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    Fields fields(1);
    for (const char c : line) {
      if (c == '\t')
        fields.emplace_back();
      else
        fields.back() += c;
    }
    fields.resize(std::max<size_t>(fields.size(), 4));
    probe.lines.push_back(std::move(fields));
  }
  if (output->status != 0) probe.failure = how_it_ended(output->status);
  return probe;
}

// The looking at platforms failed: whose fault it is.
void find_culprit(const Probe& failed, Findings& findings) {
  constexpr const char* kRemedy = "remove that ICD file, or use `morgana run`";
  if (failed.lines.back()[0] == "opens")
    return findings.wrong(
        "ICD file",
        fmt::format("{}: a process that opens its library {}", failed.lines.back()[1], failed.failure),
        kRemedy);
  bool is_found = false;
  for (const Fields& line : failed.all("icd")) {
    if (!line[3].empty()) continue;
    const Probe alone = probe(line[1]);
    if (alone.failure.empty()) continue;
    findings.wrong("ICD file", fmt::format("{}: a process that asks it alone {}", line[1], alone.failure),
                   kRemedy);
    is_found = true;
  }
  if (!is_found)
    findings.wrong("platforms", fmt::format("a process that asks all of them {}", failed.failure),
                   "remove ICD files one by one, or use `morgana run`");
}

void judge_loader(const Probe& probe, Findings& findings) {
  for (const Fields& line : probe.all("no-loader"))
    findings.wrong("loader", line[1], "install one (Debian: ocl-icd-libopencl1)");
  const auto old = probe.all("old");
  for (const Fields& line : probe.all("loader")) {
    const std::string text = fmt::format("{}, {}", line[1], line[2]);
    if (old.empty())
      findings.right("loader", text);
    else
      findings.wrong(
          "loader", fmt::format("{}: too old, it lacks {}", text, old.front()[1]),
          "take one for OpenCL 3.0 (ocl-icd 2.3 or newer), and look for copies in LD_LIBRARY_PATH");
  }
}

void judge_icd_files(const Probe& probe, Findings& findings) {
  for (const Fields& line : probe.all("no-icd"))
    findings.wrong("ICD files", fmt::format("{} has none", line[1]),
                   "correct OCL_ICD_VENDORS or leave it out");
  for (const Fields& line : probe.all("icd")) {
    if (line[3].empty())
      findings.right("ICD file", fmt::format("{}: {}", line[1], line[2]));
    else
      findings.wrong("ICD file", fmt::format("{}: {}: {}", line[1], line[2], line[3]),
                     "correct the file or remove it");
  }
}

// What programs see that are started without `morgana run`.
void judge_platforms(const Probe& probe, Findings& findings) {
  const auto platforms = probe.all("platform");
  std::string names;
  size_t place = platforms.size();
  for (size_t i = 0; i < platforms.size(); ++i) {
    names += (names.empty() ? "" : ", ") + platforms[i][1];
    if (platforms[i][2] == "MORGANA" && place == platforms.size()) place = i;
  }
  const bool chosen = std::getenv("OCL_ICD_VENDORS") != nullptr;
  if (platforms.empty() || place == platforms.size()) {
    const std::string text = platforms.empty() ? "none without `morgana run`"
                                               : fmt::format("without `morgana run`: {}; not Morgana", names);
    if (chosen)
      findings.wrong("platforms", text, "OCL_ICD_VENDORS leads elsewhere: correct it or leave it out");
    else
      findings.note("platforms", text);
  } else if (place != 0) {
    findings.wrong("platforms",
                   fmt::format("{}: programs that take the first get another than Morgana", names),
                   "use `morgana run`, or set OCL_ICD_VENDORS to Morgana's library");
  } else {
    findings.right("platforms", names);
  }
}

}  // namespace

int probe_opencl() {
  alarm(kProbeSeconds);
  unsetenv("MORGANA_IDENTITY");  // Morgana is known by its suffix
  probe_icd_files();
  probe_loader();
  return 0;
}

void examine_opencl(const Doors& doors, Findings& findings) {
  const Probe now = probe();
  judge_loader(now, findings);
  judge_icd_files(now, findings);
  if (now.failure.empty())
    judge_platforms(now, findings);
  else
    find_culprit(now, findings);
  if (doors.opencl.empty()) return;
  enter(doors);
  const Probe run = probe();
  const auto kernel = run.all("kernel");
  if (!run.failure.empty())
    findings.wrong("morgana run", fmt::format("a kernel's process {}", run.failure),
                   "this is a defect of Morgana");
  else if (kernel.empty())
    findings.wrong(
        "morgana run", "Morgana is no platform under `morgana run`",
        "mend what is wrong above; else the loader reads neither OCL_ICD_VENDORS nor OCL_ICD_FILENAMES");
  else if (!kernel.front()[1].empty())
    findings.wrong("morgana run", kernel.front()[1],
                   "mend what is wrong above; else MORGANA_LOG=debug says more");
  else
    findings.right("morgana run", "a kernel was built, ran and is right");
}

}  // namespace morgana::tools
