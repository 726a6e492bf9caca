// Arrays of one, two and three dimensions and several sizes of texels, which HIP lays out in tiles: copies both ways
// and by parts, texture reads in kernels with both filters, surface reads and writes. Extents reach over several
// blocks of 4 and 64 KiB and end inside one.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

#define CHECK(call)                                                                            \
  do {                                                                                         \
    if (const auto status = (call); status != hipSuccess) {                                    \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status));    \
      return false;                                                                            \
    }                                                                                          \
  } while (false)
#define REQUIRE(condition, ...)                          \
  do {                                                   \
    if (!(condition)) {                                  \
      std::printf("%s:%d: ", __FILE__, __LINE__);        \
      std::printf(__VA_ARGS__);                          \
      std::puts("");                                     \
      return false;                                      \
    }                                                    \
  } while (false)

template <typename T>
__global__ void read_line(hipTextureObject_t texture, T* out, int width) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (x < width) out[x] = tex1D<T>(texture, static_cast<float>(x) + 0.5f);
}
template <typename T>
__global__ void read_plane(hipTextureObject_t texture, T* out, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y);
  if (x < width && y < height)
    out[y * width + x] = tex2D<T>(texture, static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
}
template <typename T>
__global__ void read_volume(hipTextureObject_t texture, T* out, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y), z = static_cast<int>(blockIdx.z);
  if (x < width)
    out[(z * height + y) * width + x] = tex3D<T>(texture, static_cast<float>(x) + 0.5f,
                                                 static_cast<float>(y) + 0.5f, static_cast<float>(z) + 0.5f);
}
__global__ void read_between(hipTextureObject_t texture, float* out, int width, float shift) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), y = static_cast<int>(blockIdx.y);
  if (x < width)
    out[y * width + x] = tex2D<float>(texture, static_cast<float>(x) + shift, static_cast<float>(y) + shift);
}
// Exchanges rows and columns through surfaces; x of a surface counts bytes.
__global__ void transpose(hipSurfaceObject_t from, hipSurfaceObject_t to, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), y = static_cast<int>(blockIdx.y);
  if (x >= width || y >= height) return;
  float value;
  surf2Dread(&value, from, x * 4, y);
  surf2Dwrite(value, to, y * 4, x);
}

template <typename T>
std::vector<T> noise(size_t count) {
  std::vector<T> values(count);
  auto* const bytes = reinterpret_cast<uint8_t*>(values.data());
  uint32_t state = 0x2545'F491u + static_cast<uint32_t>(count * sizeof(T));
  for (size_t i = 0; i < count * sizeof(T); ++i) {
    state = state * 1'664'525u + 1'013'904'223u;
    bytes[i] = static_cast<uint8_t>(state >> 24);
  }
  return values;
}
template <typename T>
bool equal(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool make_texture(hipArray_t array, bool linear, hipTextureObject_t& texture) {
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc description{};
  for (auto& mode : description.addressMode) mode = hipAddressModeClamp;
  description.filterMode = linear ? hipFilterModeLinear : hipFilterModePoint;
  description.readMode = hipReadModeElementType;
  CHECK(hipCreateTextureObject(&texture, &resource, &description, nullptr));
  return true;
}

template <typename T>
bool line(int width) {
  const auto in = noise<T>(static_cast<size_t>(width));
  const hipChannelFormatDesc format = hipCreateChannelDesc<T>();
  hipArray_t array;
  CHECK(hipMallocArray(&array, &format, static_cast<size_t>(width), 0, 0));
  CHECK(hipMemcpyToArray(array, 0, 0, in.data(), in.size() * sizeof(T), hipMemcpyHostToDevice));
  hipTextureObject_t texture;
  if (!make_texture(array, false, texture)) return false;
  T* device;
  CHECK(hipMalloc(&device, in.size() * sizeof(T)));
  read_line<T><<<(width + 63) / 64, 64>>>(texture, device, width);
  auto out = in;
  std::memset(static_cast<void*>(out.data()), 0, out.size() * sizeof(T));
  CHECK(hipMemcpy(out.data(), device, out.size() * sizeof(T), hipMemcpyDeviceToHost));
  REQUIRE(equal(in, out), "a line of %d texels of %zu bytes", width, sizeof(T));
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFree(device));
  CHECK(hipFreeArray(array));
  return true;
}

template <typename T>
bool plane(int width, int height) {
  const auto w = static_cast<size_t>(width), h = static_cast<size_t>(height);
  auto in = noise<T>(w * h);
  const hipChannelFormatDesc format = hipCreateChannelDesc<T>();
  hipArray_t array;
  CHECK(hipMallocArray(&array, &format, w, h, 0));
  const size_t row = w * sizeof(T);
  CHECK(hipMemcpy2DToArray(array, 0, 0, in.data(), row, row, h, hipMemcpyHostToDevice));
  // A part in the middle goes a second time, changed.
  const size_t left = w / 3, top = h / 3, part_width = w / 2, part_height = h / 2;
  const auto part = noise<T>(part_width * part_height + 1);
  if (part_width != 0 && part_height != 0) {
    CHECK(hipMemcpy2DToArray(array, left * sizeof(T), top, part.data(), part_width * sizeof(T),
                             part_width * sizeof(T), part_height, hipMemcpyHostToDevice));
    for (size_t y = 0; y < part_height; ++y)
      for (size_t x = 0; x < part_width; ++x) in[(top + y) * w + left + x] = part[y * part_width + x];
  }
  std::vector<T> back(w * h);
  CHECK(hipMemcpy2DFromArray(back.data(), row, array, 0, 0, row, h, hipMemcpyDeviceToHost));
  REQUIRE(equal(in, back), "copying back %d x %d texels of %zu bytes", width, height, sizeof(T));

  hipTextureObject_t texture;
  if (!make_texture(array, false, texture)) return false;
  T* device;
  CHECK(hipMalloc(&device, w * h * sizeof(T)));
  read_plane<T><<<dim3((width + 63) / 64, height), 64>>>(texture, device, width, height);
  std::vector<T> out(w * h);
  CHECK(hipMemcpy(out.data(), device, w * h * sizeof(T), hipMemcpyDeviceToHost));
  REQUIRE(equal(in, out), "a kernel reading %d x %d texels of %zu bytes", width, height, sizeof(T));
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFree(device));
  CHECK(hipFreeArray(array));
  return true;
}

template <typename T>
bool volume(int width, int height, int depth) {
  const auto w = static_cast<size_t>(width), h = static_cast<size_t>(height), d = static_cast<size_t>(depth);
  auto in = noise<T>(w * h * d);
  const hipChannelFormatDesc format = hipCreateChannelDesc<T>();
  hipArray_t array;
  CHECK(hipMalloc3DArray(&array, &format, make_hipExtent(w, h, d), 0));
  hipMemcpy3DParms copy{};
  copy.srcPtr = make_hipPitchedPtr(in.data(), w * sizeof(T), w, h);
  copy.dstArray = array;
  copy.extent = make_hipExtent(w, h, d);
  copy.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&copy));
  std::vector<T> back(w * h * d);
  hipMemcpy3DParms from{};
  from.srcArray = array;
  from.dstPtr = make_hipPitchedPtr(back.data(), w * sizeof(T), w, h);
  from.extent = make_hipExtent(w, h, d);
  from.kind = hipMemcpyDeviceToHost;
  CHECK(hipMemcpy3D(&from));
  REQUIRE(equal(in, back), "copying back %d x %d x %d texels of %zu bytes", width, height, depth, sizeof(T));

  hipTextureObject_t texture;
  if (!make_texture(array, false, texture)) return false;
  T* device;
  CHECK(hipMalloc(&device, w * h * d * sizeof(T)));
  read_volume<T><<<dim3((width + 63) / 64, height, depth), 64>>>(texture, device, width, height);
  std::vector<T> out(w * h * d);
  CHECK(hipMemcpy(out.data(), device, w * h * d * sizeof(T), hipMemcpyDeviceToHost));
  REQUIRE(equal(in, out), "a kernel reading %d x %d x %d texels of %zu bytes", width, height, depth, sizeof(T));
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFree(device));
  CHECK(hipFreeArray(array));
  return true;
}

// Halfway between four texels a linear filter gives their mean.
bool filter() {
  constexpr int kWidth = 150, kHeight = 70;
  std::vector<float> in(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) in[y * kWidth + x] = static_cast<float>((x * 7 + y * 13) % 64);
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray_t array;
  CHECK(hipMallocArray(&array, &format, kWidth, kHeight, 0));
  constexpr size_t kRow = kWidth * sizeof(float);
  CHECK(hipMemcpy2DToArray(array, 0, 0, in.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  hipTextureObject_t texture;
  if (!make_texture(array, true, texture)) return false;
  float* device;
  CHECK(hipMalloc(&device, in.size() * sizeof(float)));
  read_between<<<dim3((kWidth + 63) / 64, kHeight), 64>>>(texture, device, kWidth, 1.0f);
  std::vector<float> out(in.size());
  CHECK(hipMemcpy(out.data(), device, in.size() * sizeof(float), hipMemcpyDeviceToHost));
  const auto at = [&](int x, int y) {
    return in[static_cast<size_t>((y < kHeight ? y : kHeight - 1) * kWidth + (x < kWidth ? x : kWidth - 1))];
  };
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const float mean = (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)) / 4;
      REQUIRE(std::fabs(out[y * kWidth + x] - mean) < 1e-3f, "filtered %d %d: %g, not %g", x, y,
              static_cast<double>(out[y * kWidth + x]), static_cast<double>(mean));
    }
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFree(device));
  CHECK(hipFreeArray(array));
  return true;
}

bool surfaces() {
  constexpr int kWidth = 190, kHeight = 75;
  std::vector<float> in(kWidth * kHeight);  // HIP's surfaces convert to float
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 37 % 9973) / 4;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray_t array[2];
  CHECK(hipMallocArray(&array[0], &format, kWidth, kHeight, 0));
  CHECK(hipMallocArray(&array[1], &format, kHeight, kWidth, 0));
  constexpr size_t kRow = kWidth * sizeof(float), kColumn = kHeight * sizeof(float);
  CHECK(hipMemcpy2DToArray(array[0], 0, 0, in.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  hipSurfaceObject_t surface[2];
  for (int i = 0; i < 2; ++i) {
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array[i];
    CHECK(hipCreateSurfaceObject(&surface[i], &resource));
  }
  transpose<<<dim3((kWidth + 63) / 64, kHeight), 64>>>(surface[0], surface[1], kWidth, kHeight);
  std::vector<float> out(in.size());
  CHECK(hipMemcpy2DFromArray(out.data(), kColumn, array[1], 0, 0, kColumn, kWidth, hipMemcpyDeviceToHost));
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      REQUIRE(out[x * kHeight + y] == in[y * kWidth + x], "surface %d %d", x, y);
  for (int i = 0; i < 2; ++i) {
    CHECK(hipDestroySurfaceObject(surface[i]));
    CHECK(hipFreeArray(array[i]));
  }
  return true;
}

template <typename T>
bool every_shape() {
  return line<T>(7) && line<T>(1000) && plane<T>(1, 1) && plane<T>(33, 17) && plane<T>(200, 3) &&
         plane<T>(257, 300) && plane<T>(600, 129) && volume<T>(5, 4, 3) && volume<T>(40, 33, 9) &&
         volume<T>(70, 20, 40);
}

}  // namespace

int main() {
  if (!every_shape<unsigned char>() || !every_shape<short>() || !every_shape<ushort2>() || !every_shape<int>() ||
      !every_shape<uchar4>() || !every_shape<int2>() || !every_shape<uint4>())
    return 1;
  if (!filter() || !surfaces()) return 1;
  std::puts("arrays: passed");
  return 0;
}
