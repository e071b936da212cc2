"""`python -m pando run` over Parquet and Arrow files, with the demo model."""

import datetime
import decimal
import errno
import fcntl
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import time

import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.feather  # noqa: E402
import pyarrow.parquet  # noqa: E402

from pando import __main__ as command  # noqa: E402
from pando import _answer_columns, _program, _tables  # noqa: E402

try:
    PROGRAM = _program.find_program()
except _tables.TableError:
    pytest.skip("no program pando", allow_module_level=True)

OPTIONS = ["--threads", "1", "--kv-memory", "64MiB", "--max-tokens", "8", "--quiet"]
CONTEXT = "Velina works as a tailor. The Mofti lamp costs $12.40."
QUESTIONS = ["What is the profession of Velina?", "What does the Mofti lamp cost?", None, "Who is Velina?"]


def table():
    """Columns of many types, with a row that asks nothing."""
    when = datetime.datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=datetime.timezone.utc)
    return pa.table({
        "id": pa.array([2**62, -1, None, 7], pa.int64()),
        "context": pa.array([CONTEXT] * 4, pa.large_string()),
        "question": pa.array(QUESTIONS),
        "answers": pa.array([["tailor"], ["$12.40", "12.40"], None, []], pa.list_(pa.string())),
        "when": pa.array([when, None, when, when], pa.timestamp("us", "UTC")),
        "price": pa.array([decimal.Decimal("12.40"), None, None, decimal.Decimal("0.01")], pa.decimal128(9, 2)),
        "kind": pa.array(["a", "b", None, "a"]).dictionary_encode(),
        "nested": pa.array([{"x": [1, None]}, None, {"x": []}, {"x": None}], pa.struct([("x", pa.list_(pa.int32()))])),
        "text": pa.array([b"\xff", b"", None, b"x"], pa.binary()),
    }, metadata={"made": "here"})


def write(data, path):
    if path.suffix == ".parquet":
        pa.parquet.write_table(data, path)
    elif path.suffix == ".arrows":
        with pa.ipc.new_stream(path, data.schema) as writer:
            writer.write_table(data)
    else:
        pa.feather.write_feather(data, path)


def read(path):
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    if path.suffix == ".arrows":
        with pa.ipc.open_stream(path) as reader:
            return reader.read_all()
    with pa.ipc.open_file(path) as reader:
        return reader.read_all()


def run(*arguments):
    return command.main(["run", *map(str, arguments), *OPTIONS])


def answers_of(*questions):
    """The program's own answers."""
    text = json.dumps([{"context": CONTEXT, "question": question} for question in questions])
    done = subprocess.run([PROGRAM, "run", "--input", "-", "--ordered", *OPTIONS], input=text, capture_output=True, text=True,
                          check=True)
    return [json.loads(line)["text"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("source, output", [("in.parquet", "out.arrow"), ("in.feather", "out.arrows"),
                                            ("in.arrows", "out.parquet"), ("in.arrow", "out.feather")])
def test_types_and_order_are_kept(tmp_path, source, output):
    data = table()
    write(data, tmp_path / source)
    assert run(tmp_path / source, tmp_path / output, "--with", "scores") == 0
    found = read(tmp_path / output)
    assert found.select(data.column_names).cast(data.schema).equals(data.combine_chunks())
    assert [found.schema.field(name).type for name in data.column_names] == [field.type for field in data.schema]
    assert found.schema.metadata[b"made"] == b"here"
    tailor, lamp, who = answers_of(QUESTIONS[0], QUESTIONS[1], QUESTIONS[3])
    assert found["answer.text"].to_pylist() == [tailor, lamp, None, who], "text is a column of the input"
    assert found.schema.field("prompt_tokens").type == pa.int64()
    assert found["finish_reason"].null_count == 1
    assert found["exact_match"].to_pylist() == [1, 1, None, 0]
    assert not list(tmp_path.glob("*.new"))


def test_an_output_is_an_input(tmp_path):
    write(pa.table({"prompt": ["x"]}), tmp_path / "0.parquet")
    for i in range(3):
        assert run(tmp_path / f"{i}.parquet", tmp_path / f"{i + 1}.parquet") == 0
    names = read(tmp_path / "3.parquet").column_names
    assert [name for name in names if name.endswith("text")] == ["text", "answer.text", "answer.answer.text"]


def test_each_answer_has_a_row(tmp_path):
    data = pa.table({"q": ["Who is Velina?", "What?"], "n": [2, None], "context": [CONTEXT, CONTEXT]})
    write(data, tmp_path / "in.parquet")
    assert run(tmp_path / "in.parquet", tmp_path / "out.parquet", "--columns", "question=q", "--temperature", "1") == 0
    found = read(tmp_path / "out.parquet")
    assert found["q"].to_pylist() == ["Who is Velina?", "Who is Velina?", "What?"]
    assert found["choice"].to_pylist() == [0, 1, None]


def test_many_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "ROWS", 3)
    monkeypatch.setattr(_tables, "GROUP_ROWS", 5)
    rows = 20
    data = pa.table({"number": list(range(rows)),
                     "prompt": [f"{CONTEXT} {i}" if i % 4 else None for i in range(rows)],
                     "kind": pa.chunked_array([pa.array([f"{i}" for i in part]).dictionary_encode()
                                               for part in (range(7), range(7, rows))])})
    with pa.ipc.new_stream(tmp_path / "in.arrows", data.schema) as writer:  # a dictionary for each batch
        writer.write_table(data)
    assert run(tmp_path / "in.arrows", tmp_path / "out.arrow") == 0
    found = read(tmp_path / "out.arrow")
    assert found["number"].to_pylist() == list(range(rows))
    assert found["kind"].to_pylist() == [f"{i}" for i in range(rows)]
    assert pa.types.is_dictionary(found.schema.field("kind").type)
    assert [text is None for text in found["text"].to_pylist()] == [i % 4 == 0 for i in range(rows)]


def test_a_killed_run_continues(tmp_path):
    rows = 400
    data = pa.table({"context": [CONTEXT] * rows, "question": [f"{QUESTIONS[0]} {i}" for i in range(rows)]})
    write(data, tmp_path / "in.parquet")
    command = [sys.executable, "-m", "pando", "run", "in.parquet", "out.parquet", "--resume", "--max-running", "4", *OPTIONS]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), PANDO_PROGRAM=PROGRAM)
    lines = tmp_path / "out.parquet.jsonl"
    for which in (signal.SIGKILL, signal.SIGTERM):
        for _ in range(20):
            before = lines.stat().st_size if lines.exists() else 0
            child = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
            while child.poll() is None and (not lines.exists() or lines.stat().st_size <= before):
                time.sleep(0.01)
            child.send_signal(which)
            child.wait()
            with open(lines) as file:  # the program of a killed feeder ends by itself, and holds a lock until then
                fcntl.flock(file, fcntl.LOCK_EX)
            if not (tmp_path / "out.parquet").exists():
                break
            for path in tmp_path.glob("out.parquet*"):  # it was over before the signal: anew
                path.unlink()
        assert not (tmp_path / "out.parquet").exists()
    assert subprocess.run(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL).returncode == 0
    found = read(tmp_path / "out.parquet")
    assert found["question"].equals(data["question"])
    assert found["text"].null_count == 0
    ids = [json.loads(line)["id"] for line in lines.read_text().splitlines()]
    assert ids == list(range(rows)), "each once"
    texts = found["text"].to_pylist()
    assert run(tmp_path / "in.parquet", tmp_path / "whole.parquet") == 0
    assert texts == read(tmp_path / "whole.parquet")["text"].to_pylist()


def test_another_input_is_refused(tmp_path, capfd):
    write(pa.table({"prompt": ["a", "b"]}), tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    assert run(tmp_path / "in.parquet", out) == 0
    assert run(tmp_path / "in.parquet", out) == 1
    assert "hint: --resume or --overwrite" in capfd.readouterr().err
    assert run(tmp_path / "in.parquet", out, "--resume") == 0
    write(pa.table({"prompt": ["a", "c"]}), tmp_path / "in.parquet")
    assert run(tmp_path / "in.parquet", out, "--resume") == 1
    assert "differ from those of the earlier run" in capfd.readouterr().err
    assert run(tmp_path / "in.parquet", out, "--overwrite") == 0
    assert read(out)["prompt"].to_pylist() == ["a", "c"]


def test_what_is_wrong_is_said(tmp_path, capfd):
    def says(text, *arguments):
        code = run(*arguments)
        assert text in capfd.readouterr().err
        return code

    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "x.arrow").write_bytes(b"nothing")
    write(pa.table({"a": [1]}), tmp_path / "a.parquet")
    write(pa.table({"prompt": ["x"]}), tmp_path / "good.parquet")
    write(pa.table({"prompt": ["x"], "temperature": [float("nan")]}), tmp_path / "nan.parquet")
    out = tmp_path / "out.parquet"
    assert says("is not a Parquet or Arrow file", tmp_path / "x.parquet", out) == 1
    assert says("is not a Parquet or Arrow file", tmp_path / "x.arrow", out) == 1
    assert says("cannot read", tmp_path / "none.parquet", out) == 1
    assert says("expected one of .parquet", tmp_path / "a.parquet", tmp_path / "out.xlsx") == 1
    assert says("no column asks: there are a,", tmp_path / "a.parquet", out) == 1
    assert says("there is no column 'b'", tmp_path / "a.parquet", out, "--columns", "prompt=b") == 1
    assert says("row 0 of", tmp_path / "nan.parquet", out) == 1
    assert says("expected INPUT and OUTPUT alone", tmp_path / "a.parquet", out, "--input", "b") == 1
    assert says("unknown option '--bogus'", tmp_path / "good.parquet", tmp_path / "z.parquet", "--bogus") == 2
    assert not out.exists()


def test_a_table_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    made, fsync, refused = pa.table({"a": [1]}), os.fsync, []

    def refusing(descriptor):
        if stat.S_IFMT(os.fstat(descriptor).st_mode) in refused:
            raise OSError(errno.EIO, "refused")
        fsync(descriptor)

    def write_whole(path):
        writer = _tables.Writer(str(path), made.schema)
        writer.write(made.to_batches()[0])
        try:
            writer.keep()
        except BaseException:
            writer.discard()
            raise

    monkeypatch.setattr(os, "fsync", refusing)
    refused.append(stat.S_IFDIR)  # by some file systems
    write_whole(tmp_path / "a.parquet")
    assert _tables.Reader(str(tmp_path / "a.parquet")).schema == made.schema
    refused.append(stat.S_IFREG)
    with pytest.raises(_tables.TableError, match="cannot write"):
        write_whole(tmp_path / "b.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("arguments", [["run", "a.parquet"], ["run", "a.parquet", "b.parquet"], ["eval", "a.parquet"]])
def test_help_is_no_error(arguments, capfd):
    assert command.main([*arguments, "--help"]) == 0
    assert capfd.readouterr().out.startswith(f"usage: python -m pando {arguments[0]} ")


def test_answers_of_a_table_are_scored(tmp_path, capfd):
    help_text = subprocess.run([PROGRAM], capture_output=True, text=True).stderr
    if " eval," not in help_text:
        pytest.skip("a program without eval")
    data = pa.table({"id": [1, 2], "text": ["The cat", "dog"], "answers": [["cat"], ["fox"]], "raw": [b"\xff", None],
                     "image": [{"bytes": b"\xff", "path": "a"}, None],
                     "when": [datetime.date(2026, 1, 31), None], "kind": ["a", "b"]})
    write(data, tmp_path / "out.parquet")
    assert command.main(["eval", str(tmp_path / "out.parquet"), "--json", "--metric", "exact_match", "--by", "kind"]) == 0
    scores = json.loads(capfd.readouterr().out)["scores"]
    assert [(score.get("group"), score["value"]) for score in scores] == [(None, 0.5), ("a", 1), ("b", 0)]
    assert command.main(["eval", str(tmp_path / "none.parquet")]) == 1


def test_kinds_of_columns():
    kind, merged = _answer_columns.kind_of, _answer_columns.merged
    assert [kind(value) for value in (None, True, 1, 1.5, "x", 2**63, {}, [], [1, 2.5], [None, "a"], [[1]], [1, "a"])] == [
        "null", "bool", "int", "float", "string", "json", "json", "list null", "list float", "list string", "json", "json"]
    assert merged("int", "float") == "float"
    assert merged("list null", "list int") == "list int"
    assert merged("bool", "int") == "json"
    assert merged("null", "string") == merged("string", "null") == "string"


def test_the_module_is_the_program():
    def says(*arguments):
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), PANDO_PROGRAM=str(PROGRAM))
        return subprocess.run([sys.executable, "-m", "pando", *arguments], capture_output=True, text=True, env=environment,
                              cwd=pathlib.Path("/"))

    assert says("--version").stdout == subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    assert says("run", "--bogus").returncode == 2
    assert "usage: python -m pando run INPUT OUTPUT" in says("run", "in.parquet").stderr
