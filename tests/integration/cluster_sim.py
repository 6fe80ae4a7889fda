"""Agents of a cluster in virtual time (tests/sim/cluster_sim.h): distributor, workbench, ingest, database and node are
the real ones; the transport loses, repeats, delays and reorders; agents die and are cut off, the server is away or
forgets everything, slots move. And the auditor bites: `make mutants` plants what tests/sim/mutants lists."""
import concurrent.futures
import os
import shutil
import subprocess

import harness

MUTANT_SEEDS = int(os.environ.get("SEEDS", 60))
SEEDS = 500 if harness.FULL else 20  # twice
TROUBLE = ["--lost", "50", "--kills", "16", "--stops", "8", "--cuts", "8", "--downs", "5"]
SMALL = ["--agents", "5", "--urls", "700", "--hosts", "80", "--addresses", "15", "--host-urls", "60"]


def sim(*words):
    """The figures of one run, and its exit status."""
    result = harness.run([f"{harness.OUT}/sim", *words], 600)
    rows = [line.split(" = ") for line in result.stdout.splitlines() if " = " in line]
    return result.returncode, {row[0]: float(row[1].split()[0]) for row in rows}, result.stderr


def many(runs):
    """(words, figures, exit status, errors) of each, two at a time."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda words: (words, *sim(*words)), runs))


def many_seeds(report, first, *words):
    runs = many([*SMALL, *TROUBLE, *words, "--seed", str(seed)] for seed in range(first, first + SEEDS))
    for words, code, figures, errors in runs:
        report.check(f"seed {words[-1]} ({figures.get('sim.kills')} kills, {figures.get('sim.moves')} moves, "
                     f"{figures.get('sim.fetched_again')} fetched again)", code == 0, errors[-300:])


def seeds(report, _):
    """Whatever happens, no promise is broken, nothing is missing or fetched twice, and it ends by itself."""
    many_seeds(report, 1)


def moving(report, _):
    """The same while slots move, agents come and are drained."""
    many_seeds(report, 1 + SEEDS, "--moves", "8")


def moves(report, _):
    """Slots move, agents come and are drained; nobody dies: no page is fetched again."""
    for words, code, figures, errors in many([*SMALL, "--lost", "20", "--moves", "12", "--seed", str(seed)]
                                             for seed in range(1, 7)):
        report.check(f"seed {words[-1]}: {figures.get('sim.moves')} moves, nothing twice",
                     code == 0 and figures["sim.moves"] > 0 and figures["sim.fetched_again"] == 0, errors[-300:])


def returns(report, _):
    """Backups take the place of directories, 20 and more of them: what they do not hold is fetched again, and nothing
    is missing that any page links to. While slots move, too."""
    done = 0
    for words, code, figures, errors in many([*SMALL, *more, "--returns", "8", "--seed", str(seed)]
                                             for more in ([], [*TROUBLE], [*TROUBLE, "--moves", "6"])
                                             for seed in range(1, 1 + SEEDS // 5)):
        done += figures.get("sim.returns", 0)
        report.check(f"seed {words[-1]} ({figures.get('sim.returns')} returns, {figures.get('sim.forgotten')} pages "
                     f"forgotten, {figures.get('sim.fetched_again')} fetched again)", code == 0, errors[-300:])
    report.check(f"{done} backups were put back", done >= 20, done)


def orders(report, _):
    """All agents are paused by an order to one, and go on by another: whoever is told to have heard of it begins no
    request, and whoever is away begins none at its return."""
    for words, code, figures, errors in many([*SMALL, *TROUBLE, "--cuts", "20", "--kills", "30", "--orders", "20", *more,
                                              "--seed", str(seed)]
                                             for more in ([], ["--moves", "6"]) for seed in range(1, 1 + SEEDS // 3)):
        report.check(f"seed {words[-1]}: {figures.get('sim.orders')} orders", code == 0, errors[-300:])


def strays(report, _):
    """Agents come with other settings while servers forget those of the crawl: nobody becomes a member by others while
    one that can be asked runs, and no two members run by different ones."""
    for words, code, figures, errors in many([*SMALL, *TROUBLE, "--strays", "12", "--downs", "12", *more, "--seed",
                                              str(seed)]
                                             for more in ([], ["--moves", "6"]) for seed in range(1, 1 + SEEDS // 3)):
        report.check(f"seed {words[-1]}: {figures.get('sim.strays')} with other settings", code == 0, errors[-300:])


def troubles(report, _):
    """Machines that stand still without their clocks showing it, commits that fail, directories that go on on another
    machine while the former one's requests do, and looks that are answered out of date; alone and all together."""
    every = ["--stills", "6", "--fails", "8", "--machines", "8", "--stale", "4000"]
    for more in (every[:2], every[2:4], every[4:6], every[6:], [*every, *TROUBLE], [*every, *TROUBLE, "--moves", "6"]):
        for words, code, figures, errors in many([*SMALL, *more, "--seed", str(seed)]
                                                 for seed in range(1, 2 + SEEDS // 6)):
            report.check(f"{' '.join(more)}, seed {words[-1]}: {figures.get('sim.stills')} stood still, "
                         f"{figures.get('sim.fails')} commits failed, {figures.get('sim.kills')} kills",
                         code == 0, errors[-300:])


def limit(report, _):
    """A limit of all agents together is never exceeded, and when nobody dies it is used up exactly.
    Of 208, 282 and 297 the end was found while an agent did not know yet what another one had given back."""
    for seed in (*range(1, 7), 208, 282, 297):
        calm = seed in (2, 4, 6)
        code, figures, errors = sim(*SMALL, *([] if calm else TROUBLE), "--seed", str(seed), "--limit", "200")
        pages = figures.get("sim.pages", 0)
        report.check(f"limit 200, seed {seed}: {pages} pages",
                     code == 0 and (pages == 200 if calm else pages <= 200), errors[-300:])


def read_mutants():
    """(name, what is taken away, how it is to be noticed, source, old lines, new lines) of each."""
    text = open("tests/sim/mutants").read()
    for block in text.split("\n\n")[1:]:
        head, source, *lines = block.strip("\n").split("\n")
        name, rest = head.split(": ", 1)
        what, how = rest.split(" | ")
        yield (name, what, how, source, "".join(f"{line[1:]}\n" for line in lines if line.startswith("-")),
               "".join(f"{line[1:]}\n" for line in lines if line.startswith("+")))


def make_mutant(name, how, source, old, new):
    """The program with it: the simulation, or the unit test."""
    text = open(source).read()
    if text.count(old) != 1:
        raise ValueError(f"{source} does not have the lines once")
    folder = f"{harness.OUT}/mutants/{name}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/mutant.c", "w") as file:
        file.write(text.replace(old, new))
    program = f"{folder}/{'unit' if how.startswith('test_') else 'sim'}"
    made = subprocess.run(["make", f"OUT={harness.OUT}", f"UNIT={how}", program], capture_output=True, text=True)
    if made.returncode != 0:
        raise ValueError(made.stderr[-500:])
    return program


def mutants(report, _):
    """What the code needs, it needs: each mutant of tests/sim/mutants is noticed. Only with `make mutants`."""
    if not os.environ.get("MUTANTS"):
        report.check("left to `make mutants`", True, "")
        return
    only = os.environ.get("ONLY", "").split()
    for name, what, how, source, old, new in read_mutants():
        if only and name not in only:
            continue
        program = make_mutant(name, how, source, old, new)
        said, tries = "", 0
        while not said and tries < MUTANT_SEEDS:
            tries += 1
            unit = how.startswith("test_")
            words = [] if unit else [*SMALL, *how.split(), "--seed", str(tries)]
            result = subprocess.run([program, *words], capture_output=True, text=True, timeout=600)
            wrong = [line for line in result.stderr.splitlines() if line.startswith("sim: ")]
            said = (wrong or [f"exit status {result.returncode}"])[0] if result.returncode != 0 else ""
        report.check(f"{name}, without {what}: noticed in run {tries} ({said[:90]})", said, "nobody notices")
        shutil.rmtree(os.path.dirname(program))


if __name__ == "__main__":
    harness.main(seeds, moving, moves, returns, orders, limit, strays, troubles, mutants)
