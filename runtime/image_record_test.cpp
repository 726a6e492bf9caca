// Images and samplers as kernels see them: records, built-in functions and image instructions together, on
// targets with and without image instructions.
#include "runtime/image_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <future>
#include <map>
#include <random>

#include "runtime/compiler/cached.h"
#include "runtime/memory.h"
#include "runtime/queue.h"

namespace morgana::runtime {
namespace {

constexpr const char* kTargets[] = {"gfx600", "gfx701",  "gfx803",  "gfx900",  "gfx90a", "gfx942",
                                    "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1200"};

constexpr const char* kSource = R"(
#define READ(NAME, KIND, COORDINATE, AT) \
  kernel void NAME##_f(read_only KIND i, sampler_t s, global const COORDINATE* at, global float4* out) { \
    size_t n = get_global_id(0); out[n] = read_imagef(i, s, AT); } \
  kernel void NAME##_i(read_only KIND i, sampler_t s, global const COORDINATE* at, global int4* out) { \
    size_t n = get_global_id(0); out[n] = read_imagei(i, s, AT); } \
  kernel void NAME##_u(read_only KIND i, sampler_t s, global const COORDINATE* at, global uint4* out) { \
    size_t n = get_global_id(0); out[n] = read_imageui(i, s, AT); }
#define COPY(NAME, KIND, AT) \
  kernel void NAME##_f(read_only KIND i, write_only KIND o, global float4* out) { \
    uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); \
    float4 v = read_imagef(i, AT); write_imagef(o, AT, v); \
    out[x + get_global_size(0) * (y + get_global_size(1) * z)] = v; } \
  kernel void NAME##_i(read_only KIND i, write_only KIND o, global int4* out) { \
    uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); \
    int4 v = read_imagei(i, AT); write_imagei(o, AT, v); \
    out[x + get_global_size(0) * (y + get_global_size(1) * z)] = v; } \
  kernel void NAME##_u(read_only KIND i, write_only KIND o, global uint4* out) { \
    uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); \
    uint4 v = read_imageui(i, AT); write_imageui(o, AT, v); \
    out[x + get_global_size(0) * (y + get_global_size(1) * z)] = v; }
COPY(copy_line, image1d_t, (int)x)
COPY(copy_line_buffer, image1d_buffer_t, (int)x)
COPY(copy_line_array, image1d_array_t, (int2)(x, z))
COPY(copy_plane, image2d_t, (int2)(x, y))
COPY(copy_plane_array, image2d_array_t, (int4)(x, y, z, 0))
COPY(copy_volume, image3d_t, (int4)(x, y, z, 0))
READ(line, image1d_t, float4, at[n].x)
READ(line_array, image1d_array_t, float4, at[n].xy)
READ(plane, image2d_t, float4, at[n].xy)
READ(plane_array, image2d_array_t, float4, at[n])
READ(volume, image3d_t, float4, at[n])
READ(plane_int, image2d_t, int4, at[n].xy)

kernel void depth(read_only image2d_depth_t i, read_only image2d_array_depth_t a, write_only image2d_depth_t o,
                  sampler_t s, global const float4* at, global float4* out) {
  size_t n = get_global_id(0);
  out[n] = (float4)(read_imagef(i, s, at[n].xy), read_imagef(a, s, at[n]), read_imagef(i, (int2)(n, 1)),
                    read_imagef(a, (int4)(n, 1, 2, 0)));
  write_imagef(o, (int2)(n, 2), read_imagef(i, (int2)(n, 1)));
}

constant sampler_t outside = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_MIRRORED_REPEAT | CLK_FILTER_LINEAR;
kernel void in_text(read_only image2d_t i, sampler_t unused, global const float4* at, global float4* out) {
  const sampler_t inside = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  size_t n = get_global_id(0);
  out[n] = n & 1 ? read_imagef(i, inside, at[n].xy) : read_imagef(i, outside, at[n].xy);
}

kernel void update(read_write image2d_t i) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(i, at, read_imageui(i, at) + 1);
  atomic_work_item_fence(CLK_IMAGE_MEM_FENCE, memory_order_acq_rel, memory_scope_work_item);
  write_imageui(i, at, read_imageui(i, at) * 2);
  write_imageui(i, (int2)(-1 - at.x, at.y), (uint4)(7));
  write_imageui(i, (int2)(at.x, at.y + 100), (uint4)(7));
}

kernel void query(read_only image1d_t a, write_only image1d_array_t b, read_only image1d_buffer_t c,
                  read_write image2d_t d, read_only image2d_array_t e, write_only image3d_t f,
                  read_only image2d_depth_t g, global int* out) {
  *out++ = get_image_width(a); *out++ = get_image_channel_data_type(a); *out++ = get_image_channel_order(a);
  *out++ = get_image_width(b); *out++ = get_image_array_size(b); *out++ = get_image_channel_order(b);
  *out++ = get_image_width(c); *out++ = get_image_channel_data_type(c);
  *out++ = get_image_width(d); *out++ = get_image_height(d); *out++ = get_image_dim(d).x; *out++ = get_image_dim(d).y;
  *out++ = get_image_height(e); *out++ = get_image_array_size(e); *out++ = get_image_channel_order(e);
  *out++ = get_image_height(f); *out++ = get_image_depth(f); *out++ = get_image_dim(f).z;
  *out++ = get_image_height(g); *out++ = get_image_channel_order(g); *out++ = get_image_channel_data_type(g);
}
)";

using Order = ChannelOrder;
using Type = ChannelType;

struct Run final : Task {
  std::unique_ptr<Dispatch> work;
  std::promise<device::FaultKind> done;
  Dispatch* dispatch() override { return work.get(); }
  void finished(const device::Fault& fault) override { done.set_value(fault.kind); }
};

// An agent of a target with the program above.
class Machine {
 public:
  explicit Machine(const char* processor) : agent_(agent_spec(processor).value()) {
    TargetDescription target;
    target.processor = processor;
    target.images = true;
    target.extensions = {"__opencl_c_images",
                         "__opencl_c_3d_image_writes",
                         "__opencl_c_read_write_images",
                         "cl_khr_3d_image_writes",
                         "cl_khr_depth_images",
                         "cl_khr_byte_addressable_store",
                         "__opencl_c_atomic_order_acq_rel"};
    CompileInput input;
    input.source = kSource;
    BuildOptions options;
    options.standard = "CL3.0";
    std::string log;
    auto object = build_source(input, options, target, log);
    EXPECT_TRUE(object.ok()) << log;
    if (!object.ok()) return;
    executable_ = Executable::load(agent_, Bytes(*object)).value();
    queue_ = Queue::create(agent_, device::Priority::normal, 64).value();
  }
  Target target() const { return agent_.target(); }
  bool ok() const { return queue_ != nullptr; }

  // Runs a kernel whose arguments are all pointers.
  void run(const std::string& name, const std::vector<const void*>& pointers,
           std::array<uint32_t, 3> global) {
    SCOPED_TRACE(name);
    const Kernel* kernel = executable_->kernel(name);
    ASSERT_NE(kernel, nullptr);
    Arguments arguments(*kernel);
    ASSERT_EQ(arguments.count(), pointers.size());
    for (size_t i = 0; i < pointers.size(); ++i)
      ASSERT_TRUE(arguments.set(i, Bytes(reinterpret_cast<const uint8_t*>(&pointers[i]), 8)).ok());
    Geometry geometry;
    geometry.dimensions = 3;
    geometry.global = global;
    geometry.local = {std::min(global[0], 64u), 1, 1};
    Run task;
    task.work = Dispatch::create(executable_, *kernel, arguments, geometry).value();
    auto done = task.done.get_future();
    queue_->submit(&task);
    queue_->flush();
    EXPECT_EQ(done.get(), device::FaultKind::none);
  }

 private:
  Agent agent_;
  std::shared_ptr<Executable> executable_;
  std::unique_ptr<Queue> queue_;
};

Machine& machine(const std::string& name) {
  static std::map<std::string, Machine> all;
  return all.try_emplace(name, name.c_str()).first->second;
}

struct Sampler {
  alignas(kSamplerRecordAlign) uint32_t record[kSamplerRecordWords];
  Sampler(Target target, const SamplerShape& shape) { write_sampler_record(target, shape, record); }
};

// An image with memory of its own.
class Image {
 public:
  Image(Target target, ImageKind kind, Order order, Type type, uint32_t width, uint32_t height = 1,
        uint32_t deep = 1)
      : format_(*find_image_format(order, type)) {
    shape_.kind = kind;
    shape_.order = order;
    shape_.type = type;
    shape_.width = width;
    shape_.height = height;
    (kind == ImageKind::volume ? shape_.depth : shape_.layers) = deep;
    shape_.pitches = image_pitches(format_, kind, width, height, shape_.depth, shape_.layers);
    memory_ = static_cast<uint8_t*>(allocate(shape_.pitches.bytes, kImageBaseAlign, "image").value());
    shape_.base = reinterpret_cast<uint64_t>(memory_);
    record_ = static_cast<uint32_t*>(allocate(kImageRecordBytes, kImageRecordAlign, "record").value());
    auto written = write_image_record(target, shape_,
                                      std::span<uint32_t, kImageRecordWords>(record_, kImageRecordWords));
    EXPECT_TRUE(written.ok()) << written.error().message;
  }
  ~Image() {
    release(memory_);
    release(record_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const ImageShape& shape() const { return shape_; }
  const ImageFormat& format() const { return format_; }
  const void* record() const { return record_; }
  uint8_t* texel(uint32_t x, uint32_t y = 0, uint32_t z = 0) {
    return memory_ + z * shape_.pitches.slice + y * shape_.pitches.row + uint64_t{x} * format_.bytes;
  }
  // Bits of any value that a copy by kernels keeps.
  void fill(std::mt19937& random);

 private:
  ImageFormat format_;
  ImageShape shape_;
  uint8_t* memory_;
  uint32_t* record_;
};

uint32_t type_bits(Type type) {
  switch (type) {
    case Type::snorm8:
    case Type::unorm8:
    case Type::sint8:
    case Type::uint8: return 8;
    case Type::snorm16:
    case Type::unorm16:
    case Type::sint16:
    case Type::uint16:
    case Type::raw10:
    case Type::raw12:
    case Type::float16: return 16;
    case Type::sint32:
    case Type::uint32:
    case Type::float32: return 32;
    default: return 0;
  }
}
bool is_signed_int(Type type) { return type >= Type::sint8 && type <= Type::sint32; }
bool is_unsigned_int(Type type) {
  return (type >= Type::uint8 && type <= Type::uint32) || type == Type::raw10 || type == Type::raw12;
}
char value_kind(Type type) { return is_signed_int(type) ? 'i' : is_unsigned_int(type) ? 'u' : 'f'; }

void Image::fill(std::mt19937& random) {
  const uint32_t slices = std::max(shape_.depth, shape_.layers), bits = type_bits(shape_.type);
  for (uint32_t z = 0; z < slices; z++)
    for (uint32_t y = 0; y < shape_.height; y++)
      for (uint32_t x = 0; x < shape_.width; x++) {
        uint8_t* const at = texel(x, y, z);
        for (uint32_t i = 0; i < format_.bytes; i++) at[i] = static_cast<uint8_t>(random());
        for (uint32_t i = 0; i * bits < format_.bytes * 8; i++) {
          if (bits == 0) break;
          uint8_t* const component = at + i * bits / 8;
          // Neither the second name of -1 nor NaNs: their bits may change.
          if (shape_.type == Type::snorm8 && *component == 0x80) *component = 0x81;
          if (shape_.type == Type::snorm16 && component[0] == 0 && component[1] == 0x80) *component = 1;
          if (shape_.type == Type::float16 && (component[1] & 0x7c) == 0x7c) component[1] ^= 0x40;
          if (shape_.type == Type::float32) {
            const float value = static_cast<float>(random() % 4096) / 1024 - 2;
            std::memcpy(component, &value, 4);
          }
        }
        // Bits that no field has.
        if (shape_.type == Type::unorm555) at[1] &= 0x7f;
        if (shape_.type == Type::unorm101010) at[3] &= 0x3f;
      }
}

// --- What the specification says a texel is (OpenCL 3.0, 5.3.1.1; OpenCL C 6.15.15) ---

float component_value(uint32_t raw, uint32_t bits, Type type) {
  const double ones = std::ldexp(1, static_cast<int>(bits)) - 1,
               top = std::ldexp(1, static_cast<int>(bits) - 1) - 1;
  const auto number = static_cast<int32_t>(raw << (32 - bits)) >> (32 - bits);
  if (type == Type::snorm8 || type == Type::snorm16) return static_cast<float>(std::max(-1.0, number / top));
  if (is_signed_int(type)) return __builtin_bit_cast(float, number);
  if (is_unsigned_int(type)) return __builtin_bit_cast(float, raw);
  if (type == Type::float16)
    return static_cast<float>(__builtin_bit_cast(_Float16, static_cast<uint16_t>(raw)));
  if (type == Type::float32) return __builtin_bit_cast(float, raw);
  return static_cast<float>(raw / ones);
}

std::string describe(const ImageFormat& format) {
  return fmt::format("order {}, type {}", static_cast<int>(format.order), static_cast<int>(format.type));
}

using Value = std::array<float, 4>;  // bits of integers for integer formats

// Red, green, blue, alpha of a texel.
Value decode(const ImageFormat& format, const uint8_t* texel) {
  const float one = value_kind(format.type) == 'f' ? 1 : __builtin_bit_cast(float, 1u);
  uint32_t dword = 0;
  std::memcpy(&dword, texel, std::min(format.bytes, 4u));
  const auto field = [&](uint32_t low, uint32_t bits) {
    return component_value(dword >> low & ((1u << bits) - 1), bits, format.type);
  };
  switch (format.type) {
    case Type::unorm565: return {field(11, 5), field(5, 6), field(0, 5), 1};
    case Type::unorm555: return {field(10, 5), field(5, 5), field(0, 5), 1};
    case Type::unorm101010: return {field(20, 10), field(10, 10), field(0, 10), 1};
    case Type::unorm101010_2: return {field(22, 10), field(12, 10), field(2, 10), field(0, 2)};
    default: break;
  }
  const uint32_t bits = type_bits(format.type);
  const auto c = [&](uint32_t i) {
    uint32_t raw = 0;
    std::memcpy(&raw, texel + i * bits / 8, bits / 8);
    return component_value(raw, bits, format.type);
  };
  const auto linear = [&](uint32_t i) {
    const float v = c(i);
    return v <= 0.04045f ? v / 12.92f : static_cast<float>(std::pow((v + 0.055) / 1.055, 2.4));
  };
  switch (format.order) {
    case Order::r: return {c(0), 0, 0, one};
    case Order::a: return {0, 0, 0, c(0)};
    case Order::rg: return {c(0), c(1), 0, one};
    case Order::ra: return {c(0), 0, 0, c(1)};
    case Order::rgba: return {c(0), c(1), c(2), c(3)};
    case Order::bgra: return {c(2), c(1), c(0), c(3)};
    case Order::argb: return {c(1), c(2), c(3), c(0)};
    case Order::intensity: return {c(0), c(0), c(0), c(0)};
    case Order::luminance: return {c(0), c(0), c(0), one};
    case Order::depth: return {c(0), 0, 0, one};
    case Order::srgba: return {linear(0), linear(1), linear(2), c(3)};
    case Order::sbgra: return {linear(2), linear(1), linear(0), c(3)};
    case Order::abgr: return {c(3), c(2), c(1), c(0)};
    default: ADD_FAILURE() << describe(format); return {};
  }
}

void expect_same(const Value& got, const Value& wanted, const std::string& what) {
  for (int i = 0; i < 4; i++)
    EXPECT_EQ(__builtin_bit_cast(uint32_t, got[i]), __builtin_bit_cast(uint32_t, wanted[i]))
        << what << ", channel " << i << ": " << got[i] << " for " << wanted[i];
}

class Images : public ::testing::TestWithParam<const char*> {
 protected:
  Machine& machine() { return morgana::runtime::machine(GetParam()); }
  Target target() { return machine().target(); }
};
INSTANTIATE_TEST_SUITE_P(Targets, Images, ::testing::ValuesIn(kTargets),
                         [](const auto& p) { return std::string(p.param); });

struct KindCase {
  ImageKind kind;
  const char* name;
  uint32_t width, height, deep;
};
constexpr KindCase kKinds[] = {{ImageKind::line, "line", 37, 1, 1},
                               {ImageKind::line_buffer, "line_buffer", 101, 1, 1},
                               {ImageKind::line_array, "line_array", 37, 1, 5},
                               {ImageKind::plane, "plane", 37, 9, 1},
                               {ImageKind::plane_array, "plane_array", 21, 5, 3},
                               {ImageKind::volume, "volume", 21, 5, 3}};

TEST_P(Images, EveryFormatIsReadAndWrittenInEveryKind) {
  ASSERT_TRUE(machine().ok());
  std::mt19937 random(1);
  for (const ImageFormat& format : image_formats())
    for (const KindCase& k : kKinds) {
      if (!is_possible(format, k.kind) || format.order == Order::depth) continue;
      SCOPED_TRACE(describe(format) + " " + k.name);
      Image from(target(), k.kind, format.order, format.type, k.width, k.height, k.deep);
      Image to(target(), k.kind, format.order, format.type, k.width, k.height, k.deep);
      from.fill(random);
      std::vector<Value> values(k.width * k.height * k.deep);
      machine().run(fmt::format("copy_{}_{}", k.name, value_kind(format.type)),
                    {from.record(), to.record(), values.data()}, {k.width, k.height, k.deep});
      for (uint32_t z = 0; z < k.deep; z++)
        for (uint32_t y = 0; y < k.height; y++)
          for (uint32_t x = 0; x < k.width; x++) {
            const uint8_t* const texel = from.texel(x, y, z);
            expect_same(values[x + k.width * (y + k.height * z)], decode(format, texel),
                        fmt::format("{} {} {}", x, y, z));
            EXPECT_EQ(std::memcmp(texel, to.texel(x, y, z), format.bytes), 0) << x << " " << y << " " << z;
            if (HasFailure()) return;
          }
    }
}

// --- Sampling ---

// The texels of an axis and the weight of the second (OpenCL C 3.0, 6.15.15.2; OpenCL 3.0, 8.2); -1 is the
// border.
struct Axis {
  int64_t at[2];
  double weight;
};
Axis resolve(float c, int64_t n, const SamplerShape& s) {
  if (s.normalized) {
    if (s.addressing == Addressing::repeat) c -= std::floor(c);
    if (s.addressing == Addressing::mirrored_repeat) c = std::fabs(c - 2 * std::nearbyint(c / 2));
    c *= static_cast<float>(n);
  }
  const auto addressed = [&](int64_t i) {
    if (s.addressing == Addressing::repeat) return i < 0 ? i + n : i >= n ? i - n : i;
    if (s.addressing == Addressing::clamp) return i < 0 || i >= n ? int64_t{-1} : i;
    return std::clamp(i, int64_t{0}, n - 1);
  };
  if (!s.linear) return {{addressed(static_cast<int64_t>(std::floor(c))), 0}, 0};
  c -= 0.5f;
  const float low = std::floor(c);
  return {{addressed(static_cast<int64_t>(low)), addressed(static_cast<int64_t>(low) + 1)}, c - low};
}

std::array<double, 4> sampled(Image& image, const Value& at, const SamplerShape& s) {
  const ImageShape& shape = image.shape();
  const bool rows = shape.kind != ImageKind::line && shape.kind != ImageKind::line_array,
             volume = shape.kind == ImageKind::volume;
  const Axis x = resolve(at[0], shape.width, s);
  const Axis y = rows ? resolve(at[1], shape.height, s) : Axis{};
  const Axis z = volume ? resolve(at[2], shape.depth, s) : Axis{};
  const float layer = std::nearbyint(shape.kind == ImageKind::line_array ? at[1] : at[2]);
  const auto slice = static_cast<uint32_t>(std::clamp(layer, 0.0f, static_cast<float>(shape.layers - 1)));
  std::array<double, 4> sum{};
  for (int corner = 0; corner < 8; corner++) {
    const int i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
    const double weight =
        (i ? x.weight : 1 - x.weight) * (j ? y.weight : 1 - y.weight) * (k ? z.weight : 1 - z.weight);
    if (weight == 0) continue;
    const uint8_t border[16] = {};
    const bool outside = x.at[i] < 0 || y.at[j] < 0 || z.at[k] < 0;
    const Value texel = decode(
        image.format(), outside ? border
                                : image.texel(static_cast<uint32_t>(x.at[i]), static_cast<uint32_t>(y.at[j]),
                                              volume ? static_cast<uint32_t>(z.at[k]) : slice));
    for (size_t c = 0; c < 4; c++)
      sum[c] += weight *
                (value_kind(image.format().type) == 'f' ? texel[c] : __builtin_bit_cast(int32_t, texel[c]));
  }
  return sum;
}

std::vector<SamplerShape> samplers(bool linear) {
  std::vector<SamplerShape> all;
  for (const Addressing addressing :
       {Addressing::clamp_to_edge, Addressing::clamp, Addressing::repeat, Addressing::mirrored_repeat})
    for (const bool normalized : {false, true}) {
      if (!normalized && addressing >= Addressing::repeat) continue;
      all.push_back({normalized, addressing, false});
      if (linear) all.push_back({normalized, addressing, true});
    }
  return all;
}

void check_sampling(Machine& machine, const char* kernel, Image& image, std::mt19937& random) {
  constexpr uint32_t kCount = 192;
  const char kind = value_kind(image.format().type);
  const double error = image.format().type == Type::float16 ? 0.3 : 4e-6;  // of the largest numbers
  for (const SamplerShape& shape : samplers(kind == 'f')) {
    SCOPED_TRACE(fmt::format("{} {} addressing {} linear {} normalized {}", kernel, describe(image.format()),
                             static_cast<int>(shape.addressing), shape.linear, shape.normalized));
    const Sampler sampler(machine.target(), shape);
    const ImageShape& is = image.shape();
    const float extent[3] = {static_cast<float>(is.width),
                             is.kind == ImageKind::line_array ? 1 : static_cast<float>(is.height),
                             static_cast<float>(is.depth)};
    const bool array = is.layers > 1;
    std::vector<Value> at(kCount), out(kCount);
    for (Value& v : at)
      for (size_t i = 0; i < 3; i++) {
        const bool layer = array && i == (is.kind == ImageKind::line_array ? 1 : 2);
        // A third of them at the border of a texel, or at its middle.
        const double place = random() % 3 == 0 ? random() % 64 / 2.0 : random() % 4096 / 128.0;
        const double size = layer ? static_cast<double>(is.layers) : extent[i];
        v[i] = static_cast<float>(place / 32 * 3 * size - size);
        if (random() % 3 == 0) v[i] = std::floor(v[i]);
        if (shape.normalized && !layer) v[i] /= extent[i];
      }
    machine.run(fmt::format("{}_{}", kernel, kind), {image.record(), sampler.record, at.data(), out.data()},
                {kCount, 1, 1});
    for (uint32_t n = 0; n < kCount; n++) {
      const auto wanted = sampled(image, at[n], shape);
      for (size_t c = 0; c < 4; c++) {
        const double got = kind == 'f' ? out[n][c] : __builtin_bit_cast(int32_t, out[n][c]);
        EXPECT_NEAR(got, wanted[c], shape.linear ? error : 0)
            << at[n][0] << " " << at[n][1] << " " << at[n][2] << ", channel " << c;
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(Images, SamplersFindTheTexelsOfTheSpecification) {
  ASSERT_TRUE(machine().ok());
  std::mt19937 random(2);
  for (const auto& [order, type] : std::vector<std::pair<Order, Type>>{{Order::rgba, Type::unorm8},
                                                                       {Order::r, Type::float32},
                                                                       {Order::bgra, Type::unorm8},
                                                                       {Order::a, Type::unorm16},
                                                                       {Order::rg, Type::float16},
                                                                       {Order::rgba, Type::sint8},
                                                                       {Order::srgba, Type::unorm8},
                                                                       {Order::rgba, Type::float32}})
    for (const KindCase& k : kKinds) {
      if (k.kind == ImageKind::line_buffer) continue;
      Image image(target(), k.kind, order, type, k.width, k.height, k.deep);
      image.fill(random);
      check_sampling(machine(), k.name, image, random);
      if (HasFailure()) return;
    }
}

TEST_P(Images, IntegerCoordinatesAndTheirBorders) {
  std::mt19937 random(3);
  Image image(target(), ImageKind::plane, Order::r, Type::uint8, 37, 9);
  image.fill(random);
  for (const Addressing addressing : {Addressing::clamp_to_edge, Addressing::clamp}) {
    const SamplerShape shape{false, addressing, false};
    const Sampler sampler(target(), shape);
    std::vector<std::array<int32_t, 4>> at;
    std::vector<std::array<uint32_t, 4>> out(41 * 13);
    for (int y = -2; y < 11; y++)
      for (int x = -2; x < 39; x++) at.push_back({x, y, 0, 0});
    machine().run("plane_int_u", {image.record(), sampler.record, at.data(), out.data()}, {41 * 13, 1, 1});
    for (size_t n = 0; n < at.size(); n++) {
      const auto wanted = sampled(image, {static_cast<float>(at[n][0]), static_cast<float>(at[n][1])}, shape);
      for (size_t c = 0; c < 4; c++) ASSERT_EQ(out[n][c], wanted[c]) << at[n][0] << " " << at[n][1];
    }
  }
}

TEST_P(Images, DepthImagesAreOneNumber) {
  std::mt19937 random(4);
  for (const Type type : {Type::unorm16, Type::float32}) {
    Image plane(target(), ImageKind::plane, Order::depth, type, 64, 4);
    Image array(target(), ImageKind::plane_array, Order::depth, type, 64, 4, 5);
    Image to(target(), ImageKind::plane, Order::depth, type, 64, 4);
    plane.fill(random);
    array.fill(random);
    const SamplerShape shape{true, Addressing::clamp, true};
    const Sampler sampler(target(), shape);
    std::vector<Value> at(64), out(64);
    for (Value& v : at)
      v = {static_cast<float>(random() % 1024) / 512 - 0.5f, static_cast<float>(random() % 1024) / 512 - 0.5f,
           static_cast<float>(random() % 5), 0};
    machine().run("depth",
                  {plane.record(), array.record(), to.record(), sampler.record, at.data(), out.data()},
                  {64, 1, 1});
    for (uint32_t n = 0; n < 64; n++) {
      EXPECT_NEAR(out[n][0], sampled(plane, at[n], shape)[0], 4e-6);
      EXPECT_NEAR(out[n][1], sampled(array, at[n], shape)[0], 4e-6);
      EXPECT_EQ(out[n][2], decode(plane.format(), plane.texel(n, 1))[0]);
      EXPECT_EQ(out[n][3], decode(array.format(), array.texel(n, 1, 2))[0]);
      EXPECT_EQ(std::memcmp(to.texel(n, 2), plane.texel(n, 1), plane.format().bytes), 0);
    }
  }
}

TEST_P(Images, SamplersInTheProgramsText) {
  std::mt19937 random(5);
  Image image(target(), ImageKind::plane, Order::rgba, Type::unorm8, 37, 9);
  image.fill(random);
  const Sampler unused(target(), {});
  std::vector<Value> at(128), out(128);
  for (Value& v : at)
    v = {static_cast<float>(random() % 2048) / 64 - 3, static_cast<float>(random() % 2048) / 256 - 3, 0, 0};
  machine().run("in_text", {image.record(), unused.record, at.data(), out.data()}, {128, 1, 1});
  for (uint32_t n = 0; n < 128; n++) {
    const SamplerShape shape = n & 1 ? SamplerShape{false, Addressing::clamp, false}
                                     : SamplerShape{true, Addressing::mirrored_repeat, true};
    const auto wanted = sampled(image, at[n], shape);
    for (size_t c = 0; c < 4; c++) EXPECT_NEAR(out[n][c], wanted[c], shape.linear ? 4e-6 : 0) << n;
  }
}

TEST_P(Images, ReadAndWriteAndNothingOutside) {
  Image image(target(), ImageKind::plane, Order::r, Type::uint32, 70, 3);
  for (uint32_t y = 0; y < 3; y++)
    for (uint32_t x = 0; x < 128; x++) {
      const uint32_t value = x + 1000 * y;
      std::memcpy(image.texel(x, y), &value, 4);
    }
  machine().run("update", {image.record()}, {70, 3, 1});
  for (uint32_t y = 0; y < 3; y++)
    for (uint32_t x = 0; x < 128; x++) {
      uint32_t value;
      std::memcpy(&value, image.texel(x, y), 4);
      EXPECT_EQ(value, x < 70 ? (x + 1000 * y + 1) * 2 : x + 1000 * y) << x << " " << y;
    }
}

TEST_P(Images, Queries) {
  Image line(target(), ImageKind::line, Order::luminance, Type::float16, 1000),
      lines(target(), ImageKind::line_array, Order::rgba, Type::float32, 5, 1, 7);
  Image buffer(target(), ImageKind::line_buffer, Order::rgba, Type::uint8, 100000);
  Image plane(target(), ImageKind::plane, Order::bgra, Type::unorm8, 300, 200),
      planes(target(), ImageKind::plane_array, Order::rgb, Type::unorm565, 30, 20, 9);
  Image volume(target(), ImageKind::volume, Order::rgba, Type::unorm8, 30, 20, 11),
      depth(target(), ImageKind::plane, Order::depth, Type::float32, 6, 5);
  // Orders and types in OpenCL's numbers.
  const std::vector<int32_t> wanted = {1000,   0x10DD, 0x10B9, 5,   7,   0x10B5, 100000,
                                       0x10DA, 300,    200,    300, 200, 20,     9,
                                       0x10B4, 20,     11,     11,  5,   0x10BD, 0x10DE};
  std::vector<int32_t> out(wanted.size());
  machine().run("query",
                {line.record(), lines.record(), buffer.record(), plane.record(), planes.record(),
                 volume.record(), depth.record(), out.data()},
                {1, 1, 1});
  EXPECT_EQ(out, wanted);
}

TEST(ImageRecord, RefusesWhatResourcesCannotSay) {
  const ImageFormat& rgba = *find_image_format(Order::rgba, Type::unorm8);
  ImageShape good;
  good.kind = ImageKind::plane_array;
  good.order = Order::rgba;
  good.type = Type::unorm8;
  good.width = good.height = 100;
  good.layers = 3;
  good.pitches = image_pitches(rgba, good.kind, 100, 100, 1, 3);
  good.base = 0x10000;
  alignas(256) uint32_t words[kImageRecordWords];
  const auto accepts = [&](Target target, auto change) {
    ImageShape shape = good;
    change(shape);
    return write_image_record(target, shape, words).ok();
  };
  for (const Target target : {Target::gfx701, Target::gfx803, Target::gfx90a, Target::gfx942}) {
    EXPECT_TRUE(accepts(target, [](ImageShape&) {}));
    EXPECT_FALSE(accepts(target, [](ImageShape& s) { s.base += 64; }));
    EXPECT_FALSE(accepts(target, [](ImageShape& s) { s.width = 0; }));
    EXPECT_FALSE(accepts(target, [](ImageShape& s) { s.width = kMaxImageWidth + 1; }));
    EXPECT_FALSE(accepts(target, [](ImageShape& s) { s.type = Type::unorm565; }));
    EXPECT_FALSE(accepts(target, [](ImageShape& s) { s.pitches.row = 399; }));
    EXPECT_FALSE(accepts(target, [](ImageShape& s) { s.pitches.row = 396; }));
    EXPECT_FALSE(accepts(target, [](ImageShape& s) { s.pitches.slice -= 1; }));
    EXPECT_EQ(accepts(target, [](ImageShape& s) { s.pitches.slice += 1024; }), target == Target::gfx942);
  }
  EXPECT_EQ(find_image_format(Order::rgba, Type::unorm565), nullptr);
  EXPECT_FALSE(is_possible(*find_image_format(Order::depth, Type::float32), ImageKind::volume));
}

}  // namespace
}  // namespace morgana::runtime
