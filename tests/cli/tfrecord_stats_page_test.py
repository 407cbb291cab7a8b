#!/usr/bin/env python3
"""Tests the page of tfrecord stats --html: what it says and draws."""
import gzip
import re
import unittest

from tfrecord_test_case import TfrecordTest, named_example
from make_golden import field


def rows(page):
    """Of the map: (name, facts, kinds of its marks)."""
    return [(name, facts, re.findall(r'<rect class="(\w*)"', bar)) for name, bar, facts in re.findall(
        r'<li><span class="name" title="([^"]*)">[^<]*</span><svg[^>]*>(.*?)</svg>'
        r'<span class="count">([^<]*)</span></li>', page[:page.index("features-title")])]


def articles(page):
    """Of the features: the facts and the picture by name."""
    return {name: (facts, picture) for name, facts, picture in re.findall(
        r'<article class="feature"><h3>([^<]*)</h3><p>([^<]*)</p>(.*?)</article>', page)}


class Page(TfrecordTest):
    def page(self, *arguments, **options):
        return self.run_it("stats", "--html", *arguments, **options)

    def damage(self, name, *places):
        path = self.folder / name
        content = bytearray(path.read_bytes())
        for place in places:
            content[place] ^= 1
        path.write_bytes(content)

    def test_distributions(self):
        self.write("a", *[named_example({"label": [i % 3], "many": [i], "x": [i / 4, float("nan")],
                                         "word": ["<b>" if i % 2 else "c"], "long": [bytes(33)]})
                          for i in range(40)], named_example({"rare": [1.5]}))
        page = self.page("a")
        found = articles(page)
        self.assertEqual(list(found), ["record sizes", "label", "long", "many", "rare", "word", "x"])
        facts, picture = found["label"]
        self.assertEqual(facts, "int64, 1 value, in 97.6 % of the records; mean 0.975, sd 0.821203")
        self.assertEqual(re.findall(r'title="(\w+)".*?count">(\w+)<', picture),
                         [("0", "14"), ("1", "13"), ("2", "13")])
        self.assertIn("Histogram of many: 0 to 39", found["many"][1])
        self.assertIn("<span>0</span><span>median 19.5</span><span>39</span>", found["many"][1])
        self.assertIn("; 40 NaNs", found["x"][0])
        self.assertIn('title="&lt;b&gt;"', found["word"][1])
        self.assertIn("lengths: mean 33, sd 0", found["long"][0])
        self.assertIn("Histogram of lengths of long: 33 to 33", found["long"][1])
        # One file without damage has no map.
        self.assertNotIn("files-title", page)
        self.assertIn("script-src 'none'", page)
        self.assertNotIn("<script", page)

    def test_a_map_of_damage(self):
        records = [named_example({"id": [i], "text": ["x" * 50]}) for i in range(20)]
        for name in ("a", "b", "c"):
            self.write(name, *records)
        (self.folder / "z.gz").write_bytes(gzip.compress((self.folder / "a").read_bytes()))
        size = (self.folder / "a").stat().st_size
        self.damage("b", 40, size - 40)
        self.damage("z.gz", -4)
        page = self.page("a", "b", "c", "z.gz", "--skip-corrupt")
        in_all = f"{size:,} bytes"
        self.assertEqual(
            [(name, marks) for name, _, marks in rows(page)],
            [("a", [""]), ("b", ["", "lost", "lost"]), ("c", [""]), ("z.gz", ["somewhere"])])
        facts = dict((name, facts) for name, facts, _ in rows(page))
        self.assertEqual(facts["a"], in_all)
        self.assertEqual(facts["b"], f"{in_all}; 2 damaged regions of {2 * size // 20} bytes")
        self.assertIn("damaged region", facts["z.gz"])
        self.assertIn("2 of 4 have damage.", page)
        self.assertIn('role="alert">Left out: 3 damaged regions', page)
        # Where: the second of 20 records of equal size, and the last.
        marks = re.findall(r'class="lost" x="([\d.]+)" width="([\d.]+)"', page)
        self.assertEqual(marks, [("0.000", "5.000"), ("95.000", "5.000")])
        # Damage is an error without --skip-corrupt, and there is no page.
        self.expect_failure("corrupted record", "stats", "--html", "b", "-o", "page.html")
        self.assertFalse((self.folder / "page.html").exists())

    def test_of_many_files_the_damaged_ones(self):
        for i in range(203):
            self.write(f"p-{i:03}", named_example({"id": [i]}))
        page = self.page("p-*")
        self.assertEqual(len(rows(page)), 200)
        self.assertIn("The sizes of 200 files.", page)
        self.damage("p-202", 20)
        self.assertEqual([row[0] for row in rows(self.page("p-*", "--skip-corrupt"))], ["p-202"])

    def test_what_is_not_counted_is_said(self):
        self.write("a", named_example({f"f{i:03}": [i] for i in range(203)}))
        page = self.page("a")
        self.assertEqual(len(articles(page)), 1 + 200)
        self.assertIn('role="alert">Left out: features of other names, 3 in all, which were not',
                      page)
        self.write("b", named_example({"id": [1]}) + field(5, b"x"))
        self.assertIn("Example except for field 5", self.page("b"))

    def test_streams_have_no_size(self):
        content = self.write("a", named_example({"id": [1]})).read_bytes()
        page = self.page("-", "a", input=content)
        self.assertEqual([row[:2] for row in rows(page)],
                         [("standard input", "size unknown"), ("a", f"{len(content)} bytes")])

    def test_usage(self):
        self.write("a")
        for options in (["--json"], ["--format", "csv"]):
            self.expect_failure("--html is a format of its own", "stats", "a", "--html", *options,
                                status=2)
        self.assertIn("0 records", self.page("a"))


if __name__ == "__main__":
    unittest.main()
