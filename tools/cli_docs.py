#!/usr/bin/env python3
"""Writes docs/cli.md, or a manual page, of what the program says of itself.

    python3 tools/cli_docs.py build/pando docs/cli.md
    python3 tools/cli_docs.py build/pando docs/cli.md --check
    python3 tools/cli_docs.py build/pando pando.1 --man
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

EXIT_CODES = [("0", "all done; pando serve: stopped by Ctrl-C or SIGTERM"),
              ("1", "failed: a bad file, not enough memory, an output that cannot be written, answers that differ "
               "under --compare or verifying, or no answers to compare"),
              ("2", "wrong usage"),
              ("3", "done, but some lines or questions have no answer"),
              ("130, 143", "stopped by Ctrl-C or SIGTERM: answers in progress are finished, and --resume continues the run")]
ENVIRONMENT = [("HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME", "where models that are named by a hub id are kept"),
               ("HF_TOKEN, HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH", "the token for the hub, or the file that holds it"),
               ("HF_ENDPOINT, HF_HUB_OFFLINE", "another hub; 1: nothing is fetched"),
               ("https_proxy, http_proxy, no_proxy, SSL_CERT_FILE", "how the hub is reached"),
               ("PANDO_ISA", "portable, avx2, avxvnni, avx512, avx512bf16 or amx, on 64-bit ARM portable, neon, dotprod or i8mm: "
                "the fastest instruction set to use; the answers are the same"),
               ("NO_COLOR", "has no effect, because the program writes no colors")]


def said(program, *arguments):
    """The help text, as it is for a terminal of any width."""
    environment = dict(os.environ, COLUMNS="100")
    done = subprocess.run([program, *arguments, "--help"], check=True, capture_output=True, text=True, env=environment)
    return done.stdout.rstrip()


def commands(program):
    text = said(program)
    return re.findall(r"^  ([a-z-]+) ", text[text.index("Subcommands:"):], re.MULTILINE)


def markdown(program):
    yield "# The command line\n"
    yield "Written by `tools/cli_docs.py` from what the program says of itself; a test compares them.\n"
    yield "```\n" + said(program) + "\n```\n"
    for command in commands(program):
        yield f"## pando {command}\n\n```\n{said(program, command)}\n```\n"
    yield "## Exit codes\n\n| | |\n|---|---|"
    yield "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES)
    yield "\n## Environment\n\n| | |\n|---|---|"
    yield "\n".join(f"| `{name}` | {meaning} |" for name, meaning in ENVIRONMENT)


def escaped(text):
    return "\n".join(("\\&" if line[:1] in ".'" else "") + line.replace("\\", "\\e").replace("-", "\\-")
                     for line in text.splitlines())


def manual(program):
    yield '.TH PANDO 1\n.SH NAME\npando \\- large language models over shared context, exactly'
    yield ".SH SYNOPSIS\n.B pando\ncommand [options]"
    yield ".SH DESCRIPTION\n.nf\n" + escaped(said(program)) + "\n.fi"
    for command in commands(program):
        yield f".SH PANDO {command.upper()}\n.nf\n" + escaped(said(program, command)) + "\n.fi"
    for title, rows in (("EXIT STATUS", EXIT_CODES), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        for name, meaning in rows:
            yield f".TP\n.B {escaped(name)}\n{escaped(meaning)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--man", action="store_true", help="a manual page")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    args = parser.parse_args()
    text = "\n".join((manual if args.man else markdown)(args.program)) + "\n"
    if not args.check:
        args.file.write_text(text)
    elif text != args.file.read_text():
        sys.exit(f"{args.file} is not what the program says: run tools/cli_docs.py {args.program} {args.file}")


if __name__ == "__main__":
    main()
