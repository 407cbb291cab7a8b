"""Which modules of the package import which: there is no circle."""

import ast
import pathlib
import unittest

import recordpipe

PACKAGE = pathlib.Path(recordpipe.__file__).parent


def name_of(file):
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def executed(node):
    """The nodes that run, also at a call: an import in a function makes a circle, too."""
    for each in ast.iter_child_nodes(node):
        if not (isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING"):
            yield each
            yield from executed(each)


def imported(source, modules):
    found = set()
    for each in executed(ast.parse(source)):
        if isinstance(each, ast.Import):
            found.update(alias.name for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            members = {f"{each.module}.{alias.name}" for alias in each.names}
            found.update(members & modules or {each.module})
    return found & modules


class Imports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        files = {name_of(file): file for file in PACKAGE.rglob("*.py")}
        modules = {*files, "recordpipe._native"}
        cls.imports = {
            name: imported(file.read_text(), modules) - {"recordpipe._native"}
            for name, file in files.items()
        }

    def test_no_circle(self):
        left = dict(self.imports)
        while first := [name for name, names in left.items() if not names & left.keys()]:
            for name in first:
                del left[name]
        self.assertEqual(left, {})

    def test_plans_use_no_other_private_package(self):
        for name, names in self.imports.items():
            if name.startswith("recordpipe._plan."):
                outside = {one for one in names if not one.startswith("recordpipe._plan.")}
                self.assertEqual([one for one in outside if "._" in one], [], name)


if __name__ == "__main__":
    unittest.main()
