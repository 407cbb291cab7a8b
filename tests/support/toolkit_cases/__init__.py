"""Cases of what both the command tfrecord and the Python package can do: convert, salvage, schema,
stats and verify. tests/cli/tfrecord_cases_test.py runs them through the command,
tests/python/toolkit_cases_test.py through the package; a case fails where one differs.

A case that only one of them can have (text for a terminal, exit codes, pickling, ...) is in the tests of
its side.
"""
import pathlib
import tempfile

from toolkit_cases.case import Case, Failed, check
from toolkit_cases.convert import convert_cases
from toolkit_cases.schema import schema_cases
from toolkit_cases.stats import stats_cases
from toolkit_cases.verify import salvage_cases, verify_cases

__all__ = ["Case", "Failed", "ToolkitCases"]

CASES = {"convert": convert_cases, "salvage": salvage_cases, "schema": schema_cases,
         "stats": stats_cases, "verify": verify_cases}


class ToolkitCases:
    """The tests of both sides. run_case(case, inputs, target) returns the report, and the code of a
    schema, or raises Failed. It stores the warnings in `notes`, as text."""

    def check_all(self, function):
        for case in CASES[function]():
            with self.subTest(case.name), tempfile.TemporaryDirectory() as folder:
                check(self, case, pathlib.Path(folder))

    def test_convert(self):
        self.check_all("convert")

    def test_salvage(self):
        self.check_all("salvage")

    def test_schema(self):
        self.check_all("schema")

    def test_stats(self):
        self.check_all("stats")

    def test_verify(self):
        self.check_all("verify")
