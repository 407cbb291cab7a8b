#!/usr/bin/env python3
"""Tests what tfrecord does on a terminal: colors and the pager. The terminal is a pseudo-terminal."""
import os
import pty
import signal
import subprocess
import time
import unittest

from started import Started, wait_until_it_waits
from terminal import Terminal
from tfrecord_test_case import PROGRAM, TfrecordTest, named_example


class TerminalTest(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *(named_example({"label": [i]}) for i in range(200)))
        self.plain = self.run_it("show", "a")

    def on_terminal(self, *arguments, status=0, **variables):
        """Returns what appears on a terminal, on which the program runs."""
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("NO_COLOR", "PAGER", "LESS", "TERM")}
        environment |= {"TERM": "xterm"} | variables
        terminal = Terminal()
        with Started([PROGRAM, *arguments], cwd=self.folder, stdin=terminal.end,
                     stdout=terminal.end, stderr=terminal.end, env=environment) as process:
            terminal.begin()
            process.wait(60)
            text = terminal.shown().decode().replace("\r\n", "\n")
        self.assertEqual(process.returncode, status, text)
        return text


class Colors(TerminalTest):
    COLORED = ("\x1b[1mrecord 0 at 0\x1b[m: Example, 18 bytes\n"
               "  \x1b[36mlabel\x1b[m  \x1b[2mint64\x1b[m  0\n")

    def test_only_on_a_terminal(self):
        self.assertEqual(self.on_terminal("head", "-n1", "--no-pager", "a"), self.COLORED)
        self.assertNotIn("\x1b", self.run_it("head", "-n1", "a"))

    def test_option_and_environment(self):
        plain = self.run_it("head", "-n1", "a")
        self.assertEqual(self.run_it("head", "-n1", "--color=always", "a"), self.COLORED)
        for command, variables in ((["--color=never"], {}), ([], {"NO_COLOR": "1"}),
                                   ([], {"TERM": "dumb"})):
            self.assertEqual(self.on_terminal("head", "-n1", "--no-pager", *command, "a",
                                              **variables), plain)
        self.assertEqual(self.on_terminal("head", "-n1", "--no-pager", "--color=always", "a",
                                          NO_COLOR="1"), self.COLORED)
        self.assertEqual(self.on_terminal("head", "-n1", "--no-pager", "a", NO_COLOR=""),
                         self.COLORED)

    def test_never_in_a_file_or_json(self):
        self.assertNotIn("\x1b", self.on_terminal("head", "-n1", "--no-pager", "--json",
                                                  "--color=always", "a"))
        self.on_terminal("head", "-n1", "-o", "out", "a")
        self.assertNotIn("\x1b", (self.folder / "out").read_text())

    def test_places_as_in_grep(self):
        self.assertEqual(self.run_it("grep", "--color=always", "label == 7", "a").splitlines()[0],
                         "\x1b[35ma\x1b[m:\x1b[32m7\x1b[m: at 238: Example, 18 bytes")


class Paging(TerminalTest):
    SEEN = "cat > seen; echo paged"

    def test_text_goes_through_the_pager(self):
        for command in (["show", "a"], ["grep", "label >= 0", "a"], ["head", "a"], ["tail", "a"],
                        ["info", "a"], ["stats", "a"]):
            with self.subTest(command):
                self.assertEqual(self.on_terminal(*command, PAGER=self.SEEN, NO_COLOR="1"),
                                 "paged\n")
                self.assertEqual((self.folder / "seen").read_text(), self.run_it(*command))

    def test_no_pager(self):
        for words, variables in ((["--no-pager"], {"PAGER": self.SEEN}), ([], {"PAGER": ""}),
                                 ([], {"PAGER": "cat"}), ([], {"PATH": "/nonexistent"})):
            with self.subTest(words, **variables):
                self.assertEqual(self.on_terminal("show", "a", "--color=never", *words,
                                                  **variables), self.plain)

    def test_not_without_a_terminal(self):
        environment = {**os.environ, "PAGER": self.SEEN}
        self.assertEqual(self.start("show", "a", env=environment).stdout.decode(), self.plain)
        self.on_terminal("show", "a", "-o", "out", PAGER=self.SEEN)
        self.assertEqual((self.folder / "out").read_text(), self.plain)
        self.assertFalse((self.folder / "seen").exists())

    def test_defaults_of_less(self):
        self.assertEqual(self.on_terminal("show", "a", PAGER="cat > seen; echo $LESS"), "FRX\n")
        self.assertEqual(self.on_terminal("show", "a", PAGER="cat > seen; echo $LESS", LESS="X"),
                         "X\n")

    def test_leaving_the_pager_early_is_success(self):
        (self.folder / "big").write_bytes((self.folder / "a").read_bytes() * 1000)
        self.assertEqual(self.on_terminal("show", "big", "--json", PAGER="head -c 4"), '{"re')
        # Without a pager, a closed pipe is one.
        with subprocess.Popen([PROGRAM, "show", "big"], cwd=self.folder,
                              stdout=subprocess.PIPE) as process:
            process.stdout.close()
            self.assertEqual(process.wait(60), 128 + signal.SIGPIPE)

    def test_statuses_and_errors(self):
        """The error appears when the pager has ended."""
        self.assertEqual(self.on_terminal("grep", "label == 777", "a", PAGER=self.SEEN, status=1),
                         "paged\n")
        self.assertIn("column 7", self.on_terminal("grep", "label = 3", "a", PAGER=self.SEEN,
                                                   status=2))
        with open(self.folder / "a", "ab") as file:
            file.write(b"no record")
        shown = self.on_terminal("show", "a", status=2,
                                 PAGER="cat > seen; sleep 0.2; echo paged")
        self.assertTrue(shown.startswith("paged\ntfrecord show: a"), shown)

    def test_a_pager_that_is_not_there(self):
        for command in (["head", "a"], ["show", "a"]):
            shown = self.on_terminal(*command, PAGER="no-such-pager", status=2)
            self.assertIn(f"tfrecord {command[0]}: the pager $PAGER can't be run (--no-pager", shown)

    def test_interrupt_waits_for_the_pager(self):
        """Ctrl-C stops the work. The pager keeps the terminal as long as the user wants."""
        os.mkfifo(self.folder / "fifo")
        parent, child = pty.openpty()
        with Started([PROGRAM, "show", "-"], cwd=self.folder, stdin=subprocess.PIPE, stdout=child,
                     stderr=subprocess.PIPE,
                     env={**os.environ, "PAGER": "cat > seen; echo > ended; read x < fifo"}) as process:
            process.stdin.write((self.folder / "a").read_bytes())
            process.stdin.flush()
            wait_until_it_waits(process)
            process.send_signal(signal.SIGINT)
            deadline = time.monotonic() + 30
            while not (self.folder / "ended").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.7)  # sooner, it would be the same signal
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            self.assertIsNone(process.poll())
            (self.folder / "fifo").write_text("\n")
            self.assertEqual(process.wait(30), 130)
        os.close(child)
        os.close(parent)


del TerminalTest

if __name__ == "__main__":
    unittest.main()
