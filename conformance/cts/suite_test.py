#!/usr/bin/env python3
"""The runner of conformance suites sees what it must see, on a suite of its own: a program that passes, fails, skips,
crashes, hangs, burns and floods on demand, in the shape of OpenCL-CTS and of piglit."""
import contextlib
import io
import json
import os
import pathlib
import stat
import sys
import tempfile
import time
import unittest
import unittest.mock

import cts
import piglit
import programs
import suite

FAKE_CTS = '''#!{python}
import json, os, signal, sys
NAMES = ["unknown", "good", "bad", "absent", "dies", "hangs", "burns", "floods", "liar", "wimpy_only", "counts"]
if "--list" in sys.argv:
    print("Test names:")
    for name in NAMES:
        print("\\t" + name)
    sys.exit(0)
name = sys.argv[-1]
assert sys.argv[1:-1] == (["-w"] if "CL_WIMPY_MODE" in os.environ else []), sys.argv
result = dict(bad="fail", absent="skip").get(name, "pass")
if name == "counts":
    with open(os.environ["COUNT_FILE"], "a") as file:
        file.write("x")
    with open(os.environ["COUNT_FILE"]) as file:
        result = "pass" if len(file.read()) > 1 else "fail"
if name == "dies":
    os.kill(os.getpid(), signal.SIGSEGV)
if name == "unknown":
    print("cl_khr_fake is not supported on this device. Skipping test.")
    sys.exit(0)
if name == "hangs":
    if os.fork() == 0:  # a child that would hold the pipe open for ever
        signal.pause()
    signal.pause()
while name == "burns":
    pass
if name == "floods":
    for i in range(400):
        sys.stdout.write("%09d " % i * 1000)
    print("the end")
with open(os.environ["CL_CONFORMANCE_RESULTS_FILENAME"], "w") as file:
    json.dump(dict(cmd="fake", results={{name: result}}), file)
sys.exit(result == "fail" or name == "liar")
'''

EXPECTED = """test_fake\tgood\tpass
test_fake\tbad\tfail\tbroken on purpose
test_fake\tabsent\tskip\tnot there
test_fake\tunknown\tskip\tthe whole binary says so
test_fake\tdies\tcrash\tkills itself
test_fake\tburns\ttimeout\tnever ends
test_fake\tfloods\tpass
test_fake\tliar\tfail\tits exit code contradicts its verdict
test_fake\twimpy_only\thollow\truns nothing in reduced mode
test_fake\tcounts\tpass
"""


class Suite(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.library = self.file("lib.so", "no library")
        self.file("build/test_conformance/fake/test_fake", FAKE_CTS.format(python=sys.executable), executable=True)
        self.table = self.file("binaries.tsv", "# rows\ntest_fake\tfake\t-w\t\t1/1\twimpy_*\ntest_gone\tgone\t\t\t1/1\t\n")
        self.file("seen", "x")
        self.lines = []

    def file(self, name, text, executable=False):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if executable:
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def run_cts(self, *names, mode="reduced", expected=EXPECTED, again="", limit=None):
        binaries = cts.read_binaries(self.table)
        chosen = cts.select(binaries, [f"fake:{name}" for name in names])
        jobs, paths, absent = cts.make_jobs(self.root / "build", binaries, chosen, mode, limit)
        env = {**os.environ, "COUNT_FILE": str(self.root / "seen")}
        env.pop("CL_WIMPY_MODE", None)
        if mode == "reduced":
            env["CL_WIMPY_MODE"] = "1"
        self.store = suite.Store(self.root / "out" / mode)
        self.lines = []
        expectation = suite.Expectation(expected)
        return suite.run(cts.Cts(), jobs, self.store, {name: suite.digest(self.library, path) for name, path in paths.items()},
                         expectation, env, 2, again, self.lines.append,
                         missing=absent + cts.missing_sentences(expectation.vanished(jobs, chosen)))

    def result(self, name):
        return self.store.groups["test_fake"]["subtests"][name]

    def test_every_kind_of_end(self):
        self.assertEqual(self.run_cts("good", "bad", "absent", "unknown", "dies", "burns", "liar", "wimpy_only", "counts"), 0, self.lines)
        for name, result in dict(good="pass", bad="fail", absent="skip", unknown="skip", dies="crash", burns="timeout", liar="fail",
                                 wimpy_only="hollow", counts="pass").items():
            self.assertEqual(self.result(name)["result"], result, name)
        self.assertEqual(self.result("dies")["detail"], "SIGSEGV")
        self.assertGreater(self.result("burns")["cpu"], 0)
        self.assertIn("| test_fake | 9 | 2 | 2 | 1 | 1 | 2 | 1 |  |", "\n".join(self.lines))
        kept = json.loads((self.root / "out/reduced/test_fake.json").read_text())
        self.assertEqual(kept["subtests"]["bad"]["result"], "fail")

    def test_a_hang_ends_and_takes_its_children_along(self):
        job = suite.Job("g", "hangs", (str(self.root / "build/test_conformance/fake/test_fake"), "hangs"), "/", 5, patience=1.5)
        start = time.monotonic()
        outcome, _ = suite.run_job(cts.Cts(), job, dict(os.environ))
        self.assertEqual(outcome["result"], "timeout")
        self.assertGreater(time.monotonic() - start, 1.4)

    def test_surprises_fail(self):
        self.assertEqual(self.run_cts("good", expected="test_fake\tgood\tfail\tthought broken\n"), 1)
        self.assertIn("WRONG test_fake good: pass, expected fail (thought broken)", self.lines)
        self.assertEqual(self.run_cts("bad", expected="test_fake\tbad\tpass\n"), 1)
        self.assertEqual(self.run_cts("good", expected=""), 1)
        self.assertIn("WRONG test_fake good: pass, and no row expects anything", self.lines)

    def test_resumes_and_repeats(self):
        os.remove(self.root / "seen")
        self.assertEqual(self.run_cts("counts", "good"), 1)  # the first run fails and is kept
        self.assertEqual(self.run_cts("counts", "good"), 1)
        self.assertIn("2 results of an earlier run, 0 to run", self.lines)
        self.assertEqual(self.run_cts("counts", "good", again="bad"), 0)
        self.assertIn("1 results of an earlier run, 1 to run", self.lines)
        self.assertEqual((self.root / "seen").read_text(), "xx")
        self.run_cts("counts", again="all")
        self.assertEqual((self.root / "seen").read_text(), "xxx")
        self.library.write_text("another library")  # results belong to the library that gave them
        self.run_cts("counts")
        self.assertEqual((self.root / "seen").read_text(), "xxxx")

    def test_full_mode_runs_what_reduced_mode_leaves_out(self):
        self.assertEqual(self.run_cts("wimpy_only", mode="full"), 0)
        self.assertEqual(self.result("wimpy_only")["result"], "pass")

    def test_floods_keep_both_ends(self):
        self.assertEqual(self.run_cts("floods"), 0)
        log = (self.root / "out/reduced/log/test_fake/floods").read_text()
        self.assertLess(len(log), 4 * suite.KEPT_OUTPUT)
        self.assertIn("000000000 ", log)
        self.assertIn("the end", log)

    def test_expectations_are_read_strictly(self):
        for text in ("a\tb\n", "a\tb\tgreen\n", "a\tb\tfail|green\twhy\n", "a\tb\tskip\n", "a\tb\tskip\t \n", "a\tb\tpass\na\tb\tpass\n"):
            with self.assertRaises(ValueError, msg=text):
                suite.Expectation(text)
        rules = suite.Expectation("a\tx*\tskip\tnone\na\txy\tpass\na\t*\tfail\tall\n")
        self.assertEqual([rules.of("a", n) for n in ("xy", "xz", "z")], [("pass", ""), ("skip", "none"), ("fail", "all")])
        self.assertIsNone(rules.of("b", "xy"))
        chance = suite.Expectation("a\tx\tfail|timeout\tby chance\n")
        of_a = suite.Job("a", "x", (), "", 1)
        self.assertEqual([chance.judge(of_a, result) is None for result in ("fail", "timeout", "crash", "pass")],
                         [True, True, False, False])
        other = [suite.Job("a", "other", (), "", 1)]
        self.assertEqual(rules.vanished(other, [("a", "*")]), [("a", "xy")])
        self.assertEqual(rules.vanished(other, [("a", "o*")]), [])
        self.assertEqual(rules.vanished(other, [("a", "x*"), ("c", "*")]), [("a", "x*"), ("a", "xy"), ("c", "*")])

    def test_recording_asks_for_reasons(self):
        path = self.file("record.tsv", "# head\na\told_*\tskip\twhy\na\tx\tpass\na\ty\tfail\tknown\n")
        rules = suite.Expectation(path.read_text())
        jobs = [suite.Job("a", name, (), "", 1) for name in ("x", "y", "old_1", "old_2", "z")]
        found = dict(x="fail", y="fail", old_1="skip", old_2="pass", z="pass")
        rules.record(path, jobs, {"a": {name: {"result": result} for name, result in found.items()}})
        self.assertEqual(path.read_text(), "# head\na\told_*\tskip\twhy\na\told_2\tpass\na\tx\tfail\n"
                                           "a\ty\tfail\tknown\na\tz\tpass\n")
        with self.assertRaisesRegex(ValueError, "'fail' without a reason"):
            suite.Expectation(path.read_text())

    def test_what_the_build_lacks_is_wrong(self):
        binaries = cts.read_binaries(self.table)
        self.assertEqual(cts.make_jobs(self.root / "build", binaries, cts.select(binaries, []), "full")[2],
                         ["the build has no test_gone"])
        with self.assertRaises(SystemExit):
            cts.select(binaries, ["nothing"])
        self.assertEqual(self.run_cts("goo*", "dies"), 0)
        self.assertEqual(self.run_cts("goo*", "nosuch"), 1)
        self.assertIn("WRONG test_fake nosuch: expected, but the suite's build has no such subtest", self.lines)
        self.assertEqual(self.run_cts("goo*", expected=EXPECTED + "test_fake\tgoose\tpass\n"), 1)
        self.assertIn("1 subtests, 0 not as expected, 1 missing", self.lines)

    def test_a_binary_that_lists_nothing_is_wrong(self):
        for program in ("#!/bin/sh\nexit 1\n", "#!/bin/sh\nkill -SEGV $$\n", "not a program\n",
                        "#!/bin/sh\nprintf '\\tgood\\n'; exit 3\n"):
            self.file("build/test_conformance/fake/test_fake", program, executable=True)
            self.assertEqual(self.run_cts("good"), 1, program)
            self.assertIn("WRONG test_fake does not list its subtests", self.lines)
            self.assertIn("WRONG test_fake good: expected, but the suite's build has no such subtest", self.lines)

    def test_results_belong_to_their_settings(self):
        self.assertEqual(suite.settings({"PATH": "/", "MORGANA_JIT": "on", "CL_WIMPY_MODE": "1", "MORGANA_CACHE_DIR": "/x"}),
                         "CL_WIMPY_MODE=1 MORGANA_JIT=on")
        self.run_cts("good")
        self.run_cts("good")
        self.assertIn("1 results of an earlier run, 0 to run", self.lines)
        with unittest.mock.patch.dict(os.environ, MORGANA_THREADS="7"):
            self.run_cts("good")
        self.assertNotIn("1 results of an earlier run, 0 to run", self.lines)

    def test_piglit(self):
        tester = self.file("build/bin/cl-program-tester", """#!/bin/sh
case $1 in *three*) echo 'PIGLIT: {"result": "warn" }';; *fail*) echo 'PIGLIT: {"result": "fail" }';; *) echo 'PIGLIT: {"subtest": {"a" : "pass"}}'
echo 'PIGLIT: {"result": "skip" }';; esac
""", executable=True)
        self.file("build/bin/cl-api-thing", "#!/bin/sh\necho 'PIGLIT: {\"result\": \"pass\" }'\n", executable=True)
        self.file("build/bin/cl-custom-mute", "#!/bin/sh\nexit 0\n", executable=True)
        self.file("build/bin/cl-interop-egl", "#!/bin/sh\nexit 1\n", executable=True)  # graphics: not ours
        for name in ("tests/cl/program/build/fail/one.cl", "tests/cl/program/execute/two.program_test",
                     "build/generated_tests/cl/builtin/int/three.cl", "build/generated_tests/cl/builtin/int/other.h"):
            self.file(name, "")
        expected = self.file("expected.tsv", "\n".join((
            "api\tthing\tpass", "custom\tmute\tcrash\tsays nothing", "build\tfail/one\tfail\tmeant to",
            "execute\ttwo\tskip\tsays so", "builtin\tint/three\twarn\tshrugs")))
        arguments = [str(self.root), str(tester.parent.parent), "--library", str(self.library), "--out",
                     str(self.root / "piglit"), "--expected", str(expected)]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(piglit.main(arguments), 0)
            self.assertEqual(piglit.main([*arguments, "nothing"]), 1)
            (self.root / "build/bin/cl-api-thing").unlink()
            self.assertEqual(piglit.main(arguments), 1)
        self.assertIn("5 subtests, 0 not as expected\n", said.getvalue())
        self.assertIn("WRONG nothing *: expected, but", said.getvalue())
        self.assertIn("WRONG api thing: expected, but", said.getvalue())

    def test_folders_of_programs(self):
        for name, text in dict(good="echo fine", bad="echo fine; exit 1", absent="exit 77", mute="exit 0",
                               dies="kill -SEGV $$", fed='test "$1 $2" = "1 2"').items():
            self.file(f"programs/{name}", f"#!/bin/sh\n{text}\n", executable=True)
        self.file("programs/data.txt", "no program", executable=True)
        for name, said in dict(some="2 passed, 1 skipped in 1 s", none="3 skipped in 1 s").items():
            self.file(f"programs/test_{name}.py", said)
        pytest = self.file("python", "#!/bin/sh\nfor last; do :; done; cat $last\n", executable=True)
        table = self.file("programs.tsv", "# head\nx\tmute\t\tfine\nx\tfed\t1 2\nx\tfed\t2 1\ny\tgood\t\tnothing\n")
        runs, outputs = programs.read_rows(table)
        jobs = programs.make_jobs("x", self.root / "programs", runs, 10, str(pytest))
        suite.run(programs.Programs(outputs), jobs, suite.Store(self.root / "out"), {"x": ""}, suite.Expectation(""),
                  dict(os.environ), say=self.lines.append)
        found = json.loads((self.root / "out/x.json").read_text())["subtests"]
        self.assertEqual({name: outcome["result"] for name, outcome in found.items()},
                         dict(good="pass", bad="fail", absent="skip", mute="fail", dies="crash", fed_1_2="pass",
                              fed_2_1="fail", test_some="pass", test_none="skip"))

    def test_the_checked_in_tables_are_sound(self):
        here = pathlib.Path(cts.__file__).parent
        binaries = cts.read_binaries()
        self.assertFalse(binaries["test_integer_ops"].is_hollow("reduced", "quick_char_math"))
        self.assertTrue(binaries["test_integer_ops"].is_hollow("reduced", "char_math"))
        self.assertFalse(binaries["test_integer_ops"].is_hollow("full", "char_math"))
        self.assertEqual([name for name, binary in binaries.items() if binary.unnamed], ["test_conversions"])
        expected = suite.Expectation((here / "expected.tsv").read_text())
        self.assertLessEqual(expected.groups(), set(binaries))
        suite.Expectation((here / "piglit_expected.tsv").read_text())
        programs.read_rows()
        suite.Expectation((here / "programs_expected.tsv").read_text())


if __name__ == "__main__":
    unittest.main()
