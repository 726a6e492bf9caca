// libhsakmt.so.1 names itself among the runtime's tools as soon as it is loaded.
#include "kmt/tool_name.h"

namespace morgana::kmt {
namespace {

__attribute__((constructor)) void name_this_library() { name_as_tool("libhsakmt.so.1"); }

}  // namespace
}  // namespace morgana::kmt
