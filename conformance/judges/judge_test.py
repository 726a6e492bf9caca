#!/usr/bin/env python3
"""The judge sees what it must see: what a case demands, verdicts, and a program that was not checked."""
import pathlib
import sys
import tempfile
import unittest

import judge
import mutants
import mutations
import oclgrind

KERNEL = """
#define SIZE 8 /* no store: a[0] = 1 */
void order(local int* a, bool down) { if (a[0] > a[1] && down) a[0] = 1, *a += 2; }
kernel void k(global int* to, int n) {
  local int mine[SIZE], other[2][3];
  int i = get_local_id(0), own[4];
  if (i >= n || n == 3) return;
  own[0] = mine[i] = to[i];
  for (int j = 0; j <= n - 1; ++j) { mine[j] |= 1; }
  barrier(CLK_LOCAL_MEM_FENCE);
  to[i] = i < n ? mine[i] : 0;
  atomic_add(&to[n], 1);
}
"""


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

    def test_each_barrier_bound_and_store_is_taken_away_once(self):
        made = [(mutant.function, mutant.kind, mutant.what) for mutant in mutations.mutants_of(KERNEL)]
        self.assertEqual(made, [
            ("order", "guard", "a[0] > a[1] && down"), ("order", "bound", "a[0] > (a[1]) + 1"), ("order", "bound", "a[0] > (a[1]) - 1"),
            ("order", "store", "a[0] = 1"), ("order", "store", "*a += 2"),
            ("k", "barrier", "barrier(CLK_LOCAL_MEM_FENCE)"),
            ("k", "guard", "i >= n || n == 3"), ("k", "bound", "i >= (n) + 1"), ("k", "bound", "i >= (n) - 1"),
            ("k", "bound", "j <= (n - 1) + 1"), ("k", "guard", "i < n"), ("k", "bound", "i < (n) + 1"),
            ("k", "store", "mine[j] |= 1"), ("k", "store", "to[i] = i < n ? mine[i] : 0"), ("k", "store", "atomic_add(&to[n], 1)")])
        sources = [mutant.source for mutant in mutations.mutants_of(KERNEL)]
        self.assertIn("if (a[0] > a[1] && down) (void)0, *a += 2;", sources[3])
        self.assertIn("if (0) return;", sources[6])
        self.assertIn("to[i] = 1 ? mine[i] : 0;", sources[10])
        self.assertEqual(len(set(sources)), len(sources))

    def test_local_arrays_get_margins(self):
        filled = mutations.with_filled_locals(KERNEL)
        self.assertIn("local int mine_in_margins[3 * (SIZE)], other_in_margins[3 * (2)][3];", filled)
        self.assertIn("#define other (other_in_margins + (2))\n", filled)
        self.assertEqual(filled.count("FILL_LOCAL(mine_in_margins)"), 1)

    def test_verdicts_on_mutants(self):
        self.assertEqual(mutants.verdict("reverse", True, {"race"}), "found")
        self.assertEqual(mutants.verdict("fault", False, set()), "missed")
        self.assertEqual(mutants.verdict("", False, {"race"}), "found alone")
        self.assertEqual(mutants.verdict("", True, set()), "other result")
        self.assertEqual(mutants.verdict("", False, set()), "equal")
        self.assertTrue(mutants.is_fault(("k 12", "k 34 margin")))
        self.assertFalse(mutants.is_fault(("k 12", "k 34")))


if __name__ == "__main__":
    unittest.main()
