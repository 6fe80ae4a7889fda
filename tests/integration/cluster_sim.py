"""Agents of a cluster in virtual time (tests/sim/cluster_sim.h): real nodes over a transport that loses, repeats,
delays and reorders, while agents die, are cut off, and the server is away or forgets everything. And the auditor
bites: two mutations of the lease protocol are caught."""
import concurrent.futures

import harness

SEEDS = 100 if harness.FULL else 12
TROUBLE = ["--lost", "50", "--kills", "30", "--cuts", "8", "--downs", "5"]
SMALL = ["--agents", "8", "--urls", "600", "--hosts", "80", "--addresses", "25"]


def sim(*words):
    """The figures of one run, and its exit status."""
    result = harness.run([f"{harness.OUT}/sim", *words], 300)
    rows = [line.split(" = ") for line in result.stdout.splitlines() if " = " in line]
    return result.returncode, {row[0]: int(row[1].split()[0]) for row in rows}, result.stderr


def seeds(report, _):
    """Whatever happens, no promise is broken, nothing is missing, and it ends by itself."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda s: sim(*SMALL, *TROUBLE, "--seed", str(s)), range(1, SEEDS + 1)))
    for seed, (code, figures, errors) in enumerate(runs, 1):
        report.check(f"seed {seed} ({figures.get('sim.kills')} kills, "
                     f"{figures.get('sim.fetched_again')} fetched again)", code == 0, errors[-300:])


def limit(report, _):
    """A limit of all agents together is never exceeded."""
    for seed in range(1, 4):
        code, figures, errors = sim(*SMALL, *TROUBLE, "--seed", str(seed), "--limit", "200")
        report.check(f"at most 200 pages ({figures.get('sim.pages')})",
                     code == 0 and figures["sim.pages"] <= 200, errors[-300:])


def mutations(report, _):
    """What the protocol needs, it needs: without it, promises are broken in one of a few runs."""
    few = ["--agents", "8", "--urls", "600", "--hosts", "80", "--addresses", "12", "--lost", "50", "--kills", "60"]
    for mutation in ("floor", "lease"):
        broken = [sim(*few, "--mutation", mutation, "--seed", str(seed))[1].get("sim.violations", 0)
                  for seed in range(1, 7)]
        report.check(f"{mutation} is caught ({broken})", any(broken), "no violation in six runs")


if __name__ == "__main__":
    harness.main(seeds, limit, mutations)
