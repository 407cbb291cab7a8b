"""Links of documents, rewritten for the site; pages of the files and folders that they lead to.

The site's pages have the paths that their documents have in the repository, so that links between
documents work in both. A link to another file, FILE, leads to the page FILE.md, which shows it; one
to a folder to its README.md, or to a list of its files.
"""

import os
import pathlib
import re

FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+(?:\n[^`\n]+)?`")
LINK = re.compile(r"(\]\(\s*<?|^ {0,3}\[[^\]]+\]:\s*<?)([^)\s>]+)", re.MULTILINE)
ATTRIBUTE = re.compile(r"(\b(?:src|srcset|href)=\")([^\"\s]+)")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
SHOWN_AS_THEY_ARE = {".svg", ".png", ".jpg", ".gif", ".webp"}
LANGUAGES = {".h": "cpp", ".cc": "cpp", ".py": "python", ".sh": "bash", ".cmake": "cmake"}
NOT_SEARCHED = "---\nsearch:\n  exclude: true\nhide: [toc]\n---\n"


def is_hidden_or_built(path):
    return any(part.startswith((".", "build")) for part in path.parts)


def documents(root):
    """The paths of all documents, relative to `root`."""
    found = (path.relative_to(root) for path in sorted(root.rglob("*.md")))
    return [path for path in found if not is_hidden_or_built(path)]


def code_ranges(text):
    fences = [match.span() for match in FENCE.finditer(text)]
    outside = FENCE.sub(lambda match: " " * len(match.group()), text)
    return fences + [match.span() for match in CODE.finditer(outside)]


def page_of(root, path):
    """The page, relative to the site's pages, that shows the file or folder `path`."""
    if (root / path).is_dir():
        return path / ("README.md" if (root / path / "README.md").exists() else "index.md")
    if path.suffix in {".md", *SHOWN_AS_THEY_ARE}:
        return path
    return path.with_name(path.name + ".md")


def rewritten(root, document, text):
    """`text` with the site's links, and the files and folders that need a page."""
    linked = set()
    code = code_ranges(text)
    folder = document.parent

    def path_of(target):
        path = os.path.normpath(folder / target)
        return pathlib.Path(path) if (root / path).exists() else None

    def link(match):
        target, _, anchor = match[2].partition("#")
        path = None if not target or SCHEME.match(target) else path_of(target)
        if path is None or any(start <= match.start() < end for start, end in code):
            return match.group()
        page = page_of(root, path)
        if page != path or path.suffix in SHOWN_AS_THEY_ARE:
            linked.add(path)
        to = os.path.relpath(page, folder)
        return match[1] + to + (f"#{anchor}" if anchor else "")

    def attribute(match):
        """HTML isn't rewritten by mkdocs: a page other than a README is a folder on the site."""
        path = None if SCHEME.match(match[2]) else path_of(match[2])
        if path is None or path.suffix not in SHOWN_AS_THEY_ARE:
            return match.group()
        linked.add(path)
        return match[1] + ("" if document.name == "README.md" else "../") + match[2]

    return ATTRIBUTE.sub(attribute, LINK.sub(link, text)), linked


def fenced(text, language=""):
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", text)), 0)
    return f"{fence} {language}\n{text.rstrip()}\n{fence}\n"


def source_page(root, path):
    """A page that shows a file, or lists a folder."""
    title = f"{NOT_SEARCHED}# {path}\n\n"
    if (root / path).is_dir():
        names = sorted(f"{p.name}/" if p.is_dir() else p.name for p in (root / path).iterdir())
        return title + "".join(f"- `{name}`\n" for name in names if not name.startswith("."))
    text = (root / path).read_text(encoding="utf-8")
    script = "python" if "python" in text.split("\n")[0] else "bash" if text[:2] == "#!" else "text"
    return title + fenced(text, LANGUAGES.get(path.suffix, script))
