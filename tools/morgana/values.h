// What `morgana dispatch` gives to kernels: scalars written on the command line, and buffers with their
// files. Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/dispatch.h"

namespace morgana::tools {

Result<uint64_t> parse_count(std::string_view text);
// "X[,Y[,Z]]"; what is not given is `rest`.
struct Sizes {
  std::array<uint32_t, 3> values;
  uint32_t dimensions;
};
Result<Sizes> parse_sizes(std::string_view text, uint32_t rest);
// The bytes of one or several numbers ("1,2,3") of a type ("f32").
Result<std::vector<uint8_t>> parse_scalars(std::string_view type, std::string_view text);

// Buffers of a run, and the files they go to when it is over.
class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();

  // "in:FILE", "inout:FILE[:OUT]", "out:FILE:BYTES" or "zero:BYTES"; returns the address.
  Result<uint64_t> make(std::string_view spec);
  static bool describes(std::string_view spec);
  Status name(std::string_view name, uint64_t address);
  // "NAME[+BYTES]".
  Result<uint64_t> find(std::string_view reference) const;
  Status write_files() const;

 private:
  struct Buffer {
    void* memory = nullptr;
    uint64_t size = 0;
    std::string write_to;  // empty: nothing
  };
  std::vector<Buffer> buffers_;
  std::map<std::string, Buffer, std::less<>> names_;
};

// The value of one argument, as it can be given to any launch of the same kernel.
struct Value {
  std::vector<uint8_t> bytes;
  bool local = false;  // `local_size` bytes of LDS instead of `bytes`
  uint32_t local_size = 0;
};
// "FILE[,OFFSET=buf:NAME[+BYTES]]...": the file's bytes, with addresses of buffers put in.
Result<std::vector<uint8_t>> make_block(std::string_view spec, const Buffers& buffers);
Result<Value> make_value(std::string_view spec, Buffers& buffers);
Status give(runtime::Arguments& arguments, size_t index, const Value& value);

}  // namespace morgana::tools
