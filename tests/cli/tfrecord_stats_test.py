"""Tests tfrecord stats as a user runs it."""
import csv
import gzip
import math
import random
import statistics
import struct
import unittest

from tfrecord_test_case import DATA, TfrecordTest, example, float_feature, named_example

GOLDEN = DATA / "golden"


class Stats(TfrecordTest):
    def stats(self, *arguments):
        return self.json("stats", "--json", *arguments)[0]

    def write_unchecked(self, name, payloads):
        """Writes records without CRCs, which are slow in Python: must be read with --no-crc."""
        (self.folder / name).write_bytes(b"".join(
            struct.pack("<QI", len(data), 0) + data + bytes(4) for data in payloads))

    def test_csv(self):
        self.write("a", *[named_example({"label": [i], "x": [i / 2, math.nan], 'n,"1"': ["ab"]})
                          for i in range(3)], named_example({"image": [b"\xff" * 100]}))
        text = self.run_it("stats", "--format", "csv", "a")
        self.assertEqual(text.splitlines()[0], "feature,kind,count,nans,min,max,mean,sd,p1,p5,p25,"
                         "p50,p75,p95,p99,distinct")
        rows = {row["feature"]: row for row in csv.DictReader(text.splitlines(), strict=True)}
        self.assertEqual(list(rows), ["image", "label", 'n,"1"', "x"])
        self.assertEqual(list(rows["label"].values()),
                         ["label", "int64", "3", "0", "0", "2", "1", "0.816496580927726", "0.02",
                          "0.1", "0.5", "1", "1.5", "1.9", "1.98", "3"])
        self.assertEqual([rows["x"][name] for name in ("kind", "count", "nans", "min", "max")],
                         ["float", "6", "3", "0", "1"])
        # For bytes, the lengths; long values are not told apart.
        self.assertEqual([rows['n,"1"'][name] for name in ("kind", "min", "max", "distinct")],
                         ["bytes", "2", "2", "1"])
        self.assertEqual([rows["image"][name] for name in ("min", "distinct")], ["100", ""])

    def test_text(self):
        self.write("a", *[named_example({"label": [i % 4], "weight": [i / 2],
                                         "name": ["cat" if i % 3 else "dog"], "same": [7]})
                          for i in range(9)],
                   named_example({"image": [b"\xff" * 100, b"\x00\x01"]}))
        self.assertEqual(self.run_it("stats", "a"), """\
10 records
    751 bytes in all, sizes 70 to 121, mean 75.1, sd 15.3
    quantiles 1 %: 70, 5 %: 70, 25 %: 70, 50 %: 70, 75 %: 70, 95 %: 98.05, 99 %: 116.41
    histogram 70 |█              ▁| 121
  image: bytes, 2 values in 10.0 % of Examples
    2 values, 102 bytes in all, lengths 2 to 100, mean 51, sd 49
    quantiles 1 %: 2.98, 5 %: 6.9, 25 %: 26.5, 50 %: 51, 75 %: 75.5, 95 %: 95.1, 99 %: 99.02
    histogram 2 |█              █| 100
    1 longer than 32 bytes; of the others
    always 0x0001
  label: int64, 1 value in 90.0 % of Examples
    9 values, 0 to 3, mean 1.33333, sd 1.1547
    quantiles 1 %: 0, 5 %: 0, 25 %: 0, 50 %: 1, 75 %: 2, 95 %: 3, 99 %: 3
    histogram 0 █, 1 ▅, 2 ▅, 3 ▅
    4 different values, most often 0 (33.3 % of values), 1 (22.2 %), 2 (22.2 %), 3 (22.2 %)
  name: bytes, 1 value in 90.0 % of Examples
    9 values, 27 bytes in all, lengths 3 to 3, mean 3, sd 0
    2 different values, most often "cat" (66.7 % of values), "dog" (33.3 %)
  same: int64, 1 value in 90.0 % of Examples
    9 values, 7 to 7, mean 7, sd 0
    always 7
  weight: float, 1 value in 90.0 % of Examples
    9 values, 0 to 4, mean 2, sd 1.29099
    quantiles 1 %: 0.04, 5 %: 0.2, 25 %: 1, 50 %: 2, 75 %: 3, 95 %: 3.8, 99 %: 3.96
    histogram 0 |█ █ █ █ █ █ █ ██| 4
    9 different values, most often 0 (11.1 % of values), 0.5 (11.1 %), 1 (11.1 %), 1.5 (11.1 %), 2 (11.1 %)
""")

    def test_one_value_beside_nan(self):
        self.write("b", *[example(x=float_feature(x)) for x in (1, math.nan, 1)])
        text = self.run_it("stats", "b")
        self.assertIn("    3 values, 1 of them NaN, 1 to 1", text)
        self.assertIn("    the others always 1\n", text)

    def test_nan_alone(self):
        self.write("b", example(x=float_feature(math.nan)))
        self.assertEqual(self.run_it("stats", "b"),
                         "1 record\n    17 bytes in all, sizes 17 to 17, mean 17, sd 0\n"
                         "  x: float, 1 value in 100 % of "
                                                    "Examples\n    1 value, 1 of them NaN\n")

    def test_infinities_on_both_sides(self):
        self.write("a", example(x=float_feature(-math.inf, 1.0, 2.0)))
        self.assertEqual(self.run_it("stats", "--json", "a"), (
            '{"records": 1, "record_sizes": {"min": 25, "max": 25, "mean": 25.0, "sd": 0.0, '
            '"quantiles": {"0.01": 25.0, "0.05": 25.0, "0.25": 25.0, "0.5": 25.0, "0.75": 25.0, '
            '"0.95": 25.0, "0.99": 25.0}, "quantiles_are_exact": true, '
            '"histogram": {"min": 25.0, "max": 25.0, "counts": '
            '[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}}, '
            '"with_features": 1, "features": {"x": {"kind": "float", "records": 1, '
            '"share": 1.0, "values": 3, "float": {"count": 3, "nan": 0, "min": -Infinity, '
            '"max": 2.0, "mean": 1.5, "sd": 0.5, "quantiles": {"0.01": -Infinity, '
            '"0.05": -Infinity, "0.25": -Infinity, "0.5": 1.0, "0.75": 1.5, "0.95": 1.9, '
            '"0.99": 1.98}, "quantiles_are_exact": true, "histogram": {"min": 1.0, "max": 2.0, '
            '"counts": [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]}, "distinct": 3, '
            '"distinct_is_exact": true, "most_frequent": [{"value": -Infinity, "count": 1}, '
            '{"value": 1.0, "count": 1}, {"value": 2.0, "count": 1}]}}}}\n'))
        self.assertEqual(self.run_it("stats", "a"), """\
1 record
    25 bytes in all, sizes 25 to 25, mean 25, sd 0
  x: float, 3 values in 100 % of Examples
    3 values, -inf to 2, mean 1.5, sd 0.5
    quantiles 1 %: -inf, 5 %: -inf, 25 %: -inf, 50 %: 1, 75 %: 1.5, 95 %: 1.9, 99 %: 1.98
    histogram 1 |█              █| 2
    3 different values, most often -inf (33.3 % of values), 1 (33.3 %), 2 (33.3 %)
""")

    def test_many_values(self):
        source = random.Random(1)
        values = [source.randrange(-10**9, 10**9) for _ in range(20000)]
        self.write_unchecked("a", [named_example({"x": [value]}) for value in values])
        x = self.stats("a", "--no-crc")["features"]["x"]["int64"]
        self.assertEqual((x["count"], x["min"], x["max"]), (20000, min(values), max(values)))
        self.assertAlmostEqual(x["mean"], statistics.fmean(values), delta=1)
        self.assertAlmostEqual(x["sd"], statistics.pstdev(values), delta=1)
        self.assertFalse(x["quantiles_are_exact"] or x["distinct_is_exact"])
        for name, value in x["quantiles"].items():
            exact = sorted(values)[round(float(name) * 19999)]
            self.assertAlmostEqual(value, exact, delta=0.005 * abs(exact) + 3e5)
        self.assertEqual(sum(x["histogram"]["counts"]), 20000)
        self.assertEqual(x["quantiles_are_within"], 1 / 256)
        text = self.run_it("stats", "--no-crc", "a")
        self.assertIn("(within 0.39 %)\n", text)
        self.assertIn("    more than 1,024 different values, of the first ones at least ", text)

    def test_the_same_with_any_number_of_threads(self):
        source = random.Random(2)
        self.write_unchecked("a", [named_example({
            "x": [source.random() * 1e6], "n": [source.randrange(3000)],
            "name": [f"{source.randrange(2000)}"], "image": [b"\xff" * source.randrange(900)]})
            for _ in range(4000)])
        outputs = {self.run_it("stats", "--json", "--no-crc", "--threads", threads, "a")
                   for threads in [1, 2, 3, 8]}
        self.assertEqual(len(outputs), 1)

    def test_many_values_of_many_features(self):
        """With less memory per feature, quantiles are coarser and frequent values fewer."""
        source = random.Random(3)
        values = [[struct.unpack("<f", source.randbytes(4))[0] for _ in range(30)]
                  for _ in range(200)]
        self.write_unchecked("a", [named_example({
            f"f{i:03}": [value * source.random() for value in values[i]] for i in range(200)})
            for _ in range(240)])
        found = self.stats("a", "--no-crc")["features"]
        self.assertEqual(len(found), 200)
        for feature in found.values():
            numbers = feature["float"]
            self.assertFalse(numbers["quantiles_are_exact"] or numbers["distinct_is_exact"])
            self.assertLessEqual(numbers["quantiles_are_within"], 0.25)
            self.assertEqual(sum(numbers["histogram"]["counts"]) + numbers["nan"], 7200)
        alone = self.stats("a", "--no-crc", "--feature", "f007")["features"]["f007"]["float"]
        self.assertEqual(alone["quantiles_are_within"], 1 / 256)
        for name in ("count", "nan", "min", "max", "histogram"):
            if name != "histogram":
                self.assertEqual(alone[name], found["f007"]["float"][name])
        for name, value in alone["quantiles"].items():
            self.assertAlmostEqual(found["f007"]["float"]["quantiles"][name], value,
                                   delta=0.26 * abs(value))

    def test_names_beyond_the_limit_are_counted(self):
        self.write("a", named_example({f"f{i:03}": [i] for i in range(210)}), named_example({"": [1]}))
        self.assertIn("  and features of other names, 11 in all, which were not counted: choose with "
                      "--feature\n", self.run_it("stats", "a"))
        self.assertEqual(list(self.stats("a", "--feature", "f209")["features"]), ["f209"])

    def test_a_name_that_is_empty(self):
        self.write("a", named_example({"": [1]}))
        self.assertIn('  "": int64, 1 value in 100 % of Examples\n', self.run_it("stats", "a"))

    def test_a_record_worked_on_where_it_lies(self):
        """A record that is too large for a block gives the same statistics as many small
        records."""
        numbers = [i * 7919 % 100_003 for i in range(400_000)]
        small = [numbers[i:i + 10] for i in range(0, len(numbers), 10)]
        self.write_unchecked("small", [named_example({"x": some}) for some in small])
        self.write_unchecked("large", [named_example({"x": numbers * 3})])
        one = self.stats("small", "--no-crc")["features"]["x"]["int64"]
        other = self.stats("large", "--no-crc")["features"]["x"]["int64"]
        self.assertEqual(other["count"], 3 * one["count"])
        for name in ("min", "max", "quantiles_are_exact"):
            self.assertEqual(other[name], one[name])
        for name in ("mean", "sd"):
            self.assertAlmostEqual(other[name], one[name], places=6)
        for name, value in one["quantiles"].items():
            self.assertAlmostEqual(other["quantiles"][name], value, delta=1 + 0.001 * value)

    def test_threads(self):
        self.write("a", named_example({"x": [1]}))
        expected = self.run_it("stats", "a")
        for threads in (0, 1, 1024):
            self.assertEqual(self.run_it("stats", "a", "--threads", threads), expected)
        for threads in (1025, 100000, 2**64 - 1, 2**64, -1, "x"):
            self.assertEqual(self.start("stats", "a", "--threads", threads).returncode, 2)

    def test_other_messages(self):
        self.write("a", (GOLDEN / "sequences" / "steps.pb").read_bytes(), b"text", b"")
        text = self.run_it("stats", "a")
        self.assertTrue(text.startswith("3 records\n    82 bytes in all, sizes 0 to 78, "), text)
        self.assertIn("\n  1 of them no Examples\n", text)
        self.assertIn("  words: int64, 1 to 2 values in each of 2 steps\n", text)
        self.assertIn("  label: int64, 1 value in 50.0 % of Examples and SequenceExamples\n", text)
        self.write("b", (GOLDEN / "sequences" / "steps.pb").read_bytes())
        self.assertIn("  label: int64, 1 value in 100 % of SequenceExamples\n",
                      self.run_it("stats", "b"))

    def test_a_bar_for_each_of_few_whole_numbers(self):
        labels = [label for label in range(10) for _ in range(1 if label == 3 else 16)]
        self.write("a", *[named_example({"label": [label], "far": [-(2**62) if label < 5 else 2**62]})
                          for label in labels])
        text = self.run_it("stats", "a")
        self.assertIn("    histogram 0 █, 1 █, 2 █, 3 ▁, 4 █, 5 █, 6 █, 7 █, 8 █, 9 █\n", text)
        self.assertIn(f"    histogram {-(2**62)} ▇, {2**62} █\n", text)
        self.write("b", named_example({"x": list(range(16))}), named_example({"y": list(range(17))}))
        text = self.run_it("stats", "b")
        self.assertIn(" 14 █, 15 █\n", text)
        self.assertIn("    histogram 0 |", text)

    def test_any_input(self):
        path = self.write("a", *[named_example({"x": [i]}) for i in range(5)])
        expected = self.run_it("stats", "a")
        self.assertEqual(self.run_it("stats", "-", input=gzip.compress(path.read_bytes())),
                         expected)
        self.assertEqual(self.stats("a", "a")["features"]["x"]["int64"]["count"], 10)
        self.write("empty")
        self.assertEqual(self.run_it("stats", "empty"), "0 records\n")
        self.assertEqual(self.stats(DATA / "zstd" / "vectors.tfrecords.zst")["records"], 6)

    def test_usage(self):
        self.assertEqual(self.start("stats").returncode, 2)
        self.assertIn("tfrecord stats train.tfrecords", self.run_it("stats", "--help"))


if __name__ == "__main__":
    unittest.main()
