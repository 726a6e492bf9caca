"""OpenCL kernels of a case, in a process of their own: MODULE.py PATH OPTIONS, as judge.py starts it."""
import sys


def begin():
    """(context, queue) on the first device."""
    import pyopencl as cl
    context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
    return context, cl.CommandQueue(context)


def launch(queue, kernel, work_items, group):
    """Waits for the end; a fault is in the report."""
    import pyopencl as cl
    try:
        cl.enqueue_nd_range_kernel(queue, kernel, work_items, group).wait()
    except cl.Error as error:
        print(f"the kernel ended with {error}", file=sys.stderr)
