#!/usr/bin/env python3
"""What runs programs over several hosts (cluster.py, hosts.py), without PoCL.

  cluster_test.py PROGRAM LIBRARY    what it reads and refuses; cluster_devices on one, two and three GPUs of this host
  cluster_test.py --network          hosts in namespaces; exits with 77 where none can be made
"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import cluster
import hosts

NOT_ALLOWED = 77
PROGRAM = LIBRARY = None


class Reads(unittest.TestCase):
    def test_a_result(self):
        result = cluster.Result.read("device gfx950\nresult devices=2 seconds=1.5 digest=00ff error=1e-6 right\n")
        self.assertEqual(result, cluster.Result(2, 1.5, "00ff", True))
        self.assertFalse(cluster.Result.read("result devices=2 seconds=1.5 wrong=3 WRONG\n").right)

    def test_no_result_and_two_are_failures(self):
        for text in ("", "step 1\n", "result devices=1 right\nresult devices=1 right\n"):
            with self.assertRaises(cluster.Failure):
                cluster.Result.read(text)

    def test_counters_and_ports(self):
        text = json.dumps([{"ifname": "cluster1", "stats64": {"rx": {"bytes": 7}, "tx": {"bytes": 5}}}])
        self.assertEqual(hosts.counters(text), (5, 7))
        table = "  sl  local_address rem_address   st tx_queue\n" \
                "   0: 0B004D0A:1E61 00000000:0000 0A 00000000:00000000\n   1: 0B004D0A:0050 0100007F:C350 01 00000000:00000000\n"
        self.assertEqual(hosts.listening_ports(table), {7777})

    def test_processor_seconds(self):
        ticks = os.sysconf("SC_CLK_TCK")
        stat = f"12 (a (b) c) S 1 12 12 0 -1 4194560 100 0 0 0 {3 * ticks} {ticks} 7 7 20 0"
        self.assertEqual(hosts.processor_seconds(stat), 4)

    def test_traffic_is_a_difference(self):
        self.assertEqual(hosts.Traffic(10, 20, 30) - hosts.Traffic(1, 2, 3), hosts.Traffic(9, 18, 27))

    def test_remote_devices_by_address(self):
        pocl = cluster.Pocl(pathlib.Path("/p/pocld"), pathlib.Path("/p/libpocl.so"))
        environment = cluster.remote_environment(pocl, ["10.0.0.1", "10.0.0.2"], "/cache")
        self.assertEqual(environment["OCL_ICD_VENDORS"], "/p/libpocl.so")
        self.assertEqual(environment["POCL_DEVICES"], "remote remote")
        self.assertEqual(environment["POCL_REMOTE1_PARAMETERS"], "10.0.0.2:7777/0")


class Refuses(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def touch(self, *names):
        for name in names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).touch()

    def missing(self, *arguments):
        self.touch("library", "program")
        return cluster.what_is_missing(cluster.read_options(
            [str(self.folder), "--library", str(self.folder / "library"), "--program", str(self.folder / "program"), *arguments]))

    def test_a_build_and_an_installation_are_found(self):
        self.touch("pocld/pocld", "lib/CL/libpocl.so")
        self.assertEqual(cluster.Pocl.find(self.folder).library, self.folder / "lib/CL/libpocl.so")
        self.touch("prefix/bin/pocld", "prefix/lib/x86_64-linux-gnu/libpocl.so.2")
        self.assertEqual(cluster.Pocl.find(self.folder / "prefix").library, self.folder / "prefix/lib/x86_64-linux-gnu/libpocl.so.2")

    def test_a_build_without_the_daemon(self):
        self.touch("lib/CL/libpocl.so")
        self.assertRegex(" ".join(self.missing("--only", "work")), "no pocld/pocld: .*ENABLE_REMOTE_SERVER")

    def test_the_suite_is_never_left_out_silently(self):
        self.touch("pocld/pocld", "lib/CL/libpocl.so")
        self.assertEqual(self.missing("--only", "work", "end"), [])
        self.assertRegex(" ".join(self.missing("--only", "work", "cts")), "cts needs --cts CTS_BUILD.*--only work$")
        self.assertEqual(self.missing("--only", "cts", "--cts", str(self.folder)), [])

    def test_bodies_that_two_hosts_cannot_share(self):
        self.touch("pocld/pocld", "lib/CL/libpocl.so")
        self.assertRegex(" ".join(self.missing("--only", "work", "--bodies", "300")), "multiple of 512")


class Devices(unittest.TestCase):
    """cluster_devices on GPUs of this host."""

    def run_on(self, count, *words):
        environment = cluster.library_environment(LIBRARY, MORGANA_DEVICES=",".join(["gfx90a"] * count))
        done = subprocess.run([PROGRAM, *words], env=environment, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def test_bodies_move_alike_on_any_number_of_devices(self):
        results = []
        for count in (1, 2, 3):
            code, said, _ = self.run_on(count, "bodies", "1024", "2")
            self.assertEqual(code, 0, said)
            results.append(cluster.Result.read(said))
        self.assertEqual([result.devices for result in results], [1, 2, 3])
        self.assertEqual(len({result.digest for result in results}), 1)
        _, other, _ = self.run_on(1, "bodies", "1024", "3")
        self.assertNotEqual(cluster.Result.read(other).digest, results[0].digest)

    def test_stream_launches_and_list(self):
        for words in (("stream", "1", "2"), ("launches", "3")):
            code, said, _ = self.run_on(2, *words)
            self.assertEqual((code, cluster.Result.read(said).right), (0, True))
        self.assertEqual(self.run_on(2, "list")[1].count("device gfx90a"), 2)

    def test_errors_end_with_a_sentence(self):
        code, _, said = self.run_on(2, "bodies", "256", "1")
        self.assertEqual((code, said), (1, "failed: a share has a multiple of 256 bodies\n"))


CHUNK = 10000  # bytes that lie in the sockets' buffers, however small these are


def echo(connection, size):
    for _ in range(size // CHUNK):
        connection.sendall(b"x" * CHUNK)
        left = CHUNK
        while left:
            left -= len(connection.recv(left))


SERVER = """
import socket
listener = socket.create_server(("", 7777))
while True:
    connection, _ = listener.accept()
    while data := connection.recv(65536):
        connection.sendall(data)
"""


class Network(unittest.TestCase):
    """Inside the namespaces."""

    @classmethod
    def setUpClass(cls):
        cls.network = hosts.Network()
        cls.log = tempfile.NamedTemporaryFile()
        for _ in range(2):
            cls.serve(cls.network.add())

    @classmethod
    def serve(cls, host):
        host.start([sys.executable, "-c", SERVER], dict(os.environ), cls.log.name)
        hosts.wait_until(lambda: host.listens(7777), "a server")

    def connect(self, host):
        connection = socket.create_connection((host.address, 7777), timeout=10)
        self.addCleanup(connection.close)
        return connection

    def check_bytes_between_hosts(self):
        before = self.network.traffic()
        subprocess.run(self.network.hosts[0].command(sys.executable, os.path.abspath(__file__), "--echo", "1000000"), check=True)
        traffic = self.network.traffic() - before
        self.assertGreater(traffic.between, 2000000)
        self.assertLess(traffic.sent + traffic.received, 10000)

    def test_hosts_have_names_and_networks(self):
        names = [subprocess.run(host.command("hostname"), capture_output=True, text=True, check=True).stdout for host in self.network.hosts]
        self.assertEqual(names, ["host1\n", "host2\n"])
        self.assertNotIn(socket.gethostname(), ("host1", "host2"))

    def test_a_failure_can_tell_which_program_ended(self):
        host = self.network.hosts[0]
        self.assertEqual(host.state(), "host1: runs")
        child = host.start(["sh", "-c", "kill -SEGV $$"], dict(os.environ), self.log.name)
        child.wait()
        self.assertEqual(host.state(), "host1: runs, ended with -11")
        host.children.remove(child)

    def test_bytes_are_counted_once_each(self):
        before = self.network.traffic()
        echo(self.connect(self.network.hosts[0]), 1000000)
        traffic = self.network.traffic() - before
        for count in (traffic.sent, traffic.received):
            self.assertTrue(1000000 < count < 1200000, traffic)
        self.assertLess(traffic.between, 10000)
        self.check_bytes_between_hosts()

    def test_an_ended_host_closes_and_a_cut_one_is_silent(self):
        host = self.network.hosts[1]
        connection = self.connect(host)
        echo(connection, 3000000)
        host.end()
        with self.assertRaises(ConnectionError):
            if connection.recv(1) == b"":
                raise ConnectionResetError
        host = self.network.replace(host)
        self.serve(host)
        self.check_bytes_between_hosts()
        connection = self.connect(host)
        echo(connection, CHUNK)
        connection.settimeout(0.5)
        host.cut()
        connection.sendall(b"x")
        with self.assertRaises(TimeoutError):
            connection.recv(1)
        self.serve(self.network.replace(host))


def network_test():
    """The tests of Network inside; then nothing of them may be left."""
    try:
        hosts.check_allowed()
    except hosts.NotAllowed as error:
        print(error)
        return NOT_ALLOWED
    mark = f"cluster-test-{os.getpid()}"
    command = [*hosts.unshare_command(), sys.executable, os.path.abspath(__file__), "--inside", mark]
    done = subprocess.run(command, timeout=120)
    left = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if mark in read(path)]
    links = subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
    if left or "cluster" in links:
        print(f"left behind: {left}, {links}")
        return 1
    # One that is killed leaves nothing either.
    child = subprocess.Popen([*hosts.unshare_command(), sys.executable, os.path.abspath(__file__), "--wait", mark], stdout=subprocess.PIPE)
    child.stdout.readline()
    child.kill()
    child.wait()
    child.stdout.close()
    hosts.wait_until(lambda: not any(mark in read(path) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")), "the end of every process")
    return done.returncode


def read(path):
    try:
        return path.read_text()
    except OSError:
        return ""


def wait(mark):
    network = hosts.Network()
    host = network.add()
    host.start(["sh", "-c", f"sleep 600; : {mark}"], dict(os.environ), "/dev/null")
    print("ready", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    if sys.argv[1] == "--network":
        sys.exit(network_test())
    if sys.argv[1] == "--wait":
        sys.exit(wait(sys.argv[2]))
    if sys.argv[1] == "--echo":
        sys.exit(echo(socket.create_connection(("10.77.0.12", 7777)), int(sys.argv[2])))
    if sys.argv[1] == "--inside":
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Network)
    else:
        PROGRAM, LIBRARY = sys.argv[1:3]
        suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, (Reads, Refuses, Devices)))
    sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())
