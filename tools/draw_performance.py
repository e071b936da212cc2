#!/usr/bin/env python3
"""Draws docs/questions-per-document.svg, README's picture, from docs/figures/intel-amx.csv.

usage: draw_performance.py [--check] [ROOT]

With --check nothing is written; the exit code is 1 where the file is not what would be drawn.
"""
import csv
import math
import pathlib
import sys

MACHINE = "intel-amx"
# Title, unit, benchmark; rows with their labels; engines with their names and colours. Scales are logarithmic.
PANELS = [
    ("Questions per second, by questions per document", "ippd-table-5",
     [("3.5 questions a document (RACE)", "3.5: RACE"), ("8.7 questions a document (SQuAD 2.0)", "8.7: SQuAD"),
      ("20 questions a document (LongHealth)", "20: LongHealth"), ("30 questions a document (NarrativeQA)", "30: NarrativeQA")],
     [("tree", "Pando, shared (tree)", "#2f7d5b"), ("packed", "Pando, nothing shared (packed)", "#b9c4bd")],
     "questions per document"),
    ("Tokens per second, 64 answers that continue one prompt", "compare",
     [("q8_0, 64 sharing 512", "512"), ("q8_0, 64 sharing 2,048", "2,048"), ("q8_0, 64 sharing 4,096", "4,096")],
     [("Pando", "Pando", "#2f7d5b"), ("llama.cpp, AMX", "llama.cpp", "#d08c3f"), ("ik_llama.cpp", "ik_llama.cpp", "#8a7fb5")],
     "tokens of the shared prompt"),
]
WIDTH, HEIGHT, PANEL, LEFT, TOP, BOTTOM = 920, 410, 400, 40, 92, 300
SOURCE = "2 cores of an Intel Xeon virtual machine with AMX, q8_0 weights, 2 threads. Logarithmic scales."
SECOND = "Left: one layer of the qwen3-0.6b shape, lengths of four data sets. Right: all 28 layers. Source: docs/performance.md"


def text(x: float, y: float, words: str, size: int = 12, anchor: str = "middle", fill: str = "#33403a", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{weight}>{words}</text>'


def panel(figures: dict[tuple[str, str, str], str], left: float, title: str, benchmark: str, rows: list[tuple[str, str]],
          engines: list[tuple[str, str, str]], below: str) -> list[str]:
    out = [text(left, 28, title, 15, "start", bold=True)]
    values = {(row, engine): figures[benchmark, row, engine] for row, _ in rows for engine, _, _ in engines}
    low = 10 ** math.floor(math.log10(min(map(float, values.values()))))
    high = max(map(float, values.values())) * 1.15
    scale = (BOTTOM - TOP) / math.log10(high / low)
    x = left
    for _, name, colour in engines:
        out += [f'<rect x="{x:.1f}" y="44" width="12" height="12" fill="{colour}"/>', text(x + 17, 54, name, 12, "start")]
        x += 36 + 6.6 * len(name)
    group = PANEL / len(rows)
    bar = min(44, group * 0.8 / len(engines))
    for i, (row, label) in enumerate(rows):
        middle = left + group * (i + 0.5)
        for k, (engine, _, colour) in enumerate(engines):
            value = values[row, engine]
            height = scale * math.log10(float(value) / low)
            at = middle + bar * (k - len(engines) / 2)
            out.append(f'<rect x="{at:.1f}" y="{BOTTOM - height:.1f}" width="{bar - 2:.1f}" height="{height:.1f}" fill="{colour}"/>')
            out.append(text(at + bar / 2 - 1, BOTTOM - height - 5, value, 11))
        out.append(text(middle, BOTTOM + 18, label, 12))
        others = max(float(values[row, engine]) for engine, _, _ in engines[1:])
        out.append(text(middle, BOTTOM + 35, f"{float(values[row, engines[0][0]]) / others:.1f} times", 12, bold=True))
    out.append(f'<line x1="{left}" y1="{BOTTOM}" x2="{left + PANEL}" y2="{BOTTOM}" stroke="#33403a"/>')
    out.append(text(left + PANEL / 2, BOTTOM + 55, below, 12))
    return out


def drawing(root: pathlib.Path) -> str:
    with (root / f"docs/figures/{MACHINE}.csv").open(newline="") as file:
        figures = {(line["benchmark"], line["row"], line["engine"]): line["value"] for line in csv.DictReader(file)}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img">',
             "<title>Questions per second by questions per document, and Pando beside llama.cpp</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    for i, (title, benchmark, rows, engines, below) in enumerate(PANELS):
        parts += panel(figures, LEFT + i * (PANEL + 40), title, benchmark, rows, engines, below)
    parts += [text(LEFT, HEIGHT - 34, SOURCE, 11, "start", "#66736c"), text(LEFT, HEIGHT - 16, SECOND, 11, "start", "#66736c")]
    return "\n".join([*parts, "</svg>", ""])


def main() -> int:
    arguments = sys.argv[1:]
    check = "--check" in arguments
    places = [argument for argument in arguments if argument != "--check"]
    if len(places) > 1 or any(place.startswith("-") for place in places):
        print("usage: draw_performance.py [--check] [ROOT]", file=sys.stderr)
        return 2
    root = pathlib.Path(places[0]) if places else pathlib.Path(__file__).resolve().parent.parent
    path = root / "docs/questions-per-document.svg"
    try:
        drawn = drawing(root)
    except KeyError as missing:
        print(f"docs/figures/{MACHINE}.csv has no figure {', '.join(missing.args[0])}", file=sys.stderr)
        return 1
    if not check:
        path.write_text(drawn)
    elif not path.exists() or path.read_text() != drawn:
        print(f"{path.name} is not drawn from docs/figures; write it by tools/draw_performance.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
