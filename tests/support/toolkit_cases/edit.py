"""Cases of convert that edit features."""
from example_bytes import field, named_example, varint
from toolkit_cases.contents import EVENT, framed, records_of


def step(*values):
    return field(1, field(3, field(1, b"".join(map(varint, values)))))


def entry(name, value):
    return field(1, field(1, name.encode()) + field(2, value))


def edit_cases(case):
    edited = framed(named_example({"b": ["x"], "a": [1, 2], "c": [0.5]}), b"",
                    named_example({"a": [3]}))
    for options, *expected in (
            ({"select": "a"}, {"a": [1, 2]}, {"a": [3]}),
            ({"drop": ["a", "b"]}, {"c": [0.5]}, {}),
            ({"rename": {"a": "z"}}, {"b": ["x"], "c": [0.5], "z": [1, 2]}, {"z": [3]}),
            ({"select": ["a", "b"], "rename": {"a": "b", "b": "a"}},
             {"a": ["x"], "b": [1, 2]}, {"b": [3]})):
        first, last = map(named_example, expected)
        yield case(f"edited by {options}", options, {"out": [first, b"", last]}, edited)
    first = named_example({"a": [1]})
    yield case("a feature that only records behind the limit have", {"limit": 1, "drop": "late"},
               {"out": [first]}, framed(first, named_example({"late": [2]})),
               note="no record that was taken has a feature named late; others have")
    unpacked = bytes.fromhex("0a0d0a0b0a0361676512041a02080d")
    yield case("values keep their bytes", {"select": "age"}, {"out": [unpacked]}, framed(unpacked))
    sequence = framed(field(2, entry("c", step(4)) + entry("a", step(3))) +
                      field(1, entry("b", step(2)[2:]) + entry("a", step(1)[2:])))
    one, two = entry("a", step(1)[2:]), entry("b", step(2)[2:])
    yield case("SequenceExamples, renamed", {"rename": {"c": "0"}}, {"out": [
        field(1, one + two) + field(2, entry("0", step(4)) + entry("a", step(3)))]}, sequence)
    yield case("SequenceExamples, dropped", {"drop": "a"}, {"out": [
        field(1, two) + field(2, entry("c", step(4)))]}, sequence)
    for options, error in (
            ({"select": ["a", "d"]}, ("NotFoundError", "named d; there are")),
            ({"drop": ["d"]}, ("NotFoundError", "named d; there are")),
            ({"rename": {"a": "b"}}, ("AlreadyExistsError", "two features named \"b\""))):
        yield case(f"not edited by {options}", options, {}, edited, error=error)
    yield case("a feature that only unread records may have", {"drop": ["d"], "limit": 1},
               {"out": [named_example({"a": [1, 2], "b": ["x"], "c": [0.5]})]}, edited,
               note="no record that was read has a feature named d; there are")
    yield case("no Example", {"drop": "a"}, {}, framed(named_example({"a": [1]}), b"\xff\xff"),
               error=("DataLossError", "a: not a tf.train.Example"))
    yield case("no Example behind the limit", {"drop": "a", "limit": 1}, {"out": [named_example({})]},
               framed(named_example({"a": [1]}), b"\xff\xff"))
    for other in (records_of(EVENT)[0] + b"\x10\x07", b"\x28\x01"):
        for option in ("drop", "select"):
            yield case(f"{option} of {other}", {option: "label"}, {},
                       framed(named_example({"label": [1]}), other),
                       error=("DataLossError", "neither an Example nor a SequenceExample"))
