"""Errors of a Dataset: their classes, what they name, how they travel."""

import errno
import gzip
import pickle
import traceback
import unittest

import recordpipe as rp
from memory_files import Memory
from support import FilesTest


class Errors(FilesTest):
    def test_damage_names_the_file_and_the_offset(self):
        path = self.numbered(10)
        data = bytearray(path.read_bytes())
        data[3 * 17 + 12] ^= 1
        path.write_bytes(data)
        seen = []
        with self.assertRaises(rp.DataLossError) as raised:
            for record in rp.tfrecords(path):
                seen.append(record)
        self.assertEqual(seen, [b"0", b"1", b"2"])
        error = raised.exception
        self.assertEqual((error.kind, error.path, error.offset), ("corrupted", str(path), 51))
        self.assertIsInstance(error, ValueError)
        self.assertEqual(len(list(rp.tfrecords(path).ignore_errors())), 9)
        self.assertEqual(len(list(rp.tfrecords(path, check_crc=False))), 10)

    def test_damaged_framing_ends_its_file_only(self):
        header, cut, intact = (self.numbered(10, name, first=100) for name in "abc")
        data = bytearray(header.read_bytes())
        data[4 * 19] ^= 1
        header.write_bytes(data)
        cut.write_bytes(data[: 3 * 19 + 5])
        paths = [header, cut, intact]
        with self.assertRaises(rp.DataLossError) as raised:
            list(rp.tfrecords(paths).ignore_errors())
        self.assertEqual((raised.exception.path, raised.exception.offset), (str(header), 4 * 19))
        one_by_one = rp.from_list(paths).interleave(rp.tfrecords, cycle_length=1)
        for dataset in (one_by_one, rp.tfrecords(paths, cycle_length=2)):
            self.assertEqual(
                sorted(dataset.ignore_errors()),
                sorted(
                    str(i).encode() for i in [*range(100, 110), *range(100, 104), *range(100, 103)]
                ),
            )

    def test_a_damaged_record_of_a_gzip_file_costs_no_other(self):
        path = self.folder / "a.gz"
        data = bytearray(self.numbered(10).read_bytes())
        data[3 * 17 + 12] ^= 1
        path.write_bytes(gzip.compress(data))
        rest = [str(i).encode() for i in range(10) if i != 3]
        paths = rp.from_list([path])
        for records in (
            rp.tfrecords(path),
            rp.tfrecords([path, path], cycle_length=2).shard(2, 1),
            paths.interleave(rp.tfrecords, cycle_length=2),
        ):
            iterator = iter(records.ignore_errors())
            self.assertEqual(list(iterator), rest)
            stats = iterator.stats()
            self.assertEqual(stats["skipped"], 1)
            self.assertEqual(stats["first_skipped"][0][:2], (str(path), 51))

    def test_what_damaged_framing_costs_is_said(self):
        data = bytearray(self.numbered(10).read_bytes())
        data[4 * 17] ^= 1
        path = self.folder / "a.gz"
        path.write_bytes(gzip.compress(data))
        iterator = iter(
            rp.from_list([path]).interleave(rp.tfrecords, cycle_length=1).ignore_errors()
        )
        self.assertEqual(len(list(iterator)), 4)
        reason = "length CRC mismatch: corrupted record; "
        reason += "the rest of the file, 102 bytes of its content, is lost"
        self.assertEqual(iterator.stats()["first_skipped"], [(str(path), 68, reason)])

    def test_a_lost_source_that_another_operator_leaves_out_is_named(self):
        data = bytearray(self.numbered(10).read_bytes())
        data[4 * 17] ^= 1
        path = self.folder / "damaged"
        path.write_bytes(data)
        lost = rp.from_list([path]).interleave(rp.tfrecords, cycle_length=1)
        for left_out in (lost.shard(2, 1), lost.skip(5), lost.batch(10, drop_remainder=True)):
            iterator = iter(left_out.ignore_errors())
            list(iterator)
            ((named, offset, reason),) = iterator.stats()["first_skipped"]
            self.assertEqual((named, offset), (str(path), 68))
            self.assertIn("is lost", reason)

    def test_a_shuffle_of_a_compressed_file_is_refused_when_it_is_called(self):
        plain, packed = self.numbered(10), self.folder / "a.gz"
        packed.write_bytes(gzip.compress(plain.read_bytes()))
        with self.assertRaisesRegex(rp.UnsupportedError, "shuffle with a buffer") as raised:
            rp.tfrecords([plain, packed]).map(len).shuffle()
        self.assertEqual(raised.exception.path, str(packed))

    def test_urls_are_refused_by_name(self):
        for read in (rp.tfrecords, rp.info, rp.verify, rp.tfds):
            for url in (
                "https://host/train.tfrecord?X-Amz-Signature=secret",
                "https://me:secret@host/train.tfrecord",
                "https://host/train.tfrecord?me@secret",
                "ftp://me:secret@host/train.tfrecord",
                "https://me:secret@secret@host/train.tfrecord",
                "https://me:secret?@host/train.tfrecord",
            ):
                with self.assertRaisesRegex(rp.UnsupportedError, "download it first") as raised:
                    read(url)
                self.assertRegex(
                    raised.exception.path, r"^(https|ftp)://(host/train.tfrecord)?(\?\.\.\.)?$"
                )
                self.assertNotIn("secret", str(raised.exception))
                for on in (rp.tfrecords, rp.info):
                    with self.assertRaises(rp.NotFoundError) as raised:
                        list(on(url, filesystem=Memory()))
                    self.assertNotIn("secret", str(raised.exception) + raised.exception.path)

    def test_classes_that_python_programs_catch(self):
        with self.assertRaises(FileNotFoundError) as raised:
            list(rp.tfrecords(self.folder / "missing"))
        for error in (raised.exception, pickle.loads(pickle.dumps(raised.exception))):
            self.assertIsInstance(error, rp.NotFoundError)
            self.assertEqual(error.errno, errno.ENOENT)
            self.assertEqual(error.path, str(self.folder / "missing"))
            self.assertIn("missing: no such file", str(error))
        with self.assertRaises(OSError) as raised:
            rp.info([self.numbered(1), self.folder / "missing"])
        self.assertEqual(raised.exception.errno, errno.ENOENT)
        full = rp.errors._make("no_space", "no space left", None, None, "no space left", "")
        self.assertEqual((pickle.loads(pickle.dumps(full)).errno, str(full)), (28, "no space left"))
        with self.assertRaises(ValueError):
            rp.from_list([1]).batch(0)

    def test_arguments_of_the_wrong_type_or_size_are_shown(self):
        dataset = rp.from_list([1])
        with self.assertRaisesRegex(TypeError, "cycle_length is an integer, not '2'"):
            rp.tfrecords(self.numbered(1), cycle_length="2")
        with self.assertRaisesRegex(TypeError, "returned list, not a Dataset; flat_map"):
            next(iter(dataset.interleave(lambda value: [value], cycle_length=1)))
        for call in (
            lambda: dataset.concatenate([2]),
            lambda: rp.zip([dataset]),
            lambda: rp.sample_from_datasets([[1]]),
        ):
            with self.assertRaisesRegex(TypeError, "needs a recordpipe.Dataset"):
                call()
        with self.assertRaisesRegex(TypeError, "integer"):
            rp.tfrecords(self.numbered(2))[0.5]

    def test_a_stop_iteration_of_a_function_does_not_end_the_pass(self):
        def stops(*_):
            return next(iter([]))

        numbers = rp.from_list([1, 2])
        for dataset in (
            numbers.map(stops),
            numbers.filter(stops),
            numbers.flat_map(stops),
            numbers.scan(0, stops),
            rp.from_generator(stops),
        ):
            with self.assertRaisesRegex(RuntimeError, "StopIteration") as raised:
                list(dataset)
            self.assertIsInstance(raised.exception.__cause__, StopIteration)

    def test_scan_needs_a_pair(self):
        for result in (3, (1, 2, 3), [1, 2]):
            with self.assertRaisesRegex(TypeError, "state, output"):
                list(rp.from_list([1]).scan(0, lambda state, x, result=result: result))

    def test_exceptions_of_functions_keep_their_traceback_and_name_the_record(self):
        path = self.numbered(5)

        def fails(record):
            if record == b"3":
                raise KeyError("mine")
            return record

        seen = []
        iterator = iter(rp.tfrecords(path).map(fails))
        for _ in range(2):  # an iterator that has failed fails again
            try:
                for record in iterator:
                    seen.append(record)
            except KeyError as error:
                text = "".join(traceback.format_exception(error))
            self.assertEqual(seen, [b"0", b"1", b"2"])
            self.assertEqual(text.count("in fails"), 1)
            self.assertIn(f"{path} at offset 51", text)

    def test_errors_pickle(self):
        # OSError keeps filename where no attribute of Python is.
        damaged = self.numbered(3)
        damaged.write_bytes(damaged.read_bytes()[:-1])
        for path, bad in (("no such file", rp.MissingFileError), (damaged, rp.DataLossError)):
            with self.assertRaises(bad) as caught:
                list(rp.tfrecords(path))
            error = caught.exception
            copy = pickle.loads(pickle.dumps(error))
            self.assertIs(type(copy), bad)
            self.assertEqual((str(copy), vars(copy)), (str(error), vars(error)))
            self.assertEqual(getattr(copy, "filename", ""), getattr(error, "filename", ""))
        self.assertEqual(pickle.loads(pickle.dumps(rp.Error("a", 1))).args, ("a", 1))


if __name__ == "__main__":
    unittest.main()
