#include "codeobj/bundle.h"

#include <algorithm>
#include <cstring>

#include "codeobj/code_object.h"
#include "codeobj/decompress.h"

namespace morgana::codeobj {
namespace {

// Clang documentation "Clang Offload Bundler", "Bundled Binary File Layout".
constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr uint32_t kHipMagic = 0x48495046;  // "HIPF" of __hipFatBinaryWrapper
constexpr uint64_t kMaxIdLength = 4096;
constexpr uint64_t kMaxEntries = 1024;  // of one bundle; there are not that many GPUs

enum Compression : uint16_t { kZlib = 0, kZstd = 1 };  // llvm::compression::Format

struct CompressedHeader {
  uint16_t version = 0;
  uint16_t method = 0;
  uint64_t header_size = 0;
  uint64_t file_size = 0;  // 0: version 1 does not say
  uint64_t uncompressed_size = 0;
};

// Version 1: uncompressed size (4), hash (8). Version 2: file size (4), uncompressed size (4), hash (8).
// Version 3: the same with sizes of 8 bytes.
Result<CompressedHeader> read_header(Bytes bytes) {
  CompressedHeader header;
  MORGANA_TRY(header.version, bytes.read<uint16_t>(4));
  MORGANA_TRY(header.method, bytes.read<uint16_t>(6));
  switch (header.version) {
    case 1: {
      MORGANA_TRY(header.uncompressed_size, bytes.read<uint32_t>(8));
      header.header_size = 20;
      break;
    }
    case 2: {
      MORGANA_TRY(header.file_size, bytes.read<uint32_t>(8));
      MORGANA_TRY(header.uncompressed_size, bytes.read<uint32_t>(12));
      header.header_size = 24;
      break;
    }
    case 3: {
      MORGANA_TRY(header.file_size, bytes.read<uint64_t>(8));
      MORGANA_TRY(header.uncompressed_size, bytes.read<uint64_t>(16));
      header.header_size = 32;
      break;
    }
    default: return make_error(ErrorCode::unsupported, "compressed bundle of version {}", header.version);
  }
  if (bytes.size() < header.header_size)
    return make_error(ErrorCode::malformed, "compressed bundle ends in its header");
  if (header.version > 1 && (header.file_size < header.header_size || header.file_size > bytes.size()))
    return make_error(ErrorCode::malformed, "compressed bundle claims {} bytes and has {}", header.file_size,
                      bytes.size());
  return header;
}

BundleEntry make_entry(std::string_view id, size_t bundle, Bytes bytes) {
  BundleEntry entry{.id = std::string(id), .bundle = bundle, .bytes = bytes};
  const size_t dash = id.find('-');
  entry.kind = id.substr(0, dash);
  if (dash != std::string_view::npos && entry.kind != "host") {
    std::string rest(id.substr(dash + 1));
    // Some writers spell the empty environment of the triple out.
    if (const size_t at = rest.find("-unknown-"); at != std::string::npos) rest.replace(at, 9, "--");
    if (auto target = parse_target_id(rest)) entry.target = std::move(target).value();
  }
  return entry;
}

}  // namespace

bool is_bundle(Bytes bytes) {
  return bytes.text().starts_with(kMagic) || bytes.text().starts_with(kCompressedMagic);
}

Result<Bundle> Bundle::parse(Bytes bytes, uint64_t limit) {
  Bundle bundle;
  if (is_code_object(bytes)) {
    MORGANA_TRY(const CodeObject object, CodeObject::parse(bytes));
    bundle.entries_.push_back(
        {.id = object.target_id().isa_name(), .target = object.target_id(), .bytes = bytes});
    bundle.bundles_ = 1;
    return bundle;
  }
  Bytes area = bytes;
  if (is_elf(bytes)) {
    MORGANA_TRY(const ElfFile elf, ElfFile::parse(bytes));
    const ElfSection* section = elf.section(".hip_fatbin");
    if (section == nullptr)
      return make_error(ErrorCode::not_found, "an ELF file for machine {} without a section '.hip_fatbin'",
                        elf.header().e_machine);
    area = section->bytes;
  } else if (!is_bundle(bytes)) {
    return make_error(ErrorCode::malformed, "neither a code object nor an offload bundle");
  }
  if (auto status = bundle.read_sequence(area, limit); !status) return status.error().in("offload bundle");
  return bundle;
}

Status Bundle::read_sequence(Bytes bytes, uint64_t limit) {
  uint64_t offset = 0;
  for (;;) {
    while (offset < bytes.size() && bytes.data()[offset] == 0) ++offset;
    MORGANA_TRY(const Bytes rest, bytes.slice(offset, bytes.size() - offset));
    // What follows the last bundle is nobody's; a beginning must be there.
    if (!is_bundle(rest)) {
      if (bundles_ == 0) return make_error(ErrorCode::malformed, "no bundle at offset {:#x}", offset);
      return {};
    }
    auto extent = rest.text().starts_with(kMagic) ? read_plain(rest) : read_compressed(rest, limit);
    if (!extent)
      return bundles_ == 0 ? extent.error() : extent.error().in(fmt::format("bundle {}", bundles_));
    offset += *extent;
    ++bundles_;
  }
}

// Adds the entries; the bytes that the bundle takes up.
Result<uint64_t> Bundle::read_plain(Bytes bytes) {
  MORGANA_TRY(const auto count, bytes.read<uint64_t>(kMagic.size()));
  if (count > kMaxEntries) return make_error(ErrorCode::malformed, "{} entries", count);
  uint64_t at = kMagic.size() + 8;
  uint64_t extent = at;
  for (uint64_t i = 0; i < count; ++i) {
    const auto header = bytes.slice(at, 24);
    if (!header) return header.error().in(fmt::format("entry {} of {}", i, count));
    MORGANA_TRY(const auto offset, header->read<uint64_t>(0));
    MORGANA_TRY(const auto size, header->read<uint64_t>(8));
    MORGANA_TRY(const auto id_length, header->read<uint64_t>(16));
    at += 24;
    const auto id = bytes.slice(at, id_length);
    if (!id) return id.error().in(fmt::format("id of entry {}", i));
    if (id_length > kMaxIdLength)
      return make_error(ErrorCode::malformed, "id of entry {} has {} characters", i, id_length);
    at += id_length;
    const auto content = bytes.slice(offset, size);
    if (!content) return content.error().in(fmt::format("entry '{}'", id->text()));
    entries_.push_back(make_entry(id->text(), bundles_, *content));
    extent = std::max({extent, at, offset + size});
  }
  return extent;
}

Result<uint64_t> Bundle::read_compressed(Bytes bytes, uint64_t limit) {
  MORGANA_TRY(const CompressedHeader header, read_header(bytes));
  const uint64_t end = header.file_size != 0 ? header.file_size : bytes.size();
  MORGANA_TRY(const Bytes data, bytes.slice(header.header_size, end - header.header_size));
  if (header.uncompressed_size > limit)
    return make_error(ErrorCode::malformed, "compressed bundle expands to {} bytes; the limit is {}",
                      header.uncompressed_size, limit);
  if (header.method != kZlib && header.method != kZstd)
    return make_error(ErrorCode::unsupported, "compressed bundle with compression method {}", header.method);
  MORGANA_TRY(Decompressed plain, header.method == kZlib ? decompress_zlib(data, header.uncompressed_size)
                                                         : decompress_zstd(data, header.uncompressed_size));
  if (plain.bytes.size() != header.uncompressed_size)
    return make_error(ErrorCode::malformed, "compressed bundle expands to {} bytes instead of {}",
                      plain.bytes.size(), header.uncompressed_size);
  const auto storage = std::make_shared<const std::vector<uint8_t>>(std::move(plain.bytes));
  storage_.push_back(storage);
  const Bytes content(storage->data(), storage->size());
  if (!content.text().starts_with(kMagic))
    return make_error(ErrorCode::malformed, "the compressed data is no offload bundle");
  if (auto extent = read_plain(content); !extent) return extent.error();
  return header.file_size != 0 ? header.file_size : header.header_size + plain.consumed;
}

const BundleEntry* Bundle::best(const TargetId& agent, std::optional<size_t> bundle) const {
  const BundleEntry* found = nullptr;
  int found_rank = -1;
  for (const BundleEntry& entry : entries_) {
    if (!entry.target || (bundle && entry.bundle != *bundle)) continue;
    const int rank = match_rank(*entry.target, agent);
    if (rank > found_rank) {
      found = &entry;
      found_rank = rank;
    }
  }
  return found;
}

Result<const BundleEntry*> Bundle::select(const TargetId& agent) const {
  if (const BundleEntry* entry = best(agent, std::nullopt)) return entry;
  std::string ids;
  for (const BundleEntry& entry : entries_) ids.append(ids.empty() ? "" : ", ").append(entry.id);
  return make_error(ErrorCode::not_found, "no code object for {} among: {}", agent.str(), ids);
}

std::vector<const BundleEntry*> Bundle::select_each(const TargetId& agent) const {
  std::vector<const BundleEntry*> chosen;
  for (size_t i = 0; i < bundles_; ++i)
    if (const BundleEntry* entry = best(agent, i)) chosen.push_back(entry);
  return chosen;
}

Result<Bytes> fat_binary_bytes(const void* wrapper) {
  struct Wrapper {
    uint32_t magic;
    uint32_t version;
    const uint8_t* binary;
    const void* reserved;
  };
  Wrapper fields;
  std::memcpy(&fields, wrapper, sizeof(fields));
  if (fields.magic != kHipMagic || fields.version != 1 || fields.binary == nullptr)
    return make_error(ErrorCode::malformed, "no HIP fat binary wrapper: magic {:#x}, version {}",
                      fields.magic, fields.version);
  const uint8_t* start = fields.binary;
  const auto read64 = [start](uint64_t offset) {
    uint64_t value = 0;
    std::memcpy(&value, start + offset, 8);
    return value;
  };
  if (std::memcmp(start, kCompressedMagic.data(), kCompressedMagic.size()) == 0) {
    MORGANA_TRY(const CompressedHeader header, read_header(Bytes(start, SIZE_MAX / 2)));
    if (header.file_size == 0)
      return make_error(ErrorCode::unsupported,
                        "a compressed bundle of version 1 in memory does not say its size");
    return Bytes(start, header.file_size);
  }
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0)
    return make_error(ErrorCode::malformed, "the HIP fat binary is no offload bundle");
  uint64_t at = kMagic.size() + 8;
  uint64_t extent = at;
  for (uint64_t i = 0, count = read64(kMagic.size()); i < count; ++i) {
    const uint64_t id_length = read64(at + 16);
    if (id_length > kMaxIdLength)
      return make_error(ErrorCode::malformed, "id of entry {} has {} characters", i, id_length);
    extent = std::max({extent, read64(at) + read64(at + 8), at + 24 + id_length});
    at += 24 + id_length;
  }
  return Bytes(start, extent);
}

}  // namespace morgana::codeobj
