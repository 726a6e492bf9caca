"""Planted includes: what check_includes.py must refuse, and what it must let pass."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_includes  # noqa: E402

# file, header, a part of the complaint (None: allowed)
CASES = [
    # Between top folders.
    ("device/isa/decode.cpp", "base/bytes.h", None),
    ("base/bytes.h", "device/device.h", "base may not include"),
    ("runtime/queue.cpp", "icd/queue.h", "runtime may not include"),
    ("icd/queue.cpp", "kmt/queues.h", "icd may not include"),
    ("samples/first/main.cpp", "runtime/queue.h", "samples may not include"),
    ("runtime/queue.cpp", "queue.h", "name the folder"),
    # What others may know of the device.
    ("runtime/queue.cpp", "device/device.h", None),
    ("tools/morgana/disasm.cpp", "device/isa/decode.h", None),
    ("kmt/nodes.cpp", "device/state/wave.h", "no public header"),
    ("runtime/hsa/aql_queue.cpp", "device/dispatch/guest_guard.h", "no public header"),
    ("tools/morgana/isa.cpp", "device/isa/internal.h", "no public header"),
    ("tools/precision/precision.cpp", "device/testing/wave_rig.h", None),
    ("runtime/queue.cpp", "device/testing/wave_rig.h", "no public header"),
    # Inside the device.
    ("device/interp/vector_int.cpp", "device/semantics/vop_int.h", None),
    ("device/dispatch/job.cpp", "device/jit/tier.h", None),
    ("device/isa/decode.cpp", "device/interp/step.h", "device/isa may not include"),
    ("device/semantics/types.h", "device/interp/step.h", "device/semantics may not include"),
    ("device/interp/control.cpp", "device/dispatch/job.h", "device/interp may not include"),
    ("device/jit/tier.cpp", "device/dispatch/job.h", "device/jit may not include"),
    ("device/dispatch/device.cpp", "device/testing/wave_rig.h", "device/dispatch may not include"),
    ("device/program/program.cpp", "device/isa/internal.h", "of device/isa alone"),
    ("device/isa/print.cpp", "device/isa/internal.h", None),
    ("device/interp/control_test.cpp", "device/testing/wave_rig.h", None),
    ("device/interp/control_test.cpp", "runtime/queue.h", "device may not include"),
    ("device/device.h", "device/dispatch/job.h", "device/. may not include"),
    ("device/device.h", "device/isa/internal.h", "of device/isa alone"),
    ("device/attic/old.cpp", "device/isa/inst.h", "no row"),
    # Inside the runtime.
    ("runtime/hsa/aql_queue.cpp", "runtime/dispatch.h", None),
    ("runtime/dispatch.cpp", "runtime/hsa/user_queue.h", "runtime/. may not include"),
]


class CheckIncludes(unittest.TestCase):
    def test_planted(self):
        for path, header, complaint in CASES:
            with self.subTest(path=path, header=header):
                found = list(check_includes.violations(path, f'// A file.\n  # include "{header}"\n'))
                if complaint is None:
                    self.assertEqual(found, [])
                else:
                    self.assertEqual(len(found), 1, found)
                    self.assertTrue(found[0].startswith(f"{path}:2: "), found)
                    self.assertIn(complaint, found[0])

    def test_foreign_headers_have_one_place(self):
        for path, header, is_right in [("icd/queue.cpp", "CL/cl.h", True), ("runtime/queue.cpp", "CL/cl.h", False),
                                       ("device/jit/compile.cpp", "llvm/IR/Module.h", True),
                                       ("device/interp/core.cpp", "llvm/IR/Module.h", False)]:
            with self.subTest(path=path, header=header):
                found = list(check_includes.violations(path, f"#include <{header}>\n"))
                self.assertEqual(not found, is_right, found)

    def test_rows_name_rooms(self):
        for folder, rooms in check_includes.ROOMS.items():
            for room, others in rooms.items():
                self.assertLessEqual(others, set(rooms), f"{folder}/{room}")
                for other in others:
                    self.assertNotIn(room, rooms[other], f"{folder}: {room} and {other} include each other")


if __name__ == "__main__":
    unittest.main()
