#include "codeobj/loader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

namespace morgana::codeobj {
namespace {

// LLVM AMDGPUUsage "Relocation Records".
enum RelocationType : uint32_t {
  kRelocNone = 0,
  kRelocAbs32Lo = 1,
  kRelocAbs32Hi = 2,
  kRelocAbs64 = 3,
  kRelocRel32 = 4,
  kRelocRel64 = 5,
  kRelocAbs32 = 6,
  kRelocGotPcRel = 7,
  kRelocGotPcRel32Lo = 8,
  kRelocGotPcRel32Hi = 9,
  kRelocRel32Lo = 10,
  kRelocRel32Hi = 11,
  kRelocRelative64 = 13,
  kRelocRel16 = 14,
};

constexpr std::array kRelocationNames = {
    "R_AMDGPU_NONE",          "R_AMDGPU_ABS32_LO",      "R_AMDGPU_ABS32_HI", "R_AMDGPU_ABS64",
    "R_AMDGPU_REL32",         "R_AMDGPU_REL64",         "R_AMDGPU_ABS32",    "R_AMDGPU_GOTPCREL",
    "R_AMDGPU_GOTPCREL32_LO", "R_AMDGPU_GOTPCREL32_HI", "R_AMDGPU_REL32_LO", "R_AMDGPU_REL32_HI",
    "relocation 12",          "R_AMDGPU_RELATIVE64",    "R_AMDGPU_REL16"};

constexpr uint32_t kSectionRelr = 19;  // SHT_RELR
constexpr uint64_t kPage = 4096;
// A code object larger than this is a broken one.
constexpr uint64_t kMaxSpan = uint64_t{1} << 36;

bool uses_got(uint32_t type) {
  return type == kRelocGotPcRel || type == kRelocGotPcRel32Lo || type == kRelocGotPcRel32Hi;
}

using Symbols = std::shared_ptr<const std::vector<ElfSymbol>>;

struct RelocationTable {
  const ElfSection* section = nullptr;
  std::vector<ElfRelocation> records;
  Symbols symbols;  // never null
};

// The tables that concern loaded memory. Static ones, which a linker may leave beside them, are not
// allocated.
Result<std::vector<RelocationTable>> relocation_tables(const ElfFile& elf) {
  std::vector<RelocationTable> tables;
  std::map<uint32_t, Symbols> symbol_tables = {{0, std::make_shared<std::vector<ElfSymbol>>()}};
  uint64_t total = 0;
  for (const ElfSection& section : elf.sections()) {
    if ((section.type != SHT_RELA && section.type != SHT_REL && section.type != kSectionRelr) ||
        (section.flags & SHF_ALLOC) == 0)
      continue;
    total += section.bytes.size();
    if (total > elf.bytes().size()) return make_error(ErrorCode::malformed, "relocation tables overlap");
    RelocationTable table{.section = &section};
    if (section.type != kSectionRelr) {
      MORGANA_TRY(table.records, elf.relocations(section));
    }
    if (section.link >= elf.sections().size())
      return make_error(ErrorCode::malformed, "relocation table '{}' names symbol table {} of {} sections",
                        section.name, section.link, elf.sections().size());
    Symbols& symbols = symbol_tables[section.link];
    if (symbols == nullptr) {
      MORGANA_TRY(auto read, elf.symbols(elf.sections()[section.link]));
      symbols = std::make_shared<std::vector<ElfSymbol>>(std::move(read));
    }
    table.symbols = symbols;
    tables.push_back(std::move(table));
  }
  return tables;
}

uint64_t got_slots(const std::vector<RelocationTable>& tables) {
  uint64_t count = 0;
  for (const RelocationTable& table : tables)
    count += static_cast<uint64_t>(std::ranges::count_if(
        table.records, [](const ElfRelocation& record) { return uses_got(record.type); }));
  return count;
}

Result<LoadSpan> segment_span(const ElfFile& elf) {
  uint64_t low = UINT64_MAX, high = 0, alignment = kPage;
  for (const ElfSegment& segment : elf.segments()) {
    if (segment.type != PT_LOAD || segment.memory_size == 0) continue;
    if (segment.file_size > segment.memory_size)
      return make_error(ErrorCode::malformed, "segment at {:#x} has {} bytes in the file and {} in memory",
                        segment.address, segment.file_size, segment.memory_size);
    if (segment.memory_size > kMaxSpan || segment.address > kMaxSpan)
      return make_error(ErrorCode::malformed, "segment at {:#x} of {:#x} bytes is too large", segment.address,
                        segment.memory_size);
    if (segment.alignment > 1) {
      if (!std::has_single_bit(segment.alignment) || segment.alignment > kMaxSpan)
        return make_error(ErrorCode::malformed, "segment at {:#x} has alignment {}", segment.address,
                          segment.alignment);
      alignment = std::max(alignment, segment.alignment);
    }
    low = std::min(low, segment.address);
    high = std::max(high, segment.address + segment.memory_size);
  }
  if (low > high) return make_error(ErrorCode::malformed, "no segment to load");
  low &= ~(alignment - 1);
  return LoadSpan{low, high - low, alignment};
}

// One load in progress.
class Loader {
 public:
  Loader(const CodeObject& object, const LoadCallbacks& callbacks, LoadSpan span, uint64_t got_offset,
         uint8_t* memory)
      : object_(object),
        callbacks_(callbacks),
        span_(span),
        memory_(memory),
        bias_(reinterpret_cast<uint64_t>(memory) - span.address),
        got_next_(got_offset) {}

  uint64_t bias() const { return bias_; }

  void copy_segments() {
    std::memset(memory_, 0, span_.size);
    for (const ElfSegment& segment : object_.elf().segments())
      if (segment.type == PT_LOAD && segment.memory_size != 0 && !segment.bytes.empty())
        std::memcpy(memory_ + (segment.address - span_.address), segment.bytes.data(), segment.bytes.size());
  }

  Status relocate(const RelocationTable& table) {
    if (table.section->type == kSectionRelr) return relocate_relr(*table.section);
    for (const ElfRelocation& record : table.records)
      if (auto status = relocate(table, record); !status)
        return status.error().in(fmt::format("{} at {:#x}", relocation_name(record.type), record.offset));
    return {};
  }

 private:
  // Packed relative relocations: a word with bit 0 clear is an address, one with bit 0 set is a bitmap of
  // the 63 words behind the last address (ELF gABI "RELR").
  Status relocate_relr(const ElfSection& section) {
    uint64_t next = 0;
    for (uint64_t offset = 0; section.bytes.contains(offset, 8); offset += 8) {
      MORGANA_TRY(const uint64_t word, section.bytes.read<uint64_t>(offset));
      if ((word & 1) == 0) {
        MORGANA_CHECK(add_bias(word));
        next = word + 8;
        continue;
      }
      for (int i = 0; i < 63; ++i)
        if (((word >> (i + 1)) & 1) != 0) MORGANA_CHECK(add_bias(next + static_cast<uint64_t>(i) * 8));
      next += 63 * 8;
    }
    return {};
  }

  static std::string relocation_name(uint32_t type) {
    return type < kRelocationNames.size() ? kRelocationNames[type] : fmt::format("relocation {}", type);
  }

  // The `size` bytes of memory at ELF address `address`, or malformed.
  Result<uint8_t*> place(uint64_t address, uint64_t size) {
    for (const ElfSegment& segment : object_.elf().segments())
      if (segment.type == PT_LOAD && address >= segment.address && size <= segment.memory_size &&
          address - segment.address <= segment.memory_size - size)
        return memory_ + (address - span_.address);
    return make_error(ErrorCode::malformed, "address {:#x} lies in no loaded segment", address);
  }

  Status add_bias(uint64_t address) {
    MORGANA_TRY(uint8_t* at, place(address, 8));
    uint64_t value = 0;
    std::memcpy(&value, at, 8);
    value += bias_;
    std::memcpy(at, &value, 8);
    return {};
  }

  Result<uint64_t> symbol_address(const RelocationTable& table, uint32_t index) {
    if (index == 0) return uint64_t{0};
    if (index >= table.symbols->size())
      return make_error(ErrorCode::malformed, "names symbol {} of {}", index, table.symbols->size());
    const ElfSymbol& symbol = (*table.symbols)[index];
    if (symbol.section == kSectionLds)
      return make_error(ErrorCode::unsupported, "'{}' is a variable in LDS, which has no address",
                        symbol.name);
    if (symbol.section == SHN_ABS) return symbol.value;
    if (symbol.is_defined()) return symbol.value + bias_;
    if (callbacks_.resolve)
      if (const auto address = callbacks_.resolve(symbol.name)) return *address;
    if (symbol.binding == STB_WEAK) return uint64_t{0};
    return make_error(ErrorCode::not_found, "undefined symbol '{}'", symbol.name);
  }

  Status relocate(const RelocationTable& table, const ElfRelocation& record) {
    if (record.type == kRelocNone) return {};
    const uint32_t size =
        record.type == kRelocAbs64 || record.type == kRelocRel64 || record.type == kRelocRelative64 ? 8
        : record.type == kRelocRel16                                                                ? 2
                                                                                                    : 4;
    MORGANA_TRY(uint8_t* at, place(record.offset, size));
    uint64_t addend = static_cast<uint64_t>(record.addend);
    if (!record.has_addend) {
      // An addend in a narrower place is zero-extended (AMDGPUUsage, notation A).
      addend = 0;
      std::memcpy(&addend, at, size);
    }
    const uint64_t here = reinterpret_cast<uint64_t>(at);
    uint64_t symbol = 0;
    if (record.type != kRelocRelative64) {
      MORGANA_TRY(symbol, symbol_address(table, record.symbol));
    }
    if (uses_got(record.type)) symbol = got_entry(symbol);
    MORGANA_TRY(const uint64_t value, field_value(record.type, symbol, addend, here));
    std::memcpy(at, &value, size);
    return {};
  }

  Result<uint64_t> field_value(uint32_t type, uint64_t symbol, uint64_t addend, uint64_t here) const {
    const uint64_t absolute = symbol + addend;
    const int64_t relative = static_cast<int64_t>(absolute - here);
    switch (type) {
      case kRelocAbs32Lo: return absolute & 0xffffffff;
      case kRelocAbs32Hi: return absolute >> 32;
      case kRelocAbs64: return absolute;
      case kRelocAbs32:
        if (absolute > UINT32_MAX)
          return make_error(ErrorCode::malformed, "value {:#x} exceeds 32 bits", absolute);
        return absolute;
      case kRelocRel32:
      case kRelocGotPcRel:
        if (relative != static_cast<int32_t>(relative))
          return make_error(ErrorCode::malformed, "distance {:#x} exceeds 32 bits", relative);
        return static_cast<uint64_t>(relative);
      case kRelocRel64: return static_cast<uint64_t>(relative);
      case kRelocRel32Lo:
      case kRelocGotPcRel32Lo: return static_cast<uint64_t>(relative) & 0xffffffff;
      case kRelocRel32Hi:
      case kRelocGotPcRel32Hi: return static_cast<uint64_t>(relative) >> 32;
      case kRelocRelative64: return bias_ + addend;
      case kRelocRel16: {
        const int64_t words = (relative - 4) / 4;
        if (words != static_cast<int16_t>(words))
          return make_error(ErrorCode::malformed, "branch of {} words exceeds 16 bits", words);
        return static_cast<uint64_t>(words);
      }
      default:
        return make_error(ErrorCode::unsupported, "relocation type {} is not defined for AMDGPU", type);
    }
  }

  // The address of a slot that holds `address`, one slot per distinct address.
  uint64_t got_entry(uint64_t address) {
    const auto [entry, added] = got_.try_emplace(address, got_next_);
    if (added) {
      std::memcpy(memory_ + got_next_, &address, 8);
      got_next_ += 8;
    }
    return reinterpret_cast<uint64_t>(memory_ + entry->second);
  }

  const CodeObject& object_;
  const LoadCallbacks& callbacks_;
  const LoadSpan span_;
  uint8_t* const memory_;
  const uint64_t bias_;
  uint64_t got_next_;
  std::map<uint64_t, uint64_t> got_;
};

// The load span and where in it the table of indirect addresses begins.
LoadSpan with_got(LoadSpan span, uint64_t slots, uint64_t& got_offset) {
  got_offset = (span.size + 7) & ~uint64_t{7};
  if (slots != 0) span.size = got_offset + slots * 8;
  return span;
}

}  // namespace

Result<LoadSpan> load_span(const CodeObject& object) {
  if (object.is_relocatable())
    return make_error(ErrorCode::invalid_argument,
                      "a relocatable code object (ET_REL) must be linked before loading");
  MORGANA_TRY(const LoadSpan span, segment_span(object.elf()));
  MORGANA_TRY(const auto tables, relocation_tables(object.elf()));
  uint64_t got_offset = 0;
  return with_got(span, got_slots(tables), got_offset);
}

Result<LoadedCode> load(const CodeObject& object, const LoadCallbacks& callbacks) {
  if (object.is_relocatable())
    return make_error(ErrorCode::invalid_argument,
                      "a relocatable code object (ET_REL) must be linked before loading");
  MORGANA_TRY(const LoadSpan segments, segment_span(object.elf()));
  MORGANA_TRY(const auto tables, relocation_tables(object.elf()));
  uint64_t got_offset = 0;
  const LoadSpan span = with_got(segments, got_slots(tables), got_offset);
  MORGANA_TRY(void* memory, callbacks.allocate(span.size, span.alignment));

  Loader loader(object, callbacks, span, got_offset, static_cast<uint8_t*>(memory));
  loader.copy_segments();
  for (const RelocationTable& table : tables) MORGANA_CHECK(loader.relocate(table));

  LoadedCode code{.memory = memory, .size = span.size, .bias = loader.bias()};
  for (const ElfSegment& segment : object.elf().segments())
    if (segment.type == PT_LOAD && segment.memory_size != 0)
      code.segments.push_back({segment.address + code.bias, segment.memory_size, segment.flags});
  for (const Kernel& kernel : object.kernels())
    code.kernels.push_back({kernel.name, kernel.descriptor_address + code.bias,
                            kernel.entry_address + code.bias, kernel.code_size});
  for (const Variable& variable : object.variables())
    if (!variable.is_lds)
      code.variables.push_back({variable.name, variable.address + code.bias, variable.size});
  return code;
}

}  // namespace morgana::codeobj
