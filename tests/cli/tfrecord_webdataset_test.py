#!/usr/bin/env python3
"""Tests WebDataset's tar archives: `create` reads them, `export` writes them. Archives are made and
read by Python's tarfile.
"""
import gzip
import io
import json
import os
import tarfile
import unittest

from tfrecord_create_case import CreateTest
from tfrecord_test_case import named_example

BLOCK = 512


class WebDatasetTest(CreateTest):
    def tar(self, name, *members, format=tarfile.PAX_FORMAT):
        """Writes an archive of (name, content) pairs, or of TarInfos."""
        with tarfile.open(self.folder / name, "w", format=format) as archive:
            for member in members:
                if isinstance(member, tarfile.TarInfo):
                    archive.addfile(member)
                    continue
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
        return (self.folder / name).read_bytes()

    def members(self, name):
        with tarfile.open(self.folder / name) as archive:
            return [(info.name, archive.extractfile(info).read()) for info in archive]


def sample(key, **features):
    features["__key__"] = key
    return named_example({name: [features[name]] for name in sorted(features)})


class Reading(WebDatasetTest):
    def test_samples(self):
        for format in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            self.tar("a.tar", ("d/0.jpg", b"image"), ("d/0.cls", b"7"), ("d/1.JSON", b"{}"),
                     ("d/2.seg.png", b"mask"), ("d/2.jpg", b""), ("e/2.jpg", b"other"),
                     format=format)
            self.created("a.tar", expected=[
                sample("d/0", jpg=b"image", cls=b"7"), sample("d/1", json=b"{}"),
                sample("d/2", **{"seg.png": b"mask", "jpg": b""}), sample("e/2", jpg=b"other")])

    def test_members_that_are_not_adjacent_are_noted(self):
        self.tar("a.tar", ("0.jpg", b"a"), ("1.jpg", b"b"), ("0.cls", b"7"), ("1.cls", b"8"),
                 ("2.jpg", b"c"), ("2.cls", b"9"))
        notes = self.notes("create", "a.tar", "-o", "a")
        self.assertIn("a.tar: 2 samples have the key of an earlier one", notes)
        self.assertIn("the first is 0 (GNU tar --sort=name", notes)
        # With shards, the archive is read twice, and the note comes once.
        self.assertEqual(self.notes("create", "a.tar", "-o", "a", "--shards", 2), notes)
        self.tar("b.tar", ("0.jpg", b"a"), ("0.cls", b"7"))
        self.assertEqual(self.notes("create", "b.tar", "b.tar", "-o", "b"), "")

    def test_long_and_foreign_names(self):
        long = "x" * 150 + "/" + "ü" * 60
        for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            self.tar("a.tar", (long + ".jpg", b"1"), (long + ".cls", b"2"), format=format)
            self.created("a.tar", expected=[sample(long, jpg=b"1", cls=b"2")])

    def test_archives_follow_one_another(self):
        """A sample ends with its archive."""
        self.tar("a-0.tar", ("0.x", b"a"), ("1.x", b"b"))
        self.tar("a-1.tar", ("1.x", b"c"))
        self.created("a-*.tar", expected=[sample("0", x=b"a"), sample("1", x=b"b"),
                                          sample("1", x=b"c")])

    def test_compressed(self):
        data = self.tar("a.tar", ("0.x", b"a" * 5000))
        self.text("b.tar.gz", gzip.compress(data))
        self.created("b.tar.gz", expected=[sample("0", x=b"a" * 5000)])
        self.created("-", "--from", "webdataset", input=gzip.compress(data),
                     expected=[sample("0", x=b"a" * 5000)])
        # Names may begin as zlib's header does.
        self.tar("a.tar", ("x\x5e.y", b"1"))
        self.created("a.tar", expected=[sample("x\x5e", y=b"1")])

    def test_what_belongs_to_no_sample_is_left_out(self):
        folder = tarfile.TarInfo("d.e")
        folder.type = tarfile.DIRTYPE
        self.tar("a.tar", folder, ("README", b"1"), ("0.x", b"a"), (".hidden", b"2"),
                 ("d/.0.x", b"3"), ("__index__", b"4"), ("0.y", b"b"), ("1.", b"c"))
        self.run_it("create", "a.tar", "-o", "out")
        said = self.notes("create", "a.tar", "-o", "out")
        self.assertIn("a.tar: left out 4 members without a key and an extension", said)
        self.created("a.tar", expected=[sample("0", x=b"a", y=b"b"), sample("1", **{"": b"c"})])

    def test_no_name_is_a_path(self):
        self.tar("a.tar", ("../../0.x", b"a"), ("/etc/1.x", b"b"))
        before = sorted(os.listdir(self.folder))
        self.created("a.tar", expected=[sample("../../0", x=b"a"), sample("/etc/1", x=b"b")])
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([*before, "out"]))

    def test_an_extension_that_is_not_utf8_is_no_name(self):
        self.tar("a.tar", ("0.\udce9", b"a"), format=tarfile.GNU_FORMAT)
        self.refused("its extension is not UTF-8, as names of features are", "a.tar")

    def test_links_and_devices_are_refused(self):
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            link = tarfile.TarInfo("1.x")
            link.type, link.linkname = kind, "0.x"
            self.tar("a.tar", ("0.x", b"a"), link)
            self.refused("a.tar:1.x: a link, a sparse file or a device", "a.tar")

    def test_sparse_files_are_refused(self):
        # GNU's old format: a file of 2^40 bytes without a block of content.
        info = tarfile.TarInfo("0.x")
        header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
        header[156:157] = b"S"
        header[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")
        header[386:398] = b"%011o\0" % 0
        header[398:410] = b"%011o\0" % 0
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        self.text("a.tar", bytes(header) + bytes(2 * BLOCK))
        self.refused("a.tar:0.x: ", "a.tar")

    def test_duplicates(self):
        self.tar("a.tar", ("0.x", b"a"), ("0.X", b"b"))
        self.refused("another member of the sample has the same extension", "a.tar")
        self.tar("a.tar", ("0.__key__", b"a"))
        self.refused("another member of the sample has the same extension", "a.tar")

    def test_hostile_sizes(self):
        """What a header says is no reason to take memory."""
        data = bytearray(self.tar("a.tar", ("0.x", b"a"), format=tarfile.GNU_FORMAT))
        for size in (1 << 40, 1 << 62, (1 << 30) - 100):
            data[124:136] = b"\x80" + size.to_bytes(11, "big")
            data[148:156] = b" " * 8
            data[148:156] = b"%06o\0 " % sum(data[:BLOCK])
            self.text("a.tar", bytes(data))
            self.refused("a.tar", "a.tar")
            self.assertNotIn("out of memory", self.run_it("create", "a.tar", "-o", "out", status=2))

    def test_cut_archives(self):
        data = self.tar("a.tar", ("0.x", b"a" * 1000), ("1.x", b"b" * 1000))
        whole = 2 * 3 * BLOCK
        for length in range(0, whole + 1, 100):
            self.text("a.tar", data[:length])
            with self.subTest(length):
                said = self.run_it("create", "a.tar", "-o", "out", status=2)
                self.assertRegex(said, r"a\.tar: not a whole tar archive: .* at \d+ \(")
        self.text("a.tar", data[:3 * BLOCK])
        self.refused("a.tar: not a whole tar archive: its end is missing at 1536", "a.tar")

    def test_damage(self):
        data = bytearray(self.tar("a.tar", ("0.x", b"a"), ("1.x", b"b")))
        data[2 * BLOCK + 5] ^= 1
        self.text("a.tar", bytes(data))
        self.refused("a.tar: not a whole tar archive: Damaged tar archive at 1024", "a.tar")
        self.text("a.tar", b"no archive at all" * 100)
        self.refused("not a whole tar archive", "a.tar")


class Writing(WebDatasetTest):
    def test_round_trip(self):
        members = [("d/0.cls", b"7"), ("d/0.jpg", b"image"), ("d/1.cls", b""),
                   ("d/1.seg.png", b"x" * 2000)]
        self.tar("a.tar", *members)
        self.run_it("create", "a.tar", "-o", "a")
        self.run_it("export", "a", "-o", "b.tar")
        self.assertEqual(self.members("b.tar"), members)
        self.run_it("create", "b.tar", "-o", "b")
        self.assertEqual((self.folder / "b").read_bytes(), (self.folder / "a").read_bytes())
        self.assertEqual(self.start("export", "a", "--to", "webdataset", "-o", "-").stdout,
                         (self.folder / "b.tar").read_bytes())

    def test_named_members(self):
        self.tar("a.tar", ("0.jpg", b"J"), ("0.cls", b"7"), ("0.txt", b"a cat"),
                 ("1.jpg", b"K"), ("1.cls", b"-3\n"), ("1.txt", b""))
        names = "jpg=image/encoded,cls=label"
        self.created("a.tar", "--members", names, expected=[
            named_example({"__key__": ["0"], "image/encoded": [b"J"], "label": [7],
                           "txt": [b"a cat"]}),
            named_example({"__key__": ["1"], "image/encoded": [b"K"], "label": [-3],
                           "txt": [b""]})])
        self.run_it("create", "a.tar", "-o", "a", "--members", names)
        self.run_it("export", "a", "-o", "b.tar", "--members", names)
        self.assertEqual(sorted(self.members("b.tar")),
                         [("0.cls", b"7"), ("0.jpg", b"J"), ("0.txt", b"a cat"),
                          ("1.cls", b"-3"), ("1.jpg", b"K"), ("1.txt", b"")])
        for members, message in (
                ("png=image", "--members names png, which no member has; there are cls, jpg, txt"),
                ("txt=__key__", "becomes the same feature"), ("jpg", "should be EXT=FEATURE"),
                ("JPG=image", "an extension in lower case"), ("jpg=a,txt=a", "two extensions"),
                ("jpg=a,jpg=b", "two names")):
            self.refused(message, "a.tar", "--members", members)
        self.assertIn("mask", self.run_it("export", "a", "-o", "c.tar", "--members", "png=mask",
                                          status=2))
        self.assertIn("label, which --select leaves out", self.run_it(
            "export", "a", "-o", "c.tar", "--members", names, "--select", "image/encoded",
            status=2))
        for text in b"seven", b"+-7", b"1 2", b"", b" ":
            self.tar("c.tar", ("0.cls", text))
            self.refused("c.tar:0.cls: holds no integer", "c.tar", "--members", "cls=label")
        self.tar("c.tar", ("0.cls", b" 7"), ("1.cls", b"+7\t\r\n"), ("2.cls", b"007"))
        self.created("c.tar", "--members", "cls=label", expected=[
            named_example({"__key__": [str(i).encode()], "label": [7]}) for i in range(3)])
        self.text("a.csv", "a\n1\n")
        self.refused("--members is for webdataset", "a.csv", "--members", "cls=label")

    def test_a_list_of_numbers_in_a_member_that_is_json(self):
        self.write("a", named_example({"n": [1, 2]}), named_example({"n": [3]}))
        self.run_it("export", "a", "-o", "a.tar", "--members", "json=n")
        self.assertEqual(self.members("a.tar"),
                         [("00000000.json", b"[1, 2]"), ("00000001.json", b"3")])
        self.run_it("export", "a", "-o", "a.tar", "--members", "n.json=n")
        self.assertEqual(self.members("a.tar")[0], ("00000000.n.json", b"[1, 2]"))

    def test_values(self):
        self.write("a", named_example({"image/encoded": [b"J"], "label": [-3], "x": [1.5],
                                       "boxes": [1.0, 2.0], "ids": [4, 5], "none": []}),
                   named_example({"label": [4]}))
        self.run_it("export", "a", "-o", "a.tar")
        first, second = {}, {}
        for name, content in self.members("a.tar"):
            (first if name.startswith("00000000.") else second)[name[9:]] = content
        self.assertEqual(json.loads(first.pop("boxes.json")), [1.0, 2.0])
        self.assertEqual(json.loads(first.pop("ids.json")), [4, 5])
        self.assertEqual(first, {"image.encoded": b"J", "label": b"-3", "x": b"1.5"})
        self.assertEqual(second, {"label": b"4"})

    def test_archives_of_limited_size(self):
        self.write("a", *(sample(f"{i}", x=bytes(700)) for i in range(10)))
        summary = self.summary("export", "a", "-o", "a.tar", "--max-records", "4")
        self.assertEqual(summary, "wrote 10 records to 3 files\n")
        names = [f"a-{i:05}-of-00003.tar" for i in range(3)]
        self.assertEqual([len(self.members(name)) for name in names], [4, 4, 2])
        self.assertFalse((self.folder / "a.tar").exists())
        self.run_it("create", *names, "-o", "b")
        self.assertEqual((self.folder / "b").read_bytes(), (self.folder / "a").read_bytes())
        found, = self.json("export", "a", "-o", "b.tar", "--max-bytes", "6000", "--json")
        self.assertEqual(found["records"], 10)
        self.assertEqual([path for path in sorted(os.listdir(self.folder)) if path[:2] == "b-"],
                         found["files"])
        for name in found["files"]:
            self.assertLessEqual((self.folder / name).stat().st_size, 6000)

    def test_replaces_no_input(self):
        self.write("a-00000-of-00001.tar", sample("0", x=b"1"))
        self.expect_failure("is one of the files that are read", "export", "a-00000-of-00001.tar",
                            "-o", "a.tar", "--max-records", "4")
        self.expect_failure("is one of the files that are read", "export", "a-00000-of-00001.tar",
                            "--to", "webdataset", "-o", "a-00000-of-00001.tar")

    def test_keys(self):
        self.write("a", named_example({"file": [b"dir/one"], "x": [1]}),
                   named_example({"file": [b"dir/two"], "x": [2]}))
        self.run_it("export", "a", "-o", "a.tar", "--name", "file", "--select", "file,x")
        self.assertEqual([name for name, _ in self.members("a.tar")],
                         ["dir/one.file", "dir/one.x", "dir/two.file", "dir/two.x"])
        for key in (b"../a", b"/a", b"a/../b", b"a.b", b"", b"a\0b", b"a/", b".a"):
            self.write("b", named_example({"__key__": [key], "x": [1]}))
            with self.subTest(key):
                self.expect_failure("can't be one in an archive", "export", "b", "-o", "b.tar")
                self.assertFalse((self.folder / "b.tar").exists())
        self.write("b", sample("0", x=b"1"), sample("0", x=b"2"))
        self.expect_failure("has the key of the record before it", "export", "b", "-o", "b.tar")

    def test_refusals(self):
        for features, words in (({"x": [b"1", b"2"]}, "has not one value of bytes"),
                                ({"x": []}, "has no values"),
                                ({"a/b": [1], "a.b": [2]}, "two features would be members")):
            self.write("a", named_example(features))
            with self.subTest(words):
                self.expect_failure(words, "export", "a", "-o", "a.tar")
        self.expect_failure("--max-bytes and --max-records are for webdataset", "export", "a", "-o",
                            "a.csv", "--max-records", "2")
        self.expect_failure("standard output can't be split", "export", "a", "-o", "-", "--to",
                            "webdataset", "--max-records", "2")


if __name__ == "__main__":
    unittest.main()
