// The library's outside: what it exports, what it finds by name, and the order of its dispatch table.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <string>

#include "icd/api.h"

namespace {

const std::set<std::string> kExports = {"clGetExtensionFunctionAddress", "clGetPlatformInfo",
                                        "clIcdGetPlatformIDsKHR"};

class Exports : public ::testing::Test {
 protected:
  void SetUp() override {
    library = dlopen(MORGANA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    find = reinterpret_cast<void* (*)(const char*)>(dlsym(library, "clGetExtensionFunctionAddress"));
    ASSERT_NE(find, nullptr);
    auto ids =
        reinterpret_cast<cl_int (*)(cl_uint, cl_platform_id*, cl_uint*)>(find("clIcdGetPlatformIDsKHR"));
    ASSERT_NE(ids, nullptr);
    ASSERT_EQ(ids(1, &platform, nullptr), CL_SUCCESS);
    dispatch = *reinterpret_cast<const cl_icd_dispatch**>(platform);
  }

  void* library = nullptr;
  void* (*find)(const char*) = nullptr;
  cl_platform_id platform = nullptr;
  const cl_icd_dispatch* dispatch = nullptr;
};

TEST_F(Exports, AreExactlyWhatALoaderLooksUp) {
  FILE* nm = popen("nm -D --defined-only " MORGANA_LIBRARY, "r");
  ASSERT_NE(nm, nullptr);
  std::set<std::string> found;
  std::array<char, 512> line;
  while (fgets(line.data(), line.size(), nm) != nullptr) {
    char name[256], type;
    if (sscanf(line.data(), "%*x %c %255s", &type, name) == 2 && type != 'A') found.insert(name);
  }
  EXPECT_EQ(pclose(nm), 0);
  EXPECT_EQ(found, kExports);
}

// What uses initial-exec thread-locals takes its TLS from a small reserve of glibc's, and cannot be loaded
// when others (the HIP door in the same process) have used it up.
TEST_F(Exports, NeedNoStaticTls) {
  FILE* readelf = popen("readelf -d " MORGANA_LIBRARY, "r");
  ASSERT_NE(readelf, nullptr);
  std::string dynamic;
  std::array<char, 512> line;
  while (fgets(line.data(), line.size(), readelf) != nullptr) dynamic += line.data();
  EXPECT_EQ(pclose(readelf), 0);
  EXPECT_NE(dynamic.find("NEEDED"), std::string::npos);
  EXPECT_EQ(dynamic.find("STATIC_TLS"), std::string::npos);
}

TEST_F(Exports, EveryEntryIsFoundByName) {
#define ENTRY(name) EXPECT_NE(find(#name), nullptr) << #name;
#define EXTRA(name) ENTRY(name)
#define EMPTY(name) EXPECT_EQ(find(#name), nullptr) << #name;
#include "icd/entries.def"
#undef ENTRY
#undef EXTRA
#undef EMPTY
  EXPECT_EQ(find("clNoSuchFunction"), nullptr);
  EXPECT_EQ(find(nullptr), nullptr);
}

// Loaders answer some of these themselves, and differently.
TEST_F(Exports, ExtensionFunctionsBelongToAPlatform) {
  EXPECT_NE(dispatch->clGetExtensionFunctionAddressForPlatform(platform, "clIcdGetPlatformIDsKHR"), nullptr);
  EXPECT_EQ(dispatch->clGetExtensionFunctionAddressForPlatform(nullptr, "clIcdGetPlatformIDsKHR"), nullptr);
  EXPECT_EQ(dispatch->clGetExtensionFunctionAddressForPlatform(platform, "invalid_name"), nullptr);
}

TEST_F(Exports, EverySlotHoldsTheFunctionOfItsName) {
#define ENTRY(name) EXPECT_EQ(reinterpret_cast<void*>(dispatch->name), find(#name)) << #name;
#define EXTRA(name)
#define EMPTY(name) EXPECT_EQ(dispatch->name, nullptr) << #name;
#include "icd/entries.def"
#undef ENTRY
#undef EXTRA
#undef EMPTY
}

}  // namespace
