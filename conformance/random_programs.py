#!/usr/bin/env python3
"""Random OpenCL C programs, built with and without optimisation: both must compute the same.

    random_programs.py [--seeds FIRST:LAST] [--devices gfx950,gfx1100] [--jit off|on|sync] [--library libmorgana.so] [--peer ICD]
    random_programs.py --show SEED

A program branches, loops, swaps, chooses pointers and divides on unsigned numbers of all widths: nothing in it is undefined, and
no work-item reads what another one writes but behind a barrier. --peer compares with another OpenCL platform as well (the
library or ICD file, for example PoCL's; its own faults show, too). Prints the seeds that differ and what each build gave, and
ends with 1 when there are any, with 2 when a program did not build or run. Needs python3-pyopencl.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys

ITEMS, GROUP, RESULTS = 256, 64, 4
NAMES = ["x", "y", "z", "w"]
BODIES = [
    "return x * 3u + y;",
    "uint s = 0; for (uint k = 0; k < (x & 7); k++) { if ((y >> k) & 1) s += k * y; else s ^= x; } return s;",
    "if (x < y) return x ^ (y << 3); return y - x;",
    "uint a[4] = {x, y, x ^ y, x + y}; a[x & 3] += 5; return a[y & 3];",
    "if (x > y || (y & 3) == 1) { uint t = x; x = y; y = t; } return x * 2u + y;",
]


class Program:
    """The text of one: everything follows from the seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        functions = "".join(f"{self.pick(['', '__attribute__((noinline)) '])}uint f{k}(uint x, uint y) {{ {self.pick(BODIES)} }}\n" for k in range(3))
        self.text = f"""struct T {{ uint a; uint b[4]; uchar c; }};
constant uint c[16] = {{1, 9, 3, 7, 5, 2, 8, 6, 11, 15, 12, 10, 4, 14, 13, 0}};
{functions}kernel void k(global uint* o, global uint* b, global uint* g, uint n, uint m) {{
  uint i = get_global_id(0), l = get_local_id(0), x = b[i] & 31, y = g[i] & 15, z = b[i + 256], w = n;
  local uint s[{GROUP}];
  struct T t = {{i, {{2, 3, 4, 5}}, 6}};
  uint q[8] = {{1, 2, 3, 4, 5, 6, 7, 8}};
  uint4 v = vload4(i, b), u = vload4(i + 3, g) & 15;
{self.block(0, False, 8)}
  o[{RESULTS} * i] = x + y * 3 + z * 5 + w * 7 + t.a + t.b[1] * 11 + t.b[2] + q[3] * 13 + q[6] + v.x * 17 + v.y * 19 + u.z * 23 + u.w * 29;
}}
"""

    def pick(self, choices):
        return self.random.choice(choices)

    def number(self, depth=0):
        leaves = NAMES + ["i", "l", "n", "m", "q[x & 7]", "t.a", "t.b[y & 3]", "7u", "0x8001u", "c[z & 15]", "v.x", "v.w", "u.y", "u.z"]
        if depth > 3 or self.random.random() < 0.3:
            return self.pick(leaves)
        inner = lambda: self.number(depth + 1)
        return self.pick([
            lambda: f"({inner()} {self.pick('+-*^&|')} {inner()})",
            lambda: f"({inner()} >> ({inner()} & 31))",
            lambda: f"({inner()} {self.pick('/%')} (({inner()}) | {self.pick([1, 3])}u))",
            lambda: f"({self.condition(depth + 1)} ? {inner()} : {inner()})",
            lambda: f"f{self.random.randrange(3)}({inner()}, {inner()})",
            lambda: f"(uint)({self.pick(['uchar', 'char', 'ushort', 'short'])})({inner()})",
            lambda: f"(uint)(ushort)((ushort)({inner()}) {self.pick('+-*')} ({self.pick(['char', 'uchar', 'ushort'])})({inner()}))",
            lambda: f"(uint)(((ulong)({inner()}) * ({inner()})) >> {self.pick([7, 16, 32])})",
            lambda: f"b[({inner()}) & 1023]",
        ])()

    def condition(self, depth=0):
        if depth < 4 and self.random.random() < 0.5:
            return f"({self.condition(depth + 1)} {self.pick(['||', '&&'])} {self.condition(depth + 1)})"
        cast = self.pick(["", "", "(int)"])
        return f"({cast}({self.number(depth + 2)}) {self.pick(['<', '<=', '==', '!=', '>'])} {cast}({self.number(depth + 2)}))"

    def statement(self, depth, in_loop):
        number, condition = lambda: self.number(1), lambda: self.condition(0)
        name, other = self.random.sample(NAMES + ["v.x", "v.z", "u.y", "u.w"], 2)
        plain = [
            lambda: f"q[({number()}) & 7] = {number()};",
            lambda: f"t.b[({number()}) & 3] = {number()}; t.a ^= t.b[x & 3];",
            lambda: f"{{ struct T copy = t; copy.a += {number()}; if ({condition()}) t = copy; }}",
            lambda: f"if ({condition()}) {{ uint old = {name}; {name} = {other}; {other} = old; }}",
            lambda: f"{{ private uint* p = {condition()} ? &q[({number()}) & 7] : &q[({number()}) & 3]; *p += {number()}; }}",
            lambda: f"{{ global uint* p = {condition()} ? b + 8 : g + {self.pick([3, 8])}; {name} ^= p[({number()}) & 63]; }}",
            lambda: f"if ({condition()}) v = {self.pick(['u', 'v.wzyx', 'u.yxwz', '(uint4)(n, m, x, y)'])};",
            lambda: f"u = {condition()} ? {self.pick(['v', 'u.zwxy', 'v.ywxz'])} : {self.pick(['u', 'v'])};",
            lambda: f"o[{RESULTS} * i + {self.random.randrange(1, RESULTS)}] = {number()};",
            lambda: f"{{ short4 h = ((global short4*)b)[({number()}) & 127]; h.x += (short)x; {name} ^= (uint)(int)h.y * (uint)(int)h.w + (ushort)(h.x ^ h.z); }}",
        ] + 4 * [lambda: f"{name} {self.pick(['=', '+=', '^=', '-=', '*='])} {self.number()};"]
        if in_loop:
            plain.append(lambda: f"if ({condition()}) {self.pick(['break', 'continue'])};")
        if depth == 0:
            plain.append(lambda: f"barrier(CLK_LOCAL_MEM_FENCE); s[l] = {name}; barrier(CLK_LOCAL_MEM_FENCE); {name} += s[({number()}) & {GROUP - 1}];")
        nested = [
            lambda: f"if ({condition()}) {{ {self.block(depth + 1, in_loop)} }} else {{ {self.block(depth + 1, in_loop)} }}",
            lambda: f"if ({condition()}) {{ {self.block(depth + 1, in_loop)} }}",
            lambda: f"for (uint k{depth} = 0; k{depth} <= (({number()}) & {self.pick([3, 7])}); k{depth}++) {{ {self.block(depth + 1, True)} }}",
            lambda: f"{{ uint j = 0; do {{ {self.block(depth + 1, True)} }} while (++j < 6 && {condition()}); }}",
            lambda: f"switch (({number()}) & 7) {{ case 0: {self.block(depth + 1, False)} break; case 1: {self.block(depth + 1, False)} "
                    f"case 4: {self.block(depth + 1, False)} break; default: {self.block(depth + 1, False)} }}",
        ]
        return self.pick(plain + (2 * nested if depth < 3 else []))()

    def block(self, depth, in_loop, most=3):
        return "\n".join("  " * (depth + 1) + self.statement(depth, in_loop) for _ in range(self.random.randint(1, most)))


def execute(first, last, options):
    """In a process of its own: prints a line for each program on the first device of the only platform."""
    import numpy
    import pyopencl
    context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices()[:1])
    queue = pyopencl.CommandQueue(context)
    copied = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR
    weights = 2 * numpy.arange(RESULTS * ITEMS, dtype=numpy.uint32) + 1
    for seed in range(first, last):
        numbers = numpy.random.RandomState(seed)
        arrays = [numpy.zeros(RESULTS * ITEMS, numpy.uint32)] + [numbers.randint(0, 1 << 20, 4096).astype(numpy.uint32) for _ in range(2)]
        try:
            program = pyopencl.Program(context, Program(seed).text).build(options)
            buffers = [pyopencl.Buffer(context, copied, hostbuf=array) for array in arrays]
            program.k(queue, (ITEMS,), (GROUP,), *buffers, numpy.uint32(seed % 9), numpy.uint32(seed % 5))
            pyopencl.enqueue_copy(queue, arrays[0], buffers[0])
            result = f"{int(numpy.bitwise_xor.reduce(arrays[0] * weights)):08x}"
        except pyopencl.Error as error:
            result = "error: " + str(error).split("\n")[0]
        print(seed, result, flush=True)


def results(arguments, options, environment):
    first, last = arguments.seeds
    run = subprocess.run([sys.executable, __file__, "--seeds", f"{first}:{last}", f"--execute={options}"], capture_output=True, text=True,
                         env=dict(os.environ, MORGANA_CACHE="0", PYOPENCL_NO_CACHE="1", **environment))
    found = dict(line.split(" ", 1) for line in run.stdout.splitlines())
    for seed in range(first, last):
        found.setdefault(str(seed), "error: " + (run.stderr.strip().split("\n")[-1] or f"status {run.returncode}"))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:100", type=lambda text: tuple(int(part) for part in text.split(":")))
    parser.add_argument("--devices", default="gfx950")
    parser.add_argument("--jit", default="off", choices=["off", "on", "sync"])
    parser.add_argument("--library", default=str(pathlib.Path(__file__).parents[1] / "build/release/lib/libmorgana.so"))
    parser.add_argument("--peer")
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--execute", metavar="OPTIONS", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.show is not None:
        print(Program(arguments.show).text, end="")
        return 0
    if arguments.execute is not None:
        execute(*arguments.seeds, arguments.execute)
        return 0
    columns = {}
    for device in arguments.devices.split(","):
        own = {"OCL_ICD_VENDORS": arguments.library, "MORGANA_DEVICES": device, "MORGANA_JIT": arguments.jit}
        columns[device] = results(arguments, "", own)
        columns[device + " -cl-opt-disable"] = results(arguments, "-cl-opt-disable", own)
    if arguments.peer:
        columns["peer"] = results(arguments, "", {"OCL_ICD_VENDORS": arguments.peer})
    differing = failed = 0
    for seed in map(str, range(*arguments.seeds)):
        given = {name: column[seed] for name, column in columns.items()}
        failed += any(value.startswith("error") for value in given.values())
        if len(set(given.values())) > 1:
            differing += 1
            print(f"seed {seed}: " + ", ".join(f"{name} {value}" for name, value in given.items()))
    print(f"{arguments.seeds[1] - arguments.seeds[0]} programs, {len(columns)} builds of each: {differing} differ, {failed} did not build or run")
    return 2 if failed else 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
