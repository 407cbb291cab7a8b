#!/usr/bin/env python3
"""Tests that everything named in the lines of docs/tutorial-parity.md exists.

Checks files, GoogleTests in the programs named in the page, tests in Python, and flags. Run by
CTest. Environment: RECORDPIPE_PROGRAMS, the folder of the programs; without it, flags are not
checked.
"""
import ast
import functools
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/tutorial-parity.md"
PROGRAMS = os.environ.get("RECORDPIPE_PROGRAMS")

LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
CODE = re.compile(r"`([^`]+)`")
# "TEST_PROGRAM Suite.Name" or "TEST_PROGRAM Suite.*"; TEST_PROGRAM is trainer_test by default.
GOOGLE_TEST = re.compile(r"(?:(\w+_test) )?([A-Z]\w+)\.(\w+|\*)")
# "FILE.Class.test_method" or "FILE.Class", with the file's name without .py.
PYTHON_TEST = re.compile(r"(\w+_test)\.([A-Z]\w+)(?:\.(test_\w+))?")
# "PROGRAM --flag ...", optionally preceded by mpirun and its options.
COMMAND = re.compile(r"(?:mpirun -n \w+ )?(cifar10_\w+|generate_cifar10_tfrecords)( .*)")
# "tests/... arguments"
SCRIPT = re.compile(r"((?:tests|data|tools|\.ci)/\S+).*")
# If a line names none of these, its last cell begins with one of the following words.
NO_TEST = ("left out", "not here", "not run")


@functools.cache
def google_tests():
    """{suite: {name: file}}"""
    suites = {}
    for path in sorted((ROOT / "tests").rglob("*.cc")):
        for suite, name in re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)",
                                      path.read_text(), re.MULTILINE):
            suites.setdefault(suite, {})[name] = str(path.relative_to(ROOT))
    return suites


@functools.cache
def sources():
    """{test program: its source files}, as the CMakeLists.txt below tests/ list them."""
    found = {}
    for lists in sorted((ROOT / "tests").rglob("CMakeLists.txt")):
        folder, text = lists.parent.relative_to(ROOT), lists.read_text()
        for name, value in re.findall(r"^set\((\w+)([^)]*)\)", text, re.MULTILINE):
            text = text.replace(f"${{{name}}}", value)
        for name, block in re.findall(
                r"recordpipe_(?:test|program)\((\S+)\s+(?:OWN_MAIN\s+)?(?:SHARDS \d+\s+)?"
                r"SOURCES(.*?)LINK", text, re.DOTALL):
            found[name] = [os.path.normpath(folder / source) for source in block.split()]
    return found


@functools.cache
def python_tests(name):
    """{class: methods} of tests/**/NAME.py."""
    found = {}
    for path in (ROOT / "tests").rglob(f"{name}.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = [method.name for method in node.body
                                    if isinstance(method, ast.FunctionDef)]
    return found


@functools.cache
def help_of(program):
    return subprocess.run([pathlib.Path(PROGRAMS) / program, "--help"], capture_output=True,
                          text=True, check=True).stdout


def problem_of(code):
    """The error in a code span's text; "" if there is none, None if there is nothing to check."""
    if match := GOOGLE_TEST.fullmatch(code):
        program, suite, name = match.groups()
        tests = google_tests().get(suite, {})
        files = tests.values() if name == "*" else [tests.get(name)]
        known = sources().get(program or "trainer_test", [])
        return "" if tests and all(file in known for file in files) else "no such GoogleTest"
    if match := PYTHON_TEST.fullmatch(code):
        file, case, method = match.groups()
        methods = python_tests(file).get(case)
        missing = methods is None or (method and method not in methods)
        return "no such test in Python" if missing else ""
    if match := COMMAND.fullmatch(code):
        if not PROGRAMS:
            return ""
        lacking = [flag for flag in re.findall(r"--[a-z0-9][\w-]*", match[2])
                   if not re.search(rf"{flag}\b(?!-)", help_of(match[1]))]
        return f"{match[1]} has no {', '.join(lacking)}" if lacking else ""
    if match := SCRIPT.fullmatch(code):
        return "" if (ROOT / match[1]).exists() else "no such file"
    return None


def problems(page):
    for number, line in enumerate(page.splitlines(), 1):
        for target in LINK.findall(line):
            if "://" not in target and not (PAGE.parent / target).exists():
                yield f"{number}: {target}: no such file"
        found = {code: problem_of(code) for code in CODE.findall(line)}
        for code, problem in found.items():
            if problem:
                yield f"{number}: {code}: {problem}"
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        is_head = cells[-1] in ("shown by", "---")
        shown = any(problem_of(code) is not None for code in CODE.findall(cells[-1]))
        if not is_head and not shown and not cells[-1].startswith(NO_TEST):
            yield f"{number}: names no test, no command and no reason"


class Parity(unittest.TestCase):
    def test_what_the_page_names_is_there(self):
        self.assertEqual(list(problems(PAGE.read_text())), [])

    def test_a_page_that_is_wrong_is_noticed(self):
        good = ("`TutorialCnn.HasThePublishedSize`", "`ModelAnalyzer.*`", "left out: a defect",
                "`summary_test Event.HoldsHistograms`", "`mpi_training_test MpiTraining.*`",
                "`cuda_emulation_test CudaBackend.*`", "`tests/interop/run EventFiles`",
                "`cifar10_main_resuming_test.Resuming.test_resumes`", "`event_files_test.EventFiles`",
                "`cifar10_main --momentum`")
        bad = ("`TutorialCnn.HasNoSize`", "`NoSuite.*`", "`Event.HoldsHistograms`", "[a](b.md)",
               "`cifar10_main_test.Training.test_nothing`", "`cifar10_main_test.Nothing`",
               "`tests/interop/walk`", "nothing", "`x`")
        if PROGRAMS:
            bad += ("`cifar10_main --moment`", "`cifar10_train --train-dir D --job-dir D`")
        for cell in good:
            self.assertEqual(list(problems(f"| a | b | {cell} |")), [], cell)
        for cell in bad:
            self.assertNotEqual(list(problems(f"| a | b | {cell} |")), [], cell)


if __name__ == "__main__":
    unittest.main()
