"""A web server whose answers a test makes: PageServer(answer) on a free port of every loopback address, where
answer(host, path) gives (status, {header: value}, body) and is called by many threads."""
import http.server
import threading

import harness


class PageServer:
    def __init__(self, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                status, fields, body = answer(self.headers["Host"].split(":")[0].lower(), self.path)
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", **fields}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self._headers_buffer.append(b"\r\n" + body)  # in one piece
                self.flush_headers()

            def log_message(self, *_):
                pass

        self.server = harness.HttpServer(("", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
