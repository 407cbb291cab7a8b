#!/usr/bin/env python3
"""Tests tfrecord create from LibSVM's text."""
import gzip
import unittest

from tfrecord_create_case import CreateTest
from tfrecord_test_case import example, named_example
from make_golden import field


class Libsvm(CreateTest):
    def test_lines(self):
        self.text("a.libsvm", "1 1:0.5 7:-2e3 # a comment\n"
                              "\n# nothing\n"
                              "-1.5\tqid:3 0:1\r\n"
                              "+1 2:+0.25 9223372036854775807:nan\n"
                              "0")
        expected = [
            named_example({"index": [1, 7], "label": [1.0], "value": [0.5, -2000.0]}),
            named_example({"index": [0], "label": [-1.5], "qid": [3], "value": [1.0]}),
            named_example({"index": [2, 2**63 - 1], "label": [1.0], "value": [0.25, float("nan")]}),
            example(index=field(3, b""), label=field(2, field(1, bytes(4))), value=field(2, b""))]
        self.created("a.libsvm", expected=expected)
        content = (self.folder / "a.libsvm").read_bytes()
        self.created("-", "--from", "libsvm", input=gzip.compress(content), expected=expected)
        self.created("-", "--from", "libsvm", "--encoding", "utf-16",
                     input=content.decode().encode("utf-16"), expected=expected)
        self.created("-", "--from", "libsvm", input=b"\xef\xbb\xbf" + content, expected=expected)
        self.text("b.svm", "\n")
        self.created("b.svm", expected=[])

    def test_what_is_refused(self):
        for line, words in (
                ("a 1:2", '"a" is no number'), ("1,2 1:2", '"1,2" is no number'),
                ("1 2", '"2" is no INDEX:VALUE'), ("1 1:2 :3", '"" is no index'),
                ("1 1.5:2", '"1.5" is no index'), ("1 1:x", '"x" is no number'),
                ("1 9223372036854775808:1", "is no index"), ("1 1:1e39", "1e39 is out of the range"),
                ("1 1:1e-50", "1e-50 is out of the range of float"), ("+-1 1:1", "is no number"),
                ("1 1:2 qid:3", "qid: stands once"), ("1 qid:3 qid:4", "qid: stands once")):
            self.text("a.svm", f"1 1:1\n{line}\n")
            self.refused("a.svm: line 2: ", "a.svm")
            self.refused(words, "a.svm")
        self.refused("--types is for JSON and CSV", "a.svm", "--types", "label=int64")


if __name__ == "__main__":
    unittest.main()
