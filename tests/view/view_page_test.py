#!/usr/bin/env python3
"""Opens pages of `tfrecord view` in headless Chromium and reads them back.

Environment: RECORDPIPE_TFRECORD, the program; CHROMIUM, the browser (chromium).

Writes screenshots (browser.py). Standard library only, except the browser.
"""
import math
import pathlib
import random
import struct
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests" / "cli"))
from tfrecord_test_case import (DATA, TfrecordTest, bytes_feature, int64_feature,  # noqa: E402
                                named_example)
from make_golden import field  # noqa: E402
from tfrecord_create_case import png  # noqa: E402

from browser import Browsing

# Text that would run, load or break out unless it is escaped.
HOSTILE = ["</script><script>document.title='run'</script>", "<img src=x onerror=\"document.title='run'\">",
           "'\"&<>\u2028", "]]><!--", "{{7*7}}"]
NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def smooth_image(seed):
    """A planar 32 x 32 x 3 picture without sharp edges."""
    draw = random.Random(seed)
    planes = []
    for _ in range(3):
        a, b, c = draw.randrange(1, 5), draw.randrange(1, 5), draw.randrange(60)
        planes.append(bytes((c + a * x + b * y) % 256 for y in range(32) for x in range(32)))
    return b"".join(planes)


class Pages(Browsing, TfrecordTest):
    def test_a_contact_sheet_of_raw_images(self):
        self.write("a.tfrecords", *[
            named_example({"image": [smooth_image(i)], "label": [i % 10], "weight": [i / 7 - 9.5]})
            for i in range(300)])
        self.run_it("view", "a.tfrecords", "--labels", ",".join(NAMES), "-o", "page.html")
        document = self.document("page.html")
        cards = document.all("button", **{"class": "card"})
        images = [image for image in document.all("img") if image["src"].startswith("data:image/png")]
        self.assertEqual((len(cards), len(images)), (120, 120))
        self.assertEqual([image["alt"] for image in images[:3]],
                         ["record 0: airplane", "record 1: automobile", "record 2: bird"])
        self.assertIn("1–120 of 300", document.text)
        for name in NAMES:
            self.assertIn(name, document.text)
        self.assertEqual(len(document.all("option")), 11)
        self.assertEqual(len(document.all("svg", **{"class": "histogram"})), 1)
        self.photograph("page.html", "view-images")

    def test_one_record(self):
        """The buttons of the dialog stay visible, for any window and record."""
        name = "image/object/bbox/a name that is rather long/xmin"
        self.write("a.tfrecords", *[
            named_example({"image": [smooth_image(i)], "label": ["a long label " * (i * 4)],
                           "text": ["word " * 100 * i], name: [i]}) for i in range(3)])
        self.run_it("view", "a.tfrecords", "-o", "page.html")
        page = self.change("page.html", """
            const places = [];
            document.querySelectorAll(".card")[1].click();
            for (const id of ["detail-previous", "detail-next", "detail-previous", "detail-next"]) {
              for (const part of document.querySelectorAll("#detail .head button")) {
                const {left, right, top, bottom} = part.getBoundingClientRect();
                places.push([left, right, top, bottom]);
              }
              document.getElementById(id).click();
            }
            const names = [...document.querySelectorAll("#detail tr td:first-child")].map((cell) => {
              const range = document.createRange();
              range.selectNodeContents(cell);
              return [cell.textContent, range.getClientRects().length]; // lines
            });
            parent.postMessage(JSON.stringify([places, names, innerWidth, innerHeight]), "*");""")
        for width, height in ((400, 800), (1400, 800)):
            places, names, *size = self.measure(page, width, height)
            self.assertEqual(size, [width, height])
            self.assertEqual(places, places[:3] * 4)
            for left, right, top, bottom in places:
                self.assertGreaterEqual(min(left, top), 0)
                self.assertLessEqual((right <= width, bottom <= height), (True, True))
                self.assertEqual((top, bottom), tuple(places[0][2:]))  # on one line
                self.assertGreaterEqual(right - left, 40)
            lines = dict(names)
            self.assertGreater(lines.pop(name), 1)
            self.assertEqual(lines, {"image": 1, "label": 1, "text": 1})
        self.photograph(self.change("page.html", "document.querySelectorAll('.card')[1].click()"),
                        "view-record")

    def test_tensorboards_events_and_sequences(self):
        def event(step, loss):
            value = field(1, field(1, b"train/loss") + b"\x15" + struct.pack("<f", loss))
            return b"\x09" + struct.pack("<d", 1.6e9 + step) + b"\x10" + bytes([step]) + field(5, value)
        self.write("events", *[event(step, 2 / (step + 1)) for step in range(60)])
        self.run_it("view", "events", "-o", "page.html")
        document = self.document("page.html")
        text = [part for part in document.text if part.strip()]
        for shown in ("wall_time", "step", "train/loss", "2020-09-13 12:26:43 UTC", "0.666667"):
            self.assertIn(shown, text)
        self.photograph("page.html", "view-events")

        def entry(name, content):
            return field(1, field(1, name) + field(2, content))
        self.write("sequences", *[
            field(1, entry(b"", int64_feature(i))) +
            field(2, entry(b"words", b"".join(field(1, bytes_feature(b"word%d" % j))
                                              for j in range(i)))) for i in range(5)])
        self.run_it("view", "sequences", "-o", "page.html")
        document = self.document("page.html")
        for shown in ('""', "words", "0 steps", "2 steps: [word0], [word1]"):
            self.assertIn(shown, document.text)
        self.photograph("page.html", "view-sequences")

    def test_a_table_of_very_many_features(self):
        for count, said in ((12, ""), (13, "12 of 13 features; "), (1500, "12 of 1,500 features; ")):
            self.write("a.tfrecords", *[named_example({f"f{i:04}": [i] for i in range(count)})
                                        for _ in range(3)])
            self.run_it("view", "a.tfrecords", "-o", "page.html")
            document = self.document("page.html")
            self.assertEqual(len(document.all("th")), 13)
            captions = [text for text in document.text if "a record's number shows more" in text]
            self.assertEqual([text[:len(said)] for text in captions], [said] if said else [])
        self.photograph("page.html", "view-many-features")

    def test_image_files_and_damaged_ones(self):
        files = [(DATA / "images" / name).read_bytes()
                 for name in ("rgb8.png", "rgb420.jpg", "grey8.png", "palette8.png")]
        self.write("a.tfrecords", *[named_example({"image/encoded": [data], "image/class/text": ["a b"]})
                                    for data in [*files, b"\x89PNG\r\n\x1a\nnot really"]])
        self.run_it("view", "a.tfrecords", "-o", "page.html")
        document = self.document("page.html")
        self.assertEqual(len(document.all("button", **{"class": "card"})), 5)
        self.assertEqual([image["src"].split(";")[0] for image in document.all("img")],
                         ["data:image/png", "data:image/jpeg", "data:image/png", "data:image/png"])

    def test_tall_and_wide_images_are_shown_whole(self):
        self.write("a", *[named_example({"image": [png(width, height)]})
                          for width, height in ((50, 200), (200, 50), (64, 64))])
        self.run_it("view", "a", "-o", "page.html")
        page = self.change("page.html", """
            onload = () => parent.postMessage(JSON.stringify(
              [...document.querySelectorAll(".picture")].map((picture) =>
                [picture, picture.querySelector("img")].map((element) => {
                  const { width, height } = element.getBoundingClientRect();
                  return [width, height, getComputedStyle(element).objectFit];
                }))), "*");""")
        found = self.measure(page, 800, 600)
        self.assertEqual(len(found), 3)
        for (width, height, _), (image_width, image_height, fit) in found:
            self.assertEqual(fit, "contain")
            self.assertLessEqual(image_width, width)
            self.assertLessEqual(image_height, height)

    def test_episodes_are_film_strips_with_plots(self):
        name = "a name that's <b>long</b> " * 3
        for file, episodes in (("x/a.tfrecords", range(12)), ("x/b.tfrecords", range(2))):
            (self.folder / file).parent.mkdir(exist_ok=True)
            self.write(file, *[named_example({
                "steps/is_first": [0] * steps, "steps/reward": [float(i == steps - 1) for i in range(steps)],
                "steps/observation/image": [png(64, 48, pixel=bytes([i % 256, 90, 200])) for i in range(steps)],
                "steps/action": [math.sin((i // 7) / 5 + i % 7) for i in range(7 * steps)],
                f"steps/{name}": [i * i for i in range(steps)], "label": [f"task {steps}"]})
                for steps in (30 * number + 1 for number in episodes)])
        self.run_it("view", "x/a.tfrecords", "x/b.tfrecords", "-o", "page.html")
        document = self.document("page.html")
        self.assertEqual(len(document.all("article", **{"class": "feature"})) - 6, 10)
        self.assertEqual(len(document.all("svg", role="img")) -
                         len(document.all("svg", **{"class": "histogram"})), 30)
        self.assertEqual(len(document.all("path")), 10 * (1 + 7 + 1))
        images = [image["alt"] for image in document.all("img")]
        self.assertEqual((len(images), images[1]), (73, "observation/image, step 0"))
        for text in ("#3 of a.tfrecords", " 91 steps, task 91", "action: -0.99999 to 0.999793", "action[6]",
                     f"{name}: 0 to 8100"):
            self.assertIn(text, document.text)
        self.photograph("page.html", "view-episodes")
        changed = self.change("page.html", """
            document.getElementById("next").click();
            document.querySelectorAll("article button")[3].click();
            parent.postMessage(JSON.stringify([
              document.getElementById("detail-title").textContent,
              document.querySelectorAll("#detail .frames img").length,
              document.querySelectorAll("#detail .plot").length,
              document.documentElement.scrollWidth]), "*");""")
        for width in (1280, 400):
            self.assertEqual(self.measure(changed, width, 1000),
                             ["Record 1 of x/b.tfrecords: task 31", 8, 3, width])
        self.photograph(changed, "view-episode")

    def test_records_of_several_files_name_them(self):
        for name in ("x/a", "y/a", "b"):
            (self.folder / name).parent.mkdir(exist_ok=True)
            self.write(name, *[named_example({"n": [i]}) for i in range(2)])
        self.run_it("view", "x/a", "b", "-o", "page.html")
        self.assertEqual(self.cells("page.html"),
                         ["0", "a", "0", "1", "a", "1", "0", "b", "0", "1", "b", "1"])
        self.run_it("view", "x/a", "y/a", "-o", "page.html")  # the same name in two folders
        self.assertEqual(self.cells("page.html")[1::3], ["x/a", "x/a", "y/a", "y/a"])
        self.photograph("page.html", "view-files")
        self.write("b", named_example({"image": [smooth_image(1)]}))
        self.run_it("view", "x/a", "b", "-o", "page.html")
        self.assertIn("#0 of b", self.document("page.html").text)

    def cells(self, page):
        self.browse(page)
        return self.chromium.evaluate(
            "[...document.querySelectorAll('#sheet td')].map((cell) => cell.textContent)")

    def test_hostile_text_stays_text(self):
        self.write("a.tfrecords", *[
            named_example({"image": [smooth_image(1)], "label": [text], text: [text, text]})
            for text in HOSTILE])
        self.run_it("view", "a.tfrecords", "-o", "page.html")
        self.check_hostile()
        self.write("a.tfrecords", *[named_example({text: [text], "x": [1.0]}) for text in HOSTILE])
        self.run_it("view", "a.tfrecords", "--label", HOSTILE[0], "-o", "page.html")
        self.check_hostile()

    def check_hostile(self):
        document = self.document("page.html")
        shown = "".join(document.text)
        for text in HOSTILE:
            self.assertIn(text, shown)
        self.assertEqual(len(document.all("script")), 3)
        self.assertFalse(any("onerror" in image for image in document.all("img")))
        self.assertNotIn("run", document.text)  # the title

    def test_records_without_images_are_a_table(self):
        draw = random.Random(1)
        self.write("a.tfrecords", *[
            named_example({"text": [f"sentence number {i}, " + "word " * (i % 40)], "length": [i % 40],
                           "score": [draw.gauss(0, 1)], "tags": ["a", "b", "c"][:i % 4]})
            for i in range(200)])
        self.run_it("view", "a.tfrecords", "-o", "page.html")
        document = self.document("page.html")
        self.assertEqual(len(document.all("tr")), 51)
        self.assertIn("1–50 of 200", document.text)
        self.photograph("page.html", "view-table")

    def test_nothing_at_all(self):
        self.write("empty.tfrecords")
        self.run_it("view", "empty.tfrecords", "-o", "page.html")
        self.assertIn("no records", self.document("page.html").text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
