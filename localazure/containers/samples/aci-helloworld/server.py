"""Answers every GET with the page of Microsoft's sample. Where its port is taken on this machine, it says so and has another."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TITLE = "Welcome to Azure Container Instances!"
PAGE = f"<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1></body></html>".encode()


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)


def server(port: int) -> ThreadingHTTPServer:
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), Page)
    except OSError as error:
        print(f"port {port} can't be had on this machine: {error}")
        return ThreadingHTTPServer(("127.0.0.1", 0), Page)


if __name__ == "__main__":
    served = server(int(os.environ.get("PORT", "80")))
    print(f"listening on port {served.server_address[1]}")
    served.serve_forever()
