"""Reads checkpoints in tests, with Python's standard library only."""
import json
import struct


def header_of(path):
    """Returns the JSON header of a safetensors file."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    return json.loads(data[8:8 + size])


def numbers_of(path):
    """Returns the tensors of a checkpoint without the input position, which depends on the layout
    of the batches."""
    data = path.read_bytes()
    header = header_of(path)
    start = 8 + struct.unpack_from("<Q", data)[0]
    return {name: data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]]
            for name, entry in header.items()
            if name not in ("__metadata__", "input_pipeline/state")}
