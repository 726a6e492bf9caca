#include "runtime/capsule.h"

#include <algorithm>
#include <cstring>

#include "codeobj/byte_cursor.h"
#include "device/fault.h"
#include "runtime/content_hash.h"

namespace morgana::runtime {
namespace {

using codeobj::ByteCursor;

constexpr std::string_view kMagic = "MORGANA\n";
constexpr uint64_t kHeader = 8 + 4 + 4 + 8 + 8;
constexpr uint32_t kMostText = 1 << 20;
// A code object with more bytes is written as it is: none of its zeros is left out.
constexpr uint64_t kMostSparse = uint64_t{64} << 20;
enum : uint8_t { kFreed = 1, kRegistered = 2 };

// Collects a body: small parts that are copied, and large ones that stay where they are.
class Writer {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_integral_v<T>);
    put_copy(&value, sizeof value);
  }
  void put_copy(const void* data, size_t size) {
    const auto* const bytes = static_cast<const uint8_t*>(data);
    if (parts_.empty() || !parts_.back().is_copied) parts_.push_back({true, copied_.size(), {}, 0});
    copied_.insert(copied_.end(), bytes, bytes + size);
    parts_.back().size += size;
  }
  void put_text(const std::string& text) {
    put(static_cast<uint32_t>(text.size()));
    put_copy(text.data(), text.size());
  }
  void put_view(Bytes bytes) {
    if (!bytes.empty()) parts_.push_back({false, 0, bytes, bytes.size()});
  }
  void list(std::vector<Bytes>& to) const {
    for (const Part& part : parts_)
      to.push_back(part.is_copied ? Bytes(copied_.data() + part.at, part.size) : part.view);
  }

 private:
  struct Part {
    bool is_copied = false;
    size_t at = 0;  // in copied_
    Bytes view;
    size_t size = 0;
  };
  std::vector<uint8_t> copied_;
  std::vector<Part> parts_;
};

// The parts between stretches of zeros that are long enough to be left out.
std::vector<Bytes> parts_of(Bytes bytes) {
  constexpr size_t kWord = sizeof(uint64_t), kGap = 64;
  if (bytes.size() > kMostSparse) return {bytes};
  std::vector<Bytes> parts;
  size_t begin = 0, end = 0;  // of the part, without zeros behind it
  for (size_t at = 0; at < bytes.size(); at += kWord) {
    uint64_t word = 0;
    const size_t size = std::min(kWord, bytes.size() - at);
    std::memcpy(&word, bytes.data() + at, size);
    if (word == 0) continue;
    if (at - end >= kGap || begin == end) {
      if (begin != end) parts.emplace_back(bytes.data() + begin, end - begin);
      begin = at;
    }
    end = at + size;
  }
  if (begin != end) parts.emplace_back(bytes.data() + begin, end - begin);
  return parts;
}

void put_sparse(Writer& to, Bytes bytes) {
  to.put(uint64_t{bytes.size()});
  const std::vector<Bytes> parts = parts_of(bytes);
  to.put(static_cast<uint32_t>(parts.size()));
  for (const Bytes part : parts) {
    to.put(static_cast<uint64_t>(part.data() - bytes.data()));
    to.put(uint64_t{part.size()});
    to.put_view(part);
  }
}

void put_body(Writer& to, const Capsule& from) {
  to.put_text(from.target);
  to.put_text(from.kernel);
  const Capsule::Launch& launch = from.launch;
  for (const uint64_t address :
       {launch.entry, launch.kernel_object, launch.kernarg, launch.packet, launch.queue, launch.dispatch_id})
    to.put(address);
  for (const uint32_t size : launch.grid) to.put(size);
  for (const uint32_t size : launch.group) to.put(size);
  to.put(launch.private_bytes);
  to.put(launch.group_bytes);
  to.put_copy(from.descriptor.data(), from.descriptor.size());
  to.put(from.seed);
  to.put(from.outcome.fault);
  to.put(static_cast<uint8_t>(from.outcome.is_write));
  to.put(from.outcome.pc);
  to.put(from.outcome.address);
  to.put(static_cast<uint8_t>(from.has_others));
  put_sparse(to, from.global_share);
  to.put(from.code_bias);
  put_sparse(to, from.code_object);
  to.put(static_cast<uint32_t>(from.code.size()));
  for (const Capsule::Region& region : from.code) {
    to.put(region.address);
    to.put(region.size);
  }
  to.put(static_cast<uint32_t>(from.allocations.size()));
  for (const Capsule::Allocation& one : from.allocations) {
    to.put(one.address);
    to.put(one.size);
    to.put(static_cast<uint8_t>((one.is_freed ? kFreed : 0) | (one.is_registered ? kRegistered : 0)));
    to.put_text(one.label);
  }
  to.put(static_cast<uint32_t>(from.pieces.size()));
  for (const Capsule::Piece& piece : from.pieces) {
    to.put(piece.address);
    to.put(piece.size);
    to.put(piece.flags);
    to.put(piece.after);
    to.put_view(piece.bytes);
  }
}

// Reads a body. Every part fails by `wrong`, of which the first stays.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes), in_(bytes) {}

  Result<Capsule> read() {
    read_launch();
    read_code();
    read_allocations();
    read_pieces();
    if (in_.failed()) wrong("cut short");
    if (!in_.at_end()) wrong("more bytes than it says");
    if (!wrong_.empty())
      return make_error(ErrorCode::malformed, "a damaged capsule: {} (at byte {} of its body)", wrong_,
                        in_.offset());
    return std::move(made_);
  }

 private:
  void wrong(const char* what) {
    if (wrong_.empty()) wrong_ = what;
  }
  bool stopped() {
    if (in_.failed()) wrong("cut short");
    return !wrong_.empty();
  }

  // The next `size` bytes; empty where there are not so many.
  Bytes take(uint64_t size) {
    const uint64_t at = in_.offset();
    in_.skip(size);
    return in_.failed() ? Bytes() : Bytes(bytes_.data() + at, size);
  }
  std::string take_text() {
    const uint32_t size = in_.read<uint32_t>();
    if (size > kMostText) wrong("a text of more than a megabyte");
    return wrong_.empty() ? std::string(take(size).text()) : std::string();
  }
  // How many entries follow, of which each has at least `least` bytes.
  uint32_t take_count(uint64_t least) {
    const uint32_t count = in_.read<uint32_t>();
    if (stopped() || count > (bytes_.size() - in_.offset()) / least) {
      wrong("more entries than it has bytes for");
      return 0;
    }
    return count;
  }
  bool take_range(uint64_t& address, uint64_t& size) {
    address = in_.read<uint64_t>();
    size = in_.read<uint64_t>();
    if (address >= Capsule::kAddresses || size > Capsule::kAddresses - address)
      wrong("a range outside of the addresses of programs");
    return !stopped();
  }

  void read_launch() {
    made_.target = take_text();
    made_.kernel = take_text();
    Capsule::Launch& launch = made_.launch;
    for (uint64_t* address : {&launch.entry, &launch.kernel_object, &launch.kernarg, &launch.packet,
                              &launch.queue, &launch.dispatch_id})
      *address = in_.read<uint64_t>();
    for (uint32_t& size : launch.grid) size = in_.read<uint32_t>();
    for (uint32_t& size : launch.group) size = in_.read<uint32_t>();
    launch.private_bytes = in_.read<uint32_t>();
    launch.group_bytes = in_.read<uint32_t>();
    made_.descriptor = in_.read<std::array<uint8_t, 64>>();
    made_.seed = in_.read<uint64_t>();
    made_.outcome.fault = in_.read<uint8_t>();
    const uint8_t is_write = in_.read<uint8_t>();
    made_.outcome.is_write = is_write != 0;
    made_.outcome.pc = in_.read<uint64_t>();
    made_.outcome.address = in_.read<uint64_t>();
    const uint8_t others = in_.read<uint8_t>();
    made_.has_others = others != 0;
    if (made_.outcome.fault > static_cast<uint8_t>(device::FaultKind::cancelled) || is_write > 1 ||
        others > 1)
      wrong("an outcome that there is not");
    if (!stopped()) read_sparse(made_.global_share, made_.owned_global_share);
  }

  void read_code() {
    made_.code_bias = in_.read<uint64_t>();
    read_sparse(made_.code_object, made_.owned_code_object);
    constexpr uint64_t kLeast = 16;
    for (uint32_t left = take_count(kLeast); left != 0 && !stopped(); --left) {
      Capsule::Region region;
      if (take_range(region.address, region.size)) made_.code.push_back(region);
    }
  }

  void read_sparse(Bytes& view, std::shared_ptr<const std::vector<uint8_t>>& owner) {
    const uint64_t size = in_.read<uint64_t>();
    std::vector<uint8_t> whole;
    uint64_t end = 0;
    constexpr uint64_t kLeast = 16;
    for (uint32_t left = take_count(kLeast); left != 0 && !stopped(); --left) {
      const uint64_t offset = in_.read<uint64_t>(), part = in_.read<uint64_t>();
      if (stopped() || offset < end || part > size || offset > size - part)
        return wrong("parts that are not in order");
      end = offset + part;
      const Bytes bytes = take(part);
      if (stopped()) return;
      if (part == size) {
        view = bytes;
        continue;
      }
      if (size > kMostSparse) return wrong("bytes that lack a part");
      whole.resize(size);
      std::copy(bytes.begin(), bytes.end(), whole.begin() + static_cast<ptrdiff_t>(offset));
    }
    if (stopped() || size == 0 || view.size() == size) return;
    if (size > kMostSparse) return wrong("bytes that lack a part");
    whole.resize(size);
    owner = std::make_shared<const std::vector<uint8_t>>(std::move(whole));
    view = Bytes(*owner);
  }

  void read_allocations() {
    constexpr uint64_t kLeast = 21;
    for (uint32_t left = take_count(kLeast); left != 0 && !stopped(); --left) {
      Capsule::Allocation one;
      if (!take_range(one.address, one.size)) return;
      const uint8_t flags = in_.read<uint8_t>();
      if (flags > (kFreed | kRegistered)) wrong("an allocation of a kind that there is not");
      one.is_freed = (flags & kFreed) != 0;
      one.is_registered = (flags & kRegistered) != 0;
      one.label = take_text();
      made_.allocations.push_back(std::move(one));
    }
  }

  void read_pieces() {
    constexpr uint64_t kLeast = 19;
    uint64_t end = 0;
    for (uint32_t left = take_count(kLeast); left != 0 && !stopped(); --left) {
      Capsule::Piece piece;
      piece.address = in_.read<uint64_t>();
      piece.size = in_.read<uint16_t>();
      piece.flags = in_.read<uint8_t>();
      piece.after = in_.read<uint64_t>();
      if (stopped()) return;
      if (piece.flags > (Piece::zero | Piece::readonly | Piece::shared))
        return wrong("a piece of memory of a kind that there is not");
      if (piece.address >= Capsule::kAddresses || piece.size == 0 ||
          piece.size > Capsule::kPage - piece.address % Capsule::kPage)
        return wrong("a piece of memory that is no part of a page");
      if (piece.address < end) return wrong("pieces of memory that are not in order");
      end = piece.address + piece.size;
      if ((piece.flags & Piece::zero) == 0) piece.bytes = take(piece.size);
      made_.pieces.push_back(piece);
    }
  }

  using Piece = Capsule::Piece;
  Bytes bytes_;
  ByteCursor in_;
  Capsule made_;
  std::string wrong_;
};

}  // namespace

bool write_capsule(const Capsule& capsule, const std::function<bool(std::span<const Bytes> parts)>& take) {
  Writer header, body;
  put_body(body, capsule);
  std::vector<Bytes> parts;
  body.list(parts);
  ContentHash hash;
  uint64_t size = 0;
  for (const Bytes part : parts) {
    hash.add(part);
    size += part.size();
  }
  header.put_copy(kMagic.data(), kMagic.size());
  header.put(Capsule::kVersion);
  header.put(uint32_t{0});
  header.put(size);
  header.put(hash.finish());
  std::vector<Bytes> all;
  header.list(all);
  all.insert(all.end(), parts.begin(), parts.end());
  return take(all);
}

std::vector<uint8_t> write_capsule(const Capsule& capsule) {
  std::vector<uint8_t> file;
  write_capsule(capsule, [&](std::span<const Bytes> parts) {
    for (const Bytes part : parts) file.insert(file.end(), part.begin(), part.end());
    return true;
  });
  return file;
}

Result<Capsule> parse_capsule_body(Bytes body) { return Reader(body).read(); }

Result<Capsule> parse_capsule(Bytes file) {
  if (!file.contains(0, kHeader) || file.text().substr(0, kMagic.size()) != kMagic)
    return make_error(ErrorCode::malformed, "not a capsule");
  ByteCursor header(file, kMagic.size());
  const uint32_t version = header.read<uint32_t>(), flags = header.read<uint32_t>();
  if (version != Capsule::kVersion || flags != 0)
    return make_error(ErrorCode::unsupported, "a capsule of version {}.{}; this is a reader of version {}",
                      version, flags, Capsule::kVersion);
  const uint64_t size = header.read<uint64_t>(), hash = header.read<uint64_t>();
  if (size != file.size() - kHeader)
    return make_error(ErrorCode::malformed, "a damaged capsule: {} bytes instead of {}",
                      file.size() - kHeader, size);
  const Bytes body(file.data() + kHeader, size);
  if (hash_bytes(body.data(), body.size()) != hash)
    return make_error(ErrorCode::malformed, "a damaged capsule: its bytes are not those that were written");
  return parse_capsule_body(body);
}

}  // namespace morgana::runtime
