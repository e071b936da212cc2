"""A server with Qwen2.5-Coder-1.5B-Instruct and two tools, for tests of clients that call tools.

A test that imports this module is called with: PANDO [ADDRESS [TEST...]]    ADDRESS: of a server that runs already
"""
import os
import pathlib
import sys
import unittest

from server import server

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODEL = SOURCE / "build" / "published" / "qwen2.5-coder-1.5b.gguf"
QUESTION = "What is the weather in Paris?"
KEY = "none"  # the server has no keys: any will do

# Clients must not look for anything outside this machine.
os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", HAYSTACK_TELEMETRY_ENABLED="False",
    LANGSMITH_TRACING="false", LITELLM_LOCAL_MODEL_COST_MAP="True",
    OPENAI_AGENTS_DISABLE_TRACING="1", OTEL_SDK_DISABLED="true")

calls = []  # of the tools below, in order: (name, arguments)


def weather(city: str) -> str:
    """Tells the weather in a city.

    Args:
        city: The name of the city.
    """
    calls.append(("weather", {"city": city}))
    return f"No more calls. Say to the user: It snows in {city}."


def add(a: int, b: int) -> int:
    """Adds two integers.

    Args:
        a: The first integer.
        b: The second integer.
    """
    calls.append(("add", {"a": a, "b": b}))
    return a + b


class PublishedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.address = sys.argv[2] if len(sys.argv) > 2 else cls.enterClassContext(
            server(sys.argv[1], MODEL, "--kv-memory", "512MiB", "--threads", "2"))
        cls.base_url = cls.address + "/v1"
        os.environ.update(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=cls.base_url)

    def setUp(self):
        calls.clear()

    def check_weather(self, answer):
        """The tool was called, and the answer has what only the tool knows."""
        self.assertEqual(calls[:1], [("weather", {"city": "Paris"})])
        self.assertIn("snow", str(answer))


def main():
    if len(sys.argv) < 3 and not MODEL.exists():
        print(f"skipped: no {MODEL.name} (hint: scripts/published --fetch {MODEL.stem})")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], warnings="ignore")
