"""Against programs that others have written: nginx with TLS and HTTP/2, tinyproxy that HTTPS goes through, a
proxy that is itself spoken to by TLS; and strace, which sees whom the crawler connects to. What is not
installed is skipped."""
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading

import harness
from name_server import NameServer
from page_server import PageServer

PAGES = 20


def certificate(path):
    """A certificate of its own for 127.0.0.1, and its key."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path + "/key.pem",
                    "-out", path + "/cert.pem"], check=True, capture_output=True)
    return path + "/cert.pem", path + "/key.pem"


class Program:
    """A server of others, until the end of the block."""

    def __init__(self, command, port):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port = port

    def __enter__(self):
        if not harness.until(lambda: harness.answers_at(self.port) or self.process.poll() is not None) \
                or self.process.poll() is not None:
            raise RuntimeError(f"{self.process.args[0]} does not start")
        return self

    def __exit__(self, *_):
        harness.end_process(self.process)


def nginx(path):
    """nginx with TLS and HTTP/2 on a port of 127.0.0.1, with pages that link to each other."""
    cert, key = certificate(path)
    port = harness.free_port()
    os.makedirs(path + "/pages", exist_ok=True)
    for i in range(PAGES):
        with open(f"{path}/pages/{i}.html", "w") as file:
            file.write(f"<title>{i}</title><a href={(i * 2 + 1) % PAGES}.html>a</a> "
                       f"<a href={(i * 2 + 2) % PAGES}.html>b</a>{'x' * 5000}")
    with open(path + "/nginx.conf", "w") as file:
        file.write(f"""{"user root;" if os.getuid() == 0 else ""} daemon off; worker_processes 1; pid {path}/nginx.pid;
error_log {path}/error.log; events {{ worker_connections 64; }}
http {{
  log_format seen '$server_protocol $ssl_protocol $ssl_session_reused $status $request_uri';
  access_log {path}/access.log seen; client_body_temp_path {path}/t1; proxy_temp_path {path}/t2;
  fastcgi_temp_path {path}/t3; uwsgi_temp_path {path}/t4; scgi_temp_path {path}/t5;
  types {{ text/html html; }} gzip on; gzip_min_length 1;
  server {{ listen 127.0.0.1:{port} ssl http2; ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {cert}; ssl_certificate_key {key};
    root {path}/pages; }} }}
""")
    return Program(["nginx", "-p", path, "-c", path + "/nginx.conf"], port), port, cert


def crawl(directory, *options):
    return harness.run([f"{harness.OUT}/ragno", "-d", directory, "-w", "0", "--ip-wait", "0",
                        "--progress=never", "--set", "fetch.allow_addresses=127.0.0.0/8", "--set",
                        "politeness.retry=tls 1ms 0 drop, proxy 100ms 1", *options], 120)


def pages_of(directory):
    return sum(row[2] > 0 for row in harness.db_rows(directory))


def seen(path):
    with open(path + "/access.log") as file:
        return [line.split() for line in file]


def tls_and_http2(report, path):
    if not shutil.which("nginx"):
        return report.skip("nginx", "not installed (make deps-bench)")
    server, port, cert = nginx(path)
    with server:
        seed = f"https://127.0.0.1:{port}/0.html"
        result = crawl(path + "/crawl", "--set", "fetch.tls_verify=yes", "--set", f"fetch.ca_file={cert}",
                       seed)
        report.equal("a crawl of nginx ends", result.returncode, 0)
        report.equal("every page came", pages_of(path + "/crawl"), PAGES)
        report.equal("by HTTP/2 and TLS 1.3", {tuple(line[:2]) for line in seen(path)},
                     {("HTTP/2.0", "TLSv1.3")})
        hosts = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "hosts"]).stdout
        report.check("its certificate was verified", re.search(r"\t1\.3 verified 20", hosts), hosts)
        before = len(seen(path))
        result = crawl(path + "/one", "--set", "fetch.http2=no", seed)
        report.equal("HTTP/1.1 does as well", (pages_of(path + "/one"), {
            line[0] for line in seen(path)[before:]}), (PAGES, {"HTTP/1.1"}))
        before = len(seen(path))
        result = crawl(path + "/refused", "--set", "fetch.tls_verify=yes", seed)
        report.equal("a certificate that leads nowhere is refused, and nothing is asked for",
                     (pages_of(path + "/refused"), len(seen(path)) - before), (0, 0))
    return None


class TlsFront:
    """Takes TLS connections and hands their bytes to a port: what makes a proxy one over TLS."""

    def __init__(self, files, port):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*files)
        self.to = port
        self.handshakes = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            with self.context.wrap_socket(client, server_side=True) as tls, \
                    socket.create_connection(("127.0.0.1", self.to)) as server:
                self.handshakes += 1
                # One thread a direction: an SSLSocket may hold bytes that select() does not see.
                back = threading.Thread(target=self.pump, args=(server, tls), daemon=True)
                back.start()
                self.pump(tls, server)
                back.join()
        except OSError:
            pass

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def https_through_proxies(report, path):
    """HTTPS through tinyproxy by CONNECT; the same with TLS to the proxy, too."""
    if not shutil.which("nginx") or not shutil.which("tinyproxy"):
        return report.skip("tinyproxy", "nginx or tinyproxy is not installed (make deps-dev)")
    server, port, cert = nginx(path)
    proxy_port = harness.free_port()
    with open(path + "/tinyproxy.conf", "w") as file:
        file.write(f"Port {proxy_port}\nListen 127.0.0.1\nMaxClients 20\nConnectPort {port}\n"
                   f"LogFile \"{path}/tinyproxy.log\"\nLogLevel Connect\n")
    with server, Program(["tinyproxy", "-d", "-c", path + "/tinyproxy.conf"], proxy_port), \
            TlsFront((cert, path + "/key.pem"), proxy_port) as front:
        seed = f"https://127.0.0.1:{port}/0.html"
        for name, proxy in (("http", f"http://127.0.0.1:{proxy_port}"),
                            ("https", f"https://127.0.0.1:{front.port}")):
            before = len(seen(path))
            result = crawl(f"{path}/{name}", "--set", f"fetch.proxy={proxy}", "--set",
                           "fetch.tls_verify=yes", "--set", f"fetch.ca_file={cert}", seed)
            report.equal(f"{name} proxy: the crawl ends", result.returncode, 0)
            report.equal(f"{name} proxy: every page came", pages_of(f"{path}/{name}"), PAGES)
            report.equal(f"{name} proxy: HTTP/2 to the end", {line[0] for line in seen(path)[before:]},
                         {"HTTP/2.0"})
            with open(path + "/tinyproxy.log") as file:
                asked = re.findall(rf"CONNECT 127\.0\.0\.1:{port}", file.read())
            report.check(f"{name} proxy: it was asked to connect, and saw no more", len(asked) >= 1)
        report.check("https proxy: by TLS", front.handshakes >= 1)
    return None


REFUSED = ["http://10.0.0.1/", "http://192.168.1.1/", "http://169.254.169.254/latest/meta-data/",
           "http://0x0a000001/", "http://167772161/", "http://[::ffff:10.0.0.1]/", "http://[fe80::1]/",
           "http://[64:ff9b::a00:1]/", "http://100.64.0.1/", "http://224.0.0.1/", "http://0.0.0.0/",
           "http://inner.lies.example/", "http://bad.lies.example:22/"]
PORTS = [22, 25, 6379, 11211, 6667, 0]


def connections(report, path):
    """strace: no connection to a refused address, nor to a refused port, however a page spells it."""
    if not shutil.which("strace"):
        return report.skip("strace", "not installed (make deps-dev)")
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
        return report.skip("strace", "may not trace here")

    def answer(host, path_):
        if path_ == "/robots.txt":
            return (301, {"Location": "http://10.0.0.2/robots.txt"}, b"") if host == "127.0.3.2" else \
                (404, {}, b"")
        if path_ == "/redirect":
            return 302, {"Location": "http://192.168.7.7/"}, b""
        links = [*REFUSED, *(f"http://127.0.3.1:{port}/" for port in PORTS), "/redirect",
                 f"http://127.0.3.2:{server.port}/"]
        return 200, {}, "".join(f'<a href="{link}">x</a>' for link in links).encode()

    with harness.Web(path, hosts=1, pages=2) as web, NameServer(web.dns) as names, \
            PageServer(answer) as server:
        names.wild[".lies.example"] = lambda name: "10.9.9.9" if name.startswith("inner") else "127.0.3.3"
        command = [f"{harness.OUT}/ragno", "-d", path + "/crawl", "-w", "0", "--ip-wait", "0",
                   "--progress=never", "--set", "fetch.allow_addresses=127.0.0.0/8", "--set",
                   "limits.tail=2s", "--set", f"dns.servers=127.0.0.1:{names.port}", f"http://127.0.3.1:{server.port}/"]
        result = harness.run(["strace", "-f", "-e", "trace=connect,sendto,sendmsg", "-o", path + "/trace",
                              *command], 120)
        report.check("the crawl ends by limits.tail, since a robots.txt at a refused address waits",
                     result.returncode == 18, f"{result.returncode} {result.stderr[-300:]}")
        with open(path + "/trace") as file:
            trace = file.read()
        to = set(re.findall(r'sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)', trace))
        to6 = re.findall(r"sin6_port=htons\(\d+\).*?\"([^\"]+)\"", trace)
        allowed = {(str(server.port), "127.0.3.1"), (str(server.port), "127.0.3.2"),
                   (str(names.port), "127.0.0.1")}
        report.check("it connects", (str(server.port), "127.0.3.1") in to, trace[:500])
        report.same_set("to nobody else", to, allowed)
        report.equal("nor by IPv6", to6, [])
    return None


if __name__ == "__main__":
    harness.main(tls_and_http2, https_through_proxies, connections)
