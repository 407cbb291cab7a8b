#!/usr/bin/env python3
"""Opens pages of training reports in headless Chromium.

Environment: RECORDPIPE_REPORT_PAGES, the program that writes the pages; CHROMIUM, the browser
(chromium).

Writes screenshots (browser.py). Standard library only, except the browser.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from browser import Browsing

PROGRAM = os.environ["RECORDPIPE_REPORT_PAGES"]
CASES = ["empty", "hostile", "not-finite", "one-point", "resumed", "run"]


class Reports(Browsing, unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, case):
        subprocess.run([PROGRAM, case, str(self.folder / "page.html")], check=True, timeout=60)

    def test_pages_are_shown_without_complaint(self):
        for case in CASES:
            self.write(case)
            document = self.document("page.html")
            self.assertEqual(len(document.all("svg", **{"class": "plot"})), 0 if case == "empty" else 5)
            self.assertNotIn("run", document.text)  # the title that a script would set
            self.photograph("page.html", f"report-{case}")

    def test_pages_fit_into_wide_and_narrow_windows(self):
        for case in CASES:
            self.write(case)
            page = self.change("page.html", """
                onload = () => {
                  const lines = [...document.querySelectorAll("path, .plot")].map((element) => {
                    const { left, right, width } = element.getBoundingClientRect();
                    return [left, right, width];
                  });
                  const text = [...document.querySelectorAll(".plot text")].map((element) =>
                    element.getBoundingClientRect().height);
                  parent.postMessage(JSON.stringify([
                    document.documentElement.scrollWidth, innerWidth, lines, text,
                    [...document.querySelectorAll(".scroll")].map((scroll) =>
                      scroll.scrollWidth - scroll.clientWidth)]), "*");
                };""")
            for width in (400, 700, 1100, 1600):
                used, inner, lines, text, hidden = self.measure(page, width, 900)
                self.assertEqual(inner, width)
                self.assertLessEqual(used, width, case)
                for left, right, line_width in lines:
                    self.assertGreaterEqual(left, 0)
                    self.assertLessEqual(right, width)
                for height in text:  # not stretched
                    self.assertTrue(12 <= height <= 18, height)
                if case == "run":
                    self.assertEqual(hidden, [0, 0], width)  # no table must be scrolled


if __name__ == "__main__":
    unittest.main(verbosity=2)
