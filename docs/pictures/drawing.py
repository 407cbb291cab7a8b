"""What the pictures' scripts share: colours that follow the reader's scheme, and --check."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; fill: #1f2328 }
.grid { stroke: #d0d7de }
.recordpipe { stroke: #0969da } .peer { stroke: #bc4c00 }
text.recordpipe { stroke: none; fill: #0969da } text.peer { stroke: none; fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 } .title { fill: #f0f6fc } .grid { stroke: #30363d }
  .recordpipe { stroke: #58a6ff } .peer { stroke: #f0883e }
  text.recordpipe { fill: #58a6ff } text.peer { fill: #f0883e }
}"""


def svg(width, height, label, lines, style=STYLE):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{label}">',
        f"<style>{style}\n</style>", *lines, "</svg>", "",
    ])  # fmt: skip


def write_or_check(script_doc, pictures):
    """Writes {name: SVG} beside the scripts; with --check, fails if a file would change."""
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(script_doc)
    changed = []
    for name, text in pictures.items():
        path = HERE / name
        if not path.exists() or path.read_text("utf-8") != text:
            changed.append(name)
            if not sys.argv[1:]:
                path.write_text(text, "utf-8")
    if changed and sys.argv[1:]:
        sys.exit(f"not what {sys.argv[0]} draws: {', '.join(changed)}; run it")
