#!/usr/bin/env python3
"""The fenced blocks of documents, built and run as they stand there.

usage: snippets_test.py SOURCE BUILD CXX CC LIBRARY C_LIBRARY DOCUMENT...

In a temporary folder that has the repository's folders and, as `build`, the build:
- sh: run by bash -eu. A json block behind it holds lines that it has written, in any order.
- cpp, c: a program with a main is built and run. Other cpp is the body of a function that has `model` and
  `engine` of the demo model and returns a Status.
- python: the blocks of a document are one program; left out where there is no Python with NumPy.
- cmake, text and others: not touched.
A block behind the line <!-- not run: REASON --> is left out.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^(?:<!-- not run: (?P<reason>.+?) -->\n+)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
PREAMBLE = """#include <cstdio>
{headers}
static pando::Status snippet(const std::shared_ptr<const pando::Model>& model, pando::Engine& engine) {{
  (void)model, (void)engine;
{body}
  return {{}};
}}
int main() {{
  const auto model = pando::Model::load("models/demo");
  auto engine = pando::Engine::open(*model, {{.threads = 1, .kv_memory = 64 << 20}});
  const pando::Status status = snippet(*model, **engine);
  if (!status) std::fprintf(stderr, "%s\\n", status.error().message().c_str());
  return status ? 0 : 1;
}}
"""


class Snippets:
    def __init__(self, source, build, cxx, cc, library, c_library):
        self.source, self.cxx, self.cc = pathlib.Path(source).resolve(), cxx, cc
        self.library, self.c_library = library, pathlib.Path(c_library).resolve()
        self.folder = tempfile.TemporaryDirectory()
        self.at = pathlib.Path(self.folder.name)
        for entry in self.source.iterdir():
            if entry.is_dir() and not entry.name.startswith((".", "build")):
                (self.at / entry.name).symlink_to(entry.resolve())
        (self.at / "build").symlink_to(pathlib.Path(build).resolve())
        self.python = self.find_python()
        self.n_run = self.n_left_out = self.n_failed = 0

    def find_python(self):
        for python in (str(self.source / ".venv/bin/python"), "python3"):
            try:
                if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
                    return python
            except OSError:
                pass
        return None

    def run(self, place, command):
        """Standard output, or nothing where it failed."""
        environment = {
            **os.environ,
            "CCACHE_DISABLE": "1",
            "PANDO_LIBRARY": str(self.c_library),
            "PYTHONPATH": str(self.source / "python"),
            "PATH": f"{self.at / 'build'}:{os.environ['PATH']}",
        }
        done = subprocess.run(command, cwd=self.at, capture_output=True, text=True, env=environment, timeout=120)
        if done.returncode == 0:
            return done.stdout
        self.fail(place, f"{' '.join(command)[:200]}\n{done.stdout}{done.stderr}")
        return None

    def fail(self, place, message):
        self.n_failed += 1
        print(f"{place}: {message}")

    def compiled(self, place, kind, text):
        if kind == "cpp" and "int main(" not in text:
            names = sorted(header.name for header in (self.source / "include/pando").glob("*.h"))
            headers = "\n".join(f'#include "pando/{name}"' for name in names)
            text = PREAMBLE.format(headers=headers, body=text)
        program = self.at / ("snippet.cc" if kind == "cpp" else "snippet.c")
        program.write_text(text)
        include = f"-I{self.source / 'include'}"
        if kind == "c":
            folder = str(self.c_library.parent)
            command = [self.cc, "-std=c11", include, str(program), f"-L{folder}", f"-Wl,-rpath,{folder}", "-lpando-c"]
        else:
            modules = ["fmt", "libpcre2-8", "oniguruma", "libutf8proc", "sentencepiece", "libxxhash", "zlib", "libzstd"]
            libraries = subprocess.check_output(["pkg-config", "--libs", *modules], text=True).split()
            command = [self.cxx, "-std=c++20", "-Wall", include, str(program), self.library, *libraries, "-pthread"]
        if self.run(place, [*command, "-o", "snippet"]) is not None:
            self.run(place, ["./snippet"])

    def document(self, path):
        text = path.read_text()
        python, written = [], ""
        for block in FENCE.finditer(text):
            kind, body = block["kind"], block["text"]
            place = f"{path.relative_to(self.source)}:{text.count(chr(10), 0, block.start('kind')) + 1}"
            if block["reason"]:
                self.n_left_out += 1
                written = ""
                continue
            if kind in ("cpp", "c"):
                self.compiled(place, kind, body)
            elif kind == "sh":
                written = self.run(place, ["bash", "-euo", "pipefail", "-c", body]) or ""
            elif kind == "json" and written:
                missing = set(body.splitlines()) - set(written.splitlines())
                if missing:
                    self.fail(place, "not written by the block before:\n" + "\n".join(sorted(missing)))
            elif kind == "python":
                python.append(body)
            else:
                continue
            self.n_run += 1
        if python and self.python:
            self.run(f"{path.relative_to(self.source)} (python)", [self.python, "-c", "\n".join(python)])
        elif python:
            self.n_run -= len(python)
            self.n_left_out += len(python)
            print(f"{path.name}: Python is left out, there is none with NumPy (hint: scripts/python-test)")


def main():
    snippets = Snippets(*sys.argv[1:7])
    for document in sys.argv[7:]:
        snippets.document(snippets.source / document)
    print(f"{snippets.n_run} blocks run, {snippets.n_left_out} left out, {snippets.n_failed} problems")
    return 1 if snippets.n_failed or not snippets.n_run else 0


if __name__ == "__main__":
    sys.exit(main())
