#!/usr/bin/env python3
"""Tests tfrecord completion, tfrecord man and --help, which must describe the same commands."""
import re
import shutil
import subprocess
import unittest

from tfrecord_test_case import TfrecordTest

# Sources the script, and prints its completions for the last of the words.
COMPLETE_IN_BASH = r'''
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
compopt() { echo "compopt $*"; }   # for readline alone
_tfrecord
printf '%s\n' "${COMPREPLY[@]}"
'''


class CommandsTest(TfrecordTest):
    def commands(self):
        text = self.run_it("--help").split("\nCommands:\n")[1].split("\n\n")[0]
        return [line.split()[0] for line in text.splitlines()]


class Shells(TfrecordTest):
    def script(self, shell):
        path = self.folder / shell
        self.run_it("completion", shell, "-o", path)
        self.assertEqual(self.run_it("completion", shell), path.read_text())
        return path

    def offered(self, *words):
        result = subprocess.run(
            ["bash", "--norc", "-c", COMPLETE_IN_BASH, "bash", self.script("bash"), "tfrecord", *words],
            capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(result.stderr, "")
        return result.stdout.split("\n")[:-1]

    def test_bash_knows_the_program(self):
        result = subprocess.run(
            ["bash", "--norc", "-uec", 'source "$1"; complete -p tfrecord', "bash",
             self.script("bash")], capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(result.stdout, "complete -F _tfrecord tfrecord\n")

    def test_bash_completes(self):
        self.assertEqual(self.offered("compl"), ["completion"])
        self.assertIn("man", self.offered(""))
        self.assertEqual(self.offered("--v"), ["--version"])
        self.assertEqual(self.offered("completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.offered("completion", "--out"), ["--output"])
        self.assertEqual(self.offered("man", "compl"), ["completion"])
        self.assertEqual(self.offered("nonsense", ""), [""])

    def test_bash_leaves_files_to_readline(self):
        self.assertEqual(self.offered("completion", "-o", "x"),
                         ["compopt -o default -o filenames", ""])
        self.assertEqual(self.offered("completion", "--output", "=", "x"),
                         ["compopt -o default -o filenames", ""])
        self.assertEqual(self.offered("man", "--all", "="),
                         ["compopt -o dirnames -o filenames", ""])

    def test_inputs_of_all_commands_are_files(self):
        files = ["compopt -o default -o filenames", ""]
        for command in ("info", "verify", "show", "convert", "create", "export", "diff"):
            self.assertEqual(self.offered(command, "x"), files, command)
        self.assertEqual(self.offered("diff", "a", "x"), files)
        zsh = self.script("zsh").read_text()
        for command, arguments in (("info", ["*:FILE:_files"]), ("create", ["*:INPUT:_files"]),
                                   ("diff", [":A:_files", ":B:_files"])):
            case = zsh.split(f"\n        {command})\n")[1].split(" ;;\n")[0]
            self.assertEqual(re.findall(r"'(\*?:[^']*)'", case), arguments)

    def test_another_shell_is_a_mistake(self):
        result = self.start("completion", "csh")
        self.assertEqual(result.returncode, 2)


class Zsh(TfrecordTest):
    def test_zsh_takes_the_script(self):
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        script = self.folder / "zsh"
        self.run_it("completion", "zsh", "-o", script)
        self.assertTrue(script.read_text().startswith("#compdef tfrecord\n"))
        # As in a user's .zshrc: compinit, then the script.
        result = subprocess.run(
            ["zsh", "-f", "-c", "autoload -U compinit; compinit -D -u; source $1; "
                                "print -r -- $_comps[tfrecord]; functions _tfrecord >/dev/null",
             "zsh", script], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((result.stdout, result.stderr), ("_tfrecord\n", ""))


class Fish(TfrecordTest):
    def setUp(self):
        super().setUp()
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        self.run_it("completion", "fish", "-o", "script")
        (self.folder / "folder").mkdir()
        (self.folder / "file").touch()

    def offered(self, line):
        """What fish completes `line` with, without the descriptions."""
        result = subprocess.run(
            ["fish", "--no-config", "-c", "source script; complete -C $argv[1]", line],
            cwd=self.folder, env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(result.stderr, "")
        return [offer.split("\t")[0] for offer in result.stdout.splitlines()]

    def test_commands_options_and_values(self):
        self.assertEqual(self.offered("tfrecord compl"), ["completion"])
        self.assertIn("verify", self.offered("tfrecord "))
        self.assertEqual(self.offered("tfrecord --v"), ["--version"])
        self.assertEqual(self.offered("tfrecord completion "), ["bash", "fish", "zsh"])
        self.assertEqual(self.offered("tfrecord verify --da"), ["--damaged"])
        self.assertIn("--input-compression=gzip",
                      self.offered("tfrecord info --input-compression="))

    def test_files_and_folders(self):
        self.assertIn("file", self.offered("tfrecord info "))
        self.assertEqual(self.offered("tfrecord info fi"), ["file"])
        self.assertIn("file", self.offered("tfrecord completion -o "))
        self.assertEqual(self.offered("tfrecord man --all f"), ["folder/"])


class Manual(CommandsTest):
    def test_pages_are_written_for_all_commands(self):
        self.run_it("man", "--all", "man1")
        self.assertEqual(sorted(path.name for path in (self.folder / "man1").iterdir()),
                         sorted(["tfrecord.1"] + [f"tfrecord-{name}.1" for name in self.commands()]))
        for path in (self.folder / "man1").iterdir():
            name = path.stem.removeprefix("tfrecord").removeprefix("-")
            self.assertEqual(self.run_it("man", *[name] if name else []), path.read_text())

    def test_a_page_that_is_not_there(self):
        self.expect_failure("unknown command 'nonsense'", "man", "nonsense", status=2)
        self.expect_failure("--all is for all commands", "man", "man", "--all", "x", status=2)


class Groff(CommandsTest):
    def test_groff_has_nothing_to_say_about_them(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        for name in self.commands():
            page = self.run_it("man", name)
            result = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=100n"], input=page,
                                    capture_output=True, text=True, check=True, timeout=60)
            self.assertEqual(result.stderr, "", name)
            text = re.sub(".\b", "", result.stdout)  # overstrikes
            for option in re.findall(r"--[a-z-]+", self.run_it(name, "--help")):
                self.assertIn(option, text)
            for line in self.run_it(name, "--help").splitlines():
                if row := re.match(r"(\w+)  +(\w.*)", line):  # a row of a table
                    self.assertRegex(text, rf"\n *{row[1]} +{re.escape(row[2].split()[0])}")


class Help(CommandsTest):
    def test_lines_fit_and_examples_come_last(self):
        for name in ["", *self.commands()]:
            text = self.run_it(*[name] if name else [], "--help")
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
            if name:
                self.assertIn("\n\nExamples:\n  ", text)
                self.assertIn(f"tfrecord {name}", text.split("\nExamples:\n")[1])

    def test_short_texts_begin_with_examples(self):
        for name in ("", *self.commands()):
            arguments = [name] if name else []
            with self.subTest(name):
                text = self.run_it(*arguments, "-h")
                full = self.run_it(*arguments, "--help", "-h")  # the first counts
                self.assertIn("--help", text.splitlines()[-1])
                self.assertLessEqual(max(map(len, text.splitlines())), 80)
                self.assertLess(text.index("\nExamples:\n") if name else 0, 400)
                self.assertLessEqual(len(text), len(full))
                self.assertEqual(full, self.run_it(*arguments, "--help"))
        self.assertLess(len(self.run_it("convert", "-h").splitlines()), 110)

    def test_second_columns_stay_below_each_other(self):
        lines = self.run_it("create", "--help").splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("json        One object"))
        rows = lines[first:lines.index("", first)]
        for line in rows:
            self.assertRegex(line, r"^(json|csv|libsvm|numpy|images|webdataset|parquet|cifar| ) *\S")
            self.assertEqual(line[11], " ", line)
            self.assertNotEqual(line[12], " ", line)
        # Lines are filled: the first word of the next line never fits.
        for line, below in zip(rows, rows[1:]):
            if below.startswith(" "):
                self.assertGreater(len(line) + 1 + len(below.split()[0]), 80, line)

    def test_without_a_command_it_says_so(self):
        result = self.start()
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"--help", result.stderr)

    def test_one_of_the_texts(self):
        self.assertEqual(self.run_it("man", "--help"), """\
Usage: tfrecord man [OPTIONS] [COMMAND]

Prints a man page, in roff.

The page of the program, or of one command. It has the same text as --help.

Arguments:
  COMMAND                     Command to describe (default: the program)

Options:
      --all FOLDER            Write all pages into a folder instead
  -o, --output FILE           Output file (default: standard output)
      --no-clobber            Refuse to replace a file that exists
  -h                          Print a short help
      --help                  Print this help

Examples:
  tfrecord man index | man -l -
  tfrecord man --all ~/.local/share/man/man1
""")


if __name__ == "__main__":
    unittest.main()
