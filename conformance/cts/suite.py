"""Runs the subtests of a foreign conformance suite, one process each, and judges what came out.

A front (cts.py, piglit.py) makes the list of Jobs; this module runs them under limits, keeps every result on disk
as soon as it exists (so that an interrupted run goes on where it stopped), compares with the checked-in
expectation and prints a table. Results:

  pass fail skip   as the suite says
  warn             neither passed nor failed, by the suite's own word
  crash            the process ended without a verdict, or by a signal
  timeout          it used up its processor time, or hung
  hollow           in this mode the suite reports success without running anything: not run, never counted as passed
"""
import concurrent.futures
import dataclasses
import fnmatch
import hashlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import threading
import time

RESULTS = ("pass", "fail", "skip", "crash", "timeout", "hollow", "warn")
KEPT_OUTPUT = 512 * 1024  # of each end of a subtest's output; a faulting program can write without end


@dataclasses.dataclass(frozen=True)
class Job:
    group: str          # the binary, or the suite's own grouping
    name: str           # the subtest
    command: tuple
    cwd: str
    limit: float        # seconds of processor time
    hollow: bool = False
    patience: float = 0  # seconds until a process that uses none has hung; 0: as the limit suggests

    def hang_limit(self):
        return self.patience or 6 * self.limit + 30


class Front:
    """What a suite adds: its jobs, the environment of one, and how a verdict is read from what the process left."""

    def environment(self, job, folder):
        return {}

    def verdict(self, job, folder, code, output):
        """One of pass, fail, skip, warn, or None when there is no verdict."""
        raise NotImplementedError


def read_both_ends(stream):
    """The head and the tail of what a stream yields, read until it ends."""
    head, tail, dropped = b"", b"", 0
    while chunk := stream.read1(1 << 16):
        room = KEPT_OUTPUT - len(head)
        head += chunk[:room]
        tail += chunk[max(room, 0):]
        if len(tail) > 2 * KEPT_OUTPUT:
            dropped += len(tail) - KEPT_OUTPUT
            tail = tail[-KEPT_OUTPUT:]
    gap = b"\n[... %d bytes ...]\n" % dropped if dropped else b""
    return (head + gap + tail).decode("utf-8", "replace")


def run_job(front, job, environment):
    """Runs one job in a session of its own; the outcome as a dictionary, and the output."""
    if job.hollow:
        return {"result": "hollow", "cpu": 0.0, "wall": 0.0}, ""
    def limits():
        seconds = max(1, int(job.limit))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryDirectory(prefix="morgana-suite-") as folder:
        env = {**environment, **front.environment(job, folder)}
        start, hung = time.monotonic(), threading.Event()
        child = subprocess.Popen(job.command, cwd=job.cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limits)

        def stop():
            hung.set()
            end_session(child.pid)

        watch = threading.Timer(job.hang_limit(), stop)
        watch.start()
        try:
            output = read_both_ends(child.stdout)
            _, status, usage = os.wait4(child.pid, 0)
        finally:
            watch.cancel()
            child.stdout.close()
        end_session(child.pid)  # what it may have left behind
        code = child.returncode = os.waitstatus_to_exitcode(status)
        cpu, wall = usage.ru_utime + usage.ru_stime, time.monotonic() - start
        outcome = {"cpu": round(cpu, 2), "wall": round(wall, 2)}
        if hung.is_set() or code == -signal.SIGXCPU or (code == -signal.SIGKILL and cpu >= job.limit):
            outcome.update(result="timeout", detail="hung" if hung.is_set() else f"over {job.limit:g} s of processor time")
        elif code < 0:
            outcome.update(result="crash", detail=signal.Signals(-code).name)
        else:
            verdict = front.verdict(job, folder, code, output)
            outcome["result"] = verdict or "crash"
            if verdict is None:
                outcome["detail"] = f"exit code {code} without a verdict"
        return outcome, output


def end_session(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def digest(*paths):
    """Of the files' contents: results belong to the library and the suite that gave them."""
    state = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                state.update(block)
    return state.hexdigest()[:16]


def settings(environment):
    """Of an environment, what results depend on besides the files: the switches of library and suite."""
    return " ".join(f"{key}={value}" for key, value in sorted(environment.items())
                    if key.startswith(("MORGANA_", "AMD_OCL_", "CL_")) and key != "MORGANA_CACHE_DIR")


class Store:
    """FOLDER/<group>.json, rewritten whole (write, then rename) after every subtest; FOLDER/log/<group>/<name>."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.groups = {}
        self.lock = threading.Lock()

    def load(self, group, fingerprint):
        """What earlier runs of the same build found, by subtest."""
        path = self.folder / f"{group}.json"
        try:
            kept = json.loads(path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            kept = {}
        if kept.get("fingerprint") != fingerprint:
            kept = {"fingerprint": fingerprint, "subtests": {}}
        self.groups[group] = kept
        return kept["subtests"]

    def add(self, job, outcome, output):
        log = self.folder / "log" / job.group / job.name.replace("/", "_")
        with self.lock:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(" ".join(job.command) + "\n" + output)
            self.groups[job.group]["subtests"][job.name] = outcome
            path = self.folder / f"{job.group}.json"
            part = path.with_suffix(".part")
            part.write_text(json.dumps(self.groups[job.group], indent=1, sort_keys=True) + "\n")
            part.replace(path)


class Expectation:
    """Rows `group <TAB> subtest <TAB> result <TAB> reason`. A subtest may be a pattern; an exact row wins over
    patterns, the first pattern over later ones. Everything but pass needs a reason. `hollow` is expected in the
    mode that has it, and pass in the other. What ends by chance has several results: fail|timeout."""

    def __init__(self, text, source="expectation"):
        self.exact, self.patterns = {}, []
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split("\t")
            if len(fields) not in (3, 4) or not set(fields[2].split("|")) <= set(RESULTS):
                raise ValueError(f"{source}:{number}: not 'group, subtest, result, reason'")
            group, name, result = fields[:3]
            reason = fields[3].strip() if len(fields) == 4 else ""
            if result != "pass" and not reason:
                raise ValueError(f"{source}:{number}: '{result}' without a reason")
            if any(c in name for c in "*?["):
                self.patterns.append((group, name, result, reason))
            elif (group, name) in self.exact:
                raise ValueError(f"{source}:{number}: a second row for {group} {name}")
            else:
                self.exact[group, name] = (result, reason)

    def of(self, group, name):
        if (group, name) in self.exact:
            return self.exact[group, name]
        for g, pattern, result, reason in self.patterns:
            if g == group and fnmatch.fnmatchcase(name, pattern):
                return result, reason
        return None

    def judge(self, job, result):
        """None when the result is the expected one, else the sentence that says what is wrong."""
        row = self.of(job.group, job.name)
        if row is None:
            return f"{result}, and no row expects anything"
        expected = "pass" if row[0] == "hollow" and not job.hollow else row[0]
        if result in expected.split("|"):
            return None
        why = f" ({row[1]})" if row[1] else ""
        return f"{result}, expected {expected}{why}"

    def record(self, path, jobs, results):
        """Rewrites the file: the given jobs' exact rows say what was found. A new result that is no pass gets no
        reason, and so the file cannot be read until someone wrote one."""
        lines = [line for line in path.read_text().splitlines() if line.startswith("#") or not line.strip()]
        lines += ["\t".join(row) for row in self.patterns]
        exact = dict(self.exact)
        for job in jobs:
            result, kept = results[job.group][job.name]["result"], self.of(job.group, job.name)
            if any(group == job.group and fnmatch.fnmatchcase(job.name, pattern) and found == result
                   for group, pattern, found, _ in self.patterns) and (job.group, job.name) not in exact:
                continue
            exact[job.group, job.name] = (result, kept[1] if kept and kept[0] == result else "")
        lines += ["\t".join((*key, *row)).rstrip("\t") for key, row in sorted(exact.items())]
        path.write_text("\n".join(lines) + "\n")

    def groups(self):
        return {group for group, _ in self.exact} | {row[0] for row in self.patterns}

    def vanished(self, jobs, chosen):
        """What was chosen, as (group, pattern), and cannot be judged: subtests that have a row but no job, and choices
        that give no job at all."""
        names = {(job.group, job.name) for job in jobs}
        missing = {key for key in self.exact if key not in names and
                   any(key[0] == group and fnmatch.fnmatchcase(key[1], pattern) for group, pattern in chosen)}
        empty = {(group, pattern) for group, pattern in chosen
                 if not any(g == group and fnmatch.fnmatchcase(name, pattern) for g, name in names)}
        return sorted(missing | empty)


def table(results):
    """Markdown: one row a group, and the sum."""
    lines = ["| binary | subtests | pass | fail | crash | time-out | skip | hollow | warn | CPU s |", "|---|" + "---:|" * 9]
    total = dict.fromkeys(("n", "cpu") + RESULTS, 0)
    for group in sorted(results):
        row = dict.fromkeys(("n", "cpu") + RESULTS, 0)
        for outcome in results[group].values():
            row["n"] += 1
            row["cpu"] += outcome["cpu"]
            row[outcome["result"]] += 1
        for key, value in row.items():
            total[key] += value
        lines.append(_line(group, row))
    lines.append(_line("**all**", total))
    return "\n".join(lines)


def _line(title, row):
    cells = [row[key] or "" for key in ("n", "pass", "fail", "crash", "timeout", "skip", "hollow", "warn")]
    return "| " + " | ".join(str(c) for c in [title, *cells, f"{row['cpu']:.0f}"]) + " |"


def run(front, jobs, store, fingerprints, expectation, environment, workers=1, again="", say=print,
        record=None, missing=()):
    """Runs what has no result yet; 0 when every result is the expected one. `again`: "" keeps earlier results,
    "bad" repeats those that were not expected, "all" repeats everything. `record`: the file that is to expect, from
    now on, what came out. `missing`: sentences about what should have been among the jobs; each is as bad as a
    wrong result."""
    earlier = {group: store.load(group, f"{fingerprint} {settings(environment)}".strip())
               for group, fingerprint in fingerprints.items()}
    due = []
    for job in jobs:
        kept = earlier[job.group].get(job.name)
        if kept is None or again == "all" or (again == "bad" and expectation.judge(job, kept["result"])):
            due.append(job)
    if len(due) < len(jobs):
        say(f"{len(jobs) - len(due)} results of an earlier run, {len(due)} to run")

    def work(job):
        outcome, output = run_job(front, job, environment)
        store.add(job, outcome, output)
        wrong = expectation.judge(job, outcome["result"])
        mark = "WRONG " if wrong else ""
        say(f"{mark}{job.group} {job.name}: {wrong or outcome['result']}"
            f"{' - ' + outcome['detail'] if 'detail' in outcome else ''}  [{outcome['cpu']:.1f} s]")

    # Long ones first would be better balanced, but which are long is not known before.
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(work, job) for job in due]
        try:
            for future in concurrent.futures.as_completed(waiting):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise

    results, wrong = {}, list(missing)
    for job in jobs:
        outcome = store.groups[job.group]["subtests"][job.name]
        results.setdefault(job.group, {})[job.name] = outcome
        sentence = expectation.judge(job, outcome["result"])
        if sentence:
            wrong.append(f"{job.group} {job.name}: {sentence}")
    if record is not None:
        expectation.record(record, jobs, results)
    say("")
    say(table(results))
    for sentence in wrong:
        say(f"WRONG {sentence}")
    absent = f", {len(missing)} missing" if missing else ""
    say(f"{len(jobs)} subtests, {len(wrong) - len(missing)} not as expected{absent}")
    return 1 if wrong else 0
