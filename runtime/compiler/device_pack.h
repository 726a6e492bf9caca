// The device library pack: the bitcode of Morgana's and AMD's device libraries, cut so that a build reads
// only what it calls.
//
// Linking opencl.bc as a whole costs 65 ms a build and merely parsing its symbol table 11 ms
// (docs/decisions/002-compiler-in-process.md). A pack holds one small bitcode module ("unit") per
// base name of a built-in, and a sorted table from symbol to unit. Reading needs no initialisation:
// a DevicePack is a view of immutable bytes that others own, usable from any thread.
// Packs are made by this program itself, at build time or from MORGANA_DEVICE_LIBS; they are not foreign
// bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace morgana::runtime {

class DevicePack {
 public:
  DevicePack() = default;
  explicit DevicePack(Bytes bytes) : bytes_(bytes) {}

  // The unit that defines `symbol`.
  std::optional<uint32_t> find(std::string_view symbol) const;
  // The bitcode of a unit.
  Bytes unit(uint32_t index) const;

 private:
  Bytes bytes_;
};

// The files of a folder with AMD's device libraries that a pack is made of, in the order they are read.
std::vector<std::string> device_library_files(const std::string& folder);

// Cuts the bitcode files into a pack; of several definitions of a symbol, that of the first file is taken,
// for all callers. Costs about a second; thread-safe.
Result<std::string> make_device_pack(const std::vector<std::string>& files);

}  // namespace morgana::runtime
