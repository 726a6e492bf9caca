#include "kmt/loaded_code.h"

#include <link.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <fstream>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/line_table.h"
#include "device/guest_access.h"

namespace morgana::kmt {
namespace {

std::atomic<const void*> loader_list{nullptr};

constexpr int kMaxObjects = 10'000;
constexpr size_t kMaxName = 4096;
constexpr uint64_t kMaxBytes = uint64_t{1} << 31;

struct Loaded {
  uint64_t bias;  // added to the file's addresses
  std::string uri;
};

std::vector<Loaded> loaded_objects() {
  const auto* debug = static_cast<const r_debug*>(loader_list.load());
  std::vector<Loaded> list;
  if (debug == nullptr) return list;
  const link_map* map = nullptr;
  if (!device::try_guest([&] { map = debug->r_map; })) return list;
  while (map != nullptr && list.size() < kMaxObjects) {
    link_map entry{};
    char name[kMaxName] = {};
    const bool ok = device::try_guest([&] {
      entry = *map;
      for (size_t i = 0; entry.l_name != nullptr && i + 1 < kMaxName && entry.l_name[i] != 0; ++i)
        name[i] = entry.l_name[i];
    });
    if (!ok) break;
    list.push_back({entry.l_addr, name});
    map = entry.l_next;
  }
  return list;
}

uint64_t number(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  return value;
}

// "offset=0x100&size=20"
uint64_t parameter(std::string_view parameters, std::string_view name) {
  while (!parameters.empty()) {
    const size_t end = std::min(parameters.find_first_of("&;"), parameters.size());
    const std::string_view one = parameters.substr(0, end);
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
    if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
      return number(one.substr(name.size() + 1));
  }
  return 0;
}

std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16).ec == std::errc{}) {
      plain += static_cast<char>(code);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The bytes that a URI names: file://PATH#offset=O&size=S or memory://PID#offset=ADDRESS&size=S.
std::vector<uint8_t> fetch(std::string_view uri) {
  const size_t hash = std::min(uri.find_first_of("#?"), uri.size());
  const std::string_view parameters = uri.substr(std::min(hash + 1, uri.size()));
  const uint64_t offset = parameter(parameters, "offset");
  uint64_t size = parameter(parameters, "size");
  if (size > kMaxBytes) return {};
  constexpr std::string_view kFile = "file://", kMemory = "memory://";
  if (uri.starts_with(kMemory)) {
    if (number(uri.substr(kMemory.size(), hash - kMemory.size())) != static_cast<uint64_t>(getpid()))
      return {};
    std::vector<uint8_t> bytes(size);
    return device::read_guest(bytes.data(), offset, size) ? bytes : std::vector<uint8_t>{};
  }
  if (!uri.starts_with(kFile)) return {};
  std::ifstream file(unescape(uri.substr(kFile.size(), hash - kFile.size())),
                     std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto length = static_cast<uint64_t>(file.tellg());
  if (offset > length) return {};
  size = size == 0 ? length - offset : std::min(size, length - offset);
  if (size > kMaxBytes) return {};
  std::vector<uint8_t> bytes(size);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  return file ? bytes : std::vector<uint8_t>{};
}

// Whether a symbol of the object, loaded at `bias`, covers `address`.
bool holds(const codeobj::CodeObject& object, uint64_t bias, uint64_t address) {
  for (const codeobj::ElfSymbol& symbol : object.symbols())
    if (address >= bias + symbol.value &&
        address - (bias + symbol.value) < std::max<uint64_t>(symbol.size, 1))
      return true;
  return false;
}

}  // namespace

void set_loader_list(const void* r_debug) { loader_list.store(r_debug); }

void find_place(uint64_t kernel_object, uint64_t pc, runtime::FaultPlace& place) {
  for (const Loaded& loaded : loaded_objects()) {
    if (kernel_object < loaded.bias && pc < loaded.bias) continue;
    const std::vector<uint8_t> bytes = fetch(loaded.uri);
    auto object = codeobj::CodeObject::parse(Bytes(bytes.data(), bytes.size()));
    if (!object.ok()) continue;
    for (const codeobj::Kernel& kernel : object->kernels())
      if (loaded.bias + kernel.descriptor_address == kernel_object) place.kernel = kernel.name;
    if (pc < loaded.bias || !holds(*object, loaded.bias, pc)) continue;
    const uint64_t address = pc - loaded.bias;
    if (const codeobj::ElfSymbol* function = object->function_at(address)) {
      place.function = function->name;
      place.offset_in_function = address - function->value;
    }
    if (auto lines = codeobj::LineTable::read(*object); lines.ok())
      if (auto line = lines->find(address)) place.source = fmt::format("{}:{}", line->file, line->line);
  }
}

runtime::CodeImage loaded_code_object(uint64_t kernel_object) {
  for (const Loaded& loaded : loaded_objects()) {
    if (kernel_object < loaded.bias) continue;
    std::vector<uint8_t> bytes = fetch(loaded.uri);
    auto object = codeobj::CodeObject::parse(Bytes(bytes.data(), bytes.size()));
    if (!object.ok()) continue;
    for (const codeobj::Kernel& kernel : object->kernels())
      if (loaded.bias + kernel.descriptor_address == kernel_object) return {loaded.bias, std::move(bytes)};
  }
  return {};
}

std::string loaded_kernel_name(uint64_t kernel_object, uint64_t code_version) {
  static std::mutex mutex;
  static auto& names = *new std::unordered_map<uint64_t, std::string>;
  static auto& known = *new std::set<std::pair<uint64_t, std::string>>;  // objects already read: bias and URI
  static uint64_t version = 0;
  std::lock_guard lock(mutex);
  if (version != code_version) {
    names.clear();
    known.clear();
    version = code_version;
  }
  if (const auto found = names.find(kernel_object); found != names.end()) return found->second;
  for (const Loaded& loaded : loaded_objects()) {
    if (!known.emplace(loaded.bias, loaded.uri).second) continue;
    const std::vector<uint8_t> bytes = fetch(loaded.uri);
    auto object = codeobj::CodeObject::parse(Bytes(bytes.data(), bytes.size()));
    if (!object.ok()) continue;
    for (const codeobj::Kernel& kernel : object->kernels())
      names.emplace(loaded.bias + kernel.descriptor_address, kernel.name);
  }
  return names[kernel_object];
}

}  // namespace morgana::kmt
