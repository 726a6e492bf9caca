#!/usr/bin/env python3
"""The judge sees what it must see: what a case demands, verdicts, and a program that was not checked."""
import pathlib
import sys
import tempfile
import unittest

import judge
import oclgrind


class Judge(unittest.TestCase):
    def test_verdicts(self):
        race, outside = {"race"}, {"out-of-bounds", "memory-violation"}
        self.assertEqual(judge.verdict([race], {"race", "uninitialized"}), "right")
        self.assertEqual(judge.verdict([race], {"uninitialized"}), "missed")
        self.assertEqual(judge.verdict([race, outside], {"race"}), "missed")
        self.assertEqual(judge.verdict([race, outside], {"race", "memory-violation"}), "right")
        self.assertEqual(judge.verdict([], set()), "right")
        self.assertEqual(judge.verdict([], {"race"}), "false alarm")

    def demands(self, group, reference):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder) / group
            place.mkdir()
            (place / "one.sim").write_text("")
            (place / "one.ref").write_text(reference)
            return list(oclgrind.cases(pathlib.Path(folder)))[0][2]

    def test_what_a_reference_demands(self):
        self.assertEqual(self.demands("data-race", "EXACT x[0] = 1\n"), [])
        self.assertEqual(self.demands("data-race", "ERROR Read-write data race at\nERROR Write-write data race at\n"), [{"race"}])
        self.assertEqual(self.demands("memcheck", "ERROR Invalid read of size 4\nERROR Uninitialized value\n"), [oclgrind.OUTSIDE])
        with self.assertRaises(ValueError):
            self.demands("memcheck", "ERROR something else\n")

    def run_text(self, text, status=0):
        program = f"import sys; print({text!r}, file=sys.stderr); sys.exit({status})"
        return judge.kinds_found([sys.executable, "-c", program], pathlib.Path("/none"), "gfx950")

    def test_what_was_not_checked_is_no_verdict(self):
        self.assertEqual(self.run_text("checked: 1 dispatches, 1 kernels, 0 unchecked, 0 findings"), set())
        for text, status in (("", 0), ("checked: 0 dispatches, 0 kernels, 0 unchecked, 0 findings", 0),
                             ("checked: 1 dispatches, 1 kernels, 1 unchecked, 0 findings", 0),
                             ("checked: 1 dispatches, 1 kernels, 0 unchecked, 0 findings", 1)):
            with self.assertRaises(RuntimeError):
                self.run_text(text, status)


if __name__ == "__main__":
    unittest.main()
