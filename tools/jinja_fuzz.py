#!/usr/bin/env python3
"""Random templates through jinja2, set up as `transformers` does, and through ours: equal text, or an
error of both.

    pip install -r tools/requirements-chat.txt
    scripts/build release jinja_render
    python tools/jinja_fuzz.py --seconds 600 --templates DIR build/tests/jinja_render

Half of the templates are drawn from a grammar, half are those of the folder (or of our snippets) with
pieces taken out, doubled or moved. What differs is printed, and the exit status is 1.
"""

import argparse
import pathlib
import random
import re
import signal
import time

import chat_golden
from jinja_reference import Ours, compile_template, render
from jinja_snippets import _FILTERS_OF, _METHODS, _TESTS, SNIPPETS, VARIABLES

# Texts of Python that are no part of the language, and numbers that we refuse by design.
NOT_OURS = re.compile(r" at 0x|<generator|<function|<built-in|<bound method|<class '|Cycler object|Joiner|<jinja2|\d{19,}|\bj\)")
LIMITS = re.compile(r"64 bits|limit of|nested deeper|complex numbers|surrogate|is printed|\\N\{|beyond|not offered|more than 1")
FILTERS = sorted({f for filters in _FILTERS_OF.values() for f in filters})
METHODS = sorted(set(re.findall(r"\.(\w+\([^()]*\))", "\n".join(_METHODS))))
NAMES = list(VARIABLES) + ["missing", "x", "y", "loop", "ns", "range(3)", "loop.index", "loop.last", "ns.v", "m(1)"]
LITERALS = ["0", "1", "2", "-1", "3.5", "''", "'a'", "'b c'", "'%s'", "'{}'", "[]", "[1, 2]", "['a', 'b']", "(1, 'x')", "{}", "{'k': 1}", "{'a': [1, {'b': 2}]}", "none", "true", "false", "' a '", "'é'", "'<b>'", "'\\n'"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]


class Grammar(random.Random):
    def expression(self, depth=0):
        kind = self.randrange(16 if depth < 3 else 3)
        sub = lambda: self.expression(depth + 1)
        if kind < 2:
            return self.choice(NAMES)
        if kind == 2:
            return self.choice(LITERALS)
        if kind < 5:
            return f"{sub()} {self.choice(OPERATORS)} {sub()}"
        if kind < 8:
            return f"({sub()})|{self.choice(FILTERS)}"
        if kind == 8:
            return f"({sub()}) is {self.choice(['', 'not '])}{self.choice(_TESTS)}"
        if kind == 9:
            return f"({sub()}).{self.choice(METHODS)}"
        if kind == 10:
            return f"({sub()})[{sub()}]"
        if kind == 11:
            return f"({sub()})[{self.choice(['', '1', '-2', '0'])}:{self.choice(['', '2', '-1'])}{self.choice(['', ':-1', ':2'])}]"
        if kind == 12:
            return f"({sub()} if {sub()}{self.choice([' else ' + sub(), ''])})"
        if kind == 13:
            return f"[{sub()}, {sub()}]" if self.random() < 0.6 else "{%s: %s}" % (self.choice(["'a'", "1", sub()]), sub())
        if kind == 14:
            return f"{self.choice(['not ', '-', '+'])}({sub()})"
        return f"({sub()}).{self.choice(['a', 'x', 'k', '0', 'items()', 'get(%s)' % sub()])}"

    def space(self):
        return self.choice(["", "", " ", "\n", "  \n", "a", "x y\n", "\n\n  ", "\t"])

    def tag(self, text):
        return f"{{%{self.choice(['', '-', '', '+'])} {text} {self.choice(['', '-', '', '+'])}%}}" + self.space()

    def statement(self, depth=0):
        kind = self.randrange(14 if depth < 3 else 4)
        body = lambda: "".join(self.statement(depth + 1) + self.space() for _ in range(self.randint(1, 2)))
        e = self.expression
        if kind < 3:
            return f"{{{{{self.choice(['', '-'])} {e()} {self.choice(['', '-'])}}}}}"
        if kind == 3:
            return self.space() + self.choice(["text", "{# c #}", "{#- c -#}", "  "])
        if kind < 6:
            return self.tag(f"if {e()}") + body() + (self.tag(f"elif {e()}") + body() if self.random() < 0.3 else "") + (
                self.tag("else") + body() if self.random() < 0.4 else "") + self.tag("endif")
        if kind < 9:
            target = self.choice(["x", "y", "x", "k, v"])
            over = self.choice(["li", "words", "range(4)", "d.items()", "people", "nested", "d|dictsort", e()])
            jump = self.choice(["", "", self.tag("if " + e(2)) + self.tag(self.choice(["break", "continue"])) + self.tag("endif")])
            return self.tag(f"for {target} in {over}{self.choice(['', '', ' if ' + e(1)])}") + jump + body() + (
                self.tag("else") + body() if self.random() < 0.2 else "") + self.tag("endfor")
        if kind == 9:
            return self.tag(f"set {self.choice(['x', 'y', 'n', 'ns.v', 'x, y'])} = {e()}")
        if kind == 10:
            return self.tag(f"set x{self.choice(['', ' | upper', ' | trim | length'])}") + body() + self.tag("endset")
        if kind == 11:
            return self.tag(f"macro m({self.choice(['', 'x', 'x, y=2', 'x=n'])})") + body() + self.tag("endmacro") + "{{ m(" + self.choice(["", "1", "1, y=3", "x=2", e(2)]) + ") }}"
        if kind == 12:
            return self.tag(self.choice(["with x = 1", "with x = n, y = x", "filter upper", "filter indent(2, true)", "generation"])) + "@" + body()
        return self.tag("set ns = namespace(v=%s)" % e(2))

    def template(self):
        out = "".join(self.statement() + self.space() for _ in range(self.randint(1, 4)))
        for start, end in (("with", "endwith"), ("filter", "endfilter"), ("generation", "endgeneration")):
            out = re.sub(r"(\{%%[-+]? %s[^%%]*%%\}[^@]*)@" % start, lambda m: m[1], out) + ""
        return self.close(out.replace("@", ""))

    def close(self, text):
        """Ends blocks that are open, as far as that is simple."""
        for start in ("with", "filter", "generation"):
            n = len(re.findall(r"\{%%[-+]? %s" % start, text)) - len(re.findall(r"\{%%[-+]? end%s" % start, text))
            text += "{%% end%s %%}" % start * n
        return text

    def mutated(self, text):
        for _ in range(self.randint(1, 4)):
            pieces = re.split(r"(\{%.*?%\}|\{\{.*?\}\}|\W)", text, flags=re.S)
            i = self.randrange(len(pieces))
            kind = self.randrange(6)
            if kind == 0:
                del pieces[i]
            elif kind == 1:
                pieces.insert(i, pieces[self.randrange(len(pieces))])
            elif kind == 2:
                j = self.randrange(len(pieces))
                pieces[i], pieces[j] = pieces[j], pieces[i]
            elif kind == 3:
                pieces[i] = self.choice(["|" + self.choice(FILTERS), "-", " ", "\n", self.choice(NAMES), self.choice(LITERALS), "'", "}", "."])
            elif kind == 4 and pieces[i].startswith("{{"):
                pieces[i] = "{{ " + self.expression(2) + " }}"
            else:
                pieces.insert(i, self.choice([self.statement(2), "{{ " + self.expression(1) + " }}"]))
            text = "".join(pieces)
        return text


def conversation(draw, number):
    drawn = chat_golden.draw_conversation(number)
    messages = chat_golden.chat_template_utils._alias_reasoning_fields(
        [{k: v for k, v in m.items() if v is not None} for m in drawn["messages"]])
    return {**VARIABLES, **chat_golden.TOKENS, **drawn.get("kwargs", {}), "messages": messages, "tools": drawn.get("tools"),
            "documents": drawn.get("documents"), "add_generation_prompt": draw.random() < 0.5, "enable_thinking": draw.random() < 0.5}


def has_key_without_hash(template):
    """Whether Jinja2 cannot compile it for a constant dict with such a key: ours fails where the dict is used."""
    try:
        compile_template(template)
    except TypeError as error:
        return "unhashable type" in str(error)
    except Exception:
        pass
    return False


class TooLong(BaseException):
    pass


def ring(*_):
    raise TooLong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--templates", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=20, help="differences to show")
    arguments = parser.parse_args()
    texts = [path.read_bytes().decode() for path in sorted(arguments.templates.glob("*.jinja"))] if arguments.templates else []
    ours, draw = Ours(arguments.program), Grammar(arguments.seed)
    signal.signal(signal.SIGALRM, ring)
    end, n, n_texts, n_skipped, found = time.monotonic() + arguments.seconds, 0, 0, 0, []
    while time.monotonic() < end and len(found) < arguments.most:
        n += 1
        if n % 2:
            template, variables = draw.template(), VARIABLES
        elif texts and n % 4:
            template, variables = draw.mutated(draw.choice(texts)), conversation(draw, draw.randrange(200))
        else:
            template, variables = draw.mutated(draw.choice(SNIPPETS) + draw.choice(SNIPPETS)), VARIABLES
        try:
            signal.alarm(5)
            expected = render(template, variables)
        except (TooLong, MemoryError):
            continue
        finally:
            signal.alarm(0)
        answer = ours.render(template, variables)
        if answer[0] == expected[0] and (answer[0] == "error" or answer == expected):
            n_texts += answer[0] == "text"
            continue
        if answer[0] == "error" and (LIMITS.search(answer[1]) or (expected[0] == "text" and NOT_OURS.search(expected[1]))):
            n_skipped += 1
            continue
        if answer[0] == "text" and expected[0] == "error" and has_key_without_hash(template):
            n_skipped += 1
            continue
        if NOT_OURS.search(str(expected[1])) and expected[0] == answer[0]:
            n_skipped += 1
            continue
        found.append(template)
        print(f"template: {template if len(template) < 1500 else template[:300] + '...'!r}\n  jinja2: {str(expected)[:300]}\n  ours:   {str(answer)[:300]}", flush=True)
        if len(template) >= 1500:
            pathlib.Path(f"jinja_fuzz_{len(found)}.jinja").write_text(template)
    print(f"{n} templates, {n_texts} rendered by both, {n_skipped} beyond our limits, {len(found)} differ")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
