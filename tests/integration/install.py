"""`make install` into a scratch root: a stranger's program finds the library by pkg-config, linked
both ways; what was installed is what the program says today."""
import glob
import os
import re
import shutil
import subprocess

import harness
from harness import OUT

# What is printed by each program; Their argument is a directory that is theirs.
PROGRAMS = {"tests/integration/library_user.c":
            "next http://b.example/high\nrank found\nlinks 4\nlinked from 1, crawls 0\n",
            "tests/integration/documented_calls.c": "0 wrong\n"}
# What every C program might have, and what it must not find in a library.
COMMON = {"map_get", "hash_64", "buffer_append", "buffer_init", "error_set", "error_new", "result_name",
          "mutex_lock", "heap_push", "mono_now", "wall_now", "log_write", "arena_new", "queue_push"}
# Functions of the documented library, and page_request_delete.
DOCUMENTED = 116
# The other ways to write it: by the directory, and by the documented names.
NAMES = '#include <ragno/ragno.h>\n#include "page_db.h"\n#include "hits_scorer.h"\n'


def run(command, **options):
    return subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)


def install(report, path):
    made = run(["make", "--no-print-directory", "MODE=release", "install", f"DESTDIR={path}/root",
                "PREFIX=/usr"])
    return report.check("make install ends well", made.returncode == 0, made.stdout[-2000:])


def inner_names(path):
    """The functions of the library that it does not show, and the names in C of those that it shows under
    others."""
    objects = [o for layer in ("base", "store")
               for o in glob.glob(f"build/release/src/{layer}/**/*.o", recursive=True)
               if os.path.isfile(o.removeprefix("build/release/")[:-2] + ".c")]
    lines = run(["nm", "-g", "--defined-only", "--format=posix"] + objects).stdout.splitlines()
    names = {line.split()[0] for line in lines if " T " in line}
    shown = shown_functions(f"{path}/root/usr/lib/libragno.so")
    return {n.removeprefix("ragno_") for n in names - (shown - {f for f in shown if f.startswith("ragno_")})}


def write_same_names(report, path):
    """A source file with a function of each name that the library uses inside: whoever calls one dies."""
    names = inner_names(path) | COMMON
    report.check("functions have names of their own", len(names) > 400, str(len(names)))
    with open(f"{path}/same_names.c", "w") as file:
        file.write("#include <stdlib.h>\n")
        for name in sorted(names):
            file.write(f"void {name}(void);\nvoid {name}(void) {{ abort(); }}\n")


def compile_and_run(report, path, name, kind, libraries, environment):
    """Builds the programs against the scratch root and runs them, beside functions of the same names as
    the library's own. They see the installed headers alone."""
    flags = subprocess.run(["pkg-config", "--cflags"] + kind + ["--libs", "ragno"], text=True,
                           capture_output=True, env=environment, check=False)
    if not report.check(f"{name}: pkg-config knows ragno", flags.returncode == 0, flags.stderr):
        return
    words = [w for f in flags.stdout.split() for w in libraries.get(f, [f])]
    for source, expected in PROGRAMS.items():
        program = f"{path}/{name}.{os.path.basename(source)[:-len('.c')]}"
        label = f"{name}, {os.path.basename(source)}"
        shutil.copy(source, program + ".c")
        built = run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-fno-builtin",
                     program + ".c", f"{path}/same_names.c", "-o", program] + words)
        if not report.check(f"{label}: compiles without a warning", built.returncode == 0,
                            built.stdout[-2000:]):
            continue
        os.mkdir(program + ".d")
        ran = run([program, program + ".d"], env=dict(os.environ, LD_LIBRARY_PATH=f"{path}/root/usr/lib"))
        report.equal(f"{label}: it runs", (ran.returncode, ran.stdout), (0, expected))
        needed = run(["ldd", program]).stdout
        report.check(f"{label}: the library is {'in' if kind else 'beside'} it",
                     ("libragno" in needed) != bool(kind), needed)


def called_functions(path):
    """Functions of the library that documented_calls.c calls."""
    undefined = run(["nm", "-D", "-u", "--format=posix", f"{path}/dynamic.documented_calls"]).stdout
    used = {line.split()[0].split("@")[0] for line in undefined.splitlines() if line}
    return used & shown_functions(f"{path}/root/usr/lib/libragno.so")


def compile_names(report, environment):
    flags = run(["pkg-config", "--cflags", "ragno"], env=environment).stdout.split()
    built = run(["cc", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-"] + flags, input=NAMES)
    report.check("headers are found by their other names", built.returncode == 0, built.stdout)


# Declared, since structures of the documented headers need their types, but for the library alone.
INNER = re.compile(r"mutex_|condition_|cpu_|clock_asleep_|score_(input|parent)_|"
                   r"rank_memory_|page_db_(heat|journal)$")


def declared_functions(root):
    """The functions that the installed headers declare, as the linker knows them."""
    names, linked = set(), set()
    for header in glob.glob(f"{root}/usr/include/ragno/**/*.h", recursive=True):
        with open(header) as file:
            text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
        # At the start of a line and not inline: a type, a name, parameters, a semicolon.
        names |= set(re.findall(r"^(?!static|typedef)\w[\w *]*?(\w+)\([^;{]*\)[^;{()]*;", text, re.M))
        linked |= set(re.findall(r"RAGNO_SYMBOL\((\w+)\)", text))
    return names - linked | {f"ragno_{name}" for name in linked & names}


def shown_functions(library, *options):
    lines = run(["nm", "--defined-only", "--format=posix", *(options or ["-D"]), library]).stdout.splitlines()
    return {line.split()[0].split("@")[0] for line in lines
            if len(line.split()) > 2 and line.split()[1] in "TDBRW"}


def compare_names(report, path):
    """The library shows what its headers declare for users, no more and no less, in both forms."""
    shown = shown_functions(f"{path}/root/usr/lib/libragno.so")
    declared = {f for f in declared_functions(f"{path}/root") if not INNER.match(f)}
    report.check("functions are declared", len(declared) > 200, str(len(declared)))
    report.equal("the library shows what its headers declare",
                 (sorted(shown - declared), sorted(declared - shown)), ([], []))
    archive = shown_functions(f"{path}/root/usr/lib/libragno.a", "-g")
    report.equal("the static library shows the same", sorted(archive ^ shown), [])
    report.equal("no name of the common sort is shown", sorted((archive | shown) & COMMON), [])
    versions = run(["nm", "-D", "--defined-only", "--with-symbol-versions",
                    f"{path}/root/usr/lib/libragno.so"]).stdout
    bare = [line for line in versions.splitlines() if " T " in line and "@@RAGNO_0.2" not in line]
    report.equal("each function has a version", bare, [])


def compile_in_cpp(report, environment):
    flags = run(["pkg-config", "--cflags", "ragno"], env=environment).stdout.split()
    built = run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++",
                 "-"] + flags, input="#include <ragno/ragno.h>\n"
                "int main() { PageDB *db; return page_db_new(&db, \"x\"); }\n")
    report.check("a C++ program may include it", built.returncode == 0, built.stdout[-2000:])


def compile_example(report, path, environment):
    """The program in docs/library.md is a program."""
    with open("docs/library.md") as file:
        code = re.search(r"```c\n(.*?)```", file.read(), re.S).group(1)
    with open(f"{path}/example.c", "w") as file:
        file.write(code)
    flags = run(["pkg-config", "--cflags", "--libs", "ragno"], env=environment).stdout.split()
    built = run(["cc", "-Wall", "-Wextra", "-Werror", f"{path}/example.c", "-o", f"{path}/example"] + flags)
    if report.check("the example of docs/library.md compiles", built.returncode == 0, built.stdout[-2000:]):
        ran = run([f"{path}/example"], cwd=path,
                  env=dict(os.environ, LD_LIBRARY_PATH=f"{path}/root/usr/lib"))
        report.equal("and does what it says", (ran.returncode, ran.stdout), (0, "next http://b.example/high\n"))


def test_install(report, path):
    if not install(report, path):
        return
    environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=f"{path}/root",
                       PKG_CONFIG_PATH=f"{path}/root/usr/lib/pkgconfig")
    write_same_names(report, path)
    compile_and_run(report, path, "dynamic", [], {}, environment)
    static = {"-lragno": ["-Wl,-Bstatic", "-lragno", "-Wl,-Bdynamic"]}
    compile_and_run(report, path, "static", ["--static"], static, environment)
    called = called_functions(path)
    report.check("every documented function is called", len(called) >= DOCUMENTED,
                 f"{len(called)}: {sorted(called)}")
    compile_names(report, environment)
    compile_example(report, path, environment)
    compare_names(report, path)
    if shutil.which("c++"):
        compile_in_cpp(report, environment)
    else:
        report.skip("C++", "there is no c++")
    for name, words in (("LICENSE", "Apache License"), ("NOTICE", "standards of the WHATWG")):
        with open(f"{path}/root/usr/share/doc/ragno/{name}") as file:
            report.check(f"{name} is installed", words in file.read(), "its words are missing")
    for name in ("usr/lib/systemd/system/ragno.service", "etc/logrotate.d/ragno"):
        with open(f"{path}/root/{name}") as file:
            left = [w for w in ("@PREFIX@", "@ETC@", "@LIBDIR@") if w in file.read()]
            report.equal(f"{name}: every place is filled in", left, [])
    version = run([f"{path}/root/usr/bin/ragno", "--version"]).stdout
    report.check("the installed program says its version", version.startswith("ragno 0."), version)
    kept = f"{path}/root/etc/ragno/ragno.ini"
    with open(kept, "a") as file:
        file.write("; mine\n")
    if install(report, path):
        with open(kept) as file:
            report.check("configuration that is there is left alone",
                         file.read().endswith("; mine\n"))


def test_generated(report, _path):
    """What `make doc` makes is in the repository as it makes it now."""
    sample = run([f"{OUT}/ragno", "--print-config=sample"]).stdout
    with open("config/ragno.ini") as file:
        report.check("config/ragno.ini is up to date", file.read() == sample, "run `make doc`")
    version = run([f"{OUT}/ragno", "--version"]).stdout.split()[1]
    for page in ("ragno.1", "ragno.ini.5"):
        manual = run(["tools/make-manual", f"{OUT}/ragno", f"doc/{page}.in", version]).stdout
        with open(f"doc/{page}") as file:
            report.check(f"doc/{page} is up to date", file.read() == manual, "run `make doc`")
    tested = run([f"{OUT}/ragno", "-c", "config/ragno.ini", "--set", "crawl.contact=https://example.org/bot",
                  "--test-config"])
    report.equal("the sample configuration is valid", tested.returncode, 0)


if __name__ == "__main__":
    harness.main(test_install, test_generated)
