"""Bad input: a clear message, the right exit status, nothing damaged."""
import os
import subprocess
import time

import harness

RAGNO = f"{harness.OUT}/ragno"


def refused(report, name, arguments, status, *words, **options):
    """The crawler ends at once with status, and standard error has all the words."""
    result = harness.run([RAGNO] + arguments, 20, **options)
    right = result.returncode == status and all(w in result.stderr for w in words)
    report.check(name, right, f"expected exit {status} and {words}, found exit "
                 f"{result.returncode}: {result.stderr[-400:]!r}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def command_line(report, path):
    directory = path + "/none"
    seeds = write(path + "/good.txt", "http://h00000.web.test/\n")
    here = ["-d", directory]
    refused(report, "missing seed file", here + ["-i", path + "/no-such-file"], 3, "no-such-file")
    refused(report, "unreadable seed file", here + ["-i", path], 3, path)
    empty = write(path + "/empty.txt", "# nothing\n\n")
    refused(report, "no seeds", here + ["-i", empty], 2, "seed")
    refused(report, "unknown option", here + ["--no-such-option"], 2, "no-such-option")
    refused(report, "unknown key names the nearest", here +
            ["-i", seeds, "--set", "fetch.connection=3"], 2, "fetch.connections")
    refused(report, "bad unit", here + ["-i", seeds, "-w", "5 parsecs"], 2, "5 parsecs")
    refused(report, "out of range", here + ["-i", seeds, "--set", "fetch.connections=0"], 2,
            "fetch.connections")
    refused(report, "no contact for the real web", here + ["http://example.org/"], 2, "contact")
    config = write(path + "/bad.ini", "[fetch]\nconnections = 10\n\nno_such_key = 1\n")
    refused(report, "bad configuration file: file and line", here + ["-c", config, "-i", seeds], 2,
            "bad.ini:4", "no_such_key")
    refused(report, "missing configuration file", here + ["-c", path + "/no.ini", "-i", seeds], 2,
            "no.ini")
    report.check("none of these left a crawl behind", not os.path.exists(directory + "/crawl.mdb"),
                 str(os.path.exists(directory) and os.listdir(directory)))


def bad_seed_line(report, path):
    with harness.Web(path, hosts=3, pages=10) as web:
        seeds = write(path + "/mixed.txt", "# seeds\nhttp://h00000.web.test/\nhttp://[::bad/\n"
                      "mailto:nobody\n")
        result = harness.crawl(web, path + "/crawl", seeds=seeds, timeout=30)
        expected = web.graph_urls()
    report.check("a seed that is no URL is reported with its line",
                 all(f"mixed.txt:{n}" in result.stderr for n in (3, 4)), result.stderr[-400:])
    pages = {harness.url_of(r) for r in web.requests() if r.status == 200 and "R" not in r.flags}
    report.same_set("and the rest goes on", pages, expected)
    report.equal("to a good end", result.returncode, 0)


def directories(report, path):
    with harness.Web(path, hosts=10, pages=400) as web:
        directory = path + "/crawl"
        command = harness.crawl_command(web, directory, wait="100ms")
        first = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and not any("R" in r.flags for r in web.requests()):
            time.sleep(0.1)
        second = harness.run(command, 20)
        report.check("a directory in use", second.returncode == 17 and directory in second.stderr,
                     f"exit {second.returncode}: {second.stderr[-400:]}")
        report.check("whose owner goes on", first.poll() is None, f"exit {first.poll()}")
        harness.end_process(first)
        report.equal("and can be stopped", first.returncode, 11)
        fresh = harness.run(command + ["--new"], 20)
        report.check("--new refuses a directory that holds a crawl",
                     fresh.returncode not in (0, None), f"exit {fresh.returncode}")
        status = harness.run([RAGNO, "db", directory, "info"])
        report.equal("whose database is whole", status.returncode, 0)
        newer_format(report, web, directory)


def newer_format(report, web, directory):
    """Raises the format version with LMDB's own tools, and sees it refused and left as it is."""
    database = directory + "/crawl.mdb"
    dump = subprocess.run(["mdb_dump", "-s", "info", database], stdout=subprocess.PIPE, text=True,
                          check=False)
    lines = dump.stdout.splitlines()
    key = next((i for i, line in enumerate(lines)
                if b"version" in bytes.fromhex(line.strip()) if line.startswith(" ")), None)
    if not report.check("the database has a format version", key is not None, dump.stdout[:300]):
        return
    value = lines[key + 1].strip()
    # The last digit of text, or the lowest byte of a little-endian number.
    text = bytes.fromhex(value).rstrip(b"\0").isdigit()
    lines[key + 1] = " " + ("39" * (len(value) // 2) if text else "7f" + value[2:])
    subprocess.run(["mdb_load", "-s", "info", database], input="\n".join(lines) + "\n", text=True,
                   check=True)
    result = harness.crawl(web, directory, timeout=20)
    report.check("a newer format is refused", result.returncode == 17 and
                 "version" in result.stderr, f"exit {result.returncode}: {result.stderr[-400:]}")


def disk_full(report, path):
    """On a small file system of its own (a user namespace, so no root is needed)."""
    small = path + "/small"
    os.mkdir(small)
    with harness.Web(path, hosts=50, addresses=50, pages=20000, skew=0) as web:
        command = harness.crawl_command(web, small + "/crawl")
        script = ('mount -t tmpfs -o size=3m none "$1" || exit 99; d=$1; shift; "$@"; code=$?; '
                  f'"{RAGNO}" db "$d/crawl" info >&2 || code=98; exit $code')
        isolate = [] if os.geteuid() == 0 else ["-r"]
        result = harness.run(["unshare", *isolate, "-m", "sh", "-c", script, "sh", small] + command,
                             90)
    if result.returncode == 99 or "unshare failed" in result.stderr:
        print("skip disk full: no mount here", flush=True)
        return
    report.check("disk full during the crawl: exit 16", result.returncode == 16,
                 f"exit {result.returncode} (98: damaged): {result.stderr[-600:]}")
    report.check("and it says so", "disk" in result.stderr.lower() or "space" in result.stderr,
                 result.stderr[-400:])


def main():
    report = harness.Report()
    for test in (command_line, bad_seed_line, directories, disk_full):
        with harness.Scratch() as path:
            test(report, path)
    report.finish()


if __name__ == "__main__":
    main()
