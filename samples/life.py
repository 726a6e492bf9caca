#!/usr/bin/python3
"""life: two hundred generations of Conway's Game of Life through PyOpenCL, checked against NumPy."""
import sys

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void life(global const uchar* in, global uchar* out) {
  int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
  int sum = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i)
      if (i || j) sum += in[(y + j + h) % h * w + (x + i + w) % w];
  out[y * w + x] = sum == 3 || (sum == 2 && in[y * w + x]);
}
"""
WIDTH, HEIGHT, GENERATIONS = 320, 192, 200


def reference(board):
    for _ in range(GENERATIONS):
        neighbours = sum(np.roll(board, (j, i), (0, 1)) for j in (-1, 0, 1) for i in (-1, 0, 1) if i or j)
        board = ((neighbours == 3) | ((neighbours == 2) & (board == 1))).astype(np.uint8)
    return board


def main():
    board = (np.random.default_rng(1).random((HEIGHT, WIDTH)) < 0.3).astype(np.uint8)
    device = cl.get_platforms()[0].get_devices(cl.device_type.GPU)[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    kernel = cl.Program(context, SOURCE).build().life
    flags = cl.mem_flags
    current = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=board)
    following = cl.Buffer(context, flags.READ_WRITE, board.nbytes)
    events = []
    for _ in range(GENERATIONS):
        events.append(kernel(queue, (WIDTH, HEIGHT), None, current, following))
        current, following = following, current
    result = np.empty_like(board)
    cl.enqueue_copy(queue, result, current)
    milliseconds = sum(event.profile.end - event.profile.start for event in events) * 1e-6
    correct = np.array_equal(result, reference(board))
    print(f"{'life.py':<12} {device.name:<8} {milliseconds:10.3f} ms  {'correct' if correct else 'WRONG'}  "
          f"{GENERATIONS} generations, {int(result.sum())} cells alive")
    return 0 if correct else 1


if __name__ == "__main__":
    sys.exit(main())
