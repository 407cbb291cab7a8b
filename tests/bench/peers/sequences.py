"""SequenceExamples of 50 steps, as table_bench makes them. usage: sequences.py FILE

FILE gets 50,000 records of about 2.7 KB with three lists: "action" (7 floats a step), "reward" (a
float) and "token" (an int64); and the context "id" (an int64).
"""
import sys

import numpy as np

ROWS = 50_000
STEPS = 50
ACTION = 7  # floats a step


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, content):
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def int64(value):
    return field(3, field(1, varint(value)))


def float_steps(values):
    """A list with a step for each row of `values`."""
    packed = values.astype("<f4").view(np.uint8)
    step = field(1, field(2, field(1, packed[0].tobytes())))
    headers = np.frombuffer(step[: -packed.shape[1]], np.uint8)
    return np.hstack([np.tile(headers, (len(packed), 1)), packed]).tobytes()


def entry(key, value):
    return field(1, field(1, key) + field(2, value))


def sequence(row, random):
    action = random.normal(size=(STEPS, ACTION))
    token = b"".join(field(1, int64(value)) for value in random.integers(0, 2**20, STEPS).tolist())
    lists = (entry(b"action", float_steps(action)) + entry(b"reward", float_steps(action[:, :1]))
             + entry(b"token", token))
    return field(1, entry(b"id", int64(row))) + field(2, lists)


def main():
    import recordpipe as rp

    random = np.random.default_rng(7)
    with rp.Writer(sys.argv[1]) as writer:
        for row in range(ROWS):
            writer.write(sequence(row, random))


if __name__ == "__main__":
    main()
