"""A name server between the crawler and tests/web's, whose mood a test can change while a crawl runs:
it passes queries on, keeps silent, or lies. Every mood is a word:

    pass       asks the real one and hands its answer on
    silent     never answers
    nxdomain   says of every name that it does not exist
    servfail   says that it cannot tell
    refused    says that it does not want to tell
"""
import collections
import select
import socket
import threading

RCODES = {"servfail": 2, "nxdomain": 3, "refused": 5}


def question_of(query):
    """The bytes of the first question, and its name."""
    place, labels = 12, []
    while query[place]:
        labels.append(query[place + 1:place + 1 + query[place]].decode("latin-1").lower())
        place += 1 + query[place]
    return query[12:place + 5], ".".join(labels)


class NameServer:
    """Listens on a free UDP port of 127.0.0.1; `port` tells which, `asked` counts queries by name,
    `missing` are names that do not exist,
    `sixes` those that have ::1 besides, `wild` ends of names of which all exist."""

    def __init__(self, real_port, mood="pass"):
        self.mood = mood
        self.asked = collections.Counter()
        self.sixes = set()  # names that have the address ::1, too
        self.missing = set()  # names that do not exist, whatever the mood
        self.wild = {}  # end of a name -> a function that gives a name its IPv4 address
        self.real = ("127.0.0.1", real_port)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.wake, self.woken = socket.socketpair()
        self.waiting = {}  # socket towards the real one -> who asked
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wake.send(b"x")
        self.thread.join(10)
        for s in (self.socket, self.wake, self.woken, *self.waiting):
            s.close()

    def take(self):
        query, client = self.socket.recvfrom(4096)
        question, name = question_of(query)
        self.asked[name] += 1
        wild = next((f for end, f in self.wild.items() if name.endswith(end)), None)
        mood = "nxdomain" if name in self.missing else self.mood
        if wild is not None:
            is_a = question[-4:-2] == b"\0\1"
            head = query[:2] + b"\x81\x80\0\1\0" + bytes([is_a]) + b"\0\0\0\0"
            record = b"\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4" + socket.inet_aton(wild(name))
            self.socket.sendto(head + question + (record if is_a else b""), client)
        elif name in self.sixes and question[-4:-2] == b"\0\x1c":
            head = query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0"
            record = b"\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10" + 15 * b"\0" + b"\1"
            self.socket.sendto(head + question + record, client)
        elif mood == "pass":
            upstream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            upstream.sendto(query, self.real)
            self.waiting[upstream] = client
        elif mood in RCODES:
            head = query[:2] + bytes([0x81, 0x80 | RCODES[mood]]) + b"\0\1\0\0\0\0\0\0"
            self.socket.sendto(head + question, client)

    def run(self):
        while True:
            sockets = {s.fileno(): s for s in (self.socket, self.woken, *self.waiting)}
            poll = select.poll()  # select() has no descriptors beyond 1023
            for fd in sockets:
                poll.register(fd, select.POLLIN)
            ready = [sockets[fd] for fd, _ in poll.poll()]
            if self.woken in ready:
                return
            for s in ready:
                if s is self.socket:
                    self.take()
                else:
                    client = self.waiting.pop(s)
                    try:
                        self.socket.sendto(s.recv(4096), client)
                    except OSError:  # the real one has gone
                        pass
                    s.close()
