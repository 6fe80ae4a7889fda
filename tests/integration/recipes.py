#!/usr/bin/env python3
"""HACKING.md names every place that an option, an annotation, a scorer and a content coding need, at most four files each:
each is planted in a copy of the sources, and the compiler and the copy say what else would have had to change."""
import glob
import os
import re
import shutil
import subprocess

import harness

CC = ["cc", "-D_GNU_SOURCE", '-DRAGNO_VERSION="0"', "-std=gnu11", "-Isrc", "-I/usr/include/libxml2", "-pthread"]


def named(heading):
    """The sources that a section of HACKING.md names."""
    with open("HACKING.md", encoding="utf-8") as file:
        section = file.read().split(f"## {heading}\n")[1].split("\n## ")[0]
    return sorted(set(re.findall(r"`(src/[a-z0-9_/]+\.[ch])`", section)))


def copy(path):
    shutil.copytree("src", f"{path}/src")


def plant(path, name, before, text):
    """Puts text before the first place where `before` stands."""
    with open(f"{path}/{name}", encoding="utf-8") as file:
        source = file.read()
    assert source.count(before) >= 1, (name, before)
    with open(f"{path}/{name}", "w", encoding="utf-8") as file:
        file.write(source.replace(before, text + before, 1))


def unhandled(path, word):
    """The sources with a switch that does not know all values: of those that mention the word."""
    found = []
    for name in sorted(glob.glob(f"{path}/src/**/*.c", recursive=True)):
        with open(name, encoding="utf-8") as file:
            if word not in file.read():
                continue
        ran = subprocess.run([*CC, "-fsyntax-only", "-Werror=switch-enum", os.path.relpath(name, path)], cwd=path,
                             stderr=subprocess.PIPE, text=True, check=False)
        if "switch-enum" in ran.stderr:
            found.append(os.path.relpath(name, path))
        elif ran.returncode != 0:
            raise AssertionError(ran.stderr[-2000:])
    return found


def program(path, main, *sources):
    """What a program prints that is made of main and planted sources, and of the tree's objects for the rest."""
    with open(f"{path}/main.c", "w", encoding="utf-8") as file:
        file.write(main)
    kept = [o for o in glob.glob(f"{harness.OUT}/src/**/*.o", recursive=True)
            if os.path.relpath(o, harness.OUT)[:-1] + "c" not in (*sources, "src/main.c")]
    subprocess.run(["ar", "rcs", f"{path}/rest.a", *kept], check=True)
    libraries = subprocess.run(["make", "-s", "print-libraries"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    subprocess.run([*CC, "-w", "main.c", *sources, "rest.a", *libraries, "-o", "program"], cwd=path, check=True)
    return subprocess.run([f"{path}/program"], stdout=subprocess.PIPE, text=True, check=True).stdout


def check_section(report, heading):
    files = named(heading)
    report.check(f"{heading}: one to four files", 1 <= len(files) <= 4, files)
    report.equal(f"{heading}: they are there", [f for f in files if not os.path.exists(f)], [])
    return files


def option(report, path):
    files = check_section(report, "Adding an option")
    report.check("its table is named", "src/rules/config.h" in files, files)
    copy(path)
    plant(path, "src/rules/config.h", "    ROW(log, crawl,",
          '    ROW(log, planted, TIME, int64_t, "7s", 1000, 9000, NULL, OPTION_LIVE, "planted by a test") \\\n')
    with open(f"{path}/a.ini", "w", encoding="utf-8") as file:
        file.write("[log]\nplanted = 10s\n")
    printed = program(path, f"""
#include "rules/config.h"
int main(void)
{{
    Config config;
    Buffer error = {{.limit = 4096}};
    if (config_init(&config) != RESULT_OK) {{
        return 1;
    }}
    printf("%lld\\n", (long long)config.log_planted);
    options_help(&config.options, "planted", stdout);
    printf("%d\\n", options_set(&config.options, "log.planted", "8500ms", "test", &error) == RESULT_OK);
    printf("%lld\\n", (long long)config.log_planted);
    (void)options_load(&config.options, "{path}/a.ini", &error);
    printf("%s", buffer_string(&error));
    return 0;
}}
""", "src/rules/config.c").splitlines()
    report.equal("a row is all that its value, units, range and help need",
                 (printed[0], printed[1], printed[3:5]), ("7000", "log.planted = 7s", ["1", "8500"]))
    report.check("a file that says too much is refused, with its line", "a.ini:2: log.planted" in printed[5], printed[5:])


def annotation(report, path):
    files = check_section(report, "Adding an annotation of crawl.log")
    report.check("its table is named", "src/page/crawl_log_notes.h" in files, files)
    copy(path)
    plant(path, "src/page/crawl_log_notes.h", '    NOTE(NOTE_WALL, "wall"',
          '    NOTE(NOTE_PLANTED, "planted", NUMBER, "N", "by a test") \\\n')
    printed = program(path, """
#include <stdio.h>
#include "page/crawl_log_notes.h"
int main(void)
{
    Buffer text = {.limit = 4096};
    CrawlLogNote note = crawl_log_note_find("planted", 7);
    crawl_log_note_begin(&text, note);
    printf("%d\\n%s\\n%s\\n%s\\n", note == NOTE_PLANTED, crawl_log_notes[note].wrong, crawl_log_notes[note].meaning,
           buffer_string(&text));
    return 0;
}
""", "src/page/crawl_log_notes.c").splitlines()
    report.equal("a row is found, written and told", (printed[0], printed[2], printed[3][-8:]), ("1", "by a test", "planted:"))
    report.equal("no switch is over annotations", unhandled(path, "NOTE_WALL"), [])


def scorer(report, path):
    files = check_section(report, "Adding a scorer")
    copy(path)
    report.equal("every switch knows all scorers", unhandled(path, "SCORER_"), [])
    plant(path, "src/rules/config_words.h", '    WORD(SCORER_HITS, "hits")', '    WORD(SCORER_PLANTED, "planted") \\\n')
    found = unhandled(path, "SCORER_")
    report.check("a word more is missed by the compiler where HACKING.md says", found and set(found) <= set(files), (found, files))


def coding(report, path):
    files = check_section(report, "Adding a content coding")
    copy(path)
    report.equal("every switch knows all codings", unhandled(path, "DECODE_CODEC_"), [])
    plant(path, "src/parse/http/decode.c", "    DECODE_CODEC_NONE\n", "    DECODE_CODEC_PLANTED,\n")
    found = unhandled(path, "DECODE_CODEC_")
    report.check("a coding more is missed where HACKING.md says", found and set(found) <= set(files), (found, files))
    with open("src/parse/http/decode.c", encoding="utf-8") as file:
        known = set(re.findall(r'\{"([a-z]+)", DECODE_CODEC_', file.read()))
    offered = [f for f in files if f != "src/parse/http/decode.c"]
    with open(offered[0], encoding="utf-8") as file:
        line = re.search(r'"Accept-Encoding: ([a-z, ]*,[a-z, ]*)"', file.read())
    report.equal("what is undone is what is asked for", set(line[1].split(", ")), known)


if __name__ == "__main__":
    harness.main(option, annotation, scorer, coding)
