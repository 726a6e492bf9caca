#!/usr/bin/python3
"""HIP programs recorded, replayed on both tiers, profiled and traced.

    insight_test.py MORGANA BIN

BIN has `heat` (two streams, shared memory) and `rocm_features` (a cooperative launch, among others).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MORGANA, BIN = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def expect(good, what):
    if not good:
        failures.append(what)
        print("FAILED:", what)


def run(*words, **variables):
    return subprocess.run([str(word) for word in words], env={**os.environ, **variables}, capture_output=True,
                          text=True, errors="replace", timeout=200)


def recorded(program, folder, tier):
    """The capsules of a program's dispatches; those that ask the host for something never end without it."""
    made = run(MORGANA, "run", "--", BIN / program, MORGANA_RECORD=str(folder), MORGANA_JIT=tier)
    expect(made.returncode == 0, f"{program} ends with {made.returncode} while it is recorded: {made.stdout[-500:]}")
    return [path for path in sorted(folder.glob("*.mgd"))
            if not any(name in path.name for name in ("greet", "say", "lists"))]


def replays(capsules):
    for capsule in capsules:
        for tier in "off", "sync":
            made = subprocess.run([MORGANA, "replay", f"--jit={tier}", str(capsule)], capture_output=True, text=True,
                                  env={"MORGANA_WATCHDOG": "60", "MORGANA_CACHE": "0"}, cwd="/", timeout=200)
            expect(made.returncode == 0 and "equal: every byte" in made.stdout,
                   f"{capsule.name} on {tier}: {made.stdout}{made.stderr}")


def is_time(value):
    return isinstance(value, (int, float)) and value >= 0


def judge(trace):
    """Each event has the fields of the Trace Event Format, and no other ones."""
    kinds = {"X": {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"}, "M": {"ph", "name", "pid", "tid", "args"}}
    expect(set(trace) == {"traceEvents", "displayTimeUnit"} and trace["displayTimeUnit"] == "ns", "the trace's fields")
    rows = {(event["pid"], event["tid"]) for event in trace["traceEvents"] if event["ph"] == "M"}
    queues = set()
    for event in trace["traceEvents"]:
        good = (set(event) == kinds.get(event["ph"]) and isinstance(event["name"], str)
                and isinstance(event["args"], dict) and isinstance(event["pid"], int)
                and isinstance(event["tid"], int))
        if good and event["ph"] == "X":
            good = is_time(event["ts"]) and is_time(event["dur"]) and isinstance(event["cat"], str)
            if event["cat"] == "dispatch":
                queues.add((event["pid"], event["tid"]))
        if good and event["ph"] == "M":
            good = event["name"] == "thread_name" and isinstance(event["args"]["name"], str)
        expect(good, f"an event of the trace: {event}")
    expect(len(queues) >= 2 and queues <= rows, f"dispatches of two queues in rows of their own: {queues}")


def profiled(folder):
    files = {kind: folder / f"heat.{kind}" for kind in ("json", "html", "trace")}
    words = [word for kind, path in files.items() for word in (f"--{kind}", path)]
    made = run(MORGANA, "profile", *words, "--", BIN / "heat")
    expect(made.returncode == 0, f"the profile of heat ends with {made.returncode}: {made.stderr[-500:]}")
    kernel = next(one for one in json.loads(files["json"].read_text())["kernels"] if "step" in one["name"])
    # 2 plates, 50 steps of 256 x 256 points in tiles of 16 x 16.
    expect((kernel["launches"], kernel["groups"], kernel["waves"]) == (100, 100 * 256, 100 * 256 * 4),
           f"launches, groups, waves: {kernel['launches']} {kernel['groups']} {kernel['waves']}")
    ends = sum(one["executions"] for one in kernel["instructions"] if one["text"] == "s_endpgm")
    expect(ends == kernel["waves"], f"{ends} waves end")
    # Every point is stored once a step.
    stored = sum(one["global_bytes"] for one in kernel["instructions"] if one["text"].startswith("global_store"))
    expect(stored == 100 * 256 * 256 * 4, f"{stored} bytes are stored")
    expect("step" in files["html"].read_text(), "the page names the kernel")
    judge(json.loads(files["trace"].read_text()))


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    capsules = recorded("heat", folder / "interpreted", "off")
    expect(len(capsules) > 100, f"{len(capsules)} dispatches of heat")
    replays(capsules[:4] + capsules[50:52])
    replays(recorded("heat", folder / "compiled", "sync")[-4:])
    features = recorded("rocm_features", folder / "features", "sync")
    replays([one for one in features if "sum_of_all" in one.name] + features[:5])
    replays([one for one in features if one.name[:4] in ("0007", "0008")])  # managed and registered memory
    profiled(folder)
print(f"{len(failures)} failures")
sys.exit(bool(failures))
