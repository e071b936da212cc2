"""Debian's Chromium without a window, through chromium-driver (https://www.w3.org/TR/webdriver2)."""
import base64
import contextlib
import json
import re
import subprocess
import tempfile
import time
import urllib.request

TAB, ENTER, SPACE, RIGHT, CONTROL = "\ue004", "\ue007", " ", "\ue014", "\ue009"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # by which the protocol names an element


class Browser:
    def __init__(self, address, downloads):
        self.address = address
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--lang=en"],
                   "prefs": {"download.default_directory": downloads}}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = None
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        self.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=downloads)

    def call(self, method, path, body=None):
        if self.session:
            path = f"/session/{self.session}{path}"
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def devtools(self, command, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *args):
        return self.call("POST", "/execute/sync", {"script": script, "args": args})

    def run_async(self, script, *args):
        """The value that the script gives to its last argument, a function."""
        return self.call("POST", "/execute/async", {"script": script, "args": args})

    def element(self, name):
        return self.call("POST", "/element", {"using": "css selector", "value": "#" + name})[ELEMENT]

    def click(self, name):
        self.call("POST", f"/element/{self.element(name)}/click")

    def choose(self, name, path):
        """A file for a field that takes files."""
        self.call("POST", f"/element/{self.element(name)}/value", {"text": str(path)})

    def fill(self, name, text):
        self.run("const e = document.getElementById(arguments[0]); e.value = arguments[1];"
                 "e.dispatchEvent(new Event('change'));", name, text)

    def text(self, name):
        return self.run("return document.getElementById(arguments[0]).textContent", name)

    def press(self, *keys, held=""):
        """Keys of the keyboard, one after another, where the focus is."""
        actions = [{"type": "keyDown", "value": held}] if held else []
        for key in keys:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        actions += [{"type": "keyUp", "value": held}] if held else []
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def focus(self):
        return self.run("const e = document.activeElement; return e.id || e.textContent.trim().slice(0, 40)")

    def wait(self, what, seconds=60):
        """Until a script gives something true: that."""
        end = time.monotonic() + seconds
        while not (value := self.run(what)):
            assert time.monotonic() < end, f"not in {seconds} s: {what}"
            time.sleep(0.1)
        return value

    def look(self, width, height, scheme):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                              {"name": "prefers-reduced-motion", "value": "reduce"}])

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def logged(self):
        """Messages of the console, such as errors and what the content policy forbade."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]


@contextlib.contextmanager
def browser():
    """A browser, and the folder of its downloads."""
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        for line in driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                break
        else:
            raise RuntimeError("chromedriver said no port")
        with tempfile.TemporaryDirectory() as downloads:
            one = Browser(f"http://127.0.0.1:{found[1]}", downloads)
            try:
                yield one, downloads
            finally:
                one.call("DELETE", "")
    finally:
        driver.terminate()
        driver.wait(30)
        driver.stdout.close()
