"""Runs a program under the checks: which kinds of findings it has."""
import json
import os
import pathlib
import subprocess
import tempfile

LIMIT = 60  # seconds of a case
CHECKS = "memory,race:lanes,barrier,init"


def kinds_found(command, library, device, checks=CHECKS, statuses=(0,), has_kernels=True, limit=LIMIT, **variables):
    """The kinds that the checks report of a program; raises RuntimeError where it was not checked or ended with another
    status than one of these."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report"
        environment = {**os.environ, "MORGANA_CHECK": checks, "MORGANA_CHECK_REPORT": str(report), "MORGANA_DEVICES": device,
                       "OCL_ICD_VENDORS": str(library), "OCL_ICD_FILENAMES": str(library), "MORGANA_WATCHDOG": str(limit // 3),
                       "PYOPENCL_NO_CACHE": "1", **variables}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit)
        lines = report.read_text().splitlines() if report.exists() else []
        kinds = {json.loads(line)["kind"] for line in lines}
        summary = [line for line in done.stderr.splitlines() if line.startswith("checked: ")]
        is_checked = summary and not (has_kernels and "checked: 0 " in summary[-1]) and " 0 unchecked" in summary[-1]
        # A signal leaves no time for a summary.
        if done.returncode not in statuses or not is_checked and not (done.returncode < 0 and kinds):
            raise RuntimeError(done.stderr.strip()[-2000:] or "it was not checked")
        return kinds
