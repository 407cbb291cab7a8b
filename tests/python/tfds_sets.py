"""Writes data sets in the format of TensorFlow Datasets, by hand."""

import json
import pathlib
import zlib

import numpy as np
import records
from recordpipe._notebook.cells import encode_png

MODULE = "tensorflow_datasets.core.features"
FILES = {
    "FeaturesDict": "features_dict",
    "Sequence": "sequence_feature",
    "Dataset": "dataset_feature",
    "Tensor": "tensor_feature",
    "Scalar": "scalar",
    "Text": "text_feature",
    "ClassLabel": "class_label_feature",
    "Image": "image_feature",
    "Audio": "audio_feature",
}


def feature(name, member, **properties):
    return {"pythonClassName": f"{MODULE}.{FILES[name]}.{name}", member: properties}


def shape(*sizes):
    return {"dimensions": [str(-1 if size is None else size) for size in sizes]}


def tensor(dtype, *sizes, **properties):
    return feature("Tensor", "tensor", dtype=dtype, shape=shape(*sizes), **properties)


def scalar(dtype, **properties):
    return feature("Scalar", "tensor", dtype=dtype, shape={}, **properties)


def text():
    return feature("Text", "text")


def label(classes):
    return feature("ClassLabel", "classLabel", numClasses=str(classes))


def image(*sizes, dtype="uint8", encoding_format="png"):
    return feature(
        "Image", "image", dtype=dtype, shape=shape(*sizes), encodingFormat=encoding_format
    )


def sequence(inner, length=None, name="Sequence"):
    size = "-1" if length is None else str(length)
    return feature(name, "sequence", feature=inner, length=size)


def tree(**features):
    return feature("FeaturesDict", "featuresDict", features=features)


def write(folder, features, splits, name="made", info=None):
    """``splits``: by name, for each file a list of records. Returns the folder of the version."""
    folder = pathlib.Path(folder, name, "1.0.0")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "features.json").write_text(json.dumps(features))
    described = []
    for split, shards in splits.items():
        described.append(
            {
                "name": split,
                "shardLengths": [str(len(shard)) for shard in shards],
                "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
            }
        )
        for i, shard in enumerate(shards):
            records.write(folder / f"{name}-{split}.tfrecord-{i:05d}-of-{len(shards):05d}", shard)
    (folder / "dataset_info.json").write_text(
        json.dumps(
            {"name": name, "version": "1.0.0", "fileFormat": "tfrecord", "splits": described}
            | (info or {})
        )
    )
    return folder


def pixels(height, width, seed, channels=3):
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return ((x * 5 + y * 3 + c * 40 + seed * 7) % 256).astype(np.uint8)


# A set with a bit of everything.

FEATURES = tree(
    image=image(None, None, 3),
    thumbnail=image(6, 5, 3),
    label=label(3),
    id=scalar("int32"),
    weight=scalar("float64"),
    flag=scalar("bool"),
    maybe=scalar("uint8", optional=True),
    name=text(),
    packed=tensor("uint16", 2, 2, encoding="zlib"),
    any_shape=tensor("float32", None, None, encoding="bytes"),
    tokens=sequence(scalar("int64")),
    objects=sequence(tree(box=tensor("float32", 2), words=sequence(text()))),
    steps=sequence(
        tree(action=tensor("float32", 3), view=image(4, 4, 1), note=text()), name="Dataset"
    ),
)


def values(i):
    """What element ``i`` of the set is, in Python."""
    k = i % 4
    return {
        "image": pixels(20 + i % 3, 30 - i % 5, i),
        "thumbnail": pixels(6, 5, i),
        "label": np.int64(i % 3),
        "id": np.int32(i),
        "weight": np.float64(i / 4),
        "flag": np.bool_(i % 2),
        "maybe": None if i % 3 == 0 else np.uint8(i % 256),
        "name": f"name {i}".encode(),
        "packed": np.arange(4, dtype=np.uint16).reshape(2, 2) * i,
        "any_shape": np.full((k, 2), i, np.float32),
        "tokens": np.arange(i, i + k),
        "objects": {
            "box": np.arange(2 * k, dtype=np.float32).reshape(k, 2) + i,
            "words": [[f"{i}-{j}-{w}".encode() for w in range(j)] for j in range(k)],
        },
        "steps": {
            "action": np.arange(3 * k, dtype=np.float32).reshape(k, 3) - i,
            "view": np.stack([pixels(4, 4, i + t, 1) for t in range(k)])
            if k
            else np.zeros((0, 4, 4, 1), np.uint8),
            "note": np.array([f"{t}".encode() for t in range(k)], object),
        },
    }


def example(i, change=None):
    """The Example of values(i)."""
    v = values(i)
    words = v["objects"]["words"]
    features = {
        "image": [encode_png(v["image"])],
        "thumbnail": [encode_png(v["thumbnail"])],
        "label": [int(v["label"])],
        "id": [i],
        "weight": [float(v["weight"])],
        "flag": [int(v["flag"])],
        "name": [v["name"]],
        "packed": [zlib.compress(v["packed"].tobytes())],
        "any_shape/value": [v["any_shape"].tobytes()],
        "any_shape/shape": list(v["any_shape"].shape),
        "tokens": v["tokens"].tolist(),
        "objects/box": v["objects"]["box"].ravel().tolist(),
        "objects/words/ragged_flat_values": [word for row in words for word in row],
        "objects/words/ragged_row_lengths_0": [len(row) for row in words],
        "steps/action": v["steps"]["action"].ravel().tolist(),
        "steps/view": [encode_png(view) for view in v["steps"]["view"]],
        "steps/note": v["steps"]["note"].tolist(),
    }
    # records.example() can't write empty lists of floats and of bytes.
    features = {key: listed for key, listed in features.items() if listed}
    if v["maybe"] is not None:
        features["maybe"] = [int(v["maybe"])]
    for key, changed in (change or {}).items():
        if changed is None:
            del features[key]
        else:
            features[key] = changed
    return records.example(features)


def write_all(folder, lengths=(4, 0, 9, 7), val=5, name="made"):
    """The set in files of ``lengths`` Examples; the split "val" goes on counting."""
    shards, at = [], 0
    for length in lengths:
        shards.append([example(i) for i in range(at, at + length)])
        at += length
    splits = {"train": shards, "val": [[example(i) for i in range(at, at + val)]]}
    path = write(folder, FEATURES, splits, name)
    (path / "label.labels.txt").write_text("cat\ndog\nowl\n")
    return path
