// stencil IN.png OUT.png: an unsharp mask (a 5 x 5 binomial blur, then the difference added back) on a
// picture.
#include <algorithm>

#include "samples/open.hpp"
#include "samples/png.hpp"

static const char* source = R"(
kernel void sharpen(global const uchar4* in, global uchar4* out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  const int weight[5] = {1, 4, 6, 4, 1};
  int4 sum = (int4)(0);
  for (int j = -2; j <= 2; ++j)
    for (int i = -2; i <= 2; ++i) {
      int sx = clamp(x + i, 0, width - 1), sy = clamp(y + j, 0, height - 1);
      sum += convert_int4(in[sy * width + sx]) * (weight[i + 2] * weight[j + 2]);
    }
  int4 here = convert_int4(in[y * width + x]);
  int4 sharp = here * 3 - sum / 128;
  out[y * width + x] = (uchar4)(convert_uchar3_sat(sharp.xyz), 255);
})";

namespace {

Picture reference(const Picture& in) {
  const int weight[5] = {1, 4, 6, 4, 1};
  Picture out = in;
  int width = static_cast<int>(in.width), height = static_cast<int>(in.height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        int sum = 0;
        for (int j = -2; j <= 2; ++j)
          for (int i = -2; i <= 2; ++i) {
            int sx = std::clamp(x + i, 0, width - 1), sy = std::clamp(y + j, 0, height - 1);
            sum += in.rgba[4 * (sy * width + sx) + c] * weight[i + 2] * weight[j + 2];
          }
        size_t at = 4 * static_cast<size_t>(y * width + x) + c;
        out.rgba[at] = static_cast<unsigned char>(std::clamp(in.rgba[at] * 3 - sum / 128, 0, 255));
        out.rgba[at - c + 3] = 255;
      }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: stencil IN.png OUT.png\n");
    return 2;
  }
  Picture in = read_png(argv[1]);
  Picture out = in;
  Gpu gpu;
  cl::Kernel kernel(gpu.build(source), "sharpen");
  cl::Buffer from(gpu.context, in.rgba.begin(), in.rgba.end(), true, true);
  cl::Buffer to(gpu.context, CL_MEM_WRITE_ONLY, out.rgba.size());
  kernel.setArg(0, from);
  kernel.setArg(1, to);
  kernel.setArg(2, static_cast<int>(in.width));
  kernel.setArg(3, static_cast<int>(in.height));
  auto round_up = [](unsigned value, unsigned to) { return (value + to - 1) / to * to; };
  gpu.run(kernel, {round_up(in.width, 16), round_up(in.height, 16)}, {16, 16});
  cl::copy(gpu.queue, to, out.rgba.begin(), out.rgba.end());
  write_png(argv[2], out);
  bool correct = out.rgba == reference(in).rgba;
  return gpu.close("stencil", correct,
                   std::to_string(in.width) + " x " + std::to_string(in.height) + ", picture in " + argv[2]);
}
