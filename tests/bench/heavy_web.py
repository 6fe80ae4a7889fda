"""Workload W: the web as it weighs. Pages whose sizes have a long tail, 240 kB in the mean, compressed
once for all, over TLS 1.3, a new connection for each answer; served by nginx.

    python3 tests/bench/heavy_web.py         prepares build/heavy-web and says what it holds

A page is made of real documents (those of real_web.py), scripts and styles of Debian packages, joined and
repeated until it has its size: of its bytes 45 % are documents, 40 % scripts, 15 % styles. References
between documents lead to pages of this web, absolute ones stay, and others lead out of the crawl's scope.
Its coding is br (45 %), gzip (45 %), zstd (8 %) or none, and the first folder of its path says which.
All four are on each host. A host has an address of its own and a certificate of its own, signed by one of
50 intermediate authorities; half of all chains are ECDSA, the others RSA. Keys are shared by certificates.

SCALE makes fewer pages and hosts of it. Nothing is installed: what is missing is named.
"""
import concurrent.futures
import datetime
import hashlib
import itertools
import json
import math
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
import zlib

import real_web

PLACE = os.environ.get("HEAVY_WEB", os.path.join(real_web.HERE, "..", "..", "build", "heavy-web"))
DOMAIN = "heavy.test"
PAGES, HOSTS, ISSUERS = 20000, 5000, 50
MEAN_BYTES, MEDIAN_BYTES = 240000, 100000
LEAST_BYTES, MOST_BYTES = 6000, 2000000  # fetch.max_body is 2 MiB
FORMAT = 2                               # of what is prepared
SCRIPTS = ["/usr/share/javascript", "/usr/share/doc"]
FOLDER = {"br": "b", "gzip": "g", "zstd": "z", "identity": "i"}
CLOSING = {"script": re.compile(rb"(?i)</script|<!--"), "style": re.compile(rb"(?i)</style")}
BODY = re.compile(rb"(?is)<body[^>]*>(.*)</body")


def scaled(n, least):
    return max(least, int(n * float(os.environ.get("SCALE") or 1)))


def host_name(host):
    return f"w{host:04}.{DOMAIN}"


def host_address(host):
    return f"127.90.{host // 250}.{host % 250 + 1}"


def missing():
    found = real_web.missing()
    for module, package in (("brotli", "python3-brotli"), ("zstandard", "python3-zstandard"),
                            ("cryptography", "python3-cryptography")):
        try:
            __import__(module)
        except ImportError:
            found.append(package)
    return found


def assets(ending):
    """Real scripts or styles, each once, in order of their paths."""
    found = {}
    for root in SCRIPTS:
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith(ending) and os.path.isfile(path) and 500 < os.path.getsize(path) < 400000:
                    found.setdefault((name, os.path.getsize(path)), path)
    return list(found.values())


def target_bytes(rng):
    """Log-normal: half of the pages are smaller than MEDIAN_BYTES."""
    sigma = math.sqrt(2 * math.log(1.13 * MEAN_BYTES / MEDIAN_BYTES))  # 1.13: what the bound takes off
    return int(min(MOST_BYTES, max(LEAST_BYTES, rng.lognormvariate(math.log(MEDIAN_BYTES), sigma))))


def coding_of(number):
    place = random.Random(number).random()
    return "br" if place < 0.45 else "gzip" if place < 0.9 else "zstd" if place < 0.98 else "identity"


class Pages(real_web.Pages):
    """What each page consists of."""

    def __init__(self, n_pages, n_hosts):
        self.n_pages, self.n_hosts = n_pages, n_hosts
        self.documents = real_web.list_files()
        self.number = {path: number for number, (path, _) in enumerate(self.documents)}
        self.kinds = {"script": assets(".js"), "style": assets(".css")}

    def host(self, number):
        return number * self.n_hosts // self.n_pages

    def path(self, number):
        return f"/{FOLDER[coding_of(number)]}/{number}.html"

    def url(self, number):
        return f"https://{host_name(self.host(number))}{self.path(number)}"

    def document(self, number):
        """A real document whose references lead to where they do in this web."""
        base, file = self.documents[number]

        def replace(match):
            value = match.group(2)
            quote = value[:1] if value[:1] in (b'"', b"'") else b""
            text = value[len(quote):len(value) - len(quote)].decode("utf-8", "surrogateescape")
            target = self.find(base, text)
            if target is not None:
                url = self.url(target * self.n_pages // len(self.documents)).encode()
                return match.group(1) + quote + url + quote
            dead = real_web.RELATIVE.match(text) is not None
            return match.group(1) + quote + real_web.ELSEWHERE + quote if dead else match.group(0)

        with open(file, "rb") as page:
            return real_web.REFERENCE.sub(replace, page.read())

    def pieces(self, kind, place):
        """The texts of a kind from some place on, again and again."""
        files = self.kinds[kind]
        for i in itertools.count():
            with open(files[(place + i) % len(files)], "rb") as file:
                text = file.read()
            if CLOSING[kind].search(text) is None:
                yield f"<{kind}>".encode() + text + f"</{kind}>\n".encode()

    def make(self, number):
        rng = random.Random(f"page {number}")
        left = target_bytes(rng)
        first = number * len(self.documents) // self.n_pages
        page = self.document(first)
        ending = page.rfind(b"</body")
        head, tail = (page[:ending], page[ending:]) if ending >= 0 else (page, b"</body></html>\n")
        neighbours = "".join(f'<a href="{self.url(near % self.n_pages)}">{near}</a>\n'
                             for near in (number - 1, number + 1))
        parts = [head[:left], neighbours.encode()]
        budget = {"style": int(left * 0.15), "script": int(left * 0.40)}
        left -= len(parts[0]) + sum(budget.values())
        for kind, size in budget.items():
            for text in self.pieces(kind, rng.randrange(len(self.kinds[kind]))):
                if size <= 0:
                    break
                parts.append(text if len(text) < size + 4000
                             else text[:size] + f"</{kind}>\n".encode())
                size -= len(parts[-1])
        for step in itertools.count(1):
            if left <= 0:
                break
            body = BODY.search(self.document((first + step) % len(self.documents)))
            text = (body.group(1) if body else b"")[:left]
            parts.append(text)
            left -= len(text)
        return b"".join(parts) + tail

    def write(self, number):
        import brotli
        import zstandard
        body, coding = self.make(number), coding_of(number)
        packed = body
        if coding == "br":
            packed = brotli.compress(body, quality=5)
        elif coding == "gzip":
            packer = zlib.compressobj(6, zlib.DEFLATED, 31)
            packed = packer.compress(body) + packer.flush()
        elif coding == "zstd":
            packed = zstandard.ZstdCompressor(level=3).compress(body)
        file = f"{PLACE}/www/{host_name(self.host(number))}{self.path(number)}"
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as out:
            out.write(packed)
        return len(body), len(packed)


_pages = None  # of a worker process


def _work(numbers):
    return [_pages.write(number) for number in numbers]


class Authority:
    """Keys and certificates of one algorithm."""

    def __init__(self, algorithm):
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, rsa
        self.x509, self.hashes, self.serial = x509, hashes, serialization
        self.make_key = ((lambda: ec.generate_private_key(ec.SECP256R1())) if algorithm == "ecdsa"
                         else (lambda: rsa.generate_private_key(65537, 2048)))
        self.root_key, self.key = self.make_key(), self.make_key()
        self.root = self.certificate(f"Root {algorithm}", self.root_key, None, None, True)
        self.issuers = []
        for i in range(ISSUERS // 2):
            key = self.make_key()
            self.issuers.append((self.certificate(f"Issuer {algorithm} {i}", key, self.root,
                                                  self.root_key, True), key))

    def certificate(self, name, key, issuer, issuer_key, is_authority):
        x509 = self.x509
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        start = datetime.datetime(2020, 1, 1)
        builder = x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
        builder = builder.issuer_name(issuer.subject if issuer else subject)
        builder = builder.serial_number(int(hashlib.sha1(name.encode()).hexdigest()[:30], 16) + 1)
        builder = builder.not_valid_before(start).not_valid_after(start.replace(year=2099))
        builder = builder.add_extension(x509.BasicConstraints(is_authority, None), True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(
            (issuer_key or key).public_key()), False)
        if not is_authority:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        return builder.sign(issuer_key or key, self.hashes.SHA256())

    def pem(self, *certificates):
        return b"".join(one.public_bytes(self.serial.Encoding.PEM) for one in certificates)

    def key_pem(self):
        return self.key.private_bytes(self.serial.Encoding.PEM, self.serial.PrivateFormat.PKCS8,
                                      self.serial.NoEncryption())


def write_certificates(n_hosts):
    os.makedirs(f"{PLACE}/tls")
    both = [Authority("ecdsa"), Authority("rsa")]
    with open(f"{PLACE}/roots.pem", "wb") as file:
        file.write(b"".join(one.pem(one.root) for one in both))
    for host in range(n_hosts):
        authority = both[host % 2]
        issuer, key = authority.issuers[host // 2 % len(authority.issuers)]
        leaf = authority.certificate(host_name(host), authority.key, issuer, key, False)
        with open(f"{PLACE}/tls/{host_name(host)}", "wb") as file:
            file.write(authority.key_pem() + authority.pem(leaf, issuer))


def prepare():
    """The manifest of what is prepared; None after a message when something is missing."""
    global _pages
    lacking = missing()
    if lacking:
        print("heavy pages: not installed: " + " ".join(lacking), file=sys.stderr)
        return None
    n_pages, n_hosts = scaled(PAGES, 300), scaled(HOSTS, 75)
    pages = Pages(n_pages, n_hosts)
    key = f"{FORMAT} {n_pages} {n_hosts} {real_web.fingerprint(pages.documents)}"
    try:
        with open(f"{PLACE}/manifest.json") as file:
            manifest = json.load(file)
            if manifest["key"] == key:
                return manifest
    except (OSError, ValueError, KeyError):
        pass
    print(f"heavy pages: preparing {n_pages} in {os.path.normpath(PLACE)}, once", file=sys.stderr)
    shutil.rmtree(PLACE, ignore_errors=True)
    os.makedirs(f"{PLACE}/www")
    _pages = pages
    lots = [range(i, min(i + 50, n_pages)) for i in range(0, n_pages, 50)]
    with concurrent.futures.ProcessPoolExecutor() as workers:
        sizes = [size for rows in workers.map(_work, lots) for size in rows]
    write_certificates(n_hosts)
    firsts = {pages.host(number): number for number in reversed(range(n_pages))}
    with open(f"{PLACE}/seeds.txt", "w") as file:
        file.writelines(pages.url(number) + "\n" for number in sorted(firsts.values()))
    with open(f"{PLACE}/zone", "w") as zone, open(f"{PLACE}/hosts", "w") as hosts:
        for host in range(n_hosts):
            zone.write(f"{host_name(host)}={host_address(host)}\n")
            hosts.write(f"{host_address(host)} {host_name(host)}\n")
    manifest = {"key": key, "pages": n_pages, "hosts": n_hosts, "bytes": sum(size for size, _ in sizes),
                "packed": sum(packed for _, packed in sizes)}
    with open(f"{PLACE}/manifest.json", "w") as file:
        json.dump(manifest, file)
    return manifest


def describe(manifest):
    n = manifest["pages"]
    return (f"W: {n} pages on {manifest['hosts']} hosts, {manifest['bytes'] / n / 1000:.0f} kB each, "
            f"{manifest['packed'] / n / 1000:.0f} kB compressed")


class HeavyWeb:
    """nginx with the prepared pages, on all addresses of this machine's loopback; on port 443 as root,
    since wget2 knows no other."""

    def __init__(self, path):
        self.port = 443 if os.getuid() == 0 else real_web.free_port()
        self.seeds, self.zone, self.hosts = f"{PLACE}/seeds.txt", f"{PLACE}/zone", f"{PLACE}/hosts"
        self.authorities = os.path.abspath(f"{PLACE}/roots.pem")
        place = os.path.abspath(PLACE)
        codings = "".join(f"    location /{folder}/ {{ add_header Content-Encoding {coding}; }}\n"
                          for coding, folder in FOLDER.items() if coding != "identity")
        temporary = "".join(f"  {name}_temp_path {path}/{name};\n"
                            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{path}/heavy.conf", "w") as file:
            file.write(f"""{"user root;" if os.getuid() == 0 else ""} daemon off; worker_processes 1; pid {path}/heavy.pid;
error_log {path}/heavy-error.log; events {{ worker_connections 16000; }} worker_rlimit_nofile 20000;
http {{
  types {{ text/html html; }} default_type text/html; access_log off; keepalive_timeout 0;
{temporary}  server {{
    listen 0.0.0.0:{self.port} ssl; root {place}/www/$ssl_server_name;
    ssl_certificate {place}/tls/$ssl_server_name; ssl_certificate_key {place}/tls/$ssl_server_name;
    ssl_protocols TLSv1.3; ssl_session_tickets on; ssl_session_cache none; ssl_session_timeout 1h;
{codings}  }}
}}
""")
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([program, "-e", f"{path}/heavy-error.log", "-p", path, "-c",
                                         f"{path}/heavy.conf"], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                with open(f"{path}/heavy-error.log") as log:
                    raise RuntimeError("nginx did not start: " + log.read()[-500:])
            time.sleep(0.05)

    def _answers(self):
        try:
            socket.create_connection((host_address(0), self.port), 1).close()
            return True
        except OSError:
            return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


if __name__ == "__main__":
    prepared = prepare()
    if prepared is None:
        sys.exit(3)
    print(describe(prepared))
