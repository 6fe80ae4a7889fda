"""What comes with the program: completion in both shells, the unit, log rotation."""
import os
import re
import shutil
import socket
import subprocess
import tempfile

import harness
from harness import OUT, run

WAIT_S = 60

# Line before the cursor: what must be offered, and what must not.
COMPLETIONS = [
    (["ragno", ""], {"audit", "crawl", "ctl", "import", "verify", "why"}, {"COMMAND"}),
    (["ragno", "ra"], {"rank"}, {"audit"}),
    (["ragno", "db", "D", ""], {"dump", "find", "get", "hosts", "links", "path", "schedule"}, set()),
    (["ragno", "ctl", "D", ""], {"pause", "resume", "stop", "status", "threads", "rotate"}, set()),
    (["ragno", "rank", "D", ""], {"pagerank", "hits"}, set()),
    (["ragno", "export", "D", ""], {"links", "hosts", "pages", "text", "captures", "warc", "wacz"}, set()),
    (["ragno", "schedule", "D", ""], {"freq", "refused", "revive"}, set()),
    (["ragno", "ctl", "D", ""],
     {"allow", "denials", "deny", "host", "pause", "set", "unset", "waiting"}, {"links"}),
    (["ragno", "ctl", "D", "set", "politeness."], {"politeness.host_delay"}, {"fetch.threads"}),
    (["ragno", "check", ""], {"charset", "filter", "robots", "url"}, {"pagerank"}),
    (["ragno", "audit", "D", "--"], {"--host", "--ip", "--since", "--json"}, {"--depth"}),
    (["ragno", "plan", "--"], {"--json", "--contact"}, {"--depth"}),
    (["ragno", "verify", "D", "--"], {"--repair", "--refetch"}, {"--depth"}),
    (["ragno", "export", "D", "text", "--"], {"--main", "--since", "--status"}, {"--arcs"}),
    (["ragno", "export", "D", "captures", "--"], {"--url", "--no-language", "--format"}, {"--arcs"}),
    (["ragno", "export", "D", "wacz", "--"], {"--url", "--since", "--main-page"}, {"--arcs"}),
    (["ragno", "check", "links", "--"], {"--base", "--content-type"}, {"--atoms"}),
    (["ragno", "-n", "--pr"], {"--progress", "--print-config"}, {"--depth"}),
    (["ragno", "export", "D", "links", "--format", ""], {"tsv", "csv", "jsonl", "arcs"}, {"wet"}),
    (["ragno", "-s", "politeness."], {"politeness.host_delay"}, {"fetch.threads"}),
]

BASH = """
. config/ragno.bash-completion
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_ragno
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Outside of a completion the words that compadd gets are what would be offered.
ZSH = """
compadd() {
    local -a given
    while (( $# )); do
        case $1 in
        -S) shift ;;
        -a) shift; given+=(${(P)1}) ;;
        *) given+=($1) ;;
        esac
        shift
    done
    print -l -- $given
}
_files() { :; }
fpath=($HERE)
autoload +X _ragno
words=("$@") CURRENT=$#
_ragno
"""


def offered(shell, script, line, path):
    environment = dict(os.environ, PATH=f"{path}/bin:{os.environ['PATH']}", HERE=path)
    result = subprocess.run([shell, *(["-f"] if shell == "zsh" else []), "-c", script, shell, *line],
                            capture_output=True, text=True, env=environment, check=False)
    words = {w.rstrip("=") for w in result.stdout.split()}
    return {w for w in words if w.startswith(line[-1])}, result.stderr


def test_completion(report, path):
    os.mkdir(f"{path}/bin")
    os.symlink(os.path.abspath(f"{OUT}/ragno"), f"{path}/bin/ragno")
    shutil.copy("config/ragno.zsh-completion", f"{path}/_ragno")
    for shell, script in (("bash", BASH), ("zsh", ZSH)):
        if not shutil.which(shell):
            report.skip(f"completion in {shell}", f"{shell} is not installed (make deps-dev)")
            continue
        for line, wanted, unwanted in COMPLETIONS:
            words, errors = offered(shell, script, line, path)
            report.check(f"{shell}: {' '.join(line)!r} is completed",
                         wanted <= words and not unwanted & words and errors == "",
                         f"offered {sorted(words)}; {errors}")


def test_words_of_ctl_are_offered(report, path):
    """Each word of the desk's table, though no crawl runs that could be asked."""
    with open("src/crawl/desk/desk.c") as file:
        words = set(re.findall(r'^    {"(\w+)", "', file.read(), re.M))
    report.check("the words are found", len(words) >= 19, str(words))
    os.mkdir(f"{path}/bin")
    os.symlink(os.path.abspath(f"{OUT}/ragno"), f"{path}/bin/ragno")
    shutil.copy("config/ragno.zsh-completion", f"{path}/_ragno")
    for shell, script in (("bash", BASH), ("zsh", ZSH)):
        if shutil.which(shell):
            offers, _ = offered(shell, script, ["ragno", "ctl", "D", ""], path)
            report.same_set(f"{shell}: all words of ctl are offered", offers, words)
    wide = [line for line in run([f"{OUT}/ragno", "ctl", "--help"]).stdout.splitlines() if len(line) > 80]
    report.equal("the help fits a terminal", wide, [])


def test_commands_are_offered(report, path):
    """Each command that the program knows is in its help, where completion looks."""
    with open("src/main.c") as file:
        commands = set(re.findall(r'{"(\w+)", \w+_main}', file.read()))
    report.check("the commands are found", len(commands) >= 12, str(commands))
    os.mkdir(f"{path}/bin")
    os.symlink(os.path.abspath(f"{OUT}/ragno"), f"{path}/bin/ragno")
    words, _ = offered("bash", BASH, ["ragno", ""], path)
    report.same_set("all commands are offered", words, commands)


class Manager:
    """A service manager: what it hears at its socket."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(WAIT_S)
        self.heard = []

    def until(self, word):
        """Hears on until a message has a line that begins with word; that line, or None."""
        while True:
            try:
                message = self.socket.recv(4096).decode()
            except socket.timeout:
                return None
            self.heard.append(message)
            for line in message.splitlines():
                if line.startswith(word):
                    return line


def test_notify(report, path):
    """The life of a service as systemd hears it."""
    with tempfile.TemporaryDirectory(prefix="ragno") as short:
        manager = Manager(f"{short}/notify")
        with harness.Web(path, pages=400, hosts=20) as web:
            command = harness.crawl_command(web, f"{path}/crawl", "-q", wait="1s")
            environment = dict(os.environ, NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="400000")
            environment.pop("WATCHDOG_PID", None)
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            try:
                report.check("it is ready", manager.until("READY=1"), str(manager.heard))
                pid = [line for line in manager.heard[-1].splitlines() if line.startswith("MAINPID")]
                report.equal("as the process that it is", pid, [f"MAINPID={process.pid}"])
                for _ in range(3):
                    report.check("it feeds the watchdog", manager.until("WATCHDOG=1"), "silence")
                status = manager.until("STATUS=running")
                report.check("it says how it is", status and " pages (" in status, str(status))
                process.send_signal(harness.signal.SIGHUP)
                report.check("it says that it reads its configuration", manager.until("RELOADING=1"),
                             str(manager.heard[-5:]))
                report.check("and that it is ready again", manager.until("READY=1"), "silence")
                process.terminate()
                report.check("it says that it stops", manager.until("STOPPING=1"), "silence")
                report.check("and why", "STATUS=stopped by a signal" in manager.heard[-1],
                             manager.heard[-1])
                report.check("it ends", harness.ended(process), "it goes on")
                report.equal("with the status of a signal", process.returncode, 11)
            finally:
                harness.end_process(process)


def filled(name, prefix="/usr", etc="/etc"):
    """A file of config/ as tools/install puts it into place."""
    with open(f"config/{name}.in") as file:
        return file.read().replace("@PREFIX@", prefix).replace("@ETC@", etc)


def test_unit(report, path):
    """systemd accepts the unit."""
    unit = filled("ragno.service")
    report.check("every place is filled in", "@" not in re.sub(r"@system-service", "", unit), unit)
    if not shutil.which("systemd-analyze"):
        report.skip("systemd-analyze verify", "there is no systemd")
        return
    with open(f"{path}/ragno.service", "w") as file:
        file.write(unit.replace("/usr/bin/ragno", os.path.abspath(f"{OUT}/ragno")))
    verified = subprocess.run(["systemd-analyze", "verify", "--man=no", f"{path}/ragno.service"],
                              capture_output=True, text=True, check=False)
    complaints = [line for line in verified.stderr.splitlines() if "ragno" in line]
    report.equal("systemd has nothing to say of the unit", complaints, [])


def test_several_crawls(report, path):
    """A crawl of several has a unit, a timer, a configuration and a directory of its own."""
    installed = run(["make", "install", f"DESTDIR={path}/root", "PREFIX=/usr", f"MODE={os.path.basename(OUT)}"],
                    timeout=250)
    report.equal("it is installed", installed.returncode, 0)
    units = f"{path}/root/usr/lib/systemd/system"
    with open(f"{units}/ragno@.service") as file:
        unit = file.read()
    for line in ("-c /etc/ragno/%i.ini -i /etc/ragno/%i.seeds", "-d /var/lib/ragno-%i/crawl",
                 "StateDirectory=ragno-%i\n", "ProtectSystem=strict"):
        report.check(f"the unit has {line.strip()}", line in unit, unit)
    report.check("and nothing of the single crawl", "/var/lib/ragno/" not in unit and "ragno.ini" not in unit, unit)
    if not shutil.which("systemd-analyze"):
        report.skip("systemd-analyze verify", "there is no systemd")
        return
    with open(f"{units}/ragno@.service", "w") as file:
        file.write(unit.replace("/usr/bin/ragno", os.path.abspath(f"{OUT}/ragno")))
    for name in ("ragno@news.service", "ragno@news.timer"):
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", f"{units}/{name}"], capture_output=True,
                                  text=True, check=False, env=dict(os.environ, SYSTEMD_UNIT_PATH=f"{units}:"))
        complaints = [line for line in verified.stderr.splitlines() if "ragno" in line]
        report.equal(f"systemd has nothing to say of {name}", complaints, [])


ALERTS = """rule_files: [%s]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'ragno_state{instance="a",state="running"}', values: 1x90}
      - {series: 'ragno_urls_queued{instance="a"}', values: 70x90}
      - {series: 'ragno_elapsed_seconds{instance="a"}', values: 3600+60x90}
      - {series: 'ragno_pages_total{instance="a"}', values: 0+10x30 300x60}
      - {series: 'ragno_walls_total{instance="a",wall="403"}', values: 0x30 0+5x60}
      - {series: 'ragno_walls_total{instance="b",wall="403"}', values: 0+1x90}
    alert_rule_test:
      - {eval_time: 40m, alertname: RagnoStalled, exp_alerts: []}
      - eval_time: 70m
        alertname: RagnoStalled
        exp_alerts:
          - exp_labels: {severity: critical, instance: a, state: running}
            exp_annotations: {summary: "a has URLs and fetched none in 30 minutes"}
      - eval_time: 80m
        alertname: RagnoWalled
        exp_alerts:
          - exp_labels: {severity: warning, instance: a}
            exp_annotations: {summary: "a: 245 answers in an hour say that we are not wanted"}
"""


def test_alerts(report, path):
    """The rules are rules, and ring for a crawl that stands and for one that is walled, not for others."""
    promtool = harness.promtool()
    if not promtool:
        report.skip("alert rules", "promtool is not here and cannot be fetched (it comes with prometheus)")
        return
    rules = os.path.abspath("config/ragno-alerts.yml")
    with open(f"{path}/alerts.yml", "w") as file:
        file.write(ALERTS % rules)
    for command in (["check", "rules", rules], ["test", "rules", f"{path}/alerts.yml"]):
        result = run([promtool, *command])
        report.check(f"promtool {' '.join(command[:2])}", result.returncode == 0, result.stdout + result.stderr)


def test_release(report, path):
    """NEWS, packages and manual name the version; a tag is made once, of what is committed."""
    here = f"{path}/release"
    os.mkdir(here)
    for name in ("NEWS", "Makefile", "debian/changelog", "doc/ragno.1", "doc/ragno.ini.5", "tools/release"):
        os.makedirs(os.path.dirname(f"{here}/{name}"), exist_ok=True)
        shutil.copy(name, f"{here}/{name}")
    with open("Makefile") as file:
        version = re.search(r"^VERSION := (\S+)", file.read(), re.M)[1]

    def git(*words):
        return run(["git", "-C", here, "-c", "user.name=t", "-c", "user.email=t@example.org", *words])

    def release(number):
        return run(["sh", "-c", f"cd '{here}' && GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org "
                                f"tools/release {number}"])

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all")
    other = release("9.9.9")
    report.check("NEWS of another version is refused", other.returncode == 1 and "NEWS" in other.stderr, other.stderr)
    with open(f"{here}/NEWS", "a") as file:
        file.write("more\n")
    dirty = release(version)
    report.check("what is not committed is not released", dirty.returncode == 1 and "committed" in dirty.stderr,
                 dirty.stderr)
    git("commit", "-qam", "more")
    made = release(version)
    report.check("a tag is made", made.returncode == 0, made.stderr)
    report.equal("of this version", git("tag", "--list").stdout.split(), [f"v{version}"])
    report.equal("once", release(version).returncode, 1)


def test_rotation(report, path):
    """logrotate moves the logs of a crawl that runs, which goes on in new ones; audit reads both."""
    if not shutil.which("logrotate"):
        report.skip("rotation", "logrotate is not installed (make deps-dev)")
        return
    text = filled("ragno.logrotate")
    os.mkdir(f"{path}/state", 0o755)
    text = text.replace("/var/lib/ragno/crawl", f"{path}/crawl")
    text = text.replace("/usr/bin/ragno", os.path.abspath(f"{OUT}/ragno")).replace("minsize", "#")
    with open(f"{path}/logrotate.conf", "w") as file:
        file.write(f"su {os.getuid()} {os.getgid()}\n".replace("su 0 0\n", "") + text)
    os.chmod(f"{path}/logrotate.conf", 0o644)
    with harness.Web(path, pages=2000, hosts=20) as web:
        process = subprocess.Popen(harness.crawl_command(web, f"{path}/crawl", "-q", wait="100ms"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            log = f"{path}/crawl/crawl.log"
            report.check("it crawls", harness.until(lambda: os.path.exists(log) and
                                                    os.path.getsize(log) > 0), "no line")
            rotated = subprocess.run(["logrotate", "--force", "--state", f"{path}/state/status",
                                      f"{path}/logrotate.conf"], capture_output=True, text=True,
                                     check=False)
            report.equal("logrotate has nothing to say", (rotated.returncode, rotated.stderr), (0, ""))
            report.check("the old log is aside", os.path.getsize(log + ".1") > 0, "it is not")
            report.check("the crawl goes on in a new one",
                         harness.until(lambda: os.path.exists(log) and os.path.getsize(log) > 0),
                         "it does not")
        finally:
            process.terminate()
            harness.ended(process)
            harness.end_process(process)
    audit = subprocess.run([f"{OUT}/ragno", "audit", f"{path}/crawl", "--json"], capture_output=True,
                           text=True, check=False)
    report.equal("the audit finds no breach in both", audit.returncode, 0)


def test_image(report, path):
    """What Containerfile's last stage is made of: the program alone, run by a user without rights."""
    if harness.SANITIZED or not shutil.which("strip"):
        report.skip("the root of an image", "a build for tests, or no strip")
        return
    root = f"{path}/image"
    made = run(["tools/image-root", root, f"{OUT}/ragno"])
    report.equal("it is made", (made.returncode, made.stderr), (0, ""))
    files = [os.path.join(where, name) for where, _, names in os.walk(root) for name in names]
    size = sum(os.path.getsize(f) for f in files)
    report.check("it is below 60 MB", size < 60e6, f"{size / 1e6:.1f} MB")
    report.equal("nothing else can be run in it", [f for f in files if f.startswith((root + "/bin", root + "/usr/bin/"))],
                 [root + "/usr/bin/ragno"])
    report.check("it is not made over another", run(["tools/image-root", root, f"{OUT}/ragno"]).returncode == 1)
    inside = ["chroot", "--userspec=65532:65532", root] if os.geteuid() == 0 else \
        ["unshare", "--user", "--map-root-user", "chroot", root]
    name = run([*inside, "/usr/bin/ragno", "check", "url", "http://a.test/", "http://B\u00dcCHER.test/"])
    report.equal("ICU has what names outside ASCII need", name.stdout, "http://xn--bcher-kva.test/\n")
    with harness.Web(path, hosts=5, pages=60) as web:
        shutil.copy(web.seeds, root + "/crawl/seeds.txt")
        os.chmod(root + "/crawl/seeds.txt", 0o644)
        command = harness.crawl_command(web, "/crawl/c", "--no-warc", seeds="/crawl/seeds.txt")
        result = run([*inside, "/usr/bin/ragno", *command[1:]], timeout=60)
        report.equal("it crawls", result.returncode, 0)
        told = run([*inside, "/usr/bin/ragno", "report", "/crawl/c"])
        report.check("and tells of it", told.returncode == 0 and "pages" in told.stdout, result.stderr[-300:] + told.stderr[-300:])
        shutil.copytree(root + "/crawl/c", path + "/crawl")


if __name__ == "__main__":
    harness.main(test_image, test_completion, test_words_of_ctl_are_offered, test_commands_are_offered, test_notify, test_unit, test_several_crawls,
                 test_alerts, test_release, test_rotation)
