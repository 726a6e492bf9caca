// mandelbrot [OUT.png]: the set in 1024 x 768 pixels, with smooth colours; checked pixel by pixel.
#include <cmath>

#include "samples/open.hpp"
#include "samples/png.hpp"

static const char* source = R"(
uchar4 colour(int n, int limit) {
  if (n == limit) return (uchar4)(0, 0, 0, 255);
  float t = log((float)n + 1) * 0.35f;
  float3 c = 0.5f + 0.5f * cos((float3)(3.0f, 3.6f, 4.4f) + t * 6.2831853f * 0.35f);
  return (uchar4)(convert_uchar3_sat(c * 255), 255);
}
kernel void mandelbrot(global uchar4* out, global int* count, double x0, double y0, double step, int limit) {
  int px = get_global_id(0), py = get_global_id(1), width = get_global_size(0);
  double cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
  int n = 0;
  while (n < limit) {
    double xx = x * x, yy = y * y;
    if (xx + yy > 4) break;
    y = 2 * x * y + cy;
    x = xx - yy + cx;
    ++n;
  }
  out[py * width + px] = colour(n, limit);
  count[py * width + px] = n;
})";

int main(int argc, char** argv) {
  const int width = 1024, height = 768, limit = 256;
  const double x0 = -2.2, y0 = -1.2, step = 3.2 / width;
  const std::string path = argc > 1 ? argv[1] : "mandelbrot.png";
  Gpu gpu;
  // Contraction off: the host's reference rounds every product.
  cl::Kernel kernel(gpu.build(std::string("#pragma OPENCL FP_CONTRACT OFF\n") + source), "mandelbrot");
  Picture picture{width, height, std::vector<unsigned char>(4 * width * height)};
  std::vector<int> count(width * height);
  cl::Buffer out(gpu.context, CL_MEM_WRITE_ONLY, picture.rgba.size());
  cl::Buffer counts(gpu.context, CL_MEM_WRITE_ONLY, count.size() * sizeof(int));
  kernel.setArg(0, out);
  kernel.setArg(1, counts);
  kernel.setArg(2, x0);
  kernel.setArg(3, y0);
  kernel.setArg(4, step);
  kernel.setArg(5, limit);
  gpu.run(kernel, {width, height});
  cl::copy(gpu.queue, out, picture.rgba.begin(), picture.rgba.end());
  cl::copy(gpu.queue, counts, count.begin(), count.end());
  write_png(path, picture);

  int wrong = 0;
  for (int py = 0; py < height; ++py) {
    for (int px = 0; px < width; ++px) {
      double cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
      int n = 0;
      while (n < limit) {
        volatile double xx = x * x, yy = y * y;
        if (xx + yy > 4) break;
        volatile double xy = 2 * x * y;
        y = xy + cy;
        x = xx - yy + cx;
        ++n;
      }
      wrong += n != count[py * width + px];
    }
  }
  return gpu.close("mandelbrot", wrong == 0, std::to_string(wrong) + " pixels wrong, picture in " + path);
}
