#include "codeobj/loader.h"

#include <cstdlib>
#include <memory>

#include "codeobj/test_support.h"

namespace morgana::codeobj {
namespace {

// Memory of one load, freed with it.
struct Memory {
  std::unique_ptr<void, decltype(&std::free)> block{nullptr, &std::free};
  size_t size = 0;

  LoadCallbacks callbacks() {
    return {.allocate = [this](size_t bytes, size_t alignment) -> Result<void*> {
              size = bytes;
              if (bytes > (64u << 20)) return make_error(ErrorCode::out_of_memory, "{} bytes", bytes);
              block.reset(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
              return block.get();
            },
            .resolve = {}};
  }
};

uint64_t read64(uint64_t address) {
  uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), 8);
  return value;
}

uint64_t variable(const LoadedCode& code, std::string_view name) {
  for (const LoadedVariable& variable : code.variables)
    if (variable.name == name) return variable.address;
  return 0;
}

TEST(loader, copies_segments_and_applies_relative_relocations) {
  for (const char* file : {"gfx90a_v4.co", "gfx803_v5.co", "gfx942_v5_dwarf5.co", "gfx9_4_generic_v6.co"}) {
    const auto object = CodeObject::parse(view(read_testdata(file)));
    ASSERT_TRUE(object.ok()) << object.error().message;
    Memory memory;
    const auto code = load(*object, memory.callbacks());
    ASSERT_TRUE(code.ok()) << code.error().message;
    EXPECT_EQ(load_span(*object)->size, memory.size);
    EXPECT_EQ(code->memory, memory.block.get());
    // `pointer` holds the loaded address of `counter`, whose initial value is 7.
    EXPECT_EQ(read64(variable(*code, "pointer")), variable(*code, "counter"));
    EXPECT_EQ(static_cast<uint32_t>(read64(variable(*code, "counter"))), 7u);
    ASSERT_EQ(code->kernels.size(), 3u);
    for (const LoadedKernel& kernel : code->kernels) {
      // The descriptor in memory leads to the entry.
      EXPECT_EQ(kernel.descriptor_address + read64(kernel.descriptor_address + 16), kernel.entry_address);
      bool executable = false;
      for (const LoadedSegment& segment : code->segments)
        executable |= (segment.flags & PF_X) != 0 && kernel.entry_address >= segment.address &&
                      kernel.entry_address < segment.address + segment.size;
      EXPECT_TRUE(executable) << kernel.name;
    }
  }
}

TEST(loader, loads_v2) {
  const auto object = CodeObject::parse(view(build_v2()));
  Memory memory;
  const auto code = load(*object, memory.callbacks());
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(static_cast<uint32_t>(read64(code->kernels[0].entry_address)), 0xbf810000u);
}

TEST(loader, undefined_symbols_are_resolved_or_named) {
  const auto object = CodeObject::parse(view(read_testdata("external.co")));
  ASSERT_TRUE(object.ok()) << object.error().message;
  Memory memory;
  LoadCallbacks callbacks = memory.callbacks();
  const auto refused = load(*object, callbacks);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_NE(refused.error().message.find("'outside'"), std::string::npos);

  callbacks.resolve = [](std::string_view name) -> std::optional<uint64_t> {
    return name == "outside" ? std::optional<uint64_t>(0x123456789a) : std::nullopt;
  };
  const auto code = load(*object, callbacks);
  ASSERT_TRUE(code.ok()) << code.error().message;
  const ElfSection* rela = object->elf().section(".rela.dyn");
  const auto records = object->elf().relocations(*rela);
  EXPECT_EQ(read64((*records)[0].offset + code->bias), 0x123456789au);
}

// The object with the one relocation of its .rela.dyn replaced.
Result<LoadedCode> load_with(Memory& memory, uint32_t type, int64_t addend, uint64_t symbol_value,
                             uint64_t& place) {
  Blob blob = read_testdata("external.co");
  const auto original = CodeObject::parse(view(blob));
  const ElfSection* rela = original->elf().section(".rela.dyn");
  place = (*original->elf().relocations(*rela))[0].offset;
  put<uint64_t>(blob, rela->offset + 8, (uint64_t{1} << 32) | type);
  put<int64_t>(blob, rela->offset + 16, addend);
  const auto object = CodeObject::parse(view(blob));
  LoadCallbacks callbacks = memory.callbacks();
  callbacks.resolve = [=](std::string_view) { return std::optional<uint64_t>(symbol_value); };
  return load(*object, callbacks);
}

TEST(loader, applies_every_relocation_of_amdgpu) {
  constexpr uint64_t kSymbol = 0x7ffe12345678;
  const auto applied = [&](uint32_t type, uint64_t symbol, int64_t addend, uint64_t& here, uint64_t& bias,
                           uint64_t* slot = nullptr) -> uint64_t {
    Memory memory;
    uint64_t place = 0;
    const auto code = load_with(memory, type, addend, symbol, place);
    EXPECT_TRUE(code.ok()) << (code ? "" : code.error().message);
    if (!code) return 0;
    bias = code->bias;
    here = place + bias;
    const uint64_t value = read64(here);
    if (slot != nullptr)
      *slot =
          read64(here - static_cast<uint64_t>(addend) + static_cast<uint64_t>(static_cast<int32_t>(value)));
    return value;
  };
  uint64_t p = 0, b = 0, slot = 0;
  EXPECT_EQ(applied(0, kSymbol, 8, p, b), 0u);
  EXPECT_EQ(applied(1, kSymbol, 8, p, b), (kSymbol + 8) & 0xffffffff);
  EXPECT_EQ(applied(2, kSymbol, 8, p, b), (kSymbol + 8) >> 32);
  EXPECT_EQ(applied(3, kSymbol, 8, p, b), kSymbol + 8);
  EXPECT_EQ(applied(5, kSymbol, 8, p, b), kSymbol + 8 - p);
  EXPECT_EQ(applied(6, 0x1000, 8, p, b), 0x1008u);
  const uint64_t lo = applied(10, kSymbol, 8, p, b);
  EXPECT_EQ(lo, (kSymbol + 8 - p) & 0xffffffff);
  const uint64_t hi = applied(11, kSymbol, 8, p, b);
  EXPECT_EQ(hi, (kSymbol + 8 - p) >> 32);
  const uint64_t relative = applied(13, kSymbol, 0x40, p, b);
  EXPECT_EQ(relative, b + 0x40);
  // The three through the table of indirect addresses: the distance leads to a slot with the symbol's
  // address.
  for (const uint32_t type : {7u, 8u}) {
    applied(type, kSymbol, 4, p, b, &slot);
    EXPECT_EQ(slot, kSymbol) << type;
  }
  EXPECT_EQ(applied(9, kSymbol, 4, p, b) & 0xffffffff, 0u);
}

TEST(loader, distances_that_do_not_fit_are_errors) {
  uint64_t place = 0;
  for (const uint32_t type : {4u, 6u, 14u}) {
    Memory memory;
    const auto code = load_with(memory, type, 0, uint64_t{1} << 60, place);
    ASSERT_FALSE(code.ok()) << type;
    EXPECT_EQ(code.error().code, ErrorCode::malformed);
  }
  Memory memory;
  EXPECT_EQ(load_with(memory, 12, 0, 0, place).error().code, ErrorCode::unsupported);
  EXPECT_EQ(load_with(memory, 99, 0, 0, place).error().code, ErrorCode::unsupported);
}

// Every object, cut at every length and with every byte changed: an error or a load, never a crash.
void parse_and_load(Bytes bytes) {
  const auto object = CodeObject::parse(bytes);
  if (!object) {
    EXPECT_FALSE(object.error().message.empty());
    return;
  }
  Memory memory;
  LoadCallbacks callbacks = memory.callbacks();
  callbacks.resolve = [](std::string_view) { return std::optional<uint64_t>(0x1000); };
  const auto code = load(*object, callbacks);
  if (!code) {
    EXPECT_FALSE(code.error().message.empty());
  }
}

class Mutation : public testing::TestWithParam<const char*> {
 protected:
  Blob blob() const { return std::string_view(GetParam()) == "v2" ? build_v2() : read_testdata(GetParam()); }
};

TEST_P(Mutation, truncated_at_every_length) {
  const Blob original = blob();
  for (size_t size = 0; size < original.size(); ++size) {
    // A copy of its own, so that the sanitizer sees the end.
    const Blob cut(original.begin(), original.begin() + static_cast<ptrdiff_t>(size));
    parse_and_load(view(cut));
  }
}

TEST_P(Mutation, every_byte_changed) {
  Blob bytes = blob();
  for (uint8_t& byte : bytes) {
    const uint8_t before = byte;
    for (const uint8_t value :
         {uint8_t(before ^ 0xff), uint8_t(before ^ 1), uint8_t(before ^ 0x80), uint8_t(0)}) {
      byte = value;
      parse_and_load(view(bytes));
    }
    byte = before;
  }
}

INSTANTIATE_TEST_SUITE_P(objects, Mutation,
                         testing::Values("gfx90a_v4.co", "gfx906_v5.o", "external.co", "v2"));

}  // namespace
}  // namespace morgana::codeobj
