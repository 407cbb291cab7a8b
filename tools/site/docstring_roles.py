"""Links of docstrings: :meth:`name` and its like become links (an extension of griffe)."""

import pathlib
import re

import griffe
from python_pages import ADAPTERS, public_names

ROLE = re.compile(r":(?:meth|func|class|attr):`~?([\w.]+)`")
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python/recordpipe"
NAMES = {adapter: public_names(PACKAGE / f"{adapter}.py") for adapter in ADAPTERS}


class DocstringRoles(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.docstring is None or "." not in obj.path:
            return
        owner = obj if obj.is_class else obj.parent
        is_member = owner is not None and owner.is_class
        module = obj.path.split(".")[1]
        adapter = NAMES.get(module.strip("_"), ())

        def target(role, name):
            """The public path of a name: a member, or a name of the adapter or of the package."""
            if name.startswith("recordpipe."):
                return name
            if is_member and "." not in name and role.startswith((":meth", ":attr")):
                name = f"{'Dataset' if module == '_plan' else owner.name}.{name}"
            if name.split(".")[0] in adapter:
                return f"recordpipe.{module.strip('_')}.{name}"
            return f"recordpipe.{name}"

        def link(match):
            call = "()" if match[0].startswith((":meth", ":func")) else ""
            shown = match[1].removeprefix("recordpipe.").replace("_", "&#95;") + call
            to = target(match[0], match[1])
            return f'<autoref optional identifier="{to}"><code>{shown}</code></autoref>'

        obj.docstring.value = ROLE.sub(link, obj.docstring.value)
