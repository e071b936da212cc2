"""Forks, signals, and a Python without the libraries of frames."""

import os
import subprocess
import sys

import pytest

HEAD = """
import asyncio, os, signal, sys, threading, time
import pando
CONTEXT = "Velina works as a tailor."
QUESTION = "What is the profession of Velina?"
engine = pando.Engine(pando.demo_model(), threads=1, kv_memory=64 << 20)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
def interrupt_in(seconds):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
"""


def python(text, *options):
    done = subprocess.run([sys.executable, *options, "-c", HEAD + text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done.stdout.splitlines()


def test_a_fork_is_told():
    said = python("""
stream = engine.stream_prompt("Velina", max_tokens=20, ignore_eos=True)
next(stream)
child = os.fork()
if child == 0:
    for call in (lambda: engine.answer(CONTEXT, [QUESTION]), lambda: next(stream), lambda: engine.embed(["a"])):
        try:
            call()
        except pando.Error as error:
            print(error.code, "after the fork" in str(error), flush=True)
    with pando.Engine(engine.model, threads=1, kv_memory=64 << 20) as own:
        print(own.answer(CONTEXT, [QUESTION])[0].text, flush=True)
    sys.exit(3)  # frees all handles
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
print(sum(len(event.text) > 0 for event in stream) > 0, engine.answer(CONTEXT, [QUESTION])[0].text)
""")
    assert said == ["invalid_argument True"] * 3 + [" tailor", "3", "True  tailor"]


def test_pools_of_processes():
    said = python("""
import multiprocessing
def ask(question):
    try:
        return engine.answer(CONTEXT, [question])[0].text
    except pando.Error as error:
        return error.code
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(ask, [QUESTION] * 4))
print(engine.answer(CONTEXT, [QUESTION])[0].text)
""")
    assert said == [str(["invalid_argument"] * 4), " tailor"]


@pytest.mark.parametrize(
    "call",
    [
        "engine.run_batch([{'prompt': 'Velina', 'n': 200, 'max_tokens': 400, 'ignore_eos': True}] * 20, lambda result: None)",
        "engine.perplexity('Velina works as a tailor. ' * 40000)",
        "engine.embed([str(i) + ' Velina works as a tailor.' * 60 for i in range(8000)])",
        "[None for _ in engine.stream_prompt('Velina', n=4000, max_tokens=400, ignore_eos=True, temperature=1.0)]",
        "asyncio.run(pando.AsyncEngine(engine).complete('Velina', n=4000, max_tokens=400, ignore_eos=True))",
    ],
)
def test_an_interrupt_ends_the_call(call):
    said = python(f"""
start = time.monotonic()
try:
    interrupt_in(0.5)
    {call}
except KeyboardInterrupt:
    print(time.monotonic() - start < 15)
print(engine.answer(CONTEXT, [QUESTION])[0].text)
""")
    assert said == ["True", " tailor"]


def test_an_interrupt_in_a_callback_is_raised():
    said = python("""
def on_result(result):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
try:
    engine.run_batch([{"context": CONTEXT, "question": QUESTION}] * 3, on_result)
except KeyboardInterrupt:
    print("interrupted")
""")
    assert said == ["interrupted"]


def test_the_end_of_the_interpreter_frees_what_is_open():
    assert python("""
stream = engine.stream_prompt("Velina", n=100, max_tokens=400, ignore_eos=True, temperature=1.0)
next(stream)
from pando import _calls
job = _calls.open_job(engine, b"batch", b"{}")
job.put(b'{"prompt": "Velina", "n": 100, "max_tokens": 400}\\n')
print("end")
""") == ["end"]


def test_frames_need_their_library_alone():
    said = python("""
blocked = ("pandas", "polars", "pyarrow")
assert not any(name in sys.modules for name in blocked)
for name in blocked:
    sys.modules[name] = None  # import fails
try:
    engine.answer_frame({})
except pando.Error as error:
    print(error.place)
found = []
engine.run_batch([{"context": CONTEXT, "question": QUESTION}], found.append)
print(found[0]["text"])
""")
    assert said == ["frame", " tailor"]


def test_a_library_that_is_missing_is_named():
    environment = {**os.environ, "PANDO_LIBRARY": "/nowhere/libpando-c.so"}
    done = subprocess.run([sys.executable, "-c", "import pando"], capture_output=True, text=True, timeout=60, env=environment)
    said = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and said.startswith("ImportError: Pando's C library cannot be loaded: /nowhere/libpando-c.so")
    assert said.endswith("(hint: PANDO_LIBRARY names it)")
