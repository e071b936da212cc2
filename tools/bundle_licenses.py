#!/usr/bin/env python3
"""Copies the copyright files of the Debian packages whose libraries a wheel bundles, one file a package.

    python3 tools/bundle_licenses.py FOLDER [--sysroot SYSROOT] ELF...

Shared libraries are those that the files load, except what a manylinux system has. HEADERS are compiled in. SYSROOT: a
folder with the packages of another architecture and lists of their files, as scripts/aarch64 makes it.
"""
import pathlib
import re
import shutil
import subprocess
import sys

HEADERS = ["nlohmann-json3-dev", "libcli11-dev", "libboost1.81-dev"]
OF_THE_SYSTEM = r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|resolv|z))\.so"


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


def packages_of_sysroot(root, files):
    """Packages of these files in a sysroot of another architecture."""
    owners = {}
    for listed in (root / "var/lib/dpkg/info").glob("*.list"):
        for line in listed.read_text().splitlines():
            owners.setdefault(pathlib.PurePath(line).name, set()).add(listed.stem)
    waiting, seen = list(files), set()
    while waiting:
        for name in re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-d", waiting.pop())):
            if re.match(OF_THE_SYSTEM, name) or name in seen:
                continue
            seen.add(name)
            if name not in owners:
                sys.exit(f"{name}: found in no package of {root}, expected one that tells its copyright")
            waiting.append(str(next(path for path in root.rglob(name) if path.exists())))
            yield from owners[name]


def main():
    arguments = sys.argv[1:]
    root = pathlib.Path("/")
    if "--sysroot" in arguments:
        at = arguments.index("--sysroot")
        root = pathlib.Path(arguments[at + 1])
        del arguments[at:at + 2]
    if len(arguments) < 2:
        sys.exit(__doc__)
    folder, files = pathlib.Path(arguments[0]), arguments[1:]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = packages(files) if root == pathlib.Path("/") else packages_of_sysroot(root, files)
    for package in sorted({*HEADERS, *found}):
        shutil.copyfile(root / f"usr/share/doc/{package}/copyright", folder / f"{package}.txt")


if __name__ == "__main__":
    main()
