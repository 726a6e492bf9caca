#include "codeobj/bundle.h"

#include <zlib.h>

#include "codeobj/code_object.h"
#include "codeobj/test_support.h"

namespace morgana::codeobj {
namespace {

TargetId id(std::string_view text) { return parse_target_id(text).value(); }

// A compressed bundle of version 1, which clang no longer writes, from one of version 2.
Blob version_1(const Blob& version_2) {
  Blob blob(version_2.begin(), version_2.begin() + 8);
  blob[4] = 1;
  blob.insert(blob.end(), version_2.begin() + 12, version_2.end());
  return blob;
}

Blob zlib_version_3(const Blob& plain) {
  uLongf size = compressBound(plain.size());
  Blob data(size);
  EXPECT_EQ(compress(data.data(), &size, plain.data(), plain.size()), Z_OK);
  Blob blob;
  append(blob, "CCOB");
  put<uint16_t>(blob, 4, 3);
  put<uint16_t>(blob, 6, 0);
  put<uint64_t>(blob, 8, 32 + size);
  put<uint64_t>(blob, 16, plain.size());
  put<uint64_t>(blob, 24, 0);
  blob.insert(blob.end(), data.begin(), data.begin() + static_cast<ptrdiff_t>(size));
  return blob;
}

Blob build_bundle(const std::vector<std::string>& ids) {
  Blob blob;
  append(blob, "__CLANG_OFFLOAD_BUNDLE__");
  put<uint64_t>(blob, 24, ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t at = blob.size();
    put<uint64_t>(blob, at, 1024 + i);
    put<uint64_t>(blob, at + 8, 1);
    put<uint64_t>(blob, at + 16, ids[i].size());
    append(blob, ids[i]);
  }
  blob.resize(1024 + ids.size());
  for (size_t i = 0; i < ids.size(); ++i) blob[1024 + i] = static_cast<uint8_t>('0' + i);
  return blob;
}

TEST(bundle, every_form_gives_the_same_entries) {
  const Blob plain = read_testdata("plain.bundle");
  const Blob gfx90a = read_testdata("gfx90a_v4.co");
  const Blob forms[] = {plain, read_testdata("zstd_v2.bundle"), read_testdata("zstd_v3.bundle"),
                        version_1(read_testdata("zstd_v2.bundle")), zlib_version_3(plain)};
  for (const Blob& form : forms) {
    EXPECT_TRUE(is_bundle(view(form)));
    const auto bundle = Bundle::parse(view(form));
    ASSERT_TRUE(bundle.ok()) << bundle.error().message;
    ASSERT_EQ(bundle->entries().size(), 3u);
    EXPECT_EQ(bundle->entries()[0].kind, "host");
    EXPECT_FALSE(bundle->entries()[0].target.has_value());
    EXPECT_EQ(bundle->entries()[1].kind, "hipv4");
    EXPECT_EQ(bundle->entries()[1].target->str(), "gfx90a:xnack-");
    const auto entry = bundle->select(id("gfx90a:sramecc+:xnack-"));
    ASSERT_TRUE(entry.ok());
    EXPECT_EQ((*entry)->bytes.text(), view(gfx90a).text());
  }
}

TEST(bundle, a_code_object_is_a_bundle_of_one) {
  const Blob blob = read_testdata("gfx803_v5.co");
  const auto bundle = Bundle::parse(view(blob));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  EXPECT_TRUE(bundle->select(id("gfx803")).ok());
  EXPECT_FALSE(bundle->select(id("gfx900")).ok());
}

TEST(bundle, the_closest_entry_wins) {
  const Blob blob =
      build_bundle({"host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic",
                    "hip-amdgcn-amd-amdhsa-unknown-gfx942", "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-",
                    "openmp-amdgcn-amd-amdhsa--gfx90a", "hip-spirv64-amd-amdhsa--amdgcnspirv"});
  const auto bundle = Bundle::parse(view(blob));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  const auto chosen = [&](std::string_view agent) -> std::string {
    const auto entry = bundle->select(id(agent));
    return entry ? std::string((*entry)->bytes.text()) : entry.error().message;
  };
  EXPECT_EQ(chosen("gfx942:sramecc+:xnack-"), "3");
  EXPECT_EQ(chosen("gfx942:sramecc+:xnack+"), "2");
  EXPECT_EQ(chosen("gfx950:sramecc+:xnack-"), "1");
  EXPECT_EQ(chosen("gfx90a"), "4");
  EXPECT_NE(chosen("gfx900").find("no code object for gfx900 among: host-"), std::string::npos);
}

TEST(bundle, generic_entries_of_rdna_serve_their_family) {
  const Blob blob =
      build_bundle({"hipv4-amdgcn-amd-amdhsa--gfx10-1-generic", "hipv4-amdgcn-amd-amdhsa--gfx10-3-generic",
                    "hipv4-amdgcn-amd-amdhsa--gfx11-generic", "hipv4-amdgcn-amd-amdhsa--gfx1100",
                    "hipv4-amdgcn-amd-amdhsa--gfx12-generic", "hipv4-amdgcn-amd-amdhsa--gfx1010:xnack+"});
  const auto bundle = Bundle::parse(view(blob));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  const auto chosen = [&](std::string_view agent) -> std::string {
    const auto entry = bundle->select(id(agent));
    return entry ? std::string((*entry)->bytes.text()) : entry.error().message;
  };
  EXPECT_EQ(chosen("gfx1010:xnack-"), "0");
  EXPECT_EQ(chosen("gfx1010:xnack+"), "5");
  EXPECT_EQ(chosen("gfx1030"), "1");
  EXPECT_EQ(chosen("gfx1036"), "1");
  EXPECT_EQ(chosen("gfx1100"), "3");
  EXPECT_EQ(chosen("gfx1153"), "2");
  EXPECT_EQ(chosen("gfx1201"), "4");
  EXPECT_NE(chosen("gfx1250").find("no code object for gfx1250"), std::string::npos);
}

// A host ELF with nothing but a section .hip_fatbin.
Blob host_elf(const Blob& fatbin) {
  const std::string_view names("\0.hip_fatbin\0.shstrtab\0", 23);
  Blob file(4096);
  file.insert(file.end(), fatbin.begin(), fatbin.end());
  const uint64_t name_offset = file.size();
  append(file, names);
  const Elf64_Shdr sections[] = {{},
                                 {1, SHT_PROGBITS, SHF_ALLOC, 4096, 4096, fatbin.size(), 0, 0, 4096, 0},
                                 {13, SHT_STRTAB, 0, 0, name_offset, names.size(), 0, 0, 1, 0}};
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident,
              "\x7f"
              "ELF\2\1\1",
              7);
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  put(file, 0, header);
  put(file, file.size(), sections[0]);
  put(file, file.size(), sections[1]);
  put(file, file.size(), sections[2]);
  return file;
}

TEST(bundle, a_host_binary_holds_one_bundle_per_translation_unit) {
  Blob fatbin = read_testdata("plain.bundle");
  fatbin.resize((fatbin.size() + 4095) / 4096 * 4096);
  const Blob second = read_testdata("zstd_v3.bundle");
  fatbin.insert(fatbin.end(), second.begin(), second.end());
  const Blob third = build_bundle({"hip-amdgcn-amd-amdhsa--gfx900"});
  fatbin.insert(fatbin.end(), third.begin(), third.end());
  const Blob file = host_elf(fatbin);
  const auto bundle = Bundle::parse(view(file));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  EXPECT_EQ(bundle->entries().size(), 7u);
  EXPECT_EQ(bundle->select_each(id("gfx803")).size(), 2u);
  EXPECT_EQ(bundle->select_each(id("gfx900")).size(), 1u);
  Blob without = file;
  without[without.size() - 3 * sizeof(Elf64_Shdr) - 22] = 'x';
  EXPECT_EQ(Bundle::parse(view(without)).error().code, ErrorCode::not_found);
}

TEST(bundle, a_fat_binary_in_memory_is_measured) {
  const Blob plain = read_testdata("plain.bundle");
  const Blob compressed = read_testdata("zstd_v2.bundle");
  struct {
    uint32_t magic = 0x48495046;
    uint32_t version = 1;
    const void* binary = nullptr;
    void* reserved = nullptr;
  } wrapper;
  wrapper.binary = plain.data();
  EXPECT_EQ(fat_binary_bytes(&wrapper).value().text(), view(plain).text());
  wrapper.binary = compressed.data();
  EXPECT_EQ(fat_binary_bytes(&wrapper).value().text(), view(compressed).text());
  wrapper.version = 2;
  EXPECT_FALSE(fat_binary_bytes(&wrapper).ok());
}

TEST(bundle, damage_is_an_error_that_says_where) {
  Blob blob = build_bundle({"hip-amdgcn-amd-amdhsa--gfx900"});
  put<uint64_t>(blob, 32, uint64_t{1} << 62);
  const auto bundle = Bundle::parse(view(blob));
  ASSERT_FALSE(bundle.ok());
  EXPECT_NE(bundle.error().message.find("gfx900"), std::string::npos);
  EXPECT_FALSE(Bundle::parse(view(read_testdata("kernels.cl"))).ok());

  Blob bomb = zlib_version_3(Blob(1 << 20));
  EXPECT_FALSE(Bundle::parse(view(bomb), 1 << 16).ok());
  put<uint64_t>(bomb, 16, 100);  // expands beyond what it says
  EXPECT_NE(Bundle::parse(view(bomb)).error().message.find("beyond"), std::string::npos);
  put<uint16_t>(bomb, 6, 9);
  EXPECT_EQ(Bundle::parse(view(bomb)).error().code, ErrorCode::unsupported);
  put<uint16_t>(bomb, 4, 4);
  EXPECT_EQ(Bundle::parse(view(bomb)).error().code, ErrorCode::unsupported);
}

TEST(bundle, cut_and_changed_bytes_never_crash) {
  const Blob zlib = zlib_version_3(build_bundle({"hip-amdgcn-amd-amdhsa--gfx900"}));
  for (const Blob& original : {read_testdata("zstd_v3.bundle"), read_testdata("zstd_v2.bundle"), zlib,
                               build_bundle({"hip-amdgcn-amd-amdhsa--gfx900", "host-x86_64--"})}) {
    size_t accepted = 0;
    for (size_t size = 0; size < original.size(); ++size) {
      const Blob cut(original.begin(), original.begin() + static_cast<ptrdiff_t>(size));
      accepted += Bundle::parse(view(cut), 1 << 20).ok() ? 1 : 0;
    }
    EXPECT_EQ(accepted, 0u);
    Blob bytes = original;
    for (uint8_t& byte : bytes) {
      byte ^= 0xff;
      const auto bundle = Bundle::parse(view(bytes), 1 << 20);
      if (!bundle) {
        EXPECT_FALSE(bundle.error().message.empty());
      }
      byte ^= 0xff;
    }
  }
}

}  // namespace
}  // namespace morgana::codeobj
