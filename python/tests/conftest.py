"""An engine over the demo model, and the program of the same build, where there is one."""

import os
import pathlib

import pytest

import pando

CONTEXT = "The dog named Brako has fur that is green. Velina works as a tailor. The Mofti lamp costs $12.40."
QUESTIONS = ["What is the profession of Velina?", "What does the Mofti lamp cost?"]
SMALL = {"threads": 1, "kv_memory": 64 << 20}


@pytest.fixture(scope="session")
def engine():
    with pando.Engine(**SMALL) as engine:
        yield engine


@pytest.fixture(scope="session")
def program():
    library = os.environ.get("PANDO_LIBRARY")
    found = pathlib.Path(library).with_name("pando") if library else pathlib.Path(pando.__file__).parent / "bin/pando"
    if not found.is_file():
        pytest.skip(f"there is no {found}")
    return str(found)
