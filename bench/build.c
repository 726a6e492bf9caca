/* build: how long clBuildProgram takes for a trivial program that no cache knows, and again for one that it does.
 * The first build of a process, which loads the compiler, is told apart. */
#include "bench/bench.h"

#include <unistd.h>

static double build(const Bench* b, unsigned long tag) {
  char source[200];
  snprintf(source, sizeof source, "kernel void k(global int* p) { p[get_global_id(0)] += %lu; }", tag);
  double start = bench_now();
  cl_program program = bench_program(b, source, "");
  double ms = (bench_now() - start) * 1e3;
  clReleaseProgram(program);
  return ms;
}

int main(void) {
  Bench b = bench_open();
  /* Sources that no earlier run has built. */
  unsigned long tag = (unsigned long)(bench_now() * 1e6) + (unsigned long)getpid();
  enum { ROUNDS = 21 };
  double cold[ROUNDS], warm[ROUNDS];
  bench_print("first build of a process", build(&b, tag), "ms");
  for (int i = 0; i < ROUNDS; ++i) cold[i] = build(&b, tag + 1 + (unsigned long)i);
  for (int i = 0; i < ROUNDS; ++i) warm[i] = build(&b, tag + 1 + (unsigned long)i);
  bench_print("cold build", bench_median(cold, ROUNDS), "ms");
  bench_print("warm build", bench_median(warm, ROUNDS), "ms");
  return 0;
}
