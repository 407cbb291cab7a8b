#!/usr/bin/env python3
"""Tests tfrecord view: the contents of the page, without a browser. tests/view opens it in one."""
import base64
import gzip
import hashlib
import json
import os
import pty
import re
import struct
import subprocess
import time
import unittest
import zlib

from tfrecord_test_case import DATA, PROGRAM, bytes_feature, int64_feature, named_example
from make_golden import field
from png_pixels import png_pixels
from tfrecord_create_case import png
from tfrecord_view_case import ViewTest, cards, note, scripts


def planar(height, width, channels):
    """Returns pixels that are smooth in each plane, and the same pixels interleaved."""
    planes = [[(40 * c + 3 * y + 2 * x) % 256 for y in range(height) for x in range(width)]
              for c in range(channels)]
    return bytes(sum(planes, [])), bytes(value for pixel in zip(*planes) for value in pixel)


class Images(ViewTest):
    def image(self, card):
        return base64.b64decode(card["image"]["data"])

    def test_raw_pixels_become_png_to_the_pixel(self):
        chw, hwc = planar(32, 32, 3)
        for name, value in (("chw", chw), ("hwc", hwc)):
            path = self.write(name, named_example({"image": [value], "label": [3]}))
            page = self.page(path, "--labels", "a,b,c,the cat")
            card = cards(page)[0]
            self.assertEqual(png_pixels(self.image(card)), (32, 32, 3, hwc))
            self.assertEqual((card["label"], card["record"], card["offset"]), ("the cat", 0, 0))
            self.assertEqual((card["image"]["width"], card["image"]["height"]), (32, 32))
            words = {"chw": "planar (chw)", "hwc": "interleaved (hwc)"}[name]
            self.assertEqual(note(page), (
                "The only record. Images: image (guessed by its name), raw pixels, "
                f"32 x 32 x 3, {words}; guessed from 3072 bytes, as in CIFAR; the layout guessed "
                "from the first image. Labels: label (guessed by its name)."))
            # A layout given as an option is used, right or wrong.
            other = {"chw": "hwc", "hwc": "chw"}[name]
            self.assertNotEqual(png_pixels(self.image(cards(self.page(path, "--layout", other))[0]))[3],
                                hwc)

    def test_shapes_are_said_recorded_or_guessed(self):
        chw, hwc = planar(4, 6, 3)
        self.write("said", named_example({"picture": [hwc]}))
        page = self.page("said", "--image", "picture", "--shape", "4x6x3", "--layout", "hwc")
        self.assertEqual(png_pixels(self.image(cards(page)[0])), (6, 4, 3, hwc))
        self.assertEqual(note(page), "The only record. Images: picture, raw pixels, 4 x 6 x 3, "
                                     "interleaved (hwc); as --shape says.")
        self.write("recorded", named_example({"image_raw": [hwc], "height": [4], "width": [6]}))
        page = self.page("recorded", "--layout", "hwc")
        self.assertEqual(png_pixels(self.image(cards(page)[0])), (6, 4, 3, hwc))
        self.assertIn("from the record&#39;s height and width", note(page))
        grey = planar(28, 28, 1)[0]
        self.write("guessed", named_example({"x": [grey]}))
        page = self.page("guessed")
        self.assertEqual(png_pixels(self.image(cards(page)[0])), (28, 28, 1, grey))
        self.assertIn("raw pixels, 28 x 28 x 1; guessed from 784 bytes, as in MNIST.", note(page))

    def test_image_files_are_embedded_as_they_are(self):
        names = ["rgb8.png", "rgb420.jpg", "grey16.png", "cmyk.jpg"]
        files = [(DATA / "images" / name).read_bytes() for name in names]
        self.write("a", *[named_example({"image/encoded": [data], "image/format": ["x"]})
                          for data in files])
        found = cards(self.page("a"))
        self.assertEqual([self.image(card) for card in found], files)
        self.assertEqual([card["image"]["type"] for card in found],
                         ["image/png", "image/jpeg", "image/png", "image/jpeg"])

    def test_large_image_files_are_thumbnails(self):
        small, large = png(300, 256), png(512, 600)
        self.write("a", named_example({"image": [small]}), named_example({"image": [large]}))
        for options, reduced in (([], 256), (["--thumbnails", 64], 64), (["--thumbnails", 0], 512)):
            found = [png_pixels(self.image(card))[0] for card in cards(self.page("a", *options))]
            self.assertEqual(found, [75 if reduced == 64 else 300, reduced])

    def test_a_feature_without_a_name(self):
        grey = planar(28, 28, 1)[0]
        self.write("a", named_example({"": [grey]}))
        page = self.page("a")
        self.assertEqual(png_pixels(self.image(cards(page)[0]))[3], grey)
        self.assertIn("Images: &quot;&quot; (the first feature", note(page))

    def test_what_is_no_image_says_so(self):
        good = planar(32, 32, 3)[0]
        self.write("a", named_example({"image": [good]}), named_example({"image": [good[1:]]}),
                   named_example({"image": [b"\x89PNG\r\n\x1a\nbut no more"]}), named_example({"y": [1]}))
        found = cards(self.page("a"))
        self.assertEqual(found[1]["image"], {"problem": "3071 bytes that are neither an image file "
                                                        "nor pixels of a known shape"})
        self.assertIn("problem", found[2]["image"])
        self.assertNotIn("image", found[3])

    def test_large_images_are_left_out(self):
        small, large = (b"GIF89a" + bytes(size) for size in (100, 300_000))
        self.write("a", named_example({"image": [small]}), named_example({"image": [large]}))
        found = cards(self.page("a", "--max-bytes", "100000"))
        self.assertEqual(self.image(found[0]), small)
        self.assertEqual(found[1]["image"]["problem"],
                         "an image of 300,006 bytes (293 KiB); this page takes up to 12,500 bytes "
                         "(12.2 KiB) for one")

    def test_what_may_have_been_meant_for_an_image(self):
        self.write("a", named_example({"raw": [b"\xff" * 5000], "text": ["word " * 2000]}))
        self.assertEqual(note(self.page("a")), (
            "The only record. No images: feature raw has 5000 bytes that are neither an image file "
            "nor pixels of a known shape."))
        self.write("a", named_example({"text": ["word " * 2000]}))
        self.assertEqual(note(self.page("a")), "The only record.")


class Sampling(ViewTest):
    def setUp(self):
        super().setUp()
        self.path = self.write("a", *[named_example({"n": [i]}) for i in range(100)])

    def numbers(self, page):
        return [card["record"] for card in cards(page)]

    def test_all_of_a_short_file(self):
        page = self.page(self.path)
        self.assertEqual(self.numbers(page), list(range(100)))
        self.assertEqual(note(page), "All 100 records.")

    def test_the_first_ones(self):
        page = self.page(self.path, "--limit", "10")
        self.assertEqual(self.numbers(page), list(range(10)))
        self.assertIn("The first 10 records; there are more", note(page))
        self.assertIn("10 records read", page)

    def test_evenly_spread_ones(self):
        page = self.page(self.path, "--limit", "30", "--sample", "spread")
        # Every second record is a candidate: 30 of these 50.
        self.assertEqual(self.numbers(page), [2 * (i * 50 // 30) for i in range(30)])
        self.assertEqual(note(page), "30 of 100 records, evenly spread.")
        self.assertIn("100 records read", page)
        page = self.page(self.path, "--limit", "60", "--sample", "spread")
        self.assertEqual(self.numbers(page), [i * 100 // 60 for i in range(60)])

    def test_no_more_than_fit(self):
        whole = len(self.page(self.path))
        page = self.page(self.path, "--max-bytes", "2000")
        self.assertLess(len(page), whole - 5000)
        self.assertEqual(self.numbers(page), list(range(len(cards(page)))))
        self.assertGreater(len(cards(page)), 5)
        self.assertEqual(note(page), f"The first {len(cards(page))} records; --max-bytes leaves no "
                                     "room for more.")
        page = self.page(self.path, "--max-bytes", "1KB", "--sample", "spread")
        self.assertEqual(note(page), f"{len(cards(page))} of 100 records, evenly spread; --max-bytes "
                                     "leaves no room for more.")
        # The last record, which didn't fit, is not counted as shown.
        self.write("a", named_example({"n": [1]}), named_example({"n": [2]}))
        self.assertEqual(note(self.page(self.path, "--max-bytes", "150")),
                         "The first record; --max-bytes leaves no room for more.")

    def test_where(self):
        page = self.page(self.path, "--where", "n >= 97")
        self.assertEqual(self.numbers(page), [97, 98, 99])
        self.assertEqual(note(page), "All 3 records that n &gt;= 97.")

    def test_one_record(self):
        page = self.page(self.path, "--limit", "1")
        self.assertTrue(note(page).startswith("The first record; there are more: "), note(page))
        self.assertIn("1 record read", page)
        self.assertEqual(note(self.page(self.path, "--where", "n == 7")),
                         "The only record that n == 7.")
        self.assertEqual(note(self.page(self.path, "--where", "n == 100")), "No records that n == 100.")

    def test_several_files(self):
        self.write("b", named_example({"n": [1000]}))
        page = self.page("a", "b", "--limit", "1000")
        self.assertEqual(cards(page)[100]["file"], 1)
        self.assertEqual(json.loads(scripts(page)[0][1]), ["a", "b"])
        self.assertIn("<title>a and 1 more</title>", page)


class Page(ViewTest):
    def test_asks_for_nothing_and_runs_its_own_script_only(self):
        self.write("a", named_example({"image": [planar(32, 32, 3)[0]], "label": [1]}))
        page = self.page("a")
        found = scripts(page)
        self.assertEqual([attributes for attributes, _ in found],
                         [' type="application/json" id="files"', ' type="application/json" id="data"', ""])
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
        style = re.search(r"<style>(.*?)</style>", page, re.DOTALL).group(1)
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                   for text in (style, found[2][1])]
        self.assertEqual(policy, "default-src 'none'; img-src data:; "
                                 f"style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
                                 "base-uri 'none'; form-action 'none'")
        self.assertIsNone(re.search(r"(?:src|href|url)\s*[=(]\s*['\"]?(?:https?:|//)", page))

    def test_text_from_the_data_is_escaped(self):
        evil = "</script><img src=x onerror=alert(1)>'\"&"
        self.write("a", named_example({evil: [evil], "label": [evil], "x": [1.0]}),
                   named_example({"y\u2028": ["\u2028"], evil: [b"\x00\xff\xfe"]}))
        (self.folder / "a").rename(self.folder / "<b>&a")
        page = self.page("<b>&a")
        self.assertNotIn("<img", page)
        self.assertNotIn("<b>&a", page)
        self.assertEqual(len(scripts(page)), 3)
        card = cards(page)[0]
        self.assertEqual(card["label"], evil)
        self.assertEqual(card["features"][0], [evil, "bytes", evil])

    def test_the_table_knows_how_many_features_there_are(self):
        self.write("a", named_example({f"f{i}": [i] for i in range(130)}), named_example({"g": [1]}))
        page = self.page("a")
        self.assertIn('<div id="sheet" data-features="131"></div>', page)
        self.assertEqual(len(cards(page)[0]["features"]), 101)
        self.assertEqual(cards(page)[0]["features"][-1], ["…", "", "130 features in all"])

    def test_an_empty_label_is_seen(self):
        self.write("a", *[named_example({"label": [text]}) for text in ("", "cat", "")])
        page = self.page("a")
        self.assertEqual([card["label"] for card in cards(page)], ['""', "cat", '""'])
        self.assertEqual(re.findall('class="name" title="(.*?)"', page), ["&quot;&quot;", "cat"])
        self.write("b", named_example({"label": [0]}))
        self.assertEqual(cards(self.page("b", "--labels", ",cat"))[0]["label"], '""')

    def test_features_of_all_records(self):
        self.write("a", *[named_example({"label": [i % 3], "lang": ["en" if i % 2 else "de"],
                                         "score": [i / 2], **({"rare": [1]} if i == 0 else {})})
                          for i in range(90)])
        page = self.page("a", "--labels", "zero,one")
        articles = {re.search("<h3>(.*?)</h3>", text).group(1): text
                    for text in re.findall("<article.*?</article>", page, re.DOTALL)}
        self.assertEqual(list(articles), ["label", "lang", "rare", "score"])
        self.assertIn("int64, 1 value, in 100 % of the records", articles["label"])
        self.assertEqual(re.findall('class="count">(.*?)<', articles["label"]), ["30", "30", "30"])
        self.assertEqual(re.findall('class="name" title="(.*?)"', articles["label"]),
                         ["0 zero", "1 one", "2"])
        self.assertIn("in 1.1 % of the records", articles["rare"])
        self.assertIn('aria-label="Histogram of score: 0 to 44.5"', articles["score"])
        self.assertIn("<span>0</span><span>median 22.25</span><span>44.5</span>", articles["score"])

    def test_sizes_of_all_records(self):
        self.write("a", b"1", b"12", b"12", b"1234")
        page = self.page("a", "--limit", "1", "--sample", "spread")
        self.assertIn('aria-label="Histogram of record sizes in bytes: 1 to 4"', page)
        self.assertIn("<span>1</span><span>median 2</span><span>4</span>", page)
        self.write("a", b"1", b"2")
        self.assertNotIn("ecord sizes", self.page("a"))

    def test_numbers_beyond_reason(self):
        inf = float("inf")
        self.write("a", named_example({"f": [inf, -inf, float("nan"), 1.0]}),
                   named_example({"f": [3.4e38, -3.4e38], "i": [2**63 - 1, -2**63]}))
        self.assertEqual(cards(self.page("a"))[0]["features"], [["f", "float", "inf, -inf, nan, 1"]])

    def test_records_that_are_no_examples(self):
        self.write("a", b"", b"\xff\xfe\xfd", b"just text")
        found = cards(self.page("a"))
        self.assertEqual([card.get("content") for card in found],
                         ['""', "3 bytes: ff fe fd", "just text"])

    def test_tensorboards_events(self):
        head = b"\x09" + struct.pack("<d", 1599759586.0)
        version, graph = head + b"\x1a\x0dbrain.Event:2", head + field(4, b"\xff\xfe")
        values = (field(1, field(1, b"loss") + b"\x15" + struct.pack("<f", 0.25)) +
                  field(1, field(1, b"weights") + field(5, b"\x09" + bytes(8))))
        broken = head + b"\x2a\x02\x0a\x09"
        self.write("a", version, head + b"\x10\x07" + field(5, values), graph, broken)
        page = self.page("a")
        time = ["wall_time", "", "2020-09-10 17:39:46 UTC"]
        self.assertEqual([card.get("features") for card in cards(page)[:3]], [
            [time, ["step", "", "0"], ["file_version", "", "brain.Event:2"]],
            [time, ["step", "", "7"], ["loss", "simple_value", "0.25"], ["weights", "histo", "9 bytes"]],
            [time, ["step", "", "0"], ["graph_def", "", "2 bytes: ff fe"]]])
        self.assertNotIn(">Features<", page)

    def test_sequence_examples(self):
        def entry(name, content):
            return field(1, field(1, name) + field(2, content))

        def steps(*features):
            return b"".join(field(1, feature) for feature in features)
        lists = entry(b"", steps(*[int64_feature(i, i + 1) for i in range(9)])) + \
            entry(b"words", steps(bytes_feature(b"one"), b"", bytes_feature(b"three")))
        self.write("a", field(1, entry(b"", int64_feature(5))) + field(2, lists),
                   field(1, b"") + field(2, entry(b"", b"")))
        page = self.page("a")
        self.assertEqual([card["features"] for card in cards(page)], [
            [['""', "int64", "5"], ['""', "list", "9 steps: [0, 1], [1, 2], [2, 3], [3, 4], …"],
             ["words", "list", "3 steps: [one], [], [three]"]],
            [['""', "list", "0 steps"]]])
        self.assertIn("2 records read, SequenceExample, 3 features", page)
        self.assertEqual(re.findall("<h3>(.*?)</h3><p>(.*?)</p>", page), [
            ("&quot;&quot;", "int64, 1 value, in 50.0 % of the records"),
            ("&quot;&quot;", "int64, 2 values a step, in 100 % of the records, each with 0 to 9 steps"),
            ("words", "bytes, 1 value a step, in 50.0 % of the records, each with 3 steps")])

    def test_empty_files(self):
        self.write("a")
        page = self.page("a")
        self.assertEqual(cards(page), [])
        self.assertIn("0 records read", page)

    def test_the_same_page_from_any_compression_and_standard_input(self):
        path = self.write("a", *[named_example({"n": [i]}) for i in range(50)])
        self.page(path, "-o", "page.html")
        page = (self.folder / "page.html").read_text()
        plain = path.read_bytes()
        for data in (gzip.compress(plain), zlib.compress(plain)):
            (self.folder / "a").write_bytes(data)
            self.assertEqual(self.page(path), page)
        self.assertEqual(cards(self.page("-", input=plain)), cards(page))


class Written(ViewTest):
    def test_says_what_it_has_written(self):
        self.write("a", *[named_example({"n": [i]}) for i in range(100)])
        for arguments, shown in (([], "100 records"), (["--limit", "10"], "the first 10 records"),
                                 (["--limit", "1"], "the first record"),
                                 (["--limit", "30", "--sample", "spread"], "30 of 100 records"),
                                 (["--where", "n == 3"], "1 record")):
            printed = self.summary("view", "a", "-o", "page.html", *arguments)
            size = (self.folder / "page.html").stat().st_size
            self.assertEqual(printed, f"wrote {shown}, {size:,} bytes ({size / 1024:.1f} KiB), to "
                                      "page.html\n")
        self.assertTrue(self.page("a").startswith("<!doctype html>"))
        self.assertTrue(self.page("a").endswith("</html>\n"))

    def view(self, *arguments):
        """With only `bin` in the path."""
        return subprocess.run([PROGRAM, "view", *arguments], capture_output=True, text=True,
                              cwd=self.folder, timeout=60, check=False,
                              env={"PATH": str(self.folder / "bin")})

    def test_opens_it_in_the_browser(self):
        self.write("a", named_example({"n": [1]}))
        result = self.view("a", "-o", "page.html", "--open")
        self.assertEqual(result.returncode, 2)
        self.assertIn("page.html: the page is written, and there is no xdg-open", result.stderr)
        self.assertTrue((self.folder / "page.html").exists())
        browser = self.folder / "bin" / "xdg-open"
        browser.parent.mkdir()
        browser.write_text('#!/bin/sh\necho "$1" > shown.part; echo noise\n'
                           '/bin/mv shown.part shown\n')
        browser.chmod(0o755)
        result = self.view("a", "-o", "-page.html", "--open")
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        shown = self.folder / "shown"
        for _ in range(600):  # it isn't waited for
            if shown.exists():
                break
            time.sleep(0.1)
        self.assertEqual(shown.read_text(), "./-page.html\n")
        self.assertEqual(self.view("a", "--open").returncode, 2)

    def test_no_terminal_is_flooded(self):
        self.write("a", named_example({"n": [1]}))
        primary, secondary = pty.openpty()
        self.addCleanup(os.close, primary)
        result = subprocess.run([PROGRAM, "view", "a"], stdout=secondary, stderr=subprocess.PIPE,
                                cwd=self.folder, timeout=60, check=False)
        os.close(secondary)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"give -o page.html", result.stderr)
        with self.assertRaises(OSError):  # nothing is written
            os.read(primary, 1)


class Failures(ViewTest):
    def test_a_name_that_no_record_has(self):
        self.write("a", *[named_example({"n": [i], "x": [b"\xff" * 12]}) for i in range(9)])
        for option in ("--image", "--label"):
            self.expect_failure("no record has a feature named lable; there are n, x", "view", "a",
                                "-o", "page.html", option, "lable")
        self.expect_failure("no record that is shown has an image", "view", "a", "-o", "page.html",
                            "--image", "lable", "--limit", "3")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a"])
        # Records that were not read may have a label.
        result = self.start("view", "a", "-o", "page.html", "--label", "lable", "--limit", "3")
        self.assertEqual(result.returncode, 0)
        self.assertIn("no record that was read has a feature named lable; there are n, x",
                      result.stderr.decode())
        self.write("b", b"\xff\xfe")
        self.expect_failure("no record has a feature named n; there are none", "view", "b",
                            "-o", "page.html", "--label", "n")
        self.write("b", *[named_example({f"f{i:02}": [1] for i in range(13)})])
        self.expect_failure("there are f00, f01, f02, f03, f04, f05, f06, f07, f08, f09 and 3 more",
                            "view", "b", "-o", "page.html", "--label", "n")
        # Without records, a missing feature is not an error.
        self.write("b")
        self.page("b", "--label", "n", "--image", "n", "--shape", "2x2")
        self.page("a", "--label", "rare", "--where", "n > 100")
        result = self.start("view", "a", "-o", "page.html", "--where", "m == 3 or n == 3")
        self.assertEqual((result.returncode, result.stderr),
                         (2, b"tfrecord view: --where names m, which no record has; there are n, x"
                             b"\n"))

    def test_a_shape_that_fits_no_record(self):
        self.write("a", *[named_example({"n": [i], "x": [b"\xff" * 12]}) for i in range(9)])
        said = "no record that is shown has an image: feature x has 12 bytes, not the 16 of 2x2x4"
        self.expect_failure(said, "view", "a", "-o", "page.html", "--shape", "2x2x4")
        self.expect_failure(said, "view", "a", "-o", "page.html", "--shape", "2x2x4", "--image", "x")
        self.expect_failure("feature x has 12 bytes that are neither an image file", "view", "a", "-o",
                            "page.html", "--image", "x")
        self.expect_failure("feature n has no single value of bytes", "view", "a", "-o",
                            "page.html", "--image", "n")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a"])
        # One record with an image is enough; the page reports the others.
        self.write("b", named_example({"x": [b"\xff" * 16]}), named_example({"x": [b"\xff" * 12]}))
        self.assertEqual(cards(self.page("b", "--shape", "2x2x4"))[1]["image"],
                         {"problem": "12 bytes, not the 16 of 2x2x4"})

    def test_damage_is_named_on_the_page(self):
        path = self.write("a", *[named_example({"n": [i]}) for i in range(3)])
        data = path.read_bytes()
        for cut in (len(data) - 1, len(data) - 5):
            path.write_bytes(data[:cut])
            result = self.start("view", "a", "-o", "page.html")
            self.assertEqual(result.returncode, 1)
            self.assertIn(b"tfrecord view: a: ", result.stderr)
            page = (self.folder / "page.html").read_text()
            self.assertEqual(len(cards(page)), 2)
            self.assertIn('role="alert">a: ', page)
            self.assertEqual(note(page), "2 records before the damage.")

    def test_what_is_damaged_can_be_skipped(self):
        """Also by show and grep."""
        path = self.write("a", *[named_example({"n": [i]}) for i in range(3)])
        data = bytearray(path.read_bytes())
        size = len(data) // 3
        data[size + 1] ^= 1
        path.write_bytes(data)
        for command, *options in (("view", "-o", "page.html", "--json"),
                                  ("show", "--json"), ("grep", "n >= 0", "--json")):
            result = self.start(command, *options, "a", "--skip-corrupt")
            self.assertEqual(result.returncode, 0, result.stderr)
            each, total = result.stderr.decode().splitlines()
            self.assertIn(f"tfrecord {command}: a: skipped [{size}, {2 * size}), ", each)
            self.assertEqual(total,
                             f"tfrecord {command}: skipped 1 damaged region of {size} bytes")
            lines = [json.loads(line) for line in result.stdout.splitlines()]
            if command == "view":
                self.assertEqual((lines[0]["regions_skipped"], lines[0]["bytes_skipped"]),
                                 (1, size))
            else:
                self.assertEqual([line["features"]["n"] for line in lines], [[0], [2]])
            self.expect_failure("contradict each other", command, *options, "a", "--no-crc",
                                "--skip-corrupt", status=2)
        page = (self.folder / "page.html").read_text()
        self.assertEqual(len(cards(page)), 2)
        self.assertEqual(note(page), "All 2 intact records.")
        self.assertIn("The first record; there are more",
                      note(self.page("a", "--limit", "1", "--skip-corrupt")))
        self.assertIn(f'role="alert">skipped 1 damaged region of {size} bytes</p>', page)

    def test_what_cannot_be_opened_leaves_no_page(self):
        self.expect_failure("No such file", "view", "none", "-o", "page.html")
        self.assertFalse((self.folder / "page.html").exists())

    def test_usage(self):
        self.write("a")
        self.expect_failure("is not HEIGHTxWIDTH", "view", "a", "--shape", "32", status=2)
        self.expect_failure("is not HEIGHTxWIDTH", "view", "a", "--shape", "32x32x9", status=2)
        self.expect_failure("there is no file cat", "view", "a", "--labels", "cat", status=2)
        self.assertEqual(self.start("view").returncode, 2)
        self.assertEqual(self.start("view", "a", "--limit", "0").returncode, 2)
        self.assertIn("(default: 24MiB)", self.run_it("view", "--help"))


if __name__ == "__main__":
    unittest.main()
