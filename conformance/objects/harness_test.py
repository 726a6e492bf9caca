#!/usr/bin/env python3
"""The harness sees what it must see. Arguments: path of morgana, source folder."""
import contextlib
import io
import pathlib
import sys
import tempfile
import types
import unittest

import numpy as np

import run
from harness import At, Bench, Launch, Wrong, exact, near, poison

MORGANA, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])


class Harness(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bench = Bench(MORGANA, folder.name, SOURCE / "conformance/testdata/passes_gfx90a.co")
        self.values = np.arange(64, dtype=np.int32)

    def step(self, items, outputs):
        launch = Launch("step", items, 64, ["values", np.int32(3), np.int32(1)])
        return self.bench.run([launch], {"values": self.values}, outputs)

    def test_result_and_counts(self):
        self.assertEqual(self.bench.facts(), ("gfx90a", ["step", "reverse"]))
        exact("step", self.step(64, ("values",))["values"], self.values * 3 + 1)
        both = [Launch("step", 64, 64, [At("values", 0), np.int32(2), np.int32(0)]),
                Launch("reverse", 64, 64, ["values", np.int32(1)], lds=256)]
        exact("both", self.bench.run(both, {"values": self.values}, ("values",))["values"], self.values[::-1] * 2)
        self.assertEqual((self.bench.items, self.bench.launches), ({"step": 128, "reverse": 64}, {"step": 2, "reverse": 1}))

    def test_writes_where_none_belong(self):
        with self.assertRaisesRegex(Wrong, "behind buffer 'values'"):
            self.step(128, ("values",))
        with self.assertRaisesRegex(Wrong, "input buffer 'values' was changed"):
            self.step(64, ())

    def test_failures(self):
        with self.assertRaisesRegex(Wrong, "no kernel 'nothing'"):
            self.bench.run([Launch("nothing", 64, 64, [])], {}, ())
        with self.assertRaisesRegex(Wrong, "address     0x0"):
            self.bench.run([Launch("step", 64, 64, [None, np.int32(1), np.int32(1)])], {}, ())

    def test_blocks_of_arguments(self):
        block = [(0, "values"), (8, np.int32(3)), (12, np.int32(1)), (4096, np.int32(5))]
        out = self.bench.packed("step", block, (1,), 64, {"values": self.values}, ("values",))
        exact("block", out["values"], self.values * 3 + 1)
        with self.assertRaisesRegex(Wrong, "no such kernel"):
            self.bench.packed("nothing", block, (1,), 64, {"values": self.values}, ("values",))

    def test_results_are_held_against_the_table(self):
        def check(bench, step):
            launch = Launch("step", 64, 64, ["values", np.int32(step), np.int32(1)])
            exact("step", bench.run([launch], {"values": self.values}, ("values",))["values"], self.values * 3 + 1)

        cases = [run.Case(f"step {step}", self.bench.path, "step", lambda bench, step=step: check(bench, step)) for step in (3, 4)]
        cases.append(run.Case("other kernel", self.bench.path, "reverse", lambda bench: check(bench, 3)))
        options = types.SimpleNamespace(morgana=MORGANA, patterns=[], record=True)
        with tempfile.TemporaryDirectory() as folder:
            run.TABLE = pathlib.Path(folder) / "table.tsv"
            for wrong in (2, 0):  # the table says right, then what was recorded
                with contextlib.redirect_stdout(io.StringIO()) as text:
                    self.assertEqual(run.run_cases(cases, ["off"], options), (wrong, 3))
                self.assertIn("1 of 3 right", text.getvalue())
            self.assertEqual({name: cells[1] for name, cells in run.read_table().items()},
                             {"step 3": "right", "step 4": "wrong", "other kernel": "wrong"})

    def test_comparisons(self):
        f32 = np.float32
        exact("nan", np.array([np.nan], f32), [np.nan])
        with self.assertRaisesRegex(Wrong, "1 of 2 differ; at \\(1,\\)"):
            exact("zeros", np.array([0.0, -0.0], f32), [0.0, 0.0])
        near("sum", np.array([1 + 2**-23], f32), [1.0], 1.0, 2)
        for value in (1 + 2**-22, np.nan, np.inf, poison(1, f32)[0]):
            with self.assertRaises(Wrong):
                near("sum", np.array([value], f32), [1.0], 1.0, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
