#include "runtime/jit_store.h"

#include "device/object_store.h"
#include "runtime/cache.h"
#include "runtime/file_identity.h"

namespace morgana::runtime {
namespace {

class Store final : public device::ObjectStore {
 public:
  explicit Store(DiskCache& cache) : cache_(cache) {}
  std::optional<std::string> load(std::string_view identity) override {
    auto entry = cache_.load(key(identity));
    if (!entry) return std::nullopt;
    return std::move(entry->object);
  }
  void store(std::string_view identity, std::string object) override {
    CacheEntry entry;
    entry.object = std::move(object);
    cache_.store(key(identity), entry);
  }

 private:
  static CacheKey key(std::string_view identity) {
    Hasher hasher;
    hasher.add_field("jit").add_field(program_identity()).add_field(identity);
    return hasher.finish();
  }
  DiskCache& cache_;
};

}  // namespace

void install_jit_store() {
  static Store* const store = []() -> Store* {
    DiskCache* const cache = DiskCache::of_process();
    return cache ? new Store(*cache) : nullptr;  // as immortal as the cache
  }();
  device::set_object_store(store);
}

}  // namespace morgana::runtime
