#!/usr/bin/env python3
"""tfrecord create of CSV: types that are inferred and given, and what is refused."""
import unittest

from tfrecord_create_case import CreateTest
from tfrecord_test_case import named_example


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
        """However Python, pandas, R and C spell them; a column of nothing else is float, too."""
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
        self.refused("give --types", "-", "--from", "csv", status=2, input=b"id\n1\n")
        self.refused("line 2: column x: \"2.5\" is no int64", "-", "--from", "csv", "--types",
                     "x=int64", input=b"x\n2.5\n")
        self.refused("NAME=TYPE", "a.csv", "--types", "x", status=2)

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
                               ('a\n1\n"x', "line 3: a quote that doesn't end"),
                               ('a\nx"y\n', "line 2: a quote in the middle"),
                               ('a\n"x"y\n', "line 2: text behind a closing quote")):
            self.text("a.csv", content)
            self.refused(words, "a.csv")


if __name__ == "__main__":
    unittest.main()
