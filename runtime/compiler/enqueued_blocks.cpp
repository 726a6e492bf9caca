#include "runtime/compiler/enqueued_blocks.h"

#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/Basic/Builtins.h>
#include <clang/Parse/Parser.h>
#include <clang/Sema/Sema.h>

#include <algorithm>

namespace morgana::runtime {
namespace {

bool takes_block(const clang::Expr* callee) {
  const auto* const name = llvm::dyn_cast<clang::DeclRefExpr>(callee->IgnoreParenCasts());
  const auto* const function = name == nullptr ? nullptr : name->getDecl()->getAsFunction();
  if (function == nullptr) return false;
  switch (function->getBuiltinID()) {
    case clang::Builtin::BIenqueue_kernel:
    case clang::Builtin::BIget_kernel_work_group_size:
    case clang::Builtin::BIget_kernel_preferred_work_group_size_multiple:
    case clang::Builtin::BIget_kernel_max_sub_group_size_for_ndrange:
    case clang::Builtin::BIget_kernel_sub_group_count_for_ndrange: return true;
    default: return false;
  }
}

// How many parameters a block has that a cast would make pointers to void; 0: none, or it would not.
unsigned castable_parameters(const clang::Expr& argument) {
  if (argument.isTypeDependent()) return 0;
  const auto* const block = argument.getType()->getAs<clang::BlockPointerType>();
  const auto* const function =
      block == nullptr ? nullptr : block->getPointeeType()->getAs<clang::FunctionProtoType>();
  if (function == nullptr || function->isVariadic() || !function->getReturnType()->isVoidType()) return 0;
  bool is_typed = false;
  for (const clang::QualType parameter : function->param_types()) {
    if (!parameter->isPointerType()) return 0;
    const clang::QualType pointee = parameter->getPointeeType();
    if (pointee.getAddressSpace() != clang::LangAS::opencl_local) return 0;
    is_typed |= !pointee->isVoidType();
  }
  return is_typed ? function->getNumParams() : 0;
}

class RefusedCalls : public clang::DynamicRecursiveASTVisitor {
 public:
  bool VisitRecoveryExpr(clang::RecoveryExpr* call) override {
    const llvm::ArrayRef<clang::Expr*> parts = call->subExpressions();
    if (parts.empty() || !takes_block(parts.front())) return true;
    for (const clang::Expr* argument : parts.drop_front())
      if (const unsigned parameters = castable_parameters(*argument))
        casts.push_back({argument->getBeginLoc().getRawEncoding(), parameters});
    return true;
  }

  std::vector<BlockCast> casts;
};

// `(void (^)(local void*, ...))`
void add_cast(clang::Preprocessor& preprocessor, const BlockCast& cast, std::vector<clang::Token>& tokens) {
  const auto add = [&](clang::tok::TokenKind kind, const char* word = nullptr) {
    clang::Token token;
    token.startToken();
    token.setKind(kind);
    token.setLocation(clang::SourceLocation::getFromRawEncoding(cast.first));
    if (word != nullptr) token.setIdentifierInfo(preprocessor.getIdentifierInfo(word));
    tokens.push_back(token);
  };
  add(clang::tok::l_paren);
  add(clang::tok::kw_void, "void");
  add(clang::tok::l_paren);
  add(clang::tok::caret);
  add(clang::tok::r_paren);
  add(clang::tok::l_paren);
  for (unsigned i = 0; i < cast.parameters; ++i) {
    if (i > 0) add(clang::tok::comma);
    add(clang::tok::kw___local, "__local");
    add(clang::tok::kw_void, "void");
    add(clang::tok::star);
  }
  add(clang::tok::r_paren);
  add(clang::tok::r_paren);
}

// The expression without the parentheses that stand around it and inside of its casts.
clang::Expr* without_parentheses(clang::Expr* expression) {
  expression = expression->IgnoreParens();
  if (auto* const cast = llvm::dyn_cast<clang::CastExpr>(expression))
    cast->setSubExpr(without_parentheses(cast->getSubExpr()));
  if (auto* const full = llvm::dyn_cast<clang::FullExpr>(expression))
    full->setSubExpr(without_parentheses(full->getSubExpr()));
  return expression;
}

class BlocksInParentheses : public clang::DynamicRecursiveASTVisitor {
 public:
  bool VisitCallExpr(clang::CallExpr* call) override {
    if (takes_block(call->getCallee()))
      for (unsigned i = 0; i < call->getNumArgs(); ++i)
        if (call->getArg(i)->getType()->isBlockPointerType())
          call->setArg(i, without_parentheses(call->getArg(i)));
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (variable->getType()->isBlockPointerType() && variable->hasInit())
      variable->setInit(without_parentheses(variable->getInit()));
    return true;
  }
};

class PlainBlocks : public clang::ASTConsumer {
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    BlocksInParentheses blocks;
    for (clang::Decl* declaration : group) blocks.TraverseDecl(declaration);
    return true;
  }
};

}  // namespace

std::vector<BlockCast> refused_blocks(clang::ASTContext& tree) {
  RefusedCalls calls;
  calls.TraverseAST(tree);
  return std::move(calls.casts);
}

void parse_with_casts(clang::CompilerInstance& clang, const std::vector<BlockCast>& casts) {
  if (!clang.hasSema()) clang.createSema(clang::TU_Complete, nullptr);
  clang::Sema& sema = clang.getSema();
  clang::Preprocessor& preprocessor = clang.getPreprocessor();
  // Made before the first token is read: it knows the pragmas of the language.
  clang::Parser parser(preprocessor, sema, /*SkipFunctionBodies=*/false);
  preprocessor.EnterMainSourceFile();

  std::vector<clang::Token> tokens;
  clang::Token token;
  do {
    preprocessor.Lex(token);
    for (const BlockCast& cast : casts)
      if (token.getLocation().getRawEncoding() == cast.first) add_cast(preprocessor, cast, tokens);
    tokens.push_back(token);
  } while (token.isNot(clang::tok::eof));
  preprocessor.EnterTokenStream(tokens, /*DisableMacroExpansion=*/true, /*IsReinject=*/true);

  clang::ASTConsumer& consumer = clang.getASTConsumer();
  parser.Initialize();
  clang::Parser::DeclGroupPtrTy group;
  clang::Sema::ModuleImportState imports;
  for (bool is_end = parser.ParseFirstTopLevelDecl(group, imports); !is_end;
       is_end = parser.ParseTopLevelDecl(group, imports))
    if (group && !consumer.HandleTopLevelDecl(group.get())) return;
  consumer.HandleTranslationUnit(clang.getASTContext());
}

std::unique_ptr<clang::ASTConsumer> new_plain_blocks() { return std::make_unique<PlainBlocks>(); }

}  // namespace morgana::runtime
