/* launch: how long an empty kernel takes from enqueue to finish, and how many launches a second go through.
 * Prints two lines "NAME VALUE UNIT", medians over many rounds. */
#include "bench/bench.h"

int main(void) {
  Bench b = bench_open();
  cl_kernel kernel = bench_kernel(&b, "kernel void empty(void) {}", "", "empty");
  const size_t global = 64, local = 64;
  enum { ROUNDS = 2000, BATCH = 1000, BATCHES = 15 };

  static double latency[ROUNDS];
  for (int i = -100; i < ROUNDS; ++i) {
    double start = bench_now();
    CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
    CHECK(clFinish(b.queue));
    if (i >= 0) latency[i] = (bench_now() - start) * 1e6;
  }
  bench_print("launch latency", bench_median(latency, ROUNDS), "us");

  static double rate[BATCHES];
  for (int i = -1; i < BATCHES; ++i) {
    double start = bench_now();
    for (int j = 0; j < BATCH; ++j)
      CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
    CHECK(clFinish(b.queue));
    if (i >= 0) rate[i] = BATCH / (bench_now() - start);
  }
  bench_print("launch rate", bench_median(rate, BATCHES), "launches/s");
  return 0;
}
