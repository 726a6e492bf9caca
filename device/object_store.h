// Where compiled kernels are kept between processes: the runtime's disk cache, which the device does not
// know.
//
// Set once, before the first launch; the store lives as long as the process. Callable from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace morgana::device {

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  // `identity`: all that the object was made from beside the program that made it and its libraries; an
  // object that another build of them stored is not found. What `load` returns is what was stored, unharmed.
  virtual std::optional<std::string> load(std::string_view identity) = 0;
  virtual void store(std::string_view identity, std::string object) = 0;
};

void set_object_store(ObjectStore* store);

}  // namespace morgana::device
