"""What the integration tests share: the synthetic web, the crawler, and the lines they print.

A test starts a Web (tests/web: HTTP and DNS on free loopback ports), runs the crawler against it,
and judges by the server's request log and by what `ragno db` prints. Every check is one line on
standard output, `ok NAME`, `FAIL NAME: why` or `skip NAME: why`; finish() ends the script with the
exit status.
"""
import collections
import gzip
import http.server
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

# A job in the background ignores these, and what it starts would, too: tests send them.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)

OUT = os.environ.get("OUT", "build/release")
FULL = os.environ.get("FULL", "") not in ("", "0")
BOUND_S = (int(os.environ.get("BOUND", "0")) or 600) - 20  # before tests/run ends the test
PATIENCE_S = 120  # for what must happen at last, however busy the machine is
# What a sanitizer does to memory and time is not the crawler's.
SANITIZED = os.path.basename(OUT) in ("asan", "tsan")

Request = collections.namedtuple("Request", "start end address host status bytes flags path")


class HttpServer(http.server.ThreadingHTTPServer):
    """Many connect at once, and a busy machine must not drop any (Python's queue has 5 places); a client that
    has had enough is nobody's error. What crawlers ask it for counts in compare_requests()."""
    request_queue_size = 1024

    def __init__(self, address, handler, **options):
        asked = []

        class Counted(handler):
            def parse_request(self):
                is_whole = super().parse_request()
                if is_whole and self.command != "CONNECT" and not re.match(
                        "python-urllib|curl|wget|mozilla", self.headers.get("User-Agent", ""), re.I):
                    asked.append((self.headers.get("Host", ""), self.path))
                return is_whole

        super().__init__(address, Counted, **options)
        servers.append(lambda: asked)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


servers = []  # of this test: each gives the requests that it has seen, as (host, path)
excuses = []  # why requests of this test need not be in a crawl.log


def unlogged(why):
    """Requests of this test are missing in crawl.log for a reason: not compare_requests()."""
    excuses.append(why)


def place_of(host, path):
    """One name for a URL as a server and as a log tell it: no scheme, no port."""
    if path.startswith("http"):  # a proxy passed on the absolute form
        host, _, path = path.split("://", 1)[1].partition("/")
        path = "/" + path
    return re.sub(r":\d+$", "", host.lower().rpartition("@")[2]) + (path or "/")


def logged_requests(path):
    """What the crawls below path say that they have asked for: Counter of place_of(), and of those with an answer;
    and the directories of crawls that did not end by themselves."""
    logs, killed = collections.defaultdict(set), set()
    for directory, _, names in os.walk(path):
        for name in names:
            if name == "ragno.log":
                with open(f"{directory}/{name}", errors="replace") as file:
                    text = file.read()
                if text.count(" agent: start ") != text.count(" agent: end "):
                    killed.add(directory)
            if not re.fullmatch(r"crawl\.log(\.\d+)?(\.gz)?", name):
                continue
            opened = gzip.open if name.endswith(".gz") else open
            with opened(f"{directory}/{name}", "rt", encoding="latin-1") as file:
                for line in file:
                    columns = line.split()
                    if len(columns) == 12 and "ip:" in columns[11] and "mono:" in columns[11]:
                        logs[directory].add(line)
    crawls = []  # a crawl that was copied tells the same twice; two at once have few lines in common
    for log in logs.values():
        twin = next((c for c in crawls if 2 * len(c & log) > min(len(c), len(log))), None)
        if twin is None:
            crawls.append(log)
        else:
            twin |= log

    def count(least):
        return collections.Counter(place_of("", line.split()[3]) for crawl in crawls for line in crawl
                                   if int(line.split()[1]) >= least)
    return count(-math.inf), count(100), killed


def compare_requests(report, path):
    """After each test: every request that a server has seen is a line of crawl.log, and every answer of crawl.log
    was asked for."""
    seen = collections.Counter(place_of(*request) for server in servers for request in server())
    sent, answered, killed = logged_requests(path)
    if not seen or not sent:
        return
    if killed or excuses:
        report.skip("requests of server and crawl.log", excuses[0] if excuses else
                    f"{len(killed)} crawls were killed")
        return
    hosts = {place.split("/")[0] for place in seen}
    more = {place: (n, sent[place]) for place, n in seen.items() if n > sent[place]}
    less = {place: (seen[place], n) for place, n in answered.items()
            if n > seen[place] and place.split("/")[0] in hosts}
    n_sent = sum(n for place, n in sent.items() if place.split("/")[0] in hosts)
    report.check(f"server and crawl.log tell of the same requests: {sum(seen.values())} beside {n_sent}",
                 not more and not less, f"not logged (seen, logged) {dict(list(more.items())[:9])}, never seen "
                 f"{dict(list(less.items())[:9])}")


class Report:
    """Counts the checks of one script."""

    def __init__(self):
        self.failed = 0

    def check(self, name, condition, why=""):
        """One line; returns the condition."""
        if condition:
            print(f"ok {name}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL {name}: {why}".replace("\n", "\n  "), flush=True)
        return condition

    def equal(self, name, found, expected):
        return self.check(name, found == expected, f"expected {expected!r}, found {found!r}")

    def same_set(self, name, found, expected):
        missing, surplus = sorted(expected - found), sorted(found - expected)
        why = f"{len(missing)} missing {missing[:5]}, {len(surplus)} too many {surplus[:5]}"
        return self.check(name, not missing and not surplus, why)

    def skip(self, name, why):
        """One line for what is not checked here; it counts neither way."""
        print(f"skip {name}: {why}", flush=True)

    def finish(self):
        sys.exit(1 if self.failed else 0)


def alone(test):
    """Marks a test of main() that must not run beside those of other scripts: say beside it why. Those of its own that are
    marked, too, run beside it."""
    test.is_alone = True
    return test


def ended_by_signal(_, frame):
    """So that a test that is ended says where it was, and ends what it started."""
    print(f"# SIGTERM came in {frame.f_code.co_name} "
          f"({os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno})", flush=True)
    sys.exit(143)


def main(*tests):
    """Runs each test(report, path) in a directory of its own, then ends the script. Arguments on the
    command line are names of tests, the only ones to run; --list prints the names instead."""
    known = {test.__name__: test for test in tests}
    if sys.argv[1:] == ["--list"]:
        for name, test in known.items():
            print(name, "alone" if getattr(test, "is_alone", False) else "together")
        return
    unknown = [name for name in sys.argv[1:] if name not in known]
    if unknown:
        sys.exit(f"no test {' '.join(unknown)}: there are {' '.join(known)}")
    signal.signal(signal.SIGTERM, ended_by_signal)
    report = Report()
    for test in [known[name] for name in sys.argv[1:]] or tests:
        servers.clear()
        excuses.clear()
        with Scratch() as path:
            try:
                test(report, path)
                compare_requests(report, path)
            except Exception as error:  # whatever broke, it is a failed check with a reason
                where = traceback.extract_tb(error.__traceback__)[-1]
                report.check(test.__name__, False,
                             f"{error} ({os.path.basename(where.filename)}:{where.lineno})")
    report.finish()


class Scratch:
    """A directory for one test; kept when KEEP is set."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="ragno-test-")

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        if os.environ.get("KEEP"):
            print(f"kept: {self.path}", file=sys.stderr)
        else:
            shutil.rmtree(self.path, ignore_errors=True)


class Web:
    """The synthetic web, in directory path. Options are those of `web --help`, with _ for -; prefix are words
    before its command."""

    def __init__(self, path, prefix=(), **options):
        self.path = path
        self.log = os.path.join(path, "requests.log")
        self.reading, self.read_bytes, self.read_requests = threading.Lock(), 0, []
        self.graph = os.path.join(path, "graph.txt")
        self.hosts_file = os.path.join(path, "hosts.txt")
        self.seeds = os.path.join(path, "seeds.txt")
        arguments = [*prefix, f"{OUT}/web", "--port", "0", "--dns-port", "0", "--log", self.log,
                     "--hosts-file", self.hosts_file, "--seeds", self.seeds]
        if options.get("pages"):
            arguments += ["--graph", self.graph]
        for key, value in options.items():
            arguments.append("--" + key.replace("_", "-"))
            if value is not True:
                arguments.append(str(value))
        self.errors = open(os.path.join(path, "web.err"), "w+")
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True)
        words = self.process.stdout.readline().split()
        if not words or words[0] != "ready":
            raise RuntimeError("web did not start: " + open(self.errors.name).read())
        self.http = int(words[1].split("=")[1])
        self.dns = int(words[2].split("=")[1])
        self.https = int(words[3].split("=")[1]) if len(words) > 3 else 0  # with tls=True
        self.asked = None
        servers.append(lambda: [(r.host, r.path) for r in self.requests()] if self.asked is None else self.asked)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it; only then is the log complete."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
            self.asked = [(r.host, r.path) for r in self.requests()]  # the next Web may have the same path
        self.process.stdout.close()
        self.errors.close()

    def requests(self):
        """The log, one Request per line; a line that is still being written is left out. Asked often: each line is
        read once, and none after the end."""
        with self.reading:
            if self.asked is None:
                self.read_on()
            return list(self.read_requests)

    def read_on(self):
        with open(self.log, "rb") as file:
            file.seek(self.read_bytes)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.read_bytes += len(line)
                f = line.decode("latin-1").rstrip("\n").split(" ", 7)
                self.read_requests.append(Request(int(f[0]), int(f[1]), f[2], f[3].lower(), int(f[4]),
                                                  int(f[5]), f[6], f[7]))

    def graph_urls(self):
        with open(self.graph) as file:
            return {line.rstrip("\n") for line in file}

    def hosts(self):
        """name -> (address, forbids private, Crawl-delay in ms)"""
        with open(self.hosts_file) as file:
            rows = [line.split() for line in file]
        return {r[0]: (r[1], r[2] == "1", int(r[3])) for r in rows}


def serving(server):
    """Serves in a thread until server.shutdown()."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    return thread


def url_of(request):
    return f"http://{request.host}{request.path}"


def crawl_command(web, directory, *arguments, wait="0ms", ip_wait="0ms", seeds=None):
    """The command line of a crawl of web into directory. wait=None: a configuration file says it."""
    ports = f"80:{web.http}" + (f",443:{web.https}" if web.https else "")
    command = [f"{OUT}/ragno", "-d", directory, "-i", seeds or web.seeds,
               *(["-w", wait] if wait is not None else []),
               "--ip-wait", ip_wait, "--progress=never",
               "--set", f"fetch.port_map={ports}",
               "--set", f"dns.servers=127.0.0.1:{web.dns}",
               "--set", "fetch.allow_addresses=127.0.0.0/8"]
    return command + list(arguments)


def crawl(web, directory, *arguments, timeout=BOUND_S, **delays):
    """Runs a crawl to its end; a time-out kills it and gives exit status None."""
    return run(crawl_command(web, directory, *arguments, **delays), timeout)


def said(errors):
    """What standard error says, but that languages are not recognized: a bare Debian has no libcld2."""
    return "".join(line for line in errors.splitlines(True) if "no libcld2" not in line)


def run(command, timeout=BOUND_S, env=None):
    """Like subprocess.run with text captured; returncode is None after a time-out, which ends the
    command and everything it started."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace",
                          start_new_session=True, env=env) as process:
        code = None
        try:
            output, errors = process.communicate(timeout=timeout)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            errors += "\n(timed out)"
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, code, output, errors)


def promtool():
    """The path of Prometheus's promtool, which is fetched when it is not there; "": it cannot be had."""
    return run(["tests/promtool"], timeout=120).stdout.strip()


def free_port():
    """A port of 127.0.0.1 that nobody has just now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def answers_at(port):
    """Whether somebody listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name of the program: state, parent, group, session, ..."""
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        return file.read().rpartition(")")[2].split()


def browsers_of(folder, sessions):
    """Process id -> (session, command line), of browsers whose profile is in a folder. Only the first process of each need name it;
    the others have its session, which is remembered in a set, for when the first one has ended."""
    session_of = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            session_of[int(pid)] = int(stat_of(pid)[3])
        except (OSError, IndexError):
            continue

    def words_of(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read()
        except OSError:
            return b""  # it has ended
    sessions |= {pid for pid, session in session_of.items() if session == pid and folder.encode() in words_of(pid)}
    found = {pid: (session, words_of(pid)) for pid, session in session_of.items() if session in sessions}
    return {pid: known for pid, known in found.items() if known[1]}


def until(condition, patience=PATIENCE_S):
    """Waits until condition() holds, and returns what it answered; None when it does not hold in time. What costs
    much, as a process does, is asked less often."""
    deadline = time.monotonic() + patience
    while True:
        begin = time.monotonic()
        answer = condition()
        now = time.monotonic()
        if answer:
            return answer
        if now > deadline:
            return None
        time.sleep(min(max(0.02, 4 * (now - begin)), 0.2))


def run_until(command, condition, patience=PATIENCE_S, **options):
    """Runs a crawl that would not end by itself (or not soon) until condition() holds, and stops it by
    SIGINT. Returns it like subprocess.run, and its returncode is 11 when all went well; None when it
    did not stop, and was killed."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", **options)
    try:
        until(lambda: condition() or process.poll() is not None, patience)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        code = None
    except BaseException:
        process.kill()
        raise
    return subprocess.CompletedProcess(command, code, output, errors)


def db_rows(directory):
    """`ragno db DIR dump` as (url, first_crawl, n_crawls) per page."""
    result = run([f"{OUT}/ragno", "db", directory, "dump"])
    if result.returncode != 0:
        raise RuntimeError(f"ragno db dump: {result.returncode}: {result.stderr}")
    rows = []
    for line in result.stdout.splitlines():
        f = line.split("\t")
        rows.append((f[2], float(f[3]), int(f[6])))
    return rows


def ended(process, patience=PATIENCE_S):
    """Waits for a process to end by itself: its exit status; None when it did not, and was killed."""
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def end_process(process, signals=(signal.SIGTERM, signal.SIGKILL), patience=15):
    """Ends a process that this test started."""
    for number in signals:
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                pass
