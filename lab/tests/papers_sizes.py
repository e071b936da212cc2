"""The sizes of papers_sizes.csv, read from the sources of the benchmarks. For papers_test.py."""
import re

MODEL = {"model": r"\.shape =", "layers": r"\.n_layers ="}
PREPACKING = {size: ("prepacking_spec", before) for size, before in MODEL.items()}
RADIX_LAYERS = r'RadixMlpModel k(?:Small|Middle|Large) = \{\s*"[^"]+"'
RADIX_MODELS = {"models": ("radixmlp_models", r"return \{kGiven\};\s+return")}
SWEEP = {size: ("sweep", before) for size, before in MODEL.items()}
LONG_CONTEXT = {size: ("long_context_spec", before) for size, before in MODEL.items()} | {
    "rows of a chunk": ("chunk_sizes", r"return")}
PAPER_SET = r'^ *\{"[^"]+", \{[\d., ]+\}, '

# By benchmark and size: a pattern of the text right before the size, in the function that runs the benchmark or in the
# named function. The size is one value, or the values of harness.choose(QUICK, USUAL, FULL). A pattern with groups
# matches lines of a table in any file; its groups are the usual size and that of --full.
SIZES = {
    "ippd-table-1": {"contexts of SQuAD 2.0": ("squad_documents", r"expect_at_least\(path,")},
    "ippd-table-2": {"documents": r"documents\.resize\("},
    "ippd-table-5": MODEL | {
        "contexts of each data set": PAPER_SET + r"(\d+), (\d+)",
        "questions of each to padded and packed": PAPER_SET + r"\d+, \d+, (\d+)",
        "prompts of a padded batch": r"padded:batch="},
    "hydragen-figure-3": {
        "model": r"llama_spec\(", "layers": r'llama_spec\("codellama-13b",',
        "tokens of an answer": ("show", r"n_tokens ="),
        "(a): prefix": r"\.prefixes = ", "(a): batches": r"\.batches =",
        "(b): prefixes": r"Figure 3 \(b\).*?\.prefixes =", "(b): batch": r"Figure 3 \(b\).*?\.batches ="},
    "hydragen-figure-4": {"batches": r"batches =", "prefixes": r"prefixes =", "suffixes": r"suffixes ="},
    "hydragen-figure-5": MODEL | {"questions": r"sizes =", "tokens of an answer": r"n_tokens ="},
    "hydragen-figure-6": MODEL | {"problems at once": r"sizes =", "programs of each": r"n_samples =",
                                  "tokens of a program": r"n_tokens ="},
    "hydragen-tables-1-2": {
        "model": r"llama_spec\(", "layers": r'llama_spec\("llama-2-7b",',
        "tokens of an answer": ("show", r"n_tokens ="), "prefixes": r"\.prefixes =", "batches": r"\.batches ="},
    "prepacking-figure-2": PREPACKING | {"data sets": r"mixes_of\([^,]+, \*model,",
                                         "batches of 16 prompts": r"int n ="},
    "prepacking-figure-3": PREPACKING | {"data sets": r"mixes_of\([^,]+, \*model,", "prompts of a batch": r"sizes ="},
    "prepacking-figure-4": PREPACKING | {"tokens of a prompt": r"lengths =", "prompts of a batch": r"sizes ="},
    "prepacking-figure-6": PREPACKING | {"data sets": r"mixes\.resize\(", "prompts of a batch": r"sizes ="},
    "prepacking-figure-8": PREPACKING | {"data sets": r"mixes_of\([^,]+, \*model,",
                                         "prompts of a data set": r"n_prompts ="},
    "prepacking-figure-9": PREPACKING | {"batches of 16 prompts": r"n_batches =",
                                         "tokens of the longest prompt": r"longest ="},
    "radixmlp-table-1": RADIX_MODELS | {"layers of each model": RADIX_LAYERS + ", (\\d+)",
                                        "prompts of a request": ("prompts_of_a_request", r"return")},
    "radixmlp-table-2": RADIX_MODELS | {"layers of each model": RADIX_LAYERS + r", (\d+), (\d+)",
                                        "shared tokens, own tokens, sequences": r"Synthetic s ="},
    "radixmlp-table-3": RADIX_MODELS | {"layers of each model": RADIX_LAYERS + r", (\d+)",
                                        "prompts of a request": ("prompts_of_a_request", r"return")},
    "radixmlp-figure-2": SWEEP | {"shared tokens": r'figure 2".*?(?=harness\.choose<std)', "own tokens": r'figure 2",',
                                  "sequences": r'figure 2", harness\.choose\([^()]+\),'},
    "radixmlp-figure-3": SWEEP | {"shared tokens": r'figure 3".*?(?=harness\.choose<std)', "own tokens": r'figure 3",',
                                  "sequences": r'figure 3", harness\.choose\([^()]+\),'},
    "radixmlp-table-6": {"shapes of rows": r"shapes\.resize\("},
    "radixmlp-memory": MODEL | {"prompts of a request": r"n_prompts ="},
    "medha-figure-3": LONG_CONTEXT | {"tokens of the prompt": r"int n_tokens :"},
    "medha-figure-4": LONG_CONTEXT | {"tokens of the prompt": r"n_tokens ="},
    "serve": {"model": ("spec", r"\.shape ="), "tokens of the shortest long prompt": r"uint32_t least_long = (\d+)",
              "tokens of the longest long prompt": r"uint32_t least_long = \d+, most_long = (\d+)"},
}


def sizes_of(folder, benchmark):
    """Triples of a size, the usual value and that of --full; a value is a list of numbers or of names."""
    texts = [p.read_text() for p in sorted(folder.rglob("*")) if p.suffix in (".cc", ".h")]
    run = next(found[1] for text in texts
               for found in re.finditer(rf'\{{"{benchmark}",.*?\b(run_\w+)', text, re.S))
    for size, place in SIZES[benchmark].items():
        function, before = place if isinstance(place, tuple) else (run, place)
        if re.compile(before).groups:
            rows = [row for text in texts for row in re.finditer(before, text, re.M)]
            yield size, [row[1] for row in rows], [row[row.re.groups] for row in rows]
            continue
        body, text = function_in(texts, function)
        chosen = arguments(body[re.search(before, body, re.S).end():])
        usual, full = chosen[1:] if len(chosen) == 3 else chosen * 2
        yield size, values(usual, body + text), values(full, body + text)


def function_in(texts, name):
    """The text of a function, and that of its file."""
    definition = rf"^\S[\w:<>&* ]*\b{name}\([^;{{}}]*\) \{{(?:\n.*?^\}}|[^\n]*\}}$)"
    return next((found[0], text) for text in texts for found in re.finditer(definition, text, re.M | re.S))


def arguments(text):
    """The arguments of the call of choose that begins the text, or else the expression that begins it."""
    call = re.match(r"[\s{]*harness\.choose(?:<[\w:<>, ]+>)?\(", text)
    parts, depth = [""], 0
    for letter in text[call.end() if call else 0:]:
        depth += (letter in "({[") - (letter in ")}]")
        if depth < 0 or (depth == 0 and letter in (";" if call else ",;")):
            break
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def values(expression, text):
    """The names in an expression, or else its numbers (of pairs, the first ones), or else "all"."""
    for name in dict.fromkeys(re.findall(r"[A-Za-z]\w+", re.sub(r'"[^"]*"', "", expression))):
        defined = re.search(rf"\b{name}(?:\[\])? = (\{{.*?\}});", text, re.S)
        expression += defined[1] if defined else ""
    if re.search(r"\{\s*\{", expression):
        return re.findall(r"\{(\d+),", expression)
    return re.findall(r'"([^"]+)"', expression) or re.findall(r"\b\d+\b", expression) or ["all"]
