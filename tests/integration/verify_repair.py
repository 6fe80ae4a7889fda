"""`ragno verify` on damaged copies of a crawl that was interrupted: it finds what is wrong, --repair
mends it, --refetch has lost pages fetched again, and the crawl goes on to the end it would have had."""
import fcntl
import glob
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import harness
import lmdb_table

SIZES = dict(hosts=20, addresses=10, pages=400, skew=0, page_bytes=3000)
# All links through the sieve's bucket files, and for as long as may be.
WAITING = ["--set", "sieve.least_urls=0", "--set", "sieve.max_age=1h"]


def verify(directory, *options):
    result = harness.run([f"{harness.OUT}/ragno", "verify", directory, *options])
    return result.returncode, result.stdout


def problems(text):
    return [line for line in text.splitlines() if line.startswith("problem\t")]


def finished(directory):
    """A WARC file of several records that is complete."""
    return max(glob.glob(glob.escape(directory) + "/warc/*.warc.gz"), key=os.path.getsize)


def change_index(directory):
    path = finished(directory)[:-len(".warc.gz")] + ".cdxj"
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    lines[3] = lines[3].replace('"status": "', '"status": "9')
    del lines[5]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def lose_index(directory):
    os.unlink(finished(directory)[:-len(".warc.gz")] + ".cdxj")


def cut_file(directory):
    path = finished(directory)
    os.truncate(path, os.path.getsize(path) * 2 // 3)


def cut_open_file(directory):
    """The file of the last commit as a crash would leave it, and shorter than the commit says."""
    files = sorted(glob.glob(glob.escape(directory) + "/warc/*.warc.gz"))
    os.truncate(files[-1], os.path.getsize(files[-1]) // 2)
    index = files[-1][:-len(".warc.gz")] + ".cdxj"
    os.rename(index, index + ".open")
    os.rename(files[-1], files[-1] + ".open")


def flip_byte(directory):
    """In the middle of a page: in the head of a gzip member there are bytes that mean nothing."""
    path = finished(directory)
    with open(path[:-len(".warc.gz")] + ".cdxj", encoding="utf-8") as file:
        entries = [json.loads(line[line.index("{"):]) for line in file if not line.startswith("!")]
    entry = entries[len(entries) // 2]
    with open(path, "r+b") as file:
        file.seek(int(entry["offset"]) + int(entry["length"]) // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x55]))


# name, what is done to a copy, what verify says, whether pages are lost
DAMAGES = (("a changed index line", change_index, "record is not in the index", False),
           ("a lost index", lose_index, "has no index", False),
           ("a WARC file that was cut", cut_file, "crawled, but in no WARC file", True),
           ("a file cut before the last commit", cut_open_file, "crawled, but in no WARC file", True),
           ("a flipped byte", flip_byte, "crawled, but in no WARC file", True))


def check_damage(report, web, original, copy, expected, row):
    name, damage, words, loses = row
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    damage(copy)
    code, text = verify(copy)
    report.check(f"{name} is found", code == 1 and words in text and "repaired\t" not in text,
                 f"exit {code}: {text[-800:]}")
    code, text = verify(copy, "--refetch" if loses else "--repair")
    report.check(f"{name} is repaired", code == 1 and "repaired\t" in text,
                 f"exit {code}: {text[-800:]}")
    hopeless = [line for line in problems(verify(copy)[1]) if "original of the revisit" in line]
    again = harness.crawl(web, copy)
    report.check(f"{name}: the crawl goes on to its end", again.returncode == 0,
                 f"exit {again.returncode}: {again.stderr[-500:]}")
    # A revisit whose original is lost stays what it is; its page is fetched again.
    code, text = verify(copy)
    left = [line for line in problems(text) if line not in hopeless]
    report.check(f"{name}: everything agrees then, but {len(hopeless)} revisits of lost records",
                 not left and code == (1 if hopeless else 0), f"exit {code}: {left[:5]}")
    stored = {url for url, _, n in harness.db_rows(copy) if n > 0}
    report.same_set(f"{name}: all pages are there", stored & expected, expected)


def check_begun(report, original, copy):
    """A file of which a running crawl, or one that was killed, has written the first bytes."""
    shutil.copytree(original, copy)
    with open(finished(copy), "rb") as file, open(copy + "/warc/begun.warc.gz.open", "wb") as begun:
        begun.write(file.read(100))
    code, text = verify(copy)
    report.check("a file that was just begun is no problem", code == 0 and "begun" in text,
                 f"exit {code}: {problems(text)}")


def declare(directory, files):
    with open(directory + "/moved.txt", "a") as file:
        file.writelines(os.path.basename(path) + "\n" for path in files)


def moved_away(report, web, original, copy):
    """Finished files may be moved away; what is lost is told apart from that."""
    def again():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy)
    away = copy + ".away"
    again()
    files = sorted(glob.glob(glob.escape(copy) + "/warc/*.warc.gz"))
    os.mkdir(away)
    os.rename(files[1], f"{away}/{os.path.basename(files[1])}")
    code, text = verify(copy)
    lost = [line for line in text.splitlines() if line.startswith("lost\t")]
    report.check(f"a file that is gone is one problem, and {len(lost)} pages are named",
                 code == 1 and len(problems(text)) == 1 and len(lost) > 5 and
                 os.path.basename(files[1])[:-len(".warc.gz")] in problems(text)[0], text[-800:])
    declare(copy, files[1:2])
    code, text = verify(copy)
    report.check("when it was moved, there is none", code == 0 and "moved\t" in text, text[-800:])
    report.check("then and later", verify(copy)[0] == 0)
    for path in files[:1] + files[2:]:
        os.rename(path, f"{away}/{os.path.basename(path)}")
    declare(copy, files[:1] + files[2:])
    code, text = verify(copy)
    report.check("all of them may be moved, the last one, too", code == 0, text[-800:])
    result = harness.crawl(web, copy)
    report.check("and the crawl goes on", result.returncode == 0 and verify(copy)[0] == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]} {verify(copy)[1][-500:]}")
    again()
    shutil.rmtree(away)
    os.rename(copy + "/warc", away)
    code, text = verify(copy)
    report.check("all of warc/ gone is told", code == 1 and "the folder is missing" in text and
                 text.count("lost\t") > 100 and len(problems(text)) == 1, text[-800:])
    os.mkdir(copy + "/warc")
    for path in glob.glob(glob.escape(away) + "/*.cdxj"):
        shutil.copy(path, copy + "/warc")
    declare(copy, glob.glob(glob.escape(away) + "/*.gz"))
    code, text = verify(copy)
    report.check("and may have been moved", code == 0, text[-800:])
    shutil.rmtree(away)


def damages(report, path):
    with harness.Web(path, **SIZES) as web:
        original, copy = path + "/crawl", path + "/copy"
        result = harness.crawl(web, original, "--max-pages", "200", "--warc-max-size", "100k")
        report.equal("the crawl stops at its limit", result.returncode, 14)
        code, text = verify(original)
        report.check("and everything agrees", code == 0, f"exit {code}: {text[-800:]}")
        expected = web.graph_urls()
        config = original + "/config.ini"
        with open(config, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("max_pages")]
        with open(config, "w", encoding="utf-8") as file:
            file.writelines(lines)
        check_begun(report, original, copy)
        moved_away(report, web, original, copy)
        broken_pages(report, original, copy)
        unreadable(report, web, original, copy)
        no_database(report, web, original, copy)
        two_at_once(report, original)
        read_only(report, original)
        of_others(report, original)
        settings(report, web, original, copy)
        in_use(report, web, path + "/used")
        threads_take_faults(report, web, path + "/threads")
        for row in DAMAGES:
            check_damage(report, web, original, copy, expected, row)


def broken_pages(report, original, copy):
    """A disk that gives back zeroes: LMDB would end the program with an assertion."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    name = copy + "/crawl.mdb/data.mdb"
    with open(name, "r+b") as file:
        file.seek(os.path.getsize(name) // 8192 * 4096)
        file.write(bytes(os.path.getsize(name) - file.tell()))
    for options in ((), ("--repair",)):
        code, text = verify(copy, *options)
        report.check(f"broken pages of the database are told, and in which table {options}",
                     code == 17 and "of data.mdb is broken" in text and
                     "problem\tcrawl.mdb\ttable " in text, f"exit {code}: {text[-500:]}")


def no_database(report, web, original, copy):
    """What is left of a crawl is not taken for a new one."""
    for name, lose in (("gone", os.unlink), ("empty", lambda file: os.truncate(file, 0))):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy)
        lose(copy + "/crawl.mdb/data.mdb")
        code, text = verify(copy)
        report.check(f"a database that is {name} is found", code == 1 and
                     "data.mdb is missing or empty" in text, f"exit {code}: {text[-500:]}")
        result = harness.crawl(web, copy, timeout=30)
        report.check(f"and no crawl begins over one that is {name}", result.returncode == 17 and
                     "is missing or empty" in result.stderr and
                     not glob.glob(glob.escape(copy) + "/warc/*.uncommitted"),
                     f"exit {result.returncode}: {result.stderr[-500:]}")


def cut_settings(name):
    with open(name, "r+b") as file:
        file.truncate(file.read().index(b"[scope]"))


def zero_settings(name):
    with open(name, "r+b") as file:
        file.write(bytes(os.path.getsize(name)))


# What is done to config.ini, what verify says, the exit status of a start, what it says.
SETTINGS = ((os.unlink, "is missing or empty", 17, "config.ini is missing or empty"),
            (lambda file: os.truncate(file, 0), "is missing or empty", 17, "missing or empty"),
            (zero_settings, "a zero byte", 2, "a zero byte"),
            (cut_settings, "does not end as ragno wrote it", 14, "its end is lost"))


def settings(report, web, original, copy):
    """Without its settings a crawl that was kept to its hosts would go anywhere."""
    for damage, words, status, said in SETTINGS:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy)
        damage(copy + "/config.ini")
        code, text = verify(copy)
        report.check(f"config.ini: verify says '{words}'", code == 1 and words in text,
                     f"exit {code}: {text[-500:]}")
        result = harness.crawl(web, copy, "--max-pages", "201", timeout=30)
        report.check(f"config.ini: the start says '{said}'", result.returncode == status and
                     said in result.stderr, f"exit {result.returncode}: {result.stderr[-500:]}")
    os.unlink(copy + "/config.ini")
    result = harness.crawl(web, copy, "-c", "/dev/null", "--max-pages", "202", timeout=30)
    report.equal("and goes on with settings that are given", result.returncode, 14)


def two_at_once(report, copy):
    """A second verify would take away files of the first: it waits for its turn."""
    folder = os.open(copy + "/warc", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)  # as a verify that goes on
    result = harness.run([f"{harness.OUT}/ragno", "verify", copy])
    os.close(folder)
    report.check("a verify beside another is refused, once", result.returncode == 17 and
                 (result.stdout + result.stderr).count("another ragno verify") == 1 and
                 not result.stdout, f"exit {result.returncode}: {result.stdout} {result.stderr}")


READERS = (("db", "info"), ("verify",), ("status",), ("report",), ("audit",), ("plan",), ("export", "pages"),
           ("export", "text"), ("consent", "h00000.web.test"), ("complaint", "h00000.web.test"),
           ("why", "http://h00000.web.test/"), ("rank", "pagerank"), ("schedule", "plan"))


def read_only(report, copy):
    """A snapshot, to which nothing may be written: what only reads answers as it does elsewhere."""
    def answers(prefix):
        found = {}
        for name, *words in READERS:
            result = harness.run(prefix + [f"{harness.OUT}/ragno", name, copy, *words])
            found[name, *words] = (result.returncode, re.sub(r"\d", "", result.stdout)[:2000], result.stderr[-200:])
        return found
    mount = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99; shift; exec "$@"', "sh", copy]
    if os.getuid() != 0 or harness.run(mount + ["true"]).returncode != 0:
        report.skip("a snapshot", "no mount here")
        return
    expected = answers([])
    report.equal("of a snapshot each answer is the same", answers(mount), expected)
    report.check("and verify is content", expected["verify",][0] == 0, expected["verify",])


def of_others(report, copy):
    """Who may read the files and not write lock.mdb is told so, and not that they are damaged."""
    if os.getuid() != 0:
        report.skip("a directory of others", "not root")
        return
    folder = copy
    while folder != "/tmp" and len(folder) > 1:
        os.chmod(folder, 0o755)
        folder = os.path.dirname(folder)
    for folder, _, names in os.walk(copy):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)
    for words in (("db", copy, "info"), ("verify", copy), ("report", copy)):
        result = subprocess.run([f"{harness.OUT}/ragno", *words], capture_output=True, text=True, user=65534, group=65534,
                                extra_groups=[], timeout=60, check=False, env=dict(os.environ, TMPDIR="/tmp"))
        said = result.stdout + result.stderr
        report.check(f"ragno {words[0]} of another's crawl says what it needs", result.returncode == 3 and
                     "be the user who crawls" in said and "damaged" not in said, f"exit {result.returncode}: {said}")


def in_use(report, web, directory):
    """A repair beside a crawl is refused; a fault of the processor in one of its threads is told."""
    process = subprocess.Popen(harness.crawl_command(web, directory, wait="100ms"),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    harness.until(lambda: process.poll() is not None or os.path.exists(directory + "/status.json"))
    result = harness.run([f"{harness.OUT}/ragno", "verify", directory, "--repair"])
    report.check("a repair of a crawl in use is refused, once", result.returncode == 17 and
                 (result.stdout + result.stderr).count("in use") == 1,
                 f"exit {result.returncode}: {result.stdout} {result.stderr}")
    if harness.SANITIZED:
        process.kill()
    else:
        process.send_signal(signal.SIGBUS)
    _, errors = process.communicate(timeout=30)
    report.check("a fault of the mapped file is told", harness.SANITIZED or
                 (process.returncode == 17 and "ragno verify DIR" in errors),
                 f"exit {process.returncode}: {errors}")


def blocking_threads(pid):
    """The threads that block SIGBUS or SIGSEGV."""
    blocking = []
    for name in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(name, encoding="utf-8") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        mask = int(fields["SigBlk"], 16)
        if mask >> (signal.SIGBUS - 1) & 1 or mask >> (signal.SIGSEGV - 1) & 1:
            blocking.append(fields["Name"].strip())
    return blocking


def threads_take_faults(report, web, directory):
    """No thread of a crawl blocks what the processor sends to it."""
    process = subprocess.Popen(harness.crawl_command(web, directory, wait="100ms"),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    harness.until(lambda: process.poll() is not None or os.path.exists(directory + "/status.json"))
    # A thread that has been made and has not run yet blocks all: pthread_create's doing.
    harness.until(lambda: not blocking_threads(process.pid), 30)
    blocking = blocking_threads(process.pid)
    process.kill()
    process.wait()
    report.check("faults are blocked by no thread", not blocking, f"{blocking}")


def unreadable(report, web, original, copy):
    """Hosts with work whose names are gone: the crawl must end, and say why."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    with lmdb_table.table(copy + "/crawl.mdb", "origins") as origins:
        for key, _ in origins.items():
            origins.delete(key)
    result = harness.crawl(web, copy, timeout=30)
    report.check("a crawl that cannot read its database ends", result.returncode == 17 and
                 "the database cannot be read" in result.stderr,
                 f"exit {result.returncode}: {result.stderr[-500:]}")


def beside(report, path):
    with harness.Web(path, **dict(SIZES, pages=3000)) as web:
        directory = path + "/crawl"
        command = harness.crawl_command(web, directory, "--warc-max-size", "100k", wait="20ms")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        wrong, n = [], 0
        while process.poll() is None:
            begun = os.path.exists(directory + "/warc")
            code, text = verify(directory)
            if begun:
                n += 1
                wrong += [] if code == 0 else [problems(text) or text[-300:]]
        report.equal("the crawl ends", process.returncode, 0)
        report.check(f"{n} times beside it, no problem was seen", n > 0 and not wrong,
                     f"{len(wrong)}: {wrong[:2]}")


def largest_bucket(directory):
    """The file that has most of the links that wait, and its size."""
    sizes = {}
    for name in glob.glob(glob.escape(directory) + "/sieve/*.drum"):
        try:
            sizes[name] = os.path.getsize(name)
        except FileNotFoundError: # merged meanwhile
            pass
    return max(sizes.items(), key=lambda pair: pair[1], default=(None, 0))


def committed(directory):
    """Fetches of pages that are committed: crawl.log has them only then."""
    try:
        with open(directory + "/crawl.log", encoding="utf-8") as log:
            return sum(" 200 " in line and "robots.txt" not in line for line in log)
    except FileNotFoundError:
        return 0


def interrupted_with_links_waiting(web, directory):
    """Kills a crawl whose links all wait in bucket files, some of them committed; the file that has most of
    them."""
    for _ in range(10):
        shutil.rmtree(directory, ignore_errors=True)
        process = subprocess.Popen(
            harness.crawl_command(web, directory, *WAITING, wait="10ms", ip_wait="1ms"),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and (largest_bucket(directory)[1] <= 20000 or
                                          committed(directory) < 20):
            time.sleep(0.005)
        process.kill()
        process.wait()
        name, size = largest_bucket(directory)
        if size > 20000:
            return name
    return None


def stopped(report, web, directory):
    process = subprocess.Popen(
        harness.crawl_command(web, directory, *WAITING, wait="20ms", ip_wait="1ms"),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(timeout=0.8)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    report.check("a stopped crawl ends", process.wait(timeout=30) in (0, 11))
    report.equal("and leaves no link waiting", glob.glob(glob.escape(directory) + "/sieve/*.drum"),
                 [])


def damage_links(name):
    with open(name, "r+b") as file:
        file.seek(200)
        file.write(bytes(2000))


def links_waiting(report, path):
    with harness.Web(path, **dict(SIZES, pages=2000)) as web:
        reference, directory = path + "/reference", path + "/waiting"
        harness.run(harness.crawl_command(web, reference, wait="1ms", ip_wait="1ms"), timeout=60)
        stopped(report, web, path + "/stopped")
        for _ in range(8):
            name = interrupted_with_links_waiting(web, directory)
            report.check("a killed crawl leaves links in bucket files", name is not None)
            code, text = verify(directory)
            report.check("which is no problem", code == 0 and not problems(text), text)
            damage_links(name)
            code, text = verify(directory)
            if problems(text):
                break
            # The kill came before the commit that would have made them count.
        lost = [line for line in problems(text) if "its links are lost" in line]
        report.check("damaged ones are found, and whose links they were",
                     code == 1 and any("bucket files" in line for line in problems(text)) and lost,
                     text)
        _, text = verify(directory, "--repair")
        report.check("repair has their pages fetched again",
                     f"{len(lost)} pages scheduled to be fetched again" in text, text)
        result = harness.run(harness.crawl_command(web, directory, *WAITING, wait="1ms",
                                                   ip_wait="1ms"), timeout=60)
        report.equal("the crawl goes on", result.returncode, 0)
        code, text = verify(directory)
        report.check("and has no problem left", code == 0 and not problems(text), text)
        dumps = [sorted(harness.run([f"{harness.OUT}/ragno", "db", d, "links"]).stdout.splitlines())
                 for d in (reference, directory)]
        report.check("and every link of a crawl that was left alone", dumps[0] == dumps[1],
                     f"{len(dumps[0])} {len(dumps[1])}")


# ---- lists of links -----------------------------------------------------------------------------

def html(body, charset="utf-8"):
    return f"<!DOCTYPE html><title>t</title>{body}".encode(charset)


# path -> status, further header fields, body: each has its links in another way.
PAGES = {
    "/": (200, {}, html("".join(f"<a href={p}>x</a>" for p in (
        "latin2", "base/", "packed", "header", "old", "same1", "same2", "refresh", "xhtml",
        "closed", "none", "sub/a?x=1&amp;y=2#f", "kinds")))),
    "/latin2": (200, {"Content-Type": "text/html; charset=iso-8859-2"},
                html("<a href='/?q=\u017elu\u0165'>x</a>", "iso-8859-2")),
    "/base/": (200, {}, html("<base href='http://127.0.0.2/other/'><a href=x>x</a>")),
    "/packed": (200, {"Content-Encoding": "gzip"},
                gzip.compress(html("".join(f"<a href=/packed/{i}>x</a>" for i in range(700))))),
    "/header": (200, {"Link": "</by-header>; rel=next"}, html("nothing here")),
    "/old": (301, {"Location": "/new"}, b""),
    "/new": (200, {}, html("<a href=/>home</a><a href=/late>x</a>")),
    "/same1": (200, {}, html("<a href=/copy-of>twice</a>")),
    "/same2": (200, {}, html("<a href=/copy-of>twice</a>")),
    "/refresh": (200, {"Refresh": "5; url=/refreshed"}, html("x")),
    "/xhtml": (200, {"Content-Type": "application/xhtml+xml"},
               b"<html xmlns='http://www.w3.org/1999/xhtml'><body><a href='/xh'>x</a></body></html>"),
    "/closed": (200, {}, html("<meta name=robots content=nofollow><a href=/hidden>x</a>")),
    "/none": (200, {}, html("no links at all")),
    "/kinds": (200, {}, html("<iframe src=/frame></iframe><area href=/area><a rel=nofollow href=/no>"
                             "x</a><img src=/i.png><a href=/frame>x</a>")),
}


class Site(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        status, fields, body = PAGES.get(self.path, (404, {}, html("<a href=/>none</a>")))
        if self.path == "/robots.txt":
            status, fields, body = 404, {}, b""
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)),
                            **fields}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def site_command(port, directory, *arguments):
    return [f"{harness.OUT}/ragno", "-d", directory, "-w", "0ms", "--ip-wait", "0ms",
            "--progress=never", "-q", "--set", f"fetch.port_map=80:{port}", "--set",
            "fetch.allow_addresses=127.0.0.0/8", *arguments]


def lists_of(directory):
    """Every link with its kind, as the lists say."""
    result = harness.run([f"{harness.OUT}/ragno", "export", directory, "links", "--format", "jsonl"])
    return sorted(result.stdout.splitlines())


def lose_lists(directory, which):
    """Deletes the records of lists for which which(number) is true."""
    with lmdb_table.table(directory + "/crawl.mdb", "links") as links:
        for number, (key, _) in enumerate(links.items()):
            if which(number):
                links.delete(key)


def change_lists(directory, change):
    with lmdb_table.table(directory + "/crawl.mdb", "links") as links:
        for key, value in links.items():
            links.put(key, change(value))


def nonsense(value):
    return bytes(byte ^ 0xff for byte in value)


def far_links(value):
    """Every list is as long as before, and links to pages that there are not."""
    return value[:2] + bytes([0xff, 0xff, 0x7f] * len(value))[:len(value) - 2]


LOSSES = (("all lists lost", lambda d: lose_lists(d, lambda n: True)),
          ("every second record lost", lambda d: lose_lists(d, lambda n: n % 2 == 1)),
          ("records cut", lambda d: change_lists(d, lambda v: v[:len(v) * 2 // 3])),
          ("records of nonsense", lambda d: change_lists(d, nonsense)),
          ("links to nowhere", lambda d: change_lists(d, far_links)))


def fetched_again(report, original, copy, name, lose, expected, command):
    """Damage, repair, another crawl, and every list is what it was."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    lose(copy)
    code, text = verify(copy)
    n = sum("its links are lost" in line for line in problems(text))
    report.check(f"{name}: found", code == 1 and n > 0 and "repaired\t" not in text,
                 f"exit {code}: {text[-800:]}")
    code, text = verify(copy, "--repair")
    report.check(f"{name}: {n} pages are to be fetched again", code == 1 and
                 f"{n} pages scheduled to be fetched again" in text, f"exit {code}: {text[-800:]}")
    code, text = verify(copy)
    report.check(f"{name}: no problem is left", code == 0, f"exit {code}: {problems(text)[:5]}")
    result = harness.run(command)
    report.equal(f"{name}: the crawl goes on", result.returncode, 0)
    found = lists_of(copy)
    report.check(f"{name}: as before, {len(expected)} links", found == expected,
                 f"{len(found)}: {sorted(set(found) ^ set(expected))[:4]}")


def lists_of_a_site(report, path):
    harness.unlogged("copies of a crawl go on, and are removed")
    with harness.HttpServer(("0.0.0.0", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        original, copy = path + "/crawl", path + "/copy"
        port = server.server_address[1]
        result = harness.run(site_command(port, original, "http://127.0.0.1/"))
        report.equal("the crawl of a small site ends", result.returncode, 0)
        expected = lists_of(original)
        for row in LOSSES:
            fetched_again(report, original, copy, *row, expected, site_command(port, copy))
        server.shutdown()


def lists_after_revisits(report, web, path):
    """What is asked for again for its links is asked for without a condition: a 304 has none."""
    directory, copy = path + "/visited", path + "/visited-copy"
    options = ("--set", "schedule.mode=continuous", "--set", "schedule.revisit_default=1s", "--set",
               "schedule.revisit_min=300ms")
    command = harness.crawl_command(web, directory, *options, wait="1ms", ip_wait="1ms")
    harness.run_until(command, lambda: sum(r.status == 304 for r in web.requests()) >=
                      2 * SIZES["pages"])
    expected = lists_of(directory)
    shutil.copytree(directory, copy)
    lose_lists(copy, lambda n: True)
    _, text = verify(copy, "--repair")
    report.check("pages that were visited again are scheduled", "to be fetched again" in text, text[-800:])
    command = harness.crawl_command(web, copy, *options, wait="1ms", ip_wait="1ms")
    harness.run_until(command, lambda: lists_of(copy) == expected)
    report.check("and have their links again", lists_of(copy) == expected)


def captures_missing(report, path):
    """After lists_after_revisits: its crawl again, but what is lost is the index of captures."""
    directory, copy = path + "/visited", path + "/visited-copy"
    shutil.rmtree(copy)
    shutil.copytree(directory, copy)
    with lmdb_table.table(copy + "/crawl.mdb", "captures") as captures:
        keys = [key for key, _ in captures.items()]
        for key in keys[::2]:
            captures.delete(key)
    code, text = verify(copy)
    report.check("captures that the database does not know are found", code == 1 and
                 text.count("the index of captures does not know") == (len(keys) + 1) // 2,
                 text[-800:])


def lists_without_answers(report, web, path):
    """Without an archive, too."""
    command = harness.crawl_command(web, path + "/bare", "--no-warc", wait="1ms", ip_wait="1ms")
    harness.run(command, timeout=60)
    fetched_again(report, path + "/bare", path + "/bare-copy", "every second record of a bare crawl",
                  lambda d: lose_lists(d, lambda n: n % 2 == 0), lists_of(path + "/bare"),
                  harness.crawl_command(web, path + "/bare-copy", "--no-warc", wait="1ms", ip_wait="1ms"))


def link_lists(report, path):
    harness.unlogged("copies of a crawl go on, and are removed")
    with harness.Web(path, change_ms=600000, **SIZES) as web:
        lists_after_revisits(report, web, path)
        captures_missing(report, path)
        lists_without_answers(report, web, path)


def nothing_to_verify(report, path):
    """Of what it has not looked at it does not say that there are no problems."""
    os.mkdir(path + "/empty")
    for name in ("/empty", "/none"):
        result = harness.run([f"{harness.OUT}/ragno", "verify", path + name])
        report.check(f"verify of {name}", result.returncode == 3 and result.stdout == "" and name in result.stderr,
                     f"{result.returncode} {result.stdout} {result.stderr}")


if __name__ == "__main__":
    harness.main(damages, beside, links_waiting, lists_of_a_site, link_lists, nothing_to_verify)
