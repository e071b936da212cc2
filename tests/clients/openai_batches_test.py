#!/usr/bin/env python3
"""Files and batches of the openai Python client: results are those of single requests.

usage: openai_batches_test.py PANDO
"""
import json
import sys
import tempfile
import time
import unittest

import openai

from server import random_model, server

PANDO = sys.argv[1]
ENDED = ("completed", "failed", "expired", "cancelled")


def without_times(answer):
    return {name: value for name, value in answer.items() if name not in ("id", "created", "usage")}


class Batches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        random_model(PANDO, folder + "/model")
        address = cls.enterClassContext(server(PANDO, folder + "/model", "--state", folder + "/state"))
        cls.client = openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)

    def upload(self, lines):
        data = "\n".join(json.dumps(line) for line in lines).encode()
        file = self.client.files.create(file=("lines.jsonl", data), purpose="batch",
                                        expires_after={"anchor": "created_at", "seconds": 3600})
        self.assertEqual(file.expires_at, file.created_at + 3600)
        self.assertEqual(self.client.files.content(file.id).content, data)
        return self.client.files.wait_for_processing(file.id)

    def run_batch(self, url, bodies):
        lines = [{"custom_id": str(i), "method": "POST", "url": url, "body": body} for i, body in enumerate(bodies)]
        batch = self.client.batches.create(input_file_id=self.upload(lines).id, endpoint=url, completion_window="24h",
                                           metadata={"of": "a test"})
        for _ in range(600):
            if batch.status in ENDED:
                return batch
            time.sleep(0.05)
            batch = self.client.batches.retrieve(batch.id)
        raise RuntimeError(f"the batch does not end: {batch}")

    def results(self, file):
        return {line["custom_id"]: line["response"]
                for line in map(json.loads, self.client.files.content(file).text.splitlines())}

    def test_answers(self):
        chat = {"model": "demo", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "temperature": 0}
        cases = [("/v1/chat/completions", chat, self.client.chat.completions.create),
                 ("/v1/completions", {"model": "demo", "prompt": "A", "temperature": 0, "logprobs": 2},
                  self.client.completions.create),
                 ("/v1/embeddings", {"model": "demo", "input": ["one", "two"], "encoding_format": "float"},
                  self.client.embeddings.create)]
        for url, body, create in cases:
            batch = self.run_batch(url, [body] * 3 + [{**body, "no_such_field": 7}])
            self.assertEqual(batch.status, "completed", batch)
            self.assertEqual(batch.metadata, {"of": "a test"})
            answers = self.results(batch.output_file_id)
            live = json.loads(create(**body).to_json())
            for i in range(3):
                answer = answers[str(i)]["body"]
                for name, value in without_times(live).items():
                    self.assertEqual(answer[name], value, f"{url}: {name}")
            self.assertEqual([batch.request_counts.completed, batch.request_counts.failed], [3, 1])
            refused = self.results(batch.error_file_id)["3"]
            self.assertEqual([refused["status_code"], refused["body"]["error"]["param"]], [400, "no_such_field"])

    def test_wrong_lines(self):
        line = {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "A"}}
        batch = self.client.batches.create(input_file_id=self.upload([line, line]).id, endpoint="/v1/completions",
                                           completion_window="24h")
        while batch.status not in ENDED:
            batch = self.client.batches.retrieve(batch.id)
        self.assertEqual(batch.status, "failed")
        self.assertEqual([(error.code, error.line) for error in batch.errors.data], [("duplicate_custom_id", 2)])

    def test_lists_and_cancels(self):
        line = {"custom_id": "a", "method": "POST", "url": "/v1/completions",
                "body": {"prompt": "A", "max_tokens": 2000, "ignore_eos": True}}
        file = self.upload([{**line, "custom_id": str(i)} for i in range(2000)])
        batch = self.client.batches.create(input_file_id=file.id, endpoint="/v1/completions", completion_window="24h")
        self.assertIn(batch.id, [one.id for one in self.client.batches.list(limit=1)])
        self.assertIn(file.id, [one.id for one in self.client.files.list(purpose="batch", limit=1)])
        with self.assertRaises(openai.BadRequestError):
            self.client.files.delete(file.id)  # the batch reads it
        self.assertIn(self.client.batches.cancel(batch.id).status, ("cancelling", "cancelled"))
        while batch.status not in ENDED:
            time.sleep(0.05)
            batch = self.client.batches.retrieve(batch.id)
        self.assertEqual(batch.status, "cancelled")
        self.assertTrue(self.client.files.delete(file.id).deleted)
        with self.assertRaises(openai.NotFoundError):
            self.client.files.retrieve(file.id)


class TwoKeys(unittest.TestCase):
    def test_each_has_files_and_batches_of_its_own(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        random_model(PANDO, folder + "/model")
        with open(folder + "/keys", "w") as keys:
            keys.write("one:the-secret-key-of-one\ntwo:the-secret-key-of-two\n")
        address = self.enterContext(server(PANDO, folder + "/model", "--state", folder + "/state",
                                           "--api-key-file", folder + "/keys"))
        one, two = (openai.OpenAI(base_url=address + "/v1", api_key=f"the-secret-key-of-{name}", max_retries=0)
                    for name in ("one", "two"))
        line = {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "A", "max_tokens": 2}}
        file = one.files.create(file=("lines.jsonl", json.dumps(line).encode()), purpose="batch")
        batch = one.batches.create(input_file_id=file.id, endpoint="/v1/completions", completion_window="24h")
        while batch.status not in ENDED:
            batch = one.batches.retrieve(batch.id)
        for name in (file.id, batch.output_file_id):
            for ask in (two.files.retrieve, two.files.content, two.files.delete):
                self.assertRaises(openai.NotFoundError, ask, name)
        for ask in (two.batches.retrieve, two.batches.cancel):
            self.assertRaises(openai.NotFoundError, ask, batch.id)
        self.assertRaises(openai.NotFoundError, two.batches.create, input_file_id=file.id, endpoint="/v1/completions",
                          completion_window="24h")
        self.assertEqual([list(two.files.list()), list(two.batches.list())], [[], []])
        self.assertEqual([len(list(one.files.list())), len(list(one.batches.list()))], [2, 1])
        self.assertTrue(one.files.delete(file.id).deleted)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
