#!/usr/bin/env python3
"""The command line, as a person types it. Arguments: path of morgana, source folder."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

MORGANA, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
TESTDATA = SOURCE / "codeobj/testdata"
PASSES = SOURCE / "conformance/testdata/passes_gfx90a.co"


def run(*words, **environment):
    return subprocess.run([MORGANA, *map(str, words)], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, **environment))


class Help(unittest.TestCase):
    VERBS = ("run", "doctor", "info", "disasm", "isa", "vectors", "dispatch", "replay")

    def test_of_all_and_of_each(self):
        everything = run("help").stdout
        self.assertEqual(run("--help").stdout, everything)
        for verb in self.VERBS:
            for words in ((verb, "--help"), (verb, "-h"), ("help", verb)):
                result = run(*words)
                self.assertEqual((result.returncode, result.stderr), (0, ""), words)
                self.assertTrue(result.stdout.startswith(f"  morgana {verb}"), words)
                self.assertIn(result.stdout, everything)
        self.assertEqual(run("disasm", "file", "--help").returncode, 0)

    def test_what_is_none(self):
        for words in ((), ("nothing",), ("help", "nothing")):
            result = run(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn("morgana run", result.stderr)
        # The program's own words.
        self.assertEqual(run("run", "echo", "--help").stdout, subprocess.run(["echo", "--help"], capture_output=True,
                                                                             text=True, check=True).stdout)

    def test_options_that_are_none(self):
        for words in (("run", "--bogus", "--", "true"), ("doctor", "--bogus"), ("info", "--bogus"), ("disasm", "--bogus"), ("isa", "--bogus"),
                      ("disasm", "--bogus", PASSES), ("vectors", "--bogus"), ("replay", "--bogus"),
                      ("dispatch", PASSES, "--kernel", "reverse", "--grid", "1", "--bogus")):
            result = run(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn("--bogus", result.stderr, words)


class Info(unittest.TestCase):
    def test_platform_as_json(self):
        facts = json.loads(run("info", "--json", MORGANA_DEVICES="gfx90a,gfx950").stdout)
        self.assertEqual([agent["name"] for agent in facts["agents"]], ["gfx90a", "gfx950"])
        devices = next(row for row in facts["options"] if row["variable"] == "MORGANA_DEVICES")
        self.assertEqual((devices["value"], devices["set"]), ("gfx90a,gfx950", True))

    def test_no_device_fails_loudly(self):
        result = run("info", MORGANA_DEVICES="gfx1250")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'gfx1250' is no known device", result.stderr)

    def test_files(self):
        text = run("info", TESTDATA / "gfx90a_v4.co").stdout
        self.assertIn("amdgcn-amd-amdhsa--gfx90a:xnack-", text)
        self.assertIn("gfx803", run("info", TESTDATA / "plain.bundle").stdout)
        broken = run("info", SOURCE / "README.md")
        self.assertEqual(broken.returncode, 1)
        self.assertIn("README.md", broken.stderr)
        folder = run("info", SOURCE)
        self.assertEqual(folder.returncode, 1, folder.stderr)
        self.assertIn(f"{SOURCE}: Is a directory", folder.stderr)


def spirv_module():
    """kernel void k(global uint* out) { *out = 5; }"""
    instructions = [(17, 4), (17, 5), (17, 6), (14, 2, 2), (15, 6, 1, 0x6B), (19, 2), (21, 3, 32, 0), (32, 4, 5, 3), (33, 5, 2, 4),
                    (43, 3, 6, 5), (54, 2, 1, 0, 5), (55, 4, 7), (248, 8), (62, 7, 6, 2, 4), (253,), (56,)]
    words = [0x07230203, 0x00010300, 0, 9, 0]
    for op, *operands in instructions:
        words += [(len(operands) + 1) << 16 | op, *operands]
    return struct.pack(f"<{len(words)}I", *words)


class Disasm(unittest.TestCase):
    def test_object_with_lines(self):
        text = run("disasm", TESTDATA / "gfx942_v5_dwarf5.co").stdout
        self.assertIn("; /src/kernels.cl:", text)
        self.assertIn("s_endpgm", text)
        self.assertIn(".amdhsa_", text)

    def test_target(self):
        text = run("disasm", "--target", "gfx803", TESTDATA / "plain.bundle").stdout
        self.assertIn("s_endpgm", text)
        self.assertIn("flat_load_", text)
        self.assertNotIn("global_load_", text)  # of the entry for gfx90a
        other = run("disasm", "--target", "gfx950", TESTDATA / "plain.bundle")
        self.assertEqual(other.returncode, 1)
        self.assertIn("no code object for gfx950", other.stderr)
        self.assertEqual(run("disasm", "--target", "gfx1030", TESTDATA / "plain.bundle").returncode, 1)
        self.assertEqual(run("disasm", "--target", "gfx9999", TESTDATA / "plain.bundle").returncode, 2)

    def test_waves_are_the_kernels(self):
        wave32 = run("disasm", TESTDATA / "gfx1100_v5.co").stdout
        self.assertIn(".amdhsa_wavefront_size32 1", wave32)
        self.assertIn("v_add_co_u32 v2, vcc_lo,", wave32)
        wave64 = run("disasm", TESTDATA / "gfx1200_v6.co").stdout
        self.assertIn(".amdhsa_wavefront_size32 0", wave64)
        self.assertIn("v_add_co_u32 v2, vcc,", wave64)
        self.assertNotIn("vcc_lo", wave64)

    def test_bare_code(self):
        with tempfile.NamedTemporaryFile("wb", suffix=".bin") as code:
            code.write(struct.pack("<IIII", 0x7c040702, 0x65030702, 0xffffffff, 0xbf810000))
            code.flush()

            def lines(target, *words):
                result = run("disasm", "--target", target, "--code", code.name, *words)
                self.assertEqual(result.returncode, 0, result.stderr)
                return [line.split("//")[0].strip() for line in result.stdout.splitlines()]

            self.assertEqual(lines("gfx1036")[0], "v_cmp_eq_f32_e32 vcc_lo, v2, v3")
            self.assertEqual(lines("gfx1036", "--wave64")[0], "v_cmp_eq_f32_e32 vcc, v2, v3")
            self.assertEqual(lines("gfx1036")[3], "s_endpgm")
            self.assertIn("is no", lines("gfx1036")[2])
            self.assertEqual(lines("gfx11-generic")[1], "v_add_f16_e32 v1.h, v2.l, v3.h")
            self.assertEqual(run("disasm", "--code", code.name).returncode, 2)

    def test_spirv(self):
        with tempfile.NamedTemporaryFile("wb", suffix=".spv") as module:
            module.write(spirv_module())
            module.flush()
            built = run("disasm", "--target", "gfx803", module.name)
            self.assertEqual(built.returncode, 0, built.stderr)
            text = built.stdout
            self.assertIn("flat_store_dword", text)
            self.assertIn("gfx803", text)
            no_target = run("disasm", module.name)
            self.assertEqual(no_target.returncode, 1)
            self.assertIn("name one", no_target.stderr)
            launch = run("dispatch", module.name, "--device", "gfx950", "--kernel", "k", "--grid", "1", 
                         "--buffer", f"out=out:{module.name}.out:4", "--arg", "buf:out")
            self.assertEqual(launch.returncode, 0, launch.stderr)
            result = pathlib.Path(module.name + ".out")
            self.assertEqual(result.read_bytes(), struct.pack("<I", 5))
            result.unlink()
            module.write(b"more")
            module.flush()
            broken = run("disasm", "--target", "gfx803", module.name)
            self.assertEqual(broken.returncode, 1)
            self.assertIn("SPIR-V", broken.stderr)

    def test_table(self):
        good = "VOP2\t1\tv_add_f32\t02020202\tv_add_f32_e32 v1, s2, v1\t1\n"
        head = "format\topcode\tmnemonic\thex\tasm\troundtrip\n"
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as table:
            table.write(head + good)
            table.flush()
            result = run("disasm", "--target", "gfx950", "--tsv", table.name)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn("1 of 1 rows match", result.stdout)
            table.write(good.replace("s2, v1", "s2, v2"))
            table.flush()
            result = run("disasm", "--target", "gfx950", "--tsv", table.name)
            self.assertEqual(result.returncode, 1)
            self.assertIn("1 of 2 rows match", result.stdout)


class Documents(unittest.TestCase):
    """What docs/jit.md and docs/life-of-an-instruction.md show of kernel `step` is what comes out."""
    TEXT = [line.strip() for name in ("jit.md", "life-of-an-instruction.md")
            for line in (SOURCE / "docs" / name).read_text().splitlines() if line.startswith("    ")]

    def test_machine_code(self):
        shown = [line for line in self.TEXT if re.match(r"(s|v|global)_[a-z0-9_]+($| )", line)]
        self.assertEqual(len(shown), 15)
        code = [line.split("//")[0].strip() for line in run("disasm", PASSES).stdout.splitlines()]
        for line in shown:
            self.assertIn(re.split(r"\s*(?:;|//)", line)[0], code)

    def test_wave_ir(self):
        shown = [line for line in self.TEXT if re.search(r" @[0-9a-f]+($|  ;)", line)]
        self.assertEqual(len(shown), 10)
        made = [line.strip() for line in run("ir", PASSES, "--kernel", "step", "--facts").stdout.splitlines()]
        for line in shown:
            self.assertIn(line, made)

    def test_dumps(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run("dispatch", PASSES, "--kernel", "step", "--grid", 512, "--group", 64, "--arg", "zero:2048", "--arg", "u32:3", "--arg", "u32:1",
                         MORGANA_CACHE="0", MORGANA_JIT="sync", MORGANA_JIT_DUMP=folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            dumped = {path.name.split(".", 1)[1]: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
            self.assertEqual(sorted(dumped), ["o", "opt.ll", "raw.ll"])
            self.assertIn(b"v_mul_lo_u32", dumped["raw.ll"])
            self.assertRegex(dumped["opt.ll"], rb"mul <(4|8|16) x i32> %\.splat")


class Dispatch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.input = pathlib.Path(self.folder.name) / "in.bin"
        self.output = pathlib.Path(self.folder.name) / "out.bin"
        self.input.write_bytes(struct.pack("<64f", *range(64)))

    def test_scale(self):
        result = run("dispatch", SOURCE / "conformance/testdata/scale_gfx90a.co", "--kernel", "scale", "--grid", 64,
                     "--arg", f"in:{self.input}", "--arg", f"out:{self.output}:256", "--arg", "f32:2.5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(struct.unpack("<64f", self.output.read_bytes()), tuple(2.5 * i for i in range(64)))

    def test_refuses_what_is_no_number(self):
        for options, complaint in ((["--arg", "i8:300"], "'300' is no integer number of 8 bits"),
                                   (["--arg", "f32:x"], "'x' is no floating-point number of 32 bits"),
                                   (["--repeat", "0"], "--repeat 0")):
            result = run("dispatch", SOURCE / "conformance/testdata/scale_gfx90a.co", "--kernel", "scale", "--grid", 64, *options)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(complaint, result.stderr)

    def values(self):
        return list(struct.unpack("<64i", self.output.read_bytes()))

    def test_launches_share_buffers(self):
        self.input.write_bytes(struct.pack("<64i", *range(64)))
        result = run("dispatch", PASSES, "--buffer", f"v=inout:{self.input}:{self.output}", "--kernel", "step", "--grid", 64,
                     "--arg", "buf:v", "--arg", "i32:3", "--arg", "i32:1", "--then", "--arg", "2=i32:5",
                     "--then", "--grid", 32, "--group", 32, "--repeat", 2)
        self.assertEqual(result.returncode, 0, result.stderr)
        expected = [(i * 3 + 1) * 3 + 5 for i in range(64)]
        expected[:32] = [(v * 3 + 5) * 3 + 5 for v in expected[:32]]
        self.assertEqual(self.values(), expected)
        self.assertEqual(result.stdout.count(" ms on gfx90a"), 4)

    def test_dynamic_local_memory_and_words_from_a_file(self):
        self.input.write_bytes(struct.pack("<64i", *range(64)))
        words = pathlib.Path(self.folder.name) / "words.txt"
        words.write_text(f"# a comment\n--kernel reverse\n--grid 64 --lds 256\n--arg inout:{self.input}:{self.output}\n"
                         "--arg 1=i32:1")
        result = run("dispatch", PASSES, f"@{words}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.values(), list(range(63, -1, -1)))
        # What was not asked for is not there, and what is too much is said.
        result = run("dispatch", PASSES, f"@{words}", "--then", "--lds", 1 << 20)
        self.assertEqual(result.returncode, 1)
        self.assertIn("bytes of local memory", result.stderr)

    def test_arguments_by_name(self):
        path = SOURCE / "conformance/testdata/scale_gfx90a.co"
        result = run("dispatch", path, "--kernel", "scale", "--grid", 32, "--zero-rest", "--buffer", f"a=in:{self.input}",
                     "--arg", f"out=out:{self.output}:256", "--arg", "in=buf:a+128")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(struct.unpack("<64f", self.output.read_bytes()), (0.0,) * 64)
        result = run("dispatch", path, "--kernel", "scale", "--grid", 32, "--buffer", f"a=in:{self.input}",
                     "--arg", f"out=out:{self.output}:256", "--arg", "in=buf:a+128", "--arg", "factor=f32:2")
        self.assertEqual(struct.unpack("<64f", self.output.read_bytes()),
                         tuple(2.0 * i for i in range(32, 64)) + (0.0,) * 32)

    def test_arguments_as_a_block(self):
        start = ("dispatch", SOURCE / "conformance/testdata/scale_gfx90a.co", "--kernel", "scale", "--grid", 64,
                 "--buffer", f"in=in:{self.input}", "--buffer", f"out=out:{self.output}:256")
        block = pathlib.Path(self.folder.name) / "block.bin"
        block.write_bytes(struct.pack("<QQf", 0, 0, 3))
        result = run(*start, "--kernarg", f"{block},0=buf:in,8=buf:out")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(struct.unpack("<64f", self.output.read_bytes()), tuple(3.0 * i for i in range(64)))
        result = run(*start, "--kernarg", f"{block},0=buf:in,8=buf:out", "--arg", "factor=f32:2", "--then",
                     "--arg", f"in=file:{block},0=buf:in+128", "--grid", 32)
        self.assertIn("takes 8 bytes, not 20", result.stderr)
        struct_file = pathlib.Path(self.folder.name) / "pointer.bin"
        struct_file.write_bytes(bytes(8))
        result = run(*start, "--kernarg", f"{block},0=buf:in,8=buf:out", "--arg", "factor=f32:2", "--then",
                     "--arg", f"in=file:{struct_file},0=buf:in+128", "--grid", 32)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(struct.unpack("<64f", self.output.read_bytes()),
                         tuple(2.0 * (i + 32 if i < 32 else i) for i in range(64)))
        for kernarg, message in ((f"{block},0=buf:in,16=buf:out", "has 20 bytes: no address fits at 16"),
                                 (f"{block},0=buf:nothing", "no --buffer 'nothing'"),
                                 (f"{block},0=null", "'0=null' is not OFFSET=buf:NAME"),
                                 (f"{struct_file},0=buf:in", "takes 3 arguments; 1 given; its kernarg segment has 20 bytes"),
                                 (f"in:{block}", f"--kernarg: in:{block}: No such file or directory (a BLOCK begins with the name"),
                                 (self.input, "has 20 bytes, not 256"),
                                 ("/no/such/file", "No such file")):
            result = run(*start, "--kernarg", kernarg)
            self.assertEqual(result.returncode, 1, kernarg)
            self.assertIn(message, result.stderr)

    def test_what_is_wrong_with_launches_is_said(self):
        start = ("--kernel", "step", "--grid", "64", "--arg", "zero:256", "--arg", "i32:1")
        for words, message in (
            ((*start,), "takes 3 arguments; 2 given"),
            ((*start, "--arg", "0=i32:1", "--arg", "nothing=i32:1"), "no argument 'nothing'"),
            ((*start, "--arg", "buf:b"), "no --buffer 'b'"),
            ((*start, "--buffer", "b=zero:8", "--arg", "buf:b+9"), "buffer 'b' has 8 bytes"),
            ((*start, "--buffer", "b=zero:8", "--buffer", "b=zero:8"), "two buffers 'b'"),
            ((*start, "--buffer", "b=i32:8"), "is no buffer"),
            ((*start, "--buffer", "zero:8"), "no name"),
            ((*start, "--arg", "i32:1", "--arg", "i32:1"), "takes 3 arguments; 4 given"),
            ((*start, "--arg", "i32:1", "--then", "other.co"), "'other.co' is not understood"),
            ((*start, "--arg", "i32:1", "--then", "--kernel", "reverse"), "takes 2 arguments; 0 given"),
            ((*start, "@/no/such/file"), "No such file"),
        ):
            result = run("dispatch", PASSES, *words)
            self.assertNotEqual(result.returncode, 0, words)
            self.assertIn(message, result.stderr)

    def test_what_is_wrong_is_said(self):
        path = SOURCE / "conformance/testdata/scale_gfx90a.co"
        for words, message in (
            (("--kernel", "scale", "--grid", "64"), "takes 3 arguments; 0 given"),
            (("--kernel", "nothing", "--grid", "64"), "no kernel 'nothing'; there are: scale"),
            (("--kernel", "scale"), "--kernel and --grid are needed"),
            (("--kernel", "scale", "--grid", "64", "--device", "gfx950"), "is for gfx90a"),
            (("--kernel", "scale", "--grid", "64", "--arg", "null", "--arg", "null", "--arg", "f32:x"), "f32:x"),
        ):
            result = run("dispatch", path, *words)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(message, result.stderr)

    def test_the_compiler_writes_what_it_makes(self):
        """The folder is made, and what the cache holds is written, too."""
        for name in ("first", "second"):
            folder = pathlib.Path(self.folder.name) / "dump" / name
            result = run("dispatch", PASSES, "--kernel", "reverse", "--grid", 64, "--lds", 256, "--arg", "zero:256",
                         "--arg", "i32:1", MORGANA_JIT="sync", MORGANA_JIT_DUMP=folder, MORGANA_CACHE_DIR=self.folder.name)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual({"".join(file.suffixes) for file in folder.iterdir()}, {".raw.ll", ".opt.ll", ".o"})

    def test_a_fault_is_reported(self):
        result = run("dispatch", SOURCE / "conformance/testdata/scale_gfx90a.co", "--kernel", "scale", "--grid", 64,
                     "--arg", "null", "--arg", "null", "--arg", "f32:1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("address     0x0 (read)", result.stderr)


# A program that executes a kernel: two launches.
PROGRAM = [MORGANA, "dispatch", str(PASSES), "--kernel", "reverse", "--grid", "64", "--lds", "256", "--arg", "zero:256",
           "--arg", "i32:1", "--repeat", "2"]
REPORT = re.compile(r"^morgana: (\d+) kernels?, (\d+) launch(?:es)?, (\d+) builds?.*, (\d+) faults?, in (\d+) process", re.M)


class Summary(unittest.TestCase):
    def test_says_what_ran(self):
        result = run("run", "--summary", "--require", "--", *PROGRAM)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(REPORT.search(result.stderr).groups(), ("1", "2", "0", "0", "1"))
        self.assertRegex(result.stderr, r"(?m)^ +2 +0 +reverse$")

    def test_counts_children_and_runs_within(self):
        words = " ".join(PROGRAM)
        inner = f"{MORGANA} run --summary -- {words}"
        result = run("run", "--summary", "--", "sh", "-c", f"{words} && env -u HOME {words} && {inner} & wait; {words}")
        reports = REPORT.findall(result.stderr)
        self.assertEqual(reports, [("1", "2", "0", "0", "1"), ("1", "8", "0", "0", "4")])

    def test_of_a_program_that_dies(self):
        result = run("run", "--summary", "--", "sh", "-c", " ".join(PROGRAM) + "; kill -9 $$")
        self.assertEqual(result.returncode, 128 + 9)
        self.assertEqual(REPORT.search(result.stderr).group(2), "2")

    def test_require_fails_a_program_that_runs_nothing(self):
        result = run("run", "--require", "true")
        self.assertEqual(result.returncode, 3)
        self.assertIn("executed no kernel", result.stderr)
        self.assertEqual(run("run", "--require", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(run("run", "--require", "--", *PROGRAM).returncode, 0)
        self.assertEqual(run("run", "--require", "--", "/no/such/program").returncode, 127)
        # Without it nothing is asked, and the words of the program are its own.
        self.assertEqual(run("run", "true").returncode, 0)
        self.assertEqual(run("run", "--require", "sh", "-c", "exit 5", "--summary").returncode, 5)

    def test_terminating_the_launcher_ends_the_program(self):
        with subprocess.Popen([MORGANA, "run", "--summary", "--", "sh", "-c", "echo ready; exec sleep 60"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as launcher:
            self.assertEqual(launcher.stdout.readline(), b"ready\n")
            launcher.terminate()
            self.assertEqual(launcher.wait(timeout=30), 128 + 15)


def check(*words, program=PROGRAM, **environment):
    return run("run", *words, "--", *program, **environment)


class Checks(unittest.TestCase):
    """`reverse` writes 64 ints, each past the end of a buffer that holds fewer."""
    SHORT = [word.replace("zero:256", "zero:192") for word in PROGRAM]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.report = self.folder / "report.json"

    def kinds(self):
        return [json.loads(line)["kind"] for line in self.report.read_text().splitlines()]

    def suppress(self, text):
        path = self.folder / "suppress.txt"
        path.write_text(text)
        return f"--suppress={path}"

    def test_clean(self):
        result = check("--check=all")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "checked: 2 dispatches, 1 kernels, 0 unchecked, 0 findings\n")

    def test_findings_are_lines_of_a_report_that_is_begun_anew(self):
        self.report.write_text("old\n")
        for _ in range(2):
            result = check("--check=memory", f"--report={self.report}", program=self.SHORT)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertEqual(self.kinds(), ["out-of-bounds"] * 2)  # the read and the write
            self.assertIn("checked: 2 dispatches, 1 kernels, 0 unchecked, 2 findings\n", result.stderr)
            self.assertNotIn("past-the-end", result.stderr)
            self.assertNotIn("past the end:", result.stderr)

    def test_writes_past_the_end_without_the_memory_check(self):
        result = check("--check=race", f"--report={self.report}", program=self.SHORT)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stderr.count("write-past-the-end: kernel 'reverse'"), 1)
        self.assertIn(" 1 findings\n", result.stderr)
        found = json.loads(self.report.read_text())
        self.assertEqual((found["kind"], found["kernel"], found["allocation"]["size"], found["written"]["first"]),
                         ("write-past-the-end", "reverse", 192, 0))
        result = check("--check=race", self.suppress("write-past-the-end rev*\n"), program=self.SHORT)
        self.assertEqual((result.returncode, result.stderr),
                         (0, "checked: 2 dispatches, 1 kernels, 0 unchecked, 0 findings, 1 suppressed\n"))

    def test_what_is_suppressed_is_counted(self):
        result = check("--check=memory", self.suppress("# all of it\nout-of-* reverse\n"), program=self.SHORT)
        self.assertEqual((result.returncode, result.stderr),
                         (0, "checked: 2 dispatches, 1 kernels, 0 unchecked, 0 findings, 2 suppressed\n"))

    def test_what_is_asked_for_by_name(self):
        checks = "--check=memory:aligned,barrier:strict"
        result = check(checks, self.suppress("misaligned-access\nbarrier-divergence\n"))
        self.assertEqual((result.returncode, result.stderr),
                         (0, "checked: 2 dispatches, 1 kernels, 0 unchecked, 0 findings\n"))
        # Both say what memory and barrier say.
        result = check(checks, f"--report={self.report}", program=self.SHORT)
        self.assertEqual((result.returncode, self.kinds()), (1, ["out-of-bounds"] * 2))

    def test_stop_on_first(self):
        result = check("--check=memory", "--stop-on-first", f"--report={self.report}", program=self.SHORT)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.kinds(), ["out-of-bounds"])
        self.assertIn("checked: 1 dispatches, 1 kernels, 0 unchecked, 1 findings\n", result.stderr)
        # What is suppressed stops nothing.
        result = check("--check=memory", "--stop-on-first", self.suppress("out-of-bounds"), program=self.SHORT)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_faults_count_once(self):
        # Past the buffer there is no memory, and nothing is known of address 0.
        far = [MORGANA, "dispatch", str(PASSES), "--kernel", "step", "--grid", "65536", "--arg", f"zero:{1 << 17}", "--arg", "i32:1",
               "--arg", "i32:1"]
        null = [word.replace(f"zero:{1 << 17}", "null") for word in far]
        for checks, kinds, program in (("memory", ["out-of-bounds"] * 2, far), ("race", ["memory-violation"], far),
                                       ("memory", ["memory-violation"], null)):
            result = check(f"--check={checks}", f"--report={self.report}", program=program)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("memory violation: kernel 'step'", result.stderr)
            self.assertEqual(self.kinds(), kinds, checks)
            self.assertIn(f" {len(kinds)} findings\n", result.stderr)
        side = json.loads(self.report.read_text())["sides"][0]
        self.assertEqual((side["what"], side["function"]), ("read", "step"))
        result = check("--check=race", self.suppress("memory-violation"), program=null)
        self.assertEqual(result.returncode, 1)  # the program's own
        self.assertIn(" 0 findings, 1 suppressed\n", result.stderr)

    def test_what_is_wrong_with_options_is_said(self):
        for words, complaint in (
            ((f"--report={self.report}",), "--report needs --check"),
            (("--stop-on-first",), "--stop-on-first needs --check"),
            (("--suppress=/dev/null",), "--suppress needs --check"),
            (("--check=memory", "--report=/no/such/folder/file"), "/no/such/folder/file: not writable"),
            (("--check=memory", "--suppress=/no/such/file"), "/no/such/file: not readable"),
            (("--check=bogus",), "'bogus' is no check"),
            (("--check=memory,barrier:strikt",), "'barrier:strikt' is no check: memory, memory:aligned, race, race:lanes, barrier, barrier:strict,"),
            (("--check=",), "--check needs a value"),
        ):
            result = check(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(complaint, result.stderr)
            self.assertNotIn("checked:", result.stderr)
        for text, complaint in (("race *\nout-of-bound k\n", "suppress.txt:2: 'out-of-bound' is no kind"),
                                ("race a b c\n", "suppress.txt:1: 'c' is too much")):
            option = self.suppress(text)
            for words, environment in (((option,), {}), ((), {"MORGANA_CHECK_SUPPRESS": option.partition("=")[2]})):
                result = check("--check=race", *words, **environment)
                self.assertEqual(result.returncode, 2, text)
                self.assertIn(complaint, result.stderr)

    def test_paths_are_those_of_the_caller(self):
        program = ["sh", "-c", "cd /; exec \"$@\"", "sh", *self.SHORT]
        (self.folder / "all.txt").write_text("*\n")
        words = [MORGANA, "run", "--check=memory", "--report=report.json", "--suppress=all.txt", "--", *program]
        result = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("0 findings, 2 suppressed", result.stderr)
        words.remove("--suppress=all.txt")
        subprocess.run(words, cwd=self.folder, capture_output=True, timeout=60, check=False)
        self.assertEqual(len(self.kinds()), 2)

    def test_dispatches_without_a_run(self):
        result = run(*PROGRAM[1:], MORGANA_CHECK="all")
        self.assertEqual((result.returncode, result.stderr),
                         (0, "checked: 2 dispatches, 1 kernels, 0 unchecked, 0 findings\n"))
        result = run(*self.SHORT[1:], MORGANA_CHECK="all")
        self.assertEqual(result.returncode, 1)
        self.assertIn("out-of-bounds: kernel 'reverse'", result.stderr)
        result = run(*self.SHORT[1:], MORGANA_CHECK="bogus")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'bogus' is no check", result.stderr)
        self.assertEqual(run(*PROGRAM[1:], MORGANA_CHECK="memory:strict").returncode, 2)
        self.assertEqual(run(*PROGRAM[1:], MORGANA_CHECK="memory:aligned,barrier:strict").returncode, 0)
        result = run(*PROGRAM[1:], MORGANA_CHECK="all", MORGANA_CHECK_SUPPRESS=self.suppress("bogus\n").partition("=")[2])
        self.assertEqual(result.returncode, 0)
        self.assertIn("suppress.txt:1: 'bogus' is no kind", result.stderr)


class Run(unittest.TestCase):
    def test_sets_the_only_platform(self):
        result = run("run", "--devices", "gfx803", "--", "sh", "-c", "echo $OCL_ICD_VENDORS $MORGANA_DEVICES; exit 7")
        self.assertEqual(result.returncode, 7)
        self.assertRegex(result.stdout, r"^/.*/libmorgana\.so gfx803$")

    def test_judges_device_names(self):
        self.assertEqual(run("run", "--devices", "gfx90a, gfx950", "--", "true").returncode, 0)
        result = run("run", "--devices", "gfx90a,gfx999", "--", "true")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("gfx999", result.stderr)

    def test_no_such_program(self):
        self.assertEqual(run("run", "--", "/no/such/program").returncode, 127)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
