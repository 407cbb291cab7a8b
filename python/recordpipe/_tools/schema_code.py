"""A schema as code of types, for programs that type checkers and editors read."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import TypeAlias

from recordpipe.features import (
    Feature,
    FixedLenFeature,
    FixedLenSequenceFeature,
    ListFeature,
    RaggedFeature,
)

__all__ = ["code_of"]

_ARRAYS = {
    "bytes": "npt.NDArray[np.object_]",
    "float32": "npt.NDArray[np.float32]",
    "int64": "npt.NDArray[np.int64]",
}


# By name; None: those that have no type.
Features: TypeAlias = Mapping[str, Feature | ListFeature | None]


def code_of(name: str, features: Features, feature_lists: Features | None) -> str:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name is an identifier, for a class, not {name!r}")
    parts = [
        "from typing import TypedDict\n\nimport numpy as np\nimport numpy.typing as npt\n"
        "import recordpipe as rp\n",
        _typed_dict(name, features),
    ]
    if feature_lists is not None:
        parts.append(_typed_dict(f"{name}Lists", feature_lists))
    return "\n\n".join(parts)


def _typed_dict(name: str, features: Features) -> str:
    types = {}
    for key, feature in features.items():
        if feature is not None:
            types[key] = _type(feature)
        if getattr(feature, "optional", False):
            types[f"{key}_mask"] = "npt.NDArray[np.bool_]  # [batch]"
    # (A class would change names that begin with __.)
    if all(key.isidentifier() and key[:2] != "__" and not keyword.iskeyword(key) for key in types):
        lines = [f"    {key}: {text}" for key, text in types.items()]
        return "\n".join([f"class {name}(TypedDict):", *(lines or ["    pass"]), ""])
    lines = [f"        {key!r}: {text.replace('  #', ',  #')}" for key, text in types.items()]
    return "\n".join([f"{name} = TypedDict(", f'    "{name}",', "    {", *lines, "    },", ")", ""])


def _type(feature: Feature | ListFeature) -> str:
    if isinstance(feature, RaggedFeature | FixedLenSequenceFeature):
        return f"rp.Ragged  # of {feature.dtype}"
    assert isinstance(feature, FixedLenFeature)
    rows = ", ".join(["batch", *map(str, feature.shape)])
    return f"{_ARRAYS[feature.dtype]}  # [{rows}]"
