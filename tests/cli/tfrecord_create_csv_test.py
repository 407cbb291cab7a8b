#!/usr/bin/env python3
"""Tests tfrecord create from CSV: inferred and given types, and rejected input."""
import gzip
import os
import unittest

from started import Started
from tfrecord_create_case import CreateTest
from tfrecord_test_case import named_example, record


class Csv(CreateTest):
    def test_types_are_inferred(self):
        self.text("a.csv", "\ufeffid,x,name,zip,list,empty\r\n"
                           '1,0.5,"a ""b"",\nc",007,"[1, 2]",\r\n'
                           "-2,3,,12,[],\n"
                           "\n"
                           '3,NaN,"",1,4,')
        self.created("a.csv", expected=[
            named_example({"id": [1], "list": [1, 2], "name": ['a "b",\nc'], "x": [0.5],
                           "zip": ["007"]}),
            self.second(),
            named_example({"id": [3], "list": [4], "name": [""], "x": [float("nan")],
                           "zip": ["1"]})])

    def test_nan_and_infinities_are_numbers(self):
        """In the spellings of Python, pandas, R and C; a column with nothing else is also float."""
        self.text("a.csv", "x,only,whole,name\n"
                           "nan,NaN,1,nan\n"
                           "-inf,,NAN,Nancy\n"
                           "Inf,nan,2,inf\n"
                           "+Infinity,-nan,3,\n")
        nan, inf = float("nan"), float("inf")
        self.created("a.csv", expected=[
            named_example({"name": ["nan"], "only": [nan], "whole": [1.0], "x": [nan]}),
            named_example({"name": ["Nancy"], "whole": [nan], "x": [-inf]}),
            named_example({"name": ["inf"], "only": [nan], "whole": [2.0], "x": [inf]}),
            named_example({"only": [nan], "whole": [3.0], "x": [inf]})])
        self.refused('"nan" is no int64', "a.csv", "--types", "x=int64")

    def test_a_byte_order_mark_before_quotes(self):
        for header in (b'id,x', b'"id",x', b'"id","x"'):
            self.text("a.csv", b"\xef\xbb\xbf" + header + b"\r\n1,2\r\n")
            expected = [named_example({"id": [1], "x": [2]})]
            self.created("a.csv", expected=expected)
            self.created("a.csv", "a.csv", expected=expected * 2)
            self.created("-", "--from", "csv", input=(self.folder / "a.csv").read_bytes(),
                         expected=expected)
        self.text("a.csv", b"\xef\xbb\xbf")
        self.created("a.csv", expected=[])

    def test_what_stands_in_quotes_is_text(self):
        self.text("a.csv", 'code,n,mixed,list\n"7",7,1,"[1]"\n"nan",8,"2","[2, 3]"\n"0.5",9,3,4\n')
        self.created("a.csv", expected=[
            named_example({"code": ["7"], "list": [1], "mixed": ["1"], "n": [7]}),
            named_example({"code": ["nan"], "list": [2, 3], "mixed": ["2"], "n": [8]}),
            named_example({"code": ["0.5"], "list": [4], "mixed": ["3"], "n": [9]})])
        # Unless the column's type is given: some programs quote all cells.
        self.text("a.csv", '"n","x"\n"7","0.5"\n')
        self.created("a.csv", "--types", "n=int64,x=float",
                     expected=[named_example({"n": [7], "x": [0.5]})])

    def second(self):
        self.text("b.json", '{"features": {"id": [-2], "list": [], "x": [3.0], "zip": ["12"]}, '
                            '"kinds": {"list": "int64"}}')
        self.run_it("create", "b.json", "-o", "b")
        return (self.folder / "b").read_bytes()[12:-4]

    def test_types_given(self):
        self.text("a.csv", "id,x\n1,2\n")
        self.created("a.csv", "--types", "id=bytes,x=float",
                     expected=[named_example({"id": ["1"], "x": [2.0]})])
        self.created("-", "--from", "csv", "--types", "id=int64", "--types", "x=int64",
                     input=b"id,x\n1,2\n", expected=[named_example({"id": [1], "x": [2]})])
        self.refused("line 2: column x: \"2.5\" is no int64", "-", "--from", "csv", "--types",
                     "x=int64", input=b"x\n2.5\n")
        self.refused("NAME=TYPE", "a.csv", "--types", "x", status=2)

    def test_pipes(self):
        """Types are also inferred for pipes, although that takes two passes."""
        content = b"id,x\n1,2\n3,0.5\n"
        expected = [named_example({"id": [1], "x": [2.0]}), named_example({"id": [3], "x": [0.5]})]
        self.text("a.csv", content)
        self.created("-", "--from", "csv", input=content, expected=expected)
        self.created("-", "--from", "csv", input=gzip.compress(content), expected=expected)
        self.created("-", "--from", "csv", "--types", "id=int64", input=content, expected=expected)
        self.run_it("create", "-", "--from", "csv", "-o", "s", "--shards", 2, "--types",
                    "id=int64,x=float", input=content)
        self.assertEqual((self.folder / "s-00001-of-00002").read_bytes(), record(expected[1]))
        for types in ([], ["--types", "id=int64,x=float"]):
            os.mkfifo(self.folder / "fifo.csv")
            with Started(["cp", "a.csv", "fifo.csv"], cwd=self.folder):
                self.created("fifo.csv", "a.csv", *types, expected=expected * 2)
            os.remove(self.folder / "fifo.csv")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["a.csv", "out", "s-00000-of-00002", "s-00001-of-00002"])

    def test_other_separators(self):
        for separator in ";\t|":
            self.text("a.csv", f"id{separator}label\n1{separator}3\n")
            self.refused("values should be separated by commas", "a.csv")
        self.text("a.csv", "a;b\n1;2\n")
        self.created("a.csv", "--types", "a;b=bytes", expected=[named_example({"a;b": ["1;2"]})])

    def test_whole_numbers_that_a_float_rounds(self):
        for content, place in (("id\n0.5\n16777216\n16777217\n", "line 4: column id: 16777217 "),
                               ("id\n16777217\n16777219\n0.5\n", "line 2: column id: 16777217 "),
                               ("id\n18446744073709551615\n", "column id: 18446744073709551615 "),
                               ("id\nNaN\n-9007199254740993\n", "column id: -9007199254740993 "),
                               ('id\n"[1, 16777217]"\n0.5\n', "column id: [1, 16777217] ")):
            self.text("a.csv", content)
            self.refused(f"{place}is a whole number that a float", "a.csv")
            self.refused("--types id=float rounds it, --types id=bytes keeps its digits", "a.csv")
            self.run_it("create", "a.csv", "-o", "out", "--types", "id=float")
            os.remove(self.folder / "out")
        # Accepted: integers of any size that a float holds exactly, and any in a column of bytes or
        # int64.
        self.text("a.csv", "x,name,id\n33554436,16777217,16777217\n0.5,n,-9007199254740993\n"
                           "-9223372036854775808,1,1\n16777217.0,1,1\n")
        self.created("a.csv", expected=[
            named_example({"id": [i], "name": [name], "x": [x]}) for i, name, x in (
                (16777217, "16777217", 33554436.0), (-9007199254740993, "n", 0.5),
                (1, "1", -2.0**63), (1, "1", 2.0**24))])

    def test_line_ends(self):
        rows = [named_example({"a": ["x"], "b": [1]}), named_example({"a": ["y\rz\r\n"], "b": [2]})]
        for end, last in (("\n", ""), ("\r\n", "\r\n"), ("\r\n", "\r"), ("\n", "\n")):
            self.text("a.csv", end.join(("a,b", "x,1", '"y\rz\r\n",2')) + last)
            self.created("a.csv", expected=rows)
        for content, line in (("a,b\rx,1\r", 1), ("a,b\n1,2\nx\ry,1\n", 3),
                              ('a,b\n"x"\r,1\n', 2), ("a,b\nx\r,1\n", 2), ("a\nx\r\r\n", 2)):
            self.text("b.csv", content)
            self.refused(f"b.csv: line {line}: a carriage return in the middle of a line", "b.csv")

    def test_more_cells_than_a_row_may_have(self):
        with open(self.folder / "a.csv", "wb") as file:
            for _ in range(100):
                file.write(b"," * 1_000_000)
        self.refused("a.csv: line 1: more than 100,000 cells", "a.csv")
        if not os.environ.get("RECORDPIPE_SANITIZE"):
            self.assertLess(self.peak("create", "a.csv", "-o", "out", status=2), 64 << 20)
        self.text("a.csv", b"a\n1\n" + b"," * 1_000_000)
        self.refused("a.csv: line 3: more than 100,000 cells", "a.csv")
        self.text("a.csv", ",".join(f"c{i}" for i in range(100_000)) + "\n" + "," * 99_999 + "\n")
        self.created("a.csv", expected=[b""])

    def test_base64_and_several_files(self):
        self.text("a.csv", 'x\n"{""base64"": ""/w==""}"\n[text\n')
        self.text("b.csv", 'y,x\n1,2\n')
        self.created("a.csv", "b.csv", expected=[
            named_example({"x": [b"\xff"]}), named_example({"x": ["[text"]}),
            named_example({"x": ["2"], "y": [1]})])

    def test_nothing(self):
        for content in ("", "\n", "a,b\n"):
            self.text("a.csv", content)
            self.created("a.csv", expected=[])

    def test_types_of_no_column(self):
        for content in ("a,b\n1,2\n", "a,b\n"):
            self.text("a.csv", content)
            self.refused("--types names c, which is no column", "a.csv", "--types", "a=float,c=float")

    def test_what_is_refused(self):
        for content, words in (("a,b\n1\n", "line 2: 1 cells, where the header has 2"),
                               ("a,b\n1,2,3\n", "line 2: 3 cells"),
                               ("a,a\n1,2\n", 'two columns named "a"'),
                               ('a\n1\n"x', "line 3: a quote that isn't closed"),
                               ('a\nx"y\n', "line 2: a quote in the middle"),
                               ('a\n"x"y\n', "line 2: text after a closing quote")):
            self.text("a.csv", content)
            self.refused(words, "a.csv")


if __name__ == "__main__":
    unittest.main()
