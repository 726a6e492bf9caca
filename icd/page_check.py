#!/usr/bin/python3
"""The page of `morgana profile --html`, opened by a browser that has no network: its console is empty.

    page_check.py MORGANA PROGRAMS BROWSER [PICTURE.png]

PROGRAMS is icd_profile_test, BROWSER a Chromium. With PICTURE the page as a reader sees it (docs/profiling.md has one).
"""
import os
import pathlib
import subprocess
import sys
import tempfile

morgana, programs, browser = sys.argv[1:4]
with tempfile.TemporaryDirectory() as name:
    page = pathlib.Path(name) / "page.html"
    subprocess.run([morgana, "profile", "--html", str(page), "--", programs, "--gtest_also_run_disabled_tests",
                    "--gtest_filter=Programs.DISABLED_Planted"], check=True, capture_output=True, timeout=120)
    words = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={name}/user",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--log-level=0", "--window-size=1000,1570"]
    picture = [f"--screenshot={sys.argv[4]}"] if len(sys.argv) > 4 else ["--dump-dom"]
    # A namespace without interfaces, where that may be had.
    alone = ["unshare", "-rn"] if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0 else []
    shown = subprocess.run([*alone, *words, *picture, page.as_uri()], capture_output=True, text=True, timeout=120,
                           env={**os.environ, "HOME": name})
    console = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
    for line in console:
        print(line)
    good = shown.returncode == 0 and not console and (len(sys.argv) > 4 or "bank conflicts" in shown.stdout)
    print("right" if good else f"wrong: {shown.returncode}\n{shown.stderr[-2000:]}")
    sys.exit(not good)
