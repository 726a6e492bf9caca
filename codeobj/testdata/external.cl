// A code object with an undefined symbol; see build.sh.
extern __global int outside;
__kernel void touch(int value) { outside = value; }
