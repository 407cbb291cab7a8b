#!/usr/bin/env python3
"""Tests the contract of all subcommands: exit codes, shared options, destinations of results.

All tests iterate over the commands listed by --help; a command that is not in COMMANDS fails them.
"""
import dataclasses
import json
import re
import unittest

from tfrecord_test_case import TfrecordTest, named_example

RECORDS = [{"label": [label], "name": [f"n{label}"]} for label in range(6)]


@dataclasses.dataclass
class Command:
    """The arguments, where FILE stands for an input and OUT for the result."""
    call: list
    damaged: int = 2  # the exit code for a damaged input
    several: bool = True  # accepts several inputs
    selects: bool = False  # has --where and --limit
    ends: bool = False  # has --where, and its limit is -n
    threads: bool = False
    json: bool = True
    names: tuple = ()  # options with feature names
    needs: dict = dataclasses.field(default_factory=dict)  # of such options: others beside them
    writes: bool = False  # the result goes to OUT, and --json prints its summary
    answers_no: bool = False  # exit code 1 is possible


COMMANDS = {
    "info": Command(["FILE"], damaged=1, answers_no=True),
    "verify": Command(["FILE"], damaged=1, threads=True, answers_no=True),
    "show": Command(["FILE"], selects=True, threads=True, names=("--feature", "--select")),
    "head": Command(["FILE"], ends=True, names=("--feature", "--select")),
    "tail": Command(["FILE"], ends=True, names=("--feature", "--select")),
    "grep": Command(["label >= 0", "FILE"], threads=True, names=("--feature", "--select"),
                    answers_no=True),
    # (The damage is in the data, which is not read.)
    "count": Command(["FILE"], damaged=0, selects=True, threads=True),
    "schema": Command(["FILE"], selects=True, threads=True),
    "stats": Command(["FILE"], selects=True, threads=True, names=("--feature", "--select")),
    "index": Command(["FILE", "-o", "OUT"], several=False, threads=True, writes=True,
                     answers_no=True),
    "convert": Command(["FILE", "-o", "OUT"], selects=True, threads=True, writes=True,
                       names=("--feature", "--select", "--drop", "--rename", "--image"),
                       needs={"--image": ["--resize", "9"]}),
    "cat": Command(["FILE", "-o", "OUT"], writes=True),
    "salvage": Command(["FILE", "-o", "OUT"], damaged=1, threads=True, writes=True,
                       answers_no=True),
    "diff": Command(["FILE", "a"], several=False, selects=True, threads=True, answers_no=True),
    "create": Command(["FILE", "-o", "OUT", "--from", "json"], threads=True, writes=True),
    "export": Command(["FILE", "-o", "OUT", "--to", "json"], selects=True, threads=True, writes=True,
                      names=("--feature", "--select")),
    "view": Command(["FILE", "-o", "OUT"], damaged=1, selects=True, writes=True,
                    names=("--image", "--label"), answers_no=True),
    "bench": Command(["FILE", "--seconds", "0.01"]),
    "completion": Command(["bash"], json=False),
    "man": Command([], json=False),
}
READING = [name for name, command in COMMANDS.items() if "FILE" in command.call]
SELECTING = [name for name, command in COMMANDS.items() if command.selects]


class ContractTest(TfrecordTest):
    def setUp(self):
        super().setUp()
        content = self.write("a", *map(named_example, RECORDS)).read_bytes()
        damaged = bytearray(content)
        damaged[-1] ^= 1
        (self.folder / "damaged").write_bytes(damaged)
        (self.folder / "a.jsonl").write_text('{"label": 1}\n{"label": 2}\n')
        (self.folder / "damaged.jsonl").write_text('{"label": 1}\n{"label"')

    def run_command(self, name, *options, files=("a",), out="out"):
        (self.folder / "out").unlink(missing_ok=True)
        arguments = []
        for word in COMMANDS[name].call:
            if word == "FILE":
                arguments += [file + ".jsonl" if name == "create" and file in ("a", "damaged") else
                              file for file in files]
            else:
                arguments.append(out if word == "OUT" else word)
        return self.start(name, *arguments, *options)

    def expect(self, status, result):
        self.assertEqual(result.returncode, status, result.stderr.decode())

    def help_of(self, name):
        return self.run_it(name, "--help")


class Codes(ContractTest):
    def test_every_command_is_here(self):
        listed = self.run_it("--help").split("\nCommands:\n")[1].split("\n\n")[0]
        self.assertEqual([line.split()[0] for line in listed.splitlines()], list(COMMANDS))

    def test_done(self):
        for name in COMMANDS:
            with self.subTest(name):
                self.expect(0, self.run_command(name))

    def test_damage(self):
        for name in READING:
            with self.subTest(name):
                self.expect(COMMANDS[name].damaged, self.run_command(name, files=["damaged"]))
                self.assertEqual((self.folder / "out").exists(),
                                 COMMANDS[name].writes and COMMANDS[name].damaged == 1)

    def test_an_input_that_cannot_be_read(self):
        for name in READING:
            with self.subTest(name):
                self.expect(2, self.run_command(name, files=["missing"]))
                self.assertFalse((self.folder / "out").exists())

    def test_the_highest_of_several_files(self):
        for name in READING:
            if not COMMANDS[name].several:
                continue
            for files in (["a", "damaged"], ["damaged", "a"]):
                with self.subTest(name, files=files):
                    # `view` includes the records of a damaged file; an intact one follows.
                    self.expect(COMMANDS[name].damaged, self.run_command(name, files=files))
            for files in (["missing", "damaged", "a"], ["a", "damaged", "missing"]):
                with self.subTest(name, files=files):
                    self.expect(2, self.run_command(name, files=files))
        self.expect(2, self.start("index", "a", "missing", "damaged"))
        self.assertTrue((self.folder / "a.idx").exists())

    def test_no_output(self):
        for name, command in COMMANDS.items():
            with self.subTest(name):
                if command.writes:
                    result = self.run_command(name, out="no/such/folder")
                else:
                    result = self.run_command(name, "-o", "no/such/folder")
                self.expect(2, result)

    def test_wrong_usage(self):
        for name in COMMANDS:
            with self.subTest(name):
                self.expect(2, self.run_command(name, "--no-such-option"))
                if name in READING:
                    self.expect(2, self.start(name))

    def test_an_answer(self):
        self.write("b", *map(named_example, RECORDS[1:]))
        self.expect(1, self.start("diff", "a", "b"))
        self.expect(2, self.start("diff", "a", "missing"))
        self.expect(2, self.start("diff", "a", "damaged"))
        self.expect(0, self.start("show", "a", "--where", "label == 3"))
        self.expect(2, self.start("show", "a", "--record", "100"))
        self.run_it("index", "a")
        self.expect(0, self.start("index", "--check", "a"))
        with open(self.folder / "a", "ab") as file:
            file.write((self.folder / "b").read_bytes())
        self.expect(1, self.start("index", "--check", "a"))
        self.expect(2, self.start("index", "--check", "b"))
        self.expect(2, self.start("index", "--check", "a", "b"))
        (self.folder / "garbage").write_bytes(b"not one record")
        self.expect(2, self.start("salvage", "garbage", "-o", "out"))

    def test_help_says_what_one_means(self):
        for name, command in COMMANDS.items():
            with self.subTest(name):
                text = " ".join(self.help_of(name).split())
                self.assertEqual("Exit status: 0 done; 1 " in text, command.answers_no)
                self.assertEqual(text.count("Exit status"), int(command.answers_no))
                page = self.run_it("man", name)
                self.assertEqual(page.count("0 done;"), 1)
                self.assertIn("2 error: wrong usage, an input that can't be read, or no output",
                              page)


class Options(ContractTest):
    def test_who_has_them(self):
        for name, command in COMMANDS.items():
            with self.subTest(name):
                text = self.help_of(name)
                self.assertEqual(" --where EXPR" in text, command.selects or command.ends)
                self.assertEqual(" --limit N" in text, command.selects)
                self.assertEqual(" --threads N" in text, command.threads)
                self.assertEqual(" --json " in text.replace("\n", " "), command.json)
                self.assertRegex(text, r" -o, --output FILE")
                named = set(re.findall(r"(--[a-z]+)(?:, (--[a-z]+))? (?:NAME,...|OLD=NEW,...)", text))
                of_tables = {"--rename"} if name == "export" else set()  # which Python writes
                self.assertLessEqual({option for pair in named for option in pair if option},
                                     {*command.names, *of_tables})

    def test_where_and_limit(self):
        """Each command selects the same records: 2 and 3."""
        selected = ["--where", "label >= 2", "--limit", "2"]
        for threads in (1, 3):
            for name in SELECTING:
                with self.subTest(name, threads=threads):
                    options = ["--threads", threads] if COMMANDS[name].threads else []
                    json_option = [] if name == "export" else ["--json"]
                    result = self.run_command(name, *selected, *options, *json_option)
                    self.expect(0, result)
                    lines = [json.loads(line) for line in result.stdout.splitlines()]
                    count = {"show": lambda: len(lines),
                             "diff": lambda: lines[-1]["records_a"],
                             "convert": lambda: lines[0]["files"][0]["records"],
                             "export": lambda: (self.folder / "out").read_text().count("\n")}
                    self.assertEqual(count.get(name, lambda: lines[0]["records"])(), 2)
                    self.expect(0, self.run_command(name, "--limit", "1"))
        found, = self.json("stats", "--json", "a", *selected)
        self.assertEqual(found["features"]["label"]["int64"]["max"], 3)
        found, = self.json("schema", "--json", "a", "a", "--where", "label in [0, 5]")
        self.assertEqual(found["records"], 4)

    def test_selecting_nothing_is_no_failure(self):
        for name in READING:
            if COMMANDS[name].selects or COMMANDS[name].ends:
                with self.subTest(name):
                    self.expect(0, self.run_command(name, "--where", "label == 77"))
        self.expect(0, self.start("show", "a", "--range", "100:"))
        self.expect(1, self.start("grep", "label == 77", "a"))

    def test_values_that_are_not_in_a_list(self):
        self.write("b", *map(named_example, [{"x": [1, 5]}, {"x": [1]}, {"x": []}, {"y": [3]}]))
        for expression, count in (("x not in [1, 2]", 1), ("not x in [1, 2]", 2)):
            self.assertEqual(self.run_it("count", "b", "--where", expression), f"{count}  b\n")

    def test_diff_compares_what_is_selected(self):
        self.write("b", *map(named_example, RECORDS[2:4] + [{"label": [9]}]))
        self.assertEqual(self.run_it("diff", "a", "b", "--where", "label in [2, 3]"),
                         "the same 2 records\n")
        self.assertEqual(self.run_it("diff", "a", "b", "--where", "label >= 2", "--limit", "2"),
                         "the same 2 records\n")
        self.expect(1, self.start("diff", "a", "b", "--limit", "1"))

    def test_a_name_in_where_that_no_record_has(self):
        for expression in ("lable == 3", "label == 3 or lable == 3", "not lable == 3",
                           "len(lable) > 0", "lable not in [1]", "label >= 0 or lable == 3",
                           "not (lable == 3 and label == 100)"):
            for name in (*SELECTING, "head", "tail"):
                with self.subTest(name, expression=expression):
                    result = self.run_command(name, "--where", expression)
                    self.expect(2, result)
                    self.assertIn(
                        f"tfrecord {name}: --where names lable, which no record has; there are "
                        "label, name", result.stderr.decode())
                    self.assertFalse((self.folder / "out").exists())
        # Not errors: `has`, and a feature that records that were not read may have.
        for name in (*SELECTING, "head", "tail"):
            with self.subTest(name):
                self.expect(0, self.run_command(name, "--where", "not has(lable)"))
                self.expect(0, self.run_command(name, "--where", "has(lable) and lable == 3"))
                if name == "tail":
                    continue  # reads all
                limit = ["-n", "1"] if name == "head" else ["--limit", "1"]
                for expression in ("label == 0 or lable == 3", "not lable == 3"):
                    result = self.run_command(name, "--where", expression, *limit)
                    self.expect(0, result)
                    self.assertEqual(
                        result.stderr.decode().count(
                            f"tfrecord {name}: --where names lable, which no record that was read "
                            "has; there are label, name"), 1, result.stderr)

    def test_names_that_only_unread_records_may_have(self):
        for name in ("show", "stats", "convert", "export"):
            option = "--drop" if name == "convert" else "--feature"
            with self.subTest(name):
                result = self.run_command(name, option, "lable", "--limit", "2")
                self.expect(0, result)
                self.assertIn(f"tfrecord {name}: no record that was read has a feature named lable; "
                              "there are label, name; did you mean label?\n",
                              result.stderr.decode())

    def test_an_option_names_a_feature_that_no_record_has(self):
        for name, command in COMMANDS.items():
            for option in command.names:
                for threads in ([1, 3] if command.threads else [None]):
                    with self.subTest(name, option=option):
                        value = "lable=x" if option == "--rename" else "lable"
                        options = [*command.needs.get(option, [])]
                        options += ["--threads", threads] if threads else []
                        result = self.run_command(name, option, value, *options)
                        # (These may not have read all records.)
                        self.expect(0 if command.ends else 2, result)
                        message = result.stderr.decode().replace("record that was read", "record")
                        self.assertIn(f"tfrecord {name}: no record has a feature named lable; "
                                      "there are label, name", message)
                        self.assertFalse((self.folder / "out").exists())
                # Records without features: no similar names to suggest.
                self.write("b", b"\xff\xfe")
                with self.subTest(name, option=option):
                    result = self.run_command(name, option, value, *command.needs.get(option, []),
                                              files=["b"])
                    self.expect(0 if command.ends else 2, result)

    def test_names_are_looked_for_in_records_that_are_not_selected(self):
        self.write("b", named_example({"label": [1]}), named_example({"label": [2], "rare": [1]}))
        for name in ("show", "stats", "convert", "export"):
            option = "--drop" if name == "convert" else "--feature"
            with self.subTest(name):
                self.expect(0, self.run_command(name, "--where", "not has(rare)", option, "rare",
                                                files=["b"]))

    def test_json_is_an_object_a_line(self):
        for name, command in COMMANDS.items():
            if not command.json:
                continue
            for files in (["a"], ["a", "damaged", "missing"], ["missing"]):
                if len(files) > 1 and not command.several:
                    continue
                options = ["--json"]
                with self.subTest(name, files=files):
                    result = self.run_command(name, *options, files=files)
                    lines = result.stdout.decode().splitlines()
                    for line in lines:
                        self.assertIsInstance(json.loads(line), dict)
                    if name in ("info", "verify", "count", "bench"):
                        paths = [json.loads(line).get("path") for line in lines]
                        self.assertEqual(paths[:len(files)], files)
                        self.assertEqual("error" in json.loads(lines[len(files) - 1]),
                                         files[-1] == "missing")


class Results(ContractTest):
    def test_a_summary_never_stands_among_data(self):
        """A result goes to standard output; the summary of a result written elsewhere doesn't."""
        for name, command in COMMANDS.items():
            with self.subTest(name):
                result = self.run_command(name)
                self.assertEqual(result.stdout == b"", command.writes)
                self.assertEqual(result.stderr == b"", not command.writes)
                if not command.writes:
                    self.run_command(name, "-o", "out")
                    expected = re.sub(rb"\d", b"", result.stdout)
                    if name != "bench":
                        self.assertEqual(re.sub(rb"\d", b"", (self.folder / "out").read_bytes()),
                                         expected)
                    continue
                result = self.run_command(name, "--json")
                self.expect(0, result)
                self.assertEqual((len(result.stdout.splitlines()), result.stderr), (1, b""))
                # The result and the JSON can't both go to standard output.
                self.expect(2, self.run_command(name, "--json", out="-"))
                self.assertNotIn(b"wrote", self.run_command(name, out="-").stdout)

    def test_no_input_is_replaced(self):
        for name in READING:
            file = "a.jsonl" if name == "create" else "a"
            content = (self.folder / file).read_bytes()
            for options in ([],) if name != "convert" else (["--limit", "1"], ["--drop", "name"]):
                with self.subTest(name, options=options):
                    if COMMANDS[name].writes:
                        result = self.run_command(name, *options, out=file)
                    else:
                        result = self.run_command(name, "-o", file)
                    self.expect(2, result)
                    self.assertIn(b"is one of the files that are read", result.stderr)
                    self.assertEqual((self.folder / file).read_bytes(), content)
        content = self.write("b", named_example({"label": [1]})).read_bytes()
        for output in ("a", "b"):
            self.expect_failure("is one of the files that are read", "diff", "a,b", "missing", "-o",
                                output, status=2)
        self.assertEqual((self.folder / "b").read_bytes(), content)


if __name__ == "__main__":
    unittest.main()
