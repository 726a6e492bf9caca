// needs: images
constant sampler_t in_text = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
kernel void of_images(read_only image2d_t flat, read_only image3d_t deep, read_only image2d_array_t layers, read_only image1d_t line,
                      read_only image1d_buffer_t buffer, write_only image2d_t out, sampler_t given, global uint* data) {
  const int x = get_global_id(0) & 15, y = get_global_id(0) >> 4;
  const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  const float2 at = (float2)(x + 0.25f, y + 0.75f);
  float4 sum = read_imagef(flat, in_text, at / 16);
  sum += read_imagef(flat, given, at);
  sum += read_imagef(flat, nearest, (int2)(x - 1, y - 1));
  sum += read_imagef(flat, (int2)(x, y));
  sum += read_imagef(layers, nearest, (int4)(x & 7, y & 7, x & 1, 0));
  sum += read_imagef(layers, in_text, (float4)(at / 8, 1.0f, 0.0f));
  global uint* own = data + 32 * get_global_id(0);
  vstore4(as_uint4(sum), 0, own);
  vstore4(read_imageui(deep, nearest, (int4)(x & 3, y & 3, x & 1, 0)) + read_imageui(deep, (int4)(1, 2, 1, 0)), 1, own);
  vstore4(as_uint4(read_imagei(line, x) - read_imagei(line, nearest, y)), 2, own);
  vstore4(read_imageui(buffer, x), 3, own);
  own[16] = get_image_width(flat) + 100 * get_image_height(flat) + 10000 * get_image_array_size(layers);
  own[17] = get_image_channel_order(flat);  // LLVM 22 has another value for the data type
  own[18] = get_image_width(line) + get_image_width(buffer) + get_image_dim(deep).z + get_image_dim(flat).y + get_image_dim(layers).x;
  write_imagef(out, (int2)(x, y), sum * 0.125f);
}
