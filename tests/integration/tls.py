#!/usr/bin/env python3
"""HTTPS: sessions are resumed when a host is visited again; with fetch.tls_verify a server needs a
certificate that leads to a trusted one and names the host."""
import gzip
import os
import subprocess

import harness

SIZES = {"pages": 300, "hosts": 10, "tls": True}


def status_of(directory):
    with open(directory + "/status.log") as file:
        last = file.read().splitlines()[-1]
    return dict(field.split("=", 1) for field in last.split() if "=" in field)


def fetched(directory):
    """The statuses of pages in crawl.log, by URL."""
    with open(directory + "/crawl.log") as file:
        return {line.split()[3]: int(line.split()[1]) for line in file}


def warc_fields(directory):
    """The values of the fields of its records that tell of connections."""
    found = {"WARC-Protocol": set(), "WARC-Cipher-Suite": set()}
    for name in os.listdir(directory + "/warc"):
        if name.endswith(".warc.gz"):
            with gzip.open(f"{directory}/warc/{name}") as file:
                for line in file:
                    field, _, value = line.decode("latin-1").strip().partition(": ")
                    if field in found:
                        found[field].add(value)
    return found


def options(web, **values):
    return [f"--set=fetch.{key}={value}" for key, value in values.items()]


def resumed(report, path):
    certificate = path + "/ca.pem"
    for name, close in (("kept", False), ("closed", True)):
        sizes = {**SIZES, "close": True} if close else SIZES
        with harness.Web(path, tls_ca=certificate, **sizes) as web:
            urls = web.graph_urls()
            for verify in ("no", "yes"):
                directory = f"{path}/{name}-{verify}"
                result = harness.crawl(web, directory, *options(
                    web, tls_verify=verify, ca_file=certificate, http2="no"))
                report.equal(f"{name}, verify {verify}: the crawl ends", result.returncode, 0)
                report.same_set("all pages are fetched",
                                {u for u, s in fetched(directory).items() if s == 200} & urls, urls)
                told = warc_fields(directory)
                report.check("each answer says protocols and cipher", {"http/1.1", "tls/1.3"} <= told["WARC-Protocol"] and
                             all(c.startswith("TLS_") for c in told["WARC-Cipher-Suite"]) and told["WARC-Cipher-Suite"], told)
                status = status_of(directory)
                handshakes, again = int(status["tls_handshakes"]), int(status["tls_resumed"])
                report.equal("each connection had its handshake", handshakes,
                             int(status["connects"]))
                # A host's first connection has no session; a few more may be made before its ticket came.
                most = 3 * SIZES["hosts"]
                report.check("connections to hosts that were visited resume their sessions",
                             handshakes - again <= most and (not close or again > 200),
                             f"{again} of {handshakes}")
                report.check("sessions are counted", 0 < int(status["tls_session_bytes"]) < 40 * 1024,
                             status["tls_session_bytes"])
            directory = f"{path}/{name}-none"
            harness.crawl(web, directory, *options(web, tls_sessions=0, http2="no"))
            report.equal("with fetch.tls_sessions=0 none is", status_of(directory)["tls_resumed"], "0")


def verified(report, path):
    certificate, other = path + "/ca.pem", path + "/other.pem"
    with harness.Web(path, tls_ca=other, **SIZES):
        pass
    with harness.Web(path, tls_ca=certificate, **SIZES) as web:
        with open(web.seeds) as file:
            seeds = file.read().split()
        address = next(iter(web.hosts().values()))[0]
        with open(path + "/address.txt", "w") as file:
            file.write(f"https://{address}/\n")
        for name, ca, seed in (("another authority's", other, web.seeds),
                               ("the system's authorities'", None, web.seeds),
                               ("another name's", certificate, path + "/address.txt")):
            directory = f"{path}/{len(name)}"
            values = {"tls_verify": "yes", **({"ca_file": ca} if ca else {})}
            harness.crawl(web, directory, *options(web, **values), "--set", "limits.tail=1ms",
                          seeds=seed)
            statuses = set(fetched(directory).values())
            report.check(f"a certificate of {name} is refused", statuses and max(statuses) < 0,
                         str(statuses))
            with open(directory + "/ragno.log") as file:
                report.check("and ragno.log says why", "reason=tls" in file.read())
        report.equal("nobody asked for a page", len(web.requests()), 0)
        directory = path + "/unverified"
        harness.crawl(web, directory, seeds=path + "/address.txt")
        report.check("without fetch.tls_verify any certificate will do",
                     max(fetched(directory).values()) > 0)
        report.check("the seeds are https", all(s.startswith("https://") for s in seeds))


def no_authorities(report, path):
    with harness.Web(path, **SIZES) as web:
        command = harness.crawl_command(web, path + "/crawl", "--set", "fetch.tls_verify=yes")
        nowhere = {**os.environ, "SSL_CERT_FILE": path + "/none.pem", "SSL_CERT_DIR": path + "/none"}
        result = harness.run(command, env=nowhere)
        report.check("a machine without certificates is an error at the start",
                     result.returncode not in (None, 0) and "fetch.ca_file" in result.stderr and
                     "none.pem" in result.stderr, f"{result.returncode}: {result.stderr}")
        for name, text in (("missing.pem", None), ("bad.pem", "no certificate\n")):
            if text:
                with open(f"{path}/{name}", "w") as file:
                    file.write(text)
            result = harness.run(command + ["--set", f"fetch.ca_file={path}/{name}"])
            report.check(f"fetch.ca_file={name} is an error at the start",
                         result.returncode not in (None, 0) and name in result.stderr and
                         "PEM" in result.stderr, f"{result.returncode}: {result.stderr}")
        report.equal("nothing was fetched", web.requests(), [])


NO_HTTP2 = r"""
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdarg.h>
#undef curl_easy_setopt
CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    CURLcode (*set)(CURL *, CURLoption, ...) = dlsym(RTLD_NEXT, "curl_easy_setopt");
    va_list list;
    va_start(list, option);
    void *value = va_arg(list, void *); /* each is passed in one register */
    va_end(list);
    if (option == CURLOPT_HTTP_VERSION && (long)value == CURL_HTTP_VERSION_2TLS) {
        return CURLE_UNSUPPORTED_PROTOCOL;
    }
    return set(easy, option, value);
}
curl_version_info_data *curl_version_info(CURLversion version)
{
    static curl_version_info_data data;
    curl_version_info_data *(*info)(CURLversion) = dlsym(RTLD_NEXT, "curl_version_info");
    data = *info(version);
    data.features &= ~CURL_VERSION_HTTP2;
    return &data;
}
"""


def no_http2(report, path):
    """A libcurl that was built without HTTP/2 refuses to be told of it."""
    with open(path + "/old.c", "w") as file:
        file.write(NO_HTTP2)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", path + "/old.so", path + "/old.c"], check=True)
    env = {**os.environ, "LD_PRELOAD": path + "/old.so",
           "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
    with harness.Web(path, **SIZES) as web:
        result = harness.run(harness.crawl_command(web, path + "/crawl"), env=env)
        report.equal("the crawl ends", result.returncode, 0)
        report.same_set("all pages are fetched", {u for u, s in fetched(path + "/crawl").items() if s == 200} &
                        web.graph_urls(), web.graph_urls())
        report.equal("by HTTP/1.1", warc_fields(path + "/crawl")["WARC-Protocol"] - {"tls/1.3"}, {"http/1.1"})
    with open(path + "/crawl/ragno.log") as file:
        report.check("the log says so", "libcurl has no HTTP/2" in file.read())


if __name__ == "__main__":
    harness.main(resumed, verified, no_authorities, no_http2)
