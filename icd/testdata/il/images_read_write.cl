// needs: __opencl_c_read_write_images
kernel void in_place(read_write image2d_t image, write_only image3d_t deep) {
  const int2 at = (int2)(get_global_id(0) & 15, get_global_id(0) >> 4);
  const uint4 before = read_imageui(image, at);
  atomic_work_item_fence(CLK_IMAGE_MEM_FENCE, memory_order_acq_rel, memory_scope_work_item);
  write_imageui(image, at, before.wzyx + (uint4)(1, 2, 3, 4));
  if (at.y < 2) write_imagei(deep, (int4)(at.x & 3, at.x >> 2, at.y, 0), as_int4(before));
}
