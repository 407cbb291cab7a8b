"""The pages of the command tfrecord, made from its own help."""

import re
import subprocess

from documents import fenced

ITEM = re.compile(r" {2,6}(\S.*?)(?: {2,}(\S.*))?$")
DESCRIPTION = " " * 20  # at least; of the lines below an item's first one


def escaped(text):
    return re.sub(r"([\\`*_<>\[\]#|])", r"\\\1", text)


def items(lines):
    """[name, description] of the options, arguments or commands of a section."""
    found = []
    for line in lines:
        if line.startswith(DESCRIPTION) and found:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
        elif match := ITEM.match(line):
            found.append([match[1], match[2] or ""])
    return found


def command_page(title, text):
    """The page of one help: paragraphs, sections of definitions, examples."""
    page = [f"# {title}\n"]
    for block in re.split(r"\n{2,}", text.strip("\n")):
        lines = block.split("\n")
        if lines[0].startswith("Usage:"):
            page.append(fenced("\n".join(lines).removeprefix("Usage:").strip(), "text"))
        elif re.fullmatch(r"[A-Z][A-Za-z ]*:", lines[0]) and lines[1:] and lines[1][:1] == " ":
            page.append(f"## {lines[0][:-1]}\n")
            if lines[0] == "Examples:":
                page.append(fenced("\n".join(line[2:] for line in lines[1:]), "sh"))
                continue
            for name, description in items(lines[1:]):
                shown = f"`{name}`"
                if lines[0] == "Commands:":
                    shown = f"[{shown}](tfrecord-{name}.md)"
                page.append(f"{shown}\n:   {escaped(description) or '&nbsp;'}\n")
        elif lines[0].startswith(" "):
            page.append(fenced(block, "text"))
        else:
            page.append(escaped(block) + "\n")
    return "\n".join(page)


def help_of(program, *command):
    result = subprocess.run([program, *command, "--help"], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(command)} --help: {result.stderr}")
    return result.stdout


def command_pages(program):
    """(name of the page, its text) for the whole command and each of its commands."""
    whole = help_of(program)
    yield "tfrecord.md", command_page("tfrecord", whole)
    section = re.search(r"^Commands:\n(.*?)\n\n", whole, re.MULTILINE | re.DOTALL)
    for name, _ in items(section[1].split("\n")):
        yield f"tfrecord-{name}.md", command_page(f"tfrecord {name}", help_of(program, name))
