#!/usr/bin/env python3
"""The package's public names and signatures are those of api.txt: no promise changes by mistake.

After an intended change: RECORDPIPE_RENEW=1 PYTHON tests/python/peers/api_test.py, and a line in
CHANGELOG.md.
"""

import difflib
import os
import pathlib
import unittest

import griffe

SNAPSHOT = pathlib.Path(__file__).resolve().parent.parent / "api.txt"
MODULES = (
    "recordpipe",
    "recordpipe.cifar10",
    "recordpipe.grain",
    "recordpipe.ray",
    "recordpipe.tables",
    "recordpipe.tfds",
    "recordpipe.torch",
)


def is_public(name, member):
    return not name.startswith("_") or (name == "__init__" and not member.is_alias)


def described(path, item):
    """Yields a line for each public name."""
    if item.is_class:
        yield f"class {path}({', '.join(map(str, item.bases))})"
        for name, member in sorted(item.all_members.items()):
            if is_public(name, member):
                target = member.final_target if member.is_alias else member
                yield from described(f"{path}.{name}", target)
    elif item.is_module:
        yield f"module {path}"
    elif item.is_function:
        signature = str(item.signature()).removeprefix(item.name)
        yield f"{path}{signature}"
    else:
        yield f"{path}: {item.annotation}"


def public_names():
    package = griffe.load("recordpipe", allow_inspection=False)
    for name in MODULES:
        module = package[name.partition(".")[2]] if "." in name else package
        for exported in sorted(module.exports):
            item = module[exported]
            target = item.final_target if item.is_alias else item
            yield from described(f"{name}.{exported}", target)


class Api(unittest.TestCase):
    maxDiff = None

    def test_is_that_of_the_snapshot(self):
        text = "".join(line + "\n" for line in public_names())
        self.assertGreater(text.count("\n"), 300)
        if os.environ.get("RECORDPIPE_RENEW"):
            SNAPSHOT.write_text(text, "utf-8")
        kept = SNAPSHOT.read_text("utf-8")
        changed = "".join(
            difflib.unified_diff(
                kept.splitlines(True), text.splitlines(True), "api.txt", "the package", n=0
            )
        )
        self.assertEqual(changed, "", "renew api.txt if this is intended: see this file's head")


if __name__ == "__main__":
    unittest.main()
