// PNG files as vectors of bytes, by libpng's simplified interface.
#pragma once

#include <png.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

struct Picture {
  unsigned width = 0, height = 0;
  std::vector<unsigned char> rgba;  // four bytes a pixel, row by row
};

[[noreturn]] inline void png_failed(const std::string& path, const png_image& image) {
  std::fprintf(stderr, "%s: %s\n", path.c_str(), image.message);
  std::exit(1);
}

inline Picture read_png(const std::string& path) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path.c_str())) png_failed(path, image);
  image.format = PNG_FORMAT_RGBA;
  Picture picture{image.width, image.height, std::vector<unsigned char>(PNG_IMAGE_SIZE(image))};
  if (!png_image_finish_read(&image, nullptr, picture.rgba.data(), 0, nullptr)) png_failed(path, image);
  return picture;
}

inline void write_png(const std::string& path, const Picture& picture) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = PNG_FORMAT_RGBA;
  if (!png_image_write_to_file(&image, path.c_str(), 0, picture.rgba.data(), 0, nullptr))
    png_failed(path, image);
}
