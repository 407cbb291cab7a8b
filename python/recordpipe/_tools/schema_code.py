"""A schema as code of types, for programs that type checkers and editors read."""

from __future__ import annotations

import keyword
from collections.abc import Mapping

from recordpipe.features import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature
from recordpipe.schema import FeatureListSchema, FeatureSchema, Schema

__all__ = ["code_of"]

_ARRAYS = {
    "bytes": "npt.NDArray[np.object_]",
    "float32": "npt.NDArray[np.float32]",
    "int64": "npt.NDArray[np.int64]",
}


def code_of(schema: Schema, name: str) -> str:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name is an identifier, for a class, not {name!r}")
    schema._require_features()
    parts = [
        "from typing import TypedDict\n\nimport numpy as np\nimport numpy.typing as npt\n"
        "import recordpipe as rp\n",
        _typed_dict(name, schema.fields),
    ]
    if schema.kind != "Example":
        parts.append(_typed_dict(f"{name}Lists", schema.list_fields))
    return "\n\n".join(parts)


def _typed_dict(name: str, fields: Mapping[str, FeatureSchema | FeatureListSchema]) -> str:
    types = {}
    for key, one in fields.items():
        if one.feature is not None:
            types[key] = _type(one)
        if getattr(one.feature, "optional", False):
            types[f"{key}_mask"] = "npt.NDArray[np.bool_]  # [batch]"
    # (A class would change names that begin with __.)
    if all(key.isidentifier() and key[:2] != "__" and not keyword.iskeyword(key) for key in types):
        lines = [f"    {key}: {text}" for key, text in types.items()]
        return "\n".join([f"class {name}(TypedDict):", *(lines or ["    pass"]), ""])
    lines = [f"        {key!r}: {text.replace('  #', ',  #')}" for key, text in types.items()]
    return "\n".join([f"{name} = TypedDict(", f'    "{name}",', "    {", *lines, "    },", ")", ""])


def _type(one: FeatureSchema | FeatureListSchema) -> str:
    feature = one.feature
    if isinstance(feature, RaggedFeature | FixedLenSequenceFeature):
        return f"rp.Ragged  # of {feature.dtype}"
    assert isinstance(feature, FixedLenFeature)
    rows = ", ".join(["batch", *map(str, feature.shape)])
    return f"{_ARRAYS[feature.dtype]}  # [{rows}]"
