"""Bad input: a clear message, the right exit status, nothing damaged."""
import gzip
import os
import re
import shutil
import subprocess

import harness

RAGNO = f"{harness.OUT}/ragno"


def refused(report, name, arguments, status, *words):
    """The crawler ends at once with status, standard error has all the words, and no crawl is left
    behind in the directory, the second argument."""
    result = harness.run([RAGNO] + arguments, 20)
    left = os.path.exists(arguments[1] + "/crawl.mdb")
    right = result.returncode == status and all(w in result.stderr for w in words) and not left
    report.check(name, right, f"expected exit {status} and {words}, found exit "
                 f"{result.returncode}: {result.stderr[-400:]!r}" + left * " and a crawl left behind")
    shutil.rmtree(arguments[1], ignore_errors=True)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def command_line(report, path):
    directory = path + "/none"
    seeds = write(path + "/good.txt", "http://h00000.web.test/\n")
    outside = ["-d", directory]
    here = outside + ["--set", "fetch.allow_addresses=127.0.0.0/8"]
    refused(report, "missing seed file", here + ["-i", path + "/no-such-file"], 3, "no-such-file")
    refused(report, "unreadable seed file", here + ["-i", path], 3, path)
    empty = write(path + "/empty.txt", "# nothing\n\n")
    refused(report, "no seeds", here + ["-i", empty], 2, "seed")
    line = "http://h00000.web.test/\n"
    for name, coded, remedy in (("UTF-16", line.encode("utf-16"), "iconv"),
                                ("gzip", gzip.compress(line.encode()), "gzip -dc")):
        with open(f"{path}/{name}.txt", "wb") as file:
            file.write(coded)
        refused(report, f"seeds in {name}: what to do", here + ["-i", f"{path}/{name}.txt"], 2, remedy)
    refused(report, "unknown option", here + ["--no-such-option"], 2, "no-such-option")
    refused(report, "unknown key names the nearest", here +
            ["-i", seeds, "--set", "fetch.connection=3"], 2, "fetch.connections")
    refused(report, "bad unit", here + ["-i", seeds, "-w", "5 parsecs"], 2, "5 parsecs")
    refused(report, "out of range", here + ["-i", seeds, "--set", "fetch.connections=0"], 2,
            "fetch.connections")
    refused(report, "no contact for the real web", outside + ["http://example.org/"], 2, "contact")
    config = write(path + "/bad.ini", "[fetch]\nconnections = 10\n\nno_such_key = 1\n")
    refused(report, "bad configuration file: file and line", here + ["-c", config, "-i", seeds], 2,
            "bad.ini:4", "no_such_key")
    refused(report, "missing configuration file", here + ["-c", path + "/no.ini", "-i", seeds], 2,
            "no.ini")


def check_and_start_agree(report, path):
    """What `check config` lets pass starts, for nonsense in every option that is a text; lists are lists with and
    without blanks."""
    help_ = harness.run([RAGNO, "--help-config"]).stdout
    texts = re.findall(r"^([a-z_]+\.[a-z_]+) = .*\n    .*\(text", help_, re.M)
    report.check(f"{len(texts)} options are texts", len(texts) > 30, help_[:300])
    settings = {"fetch.allow_addresses": "127.0.0.0/8", "politeness.retry": "refused 1ms 0 drop",
                "crawl.max_duration": "2s"}
    seed = f"http://127.0.0.1:{harness.free_port()}/"
    differ, n_refused = [], 0
    for name in texts:
        section, key = name.split(".")
        for value in ("127.0.0.1, ::1", "%%% ,["):
            config = write(path + "/one.ini", f"[{section}]\n{key} = {value}\n")
            said = harness.run([RAGNO, "check", "config", config])
            own = [word for key, text in settings.items() if key != name for word in ("--set", f"{key}={text}")]
            result = harness.run([RAGNO, "-d", path + "/none", "-q", "--progress=never", *own,
                                  "-c", config, seed], 30)
            shutil.rmtree(path + "/none", ignore_errors=True)
            n_refused += said.returncode == 2
            # A start may fail for reasons outside the file, but not by what a value is.
            if (said.returncode == 2) != (result.returncode == 2 and "no seed" not in result.stderr):
                differ.append((name, value, said.returncode, result.returncode, result.stderr[-200:]))
    report.check(f"check config and the start agree; {n_refused} values are refused", not differ and n_refused > 20,
                 "\n".join(map(str, differ)))
    for value in ("127.0.0.1:5353, [::1]", "127.0.0.1:5353,[::1]:54 127.0.0.2"):
        said = harness.run([RAGNO, "check", "config", write(path + "/dns.ini", f"[dns]\nservers = {value}\n")])
        report.equal(f"dns.servers = {value}", said.returncode, 0)
    said = harness.run([RAGNO, "check", "config", write(path + "/dns.ini", "[dns]\nservers = 127.0.0.1, nobody\n")])
    report.check("a wrong one is named", said.returncode == 2 and "dns.ini:2" in said.stderr and "'nobody'" in said.stderr,
                 said.stderr)
    said = harness.run([RAGNO, "check", "config", write(path + "/plain.ini", "[fetch]\nconnections = 9\n")])
    report.check("a missing contact is told", said.returncode == 0 and "contact" in said.stderr, said.stderr)
    for file, words in ((path, "is a directory"), (RAGNO, "is no text")):
        said = harness.run([RAGNO, "check", "config", file])
        report.check(f"a FILE that {words}", said.returncode == 2 and words in said.stderr and
                     said.stderr.count("\n") <= 2, f"{said.returncode} {said.stderr[:300]}")
        refused(report, "so says the start", ["-d", path + "/none", "-c", file, "http://127.0.0.1:1/"], 2, words)


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
        harness.until(lambda: any("R" in r.flags for r in web.requests()))
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
                if line.startswith(" ") and b"version" in bytes.fromhex(line.strip())), None)
    if not report.check("the database has a format version", key is not None, dump.stdout[:300]):
        return
    value = lines[key + 1].strip()
    # The last digit of text, or the lowest byte of a little-endian number.
    text = bytes.fromhex(value).rstrip(b"\0").isdigit()
    lines[key + 1] = " " + ("39" * (len(value) // 2) if text else "7f" + value[2:])
    subprocess.run(["mdb_load", "-s", "info", database], input="\n".join(lines) + "\n", text=True,
                   stderr=subprocess.DEVNULL,
                   check=True)
    result = harness.crawl(web, directory, timeout=20)
    report.check("a newer format is refused", result.returncode == 17 and
                 "a newer ragno reads it" in result.stderr, f"exit {result.returncode}: {result.stderr[-400:]}")


def on_small_disk(report, path, size, web, script, *options, directory=None):
    """Runs a shell script on a file system of that size ($d), with the crawl's command as "$@"; None
    when it cannot be mounted. A user namespace of its own makes that possible without root."""
    small = path + "/small"
    os.makedirs(small, exist_ok=True)
    command = harness.crawl_command(web, directory or small + "/crawl", *options)
    whole = f'd=$1; ragno={RAGNO}; mount -t tmpfs -o size={size} none "$d" || exit 99; shift; ' + script
    isolate = [] if os.geteuid() == 0 else ["-r"]
    result = harness.run(["unshare", *isolate, "-m", "sh", "-c", whole, "sh", small] + command, 90)
    if result.returncode == 99 or "unshare: " in result.stderr:
        report.skip("a small disk", "no mount here")
        return None
    return result


def disk_nearly_full(report, path):
    with harness.Web(path, hosts=50, addresses=50, pages=20000, skew=0) as web:
        script = '"$@"; code=$?; "$ragno" db "$d/crawl" info >&2 || code=98; exit $code'
        result = on_small_disk(report, path, "8m", web, script, "--set", "crawl.min_free_disk=2Mi",
                               "--set", "crawl.disk_full_exit=yes",
                               "--set", "log.status_interval=300ms")
    if result is not None:
        report.check("disk nearly full: exit 16", result.returncode == 16,
                     f"exit {result.returncode} (98: damaged): {result.stderr[-600:]}")
        report.check("and it says so", "disk" in result.stderr, result.stderr[-400:])


def disk_full(report, path):
    """No byte is left; then there is room again, and the crawl goes on to a whole end."""
    with harness.Web(path, hosts=50, addresses=50, pages=12000, skew=0) as web:
        script = ('"$@" & crawl=$!; n=0; '
                  'until grep -qsi "disk\\|space" "$d/crawl/ragno.log"; do sleep 0.1; '
                  'n=$((n + 1)); kill -0 $crawl && [ $n -lt 600 ] || { kill -9 $crawl; exit 97; }; '
                  'done; '
                  'mount -o remount,size=200m "$d"; wait $crawl')
        result = on_small_disk(report, path, "3m", web, script, "--set", "crawl.min_free_disk=0")
        expected = web.graph_urls()
    if result is not None:
        report.check("disk full: the crawl waits, and goes on when there is room",
                     result.returncode == 0,
                     f"exit {result.returncode} (97: did not notice): {result.stderr[-600:]}")
        report.same_set("and has all pages", {harness.url_of(r) for r in web.requests()
                                              if r.status == 200 and r.flags == "-"}, expected)


def log_disk_full(report, path):
    """The disk of crawl.log alone is full: nothing is committed that it has no line of, however often the crawl is killed."""
    with harness.Web(path, hosts=50, addresses=50, pages=9000, skew=0) as web:
        script = ('n=0 i=0; for kb in 300 600 900 1200 1500; do '
                  '"$@" & crawl=$!; '
                  'until [ "$(grep -sc "the disk of crawl.log is full" "$d/../crawl/ragno.log")" -gt $n ] 2>/dev/null; do sleep 0.1; '
                  'kill -0 $crawl && [ $((i=i+1)) -lt 600 ] || { kill -9 $crawl; exit 97; }; done; '
                  'n=$((n + 1)); sleep 0.$n; kill -9 $crawl; wait $crawl; "$@"; [ $? = 3 ] || exit 96; '
                  'mount -o remount,size=${kb}k "$d"; done; '
                  'mount -o remount,size=200m "$d"; "$@"; code=$?; cp "$d/crawl.log" "$d/.."; exit $code')
        result = on_small_disk(report, path, "30k", web, script, "-o", path + "/small/crawl.log", directory=path + "/crawl")
        expected = web.graph_urls()
        harness.unlogged("its log is on a disk of its own")
    if result is not None:
        report.check("the log's disk is full: the crawl waits, and ends when there is room", result.returncode == 0,
                     f"exit {result.returncode} (97: did not notice, 96: started without room): {result.stderr[-600:]}")
        report.check("a start without room says what to do", "lines that crawl.log lacks" in result.stderr, result.stderr[-600:])
        with open(path + "/crawl.log", encoding="latin-1") as file:
            told = [line.split()[3] for line in file if line.split()[1] == "200"]
        report.same_set("and has a line of each page", set(told) & expected, expected)
        report.equal("each once", len([url for url in told if url in expected]), len(expected))


def no_name_server(report, path):
    result = harness.run([RAGNO, "-d", path + "/mute", "-s", "dns.servers=127.0.0.1:9",
                          "-s", "dns.timeout=200ms", "-s", "fetch.allow_addresses=127.0.0.0/8",
                          "http://somewhere.test/"], 30)
    report.check("no name server: exit 4, and it says so",
                 result.returncode == 4 and "name server" in result.stdout,
                 f"exit {result.returncode}: {result.stdout[-300:]}")


def reload_by_signal(report, path):
    """SIGHUP takes over live options from the file; a wrong file changes nothing."""
    live = path + "/live.ini"
    write(live, "[crawl]\nmax_pages = 0\n")
    with harness.Web(path, hosts=10, addresses=10, pages=2000, skew=0) as web:
        command = harness.crawl_command(web, path + "/crawl", wait="50ms") + ["-c", live]
        crawl = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        harness.until(lambda: len(web.requests()) >= 20)
        write(live, "[crawl]\nmax_pages = many\n")
        crawl.send_signal(1)
        refused = harness.until(lambda: "nothing was changed" in open(path + "/crawl/ragno.log").read())
        report.check("a wrong file changes nothing", refused and crawl.poll() is None, f"{crawl.poll()}")
        write(live, "[crawl]\nmax_pages = 30\n")
        crawl.send_signal(1)
        code = harness.ended(crawl)
        report.equal("SIGHUP: the new limit ends the crawl", code, 14)


def few_descriptors(report, path):
    result = harness.run(["prlimit", "--nofile=20:20", f"{harness.OUT}/ragno", "-d", path + "/crawl", "http://a.example/"])
    report.check("20 descriptors: refused with the reason", result.returncode == 3 and "ulimit -n" in result.stderr and
                 not os.path.exists(path + "/crawl"), f"{result.returncode} {result.stderr}")


def closed_streams(report, path):
    """Standard streams that are closed at the start: what is said there stands in no file of the crawl."""
    def closed(*arguments):
        return subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *arguments], timeout=60,
                              check=False).returncode

    def said():
        found = []
        for folder, _, names in os.walk(path + "/crawl"):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    held = file.read()
                found += [name] if name != "ragno.log" and re.search(
                    rb"ragno (db|verify|report)|stopped at|standard output|sum\t", held) else []
        return found
    with harness.Web(path, hosts=20, addresses=10, pages=300, skew=0, page_bytes=2000) as web:
        code = closed(*harness.crawl_command(web, path + "/crawl", "--max-pages", "50", wait="1ms"))
        report.check("a crawl without standard streams goes as it would", code == 14, f"exit {code}")
        for words in (("db", path + "/crawl", "info"), ("verify", path + "/crawl", "--repair"),
                      ("report", path + "/crawl")):
            code = closed(RAGNO, *words)
            report.check(f"ragno {words[0]} without them fails", code == 3, f"exit {code}")
            report.equal("and writes into none of its files", said(), [])
        code = harness.run([RAGNO, "verify", path + "/crawl"]).returncode
        report.equal("which are whole", code, 0)
        url = "http://h00000.web.test/"
        for words in (("verify", path + "/crawl"), ("status", path + "/crawl"), ("help",),
                      ("why", path + "/crawl", url), ("audit", path + "/crawl"),
                      ("report", path + "/crawl"), ("plan", path + "/crawl"),
                      ("consent", path + "/crawl", "h00000.web.test"),
                      ("complaint", path + "/crawl", "h00000.web.test"),
                      ("schedule", path + "/crawl", "plan"), ("db", path + "/crawl", "info")):
            with open("/dev/full", "w") as full, open("/dev/null", "w") as nobody:
                lost = subprocess.run([RAGNO, *words], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60, check=False)
                heard = subprocess.run([RAGNO, *words], stdout=nobody, stderr=nobody, timeout=60,
                                       check=False)
            report.check(f"ragno {words[0]}: an answer that cannot be written is no success",
                         lost.returncode == 3 and "standard output cannot be written" in lost.stderr
                         and heard.returncode in (0, 1),
                         f"exit {lost.returncode}, {heard.returncode}: {lost.stderr[-300:]}")


if __name__ == "__main__":
    harness.main(few_descriptors, closed_streams, command_line, check_and_start_agree, bad_seed_line, directories, disk_nearly_full, disk_full, log_disk_full,
                 no_name_server, reload_by_signal)
