#!/usr/bin/env python3
"""Tests the scripts that make the pages of the site (tools/site). Standard library only."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/site"))
sys.dont_write_bytecode = True
import check_site  # noqa: E402
import command_pages  # noqa: E402
import documents  # noqa: E402
import notebooks  # noqa: E402
import python_pages  # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, **files):
        for path, text in files.items():
            path = self.root / path.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


class Links(Folder):
    def rewritten(self, document, text):
        text, linked = documents.rewritten(self.root, pathlib.Path(document), text)
        return text, sorted(map(str, linked))

    def test_links_of_documents_stay(self):
        self.write(docs__a_DOT_md="", README_DOT_md="")
        for text in (
            "[a](docs/a.md#part)",
            "[b](https://example.org/x.h)",
            "[c](#part)",
            "`[d](x.h)`",
            "```\n[e](docs)\n```",
        ):
            self.assertEqual(self.rewritten("README.md", text), (text, []))

    def test_a_file_gets_a_page(self):
        self.write(src__a_DOT_h="int a;\n", docs__a_DOT_md="")
        self.assertEqual(
            self.rewritten("docs/a.md", "[h](../src/a.h#x) [f](../src)"),
            ("[h](../src/a.h.md#x) [f](../src/index.md)", ["src", "src/a.h"]),
        )
        self.assertIn("int a;", documents.source_page(self.root, pathlib.Path("src/a.h")))
        self.assertIn("- `a.h`", documents.source_page(self.root, pathlib.Path("src")))

    def test_a_folder_with_a_readme(self):
        self.write(src__README_DOT_md="")
        self.assertEqual(self.rewritten("README.md", "[f](src)")[0], "[f](src/README.md)")

    def test_pictures(self):
        self.write(docs__a_DOT_svg="", docs__a_DOT_md="", docs__README_DOT_md="")
        self.assertEqual(
            self.rewritten("docs/a.md", '![p](a.svg) <img src="a.svg">'),
            ('![p](a.svg) <img src="../a.svg">', ["docs/a.svg"]),
        )
        self.assertEqual(
            self.rewritten("docs/README.md", '<img src="a.svg">')[0], '<img src="a.svg">'
        )

    def test_a_fence_is_longer_than_those_inside(self):
        self.assertEqual(documents.fenced("```\na\n```", "text"), "```` text\n```\na\n```\n````\n")


class CommandPages(unittest.TestCase):
    def test_a_help(self):
        page = command_pages.command_page(
            "tfrecord x",
            """Usage: tfrecord x [OPTIONS]

Says *what* is there.

Options:
  -o, --output FILE           Output file (default:
                              standard output)
      --format table|json
                              Output format

Examples:
  tfrecord x a
""",
        )
        for text in (
            "# tfrecord x\n",
            "``` text\ntfrecord x [OPTIONS]\n```",
            "Says \\*what\\* is there.",
            "## Options\n",
            "`-o, --output FILE`\n:   Output file (default: standard output)\n",
            "`--format table|json`\n:   Output format\n",
            "``` sh\ntfrecord x a\n```",
        ):
            self.assertIn(text, page)


class Commands(Folder):
    def test_all_commands_have_pages(self):
        program = self.root / "tfrecord"
        program.write_text(
            "#!/bin/sh\n"
            '[ $1 != --help ] && echo "Usage: tfrecord $1" && exit\n'
            "echo 'Commands:\n  index       Writes\n  verify      Checks\n\nThe end.'\n"
        )
        program.chmod(0o755)
        pages = dict(command_pages.command_pages(str(program)))
        self.assertEqual([*pages], ["tfrecord.md", "tfrecord-index.md", "tfrecord-verify.md"])
        self.assertIn("[`index`](tfrecord-index.md)\n:   Writes\n", pages["tfrecord.md"])
        self.assertIn("# tfrecord verify\n", pages["tfrecord-verify.md"])


class OtherPages(Folder):
    def test_each_public_name_of_python_is_on_one_page(self):
        names = [name for name, _ in python_pages.python_pages(ROOT / "python/recordpipe")]
        self.assertIn("torch.md", names)

    def test_a_notebook(self):
        page = notebooks.notebook_page("""{"cells": [
            {"cell_type": "markdown", "source": ["# T"]},
            {"cell_type": "code", "source": ["1 < 2"], "outputs": [
                {"output_type": "execute_result", "data": {"text/plain": ["<True>"]}}]}]}""")
        self.assertIn("# T\n\n``` python\n1 < 2\n```", page)
        self.assertIn("<pre><code>&lt;True&gt;</code></pre>", page)

    def test_dead_links_and_lost_text_of_a_site(self):
        self.write(
            index_DOT_html='<a href="a/#x">1</a><a href="a/#y">2</a><a href="b/">3</a>',
            a__index_DOT_html='<p id="x"><a href="..">4</a><img src="https://example.org/p.png"></p>',
            c__index_DOT_html="<p>the <name>_mask tells it</p>",
        )
        self.assertEqual(
            [*check_site.problems(self.root.resolve())],
            [
                "c/index.html: <name> is never closed: should it be in backticks?",
                "index.html: a/#y has no such anchor",
                "index.html: b/ leads nowhere",
            ],
        )


if __name__ == "__main__":
    unittest.main()
