"""Headless Chromium for tests of pages: the parsed page, its layout in windows, and screenshots for
inspection. One browser serves all tests of a class; it is driven by the DevTools protocol
(https://chromedevtools.github.io/devtools-protocol/) on two pipes. Standard library only, except for
the browser.

Environment: CHROMIUM, the browser (chromium); RECORDPIPE_SCREENSHOTS, the folder of the
screenshots.
"""
import base64
import html.parser
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

BROWSER = os.environ.get("CHROMIUM", "chromium")


class Document(html.parser.HTMLParser):
    """Elements by tag, with their attributes, and all visible text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.hidden = {}, [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.setdefault(tag, []).append(dict(attrs))
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.text.append(data)

    def all(self, tag, **attributes):
        return [found for found in self.elements.get(tag, [])
                if all(found.get(name) == value for name, value in attributes.items())]


class Chromium:
    """A browser with one tab."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="recordpipe-")
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()
        # Chromium reads commands from file descriptor 3, and answers on 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{read_commands} 4>&{write_answers}', BROWSER,
             "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder}"],
            pass_fds=(read_commands, write_answers), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_commands)
        os.close(write_answers)
        self.received, self.last, self.session, self.messages, self.loaded = b"", 0, None, [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.call("Page.addScriptToEvaluateOnNewDocument",
                  source="addEventListener('message', (event) => { window.posted = event.data; });")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self):
        """The next message; those about the page are noted."""
        end = time.monotonic() + 180
        while b"\0" not in self.received:
            ready = select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]
            data = os.read(self.answers, 1 << 20) if ready else b""
            if not data:
                raise AssertionError(f"{BROWSER} has ended or doesn't answer")
            self.received += data
        text, _, self.received = self.received.partition(b"\0")
        message = json.loads(text)
        method = message.get("method")
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.messages.append(message["params"])
        self.loaded |= method == "Page.loadEventFired"
        return message

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.last:
            pass
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def resize(self, width, height, theme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, url):
        self.messages, self.loaded = [], False
        self.call("Page.navigate", url=url)
        while not self.loaded:
            self.receive()

    def settle(self):
        """Waits until the page is painted; returns what it has said on its console."""
        self.evaluate("new Promise((done) => "
                      "requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self.messages

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def screenshot(self):
        return base64.b64decode(self.call("Page.captureScreenshot", optimizeForSpeed=True)["data"])


class Browsing:
    """A mixin for a unittest.TestCase with its pages in self.folder."""

    @classmethod
    def setUpClass(cls):
        if not shutil.which(BROWSER):
            raise unittest.SkipTest("no Chromium: tools/install_packages.sh --ci installs it")
        super().setUpClass()
        cls.screenshots = pathlib.Path(os.environ["RECORDPIPE_SCREENSHOTS"])
        cls.screenshots.mkdir(parents=True, exist_ok=True)
        cls.chromium = Chromium()
        cls.addClassCleanup(cls.chromium.close)

    def browse(self, page, width=800, height=600, theme="light"):
        """Opens a page, which must not log any message."""
        self.chromium.resize(width, height, theme)
        self.chromium.open((self.folder / page).as_uri())
        self.expect_no_complaint()

    def expect_no_complaint(self):
        self.assertEqual(self.chromium.settle(), [], "the page has something to complain of")

    def document(self, page):
        """The page as it is after its scripts have run."""
        self.browse(page)
        return Document(self.chromium.evaluate("document.documentElement.outerHTML"))

    def change(self, page, script):
        """Writes changed.html, in which `script` runs last. (The page's policy would forbid it.)"""
        text = (self.folder / page).read_text()
        text, count = re.subn('<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        self.assertEqual(count, 1)
        text = text.replace("</body>", f"<script>{script}</script></body>")
        (self.folder / "changed.html").write_text(text)
        return "changed.html"

    def measure(self, page, width, height):
        """Returns the message that `page` posts to its parent, here itself, in a window of this
        size."""
        self.browse(page, width, height)
        return json.loads(self.chromium.evaluate("""new Promise((done) => {
            const look = () => window.posted ? done(window.posted) : setTimeout(look, 1);
            look();
          })"""))

    def photograph(self, page, name):
        """Takes screenshots in a wide and a narrow window, light and dark, of the page as it was
        opened in the first one."""
        self.browse(page, 1280, 1000)
        for width, height in ((1280, 1000), (400, 800)):
            for theme in ("light", "dark"):
                self.chromium.resize(width, height, theme)
                self.expect_no_complaint()
                picture = self.chromium.screenshot()
                self.assertGreater(len(picture), 5000)
                (self.screenshots / f"{name}-{width}-{theme}.png").write_bytes(picture)
