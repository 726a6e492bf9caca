// Line tables: from an address of a code object to file, line and column (DWARF 2 to 5, .debug_line).
//
// A bounded reader of its own instead of libdw: code objects come from anywhere, and a fault report must
// not fall over the DWARF of the program that faulted. Immutable after read(): any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace morgana::codeobj {

struct SourceLine {
  std::string file;  // with its directory where the table knows it
  uint32_t line = 0;
  uint32_t column = 0;  // 0: not known
};

class LineTable {
 public:
  // Reads the whole table of a linked object. not_found when it has none, malformed with section and offset.
  static Result<LineTable> read(const CodeObject& object);

  // The line of the instruction at ELF virtual address `address`. An instruction without a line takes that of
  // the instructions before it.
  std::optional<SourceLine> find(uint64_t address) const;

  struct Row {
    uint64_t begin = 0;
    uint64_t end = 0;  // exclusive
    uint32_t file = 0;
    uint32_t line = 0;
    uint32_t column = 0;
  };
  // Every row, by ascending `begin`.
  const std::vector<Row>& rows() const { return rows_; }
  std::string file_name(uint32_t file) const;

 private:
  friend class LineReader;
  struct File {
    std::string_view directory;
    std::string_view name;
  };

  std::vector<Row> rows_;
  std::vector<File> files_;
  std::vector<std::shared_ptr<const std::vector<uint8_t>>> storage_;  // behind the views of files_
};

}  // namespace morgana::codeobj
