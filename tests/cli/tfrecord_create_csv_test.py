#!/usr/bin/env python3
"""Tests tfrecord create from CSV: inferred and given types, and rejected input."""
import gzip
import os
import unittest

from started import Started
from tfrecord_create_case import CreateTest
from tfrecord_test_case import example, named_example, record
from make_golden import field


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
            self.refused("values should be separated by commas (name its delimiter with "
                         "--delimiter", "a.csv")
            self.created("a.csv", "--delimiter", separator,
                         expected=[named_example({"id": [1], "label": [3]})])
        self.text("a.csv", "a;b\n1;2\n")
        self.created("a.csv", "--types", "a;b=bytes", expected=[named_example({"a;b": ["1;2"]})])
        # Quotes protect the delimiter, and commas stand for themselves.
        self.text("a.csv", 'id;list;text\n1;[1, 2];"a;b"\n2;3;c,d\n')
        self.created("a.csv", "--delimiter", ";", expected=[
            named_example({"id": [1], "list": [1, 2], "text": ["a;b"]}),
            named_example({"id": [2], "list": [3], "text": ["c,d"]})])

    def test_tabs(self):
        expected = [named_example({"id": [1], "name": ["a,b"]})]
        self.text("a.tsv", "id\tname\n1\ta,b\n")
        self.created("a.tsv", expected=expected)
        self.text("a", (self.folder / "a.tsv").read_bytes())
        self.created("a", "--from", "tsv", expected=expected)
        for spelled in ("\\t", "tab", "\t"):
            self.created("a", "--from", "csv", "--delimiter", spelled, expected=expected)
        self.text("b.tsv", "id,name\n1,a\n")
        self.refused("values should be separated by tabs", "b.tsv")
        self.text("a.csv", "id\n1\n")
        self.refused("inputs of several formats, tsv and csv", "a.tsv", "a.csv")

    def test_delimiters_that_are_refused(self):
        self.text("a.csv", "id\n1\n")
        for wrong in ("ab", "1", '"', ".", "-", "[", "\n", "\u00e4"):
            self.assertIn("can't separate cells",
                          self.run_it("create", "a.csv", "-o", "out", f"--delimiter={wrong}",
                                      status=2))
        self.text("a.json", "{}")
        self.refused("--delimiter is for CSV, not json", "a.json", "--delimiter", ";")

    def test_names_that_are_not_utf8(self):
        self.text("a.csv", b"id,caf\xe9\n1,2\n")
        self.refused('a.csv: line 1, byte 7: the column name "caf\\xe9" is not UTF-8', "a.csv")
        self.refused("--encoding latin1 reads it", "a.csv")
        self.text("a.csv", b'\xef\xbb\xbf\n"i""d","a\nb\xff"\n1,2\n')
        self.refused("a.csv: line 2, byte 16: the column name", "a.csv")
        # Values are bytes of any content.
        self.text("a.csv", b"name\ncaf\xe9\n")
        self.created("a.csv", expected=[named_example({"name": [b"caf\xe9"]})])

    def test_encodings(self):
        text = "id,n\u00e4me\n1,caf\u00e9 \u20ac\n2,\U0001f600\n"
        expected = [named_example({"id": [1], "n\u00e4me": ["caf\u00e9 \u20ac"]}),
                    named_example({"id": [2], "n\u00e4me": ["\U0001f600"]})]
        for encoding, name in (("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"),
                               ("utf-16-be", "UTF-16BE"), ("utf-32", "UTF-32")):
            for content in (text.encode(encoding), gzip.compress(text.encode(encoding))):
                self.text("a.csv", content)
                self.refused(f"a.csv: is {name} text, not UTF-8 (--encoding {name} reads it)",
                             "a.csv")
                self.created("a.csv", "--encoding", name, expected=expected)
                self.created("-", "--from", "csv", "--encoding", name.lower(), input=content,
                             expected=expected)
        self.text("a.csv", "id,n\u00e4me\n1,caf\u00e9\n".encode("latin1"))
        expected = [named_example({"id": [1], "n\u00e4me": ["caf\u00e9"]})]
        self.created("a.csv", "--encoding", "latin1", expected=expected)
        self.text("a.csv", "\ufeffid,n\u00e4me\n1,caf\u00e9\n")
        for encoding in ([], ["--encoding", "UTF-8"]):
            self.created("a.csv", *encoding, expected=expected)
        # Larger than the buffers, and characters at their ends.
        names = ["\u00e4\u20ac\U0001f600" * 5000, "x" + "\u20ac" * 50000]
        self.text("a.csv", ("n\n" + "\n".join(names)).encode("utf-16"))
        self.created("a.csv", "--encoding", "utf-16",
                     expected=[named_example({"n": [name]}) for name in names])
        self.text("a.jsonl", '{"n\u00e4me": "caf\u00e9"}\n'.encode("utf-16"))
        self.refused("a.jsonl: is UTF-16 text", "a.jsonl")
        self.created("a.jsonl", "--encoding", "utf-16",
                     expected=[named_example({"n\u00e4me": ["caf\u00e9"]})])

    def test_what_is_not_of_the_encoding(self):
        self.text("a.csv", b"id,name\n1,caf\xe9\n")
        self.refused("a.csv: line 2: byte 14 of the file is not utf-8", "a.csv", "--encoding",
                     "utf-8")
        self.text("a.csv", "id\n1\n".encode("utf-16-le") + b"\0")
        self.refused("a.csv: line 3: byte 11 of the file is not utf-16le", "a.csv", "--encoding",
                     "utf-16le")
        for wrong in ("klingon", "", "latin1//IGNORE"):
            self.refused("no encoding is named", "a.csv", "--encoding", wrong or "\u00e4")
        self.text("a.npy", b"")
        self.refused("--encoding is for text, not numpy", "a.npy", "--encoding", "latin1")

    def test_whole_numbers_that_a_float_rounds(self):
        for content, place in (("id\n0.5\n16777216\n16777217\n", "line 4: column id: 16777217 "),
                               ("id\n16777217\n16777219\n0.5\n", "line 2: column id: 16777217 "),
                               ("id\n18446744073709551615\n", "column id: 18446744073709551615 "),
                               ("id\n9223372036854775809\n", "column id: 9223372036854775809 "),
                               ('id\n"[-9223372036854775809]"\n', "id: [-9223372036854775809] "),
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
        # Also beyond int64.
        self.text("a.csv", f'x\n{2**63}\n-{2**64}\n"[{2**63}, {2**127 - 2**103}]"\n')
        self.created("a.csv", expected=[
            named_example({"x": x}) for x in (
                [2.0**63], [-2.0**64], [2.0**63, 2.0**127 - 2.0**103])])

    def test_uint64_is_stored_by_its_bits_if_the_types_say_so(self):
        self.text("a.csv", 'a,b\n18446744073709551615,1\n7,2\n"[9223372036854775808, 0]",3\n')
        self.created("a.csv", "--types", "a=uint64", expected=[
            named_example({"a": a, "b": [b]}) for a, b in (
                ([-1], 1), ([7], 2), ([-2**63, 0], 3))])
        self.text("a.csv", "a\n-1\n")
        self.refused("a.csv: line 2", "a.csv", "--types", "a=uint64")
        for other, way in (("7", ", --types a=uint64 keeps its bits)"), ("-7", ")")):
            self.text("a.csv", f"a\n{other}\n18446744073709551615\n")
            self.refused(f"--types a=bytes keeps its digits{way}", "a.csv")

    def test_numbers_that_no_float_can_hold(self):
        for number in ("1e39", "-1e300", "1e400", "1e-50", "-1e-400", "[1, 1e39]", "[1e400]"):
            cell = f'"{number}"' if "," in number else number
            self.text("a.csv", f"id,x\n1,0.5\n2,{cell}\n3,4\n")
            wrong = number.strip("[]").split(", ")[-1]
            shown = number if wrong == "1e400" else wrong
            self.refused(f"a.csv: line 3: column x: {shown} is out of the range of float (--types "
                         "x=bytes keeps its digits)", "a.csv")
            self.refused("a.csv: line 3: column x: ", "a.csv", "--types", "x=float")
        # In text they are text, and floats are rounded.
        self.text("a.csv", "x,name\n3.4028235e38,1e39\n1e-45,n/a\n0e-400,1e-400\n0.1,[1e400]\n")
        self.created("a.csv", expected=[
            named_example({"name": [name], "x": [x]}) for name, x in (
                ("1e39", 3.4028234663852886e38), ("n/a", 1e-45), ("1e-400", 0.0),
                ("[1e400]", 0.1))])

    def test_what_is_written_with_a_point_is_a_float_in_lists_too(self):
        self.text("a.csv", 'x\n"[8.0, -0.0]"\n[1e3]\n[]\n')
        self.created("a.csv", expected=[
            named_example({"x": [8.0, -0.0]}), named_example({"x": [1e3]}), example(x=field(2, b""))])
        self.text("a.csv", 'x\n"[8, 0]"\n[1000]\n')
        self.created("a.csv", expected=[named_example({"x": [8, 0]}), named_example({"x": [1000]})])
        # -0 is no integer, in a list or outside of one.
        self.text("a.csv", 'x,y,z\n-0,[-0],"[-0, 3]"\n')
        self.created("a.csv", expected=[named_example({"x": [-0.0], "y": [-0.0], "z": [-0.0, 3.0]})])
        # A type that is given goes first.
        self.text("a.csv", 'x\n"[8.0, 1e3]"\n')
        self.created("a.csv", "--types", "x=int64", expected=[named_example({"x": [8, 1000]})])

    def test_booleans(self):
        self.text("a.csv", "a,b,c,d\ntrue,TRUE,true,true\nfalse,False,1,maybe\n,True,,\n")
        self.created("a.csv", expected=[
            named_example({"a": [1], "b": [1], "c": ["true"], "d": ["true"]}),
            named_example({"a": [0], "b": [0], "c": ["1"], "d": ["maybe"]}),
            named_example({"b": [1]})])
        self.created("a.csv", "--types", "a=bytes,c=int64", expected=[
            named_example({"a": ["true"], "b": [1], "c": [1], "d": ["true"]}),
            named_example({"a": ["false"], "b": [0], "c": [1], "d": ["maybe"]}),
            named_example({"b": [1]})])

    def test_types_and_why_they_were_chosen_are_printed(self):
        self.text("a.csv", 'code,empty,flag,given,id,list,mixed,name,none,quoted,x\n'
                           '007,[],true,1,1,"[1, 2]",true,1,,"7",1\n'
                           '8,[],False,2,2,3,0,"n/a",,8,-2.5\n')
        types = ['code: bytes ("007" in line 2, with a zero in front)',
                 "empty: int64 (all lists are empty)", "flag: int64 (true is 1, and false is 0)",
                 "id: int64", "list: int64", "mixed: bytes (true in line 2 beside 0 in line 3)",
                 'name: bytes ("n/a" in line 3)', "none: int64 (all cells are empty)",
                 'quoted: bytes ("7" in line 2, in quotes)', "x: float (-2.5 in line 3)"]
        printed = self.notes("create", "a.csv", "-o", "out", "--types", "given=float")
        self.assertEqual(printed, "".join(f"column {line}\n" for line in types))
        self.text("b.csv", "x\nn/a\n")
        self.text("c.csv", "x\n1\n")
        self.assertEqual(self.notes("create", "c.csv", "b.csv", "-o", "out"),
                         'column x: bytes ("n/a" in line 2 of b.csv)\n')

    def test_values_in_another_encoding_are_reported(self):
        self.text("a.csv", "id,x,y\n1,n/a,caf\u00e9\n2,caf\u00e9,7\n".encode("latin1"))
        hint = "--encoding latin1 reads it, if that is its encoding"
        self.assertEqual(self.notes("create", "a.csv", "-o", "out").splitlines(), [
            "column id: int64",
            f'column x: bytes ("n/a" in line 2; "caf\\xe9" in line 3 is not UTF-8, and kept as its bytes: {hint})',
            f'column y: bytes ("caf\\xe9" in line 2; "caf\\xe9" in line 2 is not UTF-8, and kept as its '
            f"bytes: {hint})"])
        self.assertNotIn("UTF-8", self.notes("create", "a.csv", "-o", "out", "--encoding", "latin1"))

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
        for content, words in (("a,b\n1\n", "line 2: 1 cell, where the header has 2"),
                               ("a,b\n1,2,3\n", "line 2: 3 cells"),
                               ("a,a\n1,2\n", 'two columns named "a"'),
                               ('a\n1\n"x', "line 3: a quote that isn't closed"),
                               ('a\nx"y\n', "line 2: a quote in the middle"),
                               ('a\n"x"y\n', "line 2: text after a closing quote")):
            self.text("a.csv", content)
            self.refused(words, "a.csv")


if __name__ == "__main__":
    unittest.main()
