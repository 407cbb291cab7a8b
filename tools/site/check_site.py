#!/usr/bin/env python3
"""Rejects a site with links inside of it that lead nowhere, or with lost text. Standard library only.

usage: check_site.py FOLDER

Checks each relative link and picture of the pages below FOLDER, each anchor, and that elements are
closed: "<name>" outside of code is one for browsers, which don't show it. Exit status 1 if there are any.
"""

import html.parser
import pathlib
import sys
import urllib.parse


_EMPTY = {"base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), set()
        self.opened, self.closed = set(), _EMPTY.copy()
        self.feed(text)

    def handle_endtag(self, tag):
        self.closed.add(tag)

    def handle_starttag(self, tag, attributes):
        self.opened.add(tag)
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def problems(root):
    pages = {p: Page(p.read_text(encoding="utf-8")) for p in sorted(root.rglob("*.html"))}
    if not pages:
        yield f"{root}: no pages"
    for path, page in pages.items():
        for tag in sorted(page.opened - page.closed):
            yield f"{path.relative_to(root)}: <{tag}> is never closed: should it be in backticks?"
        if path.name == "404.html":
            continue  # its links are absolute
        for link in sorted(page.links):
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(root)}: {link} leads nowhere"
            elif (
                url.fragment
                and target in pages
                and urllib.parse.unquote(url.fragment) not in pages[target].anchors
                and not url.fragment.startswith("__")  # Material's scripts make these
            ):
                yield f"{path.relative_to(root)}: {link} has no such anchor"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = [*problems(pathlib.Path(sys.argv[1]).resolve())]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
