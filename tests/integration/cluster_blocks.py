"""What comes from elsewhere: blocks that are bad, come twice or in another order, sent to agents that run;
and programs of another version, or with another public suffix list, that would be agents."""
import base64
import collections
import ctypes
import json
import os
import re
import signal
import socket
import struct
import subprocess
import zlib

import cluster
import cluster_moves
import harness

ZSTD = ctypes.CDLL("libzstd.so.1")
UNPACKED_MOST = 16 + (512 << 10)  # a block, by link_block.h
MESSAGE_MOST = 1 << 20            # what nats-server takes when nobody has configured it
LENGTH, CRC, FORMAT, CRAWL, ADDRESSEE, SLOT, RECORD = 1, 2, 3, 4, 5, 6, 9  # BlockFault
REASONS = {LENGTH: "cut off or too long", CRC: "its checksum is wrong", FORMAT: "its format is not known here",
           CRAWL: "it belongs to another crawl", ADDRESSEE: "it is for another agent",
           SLOT: "the agents disagree about the slot of a host", RECORD: "a record is not what it should be"}
OTHER_LIST = 'const char *psl_builtin_sha1sum(void);\n' \
    'const char *psl_builtin_sha1sum(void) { return "0123456789012345678901234567890123456789"; }\n'


class Client:
    """A client of nats-server that is no agent."""

    def __init__(self, nats):
        self.socket = socket.create_connection(("127.0.0.1", nats.port), harness.PATIENCE_S)
        self.stream = self.socket.makefile("rb")
        self.stream.readline()  # INFO
        self.write(b'CONNECT {"verbose":false,"pedantic":false}\r\nSUB inbox.> 1\r\n')
        self.asked = 0

    def write(self, text):
        self.socket.sendall(text)

    def read(self):
        """The next message: (subject, reply to, bytes)."""
        while True:
            line = self.stream.readline().decode()
            if line.startswith("PING"):
                self.write(b"PONG\r\n")
            elif line.startswith("MSG "):
                words = line.split()[1:]
                text = self.stream.read(int(words[-1]) + 2)[:-2]
                return words[0], words[2] if len(words) == 4 else None, text
            elif not line or line.startswith("-ERR"):
                raise RuntimeError(f"nats-server: {line}")

    def ask(self, subject, text):
        self.asked += 1
        inbox = f"inbox.{self.asked}"
        self.write(f"PUB {subject} {inbox} {len(text)}\r\n".encode() + text + b"\r\n")
        while True:
            found, _, answer = self.read()
            if found == inbox:
                return answer

    def verdict(self, to, message):
        """How an agent answers an envelope: 0, or why it is refused."""
        answer = self.ask(f"ragno.{cluster.NAME}.in.{to}", message)
        head = answer[:-1].rstrip(bytes(range(0x80, 0x100)))  # behind it: how much was taken, a varint
        return head[-1]

    def close(self):
        self.stream.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Envelope(collections.namedtuple("Envelope", "head packed")):
    """A message with blocks, taken apart. Its bytes are laid out in src/cluster/wire/link_block.h."""

    def bytes(self):
        sum_ = zlib.crc32(self.packed, zlib.crc32(self.head))
        return self.head + struct.pack("<I", sum_) + self.packed

    def but(self, offset, form, value):
        head = bytearray(self.head)
        struct.pack_into(form, head, offset, value)
        return Envelope(bytes(head), self.packed)

    def blocks(self):
        length = struct.unpack_from("<I", self.head, 52)[0]
        out = ctypes.create_string_buffer(length)
        if ZSTD.ZSTD_decompress(out, ctypes.c_size_t(length), self.packed, ctypes.c_size_t(len(self.packed))) != length:
            raise RuntimeError("a message of an agent cannot be unpacked")
        return out.raw

    def around(self, blocks, n=1, length=None):
        """The same with other blocks."""
        room = len(blocks) + 1024
        out = ctypes.create_string_buffer(room)
        packed = ZSTD.ZSTD_compress(out, ctypes.c_size_t(room), blocks, ctypes.c_size_t(len(blocks)), 1)
        head = bytearray(self.head)
        struct.pack_into("<H", head, 6, n)
        struct.pack_into("<II", head, 52, len(blocks) if length is None else length, packed)
        return Envelope(bytes(head), out.raw[:packed])


def envelope(message):
    return Envelope(message[:60], message[64:])


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def record(url):
    """A link from nowhere: its hop, depth, redirects, score, agent."""
    text = url.encode()
    return bytes([8 | 64]) + b"\0" + varint(len(text)) + text + b"L\1\0" + b"\0\x3c" + b"\0\0"


def block(body, epoch, records=1, kind=1, version=1):
    return struct.pack("<BBHIII", kind, version, records, epoch, len(body), zlib.crc32(body)) + body


def first_url(blocks):
    """The first URL of the first block."""
    length, at, shift = 0, 18, 0
    while True:
        length |= (blocks[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if blocks[at - 1] < 128:
            break
    return blocks[at:at + length].decode()


def overheard(client):
    """Messages with links that agents send each other, by receiver; two for each of two agents."""
    found = collections.defaultdict(list)
    client.write(f"SUB ragno.{cluster.NAME}.in.* 2\r\n".encode())
    while sum(len(messages) > 1 for messages in found.values()) < 2:
        subject, reply, message = client.read()
        if reply and not subject.startswith("inbox"):
            found[int(subject.split(".")[-1])].append(message)
    client.write(b"UNSUB 2\r\n")
    return {to: messages for to, messages in found.items() if len(messages) > 1}


def bad_ones(good, to, other_url, epoch):
    """What is wrong, the message, and the reason that is to be given."""
    one = envelope(good)
    url = first_url(one.blocks())
    site = "/".join(url.split("/")[:3])
    fine = record(site + "/never-1")
    end = block(fine, epoch)
    return [
        ("nothing", b"", LENGTH),
        ("a part of a head", good[:40], LENGTH),
        ("one that is cut", good[:-1], LENGTH),
        ("one with a byte more", good + b"\0", LENGTH),
        ("one with a byte changed", good[:70] + bytes([good[70] ^ 1]) + good[71:], CRC),
        ("one with a head changed", good[:44] + bytes([good[44] ^ 1]) + good[45:], CRC),
        ("another version", one.but(4, "<B", 2).bytes(), FORMAT),
        ("no message of ours", b"x" * 300, FORMAT),
        ("another crawl's", one.but(8, "<Q", 7).bytes(), CRAWL),
        ("another agent's", one.but(26, "<H", to + 1).bytes(), ADDRESSEE),
        ("one that unpacks to more than it says", one.around(end, length=len(end) - 1).bytes(), LENGTH),
        ("one that says more than it may", one.around(end, length=UNPACKED_MOST + 1).bytes(), LENGTH),
        ("one that unpacks to much more", one.around(b"\0" * (64 << 20), length=UNPACKED_MOST).bytes(), LENGTH),
        ("the longest message that the server carries", b"x" * (MESSAGE_MOST - 1), FORMAT),
        ("fewer blocks than it says", one.around(end, n=2).bytes(), LENGTH),
        ("half a block behind a whole one", one.around(end + end[:20], n=2).bytes(), LENGTH),
        ("a block's wrong checksum", one.around(end[:-1] + b"\x7f").bytes(), CRC),
        ("a block's other version", one.around(block(fine, epoch, version=2)).bytes(), FORMAT),
        ("a block of an unknown kind", one.around(block(fine, epoch, kind=9)).bytes(), FORMAT),
        ("a block's cut record", one.around(block(fine[:-1], epoch)).bytes(), RECORD),
        ("fewer records than it says", one.around(block(fine, epoch, records=2)).bytes(), RECORD),
        ("a URL of another scheme", one.around(block(record("ftp://example.org/never"), epoch)).bytes(), RECORD),
        ("a URL that is not in order", one.around(block(record(site + "/a/../never-2"), epoch)).bytes(), RECORD),
        ("a host that is none", one.around(block(b"\3abc\0\0\0\0\0\0\0", epoch, kind=2)).bytes(), RECORD),
        ("another's host", one.around(block(record(other_url), epoch)).bytes(), SLOT),
        ("a good one, then another's host", one.around(end + block(record(other_url), epoch), n=2).bytes(), SLOT),
    ]


def told(directory, word):
    text = cluster.ragno("ctl", directory, "status").stdout
    found = re.search(rf"^{word} *=? *(\d+)$", text, re.M)
    return int(found.group(1)) if found else -1


def check_reasons(report, directory, reasons):
    with open(directory + "/ragno.log") as log:
        text = log.read()
    untold = [REASONS[r] for r in sorted(reasons) if REASONS[r] not in text]
    report.check("each reason is in ragno.log", not untold, f"{untold}\n{text[-1000:]}")


def bad_blocks(report, path):
    """A client sends them to an agent that crawls: it says why it takes none, counts them, and goes on."""
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web, Client(nats) as client:
        cluster.make(report, nats)
        with cluster_moves.Agents(web, nats, path) as agents:
            agents.start_all()
            messages = overheard(client)
            (to, mine), (other, others) = list(messages.items())[:2]
            for d in agents.directories:  # so that the crawl does not end before all are sent
                cluster.ragno("ctl", d, "pause")
            other_url = first_url(envelope(others[0]).blocks()).rsplit("/", 1)[0] + "/never-3"
            before = told(agents.directories[to], "blocks_refused")
            bad = bad_ones(mine[0], to, other_url, cluster_moves.figure(cluster_moves.status(nats), "epoch"))
            for name, message, reason in bad:
                found = client.verdict(to, message)
                report.equal(f"{name} is refused", REASONS.get(found, found), REASONS[reason])
            def counted():
                return told(agents.directories[to], "blocks_refused") - before

            harness.until(lambda: counted() >= len(bad))
            report.equal("each is counted", counted(), len(bad))
            check_reasons(report, agents.directories[to], {reason for _, _, reason in bad})
            answers = [client.verdict(to, message) for message in (*mine, *reversed(mine), mine[0])]
            report.equal("what comes again, or in another order, is taken", set(answers), {0})
            for d in agents.directories:
                cluster.ragno("ctl", d, "resume")
            report.equal("all end by themselves", agents.wait(), [0] * cluster.AGENTS)
        web.stop()
        pages = collections.Counter(harness.url_of(r) for r in web.requests() if "R" not in r.flags)
        twice = [u for u, n in pages.items() if n > 1]
        report.check("nothing is fetched twice", not twice, str(twice[:3]))
        report.check("nor what bad blocks say", not any("/never" in u for u in pages), "")
        cluster.check_whole(report, agents, web.graph_urls())
        known = [u for d in agents.directories for u, _, _ in harness.db_rows(d) if "/never" in u]
        report.check("nor is it known", not known, str(known))


def refusal(report, name, web, nats, path, sentence, env=None):
    result = harness.run(cluster.agent_command(web, nats, path + "/other"), env=env)
    report.check(f"{name} is refused, and told so", result.returncode == 17 and sentence in result.stderr,
                 f"{result.returncode}: {result.stderr[-400:]}")


def other_programs(report, path):
    """Another public suffix list would give hosts to other agents; another version may do anything."""
    with open(path + "/list.c", "w") as file:
        file.write(OTHER_LIST)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path + "/list.so", path + "/list.c"], check=True)
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web, Client(nats) as client:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path) as agents:
            agents.start(0)
            harness.until(lambda: told(agents.directories[0], "urls_queued") >= 0)
            env = dict(os.environ, LD_PRELOAD=path + "/list.so",
                       ASAN_OPTIONS="verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", ""))
            refusal(report, "another public suffix list", web, nats, path, "another public suffix list (01234567)", env)
            key = f"$KV.ragno_{cluster.NAME}.config"
            answer = client.ask(f"$JS.API.STREAM.MSG.GET.KV_ragno_{cluster.NAME}",
                                json.dumps({"last_by_subj": key}).encode())
            ours = base64.b64decode(json.loads(answer)["message"]["data"]).decode()
            theirs = re.sub(r"^wire = .*$", "wire = 1", ours, flags=re.M)
            report.check("the version of messages is one of the settings", theirs != ours, ours[:200])
            os.kill(agents.processes[0].pid, signal.SIGSTOP)   # it would put its settings back
            client.ask(key, theirs.encode())
            refusal(report, "another version", web, nats, path, "there wire = 1")
            client.ask(key, ours.encode())
            os.kill(agents.processes[0].pid, signal.SIGCONT)
        crawled = harness.run(["ls", path + "/other"]).stdout.split()
        report.check("and nothing is fetched", not any(os.path.getsize(f"{path}/other/{f}") for f in crawled
                                                       if f == "crawl.log"), str(crawled))


def key_of(client, name):
    """A value of the crawl's bucket, as it is."""
    answer = client.ask(f"$JS.API.STREAM.MSG.GET.KV_ragno_{cluster.NAME}",
                        json.dumps({"last_by_subj": f"$KV.ragno_{cluster.NAME}.{name}"}).encode())
    return base64.b64decode(json.loads(answer)["message"]["data"])


def forged_end(report, path):
    """A stranger on the bus writes that the crawl is over, as agents do when it is: whoever has work goes on."""
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web, Client(nats) as client:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path) as agents:
            agents.start_all()
            overheard(client)
            # A MemberRecord begins with format, life, incarnation, token, session: 1 + 2 + 4 + 8 + 8 bytes.
            sessions = [key_of(client, f"agent.{i}")[15:23] for i in range(cluster.AGENTS)]
            verdict = bytes([1, cluster.AGENTS]) + b"".join(struct.pack("<H", i) + s for i, s in enumerate(sessions))
            before = [told(d, "pages") for d in agents.directories]
            for _ in range(3):
                client.ask(f"$KV.ragno_{cluster.NAME}.end", verdict)
            vetoed = harness.until(lambda: any("vetoed" in open(d + "/ragno.log").read() for d in agents.directories))
            report.check("an agent that has work vetoes it", vetoed, str(before))
            report.equal("all end by themselves", agents.wait(), [0] * cluster.AGENTS)
        web.stop()
        cluster.check_whole(report, agents, web.graph_urls())


if __name__ == "__main__":
    harness.main(bad_blocks, forged_end, other_programs)
