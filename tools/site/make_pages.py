#!/usr/bin/env python3
"""Makes the pages of the site from the repository's documents, docstrings, headers and programs.

usage: make_pages.py ROOT OUT

Writes the folder OUT/pages, and OUT/mkdocs.yml. RECORDPIPE_TFRECORD: the program whose help becomes
pages (default: ROOT/build/dev/tfrecord). Standard library only; tools/build_site calls it.
"""

import os
import pathlib
import re
import shutil
import sys

from command_pages import command_pages
from documents import SHOWN_AS_THEY_ARE, documents, page_of, rewritten, source_page
from headers import header_index, header_page, public_headers
from notebooks import notebook_page
from python_pages import python_pages

NOTEBOOKS = "python/examples/*.ipynb"


def expanded(config, pages):
    """The settings, with each * of the navigation replaced by the pages that it matches."""

    def lines(match):
        paths = sorted(pages.glob(match[2]), key=lambda path: (path.stem != "index", path.stem))
        return "".join(f"{match[1]}- {path.relative_to(pages)}\n" for path in paths)

    return re.sub(r"^( +)- (\S*\*\S*)\n", lines, config, flags=re.MULTILINE)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, out = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    pages = out / "pages"
    shutil.rmtree(pages, ignore_errors=True)

    def write(path, text):
        (pages / path).parent.mkdir(parents=True, exist_ok=True)
        (pages / path).write_text(text, encoding="utf-8")

    linked = {pathlib.Path("LICENSE")}
    for document in documents(root):
        text, targets = rewritten(root, document, (root / document).read_text(encoding="utf-8"))
        is_home = document == pathlib.Path("README.md")
        write(document, ("---\nhide: [navigation]\n---\n" if is_home else "") + text)
        linked |= targets
    for path in sorted(root.glob(NOTEBOOKS)):
        path = path.relative_to(root)
        text, targets = rewritten(root, path, notebook_page((root / path).read_text("utf-8")))
        write(page_of(root, path), text)
        linked |= targets
    headers = public_headers(root)
    for path in headers:
        write(page_of(root, path), header_page((root / path).read_text("utf-8"), path))
    write("reference/cpp.md", header_index(root, headers))
    for name, text in python_pages(root / "python/recordpipe"):
        write(f"reference/python/{name}", text)

    program = os.environ.get("RECORDPIPE_TFRECORD") or str(root / "build/dev/tfrecord")
    if os.access(program, os.X_OK):
        for name, text in command_pages(program):
            write(f"reference/tfrecord/{name}", text)
    else:
        print(f"make_pages: no {program}: WITHOUT THE PAGES OF tfrecord", file=sys.stderr)
        write("reference/tfrecord/tfrecord.md", "# tfrecord\n\nSee `tfrecord --help`.\n")

    for path in sorted(linked):
        if path.suffix in SHOWN_AS_THEY_ARE:
            (pages / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / path, pages / path)
        elif not (pages / page_of(root, path)).exists():
            write(page_of(root, path), source_page(root, path))
    here = pathlib.Path(__file__).parent
    shutil.copy(here / "site.css", pages)
    (out / "mkdocs.yml").write_text(expanded((here / "mkdocs.yml").read_text("utf-8"), pages))


if __name__ == "__main__":
    main()
