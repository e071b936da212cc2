#!/usr/bin/env python3
"""Requests that schemathesis makes of docs/openapi.yaml, right ones and wrong ones: none is answered with a status of
500 or more, every answer is as the file says, and what the file does not allow is refused.

usage: schemathesis_test.py PANDO [REQUESTS-FOR-EACH-OPERATION]
"""
import pathlib
import subprocess
import sys
import tempfile

from server import random_model, server

OPENAPI = pathlib.Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
          "negative_data_rejection,unsupported_method,allow_header_conformance")


def main():
    pando, n = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2] if len(sys.argv) > 2 else "50"
    with tempfile.TemporaryDirectory() as folder:
        random_model(pando, folder + "/model")
        with server(pando, folder + "/model", "--context", "512") as address:  # answers that are soon at its end
            command = [pathlib.Path(sys.executable).parent / "schemathesis", "run", OPENAPI, "--url", address,
                       "--checks", CHECKS, "--max-examples", n, "--seed", "1", "--no-color",
                       "--request-timeout", "120",
                       "--phases", "examples,coverage,fuzzing", "--generation-database", "none"]
            return subprocess.run(command, cwd=folder).returncode


sys.exit(main())
