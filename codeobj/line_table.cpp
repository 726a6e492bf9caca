// DWARF Debugging Information Format Version 5, section 6.2 "Line Number Information"; versions 2 to 4 differ
// in the header.
#include "codeobj/line_table.h"

#include <algorithm>

#include "codeobj/byte_cursor.h"
#include "codeobj/decompress.h"

namespace morgana::codeobj {
namespace {

constexpr uint64_t kMaxPath = 4096;
constexpr uint64_t kMaxSection = uint64_t{1} << 30;  // decompressed

enum StandardOpcode : uint8_t {
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kSetColumn = 5,
  kConstAddPc = 8,
  kFixedAdvancePc = 9,
};
enum ExtendedOpcode : uint8_t { kEndSequence = 1, kSetAddress = 2, kDefineFile = 3 };
enum ContentType : uint16_t { kPath = 1, kDirectoryIndex = 2 };
enum Form : uint16_t {
  kData2 = 0x05,
  kData4 = 0x06,
  kData8 = 0x07,
  kString = 0x08,
  kBlock = 0x09,
  kData1 = 0x0b,
  kStrp = 0x0e,
  kUdata = 0x0f,
  kData16 = 0x1e,
  kLineStrp = 0x1f,
};

constexpr uint32_t kCompressZlib = 1;  // ELFCOMPRESS_ZLIB
constexpr uint32_t kCompressZstd = 2;  // ELFCOMPRESS_ZSTD

}  // namespace

class LineReader {
 public:
  explicit LineReader(LineTable& table) : table_(table) {}

  Status read_sections(const CodeObject& object) {
    table_.storage_.push_back(object.storage());
    MORGANA_TRY(strings_, section(object.elf(), ".debug_str"));
    MORGANA_TRY(line_strings_, section(object.elf(), ".debug_line_str"));
    MORGANA_TRY(lines_, section(object.elf(), ".debug_line"));
    return {};
  }

  Status read_units() {
    for (uint64_t offset = 0; offset < lines_.size();) {
      auto end = read_unit(offset);
      if (!end) return end.error().in(fmt::format(".debug_line unit at {:#x}", offset));
      offset = *end;
    }
    std::ranges::sort(table_.rows_, {}, &LineTable::Row::begin);
    return {};
  }

 private:
  struct Header {
    uint16_t version = 0;
    bool is_64 = false;
    uint8_t address_size = 8;
    uint8_t min_instruction_length = 1;
    int8_t line_base = 0;
    uint8_t line_range = 1;
    std::vector<uint8_t> opcode_lengths;  // index 0 unused
    size_t first_file = 0;                // into LineTable::files_
    uint32_t file_base = 1;               // number of the first file
  };

  struct State {
    uint64_t address = 0;
    uint64_t file = 1;
    uint32_t line = 1;
    uint32_t column = 0;
  };

  // A section's bytes, decompressed; empty when there is none.
  Result<Bytes> section(const ElfFile& elf, std::string_view name) {
    const ElfSection* found = elf.section(name);
    if (found == nullptr) return Bytes();
    if ((found->flags & SHF_COMPRESSED) == 0) return found->bytes;
    MORGANA_TRY(const auto header, found->bytes.read<Elf64_Chdr>(0));
    MORGANA_TRY(const Bytes data, found->bytes.slice(sizeof(header), found->bytes.size() - sizeof(header)));
    if (header.ch_type != kCompressZlib && header.ch_type != kCompressZstd)
      return make_error(ErrorCode::unsupported, "section {} has compression type {}", name, header.ch_type);
    auto plain = header.ch_type == kCompressZlib ? decompress_zlib(data, kMaxSection)
                                                 : decompress_zstd(data, kMaxSection);
    if (!plain) return plain.error().in(fmt::format("section {}", name));
    table_.storage_.push_back(std::make_shared<const std::vector<uint8_t>>(std::move(plain->bytes)));
    return Bytes(table_.storage_.back()->data(), table_.storage_.back()->size());
  }

  // Reads the unit at `offset`; the offset of the next one.
  Result<uint64_t> read_unit(uint64_t offset) {
    ByteCursor start(lines_, offset);
    Header header;
    uint64_t length = start.read<uint32_t>();
    if (length == 0xffffffff) {
      header.is_64 = true;
      length = start.read<uint64_t>();
    }
    if (start.failed()) return make_error(ErrorCode::malformed, "ends in its header");
    MORGANA_TRY(const Bytes unit, lines_.slice(start.offset(), length));
    const uint64_t next = start.offset() + length;

    ByteCursor cursor(unit);
    header.version = cursor.read<uint16_t>();
    // Another version's unit can be passed over by its length.
    if (header.version < 2 || header.version > 5) return next;
    if (header.version >= 5) {
      header.address_size = cursor.read<uint8_t>();
      cursor.skip(1);
    }
    const uint64_t header_length = cursor.read_sized(header.is_64 ? 8 : 4);
    const uint64_t header_start = cursor.offset();
    header.min_instruction_length = cursor.read<uint8_t>();
    if (header.version >= 4) cursor.skip(1);
    cursor.skip(1);
    header.line_base = cursor.read<int8_t>();
    header.line_range = cursor.read<uint8_t>();
    const uint8_t opcode_base = cursor.read<uint8_t>();
    header.opcode_lengths.resize(std::max<size_t>(opcode_base, 1));
    for (size_t i = 1; i < opcode_base; ++i) header.opcode_lengths[i] = cursor.read<uint8_t>();
    if (cursor.failed()) return make_error(ErrorCode::malformed, "ends in its header");
    if (header.line_range == 0) return make_error(ErrorCode::malformed, "line range is 0");
    header.first_file = table_.files_.size();
    header.file_base = header.version >= 5 ? 0 : 1;
    MORGANA_CHECK(header.version >= 5 ? read_files_v5(cursor, header) : read_files(cursor));
    if (!unit.contains(header_start, header_length))
      return make_error(ErrorCode::malformed, "header of {} bytes is longer than the unit", header_length);
    MORGANA_CHECK(run(ByteCursor(unit, header_start + header_length), header));
    return next;
  }

  Status read_files(ByteCursor& cursor) {
    std::vector<std::string_view> directories = {""};
    for (;;) {
      const std::string_view name = cursor.read_string(kMaxPath);
      if (name.empty()) break;
      directories.push_back(name);
    }
    for (;;) {
      const std::string_view name = cursor.read_string(kMaxPath);
      if (name.empty()) break;
      const uint64_t directory = cursor.read_uleb();
      cursor.read_uleb();
      cursor.read_uleb();
      table_.files_.push_back({directory < directories.size() ? directories[directory] : "", name});
    }
    if (cursor.failed()) return make_error(ErrorCode::malformed, "ends in its file table");
    return {};
  }

  struct Entry {
    std::string_view path;
    uint64_t directory = 0;
  };

  Result<std::vector<Entry>> read_entries(ByteCursor& cursor, bool is_64) {
    std::vector<std::pair<uint64_t, uint64_t>> formats(cursor.read<uint8_t>());
    for (auto& [content, form] : formats) {
      content = cursor.read_uleb();
      form = cursor.read_uleb();
    }
    const uint64_t count = cursor.read_uleb();
    std::vector<Entry> entries;
    // Without a format an entry takes no bytes, and any number of them would fit.
    if (formats.empty() && count != 0)
      return make_error(ErrorCode::malformed, "{} file entries without a format", count);
    for (uint64_t i = 0; i < count && !cursor.failed(); ++i) {
      Entry entry;
      for (const auto& [content, form] : formats) {
        // Of the strings only paths are read: the embedded sources may be long, and many entries may share
        // one.
        MORGANA_TRY(const uint64_t value,
                    read_form(cursor, form, is_64, content == kPath ? &entry.path : nullptr));
        if (content == kDirectoryIndex) entry.directory = value;
      }
      entries.push_back(entry);
    }
    if (cursor.failed()) return make_error(ErrorCode::malformed, "ends in its file table");
    return entries;
  }

  Status read_files_v5(ByteCursor& cursor, const Header& header) {
    MORGANA_TRY(const auto directories, read_entries(cursor, header.is_64));
    MORGANA_TRY(const auto files, read_entries(cursor, header.is_64));
    for (const Entry& file : files)
      table_.files_.push_back(
          {file.directory < directories.size() ? directories[file.directory].path : std::string_view(),
           file.path});
    return {};
  }

  Result<uint64_t> read_form(ByteCursor& cursor, uint64_t form, bool is_64, std::string_view* path) {
    switch (form) {
      case kData1: return uint64_t{cursor.read<uint8_t>()};
      case kData2: return uint64_t{cursor.read<uint16_t>()};
      case kData4: return uint64_t{cursor.read<uint32_t>()};
      case kData8: return cursor.read<uint64_t>();
      case kUdata: return cursor.read_uleb();
      case kData16: cursor.skip(16); return uint64_t{0};
      case kBlock: cursor.skip(cursor.read_uleb()); return uint64_t{0};
      case kString: {
        const std::string_view text = cursor.read_string(path == nullptr ? kMaxSection : kMaxPath);
        if (path != nullptr) *path = text;
        return uint64_t{0};
      }
      case kStrp:
      case kLineStrp: {
        const uint64_t offset = cursor.read_sized(is_64 ? 8 : 4);
        if (path == nullptr) return uint64_t{0};
        ByteCursor strings(form == kStrp ? strings_ : line_strings_, offset);
        *path = strings.read_string(kMaxPath);
        if (strings.failed())
          return make_error(ErrorCode::malformed, "a name lies outside {}",
                            form == kStrp ? ".debug_str" : ".debug_line_str");
        return uint64_t{0};
      }
      default: return make_error(ErrorCode::unsupported, "file table with form {:#x}", form);
    }
  }

  Status run(ByteCursor cursor, const Header& header) {
    State state;
    while (!cursor.at_end()) {
      const uint8_t opcode = cursor.read<uint8_t>();
      if (opcode >= header.opcode_lengths.size()) {
        const int adjusted = opcode - static_cast<int>(header.opcode_lengths.size());
        advance(state, header, static_cast<uint64_t>(adjusted / header.line_range));
        state.line += static_cast<uint32_t>(header.line_base + adjusted % header.line_range);
        emit(state, header);
      } else if (opcode == 0) {
        run_extended(cursor, state, header);
      } else {
        run_standard(opcode, cursor, state, header);
      }
    }
    // A sequence that nobody ended has no extent.
    sequence_.clear();
    if (cursor.failed())
      return make_error(ErrorCode::malformed, "ends inside an instruction of its line program");
    return {};
  }

  void run_standard(uint8_t opcode, ByteCursor& cursor, State& state, const Header& header) {
    switch (opcode) {
      case kCopy: emit(state, header); break;
      case kAdvancePc: advance(state, header, cursor.read_uleb()); break;
      case kAdvanceLine: state.line += static_cast<uint32_t>(cursor.read_sleb()); break;
      case kSetFile: state.file = cursor.read_uleb(); break;
      case kSetColumn: state.column = static_cast<uint32_t>(cursor.read_uleb()); break;
      case kConstAddPc:
        advance(state, header, (255 - header.opcode_lengths.size()) / header.line_range);
        break;
      case kFixedAdvancePc: state.address += cursor.read<uint16_t>(); break;
      default:
        for (uint8_t i = 0; i < header.opcode_lengths[opcode]; ++i) cursor.read_uleb();
    }
  }

  void run_extended(ByteCursor& cursor, State& state, const Header& header) {
    const uint64_t length = cursor.read_uleb();
    const uint64_t start = cursor.offset();
    const uint8_t opcode = length == 0 ? 0 : cursor.read<uint8_t>();
    if (opcode == kEndSequence) {
      end_sequence(state);
      state = {};
    } else if (opcode == kSetAddress) {
      state.address = cursor.read_sized(length - 1);
    } else if (opcode == kDefineFile) {
      table_.files_.push_back({"", cursor.read_string(kMaxPath)});
    }
    const uint64_t used = cursor.offset() - start;
    if (!cursor.failed() && used <= length) cursor.skip(length - used);
  }

  static void advance(State& state, const Header& header, uint64_t operations) {
    state.address += operations * header.min_instruction_length;
  }

  void emit(const State& state, const Header& header) {
    const uint64_t index = state.file - header.file_base;
    const size_t known = table_.files_.size() - header.first_file;
    const uint32_t file = index < known ? static_cast<uint32_t>(header.first_file + index) : UINT32_MAX;
    LineTable::Row row{state.address, 0, file, state.line, state.column};
    if (row.line == 0 && !sequence_.empty()) {
      row.file = sequence_.back().file;
      row.line = sequence_.back().line;
      row.column = sequence_.back().column;
    }
    sequence_.push_back(row);
  }

  void end_sequence(const State& state) {
    for (size_t i = 0; i < sequence_.size(); ++i) {
      LineTable::Row row = sequence_[i];
      row.end = i + 1 < sequence_.size() ? sequence_[i + 1].begin : state.address;
      if (row.end > row.begin) table_.rows_.push_back(row);
    }
    sequence_.clear();
  }

  LineTable& table_;
  Bytes lines_, strings_, line_strings_;
  std::vector<LineTable::Row> sequence_;
};

Result<LineTable> LineTable::read(const CodeObject& object) {
  if (object.elf().section(".debug_line") == nullptr)
    return make_error(ErrorCode::not_found, "the code object has no line table");
  if (object.is_relocatable())
    return make_error(ErrorCode::invalid_argument, "a relocatable code object (ET_REL) has no addresses yet");
  LineTable table;
  LineReader reader(table);
  MORGANA_CHECK(reader.read_sections(object));
  MORGANA_CHECK(reader.read_units());
  return table;
}

std::optional<SourceLine> LineTable::find(uint64_t address) const {
  auto row = std::ranges::upper_bound(rows_, address, {}, &Row::begin);
  if (row == rows_.begin()) return std::nullopt;
  --row;
  if (address >= row->end) return std::nullopt;
  return SourceLine{file_name(row->file), row->line, row->column};
}

std::string LineTable::file_name(uint32_t file) const {
  if (file >= files_.size()) return "<unknown>";
  const File& entry = files_[file];
  if (entry.directory.empty() || entry.name.starts_with('/')) return std::string(entry.name);
  return fmt::format("{}/{}", entry.directory, entry.name);
}

}  // namespace morgana::codeobj
