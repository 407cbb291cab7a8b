"""Random messages of other types, made by Python's protobuf, and random Examples whose fields occur
in any number: diff, export, create and convert lose nothing of them, or refuse."""
import base64
import json
import random
import struct

import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.unknown_fields import UnknownFieldSet
from tfrecord_test_case import TfrecordTest

from example_bytes import bytes_feature, field, float_feature, int64_feature

MESSAGES = 10_000
TYPES = 250  # of messages
Field = descriptor_pb2.FieldDescriptorProto
SCALARS = [Field.TYPE_STRING, Field.TYPE_BYTES, Field.TYPE_INT64, Field.TYPE_DOUBLE,
           Field.TYPE_FLOAT, Field.TYPE_BOOL, Field.TYPE_FIXED32]


def message_types(draw):
    """Classes of messages whose nesting and field numbers resemble those of an Example, so that
    many of them parse as one."""
    file = descriptor_pb2.FileDescriptorProto(name="other.proto", package="other", syntax="proto3")
    for i in range(4 * TYPES):
        message = file.message_type.add(name=f"M{i}")
        level = i // TYPES  # messages contain only those of a lower level
        for number in draw.sample(range(1, 6), draw.randint(1, 3)):
            nested = level > 0 and draw.random() < 0.7
            message.field.add(
                name=f"f{number}", number=number,
                type=Field.TYPE_MESSAGE if nested else draw.choice(SCALARS),
                type_name=f".other.M{draw.randrange(level * TYPES)}" if nested else None,
                label=draw.choice([Field.LABEL_OPTIONAL, Field.LABEL_REPEATED]))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(f"other.M{i}"))
            for i in range(TYPES, 4 * TYPES)]


def value(draw, field):
    match field.type:
        case Field.TYPE_STRING:
            return draw.choice(["", "name", "12306251798468767010_560", "é"])
        case Field.TYPE_BYTES:
            return draw.randbytes(draw.choice([0, 1, 20]))
        case Field.TYPE_DOUBLE | Field.TYPE_FLOAT:
            return draw.choice([0.0, 1.5, -2.25])
        case Field.TYPE_BOOL:
            return draw.random() < 0.5
    return draw.choice([0, 1, 7, 300])


def fill(draw, message):
    for field in message.DESCRIPTOR.fields:
        repeated = field.is_repeated
        for _ in range(draw.choice([0, 1, 2, 3]) if repeated else draw.random() < 0.8):
            if field.type == Field.TYPE_MESSAGE:
                part = getattr(message, field.name)
                if not repeated:
                    part.SetInParent()
                fill(draw, part.add() if repeated else part)
            elif repeated:
                getattr(message, field.name).append(value(draw, field))
            else:
                setattr(message, field.name, value(draw, field))
    return message


def leaves(message):
    """(message, field) of all scalars."""
    for field, content in message.ListFields():
        if field.type != Field.TYPE_MESSAGE:
            yield message, field
        else:
            for part in content if field.is_repeated else [content]:
                yield from leaves(part)


def changed(draw, message):
    """A copy in which one value differs; other values if there is none."""
    copy = type(message)()
    copy.CopyFrom(message)
    all_leaves = list(leaves(copy))
    if not all_leaves:
        return fill(draw, type(message)())
    part, field = draw.choice(all_leaves)
    if field.is_repeated:
        getattr(part, field.name)[0] = value(draw, field)
    else:
        setattr(part, field.name, value(draw, field))
    return copy


def true_example(draw):
    example = tf.train.Example()
    for name in draw.sample(["a", "b", "name", ""], draw.randint(1, 3)):
        feature = example.features.feature[name]
        match draw.randrange(3):
            case 0:
                feature.bytes_list.value.extend([b"x"] * draw.randrange(3))
            case 1:
                feature.float_list.value.extend([0.5] * draw.randrange(3))
            case _:
                feature.int64_list.value.extend([draw.randrange(300)] * draw.randrange(3))
    return example


def true_sequence(draw):
    sequence = tf.train.SequenceExample(context=true_example(draw).features)
    for name, feature in true_example(draw).features.feature.items():
        sequence.feature_lists.feature_list[name].feature.add().CopyFrom(feature)
    return sequence


def is_whole(message):
    """Whether a message has no unknown fields at any level."""
    if len(UnknownFieldSet(message)) > 0:
        return False
    for field, content in message.ListFields():
        if field.type != Field.TYPE_MESSAGE:
            continue
        parts = [content]
        if field.is_repeated:
            is_map = field.message_type.GetOptions().map_entry
            parts = list(content.values()) if is_map else content
        if not all(map(is_whole, parts)):
            return False
    return True


def read_as(kind, data):
    """The message, if all of the bytes are its fields. (Protobuf writes the key and the value of a
    map's entry also where the bytes lack one; a value that was replaced makes it shorter.)"""
    message = kind()
    try:
        message.ParseFromString(data)
    except Exception:
        return None
    whole = is_whole(message) and len(message.SerializeToString()) >= len(data)
    return message if whole else None


def known(data):
    """The Example or SequenceExample that the bytes are; None if they are neither."""
    example = read_as(tf.train.Example, data)
    return example if example is not None else read_as(tf.train.SequenceExample, data)


def feature_of(values, kind):
    feature = tf.train.Feature()
    if not values and kind is None:
        return feature
    if kind is None:
        first = values[0]
        kind = "float" if isinstance(first, float) else "int64" if isinstance(first, int) else "bytes"
    if kind == "bytes":
        feature.bytes_list.value.extend(
            [v.encode() if isinstance(v, str) else base64.b64decode(v["base64"]) for v in values])
    elif kind == "float":
        feature.float_list.value.extend(values)
    else:
        feature.int64_list.value.extend(values)
    return feature


def message_of(line):
    """What a line of `export` says, as a message."""
    def fill_features(features, shown):
        for name, values in shown["features"].items():
            kind = shown.get("kinds", {}).get(name)
            features.feature[name].CopyFrom(feature_of(values, kind))
    if "feature_lists" not in line:
        example = tf.train.Example()
        example.features.SetInParent()
        fill_features(example.features, line)
        return example
    sequence = tf.train.SequenceExample()
    fill_features(sequence.context, line)
    sequence.feature_lists.SetInParent()
    for name, steps in line["feature_lists"].items():
        kinds = line.get("step_kinds", {}).get(name, [None] * len(steps))
        steps_of = sequence.feature_lists.feature_list[name]
        for values, kind in zip(steps, kinds):
            steps_of.feature.add().CopyFrom(feature_of(values, kind))
    return sequence


def canonical(message):
    if "context" in message.DESCRIPTOR.fields_by_name and not message.context.feature:
        message.ClearField("context")  # an empty one
    data = message.SerializeToString(deterministic=True)
    return b"" if data in (b"\n\0", b"\n\0\x12\0", b"\x12\0") else data  # no features


def records_of(path):
    data, at, records = path.read_bytes(), 0, []
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        records.append(data[at + 12:at + 12 + length])
        at += 16 + length
    return records


class OtherMessages(TfrecordTest):
    """Two files of random messages, which differ in every record."""

    @classmethod
    def setUpClass(cls):
        draw = random.Random(44)
        kinds = message_types(draw)
        cls.a, cls.b = [], []
        while len(cls.a) < MESSAGES:
            kind = draw.choice(kinds)
            if draw.random() < 0.8:
                first = fill(draw, kind())
                second = changed(draw, first)
            else:
                make = draw.choice([true_example, true_sequence])
                first, second = make(draw), make(draw)
            a, b = (one.SerializeToString(deterministic=True) for one in (first, second))
            if a != b:
                cls.a.append(a)
                cls.b.append(b)
        cls.known = [known(data) for data in cls.a]

    def write_fast(self, name, records):
        with tf.io.TFRecordWriter(str(self.folder / name)) as writer:
            for data in records:
                writer.write(data)

    def setUp(self):
        super().setUp()
        self.write_fast("a", self.a)
        self.write_fast("b", self.b)

    def test_the_messages_are_of_all_kinds(self):
        parse = sum(read_leniently(data) for data in self.a)
        count = sum(one is not None for one in self.known)
        self.assertGreater(parse - count, 500)  # others that protobuf's parser takes for Examples
        self.assertGreater(count, 1500)

    def test_diff(self):
        lines = self.json("diff", "a", "b", "--json", "--differences", 10**9, status=1)
        different = {line["record"] for line in lines[:-1]}
        # Nothing is lost of an Example without features that has other bytes.
        equal = {i for i, (a, b) in enumerate(zip(self.a, self.b))
                 if known(a) and known(b) and canonical(known(a)) == canonical(known(b))}
        self.assertLess(len(equal), 100)
        self.assertLessEqual(set(range(MESSAGES)) - different, equal)

    def test_export_and_create(self):
        self.summary("export", "a", "-o", "a.jsonl")
        lines = [json.loads(line) for line in (self.folder / "a.jsonl").open(encoding="utf-8")]
        self.assertEqual(len(lines), MESSAGES)
        for data, line in zip(self.a, lines):
            if "payload" in line:
                payload = line["payload"]
                kept = (payload.encode() if isinstance(payload, str)
                        else base64.b64decode(payload["base64"]))
                self.assertEqual(kept, data)
            else:
                message = known(data)
                self.assertIsNotNone(message, data.hex())
                self.assertEqual(canonical(message_of(line)), canonical(message), data.hex())
        self.summary("create", "a.jsonl", "-o", "again")
        for data, again, line in zip(self.a, records_of(self.folder / "again"), lines):
            if "payload" in line:
                self.assertEqual(again, data)
            else:
                self.assertEqual(canonical(known(again)), canonical(known(data)))

    def test_convert(self):
        lines = [json.loads(line) for line in
                 self.run_it("show", "a", "--json").splitlines()]
        whole = [data for data, line in zip(self.a, lines)
                 if "features" in line and "examples" not in line]
        self.assertGreater(len(whole), 1500)
        self.write_fast("whole", whole)
        self.summary("convert", "whole", "-o", "renamed", "--rename", "a=renamed")
        self.summary("convert", "renamed", "-o", "back", "--rename", "renamed=a")
        for data, again in zip(whole, records_of(self.folder / "back")):
            self.assertEqual(canonical(known(again)), canonical(known(data)))
        others = [data for data, line in zip(self.a, lines) if "features" not in line]
        for i, data in enumerate(others[::len(others) // 40]):
            self.write_fast("other", [data])
            self.assertRegex(
                self.run_it("convert", "other", "-o", f"o{i}", "--drop", "a", status=2),
                "neither an Example nor a SequenceExample|not a tf.train.Example")


class NearExample:
    """Makes the bytes of a message in which known fields are missing or repeated at every level.
    Each value occurs once: values has them all."""

    def __init__(self, draw):
        self.draw, self.values = draw, []

    def times(self, often, *others):
        return self.draw.choice([often] * 6 + list(others))

    def feature(self):
        def one():
            number = 1000 + len(self.values)
            make, value = self.draw.choice([(bytes_feature, b"v%d" % number),
                                            (float_feature, number + 0.5), (int64_feature, number)])
            self.values.append(value.decode() if make is bytes_feature else value)
            return make(value)
        return b"".join(one() for _ in range(self.times(1, 0, 2)))

    def map_of(self, value):
        def entry():
            parts = [field(1, self.draw.choice([b"a", b"b", b"c"]))
                     for _ in range(self.times(1, 0, 2))]
            parts += [field(2, value()) for _ in range(self.times(1, 0, 2))]
            self.draw.shuffle(parts)
            return field(1, b"".join(parts))
        return b"".join(entry() for _ in range(self.draw.randint(0, 3)))

    def example(self):
        return b"".join(field(1, self.map_of(self.feature)) for _ in range(self.times(1, 0, 2)))

    def steps(self):
        return b"".join(field(1, self.feature()) for _ in range(self.draw.randint(0, 3)))

    def sequence(self):
        return self.example() + b"".join(
            field(2, self.map_of(self.steps)) for _ in range(self.times(1, 0, 2)))

    def list(self):
        return b"".join([field(2, self.example()) for _ in range(self.times(1, 0, 2))]
                        + [field(1, self.example()) for _ in range(self.draw.randint(0, 3))])

    def message(self):
        return self.draw.choice([self.example, self.sequence, self.list])()


def values_of(shown):
    """All values below "features", "feature_lists" and "examples"."""
    if isinstance(shown, dict):
        shown = list(shown.values())
    if isinstance(shown, list):
        return [value for part in shown for value in values_of(part)]
    return [shown]


class NearExamples(TfrecordTest):
    def test_no_value_is_lost(self):
        draw = random.Random(45)
        made = []
        for _ in range(MESSAGES):
            near = NearExample(draw)
            made.append((near.message(), near.values))
        with tf.io.TFRecordWriter(str(self.folder / "near")) as writer:
            for data, _ in made:
                writer.write(data)
        decided = 0
        for (data, values), line in zip(made, map(
                json.loads, self.run_it("show", "near", "--json").splitlines())):
            if "payload" in line:
                continue
            decided += bool(values)
            shown = values_of([line.get(name, []) for name in
                               ("features", "feature_lists", "examples")])
            self.assertCountEqual([one for one in shown if one is not None], values, data.hex())
            if "examples" not in line:
                shown = message_of(line)
                self.assertEqual(canonical(shown), canonical(type(shown).FromString(data)),
                                 data.hex())
        self.assertGreater(decided, 1500)


def read_leniently(data):
    for kind in (tf.train.Example, tf.train.SequenceExample):
        try:
            if kind.FromString(data).ListFields():
                return True
        except Exception:
            pass
    return False
