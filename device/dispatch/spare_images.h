// SpareImages: room for the images of pages that is kept from one recording to the next. Under page_mutex.
#pragma once

#include <cstdint>

namespace morgana::device {

// Zero bytes that cost nothing until they are written, for munmap; null: none.
uint8_t* reserve_zeros(uint64_t size);

class SpareImages {
 public:
  static SpareImages& get();

  // At least as many bytes, which hold anything; null: none. They go back before others are taken.
  uint8_t* take(uint64_t size);
  // `used`: how many of them were written.
  void give(uint8_t* at, uint64_t used);

 private:
  uint8_t* at_ = nullptr;
  uint64_t size_ = 0;  // also of what was taken
};

}  // namespace morgana::device
