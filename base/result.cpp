#include "base/result.h"

namespace morgana {

const char* name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::malformed: return "malformed";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::io: return "io";
    case ErrorCode::build_failed: return "build_failed";
    case ErrorCode::faulted: return "faulted";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

}  // namespace morgana
