#!/usr/bin/env python3
"""Rejects documentation with paths that don't exist. Standard library only.

usage: check_links.py ROOT

Checks every relative link of the *.md files below ROOT, and, in the code of the top level's files,
every path that starts with a folder of the project or with "./". Prints a line for each missing
path. Exit status 1 if there are any.
"""

import pathlib
import re
import sys

# A path that starts with one of these folders belongs to the project.
FOLDERS = ("proto", "dataset", "trainer", "tools", "examples", "tests", "data")
# Paths that exist only after the programs have run.
MADE = ("data/cifar10",)

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`]+`")
# [text](target "title"), ![text](target) and [label]: target
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)[^)]*\)|^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
WORD = re.compile(r"[^\s\"'`(),;]+")


def is_hidden_or_built(path):
    return any(part.startswith(".") or part.startswith("build") for part in path.parts)


def blanked(match):
    """Replaces all characters but newlines by spaces, so that line numbers don't change."""
    return re.sub(r"[^\n]", " ", match.group())


def line_of(match):
    return match.string.count("\n", 0, match.start()) + 1


def check_links(root, document, text):
    text = CODE.sub(blanked, FENCE.sub(blanked, text))
    for match in LINK.finditer(text):
        target = match[1] or match[2]
        path, line = target.split("#")[0], line_of(match)
        if path == "" or SCHEME.match(target):
            continue
        place = (root / document).parent / path
        if path.startswith("/") or not place.resolve().is_relative_to(root.resolve()):
            yield f"{document}:{line}: the link {target} leads out of the project"
        elif not place.exists():
            yield f"{document}:{line}: the link {target} leads nowhere"


def check_paths(root, document, text):
    code = [*FENCE.finditer(text), *CODE.finditer(FENCE.sub(blanked, text))]
    for passage in sorted(code, key=lambda match: match.start()):
        for word in WORD.finditer(passage.group()):
            path = word.group().rstrip(".:")
            if not path.startswith(("./", *(folder + "/" for folder in FOLDERS))):
                continue
            there = any(root.glob(path)) if "*" in path else (root / path).exists()
            if not there and not path.startswith(MADE):
                yield f"{document}:{line_of(passage) + line_of(word) - 1}: there is no {path}"


def check_tree(root):
    """The missing paths in the documents below `root`, one line each."""
    documents = [path.relative_to(root) for path in sorted(root.rglob("*.md"))]
    documents = [path for path in documents if not is_hidden_or_built(path)]
    problems = [] if documents else [f"{root}: no documents found"]
    for document in documents:
        text = (root / document).read_text(encoding="utf-8")
        problems += check_links(root, document, text)
        if len(document.parts) == 1:
            problems += check_paths(root, document, text)
    return problems


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = check_tree(pathlib.Path(sys.argv[1]))
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
