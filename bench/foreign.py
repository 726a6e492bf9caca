"""Kernels of other people's programs on Morgana and on its peer: processor time a launch, compiled, and what both compute.

usage: foreign.py DIR [--library FILE] [--peer NAME] [--save FILE] [KERNEL...]

DIR holds checkouts of the programs that foreign.tsv names, each under its repository's name. A row is a launch: source, kernel,
build options, global and local size, arguments. An argument is a buffer (f1000 floats in [0, 1), d doubles, z zeros of floats,
i1000:50 integers below 50, b bytes below, n1000:8 pairs of start and count, r1000:8 ascending offsets, eight apart on average),
l4096 bytes of local memory, or a number: 3 (int), 3L, 3s (short), 0.5 (float). Every launch begins with the same bytes in its
buffers. Ends with 1 when results differ by more than rounding.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def rows():
    with open(os.path.join(HERE, "foreign.tsv")) as table:
        for line in table:
            if line.strip() and not line.startswith("#"):
                source, kernel, options, sizes, arguments = line.rstrip("\n").split("\t")
                yield {"source": source, "kernel": kernel, "options": options, "sizes": sizes, "arguments": arguments.split()}


def name_of(row):
    return os.path.splitext(os.path.basename(row["source"]))[0] + ":" + row["kernel"]


def array_of(token, random):
    kind, (count, _, limit) = token[0], token[1:].partition(":")
    count, limit = int(count), int(limit or 0)
    if kind == "f":
        return random.random(count, np.float32)
    if kind == "d":
        return random.random(count)
    if kind == "z":
        return np.zeros(count, np.float32)
    if kind == "i":
        return random.integers(0, limit, count, np.int32)
    if kind == "b":
        return random.integers(0, limit, count, np.uint8)
    counts = random.integers(0, 2 * limit + 1, count, np.int32)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return offsets if kind == "r" else np.stack([offsets[:-1], counts], 1)


def number_of(token):
    if token.endswith("L"):
        return np.int64(token[:-1])
    if token.endswith("s"):
        return np.int16(token[:-1])
    return np.float32(token) if "." in token else np.int32(token)


def measure(platform, directory, row, seconds):
    """In a process of its own: milliseconds of processor time a launch, and the buffers after the first one."""
    import pyopencl as cl

    found = [p for p in cl.get_platforms() if platform.lower() in p.name.lower()]
    context = cl.Context(found[0].get_devices()[:1])
    queue = cl.CommandQueue(context)
    path = os.path.join(directory, row["source"])
    text = open(path, errors="replace").read()
    program = cl.Program(context, text).build(row["options"].split() + ["-I" + os.path.dirname(path)])
    kernel = getattr(program, row["kernel"])
    random = np.random.default_rng(7)
    buffers, arguments = [], []
    for token in row["arguments"]:
        if token[0] in "fdzibnr":
            begin = array_of(token, random)
            buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, begin.nbytes)
            kept = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=begin)
            buffers.append((buffer, kept, begin))
            arguments.append(buffer)
        else:
            arguments.append(cl.LocalMemory(int(token[1:])) if token[0] == "l" else number_of(token))
    kernel.set_args(*arguments)
    sizes = [tuple(int(n) for n in part.split("x")) for part in row["sizes"].split("/")]

    def launch():
        for buffer, kept, _ in buffers:
            cl.enqueue_copy(queue, buffer, kept)
        queue.finish()
        begin = time.process_time()
        cl.enqueue_nd_range_kernel(queue, kernel, sizes[0], sizes[1] if len(sizes) > 1 else None)
        queue.finish()
        return time.process_time() - begin

    launch()
    results = []
    for buffer, _, begin in buffers:
        result = np.empty_like(begin)
        cl.enqueue_copy(queue, result, buffer)
        results.append(result)
    until, times = time.time() + seconds / 2, []
    while time.time() < until:
        launch()
    until = time.time() + seconds
    while time.time() < until or len(times) < 3:
        times.append(launch())
    return np.median(times) * 1e3, results


def child(arguments):
    row = json.loads(arguments.child)
    milliseconds, results = measure(arguments.platform, arguments.directory, row, arguments.seconds)
    np.savez(arguments.save, *results)
    print(milliseconds)


def run(arguments, platform, row, into, environment):
    command = [sys.executable, __file__, arguments.directory, "--child", json.dumps(row), "--platform", platform,
               "--save", into, "--seconds", str(arguments.seconds)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return None, "does not end within 300 s"
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["ended with %d" % done.returncode])[-1]
    return float(done.stdout.split()[-1]), ""


def difference(one, other):
    """The largest relative difference of floats; 1 for integers that are not equal."""
    worst = 0.0
    with np.load(one) as a, np.load(other) as b:
        for key in a.files:
            x, y = a[key], b[key]
            if x.dtype.kind != "f":
                worst = max(worst, 0.0 if np.array_equal(x, y) else 1.0)
                continue
            both = np.isfinite(x) & np.isfinite(y)
            if not np.array_equal(np.isfinite(x), np.isfinite(y)):
                return 1.0
            scale = np.maximum(np.abs(x[both]), np.abs(y[both])).max(initial=1e-30)
            worst = max(worst, float(np.abs(x[both] - y[both]).max(initial=0) / scale))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("kernels", nargs="*", help="names (source:kernel) or parts of them; all by default")
    parser.add_argument("--library", default="", help="libmorgana.so to measure")
    parser.add_argument("--peer", default="Portable", help="part of the other platform's name; empty: none")
    parser.add_argument("--seconds", type=float, default=0.6, help="of timed launches on each platform")
    parser.add_argument("--save", default="", help="write the table here, too")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--platform", help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args()
    if arguments.child:
        return child(arguments)

    with tempfile.TemporaryDirectory() as scratch:
        ours = dict(os.environ, MORGANA_JIT=os.environ.get("MORGANA_JIT", "sync"), PYOPENCL_NO_CACHE="1")
        if arguments.library:
            with open(os.path.join(scratch, "morgana.icd"), "w") as icd:
                icd.write(os.path.abspath(arguments.library) + "\n")
            ours["OCL_ICD_VENDORS"] = scratch
        theirs = dict(os.environ, PYOPENCL_NO_CACHE="1")
        lines, ratios, wrong, missing = ["kernel\tms\tpeer ms\tratio\tdifference"], [], 0, 0
        for row in rows():
            name = name_of(row)
            if arguments.kernels and not any(part in name for part in arguments.kernels):
                continue
            if not os.path.exists(os.path.join(arguments.directory, row["source"])):
                missing += 1
                continue
            files = [os.path.join(scratch, "%d.npz" % k) for k in range(2)]
            mine, why = run(arguments, "Morgana", row, files[0], ours)
            peer, peer_why = run(arguments, arguments.peer, row, files[1], theirs) if arguments.peer else (None, "")
            if mine is None:
                wrong += 1
                lines.append("%s\t-\t-\t-\t%s" % (name, why))
            elif peer is None:
                lines.append("%s\t%.3f\t-\t-\t%s" % (name, mine, peer_why))
            else:
                off = difference(*files)
                wrong += off > 1e-3
                ratios.append(mine / peer)
                lines.append("%s\t%.3f\t%.3f\t%.2f\t%.1e" % (name, mine, peer, mine / peer, off))
            print(lines[-1].replace("\t", "  "), flush=True)
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            lines.append("geometric mean of %d\t\t\t%.3f\t" % (len(ratios), mean))
            print("geometric mean of %d kernels: %.3f; worst %.2f" % (len(ratios), mean, max(ratios)))
        if missing:
            print("%d kernels are not in %s" % (missing, arguments.directory))
        if arguments.save:
            with open(arguments.save, "w") as table:
                table.write("\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
