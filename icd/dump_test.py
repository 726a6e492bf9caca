#!/usr/bin/env python3
"""What MORGANA_DUMP_DIR gets from a program that builds. Argument: icd_programs_test."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = [sys.argv[1], "--gtest_filter=Programs.CompileLinkAndLibraries"]


def build(folder):
    run = subprocess.run(PROGRAM, capture_output=True, text=True, timeout=300, env=dict(os.environ, MORGANA_DUMP_DIR=str(folder)))
    return run.returncode, run.stderr.count("MORGANA_DUMP_DIR")


class Dump(unittest.TestCase):
    def test_a_folder_that_is_missing_is_made(self):
        with tempfile.TemporaryDirectory() as home:
            folder = pathlib.Path(home, "not", "there")
            self.assertEqual(build(folder), (0, 0))
            suffixes = {path.suffix for path in folder.iterdir()}
            self.assertLessEqual({".cl", ".options", ".log", ".bc", ".co"}, suffixes)
            self.assertTrue(any(path.read_bytes()[:4] == b"\x7fELF" for path in folder.glob("*.co")))

    def test_a_folder_that_cannot_be_made_is_said_once(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assertEqual(build(pathlib.Path(file.name, "below")), (0, 1))

    def test_files_that_cannot_be_written_are_said_once(self):
        self.assertEqual(build("/proc/self"), (0, 1))  # where nobody makes files, root neither


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
