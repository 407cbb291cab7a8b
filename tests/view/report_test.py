#!/usr/bin/env python3
"""Tests the page of a training report without a browser: the page is well formed and complete, has
no NaN, loads nothing, and escapes text.

Run by CTest. Environment: RECORDPIPE_REPORT_PAGES, the program that writes reports. Standard
library only.
"""
import base64
import html.parser
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM = os.environ["RECORDPIPE_REPORT_PAGES"]
CASES = ["empty", "hostile", "not-finite", "one-point", "resumed", "run"]
# Elements without an end tag.
VOID = {"br", "img", "meta"}
CHARTS = ["Loss", "Accuracy", "Learning rate", "Speed", "Time spent waiting for input"]


class Element:
    def __init__(self, tag, attributes, parent):
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children, self.text, self.parts = [], "", []  # parts: texts and children in order

    def add(self, child):
        self.children.append(child)
        self.parts.append(child)

    def all(self, tag, **attributes):
        """The elements below this element, in page order."""
        for child in self.children:
            if child.tag == tag and attributes.items() <= child.attributes.items():
                yield child
            yield from child.all(tag, **attributes)

    def shown(self):
        """The text of the element, without the text of drawings."""
        return "" if self.tag in ("style", "svg") else "".join(
            part if isinstance(part, str) else part.shown() for part in self.parts)


class Page(html.parser.HTMLParser):
    """A tree of elements; rejects end tags that don't match."""

    def __init__(self, text):
        super().__init__()
        self.root = self.at = Element("", {}, None)
        self.feed(text)
        self.close()
        if self.at is not self.root:
            raise ValueError(f"<{self.at.tag}> has no end")

    def handle_starttag(self, tag, attrs):
        if len(dict(attrs)) != len(attrs):
            raise ValueError(f"an attribute twice in <{tag}>: {attrs}")
        element = Element(tag, dict(attrs), self.at)
        self.at.add(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag, attrs):
        self.at.add(Element(tag, dict(attrs), self.at))

    def handle_endtag(self, tag):
        if self.at.tag != tag:
            raise ValueError(f"</{tag}> in <{self.at.tag}>")
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.text += data
        self.at.parts.append(data)


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, case, name="report.html"):
        path = self.folder / name
        subprocess.run([PROGRAM, case, str(path)], check=True, timeout=60)
        return path.read_text(encoding="utf-8")

    def page(self, case):
        return Page(self.write(case)).root


class Form(ReportTest):
    def test_pages_are_well_formed(self):
        for case in CASES:
            text = self.write(case)
            root = Page(text).root
            self.assertEqual([child.tag for child in root.children], ["html"], case)
            drawings = re.findall("<svg class=\"plot\".*?</svg>\n", text, re.DOTALL)
            self.assertEqual(len(drawings), 0 if case == "empty" else 5, case)
            for drawing in drawings:
                xml.etree.ElementTree.fromstring(drawing)

    def test_drawings_are_of_numbers_within_them(self):
        for case in CASES:
            for drawing in self.page(case).all("svg"):
                for tag in ("circle", "line", "rect", "svg", "text"):
                    for element in drawing.all(tag):
                        for name, value in element.attributes.items():
                            if name in ("x", "y", "cx", "cy", "x1", "x2", "y1", "y2", "width", "height"):
                                number = float(value.removesuffix("%"))
                                self.assertTrue(-10 <= number <= 110, (case, tag, name, value))
                for path in drawing.all("path"):
                    numbers = re.sub("[ML]", " ", path.attributes["d"]).split()
                    self.assertEqual(len(numbers) % 2, 0)
                    for number in numbers:
                        self.assertTrue(0 <= float(number) <= 100, (case, number))

    def test_the_same_report_gives_the_same_bytes(self):
        for case in CASES:
            self.assertEqual(self.write(case), self.write(case, "again.html"))

    def test_nothing_is_loaded_and_nothing_runs(self):
        for case in CASES:
            page = self.page(case)
            policy, = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
            self.assertTrue(policy.attributes["content"].startswith("default-src 'none'; img-src data:;"))
            for tag in ("a", "base", "embed", "form", "iframe", "link", "object", "script"):
                self.assertEqual(list(page.all(tag)), [], (case, tag))
            self.visit(page)

    def visit(self, element):
        for name, value in element.attributes.items():
            self.assertFalse(name.startswith("on"), name)
            if name in ("src", "href", "srcset", "xlink:href", "background", "action"):
                self.assertTrue(value.startswith("data:image/png;base64,"), value)
            self.assertNotIn("url(", value if name == "style" else "")
        if element.tag == "style":
            self.assertNotRegex(element.text, "url|@import")
        for child in element.children:
            self.visit(child)


class Content(ReportTest):
    def titles(self, page):
        return [chart.text for figure in page.all("figure", **{"class": "chart"})
                for chart in figure.all("h3")]

    def test_a_run(self):
        page = self.page("run")
        self.assertEqual([title.strip() for title in self.titles(page)], CHARTS)
        text = page.shown()
        self.assertIn("4600 steps in 0:04:13: 1163 images/s", text)
        self.assertIn("A point is the mean of 10 steps.", text)
        for fact in ("parameters", "175019", "cpu (oneDNN, AVX-512), 2 threads"):
            self.assertIn(fact, text)
        labels = [plot.attributes["aria-label"] for plot in page.all("svg", **{"class": "plot"})]
        self.assertRegex(labels[0], r"^Loss over steps; train: [\d.]+ at step 10, [\d.]+ at step 4600; "
                                    r"validation: [\d.]+ at step 460, [\d.]+ at step 4600$")
        loss, accuracy, *others = page.all("svg", **{"class": "plot"})
        for plot in (loss, accuracy):
            self.assertEqual(len(list(plot.all("path"))), 2)
            self.assertEqual(len(list(plot.all("circle", **{"class": "line1"}))), 10)
        self.assertEqual([len(list(plot.all("path"))) for plot in others], [1, 1, 1])
        titles = [title.text for title in loss.all("title")]
        self.assertGreater(len(titles), 50)
        self.assertRegex(titles[-1], r"^step \d+: train 0\.\d+\nstep 4600: validation 0\.533$")

    def test_axes(self):
        _, accuracy, *_ = self.page("run").all("svg", **{"class": "plot"})
        ticks = [text.text for text in accuracy.all("text", **{"class": "value"})]
        self.assertEqual(ticks, ["0", "20", "40", "60", "80", "100"])
        ticks = [text.text for text in accuracy.all("text", **{"class": "step"})]
        self.assertEqual(ticks, ["0", "1000", "2000", "3000", "4000"])

    def test_the_confusion_matrix(self):
        page = self.page("run")
        matrix, = page.all("table", **{"class": "confusion"})
        rows = [[int(cell.text) for cell in row.all("td")] for row in list(matrix.all("tr"))[1:]]
        self.assertEqual([len(row) for row in rows], [10] * 10)  # of the network's 11 classes
        self.assertEqual([sum(row) for row in rows], [1000] * 10)
        right = sum(row[i] for i, row in enumerate(rows))
        text = page.shown()
        self.assertIn(f"{right / 100:.2f}% ({right} of 10000 images) classified correctly", text)
        names = [cell.text for cell in matrix.all("th", scope="row")]
        self.assertEqual((names[0], names[-1]), ("airplane", "truck"))
        cells = [cell.attributes for cell in matrix.all("td") if "title" in cell.attributes]
        cat_for_dog = next(cell for cell in cells if " of cat taken for dog " in cell["title"])
        self.assertEqual(cat_for_dog["title"],
                         f"{rows[3][5]} of 1000 images of cat taken for dog ({rows[3][5] / 10:.1f}%)")
        self.assertEqual(cat_for_dog["class"], f"wrong s{round(10 * math.sqrt(rows[3][5] / 1000))}")
        classes, = page.all("table", **{"class": "classes"})
        for index, row in enumerate(list(classes.all("tr"))[1:]):
            images, recall, _, precision = [cell.text for cell in row.all("td")]
            self.assertEqual((images, recall), ("1000", f"{rows[index][index] / 10:.1f}%"))
            predicted = sum(row[index] for row in rows)
            self.assertEqual(precision, f"{100 * rows[index][index] / predicted:.1f}%")

    def test_mistakes_are_images(self):
        page = self.page("run")
        images = list(page.all("img"))
        self.assertEqual(len(images), 60)
        for image in images:
            data = base64.b64decode(image.attributes["src"].split(",")[1], validate=True)
            self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(struct.unpack_from(">II", data, 16), (32, 32))
        self.assertRegex(images[0].parent.shown(), r"^\w+→ \w+ 99\.9%$")

    def test_a_run_that_was_resumed(self):
        page = self.page("resumed")
        text = page.shown()
        self.assertIn("From step 20000 on; earlier steps are not recorded. 80000 steps", text)
        self.assertIn("Each drawn point is the mean of 8 neighbouring points.", text)
        alert, = page.all("p", **{"class": "alert"})
        self.assertIn("synthetic", alert.text)
        for path in page.all("path"):
            self.assertLessEqual(len(re.findall("[ML]", path.attributes["d"])), 1000)
        self.assertNotIn("Evaluation", text)

    def test_nothing_at_all(self):
        page = self.page("empty")
        self.assertIn("No steps were recorded.", page.shown())
        self.assertEqual(list(page.all("svg")), [])

    def test_one_point(self):
        page = self.page("one-point")
        plots = list(page.all("svg", **{"class": "plot"}))
        self.assertEqual([len(list(plot.all("circle"))) for plot in plots], [2, 2, 1, 1, 1])
        self.assertIn("1 step in 0:00:00: 128 images/s", page.shown())
        self.assertIn("There were no images in the eval split.", page.shown())

    def test_numbers_that_are_none_interrupt_a_line(self):
        page = self.page("not-finite")
        paths = [list(plot.all("path"))[0].attributes["d"]
                 for plot in page.all("svg", **{"class": "plot"})]
        self.assertEqual([path.count("M") for path in paths], [2, 2, 1, 2, 2])
        notes = [note.text for figure in page.all("figure", **{"class": "chart"})
                 for note in figure.all("p")]
        self.assertEqual(notes, ["4 values are not drawn: not finite."] +
                         ["1 value is not drawn: not finite."] * 3)
        self.assertRegex(page.shown(), r"→ \w+ –")

    def test_hostile_text_stays_text(self):
        page = self.page("hostile")
        hostile = ("</title></style><script>document.title='run'</script><img src=x "
                   "onerror=\"document.title='run'\">'\"&<>\N{REPLACEMENT CHARACTER}]]><!--")
        title, = [title for head in page.all("head") for title in head.all("title")]
        self.assertEqual(title.text, hostile)
        alert, = page.all("p", **{"class": "alert"})
        self.assertEqual(alert.text, hostile)
        self.assertEqual([fact.text for fact in list(page.all("dd"))[-1:]], [hostile])
        matrix, = page.all("table", **{"class": "confusion"})
        names = [cell.text for cell in matrix.all("th", scope="row")]
        self.assertEqual(names[3], "cat" + hostile)
        self.assertEqual(len(list(page.all("img"))), 60)


if __name__ == "__main__":
    unittest.main()
