#!/usr/bin/env python3
"""Tries the packages in bare roots of Debian, one line a check: check.py --packages DIR --bin DIR ROOT...

A ROOT is a folder that `mmdebstrap bookworm|trixie|forky ROOT` made. What the checks need besides is installed in it from the network:
loader, clinfo, PyOpenCL; PoCL and its LLVM when no LLVM may be there no longer. Then the recipes of docs/ci.md run. To be run as root.
Exits 1 when a check fails.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = ["ocl-icd-libopencl1", "clinfo", "python3-numpy", "python3-pyopencl", "libpng16-16"]
REMOVE = "dpkg -r --force-depends morgana"
FOLDER = "/srv/a folder/morgana"  # whereto the tarball is moved after it was unpacked elsewhere

# Both platforms of one process build and run the same program, each before and after the other.
TWO_PLATFORMS = r"""
import numpy, pyopencl as cl
platforms = {p.name: p for p in cl.get_platforms()}
assert len(platforms) == 2 and "Morgana" in platforms, list(platforms)
source = "kernel void f(global int* x) { x[get_global_id(0)] = popcount((int)get_global_id(0)) * SCALE; }"
for scale in (1, 2, 3):
    for name in sorted(platforms, reverse=scale == 2):
        context = cl.Context(platforms[name].get_devices()[:1])
        queue = cl.CommandQueue(context)
        program = cl.Program(context, source).build(f"-DSCALE={scale}", cache_dir=False)
        x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 4096)
        program.f(queue, (4096,), None, x).wait()
        host = numpy.empty(4096, numpy.int32)
        cl.enqueue_copy(queue, host, x)
        assert all(host == [scale * bin(i).count("1") for i in range(4096)]), name
print("two platforms:", ", ".join(platforms))
"""


class Root:
    def __init__(self, path, packages, binaries):
        self.path, self.failed = path, 0
        self.name = next(line.split("=")[1].strip().strip('"') for line in (path / "etc/os-release").read_text().splitlines()
                         if line.startswith("PRETTY_NAME"))
        place = path / "work"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        self.tarball, = packages.glob("morgana-*-x86_64.tar.gz")
        self.deb, = packages.glob("morgana_*_amd64.deb")
        for file in (self.tarball, self.deb):
            shutil.copy(file, place)
        # The samples as Debian 12 built them, without its tool.
        shutil.copytree(binaries, place / "samples/build/bin", ignore=lambda folder, names: [
            n for n in names if not (pathlib.Path(folder, n).is_dir() or n.endswith(".o") or n in SAMPLES)])
        for item in ("run.py", "life.py", "trap.py", "heat.hip", "data", "trap"):
            source = HERE.parent / "samples" / item
            (shutil.copytree if source.is_dir() else shutil.copy)(source, place / "samples" / item)
        (place / "two_platforms.py").write_text(TWO_PLATFORMS)

    def run(self, script):
        """A shell script in the root, with the mounts of a running system that vanish with it."""
        mounts = "mount -t proc proc proc; mount --rbind /sys sys; mount --rbind /dev dev; mount -t tmpfs tmpfs tmp; "
        return subprocess.run(["unshare", "--mount", "sh", "-c",
                               f'cd "$0" && {mounts} exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root '
                               'DEBIAN_FRONTEND=noninteractive sh -euc "$1"', str(self.path), script],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800)

    def check(self, what, script, wanted=""):
        result = self.run(script)
        passed = result.returncode == 0 and wanted in result.stdout
        print(f"{self.name}: {what}: {'right' if passed else 'FAILED'}", flush=True)
        if not passed:
            self.failed += 1
            print(result.stdout)

    def files(self):
        result = self.run("find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log "
                          "-o -path /var/cache -o -path /root/.cache -o -path /work \\) -prune -o -print | sort")
        return set(result.stdout.splitlines())

    def all(self):
        # PyOpenCL wants a driver to be installed: without Morgana's package it would bring PoCL and LLVM.
        self.check("the .deb is installed with what needs a driver",
                   f"apt-get update -qq; apt-get install -y -qq --no-install-recommends /work/{self.deb.name} {' '.join(TOOLS)}")
        self.check("the .deb is removed", REMOVE)
        self.check("no LLVM", "! find / -xdev -name 'libLLVM*.so*' -o -xdev -name 'libclang*.so*' | grep .")
        before = self.files()
        self.check("the tarball is unpacked and moved",
                   f"rm -rf /opt/*; tar -C /opt -xf /work/{self.tarball.name}; mkdir -p '{pathlib.Path(FOLDER).parent}'; "
                   f"mv /opt/morgana-* '{FOLDER}'; rm -f /work/samples/build/bin/morgana; "
                   f"ln -s '{FOLDER}/bin/morgana' /work/samples/build/bin/morgana")
        with_library = f"export OCL_ICD_VENDORS='{FOLDER}/lib/libmorgana.so'; "
        self.check("clinfo", with_library + "clinfo", "Morgana")
        self.check("morgana doctor", f"'{FOLDER}/bin/morgana' doctor")
        self.check("every sample", "cd /work/samples; python3 run.py --bin build/bin --out /tmp/out", "all samples are correct")
        self.check("morgana run --require",
                   f"cd /work/samples; '{FOLDER}/bin/morgana' run --require --summary -- build/bin/saxpy; "
                   f"'{FOLDER}/bin/morgana' run --require -- true && exit 1 || test $? = 3")
        self.check("the folder is removed", f"rm -rf '{pathlib.Path(FOLDER).parent}'")
        self.no_trace(before)

        self.check("the .deb is installed", f"dpkg -i /work/{self.deb.name}")
        self.check("clinfo without any variable", "clinfo -l", "Morgana")
        self.check("morgana doctor, installed", "morgana doctor")
        self.check("a sample without the launcher", "/work/samples/build/bin/sgemm")
        self.check("PyOpenCL", "cd /work/samples; python3 life.py")
        self.check("the .deb is removed again", REMOVE)
        self.no_trace(before)

        self.check("beside PoCL and its LLVM", f"dpkg -i /work/{self.deb.name}; "
                   "apt-get install -y -qq --no-install-recommends pocl-opencl-icd; python3 /work/two_platforms.py", "two platforms: ")
        self.hip()
        self.run(REMOVE + "; apt-get purge -y -qq pocl-opencl-icd python3-pyopencl hipcc libamdhip64-dev; apt-get autoremove --purge -y -qq")
        self.recipes()
        self.run("rm -rf /work")
        return self.failed

    def hip(self):
        """samples/heat.hip, built by the root's own hipcc, which brings AMD's runtime and compiler."""
        self.check("HIP is installed", "apt-get install -y -qq --no-install-recommends hipcc libamdhip64-dev")
        self.check("a HIP program is built", "cd /work/samples; hipcc --offload-arch=gfx90a -o heat heat.hip")
        self.check("a HIP program, .deb", "cd /work/samples; morgana run --require --summary -- ./heat")
        self.check("a HIP program, tarball", f"{REMOVE}; tar -C /srv -xf /work/{self.tarball.name}; cd /work/samples; "
                   "/srv/morgana-*/bin/morgana run --require -- ./heat; /srv/morgana-*/bin/morgana run --require --summary --door kfd -- ./heat", "stepEPKfPf")
        self.run("rm -rf /srv/morgana-*")

    def recipes(self):
        """Every recipe of docs/ci.md as it is printed. `curl` gives the file of that name in /work; ./my-tests is a sample."""
        text = (HERE.parent / "docs/ci.md").read_text()
        shell = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        gitlab = next(block for block in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if "image:" in block)
        lines = "".join(line[6:] + "\n" for line in gitlab.splitlines() if line.startswith("    - ") and "MORGANA_DEVICES" not in line)
        action = (HERE.parent / "action.yml").read_text()
        step = "".join(line[8:] + "\n" for line in action.split("run: |\n")[1].split("    - if:")[0].splitlines())
        docker = next(line[4:] for line in (HERE.parent / "Dockerfile").read_text().splitlines() if line.startswith("RUN "))
        place = self.path / "work"
        (place / "packaging").mkdir()
        shutil.copy(HERE / "ci.sh", place / "packaging")
        (place / "curl").write_text('#!/bin/sh\nfor last; do :; done\nfile=/work/$(basename "$last")\n'
                                    'case "$*" in *-fsSLO*) cp "$file" . ;; *" -o "*) while [ "$1" != -o ]; do shift; done; cp "$file" "$2" ;; '
                                    '*) cat "$file" ;; esac\n')
        begin = ("mkdir -p /usr/local/bin /root/job; install -m 755 /work/curl /usr/local/bin/curl; PATH=/usr/local/bin:$PATH; "
                 "cd /root/job; cp /work/samples/build/bin/saxpy my-tests\n")
        self.check("recipes: plain shell", begin + shell, "saxpy")
        for device in ("gfx90a", "gfx942"):
            self.check(f"recipes: GitLab, {device}", begin + "rm -rf /opt/*; export CI_PROJECT_DIR=$PWD MORGANA_CACHE_DIR=$PWD/.morgana-cache "
                       f"MORGANA_DEVICES={device}\n" + lines + "ls .morgana-cache/*\n", device)
        for package in (self.tarball.name, self.deb.name):
            self.check(f"recipes: GitHub, {package}", begin + "touch path; export GITHUB_ACTION_PATH=/work GITHUB_ENV=$PWD/env GITHUB_PATH=$PWD/path "
                       f"PACKAGE=https://example.org/{package} FOLDER= MORGANA_DEVICES=gfx90a\ncat >step <<'STEP'\n{step}STEP\nbash -e step\n"
                       "cat env path; unset MORGANA_DEVICES; set -a; . ./env; set +a; PATH=$(head -n 1 path):$PATH\n"
                       "./my-tests; morgana run --require --summary -- ./my-tests", "gfx90a")
        self.run(REMOVE)
        self.check("recipes: Dockerfile", f"{begin}cp /work/{self.deb.name} /tmp; {docker}; ./my-tests; morgana doctor", "saxpy")
        self.run(f"{REMOVE}; rm -rf /root/job /root/morgana /root/.cache/morgana /usr/local/bin/curl /opt/morgana-*")

    def no_trace(self, before):
        traces = sorted(self.files() ^ before)
        print(f"{self.name}: no trace is left: {'FAILED: ' + ' '.join(traces[:20]) if traces else 'right'}", flush=True)
        self.failed += bool(traces)


SAMPLES = {"saxpy", "reduction", "histogram", "sha256", "sgemm", "nbody", "mandelbrot", "stencil"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=pathlib.Path, default=HERE.parent / "build/package")
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent / "build/release/bin")
    parser.add_argument("roots", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    failed = sum(Root(root.resolve(), arguments.packages, arguments.bin).all() for root in arguments.roots)
    print("everything is right" if failed == 0 else f"{failed} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
