"""The Makefile: hardening, flags of the environment, what makes it build anew, and the same bytes wherever
it is built. Of the release build alone; the synthetic web stands for all programs, being small."""
import os
import re
import shutil
import subprocess

import harness

RELEASE = os.path.basename(harness.OUT) == "release"


def output(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options).stdout


def make(directory, *arguments, **variables):
    """Like a user's make: without what the one above it has handed down."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    return subprocess.run(["make", "--no-print-directory", *arguments], cwd=directory, text=True,
                          capture_output=True, check=False, env=dict(inherited, **variables))


def hardened(report, _path):
    if not RELEASE:
        report.skip("hardening", "of the release build")
        return
    program = f"{harness.OUT}/ragno"
    dynamic, headers = output("readelf", "-dW", program), output("readelf", "-lhW", program)
    report.check("addresses are chosen at the start (PIE)", "PIE" in dynamic and
                 re.search(r"Type:\s+DYN", headers), headers[:500])
    report.check("tables of addresses are read-only (RELRO, now)", "GNU_RELRO" in headers and
                 re.search(r"FLAGS\b.*BIND_NOW|FLAGS_1\b.*NOW", dynamic), dynamic[-800:])
    stack = re.search(r"GNU_STACK.*", headers)
    report.check("the stack is not executable", stack and "RWE" not in stack.group(), headers)
    symbols = output("readelf", "-sW", program)
    report.check("the stack is guarded (stack protector)", "__stack_chk_fail" in symbols)
    checked = set(re.findall(r"\b(__\w+_chk)@", symbols))
    report.check(f"copies are checked (_FORTIFY_SOURCE): {len(checked)} functions", len(checked) >= 5)
    if os.uname().machine == "x86_64":
        notes = output("readelf", "-nW", f"{harness.OUT}/libragno.a")
        members = notes.count("File: ")
        report.equal("every object may be run with control-flow protection",
                     len(re.findall(r"IBT, SHSTK|IBT.*SHSTK", notes)), members)


def flags(report, _path):
    """Flags come from the environment or the command line, after ours, so that they win."""
    target = "build/release/src/base/core/clock.o"
    for name, arguments, variables in (
            ("environment", (), dict(CFLAGS="-O1 -DMINE_C", CPPFLAGS="-DMINE_CPP", CC="gcc")),
            ("command line", ("CFLAGS=-O1 -DMINE_C", "CPPFLAGS=-DMINE_CPP"), {})):
        made = make(".", "-n", "-B", target, *arguments, **variables).stdout
        line = next((row for row in made.splitlines() if "clock.c" in row and " -c " in row), "")
        report.check(f"CFLAGS and CPPFLAGS of the {name} are used, last", "-DMINE_CPP" in line and
                     line.rfind("-O1") > line.rfind("-O2") > 0, line)
    made = make(".", "-n", "-B", "build/release/web", LDFLAGS="-Wl,--mine", LDLIBS="-lmine").stdout
    line = next((row for row in made.splitlines() if " -o build/release/web " in row), "")
    report.check("LDFLAGS and LDLIBS are used", "-Wl,--mine" in line and "-lmine" in line, line)
    made = make(".", "-n", "-B", target, CPPFLAGS="-D_FORTIFY_SOURCE=3").stdout
    report.check("a distribution's _FORTIFY_SOURCE takes the place of ours",
                 "-D_FORTIFY_SOURCE=3" in made and "-D_FORTIFY_SOURCE=2" not in made, made[-800:])
    made = make(".", "-n", "-B", target, PKG_CONFIG="no-such-pkg-config")
    report.check("PKG_CONFIG is asked", made.returncode != 0 and "make deps" in made.stderr, made.stderr)


def elsewhere(report, path):
    """A copy of the sources, in another place."""
    if not RELEASE:
        report.skip("a build elsewhere", "of the release build")
        return
    copy, web = path + "/some/other place", "build/release/web"
    for folder in ("src", "tests", "tools"):
        shutil.copytree(folder, f"{copy}/{folder}", ignore=shutil.ignore_patterns("corpus"))
    shutil.copy("Makefile", copy)
    made = make(copy, "-j2", web)
    if not report.check("it builds in a place with a blank in its name", made.returncode == 0,
                        made.stderr[-800:]):
        return
    with open(f"{copy}/{web}", "rb") as there, open(web, "rb") as here:
        report.check("it is the same program, byte for byte", there.read() == here.read(),
                     "see SAME in the Makefile; or it was built with other flags")
    made = make(copy, web)
    report.equal("nothing is built twice", made.stderr, "")
    with open(copy + "/tests/web/more.c", "w") as file:
        file.write("int more(void);\nint more(void)\n{\n    return 1;\n}\n")
    make(copy, web)
    report.check("a new source file is found", " more" in output("nm", f"{copy}/{web}"))
    os.unlink(copy + "/tests/web/more.c")
    made = make(copy, web)
    report.check("one that is gone is left out", "LD" in made.stderr and
                 " more" not in output("nm", f"{copy}/{web}"), made.stderr)
    one = "build/release/src/base/core/clock.o"
    made = make(copy, one, CFLAGS="-DOTHER")
    report.check("other flags build anew", "clock.c" in made.stderr, made.stderr)
    with open(copy + "/src/base/core/clock.h", "a") as file:
        file.write("/* changed */\n")
    later = os.stat(f"{copy}/{one}").st_mtime + 1  # clocks of file systems are coarse
    os.utime(copy + "/src/base/core/clock.h", (later, later))
    made = make(copy, one, CFLAGS="-DOTHER")
    report.check("so does a header that has changed", "clock.c" in made.stderr, made.stderr)


if __name__ == "__main__":
    harness.main(hardened, flags, elsewhere)
