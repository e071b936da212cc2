"""A hub on the loopback interface: it answers as the hub does, or misbehaves as a repository's name says.

    with LoopbackHub({"org/name": {"config.json": b"..."}}) as hub: ... hub.endpoint ... hub.requests

Files that git would keep by LFS come by a redirect to a second port, as from a storage of another host.
"""
import hashlib
import http.server
import json
import re
import threading
import time
import urllib.parse

TOKEN = "hf_loopback"
LFS = re.compile(r"\.(safetensors|gguf|bin|onnx)$")


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def commit_of(files):
    return hashlib.sha1(repr(sorted((name, git_sha1(data)) for name, data in files.items())).encode()).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, headers=(), body=b"", length=None):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        if "Content-Length" not in dict(headers):
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub = self.server.hub
        target = urllib.parse.urlsplit(self.path)  # with a host where this is the proxy
        path = urllib.parse.unquote(target.path)
        with hub.lock:
            hub.requests.append({"method": self.command, "path": path, "host": target.netloc, "port": self.server.server_address[1],
                                 "authorization": self.headers.get("Authorization"),
                                 "range": self.headers.get("Range"), "agent": self.headers.get("User-Agent")})
            # How often this was asked for before.
            count = hub.counts[self.command, path] = hub.counts.get((self.command, path), -1) + 1
        try:
            if path.startswith("/storage/"):
                return self.storage(path, count)
            found = re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/(.+)", path)
            if found:
                return self.listing(*found.groups(), count)
            found = re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/(.+)", path)
            if found:
                return self.tree(*found.groups())
            found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
            if found:
                return self.resolve(*found.groups(), count)
            self.reply(404)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def cannot(self, status, code):
        self.reply(status, {"X-Error-Code": code, "X-Error-Message": code})

    def denied(self, repository):
        """True after a reply to those who may not see the repository."""
        hub = self.server.hub
        known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if repository not in hub.files or (repository.endswith("/private") and not known):
            self.cannot(401 if self.headers.get("Authorization") is None else 404, "RepoNotFound")
            return True
        if repository.endswith("/gated") and not known:
            self.cannot(403, "GatedRepo")
            return True
        return False

    def commit_for(self, repository, revision):
        files = self.server.hub.files[repository]
        commit = commit_of(files)
        return commit if revision in ("main", "v1", "refs/pr/1", commit) else None

    def listing(self, repository, revision, count):
        if self.denied(repository):
            return
        if repository.endswith("/down"):
            return self.reply(503)
        if repository.endswith("/flaky") and count < 1:
            return self.reply(503)
        if repository.endswith("/busy") and count < 1:
            return self.reply(429, {"Retry-After": "1"})
        if repository.endswith("/long-wait"):
            return self.reply(429, {"Retry-After": "3600"})
        if repository.endswith("/loop"):
            return self.reply(307, {"Location": self.path})
        if repository.endswith("/renamed"):
            return self.reply(307, {"Location": "/api/models/org/good/revision/" + revision})
        if repository.endswith("/to-file"):
            return self.reply(302, {"Location": "file:///etc/passwd"})
        if repository.endswith("/no-json"):
            return self.reply(200, body=b"<html>welcome to this network</html>")
        commit = self.commit_for(repository, revision)
        if commit is None:
            return self.cannot(404, "RevisionNotFound")
        siblings = [{"rfilename": name} for name in sorted(self.server.hub.files[repository])]
        body = {"id": repository, "sha": commit, "siblings": siblings}
        self.reply(200, {"Content-Type": "application/json"}, json.dumps(body).encode())

    def tree(self, repository, revision):
        if self.denied(repository):
            return
        entries = []
        for name, data in sorted(self.server.hub.files[repository].items()):
            entry = {"type": "file", "path": name, "size": len(data), "oid": git_sha1(data)}
            if LFS.search(name):
                entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
            entries.append(entry)
        self.reply(200, {"Content-Type": "application/json"}, json.dumps(entries).encode())

    def resolve(self, repository, revision, name, count):
        if self.denied(repository):
            return
        hub = self.server.hub
        commit = self.commit_for(repository, revision)
        if commit is None:
            return self.cannot(404, "RevisionNotFound")
        if name not in hub.files[repository] or (repository.endswith("/entry-gone") and LFS.search(name)):
            return self.cannot(404, "EntryNotFound")
        data = hub.files[repository][name]
        headers = {"X-Repo-Commit": commit if not repository.endswith("/other-commit") else "0" * 40,
                   "Accept-Ranges": "bytes"}
        if not LFS.search(name):
            etag = '"../../../evil"' if repository.endswith("/bad-etag") else f'"{git_sha1(data)}"'
            return self.reply(200, headers | {"ETag": etag}, data)
        sha256 = hashlib.sha256(data).hexdigest()
        size = {"huge": 1 << 45, "absurd": "9" * 30, "too-short": len(data) - 7,
                "too-long": len(data) + 7}.get(repository.split("/")[1], len(data))
        where = hub.storage_endpoint
        if repository.endswith("/same-host"):
            where = hub.endpoint
        headers |= {"X-Linked-Etag": f'"{sha256}"', "X-Linked-Size": str(size), "ETag": f'"{sha256[:32]}"',
                    "Location": f"{where}/storage/{repository}/{name}?sig=1"}
        self.reply(302, headers, b"Found. Redirecting")

    def storage(self, path, count):
        hub = self.server.hub
        organisation, repository, name = path.removeprefix("/storage/").split("/", 2)
        data = hub.files[f"{organisation}/{repository}"][name]
        if repository == "wrong-hash" or (repository == "wrong-once" and count == 0):
            data = data[:-1] + bytes([data[-1] ^ 1])
        if repository == "storage-down" or (repository == "storage-busy" and count == 0):
            return self.reply(503)
        if repository == "expired" and count == 0:
            return self.reply(403)
        begin, status, headers = 0, 200, {}
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and repository != "no-range":
            begin, status = int(wanted[1]), 206
            if begin >= len(data):
                return self.reply(416)
            shown = begin + 1 if repository == "bad-range" else begin
            headers["Content-Range"] = f"bytes {shown}-{len(data) - 1}/{len(data)}"
        if self.command == "HEAD":
            return self.reply(status, headers, length=len(data) - begin)
        # Cut by a closed connection after so many bytes.
        cut = {"cut": 40_000, "cut-often": 4_000, "no-range": 40_000 if count == 0 else len(data), "cut-first": 0,
               "bad-range": 40_000}.get(repository)
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if repository == "no-length":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        if cut is not None and begin + cut < len(data):
            self.wfile.write(data[begin:begin + cut])
            self.wfile.flush()
            self.close_connection = True
            return
        if repository == "slow":
            for at in range(begin, len(data), hub.slow_piece):
                while at >= hub.slow_end:
                    time.sleep(0.02)
                self.wfile.write(data[at:at + hub.slow_piece])
                self.wfile.flush()
                time.sleep(0.05)
            return
        self.wfile.write(data[begin:])
        if repository == "no-length":
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


class LoopbackHub:
    slow_piece = 8_000  # bytes each 50 ms
    slow_end = 1 << 60  # bytes behind which the rest waits until this is raised

    def __init__(self, files, tls=None):
        """`tls`: an ssl.SSLContext for the hub; the storage has none."""
        self.files = files  # of repositories: name -> contents
        self.requests, self.counts, self.lock = [], {}, threading.Lock()
        self.servers = [Server(("127.0.0.1", 0), Handler) for _ in range(2)]
        if tls:
            self.servers[0].socket = tls.wrap_socket(self.servers[0].socket, server_side=True)
        for server in self.servers:
            server.hub = self
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.endpoint, self.storage_endpoint = (f"http://127.0.0.1:{s.server_address[1]}" for s in self.servers)
        if tls:
            self.endpoint = self.endpoint.replace("http:", "https:")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def asked(self, **wanted):
        """Requests with these values, as in asked(method="GET")."""
        with self.lock:
            return [r for r in self.requests if all(r[key] == value for key, value in wanted.items())]
