#!/usr/bin/env python3
"""The page of `pando serve` in Chromium, with a published model (scripts/page-test).

usage: page_test.py PANDO MODEL AXE

AXE: axe.min.js of axe-core. PANDO_PICTURES of the environment: a folder for screenshots.
"""
import base64
import csv
import gzip
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

from browser import CONTROL, ENTER, RIGHT, SPACE, TAB, browser

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parents[2] / "shared" / "data"
sys.path.append(str(HERE.parent / "clients"))
from server import random_model, server  # noqa: E402

PANDO, MODEL, AXE = sys.argv[1:4]
PICTURES = os.environ.get("PANDO_PICTURES")
SKIPPED = 77
N_QUESTIONS, N_CHARACTERS = 30, 20_000

# Counts what a page must not do: scripts of documents, other windows, elements that documents ask for.
WATCH = """
window.harm = [];
for (const name of ["alert", "confirm", "prompt", "open", "print"])
  window[name] = () => { window.harm.push(name); };
document.addEventListener("securitypolicyviolation", (event) => window.harm.push(event.violatedDirective));
"""
HOSTILE = """<script>harm.push("script")</script><img src=x onerror="harm.push('img')"><svg onload="harm.push('svg')">
</textarea></main><iframe srcdoc="<script>parent.harm.push('frame')</script>"></iframe><style>* {display: none}</style>
<a href="javascript:harm.push('link')">link</a> <meta http-equiv="refresh" content="0;url=/version"> {{7*7}} ${harm}
\u202eesrever \u2066isolated\u2069 \ufeff \u0000 null \x1b[31m \U0001f600 =HYPERLINK("http://x") ]]> --> \\";
"""


def story():
    """A story of 20,000 characters, and 30 questions about it."""
    with gzip.open(DATA / "fairytaleqa-train.jsonl.gz", "rt") as rows:
        row = next(row for row in map(json.loads, rows) if row["story"] == "east-of-sun-and-west-of-moon")
    text = "\n\n".join(section["text"] for section in row["sections"])[:N_CHARACTERS]
    questions = [question["question"].strip() for question in row["questions"][:N_QUESTIONS]]
    assert len(text) == N_CHARACTERS and len(questions) == N_QUESTIONS
    return text, questions


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.address = cls.enterClassContext(server(PANDO, MODEL, "--threads", "2", "--kv-memory", "2GiB"))
        cls.browser, downloads = cls.enterClassContext(browser())
        cls.downloads = pathlib.Path(downloads)
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=WATCH)

    def setUp(self):
        self.browser.look(1280, 900, "light")
        self.browser.open(self.address)
        self.browser.wait("return document.getElementById('model').textContent.includes('context')")
        self.browser.logged()

    def tearDown(self):
        self.assertEqual(self.browser.run("return window.harm"), [])
        self.assertEqual(self.browser.logged(), [])

    def ask(self, document, questions, max_tokens=32):
        if document is not None:
            self.browser.fill("document", document)
        self.browser.fill("questions", "\n".join(questions))
        self.browser.fill("max-tokens", str(max_tokens))
        self.browser.run("document.querySelector('#ask button.main').click()")

    def wait_until_over(self, seconds=300):
        self.browser.wait("return document.getElementById('stop').disabled", seconds)
        return self.browser.text("ask-status")

    def saved(self, button, name):
        path = self.downloads / name
        path.unlink(missing_ok=True)
        self.browser.click(button)
        end = time.monotonic() + 30
        while not path.exists():
            self.assertLess(time.monotonic(), end, f"{name} was not saved")
            time.sleep(0.1)
        return path.read_bytes().decode()

    def check_access(self, place):
        """Has axe-core look; a test's own script may run beside the content policy."""
        self.browser.run(pathlib.Path(AXE).read_text())
        found = self.browser.run_async("axe.run(document).then(arguments[0])")
        self.assertGreater(len(found["passes"]), 20)
        wrong = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]
        self.assertEqual(wrong, [], place)

    def picture(self, name):
        if PICTURES:
            self.browser.picture(pathlib.Path(PICTURES) / name)

    def test_questions_about_a_story(self):
        document, questions = story()
        path = self.folder / "east-of-the-sun.txt"
        path.write_text(document)
        self.browser.choose("file", path)
        self.browser.wait("return document.getElementById('document-note').textContent.endsWith(': 20,000 characters')")
        self.ask(None, questions)
        seen = set()
        while not self.browser.run("return document.getElementById('stop').disabled"):
            seen.add(self.browser.run("return document.querySelectorAll('#tree .here').length"))
            time.sleep(0.05)
        self.assertEqual(self.wait_until_over(), f"{N_QUESTIONS} answers: complete.")
        self.assertGreater(len(seen), 3, "the answers came all at once")
        cells = self.browser.run("return [...document.querySelectorAll('#rows tr')].map("
                                 "(row) => [...row.children].map((cell) => cell.querySelector('bdi')?.textContent))")
        self.assertEqual([row[1] for row in cells], questions)
        lines = [json.loads(line) for line in self.saved("save-lines", "answers.jsonl").splitlines()]
        self.assertEqual([line["question"] for line in lines], questions)
        self.assertEqual([line["text"] for line in lines], [row[2] for row in cells])
        table = list(csv.DictReader(io.StringIO(self.saved("save-csv", "answers.csv"), newline="")))
        self.assertEqual([row["question"] for row in table], questions)
        for row, line in zip(table, lines, strict=True):
            self.assertEqual(row["answer"].removeprefix("'"), line["text"])
            self.assertEqual(int(row["prompt_tokens"]), line["prompt_tokens"])
        words = self.browser.text("tree-words")
        n_prompt = sum(line["prompt_tokens"] for line in lines)
        self.assertIn(f"Prompts: {n_prompt:,} tokens, ", words)
        computed, reused = (int(words.split(f" {name}")[0].split()[-1].replace(",", ""))
                            for name in ("computed", "reused"))
        self.assertEqual(computed + reused, n_prompt)
        self.assertLess(computed, n_prompt / 10)
        self.check_access("answers")
        for name, scheme, size in (("page", "light", (960, 900)), ("dark", "dark", (1280, 900)),
                                   ("page-narrow", "dark", (360, 640))):
            self.browser.look(*size, scheme)
            self.check_access(name)
            self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), size[0], name)
            self.browser.run("document.getElementById('tree-part').scrollIntoView()")
            self.picture(f"{name}.png")

    def test_a_schema_makes_columns(self):
        schema = {"type": "object", "properties": {"hero": {"type": "string"}, "count": {"type": "integer"}},
                  "required": ["hero", "count"]}
        self.browser.fill("schema", json.dumps(schema))
        self.ask("Anna has three goats and a dog.", [], 60)
        self.assertEqual(self.wait_until_over(), "1 answer: complete.")
        heads = self.browser.run("return [...document.querySelectorAll('#heads th')].map((head) => head.textContent)")
        self.assertEqual(heads, ["No.", "Question", "hero", "count", "Tokens"])
        [row] = csv.DictReader(io.StringIO(self.saved("save-csv", "answers.csv"), newline=""))
        answer = json.loads(row["answer"])
        self.assertEqual((row["hero"], row["count"]), (answer["hero"], str(answer["count"])))
        self.browser.fill("schema", "{")
        self.browser.run("document.querySelector('#ask button.main').click()")
        self.assertEqual(self.browser.focus(), "schema")
        self.assertIn("JSON Schema: ", self.browser.text("ask-status"))

    def test_cells_that_a_spreadsheet_would_compute(self):
        numbers = [-5, 3.5, -3.2e-7, "-5", "+3.2e4", "-.5", "+5.", "-1E+9", "+0"]
        computed = ["=1+1", "+1+1", "-2+3", "@SUM(A1)", "  =1+1", "\t=1", "\n=1", "\r1", "-", "--5", "+3.2e", "-5 ", "+1\n",
                    "\uff1d1+1", "=", "-1,5"]
        texts = ["", "5", "a=1", "'=1", "1-2", "\uff11"]
        cells = self.browser.run_async(
            "const [values, done] = arguments;"
            "import('/page/export.js').then((page) => done(values.map((text) => page.csvOf([{text}], []))));",
            numbers + computed + texts)
        found = [next(csv.DictReader(io.StringIO(cell, newline="")))["answer"] for cell in cells]
        self.assertEqual([float(text) for text in found[:len(numbers)]], [float(number) for number in numbers])
        self.assertEqual(found[len(numbers):], ["'" + text for text in computed] + texts)

    def test_hostile_documents(self):
        before = self.browser.run("return document.querySelectorAll('*').length")
        self.ask(HOSTILE, [HOSTILE.replace("\n", " "), "Repeat the text."], 48)
        self.assertEqual(self.wait_until_over(), "2 answers: complete.")
        asked = self.browser.run("return document.querySelector('#rows bdi').textContent")
        self.assertEqual(asked, HOSTILE.replace("\n", " ").strip())
        made = self.browser.run("return document.querySelectorAll('iframe, img, main a, main style').length")
        self.assertEqual(made, 0)
        self.browser.open(self.address)
        self.assertEqual(self.browser.run("return document.querySelectorAll('*').length"), before)

    def test_encodings_and_names(self):
        text = "caf\u00e9 " + HOSTILE
        cases = [("utf-8", text.encode(), text), ("utf-8", b"\xef\xbb\xbf" + text.encode(), text),
                 ("utf-16le", text.encode("utf-16"), text), ("utf-16be", text.encode("utf-16-be"), text),
                 ("utf-16le", text.encode("utf-16-le"), text),
                 ("windows-1252", "na\u00efve \u20ac".encode("cp1252"), "na\u00efve \u20ac")]
        for i, (encoding, data, expected) in enumerate(cases):
            path = self.folder / f"<b>\u202e{i}.txt"
            path.write_bytes(data)
            self.browser.choose("file", path)
            note = self.browser.wait(f"const t = document.getElementById('document-note').textContent;"
                                     f"return t.includes('{i}.txt') && t")
            self.assertIn(f"<b>\u27e8202e\u27e9{i}.txt ({encoding}): ", note)
            self.assertEqual(self.browser.run("return document.getElementById('document').value"),
                             expected)
        picture = self.folder / "a.png"
        picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 50)
        self.browser.choose("file", picture)
        self.browser.wait("return document.getElementById('document-note').textContent.includes('a.png: the file is ')")

    def test_a_pdf(self):
        """One that Chromium writes: fonts of two bytes per character, kerning, ligatures."""
        self.browser.open("data:text/html;charset=utf-8," + urllib.parse.quote(
            "<h1>\u00dcber Efeu</h1><p>Velina works as a <b>tailor</b> in the office of <i>fine affluence</i>."
            "<table><tr><td>Price<td>12.40</table><p>\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac"))
        path = self.folder / "a.pdf"
        path.write_bytes(base64.b64decode(self.browser.devtools("Page.printToPDF")["data"]))
        damaged = self.folder / "b.pdf"
        damaged.write_bytes(path.read_bytes()[:3000])
        self.browser.open(self.address)
        self.browser.choose("file", path)
        text = self.browser.wait("return document.getElementById('document').value")
        self.assertEqual(text, "\u00dcber Efeu\nVelina works as a tailor in the office of fine affluence.\n"
                               "Price 12.40\n\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac")
        self.browser.choose("file", damaged)
        self.browser.wait("return document.getElementById('document-note').textContent.startsWith('b.pdf: the PDF ')")

    def test_a_pdf_that_never_ends(self):
        """Objects within objects, the same stream again and again, widths of endless ranges of codes."""
        begin = "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Kids[3 0 R]>> endobj\n"
        page = "3 0 obj <</Resources<</Font<</F 5 0 R>>>>/Contents[%s]>> endobj\n4 0 obj <<>> stream\n%s\nendstream endobj\n"
        font = "5 0 obj <</Subtype/Type0/DescendantFonts[6 0 R]>> endobj 6 0 obj <</W[%s]>> endobj\n"
        cases = {"overlap": "1 0 obj (" * 100_000, "streams": page % ("4 0 R " * 3000, "x" * (1 << 20)),
                 "has no text": page % ("4 0 R", "BT /F 1 Tf (AB) Tj ET") + font % ("0 9999999999 5 " * 50_000)}
        for says, text in cases.items():
            path = self.folder / f"{says}.pdf"
            path.write_text(begin + text)
            self.browser.choose("file", path)
            note = self.browser.wait(f"const t = document.getElementById('document-note').textContent;"
                                     f"return t.startsWith('{says}.pdf: ') && t")
            self.assertIn(says, note.removeprefix(f"{says}.pdf"))

    def test_five_megabytes(self):
        path = self.folder / "long.txt"
        path.write_text((HOSTILE * (5_000_000 // len(HOSTILE) + 1))[:5_000_000])
        self.browser.choose("file", path)
        self.browser.wait("return document.getElementById('document-note').textContent.startsWith("
                          "'long.txt (utf-8): ')")
        self.assertLess(self.browser.run("return document.getElementById('document').value.length"), 10_000)
        self.browser.fill("questions", "What is it?")
        self.browser.run("document.querySelector('#ask button.main').click()")
        self.browser.wait("return document.getElementById('stop').disabled", 120)
        self.assertIn("context", self.wait_until_over())
        self.assertEqual(self.browser.run("return document.querySelectorAll('#rows tr').length"), 1)
        self.forgive("400")
        self.browser.click("remove")
        self.assertEqual(self.browser.run("return document.getElementById('document').value"), "")

    def forgive(self, status):
        """Chromium logs an answer with a status of an error."""
        logged = self.browser.logged()
        self.assertTrue(all(f"status of {status}" in line for line in logged), logged)

    def test_a_dropped_file(self):
        self.browser.run("const data = new DataTransfer();"
                         "data.items.add(new File(['a,b\\n1,2\\n'], 'table.csv'));"
                         "document.getElementById('drop').dispatchEvent(new DragEvent('drop',"
                         "{dataTransfer: data, bubbles: true, cancelable: true}));")
        self.browser.wait("return document.getElementById('document').value === 'a,b\\n1,2\\n'")
        self.assertEqual(self.browser.text("document-note"), "table.csv (utf-8): 8 characters")

    def test_with_the_keyboard_alone(self):
        order = []
        for _ in range(13):
            self.browser.press(TAB)
            order.append(self.browser.focus())
        self.assertEqual(order, ["Skip to the content", "key", "Use key", "tab-questions", "document", "file",
                                      "remove", "questions", "schema", "instruction", "max-tokens", "chat-template",
                                      "Ask"])
        self.browser.open(self.address)
        self.browser.wait("return document.getElementById('model').textContent.includes('context')")
        self.browser.press(*[TAB] * 5, *"Velina is a tailor.", TAB, TAB, TAB, *"Who is a tailor?", *[TAB] * 5, SPACE)
        self.assertEqual(self.wait_until_over(), "1 answer: complete.")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#rows tr').length"), 1)
        self.browser.run("document.getElementById('tab-questions').focus()")
        self.browser.press(RIGHT)
        self.assertEqual(self.browser.focus(), "tab-chat")
        self.browser.press(*[TAB] * 2)
        self.assertEqual(self.browser.focus(), "message")
        self.browser.press(*"Say hello.")
        self.browser.press(ENTER, held=CONTROL)
        self.browser.wait("return document.querySelector('#log article.theirs .note')")

    def test_chat_with_reasoning_and_calls(self):
        """The events are those of a scripted server: no published model of the tests reasons."""
        deltas = [{"role": "assistant", "content": ""}, {"reasoning_content": "<b>Paris</b> is "},
                  {"reasoning_content": "a city."}, {"content": "I will <i>ask</i>."},
                  {"tool_calls": [{"index": 0, "id": "c1", "type": "function",
                                   "function": {"name": "weather", "arguments": "{\"city\": "}}]},
                  {"tool_calls": [{"index": 0, "function": {"arguments": "\"Paris\"}"}}]}]
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
                   {"choices": [], "usage": {"prompt_tokens": 1159, "completion_tokens": 25},
                    "sharing": {"prompt_tokens": 1159, "computed": 159, "reused": 1000}}]
        self.browser.run("""
          window.bodies = [];
          window.fetch = async (path, options) => {
            bodies.push(JSON.parse(options.body));
            return new Response([...arguments[0], "[DONE]"].map((data) => `data: ${data}\\n\\n`).join(""));
          };""", [json.dumps(chunk) for chunk in chunks])
        self.browser.click("tab-chat")
        tool = {"name": "weather", "parameters": {"type": "object"}}
        self.browser.fill("tools", json.dumps([tool]))
        self.browser.fill("message", "Weather in Paris?")
        self.browser.run("document.querySelector('#chat-form button.main').click()")
        self.browser.wait("return document.querySelector('#log .calls')")
        log = self.browser.text("log")
        for part in ("<b>Paris</b> is a city.", "I will <i>ask</i>.", "Call: weather", '{"city": "Paris"}',
                     "Prompt 1,159 tokens, 1,000 of them reused; answer 25."):
            self.assertIn(part, log)
        self.check_access("chat")
        self.picture("chat.png")
        self.browser.run("document.querySelector('#log .calls textarea').value = 'rain';"
                         "document.querySelector('#log .calls button').click()")
        self.browser.wait("return bodies.length === 2")
        first, second = self.browser.run("return bodies")
        self.assertEqual(first["tools"], [{"type": "function", "function": tool}])
        self.assertEqual([message["role"] for message in second["messages"]], ["user", "assistant", "tool"])
        self.assertEqual(second["messages"][1]["tool_calls"][0]["function"]["arguments"], '{"city": "Paris"}')
        self.assertEqual(second["messages"][2], {"role": "tool", "tool_call_id": "c1", "content": "rain"})

    def test_a_chat_with_the_model(self):
        self.browser.fill("document", "Velina works as a tailor.")
        self.browser.click("tab-chat")
        self.browser.click("with-document")
        self.browser.fill("message", "What is the profession of Velina? Answer with one word.")
        self.browser.run("document.querySelector('#chat-form button.main').click()")
        self.browser.wait("return document.querySelector('#log article.theirs .note')")
        self.assertTrue(self.browser.run("return document.querySelector('#log article.theirs .text:not([hidden])')"))
        self.assertIn("Prompt ", self.browser.text("log"))
        self.browser.run("window.fetch = () => Promise.reject(new TypeError('gone'))")
        self.browser.fill("message", "And now?")
        self.browser.run("document.querySelector('#chat-form button.main').click()")
        self.browser.wait("return document.getElementById('chat-status').textContent.includes('cannot be reached')")
        self.assertEqual(self.browser.run("return [document.querySelectorAll('#log article').length,"
                                          " document.getElementById('message').value]"), [2, "And now?"])

    def test_stop_ends_a_request(self):
        self.ask("A text.", ["Count to a thousand in words."], 2000)
        self.browser.wait("return !document.getElementById('stop').disabled")
        self.browser.click("stop")
        self.assertEqual(self.wait_until_over(30), "0 of 1 answer: stopped")
        self.assertIn("no answer", self.browser.text("rows"))


class SeveralModels(unittest.TestCase):
    def choose(self, one, index, says):
        one.run("const choice = document.getElementById('models'); choice.selectedIndex = arguments[0];"
                " choice.dispatchEvent(new Event('change'));", index)
        one.wait(f"return document.getElementById('model').textContent.startsWith({json.dumps(says)})")

    def ask(self, one, says):
        one.run("document.getElementById('ask').requestSubmit()")
        one.wait(f"return document.getElementById('ask-status').textContent.includes({json.dumps(says)})", 120)

    def test_the_model_that_is_chosen_is_asked_for_what_it_can_do(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        random_model(PANDO, folder / "vectors", "tiny-bert")
        tables = folder / "models.toml"
        paths = {"first": MODEL, "org/second": MODEL, "vectors": folder / "vectors"}
        tables.write_text("".join(f'[models."{name}"]\nmodel = {json.dumps(str(path))}\nkv-memory = "256MiB"\n'
                                  for name, path in paths.items()))
        address = self.enterContext(server(PANDO, None, "--models", tables, "--policy", "fcfs"))
        one, _ = self.enterContext(browser())
        one.open(address)
        one.wait("return document.getElementById('models').options.length === 3")
        self.choose(one, 1, "unloaded")
        one.fill("document", "Velina works as a tailor.")
        one.fill("questions", "What is the profession of Velina?")
        one.fill("max-tokens", "8")
        self.ask(one, "1 answer: complete.")
        one.wait("return document.getElementById('model').textContent.startsWith('loaded, a context of ')")
        with urllib.request.urlopen(address.rstrip("/") + "/v1/models") as response:
            models = json.load(response)["data"]
        self.assertEqual([(model["id"], model["status"]["value"], model.get("capabilities")) for model in models],
                         [("first", "unloaded", None), ("org/second", "loaded", ["completion", "chat"]),
                          ("vectors", "unloaded", None)])
        self.choose(one, 2, "unloaded")
        one.click("tab-chat")
        one.click("tab-questions")
        self.ask(one, "0 of 1 answer: ")
        one.wait("return document.getElementById('model').textContent.endsWith('gives embeddings, no text')")
        self.assertTrue(one.run("return document.getElementById('main').hidden"))
        self.choose(one, 1, "loaded")
        self.assertFalse(one.run("return document.getElementById('main').hidden"))
        one.click("tab-chat")


class Keys(unittest.TestCase):
    def test_a_key_is_asked_for_and_kept_with_the_tab(self):
        key = "a-key-for-the-page"
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
            keys.write(f"page:{key}\n")
            keys.flush()
            with server(PANDO, MODEL, "--api-key-file", keys.name) as address, browser() as (one, _):
                one.open(address)
                one.wait("return document.getElementById('model').textContent.includes('enter the API key above')")
                one.click("key")
                one.press(*key, ENTER)
                one.wait("return document.getElementById('model').textContent.includes('context')")
                one.open(address)
                one.wait("return document.getElementById('model').textContent.includes('context')")
                self.assertEqual(one.run("return [Object.keys(localStorage).length, document.cookie,"
                                         " document.getElementById('key').value]"), [0, "", ""])


if __name__ == "__main__":
    missing = [path for path in (MODEL, AXE, DATA) if not pathlib.Path(path).exists()]
    missing += [program for program in ("chromium", "chromedriver") if not shutil.which(program)]
    if missing:
        print(f"skipped: no {missing[0]} (hint: scripts/page-test installs it)")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
