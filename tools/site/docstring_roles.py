"""Links of docstrings: :meth:`name` and its like become links (an extension of griffe)."""

import re

import griffe

ROLE = re.compile(r":(?:meth|func|class|attr):`~?([\w.]+)`")
DATASET = "recordpipe.Dataset"
ADAPTERS = ("torch", "grain", "ray")


class DocstringRoles(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.docstring is None:
            return
        owner = obj if obj.is_class else obj.parent
        is_member = owner is not None and owner.is_class

        def link(match):
            name, call = match[1], "()" if match[0].startswith((":meth", ":func")) else ""
            if name.startswith("recordpipe."):
                target = name
            elif match[0].startswith((":meth", ":attr")) and "." not in name and is_member:
                mixin = owner.path.startswith("recordpipe._plan.")
                module = owner.path.split(".")[1]
                home = f"recordpipe.{module}" if module in ADAPTERS else "recordpipe"
                target = f"{DATASET if mixin else f'{home}.{owner.name}'}.{name}"
            else:
                target = f"recordpipe.{name}"
            shown = name.removeprefix("recordpipe.").replace("_", "&#95;") + call
            return f'<autoref optional identifier="{target}"><code>{shown}</code></autoref>'

        obj.docstring.value = ROLE.sub(link, obj.docstring.value)
