// Pipes: the functions that Clang calls for OpenCL C's.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

struct PipeRow {
  spv::Op op;
  const char* name;
  char result;  // 'i': an int, 'r': a reservation, 'v': nothing
};

constexpr PipeRow kPipeRows[] = {{spv::OpReadPipe, "read_pipe_2", 'i'},
                                 {spv::OpWritePipe, "write_pipe_2", 'i'},
                                 {spv::OpReservedReadPipe, "read_pipe_4", 'i'},
                                 {spv::OpReservedWritePipe, "write_pipe_4", 'i'},
                                 {spv::OpReserveReadPipePackets, "reserve_read_pipe", 'r'},
                                 {spv::OpReserveWritePipePackets, "reserve_write_pipe", 'r'},
                                 {spv::OpCommitReadPipe, "commit_read_pipe", 'v'},
                                 {spv::OpCommitWritePipe, "commit_write_pipe", 'v'},
                                 {spv::OpGroupReserveReadPipePackets, "reserve_read_pipe", 'r'},
                                 {spv::OpGroupReserveWritePipePackets, "reserve_write_pipe", 'r'},
                                 {spv::OpGroupCommitReadPipe, "commit_read_pipe", 'v'},
                                 {spv::OpGroupCommitWritePipe, "commit_write_pipe", 'v'}};

}  // namespace

Reader::Handled Reader::pipes(const Instruction& in, Values v) {
  const auto of_group = [&] {
    return in.op() >= spv::OpGroupReserveReadPipePackets && in.op() <= spv::OpGroupCommitWritePipe;
  };
  for (const PipeRow& row : kPipeRows) {
    if (row.op != in.op()) continue;
    std::string name = "__";
    if (of_group()) {
      auto prefix = group_prefix(in.word(0));
      if (!prefix.ok()) return prefix.error();
      name += *prefix;
    }
    std::vector<llvm::Value*> arguments(v.begin() + (of_group() ? 1 : 0), v.end());
    // Packets lie behind generic pointers.
    const size_t packet = in.op() == spv::OpReadPipe || in.op() == spv::OpWritePipe                   ? 1
                          : in.op() == spv::OpReservedReadPipe || in.op() == spv::OpReservedWritePipe ? 3
                                                                                                      : 0;
    if (packet != 0) arguments[packet] = build_.CreateAddrSpaceCast(arguments[packet], pointer(kGeneric));
    llvm::Type* const result = row.result == 'i'   ? i32()
                               : row.result == 'r' ? pointer(kGlobal)
                                                   : llvm::Type::getVoidTy(context());
    llvm::Value* const made = call_plain(name + row.name, result, arguments);
    return row.result == 'v' ? nullptr : made;
  }
  const auto count = [&](const char* what) {
    const bool writes = type_of(in.word(0)).word(0) == spv::AccessQualifierWriteOnly;
    return call_plain(std::string("__get_pipe_") + what + (writes ? "_wo" : "_ro"), i32(), {v[0], v[1]});
  };
  switch (in.op()) {
    case spv::OpGetNumPipePackets: return count("num_packets");
    case spv::OpGetMaxPipePackets: return count("max_packets");
    case spv::OpIsValidReserveId:
      return call("is_valid_reserve_id", llvm::Type::getInt1Ty(context()), {{v[0], "13ocl_reserveid"}});
    default: return std::nullopt;
  }
}

}  // namespace morgana::runtime::spirv
