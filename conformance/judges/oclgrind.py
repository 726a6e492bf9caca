"""Oclgrind's test kernels: what each case is, what must be found in it, and how it is run.

A case is three files: NAME.sim (kernel, sizes, a line for each argument), its .cl and NAME.ref (what Oclgrind says)."""
import pathlib
import re
import sys

import kernels

DEVICE = "gfx950"
GROUPS = ("memcheck", "data-race", "uninitialized", "barrier", "atomics", "async_copy", "wait_event")
NO_KIND = {"no kind of a finding"}
# What a line of a .ref demands, as KINDs of docs/checking.md, any of which will do.
OUTSIDE = {"out-of-bounds", "array-out-of-bounds", "lds-out-of-bounds", "scratch-out-of-bounds", "write-past-the-end", "memory-violation",
           "access-outside-the-segment"}
DEMANDS = (
    (r"Invalid read from write-only|Invalid write to read-only", {"forbidden-access"}),
    (r"Invalid (read|write) (of|from|to)|exceeds static array size", OUTSIDE),
    (r"data race", {"race"}),
    (r"divergence", {"barrier-divergence"}),
    (r"Uninitialized", {"uninitialized"}),
    (r"without waiting for events|Invalid wait event", NO_KIND),
)
# Another kind of error in a group's .ref follows from the one that the group is about: a value read outside is not written.
OF_GROUP = {"memcheck": OUTSIDE, "uninitialized": {"uninitialized"}}
TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
         "float": "f4", "double": "f8"}


def cases(folder):
    """(name, path, what must be found: sets of kinds) of every case below `folder`."""
    for path in sorted(folder.rglob("*.sim")):
        group, reference = path.parent.name, path.with_suffix(".ref")
        if group not in GROUPS or not reference.is_file():
            continue
        wanted = []
        for line in re.findall(r"^ERROR (.*)$", reference.read_text(), re.M):
            kinds = next((kinds for pattern, kinds in DEMANDS if re.search(pattern, line)), None)
            if kinds is None:
                raise ValueError(f"{reference}: {line!r} is no error that is known here")
            if kinds not in wanted:
                wanted.append(kinds)
        about = OF_GROUP.get(group)
        yield f"{group}/{path.stem}", path, [about] if about in wanted else wanted


def argument(cl, numpy, context, kernel, index, words, values):
    """The argument that `<words> values` describes."""
    options = dict(word.partition("=")[::2] for word in words.split())
    if "null" in options:
        return None
    size = int(options.get("size", 0))
    if kernel.get_arg_info(index, cl.kernel_arg_info.ADDRESS_QUALIFIER) == cl.kernel_arg_address_qualifier.LOCAL:
        return cl.LocalMemory(size)
    named = next((word for word in options if word in TYPES), None)
    of_kernel = re.sub(r"\d+$", "", kernel.get_arg_info(index, cl.kernel_arg_info.TYPE_NAME).rstrip("*").strip())
    kind = numpy.dtype(TYPES[named or of_kernel if of_kernel in TYPES else named or "uchar"])
    number = float if kind.kind == "f" else lambda text: int(text, 16 if "hex" in options else 10)
    if "fill" in options:
        data = numpy.full(size // kind.itemsize, number(options["fill"]), kind)
    elif "range" in options:
        begin, step, _ = (number(text) for text in options["range"].split(":"))
        data = (begin + step * numpy.arange(size // kind.itemsize)).astype(kind)
    else:
        data = numpy.array([number(text) for text in values.split()], kind)
    if kernel.get_arg_info(index, cl.kernel_arg_info.ADDRESS_QUALIFIER) == cl.kernel_arg_address_qualifier.PRIVATE:
        return data.tobytes() if data.size != 1 else data[0]
    flags = cl.mem_flags
    access = flags.READ_ONLY if "ro" in options else flags.WRITE_ONLY if "wo" in options else flags.READ_WRITE
    if "noinit" in options:
        return cl.Buffer(context, access, size)
    if data.nbytes != size:
        raise ValueError(f"argument {index}: {data.nbytes} bytes of {size}")
    return cl.Buffer(context, access | flags.COPY_HOST_PTR, hostbuf=data)


def execute(path, build_options):
    """Runs the case in this process."""
    import numpy
    import pyopencl as cl
    text = path.read_text()
    head, _, arguments = text.partition("<")
    source, name, *sizes = head.split()
    context, queue = kernels.begin()
    program = cl.Program(context, (path.parent / source).read_text()).build(f"-cl-kernel-arg-info -g {build_options}")
    kernel = cl.Kernel(program, name)
    given = [argument(cl, numpy, context, kernel, index, words, values)
             for index, (words, values) in enumerate(re.findall(r"<([^>]*)>([^<]*)", "<" + arguments))]
    kernel.set_args(*given)  # which keeps no buffer alive: `given` does
    numbers = [int(size) for size in sizes]
    kernels.launch(queue, kernel, numbers[:3], numbers[3:6])


if __name__ == "__main__":
    execute(pathlib.Path(sys.argv[1]), sys.argv[2])
