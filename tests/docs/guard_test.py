#!/usr/bin/env python3
"""Tests that tests/bench/guard finds its ten ratios in docs/benchmarks.md, and explains itself
without any package.

Run by CTest.
"""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GUARD = ROOT / "tests/bench/guard"
LOADER = importlib.machinery.SourceFileLoader("guard", str(GUARD))  # it has no .py at its end
guard = importlib.util.module_from_spec(importlib.util.spec_from_loader("guard", LOADER))
LOADER.exec_module(guard)


class Guard(unittest.TestCase):
    def setUp(self):
        self.page = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")

    def test_each_row_is_documented(self):
        ratios = guard.documented(self.page)
        self.assertEqual(len(ratios), 10)
        self.assertEqual(ratios["decode image and label of every Example"], 0.73)
        self.assertEqual(ratios["verify 1,000,000 records of 3 KB"], 0.80)  # of a range
        for name, ratio in ratios.items():
            self.assertTrue(0.5 <= ratio <= 2, f"{name}: {ratio}")

    def test_a_row_that_is_gone(self):
        for gone, name in (("| training pipeline, uint8,", "training pipeline, uint8"),
                           ("| the bare loop, 2,771 |", "photographs")):
            with self.assertRaisesRegex(ValueError, f"^{name}: 0 rows"):
                guard.documented(self.page.replace(gone, "| |"))

    def test_help(self):
        told = subprocess.run([sys.executable, "-I", "-S", GUARD, "--help"], text=True,
                              capture_output=True, check=True).stdout
        self.assertIn("tests/bench/guard BUILD", told)
        self.assertIn("half of its documented ratio", told)


if __name__ == "__main__":
    unittest.main()
