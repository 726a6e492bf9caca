#!/usr/bin/python3
"""What MORGANA_CHECK=api finds in programs of HIP, with a library that stands for HIP.

    check_test.py MORGANA FAULTS LOADER MODULE

FAULTS is the program of faults.cpp, LOADER one that loads MODULE (module.cpp).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

MORGANA, FAULTS, LOADER, MODULE = sys.argv[1:5]

# What of each function of faults.cpp is found: kind, call, and what is said of it.
FOUND = {
    "right": [],
    "goes_on": [("failed-call", "hipMalloc", "it returned hipErrorOutOfMemory, and the program went on with hipDeviceSynchronize")],
    "ends": [],
    "gives_up": [],
    "told": [],
    "tries": [],
    "answers": [],
    "launch_goes_on": [("failed-call", "hipLaunchKernel",
                        "the launch of kernel 'kernel' returned hipErrorInvalidConfiguration, and the program went on with hipMemcpy")],
    "launch_without_a_question": [("failed-call", "hipLaunchKernel",
                                   "the launch of kernel 'kernel' returned hipErrorInvalidConfiguration, and the program did not ask for "
                                   "that (hipGetLastError) before it ended")],
    "launch_with_a_question": [],
    "launch_of_an_unloaded_library": [("failed-call", "hipLaunchKernel",
                                       "the launch of kernel 'gone' returned hipErrorInvalidConfiguration, and the program did not ask for "
                                       "that (hipGetLastError) before it ended")],
    "launch_by_hand": [("failed-call", "hipModuleLaunchKernel",
                        "it returned hipErrorInvalidConfiguration, and the program went on with hipLaunchKernel")],
    "leaks": [("leak", "hipMalloc", "3 allocations of the device's memory (3072 bytes) made here are still held when the process ends"),
              ("leak", "hipMalloc3D", "1 allocation of the device's memory (6000 bytes) made here is still held when the process ends"),
              ("leak", "hipHostMalloc", "1 allocation of the host's memory (100 bytes) made here is still held when the process ends"),
              ("leak", "hipHostRegister", "1 registration of memory (1024 bytes) made here is still held when the process ends"),
              ("leak", "hipMallocMipmappedArray", "1 mipmapped array made here is still held when the process ends"),
              ("leak", "hipStreamCreate", "1 stream made here is still held when the process ends"),
              ("leak", "hipEventCreate", "1 event made here is still held when the process ends")],
    "reset": [("leak", "hipMalloc", "1 allocation of the device's memory (1024 bytes) made here is still held when the process ends")],
    "frees_twice": [("failed-call", "hipFree", "it returned hipErrorInvalidValue: that was given back before: by hipFree at {}")],
    "frees_strange_memory": [("failed-call", "hipFree", "it returned hipErrorInvalidValue")],
    "frees_otherwise": [("wrong-free", "hipFree", "it frees memory that hipHostMalloc gave, and worked: {}"),
                        ("wrong-free", "hipHostFree", "it frees memory that hipMalloc gave, and worked: {}")],
    "wrong_directions": [("wrong-direction", "hipMemcpy", "it copies from device to host, but its destination is memory of the device"),
                         ("wrong-direction", "hipMemcpy", "it copies from host to device, but its source is memory of the device")],
    "frees_at_the_end": [],
    "forks": [],
    "threads": [],
}


def run(*words, **variables):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, **variables})


def total(findings, suppressed=0):
    return f"checked: 0 dispatches, 0 kernels, 0 unchecked, {findings} findings" + (f", {suppressed} suppressed" if suppressed else "")


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()) if hasattr(self, "enterContext") else tempfile.mkdtemp())
        self.report = self.folder / "report.json"

    def checked(self, *words, options=()):
        return run(MORGANA, "run", "--check=api", f"--report={self.report}", *options, "--", *words)

    def test_findings(self):
        for name, expected in FOUND.items():
            with self.subTest(name):
                result = self.checked(FAULTS, name)
                found = [json.loads(line) for line in self.report.read_text().splitlines()]
                self.assertEqual([one["call"] for one in found], [call for _, call, _ in expected], result.stderr)
                for one, (kind, _, because) in zip(found, expected):
                    before, _, behind = because.partition("{}")
                    self.assertEqual(one["kind"], kind)
                    self.assertTrue(one["because"].startswith(before), one)
                    self.assertTrue("{}" in because or one["because"] == because, one)
                    self.assertIn(f"{FAULTS}+0x", one["site"])
                self.assertEqual(result.stderr.splitlines()[-1], total(len(expected)))
                self.assertEqual(result.returncode, 1 if expected else 2)  # 2: no kernel ran

    def test_text(self):
        said = self.checked(FAULTS, "goes_on").stderr
        self.assertRegex(said, r"(?s)^morgana: failed-call: it returned hipErrorOutOfMemory, and the program went on with "
                               r"hipDeviceSynchronize\n  call        hipMalloc\n  called at   \S*hip_faults\+0x[0-9a-f]+.*\n\nchecked: ")

    def test_suppressions(self):
        rules = self.folder / "rules"
        rules.write_text("leak hipMalloc\nleak * *hip_faults+*\n")
        result = self.checked(FAULTS, "leaks", options=[f"--suppress={rules}"])
        self.assertEqual((result.stderr, result.returncode), (total(0, 7) + "\n", 2))

    def test_without_a_run(self):
        library = pathlib.Path(MORGANA).parent.parent / "lib/rocm/libmorgana_hip.so"
        result = run(FAULTS, "goes_on", LD_PRELOAD=str(library), MORGANA_CHECK="api")
        self.assertEqual((result.stderr.splitlines()[-1], result.returncode), (total(1), 0))
        for checks in "", "memory":
            self.assertEqual(run(FAULTS, "goes_on", LD_PRELOAD=str(library), MORGANA_CHECK=checks).stderr, "")

    def test_hip_of_a_module(self):
        result = self.checked(LOADER, MODULE)
        self.assertIn(f"called at   {MODULE}+0x", result.stderr)
        self.assertEqual(result.returncode, 1)

    def test_programs_without_hip_load_nothing(self):
        maps = self.checked("cat", "/proc/self/maps").stdout
        self.assertIn("libmorgana_hip.so", maps)
        for library in "libmorgana_hip_check.so", "libstdc++.so", "libamdhip64.so":
            self.assertNotIn(library, maps)
        for checks in "--check=memory", "--summary":
            self.assertNotIn("libmorgana_hip", run(MORGANA, "run", checks, "--", "cat", "/proc/self/maps").stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
