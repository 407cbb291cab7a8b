"""Records and Examples as bytes, made by the independent code of data/make_golden.py."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "data"
sys.path.append(str(DATA))
from make_golden import (bytes_feature, crc32c, example, field, float_feature,  # noqa: E402
                         int64_feature, masked, record, varint)

__all__ = ["DATA", "bytes_feature", "crc32c", "example", "field", "float_feature",
           "int64_feature", "masked", "named_example", "record", "varint"]


def named_example(features):
    """Returns an Example of {name: [values]}: bytes or text, ints, or floats."""
    def feature(values):
        if all(isinstance(value, int) for value in values):
            return int64_feature(*values)
        if all(isinstance(value, float) for value in values):
            return float_feature(*values)
        return bytes_feature(*[value.encode() if isinstance(value, str) else value
                               for value in values])
    return example(**{name: feature(values) for name, values in features.items()})
