#!/usr/bin/env python3
"""Runs the cases that the command shares with the Python package: support/toolkit_cases/."""
import json
import unittest

from tfrecord_test_case import TfrecordTest
import toolkit_cases


def arguments(options):
    """Two values repeat their option, more are joined by commas: both are allowed."""
    for name, value in options.items():
        option = {"features": "--feature", "check_crc": "--no-crc",
                  "on_damage": "--skip-corrupt"}.get(name, "--" + name.replace("_", "-"))
        if isinstance(value, dict):
            value = [f"{key}={item}" for key, item in value.items()]
        if isinstance(value, bool) or name == "on_damage":
            yield option
        elif isinstance(value, list):
            yield from (f"{option}={one}" for one in (value if len(value) == 2 else
                                                      [",".join(value)]))
        else:
            yield f"{option}={value}"


class Cases(toolkit_cases.ToolkitCases, TfrecordTest):
    def run_case(self, case, inputs, target):
        command = [case.function, *inputs, *arguments(case.options)]
        if case.function in ("convert", "salvage"):
            command += ["-o", target]
        result = self.start(*command, "--json")
        errors = self.notes = result.stderr.decode().strip()
        finds_damage = case.function in ("salvage", "verify")
        if result.returncode == 2:
            if not finds_damage:
                self.assertEqual(result.stdout, b"")
            lines = [line for line in errors.splitlines()
                     if line.startswith(f"tfrecord {case.function}: ")]
            raise toolkit_cases.Failed(lines[-1])
        report = [json.loads(line) for line in result.stdout.splitlines()]
        is_damaged = finds_damage and not all(file["intact"] for file in report)
        self.assertEqual(result.returncode, 1 if is_damaged else 0, errors)
        code = {kind: self.run_it(*command, f"--{kind}") for kind in case.code}
        return report if finds_damage else report[0], code


if __name__ == "__main__":
    unittest.main()
