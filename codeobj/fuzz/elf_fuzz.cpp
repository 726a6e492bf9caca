// Everything that is done to a code object from outside: parse, describe, lines, load, link's input check.
// Seeds: codeobj/testdata.
#include <cstdlib>
#include <memory>

#include "codeobj/describe.h"
#include "codeobj/line_table.h"
#include "codeobj/loader.h"

using namespace morgana;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto object = codeobj::CodeObject::parse(Bytes(data, size));
  if (!object) return 0;
  (void)codeobj::describe_file(Bytes(data, size));
  for (const codeobj::CodeRange& range : codeobj::code_ranges(*object))
    (void)object->function_at(range.address);
  if (const auto lines = codeobj::LineTable::read(*object))
    for (const auto& row : lines->rows()) (void)lines->find(row.begin);

  std::unique_ptr<void, decltype(&std::free)> memory(nullptr, &std::free);
  codeobj::LoadCallbacks callbacks;
  callbacks.allocate = [&](size_t bytes, size_t alignment) -> Result<void*> {
    if (bytes > (16u << 20) || alignment > (16u << 20))
      return make_error(ErrorCode::out_of_memory, "{} bytes", bytes);
    memory.reset(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
    return memory.get();
  };
  callbacks.resolve = [](std::string_view) { return std::optional<uint64_t>(0x7f0012345678); };
  (void)codeobj::load(*object, callbacks);
  return 0;
}
