"""The pages of the C++ reference: the comments and declarations of the public headers."""

import re

from documents import fenced

LAYERS = ("dataset", "trainer")
RANK = "---\nsearch:\n  boost: 0.5\n---\n"  # searches find guides and Python first
# Left out: what needs no manual.
FORWARD = re.compile(r"((template <[^>]*>\s*)?(class|struct) \w+;\s*)+")
NAME = re.compile(
    r"\b(?:class|struct|enum class|enum|concept)\s+(\w+)|\busing (\w+) =|#define (\w+)|"
    r"(operator *(?:\(\)|[^\s\w(]+)|~?\w+)\s*\(|(\w+)(?:\[\])?\s*(?:=|\{|;)"
)


def public_headers(root):
    """The paths of all public headers, relative to `root`."""
    found = [p for layer in LAYERS for p in (root / layer / "include").rglob("*.h")]
    return sorted(p.relative_to(root) for p in found if "internal" not in p.parts)


def plain(line):
    return re.sub(r"//.*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'", "", line)


def depth_after(line, depth):
    code = plain(line)
    return depth + code.count("{") - code.count("}")


def prose(lines):
    """The Markdown of a comment's lines, without "//"; indented lines are a list or code."""
    lines = [re.sub(r"^\s*// ?", "", line) for line in lines]
    out, i = [], 0
    while i < len(lines):
        end = i
        while end < len(lines) and (lines[end].startswith("  ") or (end > i and not lines[end])):
            end += 1
        while end > i and not lines[end - 1]:
            end -= 1
        if end == i:
            out.append(escaped(lines[i]))
            i += 1
            continue
        block = [line[2:] for line in lines[i:end]]
        if block[0].lstrip().startswith("- "):
            out += ["", *(escaped(line) for line in block), ""]
        else:
            text = "\n".join(line[2:] if line[:2] == "  " else line for line in block)
            out += ["", fenced(text, "cpp" if re.search(r"[;{}]|\w\(", text) else "text"), ""]
        i = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n") + "\n"


def escaped(line):
    parts = line.split("`")
    parts[::2] = [
        re.sub(r"([*_\[\]#\\])", r"\\\1", part).replace("<", "&lt;") for part in parts[::2]
    ]
    return "`".join(parts)


def is_comment(line):
    return line.lstrip().startswith("//")


def groups(lines):
    """The declarations of a scope, each with the comment before it."""
    found, now, depth = [], [], 0
    for line in lines:
        ended = now and depth == 0 and re.search(r"[;}]\s*$", plain(now[-1]).rstrip())
        if depth == 0 and now and (not line.strip() or (ended and is_comment(line))):
            found.append(now)
            now = []
        if line.strip() or (now and depth > 0):
            now.append(line)
        depth = depth_after(line, depth)
    return [*found, now] if now else found


def body_of(text):
    """The lines of a header's declarations, without namespaces, internal:: and the preprocessor."""
    out, skipping = [], 0
    text = re.sub(
        r"^namespace [\w:]+ \{\n((class|struct) \w+;\n)+\}.*\n", "", text, flags=re.MULTILINE
    )
    for line in text.split("\n")[len(intro_of(text)) :]:
        if skipping:
            skipping = depth_after(line, skipping)
        elif re.match(r"(inline )?namespace (\w+::)*internal", line):
            skipping = 1
            while out and is_comment(out[-1]):  # the comment of the namespace
                out.pop()
        elif not re.match(
            r"(inline )?namespace [\w:]+ \{|\}  // namespace|#(?!define RECORDPIPE_V)", line
        ):
            out.append(line)
    return out


def intro_of(text):
    lines = text.split("\n")
    return lines[: next((i for i, line in enumerate(lines) if not is_comment(line)), 0)]


def without_bodies(code):
    """Declarations without the bodies of functions, and without their indentation."""
    indent = min((len(line) - len(line.lstrip()) for line in code if line.strip()), default=0)
    depth, body, out = 0, None, []
    for line in code:
        before, depth = depth, depth_after(line, depth)
        if body is not None:
            body = None if depth <= body else body
        elif re.search(r"\)[^;=]*(\s: .*)?\{", plain(line)) and not re.search(
            "requires|concept", line
        ):
            out.append(re.sub(r"\s*(\s: [a-z_]+[({].*)?\{.*", ";", line[indent:]))
            body = before if depth > before else None
        else:
            out.append(line[indent:])
    return "\n".join(out).strip("\n")


def split(group):
    """The comment and the code of a declaration."""
    first = next((i for i, line in enumerate(group) if not is_comment(line)), len(group))
    return group[:first], group[first:]


def name_of(code):
    text = re.sub(
        r"template <(?:[^<>]|<[^<>]*>)*>\s*|requires .*|\[\[\w+\]\]|alignas\(\w+\)", "", code
    )
    match = NAME.search("\n".join(plain(line) for line in text.split("\n")))
    return next(filter(None, match.groups()), "") if match else ""


def members(code):
    """The public part of a class: the lines between its braces."""
    start = next(i for i, line in enumerate(code) if "{" in plain(line))
    shown, public = [], True
    for line in code[start + 1 : -1]:
        if match := re.match(r"\s*(public|private|protected):", line):
            public = match[1] == "public"
        elif public and not re.match(r"\s*friend\b.*;", line):
            shown.append(line)
    while shown and (not shown[-1].strip() or is_comment(shown[-1])):
        shown.pop()  # before what is private
    return code[: start + 1], shown


def declaration(group, level):
    comment, code = split(group)
    text = "\n".join(code)
    if not code or FORWARD.fullmatch(text.strip()):
        return ""
    plainly = re.sub(r"^requires\(.*?\) (?=class|struct)", "", text, flags=re.MULTILINE)
    kind = re.search(r"^(?:class|struct|enum class|enum) (?=\w+)", plainly, re.MULTILINE)
    is_type = kind is not None and level == 2
    title = f"{kind[0] if is_type else ''}{escaped(name_of(plainly))}"
    out = f"{'#' * level} {title}\n\n{prose(comment)}\n"
    if is_type and len(code) > 1 and text.endswith("};") and not title.startswith("enum"):
        head, shown = members(code)
        inner = groups(shown)
        if len(shown) > 30 and any(split(member)[0] for member in inner):
            out += fenced("\n".join(head).rstrip(" {") + ";", "cpp")
            return out + "\n" + "\n".join(declaration(member, 3) for member in inner)
        public = [" public:"] if kind[0].startswith("class") else []
        return out + fenced(without_bodies([*head, *public, *shown, "};"]), "cpp")
    return out + fenced(without_bodies(code), "cpp")


def header_page(text, path):
    include = str(path).split("/include/")[1]
    up = "../" * (len(path.parts) - 1)
    page = [f"{RANK}# {include.split('/', 1)[1]}\n", f"[C++ headers]({up}reference/cpp.md)\n"]
    page.append(fenced(f'#include "{include}"', "cpp"))
    page.append(prose(intro_of(text)))
    return "\n".join([*page, *(declaration(group, 2) for group in groups(body_of(text)))])


def header_index(root, headers):
    """A page that lists all headers by layer, each with the first sentence of its comment."""
    page = ["# C++ headers\n", "Public headers, layer by layer. [dataset/README.md]"
            "(../dataset/README.md) describes the layers.\n"]  # fmt: skip
    folder = None
    for path in headers:
        name = str(path).split("/include/recordpipe/")[1]
        if path.parent != folder:
            folder = path.parent
            page.append(f"\n## {name.rsplit('/', 1)[0]}\n")
        intro = [re.sub(r"^// ?", "", line) for line in intro_of((root / path).read_text("utf-8"))]
        first = " ".join(intro).split("  ")[0]
        sentence = re.split(r"(?<=\.) ", first)[0].rstrip(":")
        page.append(f"- [{path.name}](../{path}.md): {escaped(sentence)}")
    return "\n".join(page) + "\n"
