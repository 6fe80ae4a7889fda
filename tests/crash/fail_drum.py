"""DRUM over sorted runs, at each call of a short run: the call fails, or is the last before a kill;
the power is cut after it; an allocation fails. What it promised before must hold afterwards.

    tests/crash/fail_drum.py        30 operations; FULL=1: 300
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import harness  # noqa: E402

OPERATIONS = 300 if harness.FULL else 30
PROGRAM = os.path.abspath(f"{harness.OUT}/crash/crash_drum")
# A sanitizer has an allocator of its own.
WAYS = "calls power" if harness.SANITIZED else "calls power memory"


def disturbed(report, _path):
    result = harness.run(
        ["tests/crash/crash-each", "drum over runs",
         f'{PROGRAM} work "$STATE" {OPERATIONS}',
         f'{PROGRAM} check "$STATE" {OPERATIONS}'],
        timeout=7200 if harness.FULL else 250,
        env=dict(os.environ, MODE=os.path.basename(harness.OUT), WAYS=WAYS,
                 ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"))
    counts = dict((what, int(n)) for n, what in re.findall(r"(\d+) (calls|events|states|wrong)",
                                                         result.stdout))
    report.check(f"drum over runs: as promised after {counts.get('states')} disturbances",
                 result.returncode == 0 and counts.get("wrong") == 0 and
                 min(counts.get(k, 0) for k in ("calls", "events")) >= OPERATIONS // 2,
                 f"exit {result.returncode}: {result.stdout[-1500:]}{result.stderr[-500:]}")


if __name__ == "__main__":
    harness.main(disturbed)
