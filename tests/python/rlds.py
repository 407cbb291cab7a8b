"""Writes small data sets of robot episodes, as TFDS and RLDS store them, with NumPy only."""

import json

import numpy as np
import recordpipe as rp
from image_test import png
from support import FilesTest

TENSOR = "tensorflow_datasets.core.features.tensor_feature.Tensor"
CLASSES = "tensorflow_datasets.core.features"
ACTION_PARTS = {  # where an action is a FeaturesDict, as in some sets of Open X-Embodiment
    "world_vector": slice(0, 3),
    "rotation_delta": slice(3, 6),
    "gripper_closedness_action": slice(6, 7),
}


def tensor(dtype, *shape, encoding="none"):
    dimensions = {"dimensions": [str(size) for size in shape]} if shape else {}
    return {
        "pythonClassName": TENSOR,
        "tensor": {"dtype": dtype, "encoding": encoding, "shape": dimensions},
    }


def text():
    return {"pythonClassName": f"{CLASSES}.text_feature.Text", "text": {}}


def image(*shape):
    return {
        "pythonClassName": f"{CLASSES}.image_feature.Image",
        "image": {
            "dtype": "uint8",
            "encodingFormat": "png",
            "shape": {"dimensions": [str(size) for size in shape]},
        },
    }


def features_dict(**features):
    return {
        "pythonClassName": f"{CLASSES}.features_dict.FeaturesDict",
        "featuresDict": {"features": features},
    }


def dataset(step):
    return {
        "pythonClassName": f"{CLASSES}.dataset_feature.Dataset",
        "sequence": {"feature": step, "length": "-1"},
    }


def random_episode(rng, number, steps, camera="image"):
    """The values of an episode: arrays over the steps."""
    return {
        camera: rng.integers(0, 256, (steps, 12, 16, 3), np.uint8),
        "wrist_image": rng.integers(0, 256, (steps, 6, 7, 3), np.uint8),
        "state": rng.normal(size=(steps, 3)).astype(np.float32),
        "action": rng.normal(size=(steps, 7)).astype(np.float32),
        "is_first": np.arange(steps) == 0,
        "tick": rng.integers(-(2**40), 2**40, steps),
        "language_instruction": [b"pick up block %d" % number] * steps,
        "number": number,
    }


def example(episode, camera="image", parts=False):
    steps = len(episode["action"])
    action = (
        {
            f"steps/action/{name}": episode["action"][:, columns].ravel()
            for name, columns in ACTION_PARTS.items()
        }
        if parts
        else {"steps/action": episode["action"].ravel()}
    )
    return (
        {
            f"steps/observation/{camera}": [png(pixels) for pixels in episode[camera]],
            "steps/observation/wrist_image": [png(pixels) for pixels in episode["wrist_image"]],
            "steps/reward": np.zeros(steps, np.float32),
            "steps/observation/state": episode["state"].ravel(),
            **action,
            "steps/is_first": episode["is_first"].astype(np.int64),
            "steps/tick": episode["tick"],
            "steps/language_instruction": episode["language_instruction"],
            "episode_metadata/file_path": b"episode_%d" % episode["number"],
            "episode_metadata/number": episode["number"],
        }
        if steps
        else {"episode_metadata/file_path": b"empty", "episode_metadata/number": 0}
    )


def write(
    folder,
    seed=0,
    lengths=(5, 1, 0, 17, 30, 8),
    shards=2,
    name="arm",
    camera="image",
    version="1.0.0",
    parts=False,
):
    """Writes NAME/VERSION below `folder`; returns its path and the episodes.

    With `parts`, the action is a FeaturesDict of ACTION_PARTS.
    """
    rng = np.random.default_rng(seed)
    episodes = [random_episode(rng, i, steps, camera) for i, steps in enumerate(lengths)]
    folder = folder / name / version
    folder.mkdir(parents=True)
    shard_lengths = []
    for shard in range(shards):
        part = episodes[len(episodes) * shard // shards : len(episodes) * (shard + 1) // shards]
        path = folder / f"{name}-train.tfrecord-{shard:05}-of-{shards:05}"
        rp.write_tfrecords(path, [example(episode, camera, parts) for episode in part])
        shard_lengths.append(str(len(part)))
    step = features_dict(
        observation=features_dict(
            **{camera: image(12, 16, 3)},
            wrist_image=image(6, 7, 3),
            state=tensor("float32", 3),
        ),
        action=(
            features_dict(
                **{
                    name: tensor("float32", columns.stop - columns.start)
                    for name, columns in ACTION_PARTS.items()
                }
            )
            if parts
            else tensor("float32", 7)
        ),
        is_first=tensor("bool"),
        tick=tensor("int64"),
        reward=tensor("float32"),
        language_instruction=text(),
    )
    metadata = features_dict(file_path=text(), number=tensor("int32"))
    features = features_dict(steps=dataset(step), episode_metadata=metadata)
    info = {
        "fileFormat": "tfrecord",
        "name": name,
        "version": version,
        "splits": [
            {
                "name": "train",
                "shardLengths": shard_lengths,
                "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
            }
        ],
    }
    (folder / "features.json").write_text(json.dumps(features))
    (folder / "dataset_info.json").write_text(json.dumps(info))
    return folder, episodes


class StepsTest(FilesTest):
    """A test with a small data set of episodes."""

    def setUp(self):
        super().setUp()
        self.data, self.episodes = write(self.folder)
        self.numbered = [
            (episode, step) for episode in self.episodes for step in range(len(episode["action"]))
        ]

    def steps(self, **arguments):
        return rp.tfds(self.data).steps(**arguments)
