#!/usr/bin/env python3
"""Runs programs over two hosts whose GPUs are Morgana's: ./dev cluster POCL_BUILD --cts CTS_BUILD [--only PART...]

The hosts are network namespaces of this machine (hosts.py). POCL_BUILD is a build of PoCL, or where one is installed, with
ENABLE_REMOTE_CLIENT and ENABLE_REMOTE_SERVER; CTS_BUILD one of OpenCL-CTS with test_buffers and test_events. Neither is a part of this
project. Parts:

  work  an OpenCL program on the GPU of this host, of one other host, of two: times and bytes
  end   a host ends, and another falls silent, in the middle of work: the program must get an error soon
  cts   OpenCL-CTS's buffers and events on a remote device
  mpi   the same work by MPI, a rank and a GPU a host

Exit code 0: all is as expected; 1: something is not; 2: a part cannot be run here.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "cts"))

import cts
import hosts
import suite

PORT = 7777
PARTS = ("work", "end", "cts", "mpi")
LIMIT = 300       # seconds for one program
END_LIMIT = 60.0  # seconds until a program must have noticed that a host is gone
ATTEMPTS = 6      # runs of a subtest of the conformance suite, until it gives what is expected
GROUPS = ("test_buffers", "test_events")


class Failure(Exception):
    """Something is not as expected."""


@dataclasses.dataclass(frozen=True)
class Pocl:
    daemon: pathlib.Path
    library: pathlib.Path

    @staticmethod
    def find(folder):
        """In a build folder or under an installation's prefix."""
        def first(*patterns):
            found = [path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.is_file()]
            if not found:
                raise FileNotFoundError(f"{folder} has no {patterns[0]}: PoCL is built with ENABLE_REMOTE_CLIENT, ENABLE_REMOTE_SERVER and ENABLE_ICD")
            return found[0].absolute()
        return Pocl(first("pocld/pocld", "bin/pocld"), first("lib/CL/libpocl.so*", "lib/libpocl.so*", "lib/*/libpocl.so*"))


@dataclasses.dataclass(frozen=True)
class Result:
    """The line that cluster_devices and ranks end with."""
    devices: int
    seconds: float
    digest: str
    right: bool

    @staticmethod
    def read(text):
        lines = re.findall(r"^result (.*)$", text, re.M)
        if len(lines) != 1:
            raise Failure(f"no result: {text.strip()[-1000:] or 'no output'}")
        words = lines[0].split()
        values = dict(word.split("=", 1) for word in words if "=" in word)
        return Result(int(values["devices"]), float(values.get("seconds", 0)), values.get("digest", ""), "right" in words)


def library_environment(library, **more):
    return {**os.environ, "OCL_ICD_VENDORS": str(library), "OCL_ICD_FILENAMES": str(library), **more}


def remote_environment(pocl, addresses, cache):
    """Of a client whose devices are the first ones of the daemons at `addresses`."""
    places = {f"POCL_REMOTE{i}_PARAMETERS": f"{address}:{PORT}/0" for i, address in enumerate(addresses)}
    return library_environment(pocl.library, POCL_BUILDING="1", POCL_DEVICES=" ".join(["remote"] * len(addresses)),
                               POCL_CACHE_DIR=str(cache), **places)


def megabytes(count):
    return f"{count / 1e6:.2f}"


@dataclasses.dataclass(frozen=True)
class Cost:
    traffic: hosts.Traffic
    processor: float  # seconds, of the program and of the daemons


class Cluster:
    """Two hosts with a daemon each."""

    def __init__(self, options):
        self.options, self.pocl = options, options.pocl
        self.log = options.out / "log"
        self.run = options.out / "run"
        shutil.rmtree(self.run, ignore_errors=True)
        self.run.mkdir(parents=True)
        self.log.mkdir(exist_ok=True)
        tempfile.tempdir = str(self.run)
        # Standard input that never has anything: PoCL 7.1's client polls it by mistake, and takes two processors where it has ended.
        os.mkfifo(self.run / "silence")
        self.silence = os.open(self.run / "silence", os.O_RDWR)
        self.network = hosts.Network()
        for _ in range(2):
            self.serve(self.network.add())

    def device_environment(self, **more):
        """Of what executes kernels."""
        return library_environment(self.options.library, MORGANA_THREADS=str(self.options.threads),
                                   MORGANA_CACHE_DIR=str(self.options.out / "cache"), TMPDIR=str(self.run), **more)

    def serve(self, host):
        daemon = host.start([str(self.pocl.daemon), "-a", host.address, "-p", str(PORT)], self.device_environment(),
                            self.log / f"{host.name}.log")
        hosts.wait_until(lambda: daemon.poll() is not None or host.listens(PORT), f"pocld on {host.name}")
        if daemon.poll() is not None:
            raise Failure(f"pocld on {host.name} ended with {daemon.returncode}: {self.log}/{host.name}.log")

    def renew(self):
        """New daemons: a second program often gets no answer from one of PoCL 7.1."""
        for host in self.network.hosts:
            host.end()
            self.serve(host)

    def client_environment(self, count):
        environment = remote_environment(self.pocl, [host.address for host in self.network.hosts[:count]], self.run / "pocl")
        return {**environment, "TMPDIR": str(self.run)}

    def processor_seconds(self):
        """Of programs that have ended, and of the daemons."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime + sum(host.processor_seconds() for host in self.network.hosts)

    def call(self, words, environment):
        """What a program says that must end well, and what it took."""
        before, spent = self.network.traffic(), self.processor_seconds()
        done = subprocess.run(words, env=environment, stdin=self.silence, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode != 0:
            raise Failure(f"{' '.join(map(str, words))} ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-1000:]}")
        return done.stdout, Cost(self.network.traffic() - before, self.processor_seconds() - spent)

    def devices(self, count, *words):
        """cluster_devices on the devices of so many hosts; 0: on this host's, without PoCL."""
        environment = self.client_environment(count) if count else self.device_environment()
        self.renew()
        text, cost = self.call([str(self.options.program), *map(str, words)], environment)
        result = Result.read(text)
        if not result.right and words[0] != "list" or result.devices != max(count, 1):
            raise Failure(f"{' '.join(map(str, words))} on {count} hosts: {text.strip()[-1000:]}")
        return result, cost, text


def work(cluster, options, say):
    """Alternating runs, so that what else the machine does meets them alike; the medians."""
    say(cluster.devices(2, "list")[2].rstrip())
    say("| work | GPU | seconds | of one host's | processor s | MB sent | MB received | MB between hosts |\n|---|---|" + "---:|" * 6)
    for words in (("bodies", options.bodies, options.steps), ("stream", options.mebibytes, 4), ("launches", 1000)):
        found = {count: [] for count in (0, 1, 2)}
        for _ in range(options.repeat):
            for count, runs in found.items():
                runs.append(cluster.devices(count, *words)[:2])
        digests = {result.digest for runs in found.values() for result, _ in runs}
        if len(digests) != 1:
            raise Failure(f"{words[0]}: results differ: {digests}")
        seconds = {count: statistics.median(result.seconds for result, _ in runs) for count, runs in found.items()}
        for count, runs in found.items():
            processor = statistics.median(cost.processor for _, cost in runs)
            traffic = runs[-1][1].traffic
            cells = (" ".join(map(str, words)), ("here", "of one host", "of two hosts")[count], f"{seconds[count]:.4g}",
                     f"{seconds[count] / seconds[1]:.2f}", f"{processor:.2f}", *map(megabytes, dataclasses.astuple(traffic)))
            say("| " + " | ".join(cells) + " |")


def end(cluster, options, say):
    for title, act in (("its daemon is killed", lambda host: host.end()), ("its cable is pulled", lambda host: host.cut())):
        host = cluster.network.hosts[1]
        cluster.renew()
        with open(cluster.log / "end.log", "w") as log:
            child = subprocess.Popen([str(options.program), "bodies", str(options.bodies), "100000"], env=cluster.client_environment(2),
                                     stdin=cluster.silence, stdout=log, stderr=log)
        try:
            hosts.wait_until(lambda: child.poll() is not None or "step 2\n" in (cluster.log / "end.log").read_text(), "work on two hosts", 120)
            if child.poll() is not None:
                raise Failure(f"the program ended before the host did: {(cluster.log / 'end.log').read_text()[-1000:]}")
            act(host)
            begin = time.monotonic()
            code = child.wait(END_LIMIT)
        except subprocess.TimeoutExpired:
            raise Failure(f"{host.name}, {title}: the program hangs for {END_LIMIT:g} s") from None
        finally:
            child.kill()
            child.wait()
        seconds, said = time.monotonic() - begin, (cluster.log / "end.log").read_text()
        failed = re.findall(r"^failed: .*$", said, re.M)
        if code == 0 or not failed:
            raise Failure(f"{host.name}, {title}: the program ended with {code} and no error of a call: {said[-1000:]}")
        say(f"{host.name}, {title}: after {seconds:.1f} s the program has an error: {failed[-1]}")
        cluster.serve(cluster.network.replace(host))
        cluster.devices(2, "bodies", 4096, 2)
        say(f"a new {host.name} serves on")


class Remote(cts.Cts):
    """Each subtest has daemons of its own."""

    def __init__(self, cluster):
        self.cluster = cluster

    def environment(self, job, folder):
        self.cluster.renew()
        return super().environment(job, folder)


def conformance(cluster, options, say):
    binaries = cts.read_binaries()
    chosen = [(name, "*") for name in GROUPS]
    jobs, paths, absent = cts.make_jobs(options.cts.resolve(), binaries, chosen, "reduced")
    silent = ("sh", "-c", f'exec "$@" <>"{cluster.run}/silence"', "sh")
    jobs = [dataclasses.replace(job, command=silent + job.command, patience=20) for job in jobs]
    path = HERE / "remote_expected.tsv"
    expectation = suite.Expectation(path.read_text(), path)
    missing = absent + cts.missing_sentences(expectation.vanished(jobs, chosen))
    environment = {**cluster.client_environment(1), "CL_WIMPY_MODE": "1"}
    before = cluster.network.traffic()
    # A fresh folder each time: results belong to three builds, and they take a minute.
    store = options.out / "cts"
    shutil.rmtree(store, ignore_errors=True)
    store = suite.Store(store)
    for attempt in range(ATTEMPTS):
        wrong = suite.run(Remote(cluster), jobs, store, {name: "" for name in paths}, expectation, environment, say=say, missing=missing,
                          again="bad" if attempt else "")
        if not wrong or missing:
            break
        say(f"attempt {attempt + 1} of {ATTEMPTS}: what is not as expected runs again, for PoCL's client crashes now and then (docs/cluster.md)")
    traffic = cluster.network.traffic() - before
    say(f"{megabytes(traffic.sent)} MB sent, {megabytes(traffic.received)} MB received")
    if wrong:
        raise Failure("the conformance suite gives other results than expected")


def remote_shell(cluster):
    """What mpirun calls instead of ssh: PROGRAM ADDRESS COMMAND..."""
    cases = "".join(f"  {host.address}) exec {' '.join(host.command('sh', '-c'))} \"$*\" ;;\n" for host in cluster.network.hosts)
    path = cluster.run / "shell"
    path.write_text(f"#!/bin/sh\naddress=$1\nshift\ncase $address in\n{cases}esac\necho \"no host $address\" >&2\nexit 1\n")
    path.chmod(0o755)
    return path


def mpi(cluster, options, say):
    program, network = cluster.run / "ranks", f"{hosts.CLIENT.rpartition('.')[0]}.0/24"
    cluster.call(["mpicxx", "-std=c++17", "-O2", "-Wno-ignored-attributes", "-I", str(ROOT), str(HERE / "ranks.cpp"), "-lOpenCL", "-o", str(program)],
                 dict(os.environ))
    environment = cluster.device_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    wanted = cluster.devices(0, "bodies", options.bodies, options.steps)[0].digest
    first = None
    for ranks in (1, 2):
        places = ",".join(f"{host.address}:1" for host in cluster.network.hosts[:ranks])
        text, cost = cluster.call(
            ["mpirun", "--mca", "plm_rsh_agent", str(remote_shell(cluster)), "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", network,
             "--mca", "oob_tcp_if_include", network, "--bind-to", "none", "-n", str(ranks), "--host", places, str(program),
             str(options.bodies), str(options.steps)], environment)
        result = Result.read(text)
        seen = set(re.findall(r"^rank \d+ on (\S+):", text, re.M))
        if not result.right or result.devices != ranks or result.digest != wanted or len(seen) != ranks:
            raise Failure(f"MPI, {ranks} ranks on {sorted(seen)}: {text.strip()[-1000:]}")
        first = first or result.seconds
        say(f"MPI, {ranks} rank{'s' * (ranks > 1)} on {', '.join(sorted(seen))}: {result.seconds:.3f} s, {result.seconds / first:.2f} of one; "
            f"{megabytes(cost.traffic.between)} MB between hosts, "
            f"{megabytes(cost.traffic.sent + cost.traffic.received)} MB of mpirun's")


def read_options(arguments):
    parser = argparse.ArgumentParser(prog="./dev cluster", description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, metavar="POCL_BUILD", help="build folder of PoCL, or the prefix of an installation")
    parser.add_argument("--cts", type=pathlib.Path, metavar="CTS_BUILD", help="build folder of OpenCL-CTS; needed by the part cts")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=f"of {', '.join(PARTS)}; all without it")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build/release/lib/libmorgana.so")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/cluster_devices")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/cluster", help="where logs and results are kept (build/cluster)")
    parser.add_argument("--threads", type=int, default=1, help="MORGANA_THREADS of each host (1)")
    parser.add_argument("--bodies", type=int, default=32768, help="a multiple of 512 (32768)")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--mebibytes", type=int, default=64, help="of the stream (64)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each work, of which the median is shown (3)")
    options = parser.parse_args(arguments)
    for name in ("out", "library", "program"):
        setattr(options, name, getattr(options, name).absolute())
    return options


def what_is_missing(options):
    """Sentences; none: everything that was asked for can be run."""
    missing = [f"no {path}: ./dev cluster builds it" for path in (options.library, options.program) if not path.is_file()]
    try:
        options.pocl = Pocl.find(options.build)
    except FileNotFoundError as error:
        missing.append(str(error))
    if "cts" in options.only and options.cts is None:
        missing.append(f"the part cts needs --cts CTS_BUILD; without it: --only {' '.join(part for part in options.only if part != 'cts')}")
    if "mpi" in options.only and not (shutil.which("mpirun") and shutil.which("mpicxx")):
        missing.append("the part mpi needs mpirun and mpicxx (Debian: openmpi-bin, libopenmpi-dev)")
    if options.bodies <= 0 or options.bodies % 512:
        missing.append("--bodies: a multiple of 512")
    return missing


def say(text):
    print(text, flush=True)


def main(arguments):
    options = read_options(arguments)
    missing = what_is_missing(options)
    try:
        if not missing:
            hosts.enter([sys.executable, str(HERE / "cluster.py"), *arguments])
    except hosts.NotAllowed as error:
        missing.append(str(error))
    if missing:
        say("\n".join(f"cluster: {sentence}" for sentence in missing))
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    part, cluster = "start", None
    try:
        cluster = Cluster(options)
        for part in options.only:
            say(f"== {part}")
            {"work": work, "end": end, "cts": conformance, "mpi": mpi}[part](cluster, options, say)
    except (Failure, RuntimeError, subprocess.TimeoutExpired) as error:
        # What a broken part leaves of the hosts would judge the others.
        say(f"WRONG {part}: {error}")
        for host in cluster.network.hosts if cluster else ():
            say(f"the daemon of {host.state()}")
        say(f"cluster: not as expected (logs: {options.out}/log)")
        return 1
    finally:
        shutil.rmtree(options.out / "run", ignore_errors=True)
    say(f"cluster: {len(options.only)} parts, all as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
