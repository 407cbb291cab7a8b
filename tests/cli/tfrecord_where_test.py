#!/usr/bin/env python3
"""Tests the where language from the command line: facts about records in every command, and regular
expressions, which must find what those of Python find."""
import gzip
import json
import random
import re
import unittest

from tfrecord_test_case import TfrecordTest, named_example


class Facts(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *(named_example({"id": [i], "text": ["x" * i]}) for i in range(5)))
        self.write("b", *(named_example({"id": [10 + i], "text": ["y"]}) for i in range(3)))

    def ids(self, *arguments):
        return [record["features"]["id"][0] for record in self.json("show", "--json", *arguments)]

    def test_numbers_and_paths_in_show(self):
        self.assertEqual(self.ids("a", "b", "--where", "record.number == 2"), [2, 12])
        self.assertEqual(self.ids("a", "b", "--where", "record.path == 'b'"), [10, 11, 12])
        self.assertEqual(self.ids("a", "--range", "2:", "--where", "record.number <= 3"), [2, 3])
        self.assertEqual(self.ids("a", "a", "--where", "record.number == 0"), [0, 0])
        size = self.json("info", "--json", "b")[0]["record_sizes"]["max"]
        self.assertEqual(self.ids("a", "b", "--where", f"record.size == {size}"), [1, 10, 11, 12])

    def test_numbers_in_every_command(self):
        """Numbers are those of the file, whatever --limit and --sample do."""
        where = ["--where", "record.number in [0, 2] and record.path != 'c'"]
        for threads in ([], ["--threads", "1"]):
            self.run_it("convert", "a", "b", "-o", "out", *where, *threads)
            self.assertEqual(self.ids("out"), [0, 2, 10, 12])
            self.run_it("convert", "a", "b", "-o", "out", "--limit", "3", *where, *threads)
            self.assertEqual(self.ids("out"), [0, 2, 10])
        self.run_it("convert", "a", "b", "-o", "out", "--sample", "0.999999", *where)
        self.assertEqual(self.ids("out"), [0, 2, 10, 12])
        for name in ("stats", "schema"):
            for limit in ([], ["--limit", "4"]):
                self.assertEqual(self.json(name, "--json", "a", "b", *where, *limit)[0]["records"],
                                 4)
        self.run_it("export", "a", "b", "-o", "out.jsonl", *where)
        rows = (self.folder / "out.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(row)["features"]["id"][0] for row in rows], [0, 2, 10, 12])
        self.assertEqual(self.json("view", "--json", "a", "b", "-o", "page", *where)[0]["records"],
                         4)
        self.assertEqual(self.run_it("diff", "a", "a", *where), "the same 2 records\n")
        self.assertEqual(self.run_it("count", "a", "b", *where), "2  a\n2  b\n4  total\n")

    def test_standard_input_and_compressed_files(self):
        data = (self.folder / "a").read_bytes()
        (self.folder / "z.gz").write_bytes(gzip.compress(data))
        self.assertEqual(self.ids("z.gz", "--where", "record.number > 2"), [3, 4])
        for command in (["count", "-", "--where"], ["grep", "-c"]):
            words = [*command, "record.path == '-' and record.number == 4"]
            result = self.start(*words, *([] if "-" in command else ["-"]), input=data)
            self.assertEqual(result.stdout.split()[0], b"1", result.stderr)

    def test_a_feature_of_that_name(self):
        self.write("c", named_example({"record.size": [7]}))
        self.run_it("show", "c", "--where", "`record.size` == 7")
        self.run_it("show", "c", "--where", "record.size == 7")

    def test_mistakes(self):
        self.expect_failure("--where, column 17: byte 1 of the pattern: missing ]", "show", "a",
                            "--where", "matches( text , '[a')")
        self.expect_failure("--where uses contains() on id, but its values are int64", "show", "a",
                            "--where", "contains(id, '1')")


def atom(r, depth):
    kind = r.randrange(13)
    if kind < 5:
        return r.choice("abcéÉж_ ")
    if kind == 5:
        return "."
    if kind == 6:
        return r.choice([r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"])
    if kind == 7:
        return f"[{r.choice(['', '^'])}{r.choice(['a-c', 'é', 'a-é', 'à-ï', 'b_', 'Z-b', '€-😀'])}]"
    if kind == 8:
        return r.choice(["^", "$", r"\b"])
    if kind == 9:
        return r.choice([r"\.", r"\x41", r"\n"])
    if depth > 0:
        return r.choice(["(", "(?:", "(?i:"]) + alternatives(r, depth - 1) + ")"
    return "a"


def repeated(r, depth):
    part = atom(r, depth)
    if part in ("^", "$", r"\b"):
        return part
    return part + r.choice(["*", "+", "?", "{0,2}", "{2}", "*?", "{1,}", "", "", "", ""])


def alternatives(r, depth):
    return "|".join("".join(repeated(r, depth) for _ in range(r.randrange(1, 5)))
                    for _ in range(r.choice([1, 1, 1, 2, 3])))


class Patterns(TfrecordTest):
    def test_find_what_those_of_python_find(self):
        r = random.Random(7)
        texts = ["", "a", "\n", "é"] + ["".join(r.choice("aabbcAéÉжЖ_ \n1.€😀") for _ in range(
            r.randrange(1, 9))) for _ in range(60)]
        self.write("a", *(named_example({"t": [text]}) for text in texts))
        for _ in range(250):
            pattern = r.choice(["", "", "(?i)", "(?s)"]) + alternatives(r, 2)
            knows_words = re.search(r"\\[dwsDWSb]", pattern)
            if "(?i" in pattern and knows_words:
                continue  # ours: words of ASCII, cases of Unicode
            compiled = re.compile(pattern.replace("$", r"\Z"), re.ASCII if knows_words else 0)
            expected = [i for i, text in enumerate(texts) if compiled.search(text)]
            with self.subTest(pattern):
                found = self.start("grep", "--json", f'matches(t, r"{pattern}")', "a").stdout
                self.assertEqual([json.loads(line)["record"] for line in found.splitlines()],
                                 expected)


if __name__ == "__main__":
    unittest.main()
