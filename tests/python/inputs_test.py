"""What names files: folders, patterns, braces and sets of shards."""

import pickle
import unittest
import warnings

import recordpipe as rp
import records
from support import FilesTest

SHARDS = [f"d/s-0000{i}-of-00003" for i in range(3)]


class Names(FilesTest):
    def setUp(self):
        super().setUp()
        for number, name in enumerate([*SHARDS, "d/e/f.tfrecord", "d/other"]):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            records.write(path, [str(number).encode()])

    def read(self, *names, **options):
        return list(rp.tfrecords([self.folder / name for name in names], **options))

    def test_tfrecords(self):
        shards = [b"0", b"1", b"2"]
        for name in ("d", "d/s@3", "d/s-{00000..00002}-of-00003", "d/**/s-*", "**/s-*"):
            with self.subTest(name=name):
                self.assertEqual(self.read(name), shards)
                self.assertEqual(self.read(name, cycle_length=2), shards)
        self.assertEqual(self.read("d/", recursive=True), [b"3", *shards])
        # As a str: pathlib drops the slash.
        self.assertEqual(list(rp.tfrecords(f"{self.folder}/d/**/")), [b"3", *shards])
        self.assertEqual(self.read("d/e", "d/s-{00002,00000}-of-00003"), [b"3", b"2", b"0"])
        self.assertEqual(rp.tfrecords(str(self.folder / "d"))[2], b"2")

    def test_files_of_a_folder_that_are_left_out_are_said(self):
        for function in (rp.tfrecords, rp.info, rp.verify, lambda d: rp.info(d, recursive=True)):
            with self.assertWarnsRegex(UserWarning, "left out 1 file of a folder, .*d/other: "):
                function(self.folder / "d")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                function(self.folder / "d/other")
                function([self.folder / "d", self.folder / "d/other"])

    def test_indexes_that_glob_names_are_left_out(self):
        one = self.folder / "d/other"
        rp.index(one)
        with self.assertWarnsRegex(UserWarning, "left out .*d/other.idx: the index of another"):
            self.assertEqual(len(rp.tfrecords([one, f"{one}.idx"])), len(rp.tfrecords(one)))

    def test_shards_of_two_sets_are_said(self):
        records.write(self.folder / "d/s-00000-of-00002", [b"4"])
        for names in ([self.folder / "d"], [self.folder / "d/s-*"], [*self.folder.glob("d/s-*")]):
            with self.assertWarnsRegex(
                UserWarning, "/s-0.* and .*/s-0.* are of two sets of shards"
            ):
                self.assertEqual(len(rp.tfrecords(names)), 4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rp.tfrecords(self.folder / "d/s@3")

    def test_pickles_keep_the_files(self):
        ds = rp.tfrecords(self.folder, recursive=True)
        pickled = pickle.dumps(ds)
        records.write(self.folder / "new.tfrecord", [b"new"])
        self.assertEqual(list(pickle.loads(pickled)), [b"3", b"0", b"1", b"2"])

    def test_errors(self):
        (self.folder / "empty").mkdir()
        with self.assertRaisesRegex(rp.NotFoundError, "no record files are in this folder"):
            self.read("empty")
        with self.assertRaisesRegex(rp.NotFoundError, "nor in the folders below it"):
            self.read("empty", recursive=True)
        with self.assertRaisesRegex(
            rp.NotFoundError, "2 of 5 files do not exist; .*s-00000-of-00003x"
        ):
            self.read("d/s-{00000,00001,00002}-of-00003", "d/s-0000{0..0}-of-00003{x,,,y,}")
        with self.assertRaisesRegex(rp.NotFoundError, "4 of 4 files do not exist"):
            rp.verify(self.folder / "d/s@4")
        with self.assertRaises(rp.LimitExceededError):
            self.read("{0..99999999999}")

    def test_an_empty_list_of_paths(self):
        listed = ([], (), iter([]))
        for read in (rp.tfrecords, rp.info, rp.schema, rp.stats, rp.verify, rp.index):
            for paths in listed:
                with self.assertRaisesRegex(ValueError, "list of paths is empty"):
                    read(paths)
        with self.assertRaisesRegex(ValueError, "list of paths is empty"):
            rp.convert([], self.folder / "out.tfrecord")

    def test_a_file_that_exists_is_no_pattern(self):
        records.write(self.folder / "a{1,2}@3", [b"a"])
        self.assertEqual(self.read("a{1,2}@3"), [b"a"])

    def test_functions_on_files(self):
        named = [str(self.folder / name) for name in SHARDS]
        for names in ("d", "d/s@3", "d/s-{00000..00002}-of-00003", "**/s-*"):
            with self.subTest(names=names):
                path = self.folder / names
                self.assertEqual([file.path for file in rp.info(path)], named)
                self.assertEqual([file.path for file in rp.verify(path)], named)
                self.assertEqual([file.path for file in rp.index(path)], named)
                target = self.folder / "out"
                self.assertEqual(rp.convert(path, target).records_read, 3)
                self.assertEqual(rp.salvage(path, target).records_written, 3)
        self.assertEqual(rp.info(self.folder, recursive=True).records, 4)
        self.assertEqual(len(rp.verify(self.folder, recursive=True)), 4)
        self.assertEqual(len(rp.index(self.folder, recursive=True)), 4)
        self.assertEqual(rp.convert(self.folder, self.folder / "o", recursive=True).records_read, 4)
        self.assertEqual(
            rp.salvage(self.folder, self.folder / "p", recursive=True).records_written, 4
        )

    def test_schema_and_stats(self):
        (self.folder / "x/y").mkdir(parents=True)
        self.examples(3, "x/a.tfrecord")
        self.examples(4, "x/y/b.tfrecord")
        for function in (rp.schema, rp.stats):
            self.assertEqual(function(self.folder / "x").records, 3)
            self.assertEqual(function(self.folder / "x", recursive=True).records, 7)
            self.assertEqual(function(self.folder / "x/{a,y/b}.tfrecord").records, 7)


if __name__ == "__main__":
    unittest.main()
