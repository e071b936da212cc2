#!/usr/bin/env python3
"""Copies the copyright files of the Debian packages whose libraries a wheel bundles, one file a package.

    python3 tools/bundle_licenses.py FOLDER ELF...

Shared libraries are those that the files load, except what a manylinux system has. HEADERS are compiled in.
"""
import pathlib
import re
import shutil
import subprocess
import sys

HEADERS = ["nlohmann-json3-dev", "libcli11-dev", "libboost1.81-dev"]
OF_THE_SYSTEM = r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z))\.so"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def packages(files):
    """The packages of all libraries that the files load."""
    for file in files:
        for name, path in re.findall(r"(\S+) => (/\S+)", output_of("ldd", file)):
            if re.match(OF_THE_SYSTEM, name):
                continue
            places = [path, path.removeprefix("/usr"), str(pathlib.Path(path).resolve())]
            owner = next(filter(None, (subprocess.run(["dpkg-query", "-S", place], capture_output=True, text=True).stdout
                                       for place in places)), None)
            if owner is None:
                sys.exit(f"{path}: found in no Debian package, expected one that tells its copyright")
            yield owner.split(":")[0]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, files = pathlib.Path(sys.argv[1]), sys.argv[2:]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for package in sorted({*HEADERS, *packages(files)}):
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")


if __name__ == "__main__":
    main()
