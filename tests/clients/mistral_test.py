#!/usr/bin/env python3
"""Mistral's Python client: code in a gap, its chats and embeddings.

usage: mistral_test.py PANDO [ADDRESS]
"""
import pathlib
import sys
import unittest

import mistralai
import mistralai.client

from server import server

MODEL = pathlib.Path(__file__).resolve().parents[2] / "build" / "published" / "qwen2.5-coder-0.5b.gguf"
GAP = {"model": "demo", "prompt": "def area(width, height):\n    return ", "suffix": "\n\nprint(area(3, 4))\n",
       "max_tokens": 32, "temperature": 0}
CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 16, "temperature": 0}


class Mistral(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        address = sys.argv[2] if len(sys.argv) > 2 else cls.enterClassContext(
            server(sys.argv[1], MODEL, "--kv-memory", "256MiB", "--threads", "2"))
        cls.client = mistralai.client.Mistral(api_key="none", server_url=address)

    def test_gap(self):
        whole = self.client.fim.complete(**GAP)
        text = whole.choices[0].message.content
        self.assertEqual(text.split("\n")[0].strip(), "width * height")
        parts = [event.data for event in self.client.fim.stream(**GAP)]
        self.assertEqual("".join(part.choices[0].delta.content for part in parts), text)
        self.assertEqual(parts[-1].choices[0].finish_reason, whole.choices[0].finish_reason)
        seeded = [self.client.fim.complete(**{**GAP, "temperature": 0.7}, random_seed=3, min_tokens=2, top_p=0.9,
                                           stop=["\n\n"]).choices[0].message.content for _ in range(2)]
        self.assertEqual(seeded[0], seeded[1])

    def test_chat(self):
        whole = self.client.chat.complete(**CHAT)
        parts = [event.data for event in self.client.chat.stream(**CHAT)]
        text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertGreater(whole.usage.completion_tokens, 0)

    def test_embeddings(self):
        self.assertEqual(len(self.client.embeddings.create(model="demo", inputs=["One", "Another"]).data), 2)


if __name__ == "__main__":
    if len(sys.argv) < 3 and not MODEL.exists():
        print(f"skipped: no {MODEL.name} (hint: scripts/published --fetch {MODEL.stem})")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], warnings="ignore")
