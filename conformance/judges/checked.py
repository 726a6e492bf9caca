"""Runs a program under the checks: which kinds of findings it has."""
import json
import os
import pathlib
import subprocess
import tempfile

LIMIT = 60  # seconds of a case
CHECKS = "memory,race:lanes,barrier,init"


def kinds_found(command, library, device, checks=CHECKS, statuses=(0,), has_kernels=True, **variables):
    """The kinds that the checks report of a program; raises RuntimeError where it was not checked or ended with another
    status than one of these."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report"
        environment = {**os.environ, "MORGANA_CHECK": checks, "MORGANA_CHECK_REPORT": str(report), "MORGANA_DEVICES": device,
                       "OCL_ICD_VENDORS": str(library), "OCL_ICD_FILENAMES": str(library), "MORGANA_WATCHDOG": "20",
                       "PYOPENCL_NO_CACHE": "1", **variables}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT)
        summary = [line for line in done.stderr.splitlines() if line.startswith("checked: ")]
        if done.returncode not in statuses or not summary or (has_kernels and "checked: 0 " in summary[-1]) or " 0 unchecked" not in summary[-1]:
            raise RuntimeError(done.stderr.strip()[-2000:] or "it was not checked")
        lines = report.read_text().splitlines() if report.exists() else []
        return {json.loads(line)["kind"] for line in lines}
