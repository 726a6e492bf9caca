"""Cases of the neural network kernels in sarchlab/mgpusim."""
import numpy as np

from harness import Launch, exact, near, poison
from mgpusim import case, f32, flushed, i32, quotient, rng, rounded_up, specials, u32, uniform


@case("ReLUForward")
def relu_layer(bench):
    data = specials(1000)
    out = bench.run([Launch("ReLUForward", 1024, 128, [i32(1000), "in", "out"])],
                    {"in": data, "out": poison(1000, f32)}, ("out",))["out"]
    data = flushed(bench, data)
    exact("relu", out, np.where(data > 0, data, f32(0)))


@case("reluForward")
def relu_forward(bench):
    data = specials(1000)
    out = bench.run([Launch("reluForward", 1024, 256, ["in", "out", i32(1000)])],
                    {"in": data, "out": poison(1000, f32)}, ("out",))["out"]
    data = flushed(bench, data)
    exact("relu", out, np.where(data > 0, data, f32(0)))


@case("reluBackward")
def relu_backward(bench):
    data, back = specials(1000), uniform(1000, seed=2)
    out = bench.run([Launch("reluBackward", 1024, 256, ["in", "back", "out", i32(1000)])],
                    {"in": data, "back": back, "out": poison(1000, f32)}, ("out",))["out"]
    exact("relu", out, np.where(flushed(bench, data) > 0, back, f32(0)))


# batch, channels, height, width; pooling window, stride and padding as (height, width)
POOL = dict(n=2, c=3, h=13, w=11, kernel=(3, 2), stride=(2, 2), pad=(1, 1))
POOLED = tuple((POOL[size] + 2 * POOL["pad"][i] - POOL["kernel"][i]) // POOL["stride"][i] + 1
               for i, size in enumerate(("h", "w")))


def pool_sizes():
    return [i32(v) for v in (POOL["n"], POOL["c"], POOL["h"], POOL["w"], *POOLED, *POOL["kernel"], *POOL["stride"],
                             *POOL["pad"])]


def windows():
    """Every pooled position with the rows and columns of its window."""
    for y in range(POOLED[0]):
        for x in range(POOLED[1]):
            top, left = y * POOL["stride"][0] - POOL["pad"][0], x * POOL["stride"][1] - POOL["pad"][1]
            yield (y, x, range(max(top, 0), min(top + POOL["kernel"][0], POOL["h"])),
                   range(max(left, 0), min(left + POOL["kernel"][1], POOL["w"])))


def pool_arrays():
    data = uniform((POOL["n"] * POOL["c"], POOL["h"], POOL["w"]), 0, 1)
    pooled = uniform((POOL["n"] * POOL["c"], *POOLED), -1, 1, seed=2)
    return data, pooled


@case("AvgPoolForward")
def average_pool(bench):
    data, pooled = pool_arrays()
    out = bench.run([Launch("AvgPoolForward", pooled.size, 64, [i32(pooled.size), "in", *pool_sizes(), "out"])],
                    {"in": data, "out": poison(pooled.shape, f32)}, ("out",))["out"]
    expected = np.zeros(pooled.shape, f32)
    for y, x, rows, columns in windows():
        for h in rows:
            for w in columns:
                expected[:, y, x] += data[:, h, w]
    quotient(bench, "average", out, expected / f32(POOL["kernel"][0] * POOL["kernel"][1]))


@case("AvgPoolBackward")
def average_pool_backward(bench):
    data, pooled = pool_arrays()
    out = bench.run([Launch("AvgPoolBackward", data.size, 64, [i32(data.size), "in", *pool_sizes(), "out"])],
                    {"in": pooled, "out": poison(data.shape, f32)}, ("out",))["out"]
    expected, size = np.zeros(data.shape, f32), np.zeros(data.shape)
    for y, x, rows, columns in windows():
        for h in rows:
            for w in columns:
                part = pooled[:, y, x] / f32(POOL["kernel"][0] * POOL["kernel"][1])
                expected[:, h, w] += part
                size[:, h, w] += np.abs(part)
    if bench.opencl:
        near("gradient", out, expected, size, 10)
    else:
        exact("gradient", out, expected)


def max_pool_reference(data):
    value, place = np.full((data.shape[0], *POOLED), -1, f32), np.full((data.shape[0], *POOLED), -1, i32)
    for y, x, rows, columns in windows():
        for h in rows:
            for w in columns:
                larger = data[:, h, w] > value[:, y, x]
                value[:, y, x] = np.where(larger, data[:, h, w], value[:, y, x])
                place[:, y, x] = np.where(larger, h * POOL["w"] + w, place[:, y, x])
    return value, place + (np.arange(data.shape[0], dtype=i32) * POOL["h"] * POOL["w"])[:, None, None]


@case("MaxPoolForward")
def max_pool(bench):
    data, pooled = pool_arrays()
    buffers = {"in": data, "out": poison(pooled.shape, f32), "mask": poison(pooled.shape, i32)}
    out = bench.run([Launch("MaxPoolForward", pooled.size, 64, [i32(pooled.size), "in", *pool_sizes(), "out", "mask"])],
                    buffers, ("out", "mask"))
    value, place = max_pool_reference(data)
    exact("maximum", out["out"], value)
    exact("place", out["mask"], place)


@case("MaxPoolBackward")
def max_pool_backward(bench):
    data, pooled = pool_arrays()
    _, place = max_pool_reference(data)
    out = bench.run([Launch("MaxPoolBackward", data.size, 64, [i32(data.size), "in", "mask", *pool_sizes(), "out"])],
                    {"in": pooled, "mask": place, "out": poison(data.shape, f32)}, ("out",))["out"]
    expected = np.zeros(data.size, f32)
    for gradient, where in zip(pooled.reshape(-1), place.reshape(-1)):
        expected[where] += gradient
    exact("gradient", out.reshape(-1), expected)


def labelled():
    probability = uniform((37, 10), 0.01, 1)
    label = rng(2).integers(0, 10, 37, dtype=i32)
    hit = label[:, None] == np.arange(10)[None, :]
    args = ["out", "in", "label", i32(37), i32(10)]
    return probability, hit, args, {"out": poison(probability.shape, f32), "in": probability, "label": label}


@case("cross_entropy_derivative")
def cross_entropy(bench):
    probability, hit, args, buffers = labelled()
    out = bench.run([Launch("cross_entropy_derivative", probability.size, 64, args)], buffers, ("out",))["out"]
    quotient(bench, "derivative", out, np.where(hit, f32(-1) / probability, f32(0)))


@case("softmax_cross_entropy_derivative")
def softmax_cross_entropy(bench):
    probability, hit, args, buffers = labelled()
    out = bench.run([Launch("softmax_cross_entropy_derivative", probability.size, 64, args)], buffers, ("out",))["out"]
    exact("derivative", out, np.where(hit, probability - f32(1), probability))


def check_gemm(bench, kernel, m, n, k):
    alpha, beta = f32(1.5), f32(-0.25)
    a, b, c = uniform((m, k), seed=1), uniform((k, n), seed=2), uniform((m, n), seed=3)
    launch = Launch(kernel, (rounded_up(n, 16), rounded_up(m, 16)), (16, 16),
                    [i32(m), i32(n), i32(k), alpha, beta, "a", "b", "c", "d"])
    out = bench.run([launch], {"a": a, "b": b, "c": c, "d": poison((m, n), f32)}, ("d",))["d"]
    a, b, c = (x.astype(np.float64) for x in (a, b, c))
    near("product", out, alpha * (a @ b) + beta * c, abs(alpha) * (np.abs(a) @ np.abs(b)) + abs(beta * c), k + 4)


@case("gemm")
def gemm(bench):
    # Sizes that the tile divides: the kernel clears its element of D before it looks whether that is inside.
    check_gemm(bench, "gemm", 48, 32, 50)


@case("gemm_old")
def gemm_old(bench):
    check_gemm(bench, "gemm_old", 45, 35, 50)


def check_im2col(bench, kernel, flat):
    width, height, channels, batch = 13, 9, 3, 4
    for mask, stride, pad, dilation in (((3, 3), (1, 1), (1, 1), (1, 1)), ((3, 2), (2, 1), (0, 2), (2, 3))):
        field = [(size - ((mask[i] - 1) * dilation[i] + 1) + 2 * pad[i]) // stride[i] + 1
                 for i, size in enumerate((width, height))]
        columns, rows = field[0] * field[1] * batch, mask[0] * mask[1] * channels
        data = uniform((batch, channels, height, width))
        grid = rounded_up(columns, 64) if flat else (rounded_up(columns, 64), rows)
        args = ["in", "out", *(np.array(pair, u32) for pair in ((width, height), mask, stride, pad, dilation)), u32(channels),
                u32(batch)]
        out = bench.run([Launch(kernel, grid, 64 if flat else (64, 1), args)],
                        {"in": data, "out": poison((rows, columns), f32)}, ("out",))["out"]
        # The gfx803 operator.hsaco has a first version of the kernel, whose code divides by the image's sizes instead.
        steps = (width, height) if bench.path.name == "operator.hsaco" else mask
        i, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
        block, picture = column % (field[0] * field[1]), column // (field[0] * field[1])
        x = block % field[0] * stride[0] - pad[0] + dilation[0] * (i % steps[0])
        y = block // field[0] * stride[1] - pad[1] + dilation[1] * (i // steps[0] % steps[1])
        inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        expected = data[picture, i // (steps[0] * steps[1]), np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)]
        expected = np.where(inside, expected, f32(0))
        exact("columns", out, expected)


@case("im2col")
def im2col(bench):
    check_im2col(bench, "im2col", True)


@case("im2col_2d")
def im2col_2d(bench):
    check_im2col(bench, "im2col_2d", False)


def check_tensor(bench, kernel, data, out_size, extra, source, written=None):
    """A kernel that fills `out_size` elements from `data[source]`; `source` is one row of indices an element, all zero where
    `written` is false. The kernels keep both indices of every element in memory."""
    dimensions, count = data.ndim, int(np.prod(out_size))
    target = np.stack(np.unravel_index(np.arange(count), out_size), axis=1).astype(i32)
    written = np.ones(count, bool) if written is None else written
    unwritten = poison((count, dimensions), i32)
    buffers = {"in": data, "out": poison(count, f32), "in_size": np.array(data.shape, i32), "out_size": np.array(out_size, i32),
               "in_index": unwritten, "out_index": poison((count, dimensions), i32)}
    args = ["in", "out", "in_size", "out_size"]
    if extra is not None:
        buffers["extra"] = np.array(extra, i32)
        args.append("extra")
    out = bench.run([Launch(kernel, count, 64, args + ["in_index", "out_index", i32(dimensions)])], buffers,
                    ("out", "in_index", "out_index"))
    exact("output index", out["out_index"], target)
    exact("input index", out["in_index"], np.where(written[:, None], source, unwritten))
    exact("elements", out["out"], np.where(written, data[tuple(source.T)], f32(0)))


@case("transpose_tensor")
def transpose_tensor(bench):
    data, order = uniform((3, 5, 4, 7)), (2, 0, 3, 1)
    out_size = tuple(data.shape[i] for i in order)
    source = np.zeros((data.size, 4), i32)
    source[:, order] = np.stack(np.unravel_index(np.arange(data.size), out_size), axis=1)
    check_tensor(bench, "transpose_tensor", data, out_size, order, source)


@case("rotate_tensor")
def rotate_tensor(bench):
    data = uniform((3, 5, 4, 7))
    source = np.stack(np.unravel_index(np.arange(data.size), data.shape), axis=1)
    source[:, 2:] = np.array(data.shape[2:]) - 1 - source[:, 2:]
    check_tensor(bench, "rotate_tensor", data, data.shape, None, source)


@case("dilate_tensor")
def dilate_tensor(bench):
    data, dilation = uniform((3, 2, 4, 5)), np.array((2, 3))
    out_size = (3, 2, 3 * 2 + 1, 4 * 3 + 1)
    source = np.stack(np.unravel_index(np.arange(np.prod(out_size)), out_size), axis=1)
    written = (source[:, 2:] % dilation == 0).all(axis=1)
    source[:, 2:] //= dilation
    check_tensor(bench, "dilate_tensor", data, out_size, dilation, np.where(written[:, None], source, 0), written)


@case("sum_one_axis")
def sum_one_axis(bench):
    data = uniform((3, 5, 4, 7))
    for axis in range(4):
        out_size = data.shape[:axis] + data.shape[axis + 1:]
        count = int(np.prod(out_size))
        buffers = {"in": data, "out": poison(out_size, f32), "in_size": np.array(data.shape, i32),
                   "out_size": np.array(out_size, i32), "in_index": poison((count, 4), i32),
                   "out_index": poison((count, 3), i32)}
        args = ["in", "out", "in_size", "out_size", i32(4), i32(axis), "in_index", "out_index"]
        out = bench.run([Launch("sum_one_axis", count, 64, args)], buffers, ("out", "in_index", "out_index"))
        expected = np.zeros(out_size, f32)
        for part in np.moveaxis(data, axis, 0):
            expected += part
        exact("sum", out["out"], expected)


@case("softmax_exp")
def softmax_exp(bench):
    data = specials(1000)
    data[8:20] = [88.7, 88.73, -87.3, -87.4, -90, -103.9, -104.1, 1.0, -1.0, 50.5, -50.5, 200]
    out = bench.run([Launch("softmax_exp", 1024, 256, ["in", "out", i32(1000)])], {"in": data, "out": poison(1000, f32)},
                    ("out",))["out"]
    with np.errstate(over="ignore"):
        expected = np.exp(data.astype(np.float64)).astype(f32)
    finite = np.isfinite(expected)
    exact("special values", out[~finite], expected[~finite])
    precise = flushed(bench, np.exp(data[finite].astype(np.float64)))
    near("exponential", out[finite], precise, np.maximum(expected[finite], 2.0**-126).astype(np.float64),
         6 if bench.opencl else 2.5)


@case("softmax_div")
def softmax_div(bench):
    data, denominator = uniform((20, 50), 0, 5), uniform(20, 1, 9, seed=2)
    out = bench.run([Launch("softmax_div", 1000, 250, ["in", "out", "denominator", i32(1000), i32(20)])],
                    {"in": data, "out": poison(data.shape, f32), "denominator": denominator}, ("out",))["out"]
    quotient(bench, "quotient", out, data / denominator[:, None])


@case("scaleAdd")
def scale_add(bench):
    a, b = uniform(1000, seed=1), uniform(1000, seed=2)
    alpha, beta = f32(0.7), f32(-1.3)
    out = bench.run([Launch("scaleAdd", 1000, 250, ["out", "a", "b", alpha, beta, i32(1000)])],
                    {"out": poison(1000, f32), "a": a, "b": b}, ("out",))["out"]
    a, b = a.astype(np.float64) * alpha, b.astype(np.float64) * beta
    near("sum", out, a + b, np.abs(a) + np.abs(b), 2)


@case("mul")
def mul(bench):
    a, b = specials(1000, seed=1), specials(1000, seed=2)[::-1].copy()
    out = bench.run([Launch("mul", 1000, 250, ["out", "a", "b", i32(1000)])],
                    {"out": poison(1000, f32), "a": a, "b": b}, ("out",))["out"]
    exact("product", out, flushed(bench, flushed(bench, a) * flushed(bench, b)))


@case("rmsProp")
def rms_prop(bench):
    parameters, gradients, history = uniform(1000, seed=1), uniform(1000, seed=2), uniform(1000, 0.01, 1, seed=3)
    smooth, rate = f32(0.9), f32(0.01)
    out = bench.run([Launch("rmsProp", 1000, 250, ["parameters", "gradients", "history", smooth, rate, i32(1000)])],
                    {"parameters": parameters, "gradients": gradients, "history": history}, ("parameters", "history"))
    g, s = gradients.astype(np.float64), float(smooth)
    history = s * history.astype(np.float64) + (1 - s) * g * g
    near("history", out["history"], history, history, 5)
    step = rate * g / (np.sqrt(history) + 1e-6)
    near("parameters", out["parameters"], parameters - step, np.abs(parameters) + np.abs(step) * 8, 2)


@case("adam")
def adam(bench):
    parameters, gradients = uniform(1000, seed=1), uniform(1000, seed=2)
    second, first = uniform(1000, 0.01, 1, seed=3), uniform(1000, seed=4)
    smooth1, smooth2, rate = f32(0.9), f32(0.999), f32(0.01)
    args = ["parameters", "gradients", "second", "first", smooth1, smooth2, rate, i32(1000)]
    out = bench.run([Launch("adam", 1000, 250, args)],
                    {"parameters": parameters, "gradients": gradients, "second": second, "first": first},
                    ("parameters", "second", "first"))
    g, s1, s2 = gradients.astype(np.float64), float(smooth1), float(smooth2)
    size = s1 * np.abs(first) + (1 - s1) * np.abs(g)
    first = s1 * first.astype(np.float64) + (1 - s1) * g
    near("first moment", out["first"], first, size, 5)
    second = s2 * second.astype(np.float64) + (1 - s2) * g * g
    near("second moment", out["second"], second, second, 5)
    near("parameters", out["parameters"], parameters - rate * first / (np.sqrt(second) + 1e-8),
         np.abs(parameters) + rate * size / np.sqrt(second) * 8, 2)


@case("repeat")
def repeat(bench):
    data = uniform(37)
    out = bench.run([Launch("repeat", 1000, 250, ["out", "in", u32(37), u32(1000)])], {"out": poison(1000, f32), "in": data},
                    ("out",))["out"]
    exact("repeated", out, np.resize(data, 1000))
