#!/usr/bin/env python3
"""Lists the skipped tests and the reasons. usage: list_skipped.py LastTest.log

GoogleTest prints the reason above its [  SKIPPED ] line, Python's unittest (verbose) after the
test's name, or after the first line of its docstring.
"""
import re
import sys

NAME = re.compile(r"(test\w+|setUpClass) \((?:__main__\.)?(\w+)\S*\)")
REASON = re.compile(r".* skipped ['\"](.*)['\"]$")
END = re.compile(r"(?:.* )?(?:ok|FAIL|ERROR)$")
COUNT = re.compile(r"(?:OK|FAILED|NO TESTS RAN) \(.*skipped=(\d+)")


def skips(log):
    """Yields a name and a reason for each skipped test in the output of one CTest test."""
    reason, name, found_here = [], "", 0
    for line in log.splitlines():
        if found := NAME.match(line):
            name = f"{found[2]}.{found[1]}"
        if name and (found := REASON.match(line)):
            yield name, found[1]
            name = ""
            found_here += 1
        elif name and END.match(line):
            name = ""
        elif found := COUNT.match(line):
            if int(found[1]) > found_here:
                yield f"{int(found[1]) - found_here} more", "see the log"
        elif re.match(r"\[ RUN ", line):
            reason = []
        elif found := re.match(r"\[  SKIPPED \] (\S+) \(", line):
            yield found[1], " ".join(reason)
        elif line and not line.endswith(": Skipped"):
            reason.append(line.strip())


def lines(log):
    """Returns a sorted line for each skipped test in CTest's log."""
    found = set()
    parts = re.split(r"^\d+/\d+ Testing: (.*)$", log, flags=re.M)
    for test, output in zip(parts[1::2], parts[2::2]):
        for name, reason in skips(output):
            found.add(f"skipped: {name if name == test else f'{test}: {name}'}: {reason}")
    return sorted(found)


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        for line in lines(log.read()):
            print(line)


if __name__ == "__main__":
    main()
