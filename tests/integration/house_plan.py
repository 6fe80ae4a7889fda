"""The plan of the house (src/ROOMS) is held by tests/lint/rooms: what is planted in a copy of the tree is
found and named, and the copy without it passes."""
import contextlib
import io
import os
import runpy
import shutil
import subprocess
import sys

import harness

LINT = os.path.abspath("tests/lint/rooms")
DIAGRAMS = os.path.abspath("tests/lint/diagrams")
HEADERS = os.path.abspath("tests/lint/headers")
TROUBLES = os.path.abspath("tests/lint/troubles")
WALK = os.path.abspath("tests/lint/walk")


def house(path):
    """A copy of the sources, to plant things in."""
    shutil.copytree("src", f"{path}/src")
    return path


def plant(path, name, text):
    with open(f"{path}/src/{name}", "w") as file:
        file.write(text)


def compile_into(path, *names):
    """The objects of planted sources, where the lint looks for them."""
    for name in names:
        target = f"{path}/objects/src/{name[:-2]}.o"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        subprocess.run(["cc", "-c", f"-I{path}/src", f"{path}/src/{name}", "-o", target], check=True)


def judge(lint, *arguments):
    """Exit status and lines of one of the scripts in tests/lint, which runs in this process."""
    said, arguments_before = io.StringIO(), sys.argv
    try:
        sys.argv = [lint, *arguments]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            runpy.run_path(lint, run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code or 0
    finally:
        sys.argv = arguments_before
    return status, said.getvalue().splitlines()


def findings(path, objects=None):
    """Of the rooms. Without objects of its own the copy is judged by includes alone."""
    return judge(LINT, path, objects or f"{path}/objects")


def expect(report, name, found, *lines):
    report.equal(name, found, (1, list(lines)))


def sound(report, path):
    report.equal("the tree keeps the plan, calls included", findings(".", harness.OUT), (0, []))
    report.equal("so does a copy of it", findings(house(path)), (0, []))


def circle_of_calls(report, path):
    house(path)
    plant(path, "base/core/result_a.c", "void b_b(void);\nvoid a_a(void)\n{\n    b_b();\n}\n")
    plant(path, "base/core/result_b.c", "void a_a(void);\nvoid b_b(void)\n{\n    a_a();\n}\n")
    with open(f"{path}/src/ROOMS") as file:
        rooms = file.read()
    plant(path, "ROOMS", rooms.replace("base/core  ", "base/core  result_a result_b "))
    report.equal("without objects calls are not seen", findings(path), (0, []))
    compile_into(path, "base/core/result_a.c", "base/core/result_b.c")
    expect(report, "source files that call each other", findings(path),
           "source files call each other: base/core/result_a base/core/result_b",
           "    base/core/result_a.c -> base/core/result_b.c (b_b)",
           "    base/core/result_b.c -> base/core/result_a.c (a_a)")


def add(path, name, text):
    with open(f"{path}/src/{name}", "a") as file:
        file.write(text)


def planted(report, path):
    """Everything in one copy: each plant is found, and nothing else."""
    house(path)
    # By its header one includes the other, by its source the other the one.
    add(path, "base/core/clock.c", '#include "base/core/result.h"\n')
    add(path, "base/core/result.h", '#include "base/core/clock.h"\n')
    plant(path, "base/core/hash.c", "\n" * 901)
    plant(path, "base/core/result.c", "int f(void)\n{\n" + "    ;\n" * 61 + "}\n")
    plant(path, "base/core/error.c", "int f(void)\n{\n" + "    ;\n" * 60 + "}\n")
    plant(path, "parse/text/entities_table.c", "\n" * 5000)
    for name in ("clock", "result"):
        add(path, f"base/core/{name}.c", "static int complain(void)\n{\n}\n")
    add(path, "base/core/hash.c", '#include "crawl/exit_status.h"\n')
    with open(f"{path}/src/fetch/transfer/transfer.c") as file:
        lines = len(file.read().splitlines())
    add(path, "fetch/transfer/transfer.c", '#include "store/pages/page_db.h"\n')
    shutil.move(f"{path}/src/parse/robots/robots_line.c", f"{path}/src/parse/trap/robots_line.c")
    plant(path, "parse/text/stranger.c", "")
    plant(path, "stray.c", "")
    os.makedirs(f"{path}/src/parse/attic")
    plant(path, "parse/attic/digest_old.c", "")
    os.remove(f"{path}/src/parse/trap/README.md")
    add(path, "ROOMS", "command/nothing  nothing\n")
    plant(path, "base/memory/buffer.c",
          "int f(int a, int b)\n{\n    int c = a ? 1 : b;\n    g(a ? 1 : 2, b ? 3 : 4);\n"
          "    c = a == 1   ? 1\n        : b == 2 ? 2\n                 : 3;\n"
          "    return a ? g(b ? '?' : 2) : c; /* a ? b ? c : d : e */\n}\n")
    plant(path, "base/memory/arena.c",
          "int f(int a)\n{\n    int rc = g();\n    rc = rc == RESULT_OK ? h(\"a ? b\") : rc;\n"
          "    rc =\n        rc == 0 ? g() : rc;\n    a = a == 0 ? 1 : a;\n"
          "    a = (a ? 1 : 2) ? 3 : 4;\n    return rc == RESULT_OK ? g() : rc;\n}\n")
    expected = {
        "a folder that is no room": ["src/parse/attic: is no room of src/ROOMS"],
        "a room without files, or without README.md": [
            "src/parse/trap: has no README.md",
            "src/command/nothing: a room without files",
            "src/command/nothing: has no README.md"],
        "files in the wrong room": [
            "src/stray.c: belongs into a room",
            "src/parse/attic/digest_old.c: in the wrong room, its module belongs to none",
            "src/parse/text/stranger.c: in the wrong room, its module belongs to none",
            "src/parse/trap/robots_line.c: in the wrong room, its module belongs to parse/robots"],
        "a room that includes a later one": ["src/base/core/hash.c:902: base/core may not include crawl"],
        "fetch that includes store": [f"src/fetch/transfer/transfer.c:{lines + 1}: fetch may not include store"],
        "modules that include each other, one by its header, one by its source": [
            "modules include each other: base/core/clock base/core/result"],
        "a static function whose name another file has": [
            "static complain() stands in src/base/core/clock.c src/base/core/result.c"],
        "a file and a function that are too long, but for tables": [
            "src/base/core/hash.c: 902 lines, a file has at most 900",
            "src/base/core/result.c:2: a function of 61 lines, they have at most 60"],
        "ternaries within ternaries, and codes that are given themselves": [
            "src/base/memory/arena.c:8: a ternary within another one",
            "src/base/memory/arena.c:4: rc is given itself: an if, or goto done",
            "src/base/memory/arena.c:5: rc is given itself: an if, or goto done",
            "src/base/memory/buffer.c:6: a ternary within another one",
            "src/base/memory/buffer.c:8: a ternary within another one"]}
    status, found = findings(path)
    for name, sought in expected.items():
        report.equal(name, [line for line in found if line in sought], sought)
    report.equal("and nothing else", (status, found), (1, [line for sought in expected.values() for line in sought]))


def change(path, name, *replacements):
    """Replaces texts, each of which stands in the file, in a copy of the tree."""
    with open(f"{path}/{name}") as file:
        text = file.read()
    for old, new in replacements:
        assert old in text, (name, old)
        text = text.replace(old, new, 1)
    with open(f"{path}/{name}", "w") as file:
        file.write(text)


def diagrams(report, path):
    house(path)
    shutil.copy("ARCHITECTURE.md", path)
    os.makedirs(f"{path}/docs", exist_ok=True)
    shutil.copy("docs/trouble.md", f"{path}/docs")
    report.equal("the diagrams are true", judge(DIAGRAMS, path), (0, []))
    change(path, "src/fetch/dns/resolver.c", ('"dns", resolver_main', '"names", resolver_main'))
    change(path, "src/page/parsing.c", ("queue_init(&parsing->queue", "queue_init(&x) + queue_init(&y"))
    change(path, "src/frontier/visit/visit_state.h", ("VISIT_STATE_ASKING,", "VISIT_STATE_RESTING,"))
    change(path, "src/store/tables/host_rows.h", ('"waits"', '"patience"'))
    change(path, "ARCHITECTURE.md", ("purge_visit_states()", "purge_all()"))
    change(path, "ARCHITECTURE.md", ("`visit_state.h`", "`visit_status.h`"))
    change(path, "docs/trouble.md", ("`outage.h`", "`outages.h`"))
    report.equal("what they name and is not there, and what is there and they do not name",
                 judge(DIAGRAMS, path), (1, [
        "purge_all() is in a diagram, and nowhere in src",
        "threads: names is not in the diagram", "threads: dns is in the diagram, and nowhere else",
        "queues: 8 are in the diagram, the sources make 9",
        "places of a visit state: RESTING is not in the diagram",
        "places of a visit state: ASKING is in the diagram, and nowhere else",
        "tables: patience is not in the diagram", "tables: waits is in the diagram, and nowhere else",
        "ARCHITECTURE.md names visit_status.h, which is gone", "docs/trouble.md names outages.h, which is gone"]))


def headers(report, path):
    house(path)
    report.equal("every header begins with its manual", judge(HEADERS, path), (0, []))
    plant(path, "base/core/hash.h", "/* Hashes.\n *\n * Threads: any. */\n#ifndef A\n#define A\n#endif\n")
    plant(path, "base/core/clock.h", "/* Clock.\n *\n * What: a.\n * Errors: b.\n * Owns: c. */\n#pragma once\n")
    plant(path, "base/core/error.h", "#include <stddef.h>\n")
    plant(path, "base/memory/pair.c", '#include "base/core/result.h"\n#include "base/memory/buffer.h"\n')
    report.equal("one that does not", judge(HEADERS, path), (1, [
        "src/base/core/clock.h: What, Errors, Owns are not in the order of HACKING.md",
        "src/base/core/clock.h: the library installs it: a guard",
        "src/base/core/error.h: does not begin with a comment",
        "src/base/core/hash.h: its first comment has no What",
        "src/base/core/hash.h: #pragma once instead of a guard",
        "src/base/memory/pair.c: base/core/result.h comes with base/memory/buffer.h"]))


def troubles(report, path):
    house(path)
    os.mkdir(f"{path}/docs")
    shutil.copy("docs/troubleshooting.md", f"{path}/docs")
    report.equal("every warning is in the book", judge(TROUBLES, path), (0, []))
    change(path, "docs/troubleshooting.md", ("| `cannot commit` |", "| `cannot do` |"))
    plant(path, "base/core/result_a.c", 'void a_a(int b) { LOG_WARN("a", b ? "one, \\"two\\"" : "th" "ree", "x=%d", b); }\n')
    expect(report, "one that is not, and a row that nobody says", judge(TROUBLES, path),
           "src/ingest/ingest_writer.c: 'cannot commit' is not in docs/troubleshooting.md",
           """src/base/core/result_a.c: 'one, \\"two\\"' is not in docs/troubleshooting.md""",
           "src/base/core/result_a.c: 'three' is not in docs/troubleshooting.md",
           "docs/troubleshooting.md: nothing says 'cannot do'")


def walk(report, path):
    house(path)
    os.mkdir(f"{path}/docs")
    shutil.copy("docs/walk.md", f"{path}/docs")
    report.equal("the walk of a URL is true", judge(WALK, path), (0, []))
    change(path, "src/page/parser.c", ("\nParsedPage *parser_read(", "\nParsedPage *parser_look("))
    change(path, "docs/walk.md", ("| `crawl/seeds/seeds.c` | |", "| `crawl/seeds/seeds.c` | back |"))
    expect(report, "a function that is gone, and a step that is none back", judge(WALK, path),
           "docs/walk.md, step 2: crawl/seeds/seeds.c is not a step back",
           "docs/walk.md, step 36: page/parser.c has no parser_read",
           "docs/walk.md: the table has 51 steps, 32 files, 20 back")


if __name__ == "__main__":
    harness.main(sound, circle_of_calls, planted, diagrams, headers, troubles, walk)
