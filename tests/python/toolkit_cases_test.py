"""Runs the cases that the package shares with the command: tests/support/toolkit_cases/."""

import base64
import dataclasses
import unittest
import warnings
from collections.abc import Mapping

import recordpipe as rp
import support  # noqa: F401  the path of the next one
import toolkit_cases


def as_json(value, name=""):
    """Part of a report as the command prints it."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if "quantiles_within" in fields:
            within = fields.pop("quantiles_within")
            if fields["quantiles"]:
                fields["quantiles_are_exact"] = within == 0
        if fields.get("distinct") == 0:  # without values other than NaN
            fields = {name: fields[name] for name in ("count", "nan")}
        return as_json(fields)
    if name in ("values", "steps") and value is not None:
        least, most = value
        return least if least == most else {"min": least, "max": most}
    if name == "most_frequent":
        return [{"value": as_json(one), "count": count} for one, count in value]
    if isinstance(value, Mapping):
        return {str(key): as_json(item, key) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    return value


class Cases(toolkit_cases.ToolkitCases, unittest.TestCase):
    def run_case(self, case, inputs, target):
        function = getattr(rp, case.function)
        targets = [target] if case.function in ("convert", "salvage") else []
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                report = function(inputs, *targets, **case.options)
            self.notes = "\n".join(str(one.message) for one in caught)
        except (rp.Error, ValueError) as error:
            classes = [one.__name__ for one in type(error).__mro__]
            raise toolkit_cases.Failed(str(error), classes) from error
        code = {kind: getattr(report, kind) for kind in case.code}
        return getattr(self, case.function)(report), code

    def convert(self, report):
        if report.plan is not None:
            return as_json(report.plan)
        files = [as_json(file) for file in report.files]
        return {
            "files": [{**file, "split": file["split"] or None} for file in files],
            "regions_skipped": report.regions_skipped,
            "bytes_skipped": report.bytes_skipped,
            "compressed_bytes_skipped": report.compressed_bytes_skipped or None,
        }

    def salvage(self, report):
        return self.verify(report)

    def schema(self, report):
        def printed(fields):
            return {
                name: {
                    "kind": one.kind,
                    "share": one.share,
                    "steps": as_json(getattr(one, "steps", None), "steps"),
                    "values": as_json(one.values, "values"),
                }
                for name, one in fields.items()
            }

        return {
            "records": report.records,
            "kind": report.kind,
            "kinds": dict(report.kinds),
            "features": printed(report.fields),
            "feature_lists": printed(report.list_fields) or None,
            "left_out": report.left_out or None,
            "regions_skipped": report.regions_skipped or None,
            "bytes_skipped": report.bytes_skipped or None,
            "compressed_bytes_skipped": report.compressed_bytes_skipped or None,
            "undecided": self.undecided(report.undecided, report.undecided_because),
        }

    def stats(self, report):
        found = as_json(report)
        for one in found["features"].values():
            if one["int64"]:
                del one["int64"]["nan"]
        for one in found["feature_lists"].values():
            one["steps"] = one.pop("records")
        undecided = self.undecided(found["undecided"], found.pop("undecided_because"))
        return {
            **found,
            "feature_lists": found["feature_lists"] or None,
            "record_sizes": found["record_sizes"] if report.records else None,
            "left_out": found["left_out"] or None,
            "regions_skipped": found["regions_skipped"] or None,
            "bytes_skipped": found["bytes_skipped"] or None,
            "compressed_bytes_skipped": found["compressed_bytes_skipped"] or None,
            "undecided": undecided,
        }

    def undecided(self, records, first):
        return {"records": records, "first": first} if records else None

    def verify(self, report):
        reports = [as_json(file) for file in report]
        for file in reports:
            del file["damaged_regions"]
            file["compressed_bytes_lost"] = file["compressed_bytes_lost"] or None
            for region in file["regions"]:
                del region["hint"]
        return reports


if __name__ == "__main__":
    unittest.main()
