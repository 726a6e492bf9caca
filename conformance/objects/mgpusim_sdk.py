"""Cases of AMD's SDK samples, Hetero-Mark, PolyBench, Rodinia and SHOC in sarchlab/mgpusim."""
import numpy as np

from harness import At, Launch, Local, Wrong, exact, near, poison
from mgpusim import CASES, case, dense, f32, i32, rng, rounded_up, sparse, specials, u32, uniform

# AMD APP SDK


@case("BitonicSort")
def bitonic_sort(bench):
    size, stages = 4096, 12
    data = rng().integers(0, 2**32, size, dtype=u32)
    for increasing in (1, 0):
        launches = [Launch("BitonicSort", size // 2, 256, ["data", u32(stage), u32(step), u32(increasing)])
                    for stage in range(stages) for step in range(stage + 1)]
        out = bench.run(launches, {"data": data}, ("data",))["data"]
        exact("sorted", out, np.sort(data) if increasing else np.sort(data)[::-1])


@case("fastWalshTransform")
def fast_walsh_transform(bench):
    size = 2048
    data = uniform(size)
    steps = [1 << i for i in range(11)]
    out = bench.run([Launch("fastWalshTransform", size // 2, 256, ["data", i32(step)]) for step in steps], {"data": data},
                    ("data",))["data"]
    expected = data.copy()
    for step in steps:
        pairs = expected.reshape(-1, 2, step)
        expected = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
    exact("transform", out, expected)


@case("floydWarshallPass")
def floyd_warshall(bench):
    nodes = 48
    distance = rng().integers(1, 200, (nodes, nodes), dtype=u32)
    np.fill_diagonal(distance, 0)
    path = np.broadcast_to(np.arange(nodes, dtype=u32)[:, None], (nodes, nodes)).copy()
    launches = [Launch("floydWarshallPass", (nodes, nodes), (16, 8), ["distance", "path", u32(nodes), u32(k)])
                for k in range(nodes)]
    out = bench.run(launches, {"distance": distance, "path": path}, ("distance", "path"))
    for k in range(nodes):
        through = distance[:, k, None] + distance[None, k, :]
        path = np.where(through < distance, u32(k), path)
        distance = np.minimum(through, distance)
    exact("distance", out["distance"], distance)
    exact("path", out["path"], path)


@case("mmmKernel_local")
def matrix_multiplication(bench):
    # In HIP the tile of A lies in a global buffer that all groups would share, so each launch is one group: a tile of C.
    inner = 96
    for group_x, group_y in ((8, 8), (8, 16)):
        rows, columns = group_y * 4, group_x * 4
        a, b = uniform((2 * rows, inner), seed=1), uniform((2, inner, columns), seed=2)
        c = poison((2, 2, rows, columns), f32)
        launches = [Launch("mmmKernel_local", (group_x, group_y), (group_x, group_y),
                           [At("a", i * rows * inner * 4), At("b", j * inner * columns * 4),
                            At("c", (i * 2 + j) * rows * columns * 4), i32(inner),
                            Local(group_x * group_y * 64) if bench.opencl else "tile"])
                    for i in range(2) for j in range(2)]
        tile = poison((group_x * group_y * 16,), f32)
        out = bench.run(launches, {"a": a, "b": b, "c": c, "tile": tile}, ("c", "tile"))["c"]
        parts = a.reshape(2, 1, rows, inner).astype(np.float64), b.astype(np.float64)
        near("product", out, parts[0] @ parts[1], np.abs(parts[0]) @ np.abs(parts[1]), inner)


@case("matrixTranspose")
def matrix_transpose(bench):
    # A work-item moves 4x4 elements; the tile lies in dynamic LDS.
    width, block = 256, 16
    data = rng().integers(0, 2**32, (width, width), dtype=u32)
    items, tile = width // 4, block * block * 16 * 4
    args = ["out", "in", Local(tile) if bench.opencl else None, u32(items), u32(items), u32(items // block), u32(0), u32(0)]
    launch = Launch("matrixTranspose", (items, items), (block, block), args, lds=0 if bench.opencl else tile)
    out = bench.run([launch], {"out": poison(data.shape, u32), "in": data}, ("out",))["out"]
    exact("transposed", out, data.T)


@case("nbody_sim")
def nbody(bench):
    # In HIP the tile of positions lies in a global buffer that all groups would share, so there is one group.
    bodies, group, step, softening = 512 if bench.opencl else 256, 256, f32(0.005), f32(500.0)
    position = np.concatenate((uniform((bodies, 3), 3, 50), uniform((bodies, 1), 1, 1000, seed=2)), axis=1)
    velocity = np.zeros((bodies, 4), f32)
    buffers = {"p0": position, "v0": velocity, "p1": poison((bodies, 4), f32), "v1": poison((bodies, 4), f32),
               "tile": poison((bodies, 4), f32)}
    launches = []
    for i in range(5):
        new, old = ("1", "0") if i % 2 == 0 else ("0", "1")
        tile = Local(group * 16) if bench.opencl else "tile"
        launches.append(Launch("nbody_sim", bodies, group, ["p" + old, "v" + old, i32(bodies), step, softening, tile,
                                                            "p" + new, "v" + new]))
    out = bench.run(launches, buffers, tuple(buffers))
    p, v = position.astype(np.float64), velocity.astype(np.float64)
    for _ in range(5):
        r = p[None, :, :] - p[:, None, :]
        square = (r[:, :, :3] ** 2).sum(axis=2) + softening
        acceleration = ((p[None, :, 3] * square**-1.5)[:, :, None] * r).sum(axis=1)
        p_new = p + v * step + acceleration * 0.5 * step * step
        p_new[:, 3] = p[:, 3]
        p, v = p_new, v + acceleration * step
    near("position", out["p1"], p, np.abs(p) + 1, 64)
    near("velocity", out["v1"][:, :3], v[:, :3], np.abs(v[:, :3]).max(), 512)


@case("_Z15vectoradd_floatPfPKfS1_ii")
def vector_add(bench):
    width, height = 70, 33
    b, c = specials(width * height, seed=1), specials(width * height, seed=2)[::-1].copy()
    launch = Launch("_Z15vectoradd_floatPfPKfS1_ii", (width, rounded_up(height, 16)), (16, 16),
                    ["a", "b", "c", i32(width), i32(height)])
    out = bench.run([launch], {"a": poison(width * height, f32), "b": b, "c": c}, ("a",))["a"]
    exact("sum", out, b + c)


@case("simpleNonSeparableConvolution")
def simple_convolution(bench):
    width, height, mask_width, mask_height = 61, 37, 5, 3
    padded_width, padded_height = width + mask_width - 1, height + mask_height - 1
    data = rng().integers(0, 4096, (padded_height, padded_width), dtype=u32)
    mask = rng(2).integers(0, 32, (mask_height, mask_width)).astype(f32) / 8  # exact sums
    items = rounded_up(width * height, 64)
    sizes = (u32(width), u32(height), u32(mask_width), u32(mask_height))
    if bench.opencl:
        sizes = (np.array(sizes[:2]), np.array(sizes[2:]))
    args = ["in", "mask", "out", *sizes, u32(padded_width)]
    out = bench.run([Launch("simpleNonSeparableConvolution", items, 64, args)],
                    {"in": data, "mask": mask, "out": poison((height, width), i32)}, ("out",))["out"]
    expected = sum(data[y:y + height, x:x + width] * mask[y, x].astype(np.float64)
                   for y in range(mask_height) for x in range(mask_width))
    exact("convolution", out, (expected + 0.5).astype(i32))


# Hetero-Mark


def aes_tables():
    """The S-box (FIPS 197, 5.1.1): the affine map of the inverse in GF(2^8)."""
    power, log, value = [], {}, 1
    for i in range(255):
        power.append(value)
        log[value] = i
        value ^= xtime(value)
    box = []
    for byte in range(256):
        inverse = power[-log[byte] % 255] if byte else 0
        box.append(inverse ^ 0x63)
        for turn in range(1, 5):
            box[-1] ^= ((inverse << turn) | (inverse >> (8 - turn))) & 0xFF
    return np.array(box, np.uint8)


def xtime(byte):
    return ((byte << 1) ^ (0x11B if byte & 0x80 else 0)) & 0xFF


def aes_expand(key, box):
    """The 60 words of an AES-256 key (FIPS 197, 5.2)."""
    words, constant = [int.from_bytes(key[i:i + 4], "big") for i in range(0, 32, 4)], 1
    substitute = lambda w: int.from_bytes(bytes(int(box[b]) for b in w.to_bytes(4, "big")), "big")
    for i in range(8, 60):
        word = words[-1]
        if i % 8 == 0:
            word = substitute(((word << 8) | (word >> 24)) & 0xFFFFFFFF) ^ (constant << 24)
            constant = xtime(constant)
        elif i % 8 == 4:
            word = substitute(word)
        words.append(words[i - 8] ^ word)
    return np.array(words, u32)


def aes_encrypt(blocks, keys, box):
    """AES-256 of an array of blocks (FIPS 197, 5.1); a state is [block, column, row]."""
    key = keys.astype(">u4").view(np.uint8).reshape(15, 4, 4)
    double = np.array([xtime(b) for b in range(256)], np.uint8)
    state = blocks.reshape(-1, 4, 4) ^ key[0]
    for turn in range(1, 15):
        state = box[state]
        state = np.stack([np.roll(state[:, :, row], -row, axis=1) for row in range(4)], axis=2)
        if turn < 14:
            next_row = np.roll(state, -1, axis=2)
            total = np.bitwise_xor.reduce(state, axis=2, keepdims=True)
            state = state ^ total ^ double[state ^ next_row]
        state = state ^ key[turn]
    return state.reshape(blocks.shape)


@case("Encrypt")
def aes(bench):
    box = aes_tables()
    keys = aes_expand(bytes(range(32)), box)
    data = rng().integers(0, 256, (256, 16), dtype=np.uint8)
    data[0] = [i * 0x11 for i in range(16)]  # FIPS 197, C.3
    out = bench.run([Launch("Encrypt", 256, 64, ["data", "keys", "box"])], {"data": data, "keys": keys, "box": box},
                    ("data",))["data"]
    exact("FIPS 197 C.3", out[0], np.frombuffer(bytes.fromhex("8ea2b7ca516745bfeafc49904b496089"), np.uint8))
    exact("cipher text", out, aes_encrypt(data, keys, box))


@case("FIR")
def fir(bench):
    taps, size = 16, 1000
    coefficients, data, history = uniform(taps, seed=1), uniform(size, seed=2), uniform(taps, seed=3)
    out = bench.run([Launch("FIR", size, 64, ["out", "coefficients", "in", "history", u32(taps)])],
                    {"out": poison(size, f32), "coefficients": coefficients, "in": data, "history": history}, ("out",))["out"]
    signal = np.concatenate((history, data)).astype(np.float64)
    expected = np.convolve(signal, coefficients.astype(np.float64))[taps:taps + size]
    near("filtered", out, expected, np.convolve(np.abs(signal), np.abs(coefficients))[taps:taps + size], taps)


@case("kmeans_kernel_swap")
def kmeans_swap(bench):
    data = uniform((1000, 34))
    out = bench.run([Launch("kmeans_kernel_swap", 1024, 64, ["in", "out", i32(1000), i32(34)])],
                    {"in": data, "out": poison((34, 1000), f32)}, ("out",))["out"]
    exact("transposed", out, data.T)


@case("kmeans_kernel_compute")
def kmeans_compute(bench):
    # Features are integers and centroids quarters, so that distances are exact and ties have one answer.
    points, features, clusters = 1000, 6, 7
    data = rng().integers(0, 32, (points, features)).astype(f32)
    centroids = data[:clusters].copy()
    for _ in range(6):
        args = ["in", "centroids", "member", i32(points), i32(clusters), i32(features), i32(0), i32(0)]
        member = bench.run([Launch("kmeans_kernel_compute", 1024, 64, args)],
                           {"in": data.T, "centroids": centroids, "member": poison(points, i32)}, ("member",))["member"]
        distance = ((data[:, None, :].astype(np.float64) - centroids[None, :, :]) ** 2).sum(axis=2)
        exact("membership", member, distance.argmin(axis=1))
        centroids = np.array([np.round(data[member == i].mean(axis=0) * 4) / 4 for i in range(clusters)], f32)


@case("PageRankUpdateGpu")
def page_rank(bench):
    rows, rounds = 60, 4
    offsets, columns, values = sparse(rows, rows, 150)
    values /= 20
    rank = np.full(rows, 1 / rows, f32)
    buffers = {"offsets": offsets, "columns": columns, "values": values, "x0": rank, "x1": poison(rows, f32)}
    local = [Local(64 * 4)] if bench.opencl else []
    launches = [Launch("PageRankUpdateGpu", rows * 64, 64, [u32(rows), "offsets", "columns", "values", *local, f"x{i % 2}",
                                                            f"x{1 - i % 2}"]) for i in range(rounds)]
    out = bench.run(launches, buffers, ("x0", "x1"))["x0"]
    matrix = dense(rows, rows, offsets, columns, values)
    expected, size = rank.astype(np.float64), rank.astype(np.float64)
    for _ in range(rounds):
        expected, size = matrix @ expected, np.abs(matrix) @ size
    near("rank", out, expected, size, 10 * rounds)


# PolyBench


def check_product(bench, kernel, transposed, keeps):
    """vector = A x or A^T x, added to what was there when the kernel `keeps` it."""
    nx, ny = 150, 203
    a, x = uniform((nx, ny)), uniform(nx if transposed else ny, seed=2)
    y = uniform(ny if transposed else nx, seed=3)
    order = ("y", "x") if kernel == "atax_kernel2" else ("x", "y")
    out = bench.run([Launch(kernel, rounded_up(y.size, 256), 256, ["a", *order, i32(nx), i32(ny)])], {"a": a, "x": x, "y": y},
                    ("y",))["y"]
    matrix = (a.T if transposed else a).astype(np.float64)
    start = y if keeps else np.zeros(y.size)
    near("product", out, start + matrix @ x, np.abs(start) + np.abs(matrix) @ np.abs(x), x.size + 1)


@case("atax_kernel1")
def atax1(bench):
    check_product(bench, "atax_kernel1", False, True)


@case("atax_kernel2")
def atax2(bench):
    check_product(bench, "atax_kernel2", True, True)


@case("bicgKernel1")
def bicg1(bench):
    check_product(bench, "bicgKernel1", False, False)


@case("bicgKernel2")
def bicg2(bench):
    check_product(bench, "bicgKernel2", True, False)


# Rodinia


def needleman_wunsch(bench):
    """The upper left triangle of blocks by kernel1, diagonal by diagonal, then the rest by kernel2."""
    block, blocks, penalty = 64, 4, 10
    size = block * blocks
    reference = rng().integers(-10, 11, (size + 1, size + 1), dtype=i32)
    score = np.zeros((size + 1, size + 1), i32)
    score[0, :] = score[:, 0] = -penalty * np.arange(size + 1)
    local = [Local(65 * 65 * 4), Local(64 * 64 * 4)] if bench.opencl else []
    common = lambda count: ["reference", "score", None, *local, i32(size + 1), i32(penalty), i32(count), i32(block), i32(blocks),
                            i32(size), i32(0), i32(0)]
    launches = [Launch("nw_kernel1", block * i, block, common(i)) for i in range(1, blocks + 1)]
    launches += [Launch("nw_kernel2", block * i, block, common(i)) for i in range(blocks - 1, 0, -1)]
    out = bench.run(launches, {"reference": reference, "score": score}, ("score",))["score"]
    for diagonal in range(2, 2 * size + 1):
        y = np.arange(max(1, diagonal - size), min(diagonal, size + 1))
        x = diagonal - y
        score[y, x] = np.maximum(score[y - 1, x - 1] + reference[y, x],
                                 np.maximum(score[y, x - 1], score[y - 1, x]) - penalty)
    exact("score", out, score)


CASES["nw_kernel1"] = CASES["nw_kernel2"] = needleman_wunsch


# SHOC


@case("BFS_kernel_warp")
def breadth_first_search(bench):
    nodes, unseen = 3000, u32(0xFFFFFFFF)
    offsets, targets, _ = sparse(nodes, nodes - 5, 4)  # nobody points to the last five
    offsets, targets = offsets.astype(u32), targets.astype(u32)
    level = np.full(nodes, unseen)
    level[0] = 0
    expected, front, depth = level.copy(), [0], 0
    while front:
        depth += 1
        reached = {int(t) for node in front for t in targets[offsets[node]:offsets[node + 1]]}
        front = [node for node in reached if expected[node] == unseen]
        expected[front] = depth
    for current in range(nodes):
        args = ["level", "offsets", "targets", i32(32), i32(32), u32(nodes), i32(current), "flag"]
        group = 256 if bench.opencl else 1024
        out = bench.run([Launch("BFS_kernel_warp", rounded_up(nodes, group), group, args)],
                        {"level": level, "offsets": offsets, "targets": targets, "flag": np.zeros(1, i32)},
                        ("level", "flag"))
        level = out["level"].copy()
        if not out["flag"][0]:
            break
    if depth < 4:
        raise Wrong("the graph is too shallow to show anything")
    exact("level", level, expected)
    exact("passes", np.array([current + 1]), np.array([depth]))


@case("fft1D_512")
def fft(bench):
    count = 24
    data = (uniform((count, 512, 2))).view(np.complex64)[..., 0]
    args = ["data", Local(8 * 8 * 9 * 8)] if bench.opencl else ["data"]
    out = bench.run([Launch("fft1D_512", count * 64, 64, args)], {"data": data}, ("data",))["data"]
    expected = np.fft.fft(data.astype(np.complex128), axis=1)
    parts = lambda c: np.stack((c.real, c.imag), axis=-1)
    near("spectrum", parts(out), parts(expected), np.sqrt((np.abs(data) ** 2).sum(axis=1))[:, None, None], 24)


@case("spmv_csr_scalar_kernel")
def spmv(bench):
    rows, columns = 500, 400
    offsets, places, values = sparse(rows, columns, 40)
    vector = uniform(columns, seed=5)
    out = bench.run([Launch("spmv_csr_scalar_kernel", 512, 128, ["values", "vector", "places", "offsets", i32(rows), "out"])],
                    {"values": values, "vector": vector, "places": places, "offsets": offsets, "out": poison(rows, f32)},
                    ("out",))["out"]
    matrix = dense(rows, columns, offsets, places, values)
    size = dense(rows, columns, offsets, places, np.abs(values))
    near("product", out, matrix @ vector, size @ np.abs(vector), 40)


@case("CopyRect")
def copy_rect(bench):
    source, target = uniform((60, 31)), uniform((70, 40), seed=2)
    width, height, from_offset, to_offset = 17, 50, 33, 123
    args = ["to", i32(to_offset), i32(40), "from", i32(from_offset), i32(31), i32(width), i32(height)]
    out = bench.run([Launch("CopyRect", 64, 64, args)], {"to": target, "from": source}, ("to",))["to"]
    expected = target.copy()
    rows = np.arange(height)[:, None]
    columns = np.arange(width)[None, :]
    expected.reshape(-1)[to_offset + rows * 40 + columns] = source.reshape(-1)[from_offset + rows * 31 + columns]
    exact("rectangle", out, expected)


@case("StencilKernel")
def stencil(bench):
    rows, columns, rounds, alignment = 4 * 16 + 2, 2 * 64 + 2, 5, 16
    data = uniform((rows, rounded_up(columns, alignment)))
    center, cardinal, diagonal = f32(0.25), f32(0.15), f32(0.05)
    local = [Local(18 * 66 * 4)] if bench.opencl else []
    launches = [Launch("StencilKernel", (4, columns - 2), (1, 64), [f"d{i % 2}", f"d{1 - i % 2}", i32(alignment), center,
                                                                    cardinal, diagonal, *local]) for i in range(rounds)]
    out = bench.run(launches, {"d0": data, "d1": data}, ("d0", "d1"))["d1"]
    expected = data.astype(np.float64)
    inside = (slice(1, rows - 1), slice(1, columns - 1))
    for _ in range(rounds):
        at = lambda y, x: expected[1 + y:rows - 1 + y, 1 + x:columns - 1 + x]
        total = (center * at(0, 0) + cardinal * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)) +
                 diagonal * (at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)))
        expected = expected.copy()
        expected[inside] = total
    near("smoothed", out, expected, 1, 12 * rounds)
