"""How agents prove to nats-server who they are, and it to them: TLS, and NKeys. Users and tokens are in
cluster.py. The right ones are taken, wrong ones told of in a sentence; files of secrets are for their
owner alone."""
import base64
import json
import os
import re
import socket
import subprocess

import cluster
import harness

SEED_OF_USER = bytes([144 | 160 >> 5, (160 & 31) << 3])  # "SU" in base32
PUBLIC_USER = bytes([160])                               # "U"


def openssl(*words):
    return subprocess.run(["openssl", *words], check=True, capture_output=True).stdout


def authority(path, name):
    """A certificate that others are signed with: its file, and that of its key."""
    files = f"{path}/{name}.pem", f"{path}/{name}.key"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
            "2", "-subj", f"/CN={name}", "-keyout", files[1], "-out", files[0])
    return files


def signed(path, name, by):
    """A certificate for 127.0.0.1 that an authority has signed, and its key."""
    cert, key, request, extra = (f"{path}/{name}.{kind}" for kind in ("pem", "key", "csr", "ext"))
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
            f"/CN={name}", "-keyout", key, "-out", request)
    with open(extra, "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", request, "-CA", by[0], "-CAkey", by[1], "-CAcreateserial", "-days",
            "2", "-extfile", extra, "-out", cert)
    os.chmod(key, 0o600)
    return cert, key


def crc16(data):
    """As XMODEM has it."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xffff
    return crc


def nkey_text(prefix, key):
    data = prefix + key
    return base64.b32encode(data + crc16(data).to_bytes(2, "little")).decode().rstrip("=")


def nkey(path, name):
    """A user's (public, seed), as `nk -gen user` makes them."""
    private = f"{path}/{name}.der"
    openssl("genpkey", "-algorithm", "ed25519", "-outform", "DER", "-out", private)
    with open(private, "rb") as file:
        seed = file.read()[-32:]
    public = openssl("pkey", "-inform", "DER", "-in", private, "-pubout", "-outform", "DER")[-32:]
    return nkey_text(PUBLIC_USER, public), nkey_text(SEED_OF_USER, seed)


def write(path, text, mode=0o600):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def status(nats, url, *words):
    return cluster.ragno("cluster", "status", "--url", url or nats.url(), "--name", cluster.NAME, *words)


def refused(report, what, result, *words):
    report.check(f"{what} is refused", result.returncode in (2, 4, 17) and
                 all(word in result.stderr for word in words) and result.stderr.count("\n") <= 2,
                 f"{result.returncode}: {result.stderr}")


def crawled(report, path, nats, *settings):
    """Two agents crawl with these settings, and end."""
    with harness.Web(path, hosts=10, pages=60, suffix="test") as web, \
            cluster.Agents(web, nats, path, *settings, agents=2) as agents:
        agents.start_all()
        codes = agents.wait()
        report.check("agents crawl with it", codes == [0, 0], f"{codes} {[agents.said(i) for i in (0, 1)]}")
        pages = set().union(*(cluster.pages_of(d) for d in agents.directories))
        report.check("and have all pages", web.graph_urls() <= pages, f"{len(pages)} pages")


def tls(report, path):
    """The server is checked by its authority, and checks who comes."""
    ours, others = authority(path, "ours"), authority(path, "others")
    server = signed(path, "server", ours)
    agent, stranger = signed(path, "agent", ours), signed(path, "stranger", others)
    settings = (f'tls {{ cert_file: "{server[0]}", key_file: "{server[1]}", ca_file: "{ours[0]}", '
                'verify: true }')
    with cluster.Nats(path, settings) as nats:
        url = nats.url().replace("nats://", "tls://")
        words = ["--tls-authority", ours[0], "--tls-certificate", agent[0], "--tls-key", agent[1]]
        made = cluster.ragno("cluster", "init", "--agents", "2", "--url", url, "--name", cluster.NAME, *words)
        report.equal("a cluster is made over TLS", (made.returncode, made.stderr), (0, ""))
        refused(report, "a server of another authority", status(
            nats, url, "--tls-authority", others[0], *words[2:]), "tls_authority")
        refused(report, "an agent without a certificate", status(nats, url, *words[:2]))
        refused(report, "one without TLS", status(nats, None), "speaks TLS only")
        refused(report, "one of another authority", status(
            nats, url, *words[:2], "--tls-certificate", stranger[0], "--tls-key", stranger[1]))
        refused(report, "an authority that cannot be read", status(
            nats, url, "--tls-authority", path + "/none.pem"), "tls_authority")
        crawled(report, path, nats, "--set", f"cluster.url={url}", "--set", f"cluster.tls_authority={ours[0]}",
                "--set", f"cluster.tls_certificate={agent[0]}", "--set", f"cluster.tls_key={agent[1]}")


def nkeys(report, path):
    """A key pair: the server knows the public one, and nothing secret is sent."""
    public, seed = nkey(path, "right")
    other_public, other_seed = nkey(path, "other")
    right = write(path + "/right", f"nkey {public}\n{seed}\n")
    with cluster.Nats(path, f"authorization {{ users: [ {{ nkey: {public} }} ] }}") as nats:
        made = cluster.ragno("cluster", "init", "--agents", "2", "--url", nats.url(), "--name", cluster.NAME,
                             "--credentials", right)
        report.equal("a cluster is made with an NKey", (made.returncode, made.stderr), (0, ""))
        refused(report, "nobody", status(nats, None), "asks for a login")
        refused(report, "another key", status(nats, None, "--credentials", write(
            path + "/other", f"nkey {other_public}\n{other_seed}\n")), "refuses the login")
        refused(report, "TLS", status(nats, nats.url().replace("nats:", "tls:"), "--credentials", right),
                "does not speak TLS")
        refused(report, "another's seed", status(nats, None, "--credentials", write(
            path + "/mixed", f"nkey {public}\n{other_seed}\n")))
        refused(report, "a file without a seed", status(nats, None, "--credentials", write(
            path + "/half", f"nkey {public}\n")))
        refused(report, "a file that says nothing", status(nats, None, "--credentials", write(
            path + "/words", "open sesame\n")), "expected 'user NAME PASSWORD'")
        for mode in (0o640, 0o604, 0o660):
            refused(report, f"a file of mode {mode:o}", status(nats, None, "--credentials", write(
                path + "/open", f"nkey {public}\n{seed}\n", mode)), "chmod 600")
        refused(report, "a file that is not there", status(nats, None, "--credentials", path + "/none"),
                "No such file")
        crawled(report, path, nats, "--set", f"cluster.credentials={right}")


class Written(cluster.Nats):
    """nats-server with the configuration that `ragno cluster init --write` has made."""

    def __init__(self, path, port):
        self.port, self.log, self.config = port, path + "/nats.log", path + "/keys/nats.conf"
        self.process = None
        self.start()


def signed_nonce(key_file, nonce):
    """What a user answers to the server's nonce, in base64url."""
    with open(key_file) as file:
        seed = file.read().split()[2]
    secret = base64.b32decode(seed + "=" * (-len(seed) % 8))[2:34]
    private, text = key_file + ".der", key_file + ".nonce"
    with open(private, "wb") as file:
        file.write(bytes.fromhex("302e020100300506032b657004220420") + secret)
    with open(text, "w") as file:
        file.write(nonce)
    signature = openssl("pkeyutl", "-sign", "-rawin", "-in", text, "-keyform", "DER", "-inkey", private)
    return base64.urlsafe_b64encode(signature).decode().rstrip("=")


def violations(port, key_file, *lines):
    """What the server says to a client with this key, or none (None), that sends these lines."""
    with socket.create_connection(("127.0.0.1", port), 5) as s, s.makefile("rb") as answers:
        info = json.loads(answers.readline()[5:])
        options = {"verbose": False, "pedantic": False, "lang": "python", "version": "1"}
        if key_file is not None:
            with open(key_file) as file:
                options["nkey"] = file.read().split()[1]
            options["sig"] = signed_nonce(key_file, info["nonce"])
        s.sendall(("CONNECT " + json.dumps(options) + "\r\n" + "".join(lines) + "PING\r\n").encode())
        said = b""
        for line in answers:
            said += line
            if line.startswith(b"PONG"):
                break
        return said.decode()


def accounts(report, path):
    """`ragno cluster init --write`: each agent has a key and may do what an agent does, an operator may make the crawl,
    and nobody else anything."""
    port, keys = cluster.free_port(), path + "/keys"
    server = ["--url", f"nats://127.0.0.1:{port}", "--name", cluster.NAME]
    init = ["cluster", "init", "--agents", "2", *server]
    made = cluster.ragno(*init, "--write", keys)
    report.check("the configuration is written", made.returncode == 0 and "operator.nkey" in made.stdout, made.stderr)
    modes = {os.stat(f"{keys}/{name}").st_mode & 0o777 for name in os.listdir(keys)}
    report.equal("for its owner alone", modes, {0o600})
    with open(keys + "/nats.conf") as file:
        conf = file.read()
    again = cluster.ragno(*init, "--write", keys)
    report.check("a second time is refused", again.returncode == 1 and "File exists" in again.stderr, again.stderr)
    with open(keys + "/nats.conf") as file:
        report.check("which changes nothing; no seed is in it", file.read() == conf and not re.search("S[AOU][A-Z2-7]{56}", conf), conf)
    with Written(path, port) as nats:
        refused(report, "nobody", cluster.ragno(*init), "asks for a login")
        made = cluster.ragno(*init, "--credentials", keys + "/operator.nkey")
        report.equal("the operator makes the crawl", (made.returncode, made.stderr), (0, ""))
        with harness.Web(path, hosts=10, pages=60, suffix="test") as web, \
                cluster.Agents(web, nats, path, agents=2) as agents:
            for i, command in enumerate(agents.commands):
                command += ["--set", f"cluster.credentials={keys}/agent-{i}.nkey", "--set", f"cluster.agent={i}"]
            agents.start_all()
            def console(*words):
                return cluster.ragno(words[0], f"{server[1]}/{cluster.NAME}", *words[1:], "--credentials",
                                     keys + "/operator.nkey")

            runs = harness.until(lambda: console("status", "--json").returncode == 0, 60)
            report.check("the operator sees both", runs, console("status", "--json").stderr)
            paused = console("ctl", "pause")
            report.check("and steers them", paused.returncode == 0 and "2 agents were told" in paused.stdout,
                         paused.stdout + paused.stderr)
            report.equal("both ways", console("ctl", "resume").returncode, 0)
            report.equal("agents crawl, each with its key", agents.wait(), [0, 0])
            pages = set().union(*(cluster.pages_of(d) for d in agents.directories))
            report.check("and have all pages", web.graph_urls() <= pages, f"{len(pages)} pages")
            for i in range(2):
                with open(f"{agents.directories[i]}/ragno.log") as file:
                    report.check(f"nothing that agent {i} does is forbidden", "ermissions" not in file.read(), agents.said(i))
        kv, api = f"$KV.ragno_{cluster.NAME}", "$JS.API.STREAM"
        stream = f"KV_ragno_{cluster.NAME}"
        for who, may, line in (
                ("agent-1", True, f"PUB {kv}.agent.1 x 0\r\n\r\n"), ("agent-1", False, f"PUB {kv}.agent.0 x 0\r\n\r\n"),
                ("agent-1", False, f"SUB ragno.{cluster.NAME}.in.0 1\r\n"), ("agent-1", False, "SUB > 1\r\n"),
                ("agent-1", False, f"PUB {api}.DELETE.{stream} x 0\r\n\r\n"),
                ("agent-1", False, f"PUB {api}.PURGE.{stream} x 0\r\n\r\n"),
                ("operator", True, f"PUB {kv}.table x 0\r\n\r\n"), ("operator", False, f"PUB {kv}.end x 0\r\n\r\n"),
                ("operator", False, f"PUB {kv}.ledger x 0\r\n\r\n")):
            said = violations(port, f"{keys}/{who}.nkey", line)
            report.check(f"{who} {'may' if may else 'may not'} {line.split()[0]} {line.split()[1]}", "PONG" in said and
                         ("Permissions Violation" in said) != may, said)
        said = violations(port, None, f"PUB {kv}.end x 0\r\n\r\n")
        report.check("a stranger may do nothing", "Authorization Violation" in said and "PONG" not in said, said)


def open_server(report, path):
    """A server on another machine that asks nobody who he is, or is heard by everybody, is used when told so only."""
    login = write(path + "/login", "user me a word\n")

    def checked(name, url, may, *words):
        settings = [w for s in (f"cluster.url={url}", "cluster.name=x", *words) for w in ("--set", s)]
        result = harness.run([f"{harness.OUT}/ragno", "--test-config", "--contact", "https://example.org/", *settings])
        told = "cluster.open_server" in result.stderr
        report.check(name, (result.returncode == 0 and not told) if may else (result.returncode == 2 and told),
                     f"{result.returncode}: {result.stderr[-300:]}")

    for url in ("nats://127.0.0.1:4222", "nats://localhost", "nats://[::1]:4222", "127.0.0.1:1,localhost:2"):
        checked(f"{url} is this machine", url, True)
    checked("another machine", "nats://192.0.2.1:4222", False)
    checked("one of two", "nats://localhost:4222,nats://192.0.2.1:4222", False)
    checked("a name that only looks so", "nats://localhost.example.org:4222", False)
    checked("TLS without a login", "tls://192.0.2.1:4222", False)
    checked("a login without TLS", "nats://192.0.2.1:4222", False, f"cluster.credentials={login}")
    checked("both", "tls://192.0.2.1:4222", True, f"cluster.credentials={login}")
    checked("none, and told so", "nats://192.0.2.1:4222", True, "cluster.open_server=yes")


if __name__ == "__main__":
    harness.main(tls, nkeys, accounts, open_server)
