#!/usr/bin/env python3
"""tfrecord create: the Examples that come out, byte by byte; what is refused, and where."""
import gzip
import io
import json
import os
import signal
import struct
import subprocess
import threading
import time
import unittest
import zipfile
import zlib

from tfrecord_test_case import (DATA, PROGRAM, TfrecordTest, example, int64_feature,
                                named_example, record)


def npy(descr, shape, data, order="False", version=(1, 0), extra=""):
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {extra}}}"
    size = 12 if version[0] > 1 else 10
    header += " " * (-(size + len(header) + 1) % 64) + "\n"
    length = struct.pack("<I" if version[0] > 1 else "<H", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header.encode() + data


class CreateTest(TfrecordTest):
    def text(self, name, content):
        (self.folder / name).write_bytes(content if isinstance(content, bytes)
                                         else content.encode())

    def created(self, *arguments, expected, **options):
        """`create` must make exactly these payloads."""
        self.run_it("create", *arguments, "-o", "out", **options)
        self.assertEqual((self.folder / "out").read_bytes(),
                         b"".join(record(payload) for payload in expected))

    def refused(self, words, *arguments, status=1, **options):
        before = sorted(os.listdir(self.folder))
        self.expect_failure(words, "create", *arguments, "-o", "out", status=status, **options)
        self.assertEqual(sorted(os.listdir(self.folder)), before)


class JsonLines(CreateTest):
    def test_plain_objects(self):
        self.text("a.jsonl", '{"label": 3, "name": "cat", "box": [0.5, 1], "flag": true}\n'
                             '\n'
                             '{"image": {"base64": "//4A"}, "words": ["a", {"base64": "AA=="}], '
                             '"none": null}\r\n'
                             '{"n": [-9223372036854775808, 9223372036854775807], "e": 1e2}')
        self.created("a.jsonl", expected=[
            named_example({"box": [0.5, 1.0], "flag": [1], "label": [3], "name": ["cat"]}),
            named_example({"image": [b"\xff\xfe\0"], "words": [b"a", b"\0"]}),
            named_example({"e": [100.0], "n": [-2**63, 2**63 - 1]})])

    def test_what_show_prints(self):
        self.text("a.json", json.dumps({"path": "x", "record": 7, "offset": 99, "features": {
            "b": ["x", {"base64": "AP8="}], "a": [1]}}) + "\n" +
            '{"record": 8, "offset": 100, "features": {"x": [NaN, Infinity, -Infinity, 0.1]}}\n'
            '{"record": 9, "offset": 1, "features": {"e": [], "f": []}, '
            '"kinds": {"e": "float"}}\n'
            '{"record": 10, "offset": 1, "features": {"c": [1]}, '
            '"feature_lists": {"s": [[1, 2], null, ["NaN"]]}}\n'
            '{"record": 11, "offset": 1, "payload": {"base64": "AQI="}}\n')

        def field(number, content):
            return bytes([number << 3 | 2, len(content)]) + content
        nonfinite = bytes.fromhex("0000c07f 0000807f 000080ff cdcccc3d")
        step = [field(3, field(1, b"\1\2")), b"", field(1, field(1, b"NaN"))]
        self.created("a.json", expected=[
            named_example({"a": [1], "b": [b"x", b"\0\xff"]}),
            field(1, field(1, field(1, b"x") + field(2, field(2, field(1, nonfinite))))),
            field(1, field(1, field(1, b"e") + field(2, field(2, b""))) +
                  field(1, field(1, b"f") + field(2, b""))),
            field(1, field(1, field(1, b"c") + field(2, field(3, field(1, b"\1"))))) +
            field(2, field(1, field(1, b"s") + field(2, b"".join(field(1, s) for s in step)))),
            b"\1\2"])

    def test_what_show_prints_of_sequences(self):
        lines = ('{"record": 0, "offset": 0, "features": {"a": [1]}, "feature_lists": {}}\n'
                 '{"record": 1, "offset": 32, "features": {}, '
                 '"feature_lists": {"s": [[], [1.5], null, []]}, '
                 '"step_kinds": {"s": ["float", null, null, "bytes"]}}\n')
        self.text("a.json", lines)
        self.run_it("create", "a.json", "-o", "a")
        self.assertEqual(self.run_it("show", "--json", "a"), lines)
        exported = [json.loads(line) for line in
                    self.run_it("export", "a", "-o", "-", "--to", "json").splitlines()]
        self.assertEqual(exported, [{name: value for name, value in json.loads(line).items()
                                     if name != "offset"} for line in lines.splitlines()])

    def test_types_given(self):
        self.text("a.json", '{"x": 1, "n": 2.0}\n{"x": [0.5, 2], "n": [3e0, 4]}\n'
                            '{"record": 0, "features": {"x": [], "n": [5]}, '
                            '"kinds": {"x": "int64"}}\n')
        self.created("a.json", "--types", "x=float,n=int64", expected=[
            named_example({"n": [2], "x": [1.0]}), named_example({"n": [3, 4], "x": [0.5, 2.0]}),
            example(n=int64_feature(5), x=b"\x12\0")])
        for content, words, types in (
                ('{"n": 1}\n{"n": 0.5}\n', 'line 2: "n": 0.5 is no whole number', "n=int64"),
                ('{"n": "x"}\n', "values of kind bytes, where float is wanted", "n=float"),
                ('{"n": 1}\n', "--types names m, which no record has", "m=float")):
            self.text("b.json", content)
            self.refused(words, "b.json", "--types", types)
        self.refused("not double", "b.json", "--types", "n=double", status=2)
        (self.folder / "b.npy").write_bytes(npy("'<i8'", "(1,)", bytes(8)))
        self.refused("--types is for JSON and CSV", "b.npy", "--types", "b=float", status=2)

    def test_kinds_that_differ_are_told_of(self):
        self.text("a.json", '{"x": 0.5, "y": 1}\n{"x": 1, "y": [2]}\n{"y": []}\n')
        done = self.start("create", "a.json", "-o", "out")
        self.assertEqual(done.stderr.decode(),
                         "tfrecord create: x is float and int64, in different records: "
                         "--types x=float makes it one\n")
        self.assertEqual(done.returncode, 0)

    def test_standard_input_compressed_and_on_any_number_of_threads(self):
        lines = "".join(f'{{"i": {i}}}\n' for i in range(50000)).encode()
        outputs = set()
        for threads in (1, 2, 3):
            outputs.add(self.start("create", "-", "--from", "json", "-o", "-", "--threads",
                                   threads, input=gzip.compress(lines)).stdout)
        self.assertEqual(len(outputs), 1)
        self.assertTrue(outputs.pop().startswith(record(named_example({"i": [0]}))))

    def test_nothing(self):
        self.text("a.json", "")
        self.created("a.json", expected=[])
        self.text("a.json", "{}\n\n")
        self.created("a.json", expected=[b""])

    def test_what_is_refused(self):
        for line, words in (
                ('{"a": 1', "no JSON at byte"), ("[1]", "should be an object"),
                ("null", "should be an object"), ('{"a": {"b": 1}}', '"a": an object'),
                ('{"a": [[1]]}', '"a": lists in lists'), ('{"a": [1, "x"]}', "several kinds"),
                ('{"a": [{"b": 1}]}', "an object in a list"), ('{"a": 1, "a": 2}', '"a" twice'),
                ('{"a": 9223372036854775808}', "too large for an int64"),
                ('{"a": 99999999999999999999}', "too large for an int64"),
                ('{"a": 1e39}', "no number that a float can hold"),
                ('{"a": {"base64": "AA"}}', "multiple of 4"),
                ('{"a": {"base64": "A*=="}}', "not base64"),
                ('{"record": 1, "event": {}}', "an Event"),
                ('{"features": {"a": []}, "kinds": {"a": "x"}}', "no kind x"),
                ('{"features": {"a": ["x"]}, "kinds": {"a": "int64"}}', "int64 is wanted"),
                ("[" * 100000, "nested too deep"), ('{"a": "\xff"}'.encode("latin-1"), "no JSON")):
            self.text("a.json", b'{"ok": 1}\n\n' +
                      (line if isinstance(line, bytes) else line.encode()) + b"\n")
            self.refused("a.json: line 3: ", "a.json")
            self.refused(words, "a.json")

    def test_shards(self):
        self.text("a.json", "".join(f'{{"i": {i}}}\n' for i in range(5)))
        self.run_it("create", "a.json", "-o", "s", "--shards", 2)
        self.assertEqual((self.folder / "s-00000-of-00002").read_bytes(),
                         b"".join(record(named_example({"i": [i]})) for i in range(2)))
        self.refused("would be read twice", "-", "--from", "json", "--shards", 2, status=2,
                     input=b"{}")


class Csv(CreateTest):
    def test_types_are_inferred(self):
        self.text("a.csv", "\ufeffid,x,name,zip,list,empty\r\n"
                           '1,0.5,"a ""b"",\nc",007,"[1, 2]",\r\n'
                           "-2,3,,12,[],\n"
                           "\n"
                           '3,NaN,"",1,4,')
        self.created("a.csv", expected=[
            named_example({"id": [1], "list": [1, 2], "name": ['a "b",\nc'], "x": [0.5],
                           "zip": ["007"]}),
            self.second(),
            named_example({"id": [3], "list": [4], "name": [""], "x": [float("nan")],
                           "zip": ["1"]})])

    def test_nan_and_infinities_are_numbers(self):
        """However Python, pandas, R and C spell them; a column of nothing else is float, too."""
        self.text("a.csv", "x,only,whole,name\n"
                           "nan,NaN,1,nan\n"
                           "-inf,,NAN,Nancy\n"
                           "Inf,nan,2,inf\n"
                           "+Infinity,-nan,3,\n")
        nan, inf = float("nan"), float("inf")
        self.created("a.csv", expected=[
            named_example({"name": ["nan"], "only": [nan], "whole": [1.0], "x": [nan]}),
            named_example({"name": ["Nancy"], "whole": [nan], "x": [-inf]}),
            named_example({"name": ["inf"], "only": [nan], "whole": [2.0], "x": [inf]}),
            named_example({"only": [nan], "whole": [3.0], "x": [inf]})])
        self.refused('"nan" is no int64', "a.csv", "--types", "x=int64")

    def second(self):
        self.text("b.json", '{"features": {"id": [-2], "list": [], "x": [3.0], "zip": ["12"]}, '
                            '"kinds": {"list": "int64"}}')
        self.run_it("create", "b.json", "-o", "b")
        return (self.folder / "b").read_bytes()[12:-4]

    def test_types_given(self):
        self.text("a.csv", "id,x\n1,2\n")
        self.created("a.csv", "--types", "id=bytes,x=float",
                     expected=[named_example({"id": ["1"], "x": [2.0]})])
        self.created("-", "--from", "csv", "--types", "id=int64", "--types", "x=int64",
                     input=b"id,x\n1,2\n", expected=[named_example({"id": [1], "x": [2]})])
        self.refused("give --types", "-", "--from", "csv", status=2, input=b"id\n1\n")
        self.refused("line 2: column x: \"2.5\" is no int64", "-", "--from", "csv", "--types",
                     "x=int64", input=b"x\n2.5\n")
        self.refused("NAME=TYPE", "a.csv", "--types", "x", status=2)

    def test_base64_and_several_files(self):
        self.text("a.csv", 'x\n"{""base64"": ""/w==""}"\n[text\n')
        self.text("b.csv", 'y,x\n1,2\n')
        self.created("a.csv", "b.csv", expected=[
            named_example({"x": [b"\xff"]}), named_example({"x": ["[text"]}),
            named_example({"x": ["2"], "y": [1]})])

    def test_nothing(self):
        for content in ("", "\n", "a,b\n"):
            self.text("a.csv", content)
            self.created("a.csv", expected=[])

    def test_types_of_no_column(self):
        for content in ("a,b\n1,2\n", "a,b\n"):
            self.text("a.csv", content)
            self.refused("--types names c, which is no column", "a.csv", "--types", "a=float,c=float")

    def test_what_is_refused(self):
        for content, words in (("a,b\n1\n", "line 2: 1 cells, where the header has 2"),
                               ("a,b\n1,2,3\n", "line 2: 3 cells"),
                               ("a,a\n1,2\n", 'two columns named "a"'),
                               ('a\n1\n"x', "line 3: a quote that doesn't end"),
                               ('a\nx"y\n', "line 2: a quote in the middle"),
                               ('a\n"x"y\n', "line 2: text behind a closing quote")):
            self.text("a.csv", content)
            self.refused(words, "a.csv")


class Numpy(CreateTest):
    def test_every_type(self):
        for descr, data, values in (
                ("'|u1'", b"\1\xff", [1, 255]), ("'|i1'", b"\1\xff", [1, -1]),
                ("'<i2'", b"\1\0\xff\xff", [1, -1]), ("'>i2'", b"\0\1\xff\xff", [1, -1]),
                ("'<u4'", b"\1\0\0\0\xff\xff\xff\xff", [1, 2**32 - 1]),
                ("'<i8'", struct.pack("<2q", 1, -2**63), [1, -2**63]),
                ("'>u8'", struct.pack(">2Q", 1, 2**63 - 1), [1, 2**63 - 1]),
                ("'|b1'", b"\1\0", [1, 0]), ("'<f2'", b"\0\x3c\0\xb8", [1.0, -0.5]),
                ("'>f4'", struct.pack(">2f", 1.5, -2), [1.5, -2.0]),
                ("'<f8'", struct.pack("<2d", 0.5, -2), [0.5, -2.0]),
                ("'|S3'", b"ab\0abc", ["ab", "abc"]),
                ("'<U2'", "a\0éä".encode("utf-32-le"), ["a", "éä"])):
            self.text("v.npy", npy(descr, "(2,)", data))
            self.created("v.npy", expected=[named_example({"v": [value]}) for value in values])

    def test_rows(self):
        self.text("m.npy", npy('"<i4"', "(2, 2)", struct.pack("<4i", 1, 2, 3, 4), version=(2, 0)))
        self.created("m.npy", expected=[named_example({"m": [1, 2]}), named_example({"m": [3, 4]})])
        self.text("m.npy", npy("'|u1'", "(2, 1, 2)", b"abcd", version=(3, 0)))
        self.created("m.npy", expected=[named_example({"m": ["ab"]}), named_example({"m": ["cd"]})])
        self.text("m.npy", npy("'<f4'", "(0, 5)", b""))
        self.created("m.npy", expected=[])

    def npz(self, compression=zipfile.ZIP_STORED, **arrays):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            for name, content in arrays.items():
                archive.writestr(name + ".npy", content)
        return buffer.getvalue()

    def test_a_float64_that_no_float_holds(self):
        """It doesn't become an infinity in silence; one that is an infinity or a NaN stays it."""
        largest = 3.4028234663852886e38
        for value in (1e39, -1e300):
            array = npy("'<f8'", "(2, 2)", struct.pack("<4d", 1, 2, 3, value))
            words = f"row 1: {value:g} is too large for a float (scale the array"
            self.text("v.npy", array)
            self.refused("v.npy: " + words, "v.npy")
            self.text("v.npz", self.npz(ok=npy("'<f8'", "(2,)", bytes(16)), x=array))
            self.refused("v.npz:x: " + words, "v.npz")
        nan, inf = float("nan"), float("inf")
        self.text("v.npy", npy("'<f8'", "(6,)", struct.pack("<6d", nan, inf, -inf, largest, -largest,
                                                            1e-300)))
        self.created("v.npy", expected=[named_example({"v": [value]})
                                        for value in (nan, inf, -inf, largest, -largest, 0.0)])

    def test_npz(self):
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.text("a.npz", self.npz(compression, x=npy("'|u1'", "(2, 2, 2)", b"abcdefgh"),
                                        label=npy("'<i8'", "(2,)", struct.pack("<2q", 5, 6))))
            self.created("a.npz", expected=[named_example({"label": [5], "x": ["abcd"]}),
                                            named_example({"label": [6], "x": ["efgh"]})])
        self.text("u.npz", self.npz(**{"ünï": npy("'|b1'", "(1,)", b"\1")}))
        self.created("u.npz", expected=[named_example({"ünï": [1]})])
        self.run_it("create", "a.npz", "-o", "s", "--shards", 2)
        self.assertEqual((self.folder / "s-00001-of-00002").read_bytes(),
                         record(named_example({"label": [6], "x": ["efgh"]})))

    def test_what_is_refused(self):
        good = struct.pack("<2q", 1, 2)
        for content, words in (
                (b"", "not a .npy file"), (b"\x93NUMPY", "cut in its header"),
                (npy("'<i8'", "(2,)", good)[:40], "cut in its header"),
                (npy("'<i8'", "(2,)", good[:-1]), "shorter than its header says"),
                (npy("'<i8'", "(2,)", good + b"x"), "longer than its header says"),
                (npy("'<i8'", "(2,)", good, version=(4, 0)), "version 4"),
                (npy("'|O'", "(2,)", good), "none of numbers or strings"),
                (npy("'|O8'", "(2,)", good), "objects are pickles"),
                (npy("[('a', '<i8')]", "(2,)", good), "structures"),
                (npy("'<c16'", "(1,)", good), "none of numbers"),
                (npy("'<i3'", "(2,)", good), "none of numbers"),
                (npy("'<i8'", "()", good[:8]), "without a dimension"),
                (npy("'<i8'", "(2, 1)", good, order="True"), "Fortran"),
                (npy("'<i8'", "(4294967296, 4294967296)", good), "larger than any file"),
                (npy("'<i8'", "(99999999999999999999,)", good), "too large"),
                (npy("'<i8'", "(-1,)", good), "is missing in its header"),
                (npy("'|S0'", "(1000000000000,)", b""), "1000000000000 rows without a byte"),
                (npy("'<i8'", "(1000000000000, 0)", b""), "1000000000000 rows without a byte"),
                (npy("__import__('os').system('touch pwned')", "(2,)", good), "string is missing"),
                (npy("'<i8'", "(2,)", good, extra="'x': 1"), "key x"),
                (npy("'<u8'", "(2,)", b"\xff" * 16), "row 0: 18446744073709551615 is too large"),
                (npy("'<U1'", "(1,)", b"\0\0\x11\0"), "no Unicode")):
            self.text("v.npy", content)
            self.refused(words, "v.npy")
        self.text("v.npz", b"no zip")
        self.refused("v.npz", "v.npz")
        array = npy("'<i8'", "(2,)", good)
        self.text("v.npz", self.npz(a=array, b=npy("'<i8'", "(1,)", good[:8])))
        self.refused("v.npz:b: 1 rows, where a has 2", "v.npz")
        self.text("v.npz", self.npz(a=array[:-1]))
        self.refused("v.npz:a.npy: it is shorter", "v.npz")
        self.text("v.npz", self.npz(a=array)[:-30].replace(good, good[::-1]))
        self.refused("v.npz", "v.npz")
        self.refused("can't be read from standard input", "-", "--from", "numpy", status=2)


def png(width, height, payload=b""):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + \
            struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + bytes(3 * width) for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0,
                                                             0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", payload)


class ImageFolder(CreateTest):
    def setUp(self):
        super().setUp()
        for name in ("dog", "cat", "empty", ".hidden"):
            (self.folder / "d" / name).mkdir(parents=True)
        self.text("d/dog/2.png", png(3, 2))
        self.text("d/cat/1.PNG", png(5, 4))
        self.text("d/cat/gif.jpg", b"GIF89a....")
        self.text("d/cat/notes.txt", "no image")
        self.text("d/.hidden/3.png", png(1, 1))
        self.text("d/readme.md", "no class")

    def example(self, name, content, label, kind, **size):
        return {"image/class/label": [label], "image/class/text": [name.split("/")[0]],
                "image/encoded": [content], "image/filename": [name], "image/format": [kind],
                **{f"image/{key}": [value] for key, value in size.items()}}

    def test_classes(self):
        self.created("d", expected=[named_example(example) for example in (
            self.example("cat/1.PNG", png(5, 4), 0, "png", height=4, width=5),
            self.example("cat/gif.jpg", b"GIF89a....", 0, "gif"),
            self.example("dog/2.png", png(3, 2), 1, "png", height=2, width=3))])

    def test_links_that_lead_out(self):
        self.text("secret.png", png(1, 1))
        os.symlink("../../secret.png", self.folder / "d/cat/0.png")
        self.refused("d/cat/0.png: a link that leads out of d", "d")
        os.remove(self.folder / "d/cat/0.png")
        (self.folder / "other").mkdir()
        os.symlink("../other", self.folder / "d/bird")
        self.refused("d/bird: a link that leads out of d", "d")
        os.remove(self.folder / "d/bird")
        os.symlink("1.PNG", self.folder / "d/cat/same.png")  # stays inside
        self.run_it("create", "d", "-o", "out")

    def test_what_is_refused(self):
        self.text("d/dog/x.png", "no image")
        self.refused("d/dog/x.png: not an image", "d")
        (self.folder / "e").mkdir()
        self.refused("e: no images", "e")
        self.refused("one folder of images at a time", "d", "e", status=2)


class Cifar(CreateTest):
    def test_archive(self):
        for name, features in (("cifar10-binary-ustar.tar", 2), ("cifar10-python-pax.tar", 2),
                               ("cifar100-binary-gnu.tar", 4)):
            self.run_it("create", DATA / "archives" / name, "-o", "out")
            content = (self.folder / "out").read_bytes()
            length, = struct.unpack_from("<Q", content)
            self.assertEqual(content[:16 + length], record(content[12:12 + length]))
            self.assertIn(b"\x0a\x05image\x12", content[:30 + 30 * (features > 2) * 3])
            self.assertEqual(content[:16 + length].count(b"label"), features - 1)


class Interrupted(CreateTest):
    """SIGINT ends it at once, and nothing stays."""

    def expect_end(self, process, before):
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read().decode()
        process.wait(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertTrue(errors.splitlines()[-1].startswith("tfrecord create: "), errors)
        self.assertIn("interrupted", errors)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def start_create(self, *arguments, **options):
        return subprocess.Popen([PROGRAM, "create", *map(str, arguments), "-o", "out"],
                                cwd=self.folder, stderr=subprocess.PIPE, bufsize=0, **options)

    def wait_for_output(self):
        deadline = time.monotonic() + 60
        partial = self.folder / ".out.partial"
        while not partial.exists():
            self.assertLess(time.monotonic(), deadline, "it writes nothing")
            time.sleep(0.01)

    def test_a_slow_pipe(self):
        for options, line in ((["--from", "json"], b'{"i": 1}\n'),
                              (["--from", "csv", "--types", "i=int64"], b"i\n")):
            before = sorted(os.listdir(self.folder))
            with self.start_create("-", *options, stdin=subprocess.PIPE) as process:
                stop = threading.Event()

                def feed(pipe=process.stdin, line=line, stop=stop):
                    try:
                        while not stop.wait(0.05):
                            pipe.write(line)
                            line = line if line.startswith(b"{") else b"1\n"
                    except BrokenPipeError:
                        pass
                feeder = threading.Thread(target=feed)
                feeder.start()
                try:
                    self.wait_for_output()
                    begun = time.monotonic()
                    self.expect_end(process, before)
                    # Not by the alarm that kills what doesn't end.
                    self.assertLess(time.monotonic() - begun, 4.5)
                finally:
                    stop.set()
                    feeder.join()

    def test_arrays(self):
        header = npy("'|u1'", "(40000000, 1, 100)", b"")
        with open(self.folder / "x.npy", "wb") as file:  # 4 GB, of which nothing is on the disk
            file.write(header)
            file.truncate(len(header) + 4_000_000_000)
        with self.start_create("x.npy") as process:
            self.wait_for_output()
            self.expect_end(process, ["x.npy"])

    def test_an_archive_that_is_inflated(self):
        with zipfile.ZipFile(self.folder / "x.npz", "w", zipfile.ZIP_DEFLATED, True, 1) as archive:
            with archive.open("x.npy", "w", force_zip64=True) as file:
                file.write(npy("'|u1'", "(1000000, 1, 100)", b""))
                for _ in range(100):
                    file.write(bytes(1_000_000))
        with self.start_create("x.npz") as process:
            self.wait_for_output()
            self.expect_end(process, ["x.npz"])

    def test_images(self):
        folder = self.folder / "images" / "cat"
        folder.mkdir(parents=True)
        (folder / "0.png").write_bytes(png(3, 2, bytes(2_000_000)))
        for i in range(1, 5000):
            os.link(folder / "0.png", folder / f"{i}.png")
        with self.start_create("images") as process:
            self.wait_for_output()
            self.expect_end(process, ["images"])


@unittest.skipIf(os.environ.get("RECORDPIPE_SANITIZE"), "sanitizers take memory of their own")
class Memory(CreateTest):
    """64 MiB and the largest record."""

    def test_large_rows(self):
        size = 40_000_000  # of a row and, about, of its record
        for descr, shape, record_size in (("'<f4'", f"(3, {size // 4})", size),
                                          ("'<f8'", f"(3, {size // 8})", size // 2),
                                          ("'|u1'", f"(3, {size})", size),
                                          ("'|u1'", f"(3, {size}, 1)", size)):
            header = npy(descr, shape, b"")
            with open(self.folder / "x.npy", "wb") as file:  # zeros, of which nothing is on the disk
                file.write(header)
                file.truncate(len(header) + 3 * size)
            with zipfile.ZipFile(self.folder / "x.npz", "w") as archive:
                archive.write(self.folder / "x.npy", "x.npy")
            for path in ("x.npy", "x.npz"):
                with self.subTest(descr=descr, shape=shape, path=path):
                    self.assertLess(self.peak("create", path, "-o", "out"),
                                    (64 << 20) + record_size)


class Usage(CreateTest):
    def test_formats(self):
        self.text("a.xyz", "")
        self.refused("can't be told from its name: give --from", "a.xyz", status=2)
        self.refused("what standard input holds can't be told", "-", status=2)
        self.text("a.csv", "a\n1\n")
        self.text("a.json", "{}")
        self.refused("inputs of several formats", "a.csv", "a.json", status=2)
        self.refused("No such file", "missing.csv")
        self.assertEqual(self.start("create", "a.csv").returncode, 2)

    def test_full_disk_and_json(self):
        self.text("a.csv", "a\n1\n")
        with open("/dev/full", "wb"):
            self.expect_failure("/dev/full", "create", "a.csv", "-o", "/dev/full")
        self.assertEqual(json.loads(self.run_it("create", "a.csv", "-o", "b.gz", "--json")),
                         {"files": [{"path": "b.gz", "records": 1,
                                     "bytes": (self.folder / "b.gz").stat().st_size}]})


if __name__ == "__main__":
    unittest.main()
