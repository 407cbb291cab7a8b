#!/usr/bin/env python3
"""Tests that check_links.py can fail: invented documents, each with one error."""

import pathlib
import tempfile
import unittest

import check_links


class CheckLinks(unittest.TestCase):
    def expect(self, files, *expected):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / "project"
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            problems = check_links.check_tree(root)
        self.assertEqual(problems, list(expected))

    def test_what_is_there(self):
        self.expect({
            "README.md": "[a](dataset/a.h), [b](dataset/README.md#part), [c](#part), [d](./dataset)\n"
                         "[e](https://example.org/none.md) [f](mailto:a@b.c) ![g](dataset/a.h 'title')\n"
                         "[h]: dataset/a.h\n"
                         "`dataset/a.h`, `dataset/`, `./test.sh --x`, `dataset/*.h`, `cat dataset/a.h`.\n"
                         "`data/cifar10`, `build/dev`, `datasets/none`, `[a](none)`\n"
                         "```cpp\n#include \"dataset/a.h\"\n[](none) {}\n```\n",
            "test.sh": "",
            "dataset/a.h": "",
            "dataset/README.md": "[up](../README.md), `dataset/none.h` is another's business\n",
            "build/README.md": "[nowhere](none)\n",
        })

    def test_links_that_lead_nowhere(self):
        self.expect({"dataset/README.md": "one\n[a](a.h) and [b](dataset/README.md)\n[c]: c.h\n"},
                    "dataset/README.md:2: the link a.h leads nowhere",
                    "dataset/README.md:2: the link dataset/README.md leads nowhere",
                    "dataset/README.md:3: the link c.h leads nowhere")
        self.expect({"README.md": "```\n```\n[a\nb](none.md#part)\n"},
                    "README.md:4: the link none.md#part leads nowhere")

    def test_links_that_lead_out(self):
        self.expect({"README.md": "[a](../project/README.md)\n[b](/etc/passwd)\n[c](..)\n"},
                    "README.md:2: the link /etc/passwd leads out of the project",
                    "README.md:3: the link .. leads out of the project")

    def test_paths_in_code_that_lead_nowhere(self):
        self.expect({"README.md": "see `tests/none.cc` and\n`./none.sh --x tools/none`.\n"
                                  "```sh\nls\n./none.sh\n```\n`data/*.none`\n"},
                    "README.md:1: there is no tests/none.cc",
                    "README.md:2: there is no ./none.sh",
                    "README.md:2: there is no tools/none",
                    "README.md:5: there is no ./none.sh",
                    "README.md:7: there is no data/*.none")

    def test_nothing_to_look_at(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(check_links.check_tree(pathlib.Path(folder))), 1)


if __name__ == "__main__":
    unittest.main()
