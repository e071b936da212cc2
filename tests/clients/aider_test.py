#!/usr/bin/env python3
"""aider changes a file by way of OpenAI's API: it asks with its own prompts, streamed, reads the answer, and edits the file.

usage: aider_test.py PANDO [ADDRESS]
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from server import server

MODEL = pathlib.Path(__file__).resolve().parents[2] / "build" / "published" / "qwen2.5-coder-0.5b.gguf"
BEFORE = 'def greet():\n    print("Hello")\n\n\ngreet()\n'
ASKED = 'Change the printed text from Hello to Goodbye.'


class Aider(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.address = sys.argv[2] if len(sys.argv) > 2 else cls.enterClassContext(
            server(sys.argv[1], MODEL, "--kv-memory", "512MiB", "--threads", "2"))

    def test_an_edit(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "greet.py"
            file.write_text(BEFORE)
            settings = pathlib.Path(folder) / "settings.yml"
            settings.write_text("- name: openai/demo\n  edit_format: whole\n  use_temperature: 0\n")
            command = [pathlib.Path(sys.executable).parent / "aider", "--model", "openai/demo", "--openai-api-base",
                       self.address + "/v1", "--openai-api-key", "none", "--message", ASKED, "--yes-always", "--no-git",
                       "--model-settings-file", settings, "--map-tokens", "0", "--no-check-update",
                       "--analytics-disable", "--no-show-model-warnings", "--no-pretty", "--no-suggest-shell-commands",
                       "greet.py"]
            ran = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=1200, stdin=subprocess.DEVNULL,
                                 env={**os.environ, "HOME": folder, "LITELLM_LOCAL_MODEL_COST_MAP": "True"})
            said = ran.stdout + ran.stderr
            self.assertEqual(ran.returncode, 0, said)
            self.assertIn("Applied edit to greet.py", said)
            self.assertIn("Tokens:", said)
            self.assertIn('print("Goodbye")', file.read_text(), said)


if __name__ == "__main__":
    if len(sys.argv) < 3 and not MODEL.exists():
        print(f"skipped: no {MODEL.name} (hint: scripts/published --fetch {MODEL.stem})")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
