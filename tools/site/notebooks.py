"""Notebooks as pages: their text, code and stored outputs."""

import html
import json

from documents import fenced


def text_of(lines):
    return lines if isinstance(lines, str) else "".join(lines)


def output_of(output):
    """The Markdown of one output of a cell."""
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img alt="the output" src="data:image/png;base64,{text_of(data["image/png"])}">\n'
    if "text/html" in data:  # one block: Markdown would end it at an empty line
        return "\n".join(line for line in text_of(data["text/html"]).split("\n") if line.strip())
    text = text_of(output.get("text") or data.get("text/plain") or output.get("evalue", ""))
    return f"<pre><code>{html.escape(text.rstrip())}</code></pre>".replace("\n\n", "\n&#8203;\n")


def notebook_page(text):
    parts = []
    for cell in json.loads(text)["cells"]:
        source = text_of(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
        elif source.strip():
            parts.append(fenced(source, "python"))
            outputs = [output_of(output) for output in cell["outputs"]]
            if any(outputs):
                parts.append(
                    '<div class="notebook-output" data-search-exclude>\n'
                    + "\n".join(outputs)
                    + "\n</div>\n"
                )
    return "\n".join(parts)
