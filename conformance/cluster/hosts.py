"""Hosts that are network namespaces, in a sandbox that leaves nothing behind.

enter() starts this program again as the first process of namespaces of its own (processes, mounts, network): when it ends, however it
ends, the kernel ends every process in there and takes the networks away. Inside, Network joins hosts by a bridge; a Host has a network,
an address and a name of its own, and counts bytes."""
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

INSIDE = "MORGANA_CLUSTER_INSIDE"
BRIDGE, CLIENT = "cluster", "10.77.0.1"
LISTENS = "0A"  # the state of a listening socket in /proc/net/tcp


class NotAllowed(Exception):
    """This machine gives no namespaces; the text says what to do."""


def unshare_command():
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *as_root, "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def check_allowed():
    """Raises NotAllowed unless namespaces, virtual links and a bridge can be made."""
    trial = f"ip link add {BRIDGE} type bridge && ip link add cluster1 type veth peer name eth0"
    try:
        done = subprocess.run([*unshare_command(), "sh", "-c", trial], capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        raise NotAllowed("there is no unshare (package util-linux)") from None
    if done.returncode != 0:
        raise NotAllowed(f"no network namespace can be made here: {(done.stderr or done.stdout).strip().splitlines()[-1:] or ['?']}\n"
                         "It takes ip (package iproute2) and root, or unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
                         "on Ubuntu also\nkernel.apparmor_restrict_unprivileged_userns=0); in a container --privileged.")


def enter(arguments):
    """Starts `arguments` inside and does not return; returns when this process is inside already."""
    if os.environ.get(INSIDE) == "1":
        return
    check_allowed()
    sys.stdout.flush()
    command = [*unshare_command(), *arguments]
    os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})


def ip(*words, host=None):
    command = ["ip", *words] if host is None else host.command("ip", *words)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def counters(text):
    """(sent, received) in bytes of the one link that `ip -json -statistics link show` tells of."""
    statistics = json.loads(text)[0]["stats64"]
    return statistics["tx"]["bytes"], statistics["rx"]["bytes"]


def listening_ports(text):
    """Of /proc/net/tcp."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == LISTENS}


def processor_seconds(text):
    """Of /proc/PID/stat; the second field, a name in parentheses, may have blanks."""
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Traffic:
    """Bytes, with what Ethernet, IP and TCP add, since the network was made."""
    sent: int = 0      # by the client
    received: int = 0  # by the client
    between: int = 0   # from host to host

    def __sub__(self, other):
        return Traffic(self.sent - other.sent, self.received - other.received, self.between - other.between)


class Host:
    """A network namespace with a name of its own, held by a process that sleeps."""

    def __init__(self, number):
        self.name, self.address, self.link = f"host{number}", f"10.77.0.{10 + number}", f"cluster{number}"
        self.children = []
        self.holder = subprocess.Popen(["unshare", "--net", "--uts", "sleep", "infinity"], start_new_session=True)
        own = os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own, "a network namespace")
        # With a hardware address of its own: who replaces a host must be found under the one that others remember.
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "address", f"02:4d:4f:52:47:{number:02x}", "netns", str(self.holder.pid))
        ip("link", "set", self.link, "master", BRIDGE, "up")
        subprocess.run(self.command("hostname", self.name), check=True)
        for words in (("link", "set", "lo", "up"), ("addr", "add", f"{self.address}/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
            ip(*words, host=self)

    def command(self, *words):
        """What runs `words` on this host."""
        return ["nsenter", f"--target={self.holder.pid}", "--net", "--uts", "--", *words]

    def start(self, words, environment, log):
        with open(log, "ab") as file:
            child = subprocess.Popen(self.command(*words), env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                     start_new_session=True)
        self.children.append(child)
        return child

    def listens(self, port):
        return port in listening_ports(pathlib.Path(f"/proc/{self.holder.pid}/net/tcp").read_text())

    def sent(self):
        """Bytes since it was made."""
        return counters(ip("-json", "-statistics", "link", "show", self.link))[1]

    def processor_seconds(self):
        """Of what was started on it and has not ended."""
        return sum(processor_seconds(pathlib.Path(f"/proc/{child.pid}/stat").read_text()) for child in self.children)

    def state(self):
        """A sentence on what was started on it, for the report of a failure."""
        codes = [child.poll() for child in self.children]
        return f"{self.name}: " + (", ".join("runs" if code is None else f"ended with {code}" for code in codes) or "nothing runs")

    def cut(self):
        """Nothing comes from or to this host from now on, and nobody is told."""
        ip("link", "set", self.link, "down")

    def end(self):
        """Its processes end at once; its kernel goes on and closes their connections."""
        for child in self.children:
            child.send_signal(signal.SIGKILL)
            child.wait()
        self.children = []

    def leave(self):
        self.end()
        ip("link", "delete", self.link)
        self.holder.kill()
        self.holder.wait()


class Network:
    """The client's end of it, and its hosts."""

    def __init__(self):
        ip("link", "set", "lo", "up")
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{CLIENT}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        self.hosts = []
        self.from_replaced = 0  # bytes that hosts had sent before they were replaced

    def add(self):
        self.hosts.append(Host(len(self.hosts) + 1))
        return self.hosts[-1]

    def replace(self, host):
        """A new one with its name and address."""
        self.from_replaced += host.sent()
        host.leave()
        place = self.hosts.index(host)
        self.hosts[place] = Host(place + 1)
        return self.hosts[place]

    def traffic(self):
        sent, received = counters(ip("-json", "-statistics", "link", "show", BRIDGE))
        from_hosts = self.from_replaced + sum(host.sent() for host in self.hosts)
        return Traffic(sent, received, max(from_hosts - received, 0))


def wait_until(condition, what, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} did not come within {seconds:g} s")
        time.sleep(0.02)
