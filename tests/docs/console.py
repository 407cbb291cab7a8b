"""Runs the commands in a Markdown page's ```console blocks, and compares the output.

In a block, a line that starts with "$ " is a command for sh; a line that ends with a backslash
continues on the next line. The following lines are the output, including standard error. "[exit N]"
as the last line is the exit status (default: 0). "..." as a line matches any lines, and "…" in a
line matches any text.
"""
import dataclasses
import re
import subprocess


@dataclasses.dataclass
class Command:
    line: int  # of the page, from 1
    text: str
    expected: list


@dataclasses.dataclass
class Section:
    title: str
    commands: list


def sections(page):
    """The page's second-level sections that have commands."""
    found = [Section("", [])]
    inside = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            inside = not inside and line == "```console"
        elif not inside and line.startswith("## "):
            found.append(Section(line[3:], []))
        elif inside and line.startswith("$ "):
            found[-1].commands.append(Command(number, line[2:], []))
        elif inside:
            command = found[-1].commands[-1]
            if not command.expected and command.text.endswith("\\"):
                command.text += "\n" + line
            else:
                command.expected.append(line)
    return [section for section in found if section.commands]


def matches(expected, printed):
    def pattern(line):
        if line == "...":
            return r"(?:.*\n)*"
        return ".*".join(map(re.escape, line.split("…"))) + r"\n"
    return re.fullmatch("".join(map(pattern, expected)),
                        "".join(line + "\n" for line in printed)) is not None


def run(command, folder, environment):
    """Returns the lines of the command's output."""
    result = subprocess.run(command.text, shell=True, cwd=folder, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=120, check=False)
    printed = result.stdout.splitlines()
    return printed + ([f"[exit {result.returncode}]"] if result.returncode else [])
