"""Cases for the kernels that only the gfx803 objects of sarchlab/mgpusim have."""
import numpy as np

from harness import Launch, Local, exact, near, poison
from mgpusim import CASES, case, dense, f32, i32, rng, rounded_up, sparse, u32, uniform


def separable_convolution(bench):
    """Both passes; the first one stores its result transposed, the second one back."""
    width, height, taps = 61, 37, 5
    padded = (height + taps - 1, width + taps - 1)
    data = rng().integers(0, 1024, padded, dtype=u32)
    row, column = rng(2).integers(0, 8, taps).astype(f32), rng(3).integers(0, 8, taps).astype(f32) / 8  # exact sums
    sizes = [np.array((width, height), u32), u32(taps), np.array(padded[::-1], u32)]
    launches = [Launch("simpleSeparableConvolutionPass1", rounded_up(width * padded[0], 64), 64, ["in", "row", "between", *sizes]),
                Launch("simpleSeparableConvolutionPass2", rounded_up(width * height, 64), 64, ["between", "column", "out", *sizes])]
    out = bench.run(launches, {"in": data, "row": row, "column": column, "between": poison((width, padded[0]), f32),
                               "out": poison((height, width), i32)}, ("between", "out"))
    between = sum(data[:, i:i + width] * row[i].astype(np.float64) for i in range(taps))
    exact("first pass", out["between"], between.T)
    total = sum(between[i:i + height] * column[i] for i in range(taps))
    exact("second pass", out["out"], (total + 0.5).astype(i32))


CASES["simpleSeparableConvolutionPass1"] = CASES["simpleSeparableConvolutionPass2"] = separable_convolution


@case("pushData")
def push_data(bench):
    data = uniform(1000)
    out = bench.run([Launch("pushData", 128, 64, ["from", "to", i32(1000), i32(128)])],
                    {"from": data, "to": poison(1000, f32)}, ("to",))["to"]
    exact("copy", out, data)


@case("reduceData")
def reduce_data(bench):
    data, store, gpus = uniform(1000), uniform(1000, seed=2), 3
    for last in (0, 1):
        out = bench.run([Launch("reduceData", 128, 64, ["data", "store", i32(1000), i32(128), i32(gpus), i32(last)])],
                        {"data": data, "store": store}, ("store",))["store"]
        if last:
            near("mean", out, (data + store) / f32(gpus), np.abs(data + store) / gpus, 6)
        else:
            exact("sum", out, data + store)


def spectra(count):
    return uniform((count, 512, 2)).view(np.complex64)[..., 0]


@case("ifft1D_512")
def inverse_fft(bench):
    data = spectra(24)
    out = bench.run([Launch("ifft1D_512", 24 * 64, 64, ["data"])], {"data": data}, ("data",))["data"]
    expected = np.fft.ifft(data.astype(np.complex128), axis=1)
    parts = lambda c: np.stack((c.real, c.imag), axis=-1)
    near("signal", parts(out), parts(expected), np.sqrt((np.abs(data) ** 2).sum(axis=1))[:, None, None] / 512, 24)


@case("chk1D_512")
def check_equal_halves(bench):
    half = spectra(6)
    both = np.concatenate((half, half))
    for broken in (False, True):
        if broken:
            both[9, 300] += 1
        out = bench.run([Launch("chk1D_512", 6 * 64, 64, ["data", i32(half.size), "fail"])],
                        {"data": both, "fail": np.zeros(1, i32)}, ("fail",))["fail"]
        exact("difference found", out, [int(broken)])


@case("spmv_csr_vector_kernel")
def spmv_vector(bench):
    rows, columns, width, group = 500, 400, 32, 128
    offsets, places, values = sparse(rows, columns, 90)
    vector = uniform(columns, seed=5)
    args = ["values", "vector", "places", "offsets", i32(rows), i32(width), Local(group * 4), "out"]
    out = bench.run([Launch("spmv_csr_vector_kernel", rows * width, group, args)],
                    {"values": values, "vector": vector, "places": places, "offsets": offsets, "out": poison(rows, f32)},
                    ("out",))["out"]
    near("product", out, dense(rows, columns, offsets, places, values) @ vector,
         dense(rows, columns, offsets, places, np.abs(values)) @ np.abs(vector), 16)


@case("spmv_ellpackr_kernel")
def spmv_ellpack(bench):
    rows, columns, most = 500, 400, 40
    offsets, places, values = sparse(rows, columns, most)
    lengths = np.diff(offsets).astype(i32)
    padded_values, padded_places = np.full((most, rows), np.nan, f32), np.zeros((most, rows), i32)
    for row in range(rows):
        padded_values[:lengths[row], row] = values[offsets[row]:offsets[row + 1]]
        padded_places[:lengths[row], row] = places[offsets[row]:offsets[row + 1]]
    vector = uniform(columns, seed=5)
    args = ["values", "vector", "places", "lengths", i32(rows), "out"]
    out = bench.run([Launch("spmv_ellpackr_kernel", 512, 128, args)],
                    {"values": padded_values, "vector": vector, "places": padded_places, "lengths": lengths,
                     "out": poison(rows, f32)}, ("out",))["out"]
    near("product", out, dense(rows, columns, offsets, places, values) @ vector,
         dense(rows, columns, offsets, places, np.abs(values)) @ np.abs(vector), most)
