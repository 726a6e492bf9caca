#include "runtime/report.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/memory.h"

namespace morgana::runtime {
namespace {

device::Fault memory_fault(uint64_t address, uint64_t pc) {
  device::Fault fault;
  fault.kind = device::FaultKind::memory;
  fault.address = address;
  fault.pc = pc;
  return fault;
}

TEST(FaultReport, NamesTheNearestAllocationOnlyIfItIsNear) {
  const auto memory = allocate(4096, 4096, "test");
  ASSERT_TRUE(memory.ok());
  const auto end = reinterpret_cast<uint64_t>(*memory) + 4096;
  EXPECT_NE(fault_address(memory_fault(end + 8, 0)).find("past the end of"), std::string::npos);
  EXPECT_NE(fault_address(memory_fault(end - 8, 0)).find("inside"), std::string::npos);
  EXPECT_NE(fault_address(memory_fault(0xdead'0000'0000'0000, 0)).find("no allocation within"),
            std::string::npos);
  release(*memory);
}

TEST(FaultReport, InventsNoPlace) {
  EXPECT_EQ(fault_address(memory_fault(device::kUnknownAddress, 0x1000)), "  address     unknown (read)\n");
  const FaultPlace place{.kernel = "early", .processor = "gfx90a"};
  const std::string text = fault_report(memory_fault(8, 0), place);
  EXPECT_NE(text.find("the kernel had not begun"), std::string::npos) << text;
  EXPECT_EQ(text.find("pc "), std::string::npos) << text;
  EXPECT_NE(fault_report(memory_fault(8, 0x1234), place).find("pc          0x1234"), std::string::npos);
}

TEST(FaultReport, OfOneCauseIsPrintedOnce) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) print_report(memory_fault(1, 0x1234), "again", "the whole report\n");
  print_report(memory_fault(1, 0x1238), "again", "another place\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "the whole report\n"
            "  again       MORGANA_RECORD=DIR keeps it in a file, morgana replay FILE repeats it\n\n"
            "morgana: memory violation: kernel 'again' at pc 0x1234 again, 2 times so far\n"
            "morgana: memory violation: kernel 'again' at pc 0x1234 again, 4 times so far\n"
            "another place\n"
            "  again       MORGANA_RECORD=DIR keeps it in a file, morgana replay FILE repeats it\n\n");
  testing::internal::CaptureStderr();
  print_fault_totals();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "morgana: memory violation: kernel 'again' at pc 0x1234, 5 times in all\n");
  testing::internal::CaptureStderr();
  print_fault_totals();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "what has been said is not said again";
}

TEST(FaultReport, TheEndOfTheProcessSaysHowOftenAFaultCame) {
  const auto faults_and_ends = [] {
    for (int i = 0; i < 3; ++i) print_report(memory_fault(1, 0x4321), "often", "the report");
    std::exit(0);
  };
  EXPECT_EXIT(faults_and_ends(), testing::ExitedWithCode(0), "'often' at pc 0x4321, 3 times in all");
}

}  // namespace
}  // namespace morgana::runtime
