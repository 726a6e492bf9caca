#!/usr/bin/env python3
"""`morgana doctor` finds planted faults. Arguments: path of morgana, a C compiler."""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

MORGANA, CC = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
LIBRARY = MORGANA.parent.parent / "lib/libmorgana.so"

# A loader of OpenCL 1.0 that finds nothing, and a driver whose platform comes before Morgana's.
OLD_LOADER = "int clGetPlatformIDs(unsigned n, void** p, unsigned* c) { if (c) *c = 0; return -1001; }\n" \
             "int clGetPlatformInfo(void* p, unsigned w, unsigned long n, void* v, unsigned long* s) { return -32; }\n"
OTHER_DRIVER = r"""
#include <string.h>
struct platform { void** dispatch; };
static int info(void*, unsigned, unsigned long, void*, unsigned long*);
static void* table[256];
static struct platform one = {table};
static int answer(const char* text, unsigned long room, void* value, unsigned long* size) {
  if (size) *size = strlen(text) + 1;
  if (value && room > strlen(text)) strcpy(value, text);
  return 0;
}
static int info(void* p, unsigned what, unsigned long room, void* value, unsigned long* size) {
  switch (what) {
    case 0x0900: return answer("FULL_PROFILE", room, value, size);
    case 0x0901: return answer("OpenCL 3.0 other", room, value, size);
    case 0x0904: return answer("cl_khr_icd", room, value, size);
    case 0x0920: return answer("OTHER", room, value, size);
    default: return answer("Other", room, value, size);
  }
}
static int devices(void* p, unsigned long kind, unsigned room, void** list, unsigned* number) {
  if (number) *number = 100;
  return 0;
}
static int platforms(unsigned count, void** list, unsigned* number) {
  table[1] = (void*)info;
  table[2] = (void*)devices;
  if (list && count) list[0] = &one;
  if (number) *number = 1;
  return 0;
}
int clIcdGetPlatformIDsKHR(unsigned c, void** l, unsigned* n) { return platforms(c, l, n); }
int clGetPlatformInfo(void* p, unsigned w, unsigned long n, void* v, unsigned long* s) { return info(p, w, n, v, s); }
void* clGetExtensionFunctionAddress(const char* name) {
  if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return (void*)platforms;
  if (!strcmp(name, "clGetPlatformInfo")) return (void*)info;
  return 0;
}
"""


class Doctor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def doctor(self, tool=MORGANA, limit=None, **environment):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MORGANA_", "OCL_ICD"))}
        limits = (lambda: resource.setrlimit(*limit)) if limit else None
        environment.setdefault("MORGANA_MEMORY", "256")  # less than any control group allows
        environment.setdefault("MORGANA_CACHE_DIR", str(self.folder / "cache"))
        return subprocess.run([tool, "doctor"], capture_output=True, text=True, timeout=120, preexec_fn=limits,
                              env=dict(kept, **environment))

    def finds(self, what, text, **arguments):
        result = self.doctor(**arguments)
        lines = result.stdout.splitlines()
        found = [i for i, line in enumerate(lines) if line.split()[:1] == ["WRONG"] and what in line and text in line]
        self.assertTrue(found, f"no WRONG {what}: {text}\n{result.stdout}{result.stderr}")
        self.assertIn("->", lines[found[0] + 1])
        self.assertEqual(result.returncode, 1)
        return result

    def icd_files(self, **content):
        vendors = self.folder / "vendors"
        vendors.mkdir(exist_ok=True)
        for name, text in content.items():
            (vendors / f"{name}.icd").write_text(text + "\n")
        return str(vendors)

    def library(self, name, source):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        subprocess.run([CC, "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", str(path)], input=source, text=True, check=True)
        return path

    def test_nothing_is_wrong(self):
        result = self.doctor(OCL_ICD_VENDORS=self.icd_files(morgana=str(LIBRARY)))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("a kernel was built, ran and is right", result.stdout)
        self.assertIn("Nothing is wrong.", result.stdout)

    def test_icd_file_names_a_library_that_is_not_there(self):
        self.finds("ICD file", "libnowhere.so", OCL_ICD_VENDORS=self.icd_files(a="libnowhere.so"))

    def test_icd_file_is_empty(self):
        self.finds("ICD file", "empty", OCL_ICD_VENDORS=self.icd_files(a=""))

    def test_icd_file_names_what_is_no_driver(self):
        self.finds("ICD file", "no OpenCL driver", OCL_ICD_VENDORS=self.icd_files(a="libc.so.6"))

    def test_variable_leads_elsewhere(self):
        self.finds("ICD files", "has none", OCL_ICD_VENDORS=self.icd_files())

    def test_another_platform_comes_first(self):
        other = self.library("libother.so", OTHER_DRIVER)
        vendors = self.icd_files(a=str(other), b=str(LIBRARY))
        # ocl-icd puts the platform with most GPUs first.
        self.finds("platforms", "Other, Morgana", OCL_ICD_VENDORS=vendors)

    def test_a_driver_that_crashes_is_named(self):
        for name, source in (("asked", OTHER_DRIVER.replace("  table[1] =", "  *(volatile int*)0 = 1;\n  table[1] =")),
                             ("opened", "__attribute__((constructor)) static void begin(void) { __builtin_trap(); }")):
            vendors = self.icd_files(bad=str(self.library(f"lib{name}.so", source)), morgana=str(LIBRARY))
            result = self.finds("ICD file", "bad.icd: a process that", OCL_ICD_VENDORS=vendors)
            self.assertIn("was ended by signal", result.stdout)

    def test_loader_is_old(self):
        self.library("old/libOpenCL.so.1", OLD_LOADER)
        self.finds("loader", "too old", LD_LIBRARY_PATH=str(self.folder / "old"))

    def test_loader_is_broken(self):
        (self.folder / "broken").mkdir()
        (self.folder / "broken/libOpenCL.so.1").write_text("no library")
        self.finds("loader", "libOpenCL.so.1", LD_LIBRARY_PATH=str(self.folder / "broken"))

    def test_library_is_missing(self):
        (self.folder / "bin").mkdir()
        tool = self.folder / "bin/morgana"
        shutil.copy(MORGANA, tool)
        self.finds("library", "libmorgana.so", tool=tool)

    def without_doors(self):
        (self.folder / "bin").mkdir()
        shutil.copy(MORGANA, self.folder / "bin/morgana")
        (self.folder / "lib").mkdir()
        (self.folder / "lib/libmorgana.so").symlink_to(LIBRARY)
        return dict(tool=self.folder / "bin/morgana", LD_LIBRARY_PATH=str(self.folder / "rocm"))

    def test_hip_without_a_door(self):
        self.library("rocm/libamdhip64.so.5", "int hip;")
        self.library("rocm/libhsa-runtime64.so.1", "const char* needs = \"libhsakmt.so.1\";")
        alone = self.without_doors()
        self.finds("HIP", "no door", **alone)
        self.finds("ROCm runtime", "no door", **alone)

    def test_runtime_with_its_thunk_built_in(self):
        self.library("rocm/libhsa-runtime64.so.1", "int nothing;")
        result = self.doctor(LD_LIBRARY_PATH=str(self.folder / "rocm"))
        self.assertIn("libmorgana_kfd.so", result.stdout)
        self.finds("ROCm runtime", "no door", **self.without_doors())

    def test_cache_cannot_be_written(self):
        self.finds("cache", "/proc/nowhere", MORGANA_CACHE_DIR="/proc/nowhere")

    def test_limit_of_addresses(self):
        self.finds("limit", "ulimit -v", limit=(resource.RLIMIT_AS, (2 << 30, 2 << 30)))

    def test_limit_of_files(self):
        self.finds("limit", "ulimit -n", limit=(resource.RLIMIT_NOFILE, (40, 40)))

    def test_unknown_device(self):
        self.finds("devices", "gfx999", MORGANA_DEVICES="gfx999")

    def test_unknown_option(self):
        self.finds("option", "MORGANA_DEVICE is no option", MORGANA_DEVICE="gfx90a")

    def test_device_library_is_missing(self):
        self.finds("device library", "ocml.bc", MORGANA_DEVICE_LIBS=str(self.folder))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
