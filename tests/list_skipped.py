#!/usr/bin/env python3
"""Lists the skipped tests and the reasons. usage: list_skipped.py LastTest.log

GoogleTest prints the reason above its [  SKIPPED ] line, Python's unittest after the test's name.
"""
import re
import sys


def skips(log):
    reason = []
    for line in log.splitlines():
        if found := re.match(r"(test\w+|setUpClass) \((?:__main__\.)?(\w+)\S*\).* skipped ['\"](.*)['\"]$", line):
            yield f"{found[2]}.{found[1]}", found[3]
        elif re.match(r"\[ RUN ", line):
            reason = []
        elif found := re.match(r"\[  SKIPPED \] (\S+) \(", line):
            yield found[1], " ".join(reason)
        elif line and not line.endswith(": Skipped"):
            reason.append(line.strip())


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        found = sorted(set(skips(log.read())))
    for name, reason in found:
        print(f"skipped: {name}: {reason}")


if __name__ == "__main__":
    main()
