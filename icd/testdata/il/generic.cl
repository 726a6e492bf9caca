// needs: __opencl_c_generic_address_space __opencl_c_program_scope_global_variables
struct Node {
  int value;
  struct Node* next;
  global int* table;
  local int* near;
  int few[3];
};
global int counter = 41;
global struct { int a; long b; float c[2]; } initial = {1, 2, {3.0f, 4.0f}};
global int* global pointer = &counter;
constant int table[5] = {5, 7, 11, 13, 17};
constant int* constant tables[2] = {table + 1, table + 3};

__attribute__((noinline)) int sum(const int* from, int count) {
  int all = 0;
  for (int i = 0; i < count; ++i) all += from[i];
  return all;
}
__attribute__((noinline)) int follow(struct Node* first) {
  int all = 0;
  for (struct Node* n = first; n != 0; n = n->next) all = all * 3 + n->value + n->few[n->value & 1];
  return all;
}
kernel void pointers(global uint* data) {
  local int near[64];
  const uint lane = get_local_id(0);
  global int* own = (global int*)(data + 32 * get_global_id(0));
  int here[4] = {own[0], own[1], own[2], own[3]};
  near[lane] = own[4];
  barrier(CLK_LOCAL_MEM_FENCE);
  struct Node c = {here[0] & 255, 0, own, near, {1, 2, 3}};
  struct Node b = {here[1] & 255, &c, own + 1, near + 1, {4, 5, 6}};
  struct Node a = {here[2] & 255, own[5] & 1 ? &b : &c, own + 2, near + 2, {7, 8, 9}};
  own[0] = sum(here, 4) + sum(near, 64) + sum(own + 5, 3);
  own[1] = follow(&a) + a.table[1] + a.near[lane & 7] + *a.next->near;
  const int* chosen = own[6] & 1 ? (const int*)here : own[6] & 2 ? (const int*)(near + 3) : (const int*)own;
  own[2] = chosen[1] + (to_local(chosen) != 0) + 2 * (to_private(chosen) != 0) + 4 * (to_global(chosen) != 0);
  own[3] = *pointer + initial.a + (int)initial.b + (int)initial.c[1] + tables[own[7] & 1][1] + table[own[8] & 3];
  own[4] = get_fence(chosen) & CLK_LOCAL_MEM_FENCE;
  struct Node copies[2] = {a, b};
  own[5] = follow(&copies[own[9] & 1]);
}
