"""Tables of pyarrow, from TFRecords and to them."""

import gc
import pathlib
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import numpy as np
import recordpipe as rp
import records
from arrow_rows import FEATURES, TablesTest, example_of, needs, row

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None


@needs(pa, "pyarrow")
class PyArrow(TablesTest):
    def test_table(self):
        table = pa.table(self.dataset())
        table.validate(full=True)
        self.assertEqual(table.to_pylist(), self.rows())
        self.assertEqual(
            table.schema,
            pa.schema(
                {
                    "id": pa.int64(),
                    "label": pa.int64(),
                    "name": pa.large_string(),
                    "blob": pa.large_binary(),
                    "box": pa.list_(pa.float32(), 2),
                    "tokens": pa.large_list(pa.int64()),
                    "words": pa.large_list(pa.large_string()),
                }
            ),
        )
        self.assertEqual(pa.schema(self.dataset(0)), table.schema)

    def test_reader_takes_batches_one_by_one(self):
        reader = pa.RecordBatchReader.from_stream(self.dataset(25).batch(10))
        sizes = []
        for batch in reader:
            batch.validate(full=True)
            sizes.append(batch.num_rows)
        self.assertEqual(sizes, [10, 10, 5])

    def test_no_rows_and_all_null(self):
        empty = pa.table(self.dataset(0))
        empty.validate(full=True)
        self.assertEqual((empty.num_rows, empty.num_columns), (0, 7))
        path = records.write(self.folder / "nulls", [b""] * 9)
        nulls = pa.table(rp.tfrecords(path).parse(FEATURES).take(9).batch(4))
        nulls.validate(full=True)
        self.assertEqual([column.null_count for column in nulls.columns], [9] * 7)
        with self.assertRaisesRegex(rp.UnsupportedError, r"parse\(\) has no features"):
            pa.table(rp.tfrecords(path).parse({}))  # a table without columns has no rows

    def test_slices_outlive_everything_else(self):
        dataset = self.dataset().batch(100)
        reader = pa.RecordBatchReader.from_stream(dataset)
        slices = [batch.slice(7, 30) for batch in reader][::3]
        del dataset, reader
        gc.collect()
        for k, part in enumerate(slices):
            part.validate(full=True)
            first = 300 * k + 7
            self.assertEqual(part.to_pylist(), [row(i) for i in range(first, first + 30)])

    def test_released_on_another_thread(self):
        table = [pa.table(self.dataset())]
        thread = threading.Thread(target=table.clear)
        thread.start()
        thread.join()

    def test_raw_arrays_are_zero_copy(self):
        pixels = np.arange(2 * 3 * 4, dtype=np.uint8)
        flags = np.array([1, 0, 1], bool)
        example = records.example({"p": [pixels.tobytes()], "f": [flags.tobytes()]})
        path = records.write(self.folder / "raw", [example] * 5)
        table = pa.table(
            rp.tfrecords(path).parse(
                {"p": rp.RawFeature([2, 3, 4], "uint8"), "f": rp.RawFeature([3], "bool")}
            )
        )
        table.validate(full=True)
        flat = table["p"].combine_chunks().flatten(recursive=True)
        np.testing.assert_array_equal(flat.to_numpy(), np.tile(pixels, 5))
        self.assertEqual(table["f"].to_pylist(), [[True, False, True]] * 5)

    def test_errors_name_file_and_offset(self):
        broken = [example_of(i) for i in range(20)]
        broken[15] = records.example({"id": [b"text"]})
        path = records.write(self.folder / "broken.tfrecord", broken)
        with self.assertRaisesRegex(pa.ArrowInvalid, "broken.tfrecord.*'id' holds bytes.* at "):
            pa.table(rp.tfrecords(path).parse(FEATURES))
        damaged = path.read_bytes()
        path.write_bytes(damaged[:100] + b"\0" + damaged[101:])
        with self.assertRaisesRegex(pa.ArrowInvalid, "broken.tfrecord.* at "):
            pa.table(rp.tfrecords(path).parse(FEATURES))

    def test_images_are_refused_and_raw_pixels_are_fixed_size_lists(self):
        pixels = [np.full((2, 2, 3), i, np.uint8) for i in range(3)]
        path = records.write(
            self.folder / "images", [records.example({"image": [p.tobytes()]}) for p in pixels]
        )
        encoded = rp.tfrecords(path).parse({"image": rp.FixedLenFeature([], "bytes")})
        for images in (encoded.decode_image("image"), encoded.decode_raw("image", [2, 2, 3])):
            with self.assertRaisesRegex(rp.UnsupportedError, "column 'image': .* RawFeature"):
                pa.table(images.batch(2))
        raw = rp.tfrecords(path).parse({"image": rp.RawFeature([2, 2, 3], "uint8")})
        self.assertEqual(pa.table(raw)["image"].to_pylist(), [p.tolist() for p in pixels])

    def test_ctrl_c(self):
        program = """
import os, signal, sys, threading
import pyarrow as pa, recordpipe as rp
endless = rp.tfrecords(sys.argv[1]).parse({"id": rp.FixedLenFeature([], "int64")}).repeat()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    if sys.argv[2] == "table":
        pa.table(endless)
    for batch in pa.RecordBatchReader.from_stream(endless):
        pass
except OSError as error:
    print(error)
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""
        path = self.examples(1000)
        for how in ("table", "batches"):
            begin = time.monotonic()
            run = subprocess.run(
                [sys.executable, "-B", "-c", program, path, how],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            self.assertLess(time.monotonic() - begin, 20)
            # pyarrow may raise its own error first; Python raises KeyboardInterrupt next.
            self.assertIn("KeyboardInterrupt", run.stdout + run.stderr)

    def test_ctrl_c_arrives_also_in_a_program_that_handles_oserror(self):
        program = """
import os, signal, sys, threading
import pyarrow as pa, recordpipe as rp
endless = rp.tfrecords(sys.argv[1]).parse({"id": rp.FixedLenFeature([], "int64")}).repeat()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    try:
        pa.table(endless)
    except OSError as error:
        print("went on after", error)
    pa.table(endless)
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""
        run = subprocess.run(
            [sys.executable, "-B", "-c", program, self.examples(1000)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(run.stdout.splitlines()[-1:], ["KeyboardInterrupt"], run.stderr)

    def test_an_exception_of_a_readers_source_remains_what_it_is(self):
        schema = pa.schema({"id": pa.int64()})
        for raised in (KeyboardInterrupt(), ZeroDivisionError("no rows"), OSError(28, "full")):

            def batches(error=raised):
                yield pa.record_batch({"id": [1, 2]}, schema=schema)
                raise error

            reader = pa.RecordBatchReader.from_batches(schema, batches())
            with self.assertRaises(type(raised)) as caught:
                rp.write_tfrecords(self.folder / "out.tfrecord", reader)
            self.assertEqual(str(caught.exception), str(raised))
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_parquet_both_ways(self):
        table = pa.table(self.dataset())
        pq.write_table(table, self.folder / "t.parquet")
        read = pq.read_table(self.folder / "t.parquet")
        self.assertTrue(read.equals(table))
        for source in (read, pq.ParquetFile(self.folder / "t.parquet").iter_batches(700)):
            paths = rp.write_tfrecords(self.folder / "back.tfrecord", source)
            back = rp.tfrecords(paths)
            self.assertEqual(list(back), [example_of(i) for i in range(3000)])
            self.assertTrue(pa.table(back.parse(FEATURES)).equals(table))

    def test_all_types_that_features_have(self):
        arrays = {
            **{
                str(t): pa.array([0, 1, None, 7], t)
                for t in (
                    *(pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32()),
                    *(pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
                )
            },
            "bool": pa.array([True, None, False, True]),
            **{
                str(t): pa.array([b"a", None, b"", b"longer than a view's prefix"], t)
                for t in (
                    *(pa.binary(), pa.large_binary(), pa.binary_view()),
                    *(pa.string(), pa.large_string(), pa.string_view()),
                )
            },
            "fixed": pa.array([b"ab", b"cd", None, b"ef"], pa.binary(2)),
            "categories": pa.array(["x", None, "y", "x"]).dictionary_encode(),
            **{
                f"list {i}": pa.array([[1, 2], None, [], [3]], t(pa.int16()))
                for i, t in enumerate((pa.list_, pa.large_list, pa.list_view, pa.large_list_view))
            },
            "pairs": pa.array([[1, 2], None, [3, 4], [5, 6]], pa.list_(pa.float64(), 2)),
            "list of categories": pa.array(
                [["x"], None, [], ["y", "x"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))
            ),
            "null": pa.nulls(4),
        }
        whole = pa.table(arrays)
        doubled = pa.concat_tables([whole, whole])
        expected = [
            {
                k: v if isinstance(v, list) else [v.encode() if isinstance(v, str) else v]
                for k, v in r.items()
                if v is not None
            }
            for r in whole.to_pylist()
        ]

        def kind_of(type):
            if hasattr(type, "value_type"):  # of lists and dictionaries
                return kind_of(type.value_type)
            if pa.types.is_floating(type):
                return "float32"
            return (
                "int64" if pa.types.is_integer(type) or type in (pa.bool_(), pa.null()) else "bytes"
            )

        def written(table):
            paths = rp.write_tfrecords(self.folder / "types", table)
            kinds = {k: kind_of(column.type) for k, column in arrays.items()}
            parsed = rp.tfrecords(paths).parse({k: rp.RaggedFeature(t) for k, t in kinds.items()})
            nullable = pa.table(parsed.take(8))  # of a part, which may lack features
            rows = []
            for element, present in zip(parsed, nullable.to_pylist(), strict=True):
                rows.append({k: v.tolist() for k, v in element.items() if present[k] is not None})
            return rows

        for rows in (written(doubled), written(doubled.combine_chunks())):
            self.assertEqual(
                rows,
                [
                    {k: [x.encode() if isinstance(x, str) else x for x in v] for k, v in e.items()}
                    for e in expected
                ]
                * 2,
            )
        for first in range(8):  # arrays with offsets
            self.assertEqual(written(doubled.slice(first, 3)), written(doubled)[first : first + 3])
        self.assertEqual(written(whole.slice(1, 2).to_batches()[0]), written(whole)[1:3])

    def test_refused_types_name_the_column(self):
        class Pickled(pa.ExtensionType):  # of Ray
            def __init__(self):
                super().__init__(pa.large_binary(), "ray.data.arrow_pickled_object")

            def __arrow_ext_serialize__(self):
                return b""

        for column in (
            pa.array([{"a": 1}]),
            pa.array([[[1]]]),
            pa.array([0], pa.timestamp("s")),
            pa.array([0], pa.date32()),
            pa.array([1], pa.decimal128(5, 2)),
            pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),
            pa.array([[1, None]]),
            pa.array([2**63], pa.uint64()),
            pa.ExtensionArray.from_storage(Pickled(), pa.array([b"x"], pa.large_binary())),
        ):
            path = self.folder / "out.tfrecord"
            with (
                self.subTest(type=column.type),
                self.assertRaisesRegex(rp.UnsupportedError, "column 'bad column'"),
            ):
                rp.write_tfrecords(path, pa.table({"good": [1], "bad column": column}))
            self.assertFalse(path.exists())

    def test_a_source_behind_a_stream_that_raises_is_named(self):
        def batches():
            yield pa.record_batch({"n": [1]})
            raise RuntimeError("out of data")

        class OnlyStream:
            def __arrow_c_stream__(self, requested_schema=None):
                schema = pa.schema({"n": pa.int64()})
                return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__()

        reader = OnlyStream()
        with self.assertRaisesRegex(rp.FileSystemError, "out of data"):
            rp.write_tfrecords(self.folder / "out.tfrecord", reader)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_memory_is_bounded(self):
        batch = pa.record_batch({"x": pa.array(np.zeros(1 << 17))})
        reader = pa.RecordBatchReader.from_batches(batch.schema, (batch for _ in range(20)))
        before = pa.total_allocated_bytes()
        rp.write_tfrecords(self.folder / "out.tfrecord", reader, compression="zstd")
        self.assertLessEqual(pa.total_allocated_bytes(), before)


if __name__ == "__main__":
    unittest.main()
