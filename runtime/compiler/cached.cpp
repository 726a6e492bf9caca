#include "runtime/compiler/cached.h"

#include "runtime/run_summary.h"

namespace morgana::runtime {
namespace {

void add_texts(Hasher& hasher, const std::vector<std::string>& texts) {
  hasher.add_number(texts.size());
  for (const std::string& text : texts) hasher.add_field(text);
}

Hasher start_key(std::string_view stage, const BuildOptions& options, const TargetDescription& target) {
  Hasher hasher;
  hasher.add_field(compiler_identity()).add_field(stage);
  add_texts(hasher, options.macros);
  add_texts(hasher, options.include_dirs);
  add_texts(hasher, options.clang_flags);
  hasher.add_field(options.standard).add_number(static_cast<uint64_t>(options.optimization));
  for (bool flag : {options.debug_info, options.denorms_are_zero, options.unsafe_math, options.finite_math,
                    options.no_signed_zeros, options.correctly_rounded_divide_sqrt,
                    options.uniform_work_group_size, options.wave64, options.cu_mode, options.create_library,
                    options.enable_link_options, options.zero_local_memory, options.zero_private_memory,
                    options.check_memory, options.check_races, options.check_values, options.check_alignment})
    hasher.add_number(flag);
  hasher.add_number(options.group_size);
  hasher.add_field(target.processor);
  add_texts(hasher, target.extensions);
  hasher.add_number(target.images)
      .add_number(static_cast<uint64_t>(target.opencl_version))
      .add_number(static_cast<uint64_t>(target.code_object_version));
  return hasher;
}

CacheKey source_key(std::string_view stage, const CompileInput& input, const BuildOptions& options,
                    const TargetDescription& target) {
  Hasher hasher = start_key(stage, options, target);
  hasher.add_field(input.source).add_number(input.headers.size());
  for (const Header& header : input.headers) hasher.add_field(header.name).add_field(header.text);
  hasher.add_number(static_cast<uint64_t>(input.language)).add_number(input.specialization.size());
  for (const SpecValue& value : input.specialization) hasher.add_number(value.id).add_number(value.bits);
  return hasher.finish();
}

void count(RunSummary::Build outcome) {
  if (RunSummary* summary = RunSummary::of_working_process()) summary->count_build(outcome);
}

Result<std::string> counted(Result<std::string> made) {
  count(made.ok() ? RunSummary::Build::made : RunSummary::Build::failed);
  return made;
}

// Answers from the cache, or runs `make(entry)`, which fills the entry's log and files, and keeps what it
// made.
template <typename Make>
Result<std::string> remember(DiskCache& cache, const CacheKey& key, std::string& log, Make make) {
  if (auto entry = cache.load(key)) {
    log += entry->log;
    count(RunSummary::Build::cached);
    return std::move(entry->object);
  }
  CacheEntry entry;
  Result<std::string> made = counted(make(entry));
  log += entry.log;
  if (!made.ok()) return made;
  entry.object = std::move(*made);
  cache.store(key, entry);
  return std::move(entry.object);
}

template <typename Compile>
Result<std::string> remember_source(DiskCache* cache, std::string_view stage, const CompileInput& input,
                                    const BuildOptions& options, const TargetDescription& target,
                                    std::string& log, Compile compile) {
  if (cache == nullptr) return counted(compile(input, options, target, log));
  return remember(*cache, source_key(stage, input, options, target), log, [&](CacheEntry& entry) {
    CompileInput recorded = input;
    recorded.files = &entry.files;
    return compile(recorded, options, target, entry.log);
  });
}

}  // namespace

Result<std::string> cached_build(DiskCache* cache, const CompileInput& input, const BuildOptions& options,
                                 const TargetDescription& target, std::string& log) {
  return remember_source(cache, "build", input, options, target, log, build_source);
}

Result<std::string> cached_compile(DiskCache* cache, const CompileInput& input, const BuildOptions& options,
                                   const TargetDescription& target, std::string& log) {
  return remember_source(cache, "compile", input, options, target, log, compile_source);
}

Result<std::string> cached_link(DiskCache* cache, const std::vector<std::string_view>& objects,
                                const BuildOptions& options, const TargetDescription& target,
                                std::string& log) {
  if (cache == nullptr) return counted(link_objects(objects, options, target, log));
  Hasher hasher = start_key("link", options, target);
  for (std::string_view object : objects) hasher.add_field(object);
  return remember(*cache, hasher.finish(), log,
                  [&](CacheEntry& entry) { return link_objects(objects, options, target, entry.log); });
}

}  // namespace morgana::runtime
