#!/usr/bin/env python3
"""Tests docs/cookbook.md: runs every command, which must print the output in the page.

    cookbook_test.py            as a test, run by CTest
    cookbook_test.py --update   writes the commands' output into the page; review the changes

Each section starts in its own folder with the files of prepare(). Environment: RECORDPIPE_TFRECORD,
RECORDPIPE_GENERATE, the programs.
"""
import functools
import http.server
import os
import pathlib
import re
import shutil
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "tests/cli"), str(ROOT / "tests/docs")]
import console  # noqa: E402
import small_archives  # noqa: E402
from tfrecord_test_case import named_example, record  # noqa: E402

PAGE = ROOT / "docs/cookbook.md"
PROGRAMS = [os.environ["RECORDPIPE_TFRECORD"], os.environ["RECORDPIPE_GENERATE"]]
PORT = 8000  # in the page; the server may use another one


@functools.lru_cache
def records(count):
    rows = small_archives.batch("data_batch_1", count)
    return [record(named_example({"image": [pixels], "label": [label]})) for label, pixels in rows]


def prepare(folder):
    framed = records(60)
    (folder / "train.tfrecords").write_bytes(b"".join(framed))
    damaged = bytearray(b"".join(framed))
    damaged[10 * len(framed[0]) + 100] ^= 1
    damaged[25 * len(framed[0]):25 * len(framed[0]) + 2000] = b""
    (folder / "damaged.tfrecords").write_bytes(damaged)
    (folder / "cut.tfrecords").write_bytes(b"".join(framed)[:-1000])
    wrong = b"".join(one[:8] + bytes(4) + one[12:-4] + bytes(4) for one in framed)
    (folder / "no-crcs.tfrecords").write_bytes(wrong)
    (folder / "rows.jsonl").write_text('{"id": 1, "name": "horse", "weight": 0.5}\n'
                                       '{"id": 2, "name": "ship", "tags": ["big", "wet"]}\n')
    (folder / "rows.csv").write_text("id,name,weight\n1,horse,0.5\n2,ship,\n")
    for kind, name in (("flat", "grey8.png"), ("flat", "rgb8.png"), ("photo", "rgb420.jpg")):
        (folder / "images" / kind).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "data/images" / name, folder / "images" / kind)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves ranges, which Python's own server doesn't."""

    def do_GET(self):
        path = pathlib.Path(self.translate_path(self.path))
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not wanted or not path.is_file():
            super().do_GET()
            return
        data = path.read_bytes()
        begin = int(wanted[1])
        part = data[begin:int(wanted[2]) + 1 if wanted[2] else None]
        self.send_response(206 if part else 416)
        end = begin + len(part) - 1
        self.send_header("Content-Range",
                         f"bytes {begin}-{end}/{len(data)}" if part else f"bytes */{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_):
        pass


class Shell:
    """Runs commands like a reader of the page, with the programs on the PATH."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        prepare(self.folder)
        handler = functools.partial(Handler, directory=str(self.folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        # By default, shutdown() takes half a second.
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()
        self._environment = {**os.environ, "no_proxy": "*", "LC_ALL": "C.UTF-8"}
        folders = [str(pathlib.Path(program).resolve().parent) for program in PROGRAMS]
        self._environment["PATH"] = os.pathsep.join(folders + [os.environ["PATH"]])

    def run(self, command):
        port = str(self._server.server_port)
        there = command.text.replace(f"localhost:{PORT}", f"localhost:{port}")
        printed = console.run(console.Command(command.line, there, []), self.folder,
                              self._environment)
        return [line.replace(f"localhost:{port}", f"localhost:{PORT}") for line in printed]

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self.folder)


class Cookbook(unittest.TestCase):
    maxDiff = None

    def test_answers_fifteen_questions(self):
        self.assertGreaterEqual(len(console.sections(PAGE.read_text())), 15)

    def test_every_command_prints_what_the_page_says(self):
        for section in console.sections(PAGE.read_text()):
            shell = Shell()
            self.addCleanup(shell.close)
            for command in section.commands:
                with self.subTest(section=section.title, command=command.text):
                    printed = shell.run(command)
                    if not console.matches(command.expected, printed):
                        self.assertEqual(command.expected, printed)

    def test_a_page_that_is_wrong_is_noticed(self):
        self.assertTrue(console.matches(["a", "...", "b … d"], ["a", "x", "y", "b c d"]))
        self.assertFalse(console.matches(["a"], ["a", "b"]))
        self.assertFalse(console.matches(["a", "b"], ["a"]))
        page = "## One\n```console\n$ true\n$ echo \\\n  two\nthree\n```\n## Two\n"
        (section,) = console.sections(page)
        self.assertEqual([command.text for command in section.commands],
                         ["true", "echo \\\n  two"])
        self.assertEqual(console.run(section.commands[1], ".", os.environ), ["two"])
        self.assertEqual(console.run(console.Command(1, "false", []), ".", os.environ),
                         ["[exit 1]"])


def update():
    """Replaces the output in the page with the commands' output if they don't match."""
    lines = PAGE.read_text().splitlines()
    changes = []
    for section in console.sections(PAGE.read_text()):
        shell = Shell()
        for command in section.commands:
            printed = shell.run(command)
            if not console.matches(command.expected, printed):
                changes.append((command, printed))
        shell.close()
    for command, printed in reversed(changes):
        begin = command.line + command.text.count("\n")
        lines[begin:begin + len(command.expected)] = printed
    PAGE.write_text("\n".join(lines) + "\n")
    print(f"{len(changes)} commands print something else than the page said")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
