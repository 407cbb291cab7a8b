"""Tables of polars, DuckDB, pandas and Hugging Face, from TFRecords and to them."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import recordpipe as rp
import records
from arrow_rows import FEATURES, TablesTest, example_of, needs, row

try:
    import pyarrow as pa
except ImportError:
    pa = None
try:
    import polars as pl
except ImportError:
    pl = None
try:
    import duckdb
except ImportError:
    duckdb = None
try:
    import pandas as pd
except ImportError:
    pd = None
try:
    import datasets
except ImportError:
    datasets = None


@needs(pl, "polars")
class Polars(TablesTest):
    def test_both_ways(self):
        dataset = self.dataset()
        frame = pl.DataFrame(dataset)
        self.assertEqual(frame.schema["name"], pl.String)
        expected = self.rows()
        self.assertEqual(
            [{k: _listed(v) for k, v in r.items()} for r in frame.to_dicts()], expected
        )
        paths = rp.write_tfrecords(self.folder / "back", frame)
        self.assertEqual(list(rp.tfrecords(paths)), [example_of(i) for i in range(3000)])
        part = frame.filter(pl.col("label") == 1).select("id", "name")
        paths = rp.write_tfrecords(self.folder / "back", part)
        self.assertEqual(
            [int(e["id"]) for e in rp.tfrecords(paths).parse({"id": FEATURES["id"]})],
            [i for i in range(3000) if row(i)["label"] == 1],
        )

    def test_categories(self):
        frame = pl.DataFrame({"c": ["a", "b", "a", None]}, schema={"c": pl.Categorical})
        paths = rp.write_tfrecords(self.folder / "c", frame)
        read = rp.tfrecords(paths).parse({"c": rp.FixedLenFeature([], "string", "missing")})
        self.assertEqual([e["c"] for e in read], [b"a", b"b", b"a", b"missing"])
        self.assertEqual(pl.DataFrame(read)["c"].to_list(), ["a", "b", "a", "missing"])


@needs(duckdb, "duckdb")
class DuckDB(TablesTest):
    def test_both_ways(self):
        ds = self.dataset()
        counts = duckdb.sql("select label, count(*) from ds group by 1 order by 1").fetchall()
        expected = [(k, sum(row(i)["label"] == k for i in range(3000))) for k in (0, 1, 2, None)]
        self.assertEqual(counts, expected)
        self.assertEqual(duckdb.sql("select count(*) from ds").fetchall(), [(3000,)])
        self.assertEqual(
            duckdb.sql("select name, words from ds where id = 2998").fetchall(),
            [("näme 2998", ["w0"])],
        )
        values = sum(len(row(i)["tokens"] or []) for i in range(3000))
        lengths = duckdb.from_arrow(ds.batch(50)).aggregate("sum(len(tokens))::int")
        self.assertEqual(lengths.fetchall(), [(values,)])
        relation = duckdb.sql("select id, label, blob from ds where label = 2 order by id")
        paths = rp.write_tfrecords(self.folder / "back", relation)
        read = rp.tfrecords(paths).parse({k: FEATURES[k] for k in ("id", "label", "blob")})
        self.assertEqual(
            [(int(e["id"]), int(e["label"]), e["blob"]) for e in read], relation.fetchall()
        )

    def test_limit_stops_the_pass(self):
        endless = duckdb.from_arrow(self.dataset(100).repeat())
        self.assertEqual(len(endless.limit(250).fetchall()), 250)

    def test_errors(self):
        path = records.write(self.folder / "broken.tfrecord", [records.example({"id": [0.5]})])
        broken = rp.tfrecords(path).parse(FEATURES)
        self.assertIsNotNone(broken)
        with self.assertRaisesRegex(duckdb.Error, "broken.tfrecord.*'id'"):
            duckdb.sql("select id from broken").fetchall()


@needs(pd, "pandas")
class Pandas(TablesTest):
    @needs(pa, "pyarrow, which pandas needs for Arrow,")
    def test_both_ways(self):
        dataset = self.dataset(100)
        for frame in (pd.DataFrame.from_arrow(dataset), dataset.to_pandas()):
            self.assertEqual(frame["id"].tolist(), list(range(100)))
            self.assertEqual(frame["name"].isna().sum(), sum(i % 7 == 3 for i in range(100)))
        frame = pd.DataFrame(
            {"n": [1, 2], "x": [0.5, 1.5], "s": ["a", None], "c": pd.Categorical(["u", "v"])}
        )
        paths = rp.write_tfrecords(self.folder / "back", frame)
        self.assertEqual(
            list(rp.tfrecords(paths)),
            [
                records.example({"c": [b"u"], "n": [1], "s": [b"a"], "x": [0.5]}),
                records.example({"c": [b"v"], "n": [2], "x": [1.5]}),
            ],
        )

    @needs(pa, "pyarrow, which pandas needs for Arrow,")
    def test_labels_of_rows_are_a_column_if_they_have_a_name(self):
        frame = pd.DataFrame({"n": [1, 2, 3, 4]})
        labels = {"key": [b"a", b"b", b"c", b"d"]}
        pairs = pd.MultiIndex.from_product([["a", "b"], [0, 1]])
        for given, index in (
            (frame, {}),
            (frame[frame.n != 2], {}),  # the labels 0, 2, 3
            (frame.set_axis(["a", "b", "c", "d"]), {}),
            (frame.set_axis(pairs), {}),  # __index_level_0__ and __index_level_1__
            (frame.set_axis(pd.Index(["a", "b", "c", "d"], name="key")), labels),
            (frame.set_axis(["a", "b", "c", "d"]).rename_axis("key").reset_index(), labels),
        ):
            expected = [
                records.example({name: [index[name][i]] for name in index} | {"n": [int(n)]})
                for i, n in enumerate(given["n"])
            ]
            table = pa.Table.from_pandas(given)
            for data in (given, table, table.to_reader(), table.to_batches()[0]):
                paths = rp.write_tfrecords(self.folder / "labels", data)
                self.assertEqual(list(rp.tfrecords(paths)), expected)
        table = pa.table({"__index_level_0__": [1], "n": [2]})  # not of pandas
        paths = rp.write_tfrecords(self.folder / "labels", table)
        self.assertEqual(rp.schema(paths).features().keys(), {"__index_level_0__", "n"})


@needs(datasets, "datasets")
class HuggingFace(TablesTest):
    def test_both_ways(self):
        table = datasets.Dataset(pa.table(self.dataset()))
        self.assertEqual(table[:], {k: [r[k] for r in self.rows()] for k in FEATURES})
        numpy = table.with_format("numpy")
        self.assertEqual(numpy[1]["box"].tolist(), [1.25, 1.5])
        arrow = table.select(range(10)).with_format("arrow")
        paths = rp.write_tfrecords(self.folder / "back", arrow[:])
        self.assertEqual(list(rp.tfrecords(paths)), [example_of(i) for i in range(10)])


def _listed(value):
    return value.to_list() if pl is not None and isinstance(value, pl.Series) else value


if __name__ == "__main__":
    unittest.main()
