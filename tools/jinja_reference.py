"""Templates rendered as `transformers` renders them, for the tools that make references, and a
program of ours beside it (tests/text/jinja_render.cc).

The modules that transformers needs for it alone are loaded; no model and no torch.
"""

import datetime
import json
import subprocess
import warnings

import jinja2
from transformers.utils import chat_template_utils

NOW = datetime.datetime(2024, 2, 9, 13, 5, 7)  # also in tests/text/jinja_render.cc
warnings.filterwarnings("ignore", category=SyntaxWarning)  # of the code that Jinja2 makes


class _Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(NOW.year, NOW.month, NOW.day, NOW.hour, NOW.minute, NOW.second)


chat_template_utils.datetime = _Clock
compile_template = chat_template_utils._cached_compile_jinja_template
if hasattr(compile_template, "cache_parameters"):  # a cache of 1 or so would only be in the way
    compile_template = compile_template.__wrapped__


def render(template, variables):
    """("text" or "error", what)."""
    try:
        text = compile_template(template).render(**variables)
        text.encode()  # half characters are no text
        return "text", text
    except RecursionError:
        return "error", "RecursionError"
    except Exception as error:  # whatever Python raises inside of a template
        return "error", f"{type(error).__name__}: {error}"


class Ours:
    """Our program, one request at a time."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8")

    def render(self, template, variables):
        line = json.dumps({"template": template, "variables": variables}, ensure_ascii=False)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"our program ended ({self.process.wait()}) on: {line}")
        answer = json.loads(answer)
        return ("text", answer["text"]) if "text" in answer else ("error", answer["error"])
