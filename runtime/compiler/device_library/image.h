// Image and sampler records as device memory holds them; runtime/image_record.cpp writes them and says what
// the words mean. OpenCL C, for image.cl and image_software.cl.

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
typedef uint uint8 __attribute__((ext_vector_type(8)));

// OpenCL's numbers of the first order and type that the runtime knows: CLK_R and CLK_SNORM_INT8. Those that
// follow stand in the same order (runtime/image_record.h: ChannelOrder, ChannelType).
enum { kFirstOrder = 0x10B0, kFirstType = 0x10D0 };

struct Image {
  uint8 resource;  // T#, or V# in its first half
  uint type, order, width, height, depth, layers, row_pitch, numeric;
  uint slice_pitch, texel_shift;
  global uchar* base;
  uint format_class;
  uint load_low, load_high, store_low, store_high;  // selectors of v_perm_b32
  uint second_shift;
  uint2 ones;
  uint levels;  // whose records follow, this one among them
  uint sign;    // of a component
  int least_whole;
  float greatest, least;
  uint flip, lowest, highest;
  float4 scale, scale_low;
  uint4 mask, one, shift;
  uint end[8];
};
_Static_assert(sizeof(struct Image) == 256, "runtime/image_record.h: kImageRecordBytes");
typedef constant const struct Image* ImagePointer;

struct Sampler {
  uint4 resource;  // S#
  uint bits;
  float least_level, greatest_level;
  uint unused;
};
typedef constant const struct Sampler* SamplerPointer;

// Of a sampler's bits (CLK_*).
enum {
  kNormalized = 1,
  kAddressing = 0xe,
  kClamp = 4,
  kRepeat = 6,
  kMirroredRepeat = 8,
  kFilterLinear = 0x20,
  kLevelsLinear = 0x40  // of samplers that the host makes
};

enum { kUnorm, kSnorm, kFloat, kSrgb, kUint, kSint };  // Image::numeric; the last two are not filtered

// Of overloaded functions.
#define F __attribute__((overloadable, always_inline))

// A value of the record, asked of every kind of access.
#define OF(IMAGE) ((ImagePointer)__builtin_astype(image, ImagePointer))
#define QUERY(NAME, VALUE, IMAGE)                                 \
  F int NAME(read_only IMAGE image) { return OF(image)->VALUE; }  \
  F int NAME(write_only IMAGE image) { return OF(image)->VALUE; } \
  F int NAME(read_write IMAGE image) { return OF(image)->VALUE; }
