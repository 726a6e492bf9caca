// Capsules as files: what is written is read alike, and damage of any kind is an error.
#include "runtime/capsule.h"

#include <gtest/gtest.h>

namespace morgana::runtime {
namespace {

Capsule make_capsule() {
  Capsule made;
  made.target = "gfx90a";
  made.kernel = "saxpy";
  made.launch = {.entry = 0x2000'0001'0100,
                 .kernel_object = 0x2000'0001'0000,
                 .kernarg = 0x2000'0002'0000,
                 .packet = 0x2000'0003'0040,
                 .queue = 0x2000'0003'1000,
                 .dispatch_id = 7,
                 .grid = {1000, 2, 3},
                 .group = {64, 2, 1},
                 .private_bytes = 16,
                 .group_bytes = 512};
  for (size_t i = 0; i < made.descriptor.size(); i++) made.descriptor[i] = static_cast<uint8_t>(i);
  made.outcome = {.fault = 1, .is_write = true, .pc = 0x2000'0001'0104, .address = 8};
  made.has_others = true;
  made.code_bias = 0x2000'0001'0000;
  static const std::vector<uint8_t> object{1, 2, 3}, fives(4096, 5), few{1, 2, 3, 4, 5};
  made.code_object = Bytes(object);
  made.global_share = Bytes(few);
  made.code = {{0x2000'0001'0000, 4096}};
  made.allocations = {{.address = 0x2000'0002'0000, .size = 256, .is_freed = true, .label = "buffer"},
                      {.address = 0x7fff'0000'0010, .size = 5, .is_registered = true, .label = "host"}};
  Capsule::Piece page{.address = 0x2000'0002'0000, .size = 4096, .after = 99, .bytes = Bytes(fives)};
  Capsule::Piece zeros{
      .address = 0x2000'0002'1000, .size = 4096, .flags = Capsule::Piece::zero, .after = 4, .bytes = {}};
  Capsule::Piece rest{.address = 0x7fff'0000'0010, .size = 5, .after = 1, .bytes = Bytes(few)};
  made.pieces = {page, zeros, rest};
  return made;
}

TEST(Capsule, ReadsWhatWasWritten) {
  const Capsule made = make_capsule();
  const std::vector<uint8_t> file = write_capsule(made);
  const auto read = parse_capsule(Bytes(file));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->target, made.target);
  EXPECT_EQ(read->kernel, made.kernel);
  EXPECT_EQ(read->launch, made.launch);
  EXPECT_EQ(read->descriptor, made.descriptor);
  EXPECT_EQ(read->outcome, made.outcome);
  EXPECT_EQ(read->has_others, made.has_others);
  EXPECT_EQ(read->global_share.text(), made.global_share.text());
  EXPECT_EQ(read->code_object.text(), made.code_object.text());
  EXPECT_EQ(read->code, made.code);
  EXPECT_EQ(read->allocations, made.allocations);
  ASSERT_EQ(read->pieces.size(), made.pieces.size());
  for (size_t i = 0; i < made.pieces.size(); i++) {
    EXPECT_EQ(read->pieces[i].address, made.pieces[i].address);
    EXPECT_EQ(read->pieces[i].flags, made.pieces[i].flags);
    EXPECT_EQ(read->pieces[i].after, made.pieces[i].after);
    EXPECT_EQ(read->pieces[i].bytes.text(), made.pieces[i].bytes.text());
  }
  EXPECT_EQ(write_capsule(*read), file);
}

TEST(Capsule, ZerosOfTheCodeObjectAreNotKept) {
  Capsule made = make_capsule();
  std::vector<uint8_t> object(20000);
  for (const size_t at : {0, 5000, 5100, 19999}) object[at] = 7;
  made.code_object = Bytes(object);
  for (int i = 0; i < 2; i++) {
    const std::vector<uint8_t> file = write_capsule(made);
    EXPECT_LT(file.size(), 6000u);  // a page of bytes is in there
    const auto read = parse_capsule(Bytes(file));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->code_object.text(), Bytes(object).text());
    // The copy is what is tested.
    const Capsule copy = *read;  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_EQ(copy.code_object.text(), Bytes(object).text());
    object.assign(30000, 0);
    made.code_object = Bytes(object);
  }
  object.assign((64 << 20) + 1, 0);
  made.code_object = Bytes(object);
  const std::vector<uint8_t> file = write_capsule(made);
  ASSERT_GT(file.size(), object.size());
  EXPECT_EQ(parse_capsule(Bytes(file))->code_object.size(), object.size());
}

TEST(Capsule, AnyChangedByteIsFound) {
  std::vector<uint8_t> file = write_capsule(make_capsule());
  for (size_t i = 0; i < file.size(); i++) {
    file[i] ^= 0x40;
    EXPECT_FALSE(parse_capsule(Bytes(file)).ok()) << i;
    file[i] ^= 0x40;
  }
}

TEST(Capsule, CutAnywhereItIsRefused) {
  const std::vector<uint8_t> file = write_capsule(make_capsule());
  constexpr size_t kHeader = 32;
  for (size_t size = 0; size < file.size(); size++)
    EXPECT_FALSE(parse_capsule(Bytes(file.data(), size)).ok()) << size;
  for (size_t size = 0; size + kHeader < file.size(); size++)
    EXPECT_FALSE(parse_capsule_body(Bytes(file.data() + kHeader, size)).ok()) << size;
}

TEST(Capsule, OtherVersionsAreNamed) {
  std::vector<uint8_t> file = write_capsule(make_capsule());
  file[8] = 9;
  const auto read = parse_capsule(Bytes(file));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::unsupported);
  EXPECT_EQ(read.error().message, "a capsule of version 9.0; this is a reader of version 2");
}

// The body is changed and its hash made anew, so that what stands in it is what is judged.
std::string error_of(const Capsule& capsule) {
  const std::vector<uint8_t> file = write_capsule(capsule);
  const auto read = parse_capsule(Bytes(file));
  return read.ok() ? "" : read.error().message;
}

TEST(Capsule, PiecesOutsideOfTheirPageOrOrderAreRefused) {
  Capsule crossing = make_capsule();
  crossing.pieces[0].address += 16;
  EXPECT_NE(error_of(crossing).find("no part of a page"), std::string::npos) << error_of(crossing);
  Capsule turned = make_capsule();
  std::swap(turned.pieces[0], turned.pieces[1]);
  EXPECT_NE(error_of(turned).find("not in order"), std::string::npos) << error_of(turned);
  Capsule high = make_capsule();
  high.pieces[2].address = uint64_t{1} << 47;
  EXPECT_NE(error_of(high).find("no part of a page"), std::string::npos) << error_of(high);
  Capsule kernel = make_capsule();
  kernel.code[0].size = ~uint64_t{0};
  EXPECT_NE(error_of(kernel).find("outside of the addresses"), std::string::npos) << error_of(kernel);
  Capsule outcome = make_capsule();
  outcome.outcome.fault = 200;
  EXPECT_NE(error_of(outcome).find("outcome"), std::string::npos) << error_of(outcome);
}

TEST(Capsule, TheHashTellsBytesAndLengthsApart) {
  std::vector<uint8_t> zeros(100);
  EXPECT_NE(hash_bytes(zeros.data(), 64), hash_bytes(zeros.data(), 65));
  EXPECT_NE(hash_bytes(zeros.data(), 31), hash_bytes(zeros.data(), 32));
  const uint64_t before = hash_bytes(zeros.data(), zeros.size());
  for (size_t i = 0; i < zeros.size(); i++) {
    zeros[i] = 1;
    EXPECT_NE(hash_bytes(zeros.data(), zeros.size()), before) << i;
    zeros[i] = 0;
  }
}

}  // namespace
}  // namespace morgana::runtime
