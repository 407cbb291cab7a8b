#!/usr/bin/env python3
"""Tests tfrecord export to a folder of images, and that `create` restores the same records."""
import base64
import json
import unittest

from export_case import ExportTest
from png_pixels import png_pixels
from tfrecord_test_case import named_example, record


def gif(color):
    """A file of one pixel."""
    return (b"GIF89a\1\0\1\0\x80\0\0" + bytes([color] * 6) +
            b",\0\0\0\0\1\0\1\0\0\2\2L\1\0;")


class Images(ExportTest):
    def files(self, folder):
        return sorted(str(path.relative_to(self.folder / folder))
                      for path in (self.folder / folder).rglob("*") if path.is_file())

    def test_raw_pixels(self):
        self.write("a", named_example({"image": [bytes(range(6))], "label": [3]}),
                   named_example({"image": [bytes(range(10, 16))], "label": [0]}))
        self.run_it("export", "a", "-o", "out/", "--shape", "1x2x3", "--layout", "chw")
        self.assertEqual(self.files("out"), ["0/0000001.png", "3/0000000.png"])
        self.assertEqual(png_pixels(self.read("out/3/0000000.png")),
                         (2, 1, 3, bytes([0, 2, 4, 1, 3, 5])))
        self.run_it("export", "a", "-o", "out2", "--to", "images", "--shape", "1x2x3", "--layout",
                    "hwc")
        self.assertEqual(png_pixels(self.read("out2/3/0000000.png"))[3], bytes(range(6)))

    def test_shape_and_layout_are_guessed_and_said(self):
        planes = [[(40 * c + 5 * y + 3 * x) % 256 for y in range(32) for x in range(32)]
                  for c in range(3)]
        planar, interleaved = bytes(sum(planes, [])), bytes(v for p in zip(*planes) for v in p)
        for name, pixels, layout in (("p", planar, "planar (chw)"),
                                     ("i", interleaved, "interleaved (hwc)")):
            self.write("a", *[named_example({"image": [pixels], "label": [3]})] * 2)
            result = self.start("export", "a", "-o", name + "/")
            self.assertEqual((result.returncode, result.stdout.decode(), result.stderr.decode()), (
                0, "",
                f"tfrecord export: raw pixels taken as 32 x 32 x 3, {layout}; guessed from 3072 "
                "bytes, as in CIFAR; the layout guessed from the first image; --shape and --layout "
                f"say otherwise\nwrote 2 records to {name}/\n"))
            self.assertEqual(png_pixels(self.read(name + "/3/0000001.png")),
                             (32, 32, 3, interleaved))
        # Values given as options are neither guessed nor reported.
        self.assertEqual(self.notes("export", "a", "-o", "said/", "--shape", "32x32x3", "--layout",
                                    "chw"), "")
        self.assertNotEqual(png_pixels(self.read("said/3/0000001.png"))[3], interleaved)
        # Each record has its own height and width.
        self.write("a", *[named_example({"image": [bytes(range(height * 5))], "height": [height],
                                         "width": [5]}) for height in (2, 7)])
        result = self.start("export", "a", "-o", "recorded/")
        self.assertIn(b"2 x 5 x 1; from the record's height and width; --shape", result.stderr)
        self.assertEqual([png_pixels(self.read("recorded/" + name))[:3]
                          for name in self.files("recorded")], [(5, 2, 1), (5, 7, 1)])

    def test_encoded_images_and_hostile_labels(self):
        gif, jpeg = b"GIF89a" + b"x" * 30, b"\xff\xd8\xff" + b"y" * 30
        labels = ["../../etc", "/abs", "..", "a\0b\n", "ok-1_A", "\xe9", "x" * 300]
        self.write("a", *[named_example({"image/encoded": [gif if i % 2 else jpeg],
                                         "image/class/text": [label]})
                          for i, label in enumerate(labels)])
        self.run_it("export", "a", "-o", "out/")
        self.assertEqual(self.files("out"), sorted(
            f"{name}/{i:07}.{'gif' if i % 2 else 'jpg'}" for i, name in enumerate(
                ["______etc", "_abs", "__", "a_b_", "ok-1_A", "\xe9", "x" * 80])))
        self.assertEqual(self.read("out/ok-1_A/0000004.jpg"), jpeg)
        self.assertEqual(self.names(), ["a", "out"])

    def test_usual_names(self):
        """Like view, export tries the usual names in order of preference."""
        self.write("a", named_example({"image_raw": [b"GIF89a1"], "fine_label": [7], "label": []}),
                   named_example({"image_raw": [b"GIF89a2"], "image": [b"GIF89a3"], "y": [1],
                                  "labels": ["cat"]}))
        self.run_it("export", "a", "-o", "out/")
        self.assertEqual(self.files("out"), ["7/0000000.gif", "cat/0000001.gif"])
        self.assertEqual(self.read("out/cat/0000001.gif"), b"GIF89a3")

    def test_no_two_labels_share_a_folder(self):
        labels = ["a b", "a_b", "a b", "日本", "中国", "a\0b", "é" * 50]
        self.write("a", *[named_example({"image/encoded": [b"GIF89a"], "label": [label]})
                          for label in labels])
        self.run_it("export", "a", "-o", "out/")
        self.assertEqual(self.files("out"), sorted(
            f"{name}/{i:07}.gif" for i, name in enumerate(
                ["a_b", "a_b-2", "a_b", "日本", "中国", "a_b-3", "é" * 40])))

    def test_numbers_have_equally_many_digits(self):
        """ImageFolder numbers the classes in the order of their names."""
        self.write("a", *[named_example({"image": [b"GIF89a"], "label": [label]})
                          for label in (2, 10, 0)])
        self.run_it("export", "a", "-o", "out/")
        self.assertEqual(self.files("out"), ["00/0000002.gif", "02/0000000.gif", "10/0000001.gif"])
        self.write("a", *[named_example({"image": [b"GIF89a"], "label": [label]})
                          for label in (2, 10, -1)])
        self.run_it("export", "a", "-o", "negative/")
        self.assertEqual(self.files("negative"),
                         ["-1/0000002.gif", "10/0000001.gif", "2/0000000.gif"])

    def test_names_of_labels(self):
        (self.folder / "names").write_bytes("cat\r\n../dog\ncrane\ncrane".encode())
        self.write("a", *[named_example({"image": [b"GIF89a"], "label": [label],
                                         "image/class/text": ["not this one"]})
                          for label in (1, 3, 0, 2)])
        self.run_it("export", "a", "-o", "out/", "--labels", "names")
        self.assertEqual(self.files("out"), ["___dog/0000000.gif", "cat/0000002.gif",
                                             "crane-2/0000003.gif", "crane/0000001.gif"])
        for label, words in (([4], "label 4 has no name among the 4 of names"),
                             ([-1], "label -1 has no name"), (["cat"], "no label with one value"),
                             ([], "no label with one value")):
            self.write("a", named_example({"image": [b"GIF89a"], "label": label}))
            self.expect_failure("record 0: " + words, "export", "a", "-o", "no/", "--labels",
                                "names")
        self.expect_failure("missing", "export", "a", "-o", "no/", "--labels", "missing")
        self.assertEqual(self.names(), ["a", "names", "out"])

    def test_names_of_files(self):
        names = ["n01/cat 1.JPEG", "../../../etc/passwd", "C:\\x\\y.png", "", "n02/cat_1.png", "..",
                 "cat_1", "x" * 300]
        self.write("a", *[named_example({"image": [b"GIF89a"], "file": [name], "label": [i // 7]})
                          for i, name in enumerate(names)])
        self.run_it("export", "a", "-o", "out/", "--name", "file")
        self.assertEqual(self.files("out"), sorted([
            "0/cat_1.gif", "0/passwd.gif", "0/y.gif", "0/_.gif", "0/cat_1-0000004.gif",
            "0/_-0000005.gif", "0/cat_1-0000006.gif", f"1/{'x' * 80}.gif"]))
        self.assertEqual(self.names(), ["a", "out"])
        self.expect_failure("record 0: no feature nmae with one value of bytes", "export", "a", "-o",
                            "no/", "--name", "nmae")

    def test_what_is_no_image(self):
        self.write("a", named_example({"image": [b"abc"]}))
        for words, arguments in (("none of the features image/encoded, image, ", ["--select", "x"]),
                                 ("3 bytes that are neither an image file nor pixels of a known "
                                  "shape in the record at 0 (describe raw pixels with --shape",
                                  []),
                                 ("3 bytes, not the 12 of 2x2x3", ["--shape", "2x2x3"]),
                                 ("no feature y", ["--image", "y"]),
                                 ("no feature z", ["--label", "z"])):
            self.expect_failure("record 0: " + words, "export", "a", "-o", "out/", *arguments)
            self.assertEqual(self.names(), ["a"])
        for shape in ("2", "x2x3", "0x1x1", "2x2x3x4", "1x1x99999999999999999999"):
            self.expect_failure("HEIGHTxWIDTHxCHANNELS", "export", "a", "-o", "out/", "--shape",
                                shape, status=2)
        # The remains of a killed process, and another user's link in its place.
        (self.folder / "photos").mkdir()
        (self.folder / "photos/mine").write_text("precious")
        (self.folder / ".out.partial/cat").mkdir(parents=True)
        (self.folder / ".out.partial/cat/old.png").write_text("old")
        (self.folder / ".out.partial/link").symlink_to(self.folder / "photos")
        self.run_it("export", "a", "-o", "out/", "--shape", "1x1x3")
        self.assertEqual(self.files("out"), ["0000000.png"])
        self.assertEqual(self.files("photos"), ["mine"])
        self.assertEqual(self.names(), ["a", "out", "photos"])

    def test_base64_is_named(self):
        image = b"\x89PNG\r\n\x1a\n" + bytes(range(120))
        for text in (base64.b64encode(image), base64.urlsafe_b64encode(image),
                     b"data:image/png;base64," + base64.b64encode(image)):
            self.write("a", named_example({"image": [text]}))
            self.expect_failure("record 0: the feature holds the base64 text of a png image, not "
                                "its bytes", "export", "a", "-o", "out/")
            self.assertEqual(self.names(), ["a"])

    def test_a_file_without_a_header_is_no_image(self):
        garbage = b"\x89PNG\r\n\x1a\n" + b"garbage" * 9
        self.write("a", named_example({"image": [gif(1)]}), named_example({"image": [garbage]}))
        result = self.start("export", "a", "-o", "out/", "--skip-corrupt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"skipped a record: record 1: ", result.stderr)
        self.assertEqual(self.files("out"), ["0000000.gif"])

    def test_what_is_broken_is_skipped(self):
        images = [gif(i) for i in range(4)]
        content = b"".join(record(named_example({"image": [image]})) for image in
                           [*images[:2], b"no image", *images[2:]])
        damaged = bytearray(content)
        damaged[30] ^= 1
        (self.folder / "a").write_bytes(damaged)
        self.expect_failure("data CRC mismatch", "export", "a", "-o", "out/")
        result = self.start("export", "a", "-o", "out/", "--skip-corrupt", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        summary = json.loads(result.stdout)
        self.assertEqual(
            {name: summary[name] for name in summary if name.startswith(("rec", "reg", "byt"))},
            {"records": 3, "records_skipped": 1, "regions_skipped": 1,
             "bytes_skipped": len(record(named_example({"image": [images[0]]})))})
        self.assertEqual([self.read(f"out/{name}") for name in self.files("out")], images[1:])
        self.assertIn(b"tfrecord export: skipped a record: ", result.stderr)
        self.assertIn(b"skipped 1 record with a broken image", result.stderr)
        for name in ("out.jsonl", "out.csv", "out.npz", "out.tar"):
            notes = self.start("export", "a", "-o", name, "--skip-corrupt", "--where",
                               "image != 'no image'").stderr
            self.assertEqual(notes.count(b"a: skipped "), 1, notes)
            self.assertIn(b"wrote 3 records", notes)
        self.expect_failure("--skip-corrupt and --no-crc", "export", "a", "-o", "b.csv",
                            "--skip-corrupt", "--no-crc")

    def test_what_no_broken_image_is_fails(self):
        images = [named_example({"image": [b"GIF89a" + bytes(30)], "label": [i]}) for i in range(2)]
        (self.folder / "labels.txt").write_text("zero\n")
        for records, why, *options in (
                (images, "record 0: no feature nope", "--image", "nope"),
                ([named_example({"a": [1]})], "record 0: none of the features"),
                (images + [named_example({"a": [1]})], "record 2: none of the features"),
                (images, "record 0: no feature nope", "--label", "nope"),
                (images, "record 1: label 1 has no name", "--labels", "labels.txt"),
                # Or all of them are broken.
                ([named_example({"image": [b"abc"]})] * 2, "record 0: ", "--shape", "2x2x3")):
            self.write("a", *records)
            with self.subTest(why, options=options):
                self.expect_failure(why, "export", "a", "-o", "out/", "--skip-corrupt", *options)
                self.assertEqual(self.names(), ["a", "labels.txt"])

    def test_a_folder_that_is_there_stays(self):
        self.write("a", named_example({"image": [b"abc"]}))
        (self.folder / "out").mkdir()
        self.expect_failure("already exists", "export", "a", "-o", "out/", "--shape", "1x1x3")


if __name__ == "__main__":
    unittest.main()
