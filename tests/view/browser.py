"""Headless Chromium for tests of pages: the parsed page, its layout in windows, and screenshots for
inspection. Standard library only, except for the browser.

Environment: CHROMIUM, the browser (chromium); RECORDPIPE_SCREENSHOTS, the folder of the
screenshots.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
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


class Browsing:
    """A mixin for a unittest.TestCase with its pages in self.folder."""

    @classmethod
    def setUpClass(cls):
        if not shutil.which(BROWSER):
            raise unittest.SkipTest("no Chromium: tools/install_packages.sh --ci installs it")
        super().setUpClass()
        cls.screenshots = pathlib.Path(os.environ["RECORDPIPE_SCREENSHOTS"])
        cls.screenshots.mkdir(parents=True, exist_ok=True)

    def browse(self, page, *options):
        """Returns Chromium's standard output for a page, which must not log any message."""
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--enable-logging=stderr", f"--user-data-dir={self.folder}/profile", *options,
                   (self.folder / page).as_uri()]
        result = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
        messages = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
        self.assertEqual(messages, [], "the page has something to complain of")
        return result.stdout

    def document(self, page, *options):
        return Document(self.browse(page, "--dump-dom", *options))

    def change(self, page, script):
        """Writes changed.html, in which `script` runs last. (The page's policy would forbid it.)"""
        text = (self.folder / page).read_text()
        text, count = re.subn('<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        self.assertEqual(count, 1)
        text = text.replace("</body>", f"<script>{script}</script></body>")
        (self.folder / "changed.html").write_text(text)
        return "changed.html"

    def measure(self, page, width, height):
        """Returns the message that `page` posts in a window of this size (an inner frame, because
        Chromium's windows have at least 500 pixels)."""
        (self.folder / "frame.html").write_text(
            "<body><script>onmessage = (event) => { document.body.dataset.found = event.data; };"
            f"</script><iframe src={page} style='border: 0' width={width} height={height}></iframe>")
        body, = self.document("frame.html", "--virtual-time-budget=3000").all("body")
        return json.loads(body["data-found"])

    def photograph(self, page, name):
        """Takes screenshots in a wide and a narrow window, light and dark."""
        for width, height in ((1280, 1000), (400, 800)):
            for theme, options in (("light", ["--blink-settings=preferredColorScheme=1"]),
                                   ("dark", ["--blink-settings=preferredColorScheme=0"])):
                path = self.screenshots / f"{name}-{width}-{theme}.png"
                path.unlink(missing_ok=True)
                self.browse(page, f"--screenshot={path}", f"--window-size={width},{height}", *options)
                self.assertGreater(path.stat().st_size, 5000)
