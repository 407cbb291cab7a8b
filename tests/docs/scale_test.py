#!/usr/bin/env python3
"""Tests the figures of docs/scale.md: the rates are those of docs/benchmarks.md, and the times and
counts of machines are what the page's formula gives.

Run by CTest.
"""
import math
import pathlib
import re
import unittest

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
UNITS = {"MB/s": 1e6, "GB/s": 1e9, "min": 60, "minutes": 60, "h": 3600, "hours": 3600}
NETWORK, CORES = 3.1e9, 32


def tables():
    """The page's tables, as lists of rows of cells."""
    page = (DOCS / "scale.md").read_text(encoding="utf-8")
    return [[[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]
            for table in re.findall(r"(?<=\| --- \|\n)((?:\|.*\n)+)", page)]


def quantity(text):
    """(the quantity, how far it may be off: half of the last digit)."""
    number, unit = re.search(r"([\d.]+) (\S+)$", text).groups()
    digits = len(number.split(".")[1]) if "." in number else 0
    return float(number) * UNITS[unit], 0.5001 * 10**-digits * UNITS[unit]


class Scale(unittest.TestCase):
    def expect(self, calculated, shown):
        value, tolerance = quantity(shown)
        self.assertLessEqual(abs(calculated - value), tolerance, f"{calculated} is not {shown}")

    def test_rates(self):
        measured, _ = tables()
        benchmarks = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
        self.assertEqual(len(measured), 5)
        for work, rate, per_core, terabyte in measured:
            with self.subTest(work):
                if "row" in work:
                    size = int(re.search(r"rows of ([\d,]+) bytes", work)[1].replace(",", ""))
                    row = re.search(rf"^\| {size:,} bytes .*? \| ([\d,]+) rows/s", benchmarks,
                                    re.MULTILINE)
                    self.expect(size * int(row[1].replace(",", "")), rate)
                else:
                    self.assertRegex(benchmarks, rf"(?m)^\| `{work.split()[0].strip('`')}.*"
                                     rf"2 cores \| {rate.split()[0]} ")
                self.expect(quantity(rate)[0] / 2, per_core)
                self.expect(1e12 / quantity(per_core)[0], terabyte)

    def test_machines(self):
        measured, machines = tables()
        of_core = {row[0]: quantity(row[1])[0] / 2 for row in measured}
        cores = {"`verify`": "`verify`",
                 "`convert`, level fast": "`convert --compression gzip --level fast`",
                 "`convert`, gzip level 1": "`convert --compression gzip` (level 1)"}
        self.assertEqual(len(machines), 4)
        for work, limit, *times, counts in machines:
            with self.subTest(work):
                if work == "global shuffle":
                    rate = NETWORK / 2
                else:
                    rate = min(NETWORK, CORES * of_core[cores[work]])
                self.expect(rate, re.match(r"\w+, ([\d.]+ \S+?)(?=;|$)", limit)[0])
                if ";" in limit:
                    self.expect(CORES * of_core[cores[work]], limit)
                for terabytes, time in zip((2, 20, 200), times):
                    self.expect(terabytes * 1e12 / rate, time)
                self.assertEqual(counts, "; ".join(
                    str(math.ceil(terabytes * 1e12 / (3600 * rate))) for terabytes in (20, 200)))


if __name__ == "__main__":
    unittest.main()
