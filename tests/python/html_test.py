"""_repr_html_(): the cells of a table, escaping, limits and errors."""

import base64
import html.parser
import os
import pathlib
import re
import struct
import unittest
import zlib

import numpy as np
import recordpipe as rp
import records
from recordpipe._notebook.cells import encode_png
from support import FilesTest

TAGS = {
    *("style", "div", "span", "br", "img", "pre"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


class Page(html.parser.HTMLParser):
    """The rows of cells (text, images), all tags and attributes, and the text of everything."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.images, self.open, self.text = [], set(), [], [], ""
        self.attributes = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("img", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "img":
            self.images.append(dict(attrs)["src"])
            self.rows[-1][-1] += "[image]"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def decode_png(data):
    """The pixels of a PNG as encode_png() writes it."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + length
    width, height, depth, colour = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert depth == 8
    channels = {0: 1, 2: 3}[colour]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


class Html(FilesTest):
    def page(self, dataset):
        return Page(dataset._repr_html_())

    def of(self, examples, features=None):
        path = records.write(self.folder / "f.tfrecord", [records.example(e) for e in examples])
        return rp.tfrecords(path).parse(features)

    def test_a_table_of_the_first_records_and_the_plan(self):
        dataset = self.of(
            {"label": [i], "box": [0.5, i / 3], "name": [f"name {i}".encode()]} for i in range(20)
        )
        for shown in (dataset, dataset.shuffle(100).batch(4).map(self.fail).prefetch()):
            page = self.page(shown)
            self.assertEqual(page.rows[0], ["boxfloat32 [2]", "labelint64", "namebytes"])
            self.assertEqual(page.rows[2], ["0.5, 0.3333", "1", "name 1"])
            self.assertEqual(len(page.rows), 6)
            self.assertIn("the first 5 records, in the order of the files", page.text)
        self.assertIn("shuffle(100", page.text)
        self.assertIn("map(TestCase.fail)", page.text)

    def test_missing_values_are_empty(self):
        page = self.page(self.of([{"id": [1], "n": [2]}, {"id": [3]}]))
        self.assertEqual(page.rows, [["idint64", "noptional int64"], ["1", "2"], ["3", ""]])

    def test_records_that_are_not_parsed(self):
        page = self.page(rp.tfrecords(self.numbered(3)))
        self.assertEqual(page.rows, [["recordbytes"], ["0"], ["1"], ["2"]])
        self.assertIn("the first 3 records", page.text)

    def test_other_sources_show_the_plan_only(self):
        page = self.page(rp.from_list([1, 2]).map(self.fail))
        self.assertEqual(page.rows, [])
        self.assertIn("map(TestCase.fail)", page.text)

    def test_images(self):
        rng = np.random.default_rng(1)
        pixels = rng.integers(0, 256, (4, 6, 3), np.uint8)
        grey = rng.integers(0, 256, (300, 200, 1), np.uint8)
        png = encode_png(pixels)
        jpeg = b"\xff\xd8\xff\xe0 a photograph"
        dataset = self.of(
            [{"jpeg": [jpeg], "png": [png], "raw": [pixels.tobytes()], "grey": [grey.tobytes()]}],
            {
                "jpeg": rp.FixedLenFeature([], "bytes"),
                "png": rp.RaggedFeature("bytes"),
                "raw": rp.RawFeature([4, 6, 3], "uint8"),
                "grey": rp.RawFeature([300, 200, 1], "uint8"),
            },
        )
        page = self.page(dataset)
        self.assertEqual(page.rows[1], ["[image]"] * 4)
        kinds = [image[: image.index(",")] for image in page.images]
        self.assertEqual(kinds[0], "data:image/jpeg;base64")
        data = [base64.b64decode(image[image.index(",") + 1 :]) for image in page.images]
        self.assertEqual(data[:2], [jpeg, png])
        np.testing.assert_array_equal(decode_png(data[2]), pixels)
        np.testing.assert_array_equal(decode_png(data[3]), grey[::4, ::4])

    def test_large_values_are_cut(self):
        dataset = self.of(
            [
                {
                    "jpeg": [b"\xff\xd8\xff" + bytes(1 << 20)],
                    "text": [b"x" * 1000],
                    "binary": [b"\0\xff" * 5000],
                    "many": list(range(100_000)),
                    "words": [b"word"] * 1000,
                }
            ]
            * 3
        )
        text = dataset._repr_html_()
        self.assertLess(len(text), 10_000)
        row = Page(text).rows[1]
        self.assertRegex(row[0], r"^\\x00\\xff.*\.\.\. 10,000 bytes$")
        self.assertEqual(row[1], "JPEG of 1,048,579 bytes")
        self.assertEqual(row[2], "0, 1, 2, 3, 4, 5 ... 100,000 values")
        self.assertRegex(row[3], r"^x{10,60}(\.\.\.)? 1,000 bytes$")
        self.assertEqual(row[4], "word, word, word, word, word, word ... 1,000 values")

    def test_images_of_a_page_are_limited(self):
        rng = np.random.default_rng(1)
        jpegs = [b"\xff\xd8\xff" + rng.bytes(250 << 10) for _ in range(20)]
        text = self.of([{"images": jpegs[:4]}, {"images": jpegs[4:8]}, {"images": jpegs[8:12]}])
        text = text._repr_html_()
        self.assertLess(len(text), 3 << 20)
        self.assertIn("JPEG of 256,003 bytes", text)
        many = self.of([{f"feature {i:03}": [i] for i in range(100)}])._repr_html_()
        self.assertIn("24 of 100 features", many)

    def test_few_bytes_are_read(self):
        path = self.folder / "big.tfrecord"
        path.write_bytes(records.frame(records.example({"a": [bytes(17 << 20)]}), crc=False) * 3)
        dataset = rp.tfrecords(path, check_crc=False).parse({"a": rp.FixedLenFeature([], "bytes")})
        self.assertEqual(len(self.page(dataset).rows), 2)

    def test_nothing_is_markup(self):
        hostile = "<script>alert(1)</script>\"'&</pre></div><img src=x onerror=alert(1)>"
        path = records.write(
            self.folder / "<b onload='x'>.tfrecord",
            [
                records.example(
                    {
                        hostile: [hostile.encode()],
                        "bytes": [b"\xff<script>"],
                        "right to left": ["\u202e\x1b[31m".encode()],
                        "png": [b'\x89PNG\r\n\x1a\n"><script>alert(1)</script>'],
                    }
                )
            ],
        )
        removed = self.folder / (hostile[:8] + "missing")
        removed.touch()
        missing = rp.tfrecords(removed).parse({hostile: rp.RaggedFeature("int64")})
        removed.unlink()
        for dataset in (
            rp.tfrecords(path).parse(),
            rp.tfrecords(path),
            rp.tfrecords(path).parse().map(len, name=hostile),
            missing,
        ):
            text = dataset._repr_html_()
            page = Page(text)
            self.assertLessEqual(page.tags, TAGS)
            self.assertLessEqual(page.attributes, {"class", "src", "alt"})
            self.assertEqual(page.open, [])
            self.assertNotRegex(text, "[\u202e\x1b]")
        cells = " ".join(self.page(rp.tfrecords(path).parse()).rows[1])
        self.assertIn("<script>alert(1)</script>", cells)
        self.assertIn(r"\u202e\x1b[31m", cells)

    def test_errors_are_text(self):
        removed = pathlib.Path(self.examples(1))
        missing = rp.tfrecords(removed).parse({"a": rp.RaggedFeature("int64")})
        removed.unlink()
        self.assertRegex(self.page(missing).text, "MissingFileError: .*tfrecord")
        path = self.examples(3)
        with open(path, "r+b") as file:
            file.seek(-2, os.SEEK_END)
            file.write(b"xx")
        page = self.page(rp.tfrecords(path).parse(rp.schema(path, limit=2).features()))
        self.assertEqual(len(page.rows), 3)
        self.assertRegex(page.text, "record 2: DataLossError: .* at ")
        wrong = rp.tfrecords(path).parse({"id": rp.FixedLenFeature([7], "int64")})
        self.assertIn("holds 1 value, not 7", self.page(wrong).text)

    def test_no_records(self):
        path = records.write(self.folder / "empty.tfrecord", [])
        self.assertIn("no records", self.page(rp.tfrecords(path)).text)

    def test_pipes_are_not_read(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assertIn("a pipe can be read once", self.page(rp.tfrecords(pipe)).text)

    def test_sequence_examples(self):
        steps = records.field(1, records.feature([1, 2])) + records.field(1, records.feature([3]))
        entry = records.field(1, b"words") + records.field(2, steps)
        record = records.example({"id": [5]}) + records.field(2, records.field(1, entry))
        path = records.write(self.folder / "s.tfrecord", [record])
        dataset = rp.tfrecords(path).parse_sequence_example(
            {"id": rp.FixedLenFeature([], "int64")}, {"words": rp.RaggedFeature("int64")}
        )
        self.assertEqual(self.page(dataset).rows[1], ["5", "1, 23"])

    def test_long_plans_are_cut(self):
        dataset = rp.tfrecords(self.numbered(2))
        for _ in range(100):
            dataset = dataset.skip(0)
        page = self.page(dataset)
        self.assertIn("61 more operators", page.text)
        self.assertLess(len(re.findall(r"skip\(", page.text)), 41)


if __name__ == "__main__":
    unittest.main()
