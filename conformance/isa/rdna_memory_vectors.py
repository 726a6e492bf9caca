"""Reference cases of memory instructions that gfx10 to gfx12 have and no other record executes (rdna_vectors.py).

Atomics, conversions and address arithmetic are computed here from the RDNA guides; numbers of buffer formats are those that
LLVM's assembler gives their names; image resources of gfx10 as Mesa's register description has them, of one level with
rows of 256 bytes. A sample whose gradients span more than a texel is a minification (linear here), otherwise a
magnification (a point); what _cl adds is the least level.
"""
import struct

from rdna_vectors import ALL, F16, F32, GFX10, GFX101, GFX103, GFX11, GFX12, M32, M64, TO11, number

LANES, OFF = 8, (3,)
EXEC = f"{sum(1 << i for i in range(LANES) if i not in OFF):x}"
JUNK = [0xABCD0000 + i for i in range(16)]


def f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def f16(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def f64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def signed(x, bits):
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


def dwords(values, count):
    return [v >> 32 * i & M32 for v in values for i in range(count)]


ATOMICS = {
    "swap": lambda m, d, w: d, "add": lambda m, d, w: m + d, "sub": lambda m, d, w: m - d,
    "smin": lambda m, d, w: min(m, d, key=lambda x: signed(x, w)), "smax": lambda m, d, w: max(m, d, key=lambda x: signed(x, w)),
    "umin": lambda m, d, w: min(m, d), "umax": lambda m, d, w: max(m, d), "and": lambda m, d, w: m & d, "or": lambda m, d, w: m | d,
    "xor": lambda m, d, w: m ^ d, "inc": lambda m, d, w: 0 if m >= d else m + 1, "dec": lambda m, d, w: d if m == 0 or m > d else m - 1,
}


# --- Scalar memory ---

def word3(target, form=20):
    """Of a raw buffer whose components are x, y, z, w."""
    return 0xFAC | form << 12 | 3 << 28 | (1 << 24 if target < "gfx11" else 0)


def scalar_memory(c):
    memory = [0x10000000 + 0x01010101 * i for i in range(48)]
    target = "gfx1010"
    buffer = {"s4": 0, "s5": 0, "s6": 160, "s7": word3(target)}
    for suffix, n in (("dword", 1), ("dwordx2", 2), ("dwordx4", 4), ("dwordx8", 8), ("dwordx16", 16)):
        span = "s16" if n == 1 else f"s[16:{15 + n}]"
        old = {f"s{16 + i}": 0xABCD for i in range(n)}
        loaded = lambda at, end=48: {f"s{16 + i}": memory[at + i] if at + i < end else 0 for i in range(n)}
        one = {"s2": 0, "s3": 0, "s12": 3, **old}
        c.program(ALL if n > 8 else GFX101, f"s_load_{suffix} {span}, s[2:3], 0x14", one, loaded(5), pointers={"s2": "0"}, memory=memory)
        # The buffer ends behind its 40th dword.
        for at in (5, 40 - n, 40) + ((39,) if n > 1 else ()):
            c.program(GFX101, f"s_buffer_load_{suffix} {span}, s[4:7], {4 * at:#x}", {**buffer, **old}, loaded(at, 40), pointers={"s4": "0"}, memory=memory)
        if n > 4:
            continue
        # An SGPR counts 64 bytes (CDNA4 guide 8.2.1, of the same instruction).
        c.program(GFX101, f"s_scratch_load_{suffix} {span}, s[2:3], 0x14", one, loaded(5), pointers={"s2": "0"}, memory=memory)
        c.program(GFX101, f"s_scratch_load_{suffix} {span}, s[2:3], s12", {**one, "s12": 2}, loaded(32), pointers={"s2": "0"}, memory=memory)
        data = {f"s{16 + i}": 0xCAFE0000 + i for i in range(n)}
        stored = lambda at: memory[:at] + list(data.values()) + memory[at + n:]
        c.program(GFX101, f"s_store_{suffix} {span}, s[2:3], 0x14", {**one, **data}, data, pointers={"s2": "0"}, memory=memory, memory_out=stored(5))
        c.program(GFX101, f"s_scratch_store_{suffix} {span}, s[2:3], 0x14", {**one, **data}, data, pointers={"s2": "0"}, memory=memory, memory_out=stored(5))
        c.program(GFX101, f"s_buffer_store_{suffix} {span}, s[4:7], 0x14", {**buffer, **data}, data, pointers={"s4": "0"}, memory=memory, memory_out=stored(5))
    for name, f in ATOMICS.items():
        for bits in (32, 64):
            n, text = bits // 32, "" if bits == 32 else "_x2"
            span = "s16" if n == 1 else "s[16:17]"
            top = 1 << (bits - 1)
            for old, d in ((5, 9), (9, 5), (top | 3, 3), (3, top | 3), (7, 7), (0, 12), (2 * top - 1, 2)):
                new = f(old, d, bits) & (2 * top - 1)
                before = {"s16": d, **({"s17": d >> 32} if n > 1 else {})}
                after = {"s16": old, **({"s17": old >> 32} if n > 1 else {})}
                words = memory[:6] + dwords([old], n) + memory[6 + n:12], memory[:6] + dwords([new], n) + memory[6 + n:12]
                where = {"memory": words[0], "memory_out": words[1]}
                c.program(GFX101, f"s_atomic_{name}{text} {span}, s[2:3], 0x18 glc", {"s2": 0, "s3": 0, **before}, after, pointers={"s2": "0"}, **where)
                c.program(GFX101, f"s_buffer_atomic_{name}{text} {span}, s[4:7], 0x18", {**buffer, **before}, before, pointers={"s4": "0"}, **where)
    for bits in (32, 64):
        n, text = bits // 32, "" if bits == 32 else "_x2"
        span = f"s[16:{15 + 2 * n}]"
        for hit in (True, False):
            old, new, compared = 0x1122334455667788 & ((1 << bits) - 1), 0xA0B0C0D0E0F00102 & ((1 << bits) - 1), 0x1122334455667788 & ((1 << bits) - 1)
            compared ^= 0 if hit else 1 << (bits - 1)
            before = {f"s{16 + i}": x for i, x in enumerate(dwords([new, compared], n))}
            after = {**before, **{f"s{16 + i}": x for i, x in enumerate(dwords([old], n))}}
            where = {"memory": memory[:6] + dwords([old], n), "memory_out": memory[:6] + dwords([new if hit else old], n)}
            c.program(GFX101, f"s_atomic_cmpswap{text} {span}, s[2:3], 0x18 glc", {"s2": 0, "s3": 0, **before}, after, pointers={"s2": "0"}, **where)
            c.program(GFX101, f"s_buffer_atomic_cmpswap{text} {span}, s[4:7], 0x18 glc", {**buffer, **before}, after, pointers={"s4": "0"}, **where)
    new_loads(c, memory)
    for text, targets in (("s_dcache_discard s[2:3], 0x0", GFX101), ("s_dcache_discard_x2 s[2:3], 0x0", GFX101), ("s_dcache_wb", GFX101),
                          ("s_atc_probe 7, s[2:3], 0x0", ALL), ("s_atc_probe_buffer 7, s[4:7], 0x0", ALL), ("s_prefetch_inst s[2:3], 0x0, s0, 1", GFX12),
                          ("s_prefetch_data s[2:3], 0x0, s0, 1", GFX12), ("s_prefetch_data_pc_rel 0x0, s0, 1", GFX12), ("s_prefetch_inst_pc_rel 0x0, s0, 1", GFX12),
                          ("s_buffer_prefetch_data s[4:7], 0x0, s0, 1", GFX12)):
        c.program(targets, f"{text}\ns_mov_b32 s20, 7", {"s0": 3, "s2": 0, "s3": 0, **buffer, "s20": 5, "scc": 1}, {"s0": 3, "s6": 160, "s20": 7, "scc": 1},
                  pointers={"s2": "0", "s4": "0"}, memory=memory)


def new_loads(c, memory):
    """gfx12: bytes, halves, three dwords."""
    raw = struct.pack("<48I", *memory[:40], 0x8091A2F3, 0x7F6E5D8C, *memory[42:])
    words = list(struct.unpack("<48I", raw))
    buffer = {"s4": 0, "s5": 0, "s6": 168, "s7": word3("gfx1200")}
    for kind, size, extend in (("u8", 1, False), ("i8", 1, True), ("u16", 2, False), ("i16", 2, True)):
        for at in range(160, 168, size):
            value = int.from_bytes(raw[at:at + size], "little", signed=extend)
            c.program(GFX12, f"s_load_{kind} s16, s[2:3], {at:#x}", {"s2": 0, "s3": 0, "s16": 5}, {"s16": value & M32}, pointers={"s2": "0"}, memory=words)
            c.program(GFX12, f"s_buffer_load_{kind} s16, s[4:7], {at:#x}", {**buffer, "s16": 5}, {"s16": value & M32}, pointers={"s4": "0"}, memory=words)
        c.program(GFX12, f"s_buffer_load_{kind} s16, s[4:7], 0xa8", {**buffer, "s16": 5}, {"s16": 0}, pointers={"s4": "0"}, memory=words)
    old, three = {f"s{16 + i}": 5 for i in range(4)}, {f"s{16 + i}": words[3 + i] for i in range(3)}
    c.program(GFX12, "s_load_b96 s[16:18], s[2:3], 0xc", {"s2": 0, "s3": 0, **old}, {**three, "s19": 5}, pointers={"s2": "0"}, memory=words)
    c.program(GFX12, "s_buffer_load_b96 s[16:18], s[4:7], 0xc", {**buffer, **old}, {**three, "s19": 5}, pointers={"s4": "0"}, memory=words)


# --- Buffer formats ---

OLD = {"8_UNORM": 1, "16_FLOAT": 13, "32_FLOAT": 22, "8_8_UNORM": 14, "16_16_FLOAT": 29, "16_16_UINT": 27, "32_32_32_FLOAT": 74, "8_8_8_8_UNORM": 56,
       "8_8_8_8_SINT": 61, "16_16_16_16_FLOAT": 71}
NEW = {**OLD, "32_32_32_FLOAT": 60, "8_8_8_8_UNORM": 42, "8_8_8_8_SINT": 47, "16_16_16_16_FLOAT": 57}
# What is in memory, and what a component is as a dword and as a half.
COMPONENTS = {
    "UNORM": [(x, f32(x / 255), f16(x / 255)) for x in (0, 255, 51, 1, 128, 254, 17)],
    "SINT": [(x & 0xFF, x & M32, x & 0xFFFF) for x in (0, 1, -1, 127, -128, 5, -77)],
    "UINT": [(x, x, x) for x in (0, 1, 0x8000, 0xFFFF, 0x1234, 77)],
    "FLOAT16": [(f16(x), f32(x), f16(x)) for x in (0.0, -0.0, 1.5, -2.0, float("inf"), 65504.0, 0.25, 2.0 ** -14)],
    "FLOAT32": [(f32(x), f32(x), None) for x in (0.0, -0.0, 1.5, -3.1, float("-inf"), 1e-20, 1e30)],
}
CLAMPED = [(255, f32(2.0), f16(2.0)), (0, f32(-1.0), f16(-1.0)), (0, 0x7FC00000, 0x7E00)]  # stores to UNORM


def texels(name, store):
    *widths, kind = name.split("_")
    pool = COMPONENTS[kind + widths[0] if kind == "FLOAT" else kind] + (CLAMPED if store and kind == "UNORM" else [])
    width, count = int(widths[0]), len(widths)
    return width, count, [[pool[(i * 3 + j * 2 + i // 2) % len(pool)] for j in range(count)] for i in range(LANES)]


def buffer_formats(c):
    zero = {target: "null" if target in GFX12 else "0" for target in ALL}
    for n, x in enumerate(("x", "xy", "xyz", "xyzw"), 1):
        for name in OLD:
            for store in (False, True):
                width, count, rows = texels(name, store)
                # Components that the format lacks are not stored.
                if count < n and not (store and n == 3 and name == "16_16_FLOAT") or store and count > n:
                    continue
                stride = width * count // 8 + -(width * count // 8) % 4
                packed = [sum(v[0] << width * j for j, v in enumerate(row)) for row in rows]
                full = dwords(packed, stride // 4)
                for half in (False, True) if width < 32 else (False,):
                    registers = [[0] * LANES for _ in range((n + 1) // 2 if half else n)]
                    if count < n and not half:
                        continue
                    for i, row in enumerate(rows):
                        for j in range(n):
                            registers[j // 2 if half else j][i] |= row[j % count][2] << 16 * (j % 2) if half else row[j][1]
                    one_format(c, zero, name, x, half, store, stride, full, registers, n)
    half_registers(c, zero)


def one_format(c, zero, name, x, half, store, stride, full, registers, n):
    count = len(registers)
    span = "v20" if count == 1 else f"v[20:{19 + count}]"
    address = [stride * i for i in range(LANES)]
    old = {f"v{20 + j}": JUNK[:LANES] for j in range(count)}
    odd = half and n % 2  # nobody says what the last upper half becomes
    for target in ALL:
        number_of = OLD if target in GFX10 else NEW
        kind = ("store" if store else "load") + ("_format_d16_" if half and target in GFX10 else "_d16_format_" if half else "_format_") + x
        texts = {f"buffer_{kind} {span}, v0, s[4:7], {zero[target]} offen": number_of[name],
                 f"tbuffer_{kind} {span}, v0, s[4:7], {zero[target]} format:[BUF_FMT_{name}] offen": 20}
        for text, form in texts.items():
            before = {"s4": 0, "s5": 0, "s6": 4 * len(full), "s7": word3(target, form), "v0": address}
            active = [i not in OFF for i in range(LANES)]
            more = {"exec": EXEC, "pointers": {"s4": "0"}}
            if store:
                data = {f"v{20 + j}": r for j, r in enumerate(registers)}
                begin = [0x5A5A5A5A] * len(full)
                words, size = stride // 4, full_bytes(name)
                end = [full[k] if size % 4 == 0 else full[k] & (1 << 8 * size) - 1 | 0x5A5A5A5A & ~((1 << 8 * size) - 1) & M32 for k in range(len(full))]
                end = [end[k] if active[k // words] else begin[k] for k in range(len(full))]
                c.program([target], text, {**before, **data}, data, memory=begin, memory_out=end, **more)
            else:
                after = {f"v{20 + j}": [r[i] if active[i] else JUNK[i] for i in range(LANES)] for j, r in enumerate(registers)}
                if odd:
                    last = f"v{19 + count}"
                    text += f"\nv_and_b32 {last}, 0xffff, {last}"
                    after[last] = [v if active[i] else JUNK[i] for i, v in enumerate(after[last])]
                c.program([target], text, {**before, **old}, after, memory=full, **more)


def full_bytes(name):
    *widths, _ = name.split("_")
    return int(widths[0]) * len(widths) // 8


def half_registers(c, zero):
    """The upper half of a register is loaded and stored."""
    for target in ALL:
        number_of = OLD if target in GFX10 else NEW
        kind = "_format_d16_hi_x" if target in GFX10 else "_d16_hi_format_x"
        values = [f16(x) for x in (0.0, -0.0, 1.5, -2.0, 65504.0, 0.25, 7.0, 9.0)]
        before = {"s4": 0, "s5": 0, "s6": 32, "s7": word3(target, number_of["16_FLOAT"]), "v0": [4 * i for i in range(LANES)]}
        more = {"exec": EXEC, "pointers": {"s4": "0"}}
        c.program([target], f"buffer_load{kind} v20, v0, s[4:7], {zero[target]} offen\nv_lshrrev_b32 v21, 16, v20", {**before, "v21": JUNK[:8]},
                  {"v21": [JUNK[i] if i in OFF else v for i, v in enumerate(values)]}, memory=values, **more)
        c.program([target], f"buffer_store{kind} v20, v0, s[4:7], {zero[target]} offen", {**before, "v20": [v << 16 | 0x1234 for v in values]}, {},
                  memory=[0x5A5A5A5A] * 8, memory_out=[0x5A5A5A5A if i in OFF else 0x5A5A0000 | v for i, v in enumerate(values)], **more)


# --- Atomics of lanes ---

def lane_atomic(c, targets, text, n, old, data, new, returned=True, compared=None, where="global"):
    """A lane an element of n dwords, in v[4:...] data and (behind it, or v8) what is compared; v20 the old value."""
    active = [i not in OFF for i in range(LANES)]
    old, data, new = old[:LANES], data[:LANES], new[:LANES]
    step = 4 * n
    before = {f"v{20 + d}": JUNK[:LANES] for d in range(n)}
    data_at = 20 if where == "buffer" else 4
    for d in range(n):
        before[f"v{data_at + d}"] = [x >> 32 * d & M32 for x in data]
        if compared:
            before[f"v{(8 if where == 'lds' else data_at + n) + d}"] = [x >> 32 * d & M32 for x in compared]
    after = {f"v{20 + d}": [(x >> 32 * d & M32) if active[i] else before[f"v{20 + d}"][i] for i, x in enumerate(old)] for d in range(n)} if returned else {}
    begin, end = dwords(old, n), dwords([new[i] if active[i] else old[i] for i in range(LANES)], n)
    more = {"exec": EXEC}
    if where == "lds":
        before["v0"] = [step * i for i in range(LANES)]
        more |= {"lds": begin, "lds_out": end}
    else:
        more |= {"memory": begin, "memory_out": end}
        if where == "buffer":
            before |= {"v0": [step * i for i in range(LANES)], "s4": 0, "s5": 0, "s6": 4 * len(begin), "s7": word3(targets[0])}
            more["pointers"] = {"s4": "0"}
        else:
            more["pointers"] = {"v0": [f"{step * i:x}" for i in range(LANES)]}
    c.program(targets, text, before, after, **more)


def lane_atomics(c):
    old = [5, 9, 0x80000003, 3, 7, 0, M32, 0x1000]
    data = [9, 5, 3, 0x80000003, 7, 12, 2, 0x1001]
    clamped = [max(0, m - d) for m, d in zip(old, data)]
    conditional = [m - d if m >= d else m for m, d in zip(old, data)]
    lane_atomic(c, GFX103, "global_atomic_csub v20, v[0:1], v4, off glc", 1, old, data, clamped)
    lane_atomic(c, GFX11, "global_atomic_csub_u32 v20, v[0:1], v4, off glc", 1, old, data, clamped)
    lane_atomic(c, GFX103, "buffer_atomic_csub v20, v0, s[4:7], 0 offen glc", 1, old, data, clamped, where="buffer")
    lane_atomic(c, GFX11, "buffer_atomic_csub_u32 v20, v0, s[4:7], 0 offen glc", 1, old, data, clamped, where="buffer")
    for name, new in (("sub_clamp_u32", clamped), ("cond_sub_u32", conditional)):
        lane_atomic(c, GFX12, f"global_atomic_{name} v20, v[0:1], v4, off th:TH_ATOMIC_RETURN", 1, old, data, new)
        lane_atomic(c, GFX12, f"flat_atomic_{name} v20, v[0:1], v4 th:TH_ATOMIC_RETURN", 1, old, data, new)
        lane_atomic(c, GFX12, f"buffer_atomic_{name} v20, v0, s[4:7], null offen th:TH_ATOMIC_RETURN", 1, old, data, new, where="buffer")
        lane_atomic(c, GFX12, f"ds_{name} v0, v4", 1, old, data, new, returned=False, where="lds")
        lane_atomic(c, GFX12, f"ds_{name.replace('_u32', '_rtn_u32')} v20, v0, v4", 1, old, data, new, where="lds")
    wide = [x << 32 | M32 - x for x in old]
    lane_atomic(c, GFX12, "global_atomic_ordered_add_b64 v[20:21], v[0:1], v[4:5], off th:TH_ATOMIC_RETURN", 2, wide, data,
                [(m + d) & M64 for m, d in zip(wide, data)])
    numbers = [1.5, -2.0, float("inf"), 3.0, 0.25, -7.0, 1e30, 8.0]
    others = [2.5, -3.0, 4.0, float("-inf"), 0.25, 0.0, -1e30, 16.0]
    for n, code in ((1, f32), (2, f64)):
        m, d = [code(x) for x in numbers], [code(x) for x in others]
        less, more = [code(min(p)) for p in zip(numbers, others)], [code(max(p)) for p in zip(numbers, others)]
        dst, src, end = ("v20", "v4", "") if n == 1 else ("v[20:21]", "v[4:5]", "_x2")
        lane_atomic(c, GFX10, f"global_atomic_fmin{end} {dst}, v[0:1], {src}, off glc", n, m, d, less)
        lane_atomic(c, GFX10, f"global_atomic_fmax{end} {dst}, v[0:1], {src}, off glc", n, m, d, more)
        if n == 1:
            lane_atomic(c, GFX11, "global_atomic_min_f32 v20, v[0:1], v4, off glc", n, m, d, less)
            lane_atomic(c, GFX11, "global_atomic_max_f32 v20, v[0:1], v4, off glc", n, m, d, more)
            lane_atomic(c, GFX12, "global_atomic_min_num_f32 v20, v[0:1], v4, off th:TH_ATOMIC_RETURN", n, m, d, less)
            lane_atomic(c, GFX12, "global_atomic_max_num_f32 v20, v[0:1], v4, off th:TH_ATOMIC_RETURN", n, m, d, more)
        # -0 equals 0, a NaN nothing.
        held = [0.0, -0.0, 1.0, 2.0, float("nan"), -3.0, 4.0, 5.0]
        expected = [-0.0, -0.0, 1.0, 2.0, float("nan"), 3.0, 4.0, 5.5]
        swapped = [p if p == q else q for p, q in zip(others, held)]
        swapped = [others[i] if held[i] == expected[i] else held[i] for i in range(LANES)]
        h, e, s = ([code(x) for x in values] for values in (held, expected, swapped))
        pair = "v[4:5]" if n == 1 else "v[4:7]"
        lane_atomic(c, GFX10, f"global_atomic_fcmpswap{end} {dst}, v[0:1], {pair}, off glc", n, h, d, s, compared=e)
        if n == 1:
            lane_atomic(c, GFX11, f"global_atomic_cmpswap_f32 {dst}, v[0:1], {pair}, off glc", n, h, d, s, compared=e)
        # gfx11 and later: the first operand is the new value.
        same = [d[i] if h[i] == e[i] else h[i] for i in range(LANES)]
        two = "v4, v8" if n == 1 else "v[4:5], v[8:9]"
        for targets, kind, result in ((GFX11 + GFX12, "b", same), (GFX11, "f", s)):
            lane_atomic(c, targets, f"ds_cmpstore_{kind}{32 * n} v0, {two}", n, h, d, result, returned=False, compared=e, where="lds")
            lane_atomic(c, targets, f"ds_cmpstore_rtn_{kind}{32 * n} {dst}, v0, {two}", n, h, d, result, compared=e, where="lds")


def by_lane_number(c):
    memory = [0x1000 + i for i in range(48)]
    more = {"pointers": {"s2": "0"}, "exec": "fffffff7", "memory": memory}
    base = {"s2": 0, "s3": 0}
    lanes = [0xCAFE0000 + i for i in range(32)]
    stored = [lanes[i - 2] if 2 <= i < 34 and i != 5 else memory[i] for i in range(48)]
    for targets, load, store in ((GFX103, "global_load_dword_addtid", "global_store_dword_addtid"), (GFX11 + GFX12, "global_load_addtid_b32", "global_store_addtid_b32")):
        c.program(targets, f"{load} v20, s[2:3] offset:8", {**base, "v20": lanes}, {"v20": [lanes[3] if i == 3 else memory[i + 2] for i in range(32)]}, **more)
        c.program(targets, f"{store} v4, s[2:3] offset:8", {**base, "v4": lanes}, {"v4": lanes}, memory_out=stored, **more)


# --- Images with gradients of 16 bits ---

WIDTH, HEIGHT = 64, 4


def half_gradients(c):
    texel = lambda x, y: float(10 * y + x)
    image = {"s8": 0, "s9": 22 << 20 | ((WIDTH - 1) & 3) << 30, "s10": (WIDTH - 1) >> 2 | (HEIGHT - 1) << 14 | 1 << 31, "s11": 0xFAC | 9 << 28,
             "s12": 0, "s13": 0, "s14": 0, "s15": 0}
    memory = [f32(texel(i % WIDTH, i // WIDTH)) for i in range(WIDTH * HEIGHT)]
    for derivative in ("d", "cd"):
        for compare in (False, True):
            for clamp in (False, True):
                for offset in (False, True):
                    # A reference is less than the texels to the right of it.
                    s = {"s16": 2 | 2 << 3 | 2 << 6 | 1 << 12, "s17": 0xFFF << 12, "s18": 1 << 22 | 1 << 26, "s19": 0}
                    name = f"image_sample{'_c' if compare else ''}_{derivative}{'_cl' if clamp else ''}{'_o' if offset else ''}_g16"
                    lanes = []
                    for i in range(LANES):
                        x, y, wide, tall = 20.75 + i, 1.5 + (i & 1), i & 2, i & 4
                        dx, dy = (f16(2 / WIDTH) if wide else f16(0.5 / WIDTH)), (f16(2 / HEIGHT) if tall else f16(0.25 / HEIGHT))
                        words = ([0x3F | 0 << 8] if offset else []) + ([f32(26.0)] if compare else [])
                        words += [dx, dy << 16, f32(x / WIDTH), f32(y / HEIGHT)] + ([f32(2.0 if i == 1 else 0.0)] if clamp else [])
                        shift = -1 if offset else 0
                        smaller = wide or tall or clamp and i == 1
                        row = y - 0.5 if smaller else int(y)
                        read = lambda column: texel(column + shift, int(row)) if not compare else float(26.0 < texel(column + shift, int(row)))
                        # Linear: a quarter of the right texel; the row is hit in its middle.
                        value = 0.75 * read(int(x - 0.5)) + 0.25 * read(int(x - 0.5) + 1) if smaller else read(int(x))
                        lanes.append((words, f32(value)))
                    count = len(lanes[0][0])
                    before = {f"v{j}": [words[j] for words, _ in lanes] for j in range(count)}
                    after = [JUNK[i] if i in OFF else v for i, (_, v) in enumerate(lanes)]
                    c.program(GFX103, f"{name} v20, v[0:{count - 1}], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D", {**image, **s, **before, "v20": JUNK[:LANES]},
                              {"v20": after}, pages={"s8": "0"}, memory=memory, exec=EXEC)


def float_images(c):
    """gfx12: atomics of floats in a line of texels."""
    image = {"s8": 0, "s9": 22 << 17 | ((WIDTH - 1) & 3) << 30, "s10": (WIDTH - 1) >> 2 | (HEIGHT - 1) << 14, "s11": 0xFAC | 9 << 28,
             "s12": 0, "s13": 0, "s14": 0, "s15": 0}
    a, b = [1.5, -2.0, 0.0, 3.0, 96.0, -0.25, 7.0, 8.0], [0.5, -3.0, 4.0, -3.0, 0.5, 0.75, -1.0, 16.0]
    pair = lambda code, x, y: [code(p) | code(q) << 16 for p, q in zip(x, y)]
    bf16 = lambda x: f32(x) >> 16
    total = [p + q for p, q in zip(a, b)]
    for name, form, old, data, new in (
            ("add_flt", 22, [f32(x) for x in a], [f32(x) for x in b], [f32(x) for x in total]),
            ("pk_add_f16", 29, pair(f16, a, b), pair(f16, b, b), pair(f16, total, [2 * x for x in b])),
            ("pk_add_bf16", 29, pair(bf16, a, b), pair(bf16, b, b), pair(bf16, total, [2 * x for x in b]))):
        memory = [0x5A5A5A5A] * WIDTH + old + [0x5A5A5A5A] * (3 * WIDTH - 8)
        after = memory[:WIDTH] + [old[i] if i in OFF else x for i, x in enumerate(new)] + memory[WIDTH + 8:]
        c.program(GFX12, f"image_atomic_{name} v20, [v0, v1], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D th:TH_ATOMIC_RETURN",
                  {**image, "s9": image["s9"] & ~(0x1FF << 17) | form << 17, "v0": list(range(8)), "v1": [1] * 8, "v20": data},
                  {"v20": [data[i] if i in OFF else x for i, x in enumerate(old)]}, pages={"s8": "0"}, memory=memory, memory_out=after, exec=EXEC)


def memory_cases(c):
    for family in (float_images, scalar_memory, buffer_formats, lane_atomics, by_lane_number, half_gradients):
        family(c)
