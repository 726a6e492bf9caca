#include "runtime/compiler/group_size.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>

namespace morgana::runtime {
namespace {

class GroupSizes : public clang::ASTConsumer {
 public:
  explicit GroupSizes(unsigned items) : items_(items) {}

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* declaration : group) visit(*declaration);
    return true;
  }

 private:
  void visit(clang::Decl& declaration) const {
    if (llvm::isa<clang::LinkageSpecDecl, clang::NamespaceDecl>(declaration))
      for (clang::Decl* inner : llvm::cast<clang::DeclContext>(&declaration)->decls()) visit(*inner);
    auto* const function = declaration.getAsFunction();
    if (function != nullptr && function->hasAttr<clang::DeviceKernelAttr>() &&
        !function->hasAttr<clang::ReqdWorkGroupSizeAttr>() &&
        !function->hasAttr<clang::AMDGPUFlatWorkGroupSizeAttr>())
      allow(*function);
  }

  void allow(clang::FunctionDecl& kernel) const {
    clang::ASTContext& tree = kernel.getASTContext();
    const auto number = [&](unsigned value) {
      return clang::IntegerLiteral::Create(tree, llvm::APInt(32, value), tree.UnsignedIntTy,
                                           kernel.getLocation());
    };
    kernel.addAttr(clang::AMDGPUFlatWorkGroupSizeAttr::CreateImplicit(tree, number(1), number(items_)));
  }

  unsigned items_;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> new_group_sizes(unsigned items) {
  return std::make_unique<GroupSizes>(items);
}

}  // namespace morgana::runtime
