"""Tests tar archives from and to the package webdataset.

Runs alone:
RECORDPIPE_TFRECORD=PROGRAM PYTHON tests/interop/webdataset_test.py
"""
import io
import pathlib
import sys
import tarfile
import unittest

import webdataset

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from tfrecord_test_case import TfrecordTest, named_example, record  # noqa: E402


class WebDataset(TfrecordTest):
    def samples(self, *names):
        """What webdataset reads: a dict of bytes for each sample."""
        paths = [str(self.folder / name) for name in names]
        return [{name: value for name, value in sample.items()
                 if name not in ("__url__", "__local_path__")}
                for sample in webdataset.WebDataset(paths, shardshuffle=False)]

    def test_archives_of_webdataset_are_read(self):
        pattern = str(self.folder / "in-%06d.tar")
        samples = [{"__key__": f"dir/{i:03}", "jpg": bytes([i]) * i, "cls": i,
                    "json": {"i": i}, "Seg.PNG": b"mask"} for i in range(30)]
        with webdataset.ShardWriter(pattern, maxcount=12, verbose=0) as writer:
            for sample in samples:
                writer.write(sample)
        names = [f"in-{i:06}.tar" for i in range(3)]
        self.run_it("create", *names, "-o", "out")
        expected = self.samples(*names)
        self.assertEqual(len(expected), len(samples))
        self.assertEqual((self.folder / "out").read_bytes(), b"".join(
            record(named_example({name: [sample[name]] for name in sorted(sample)}))
            for sample in expected))

    def test_archives_are_read_by_webdataset(self):
        self.write("a", *(named_example({"__key__": [f"d/{i}"], "boxes": [1.5, float(i)],
                                         "cls": [i], "image/jpg": [bytes([i, 0, 1])]})
                          for i in range(10)))
        self.run_it("export", "a", "-o", "a.tar", "--max-records", "4")
        found = self.samples(*(f"a-{i:05}-of-00003.tar" for i in range(3)))
        self.assertEqual(found, [{"__key__": f"d/{i}", "boxes.json": f"[1.5, {i}.0]".encode(),
                                  "cls": str(i).encode(), "image.jpg": bytes([i, 0, 1])}
                                 for i in range(10)])
        decoded = list(webdataset.WebDataset(str(self.folder / "a-00000-of-00003.tar"),
                                             shardshuffle=False).decode())
        self.assertEqual((decoded[3]["cls"], decoded[3]["boxes.json"]), (3, [1.5, 3.0]))

    def test_members_are_grouped_alike(self):
        names = ["a/b.c/0.jpg", "a/b.c/0.cls", "1.seg.png", "1.JPG", "README", "d.e/2.x", "d.e/3.",
                 "__index__", "4.x", "../5.x"]
        with tarfile.open(self.folder / "a.tar", "w") as archive:
            for name in names:
                info = tarfile.TarInfo(name)
                info.size = len(name)
                archive.addfile(info, io.BytesIO(name.encode()))
        self.run_it("create", "a.tar", "-o", "out")
        self.assertEqual((self.folder / "out").read_bytes(), b"".join(
            record(named_example({name: [sample[name]] for name in sorted(sample)}))
            for sample in self.samples("a.tar")))


if __name__ == "__main__":
    unittest.main()
