#include "runtime/compiler/device_pack.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <algorithm>
#include <map>

namespace morgana::runtime {
namespace {

constexpr uint32_t kMagic = 0x5044474d;  // "MGDP"

struct Header {
  uint32_t magic;
  uint32_t units;
  uint32_t symbols;
  uint32_t reserved;
};
struct UnitRow {
  uint64_t offset;
  uint64_t size;
};
struct SymbolRow {
  uint64_t name_offset;
  uint32_t name_size;
  uint32_t unit;
};

// The name between an Itanium mangling's prefix and its parameters; other names stand for themselves.
llvm::StringRef base_name(llvm::StringRef symbol) {
  llvm::StringRef rest = symbol;
  size_t length = 0;
  if (!rest.consume_front("_Z") || rest.consumeInteger(10, length) || length > rest.size()) return symbol;
  return rest.take_front(length);
}

// Clones definitions from one module into another; whatever they refer to becomes a declaration, or,
// where it is private to the source, a copy.
class Extractor : public llvm::ValueMaterializer {
 public:
  explicit Extractor(llvm::Module& target) : target_(target) {}

  void add(llvm::GlobalValue& value) {
    clone_shell(value);
    while (!pending_.empty()) {
      llvm::GlobalValue* source = pending_.back();
      pending_.pop_back();
      clone_body(*source);
    }
  }

  llvm::Value* materialize(llvm::Value* value) override {
    auto* global = llvm::dyn_cast<llvm::GlobalValue>(value);
    if (global == nullptr) return nullptr;
    if (global->hasLocalLinkage()) return clone_shell(*global);
    return declare(*global);
  }

 private:
  llvm::GlobalValue* declare(llvm::GlobalValue& source) {
    if (llvm::Value* known = map_.lookup(&source)) return llvm::cast<llvm::GlobalValue>(known);
    llvm::GlobalValue* declaration;
    if (auto* type = llvm::dyn_cast<llvm::FunctionType>(source.getValueType())) {
      auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                              source.getAddressSpace(), source.getName(), &target_);
      if (auto* original = llvm::dyn_cast<llvm::Function>(&source)) function->copyAttributesFrom(original);
      declaration = function;
    } else {
      auto* variable = llvm::cast<llvm::GlobalVariable>(&source);
      auto* copy = new llvm::GlobalVariable(
          target_, variable->getValueType(), variable->isConstant(), llvm::GlobalValue::ExternalLinkage,
          nullptr, variable->getName(), nullptr, variable->getThreadLocalMode(), variable->getAddressSpace());
      copy->copyAttributesFrom(variable);
      declaration = copy;
    }
    declaration->setVisibility(llvm::GlobalValue::DefaultVisibility);
    declaration->setDSOLocal(false);
    map_[&source] = declaration;
    return declaration;
  }

  // A declaration that will be a definition with the source's linkage.
  llvm::GlobalValue* clone_shell(llvm::GlobalValue& source) {
    if (!defined_.insert(&source).second) return llvm::cast<llvm::GlobalValue>(map_.lookup(&source));
    if (auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(&source)) {
      auto* copy = llvm::GlobalAlias::create(alias->getValueType(), alias->getAddressSpace(),
                                             alias->getLinkage(), alias->getName(), &target_);
      // An earlier use may have declared the name: the alias replaces that declaration.
      if (llvm::Value* declared = map_.lookup(&source)) {
        declared->replaceAllUsesWith(copy);
        copy->takeName(declared);
        llvm::cast<llvm::GlobalValue>(declared)->eraseFromParent();
      }
      copy->setVisibility(alias->getVisibility());
      map_[&source] = copy;
      pending_.push_back(&source);
      return copy;
    }
    llvm::GlobalValue* shell = declare(source);
    shell->setLinkage(source.getLinkage());
    shell->setVisibility(source.getVisibility());
    pending_.push_back(&source);
    return shell;
  }

  void clone_body(llvm::GlobalValue& source) {
    llvm::Value* copy = map_.lookup(&source);
    if (auto* function = llvm::dyn_cast<llvm::Function>(&source)) {
      auto* target = llvm::cast<llvm::Function>(copy);
      auto argument = target->arg_begin();
      for (llvm::Argument& original : function->args()) map_[&original] = &*argument++;
      llvm::SmallVector<llvm::ReturnInst*, 4> returns;
      llvm::CloneFunctionInto(target, function, map_, llvm::CloneFunctionChangeType::DifferentModule, returns,
                              "", nullptr, nullptr, this);
    } else if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&source)) {
      if (variable->hasInitializer())
        llvm::cast<llvm::GlobalVariable>(copy)->setInitializer(
            llvm::MapValue(variable->getInitializer(), map_, llvm::RF_None, nullptr, this));
    } else if (auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(&source)) {
      clone_shell(*alias->getAliaseeObject());  // an alias stands for a definition of its own module
      llvm::cast<llvm::GlobalAlias>(copy)->setAliasee(
          llvm::MapValue(alias->getAliasee(), map_, llvm::RF_None, nullptr, this));
    }
  }

  llvm::Module& target_;
  llvm::ValueToValueMapTy map_;
  llvm::SmallPtrSet<llvm::GlobalValue*, 16> defined_;
  std::vector<llvm::GlobalValue*> pending_;
};

// Generic pointers are mangled "PU3AS0f" by the Clang 15 that compiled AMD's files, and "Pf" by Clang 22,
// which otherwise numbers substitutions alike.
void rename_generic_pointers(llvm::Module& module) {
  for (llvm::GlobalValue& value : module.global_values()) {
    std::string name = value.getName().str();
    constexpr std::string_view kGeneric = "U3AS0";
    size_t at = name.find(kGeneric);
    if (at == std::string::npos) continue;
    for (; at != std::string::npos; at = name.find(kGeneric, at)) name.erase(at, kGeneric.size());
    if (module.getNamedValue(name) == nullptr) value.setName(name);
  }
}

// The sources of AMD's library let signed sums overflow (abs_diff, abs), and its bitcode promises that they
// do not; LLVM 22 takes that promise at its word: abs_diff(INT_MIN, INT_MAX) became INT_MIN - INT_MAX.
void let_arithmetic_wrap(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (llvm::isa<llvm::OverflowingBinaryOperator>(instruction)) {
        instruction.setHasNoSignedWrap(false);
        instruction.setHasNoUnsignedWrap(false);
      } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
                 call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::abs) {
        call->setArgOperand(1, llvm::ConstantInt::getFalse(call->getContext()));
      }
}

// Two faults of AMD's pipes (ROCm-Device-Libs of 5.2.3). Who reads a pipe's last packet sets both of its
// counts to zero; another work-item that loaded the count of packets written before, and the count of those
// read after, then reads packets a second time (PipesCarryPackets in icd/features_test.cpp). And the low half
// of a wave's place is extended by its sign: from 2^31 on, which counts that run on come to, the place is
// wrong.
void mend_pipes(llvm::Module& module) {
  for (llvm::Function& function : module) {
    const llvm::StringRef name = function.getName();
    if (!name.contains("_pipe") && name != "__amd_wresvn") continue;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
          store != nullptr && store->isAtomic() && llvm::isa<llvm::ConstantInt>(store->getValueOperand())) {
        store->eraseFromParent();
        continue;
      }
      auto* extension = llvm::dyn_cast<llvm::SExtInst>(&instruction);
      if (extension == nullptr) continue;
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(extension->getOperand(0));
      if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::amdgcn_readlane) continue;
      auto* unsigned_one =
          new llvm::ZExtInst(call, extension->getType(), extension->getName(), extension->getIterator());
      extension->replaceAllUsesWith(unsigned_one);
      extension->eraseFromParent();
    }
  }
}

// printf stays out: a definition of it blocks LLVM's lowering to the buffered printf of the metadata.
// The oclc_* constants are defined by the back end from the options of each build.
bool is_packed(const llvm::GlobalValue& value) {
  return !value.isDeclaration() && !value.hasLocalLinkage() && value.getName() != "printf" &&
         !value.getName().starts_with("llvm.");
}

std::string cut_unit(const std::vector<llvm::GlobalValue*>& values) {
  llvm::Module& source = *values.front()->getParent();
  llvm::Module unit("", source.getContext());
  unit.setDataLayout(source.getDataLayout());
  unit.setTargetTriple(source.getTargetTriple());
  Extractor extractor(unit);
  for (llvm::GlobalValue* value : values) extractor.add(*value);
  llvm::SmallVector<char, 0> buffer;
  llvm::BitcodeWriter writer(buffer);
  writer.writeModule(unit);
  writer.writeStrtab();
  return std::string(buffer.begin(), buffer.end());
}

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::optional<uint32_t> DevicePack::find(std::string_view symbol) const {
  auto header = bytes_.read<Header>(0);
  if (!header.ok() || header->magic != kMagic) return std::nullopt;
  const uint64_t rows = sizeof(Header) + header->units * sizeof(UnitRow);
  uint64_t low = 0, high = header->symbols;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    auto row = bytes_.read<SymbolRow>(rows + middle * sizeof(SymbolRow));
    if (!row.ok()) return std::nullopt;
    auto name = bytes_.slice(row->name_offset, row->name_size);
    if (!name.ok()) return std::nullopt;
    int order = symbol.compare(name->text());
    if (order == 0) return row->unit;
    (order < 0 ? high : low) = order < 0 ? middle : middle + 1;
  }
  return std::nullopt;
}

Bytes DevicePack::unit(uint32_t index) const {
  auto row = bytes_.read<UnitRow>(sizeof(Header) + uint64_t{index} * sizeof(UnitRow));
  if (!row.ok()) return {};
  auto bytes = bytes_.slice(row->offset, row->size);
  return bytes.ok() ? *bytes : Bytes();
}

std::vector<std::string> device_library_files(const std::string& folder) {
  return {folder + "/opencl.bc", folder + "/ocml.bc", folder + "/ockl.bc"};
}

Result<std::string> make_device_pack(const std::vector<std::string>& files) {
  llvm::LLVMContext context;
  std::vector<std::unique_ptr<llvm::Module>> modules;
  std::vector<std::string> units;
  std::map<std::string, uint32_t> symbols;
  for (const std::string& file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      return make_error(ErrorCode::not_found, "device library '{}': {}", file, buffer.getError().message());
    auto parsed = llvm::parseBitcodeFile(**buffer, context);
    if (!parsed)
      return make_error(ErrorCode::malformed, "device library '{}': {}", file,
                        llvm::toString(parsed.takeError()));
    rename_generic_pointers(**parsed);
    let_arithmetic_wrap(**parsed);
    mend_pipes(**parsed);
    modules.push_back(std::move(*parsed));
    std::map<std::string, std::vector<llvm::GlobalValue*>> groups;
    for (llvm::GlobalValue& value : modules.back()->global_values())
      if (is_packed(value) && !symbols.contains(value.getName().str()))
        groups[base_name(value.getName()).str()].push_back(&value);
    for (const auto& [name, values] : groups) {
      for (llvm::GlobalValue* value : values)
        symbols.emplace(value->getName().str(), static_cast<uint32_t>(units.size()));
      units.push_back(cut_unit(values));
    }
  }

  std::string pack;
  append(pack, Header{kMagic, static_cast<uint32_t>(units.size()), static_cast<uint32_t>(symbols.size()), 0});
  std::string names;
  for (const auto& [name, unit] : symbols) names += name;
  const uint64_t names_offset =
      sizeof(Header) + units.size() * sizeof(UnitRow) + symbols.size() * sizeof(SymbolRow);
  uint64_t offset = (names_offset + names.size() + 7) & ~uint64_t{7};  // bitcode is read as aligned words
  for (const std::string& unit : units) {
    append(pack, UnitRow{offset, unit.size()});
    offset += (unit.size() + 7) & ~uint64_t{7};
  }
  uint64_t name_offset = names_offset;
  for (const auto& [name, unit] : symbols) {
    append(pack, SymbolRow{name_offset, static_cast<uint32_t>(name.size()), unit});
    name_offset += name.size();
  }
  pack += names;
  for (const std::string& unit : units) {
    pack.resize((pack.size() + 7) & ~size_t{7});
    pack += unit;
  }
  return pack;
}

}  // namespace morgana::runtime
