"""Writes a data set of robot episodes as TensorFlow Datasets and RLDS store it.

usage: robot_episodes.py FOLDER EPISODES STEPS [SIZE]

FOLDER/1.0.0 gets two JPEG cameras of SIZExSIZE (default: 256), a state of 8 numbers, an action of 7, an instruction,
and RLDS's flags for each step. Frames are random textures with the spectrum of photographs and two
moving blocks; there are FRAMES different ones. tfds.builder_from_directory() reads the folder.
"""
import io
import json
import pathlib
import sys

import numpy as np
from PIL import Image

import recordpipe as rp

FRAMES = 2_000
SIZE = 256
SHARDS = 8
ACTION, STATE = 7, 8
NAME = "robot_arm"


def texture(rng, size):
    """Noise whose amplitude falls with the frequency, as in photographs: [size, size, 3]."""
    frequency = np.fft.fftfreq(size)
    radius = np.hypot(frequency[:, None], frequency[None, :])
    radius[0, 0] = 1
    planes = []
    for _ in range(3):
        phases = rng.uniform(0, 2 * np.pi, (size, size))
        plane = np.fft.ifft2(np.exp(1j * phases) / radius**1.5).real
        planes.append((plane - plane.mean()) / plane.std())
    grey = planes[0][..., None] + 0.4 * np.stack(planes, -1)
    return np.clip(128 + 38 * grey, 0, 255).astype(np.uint8)


def frames(rng, count, size):
    """Encoded JPEG files, of quality 95 as tf.io.encode_jpeg writes them."""
    wall = texture(rng, 1024)
    encoded = []
    for _ in range(count):
        top, left = rng.integers(0, 1024 - size, 2)
        image = wall[top:top + size, left:left + size].copy()
        for _ in range(2):
            y, x = rng.integers(0, size - 40, 2)
            image[y:y + 40, x:x + 30] = rng.integers(0, 255, 3)
        out = io.BytesIO()
        Image.fromarray(image).save(out, "JPEG", quality=95)
        encoded.append(out.getvalue())
    return encoded


def episode(rng, images, number, steps):
    flags = np.zeros((3, steps), np.int64)
    flags[0, 0] = flags[1, -1] = flags[2, -1] = 1

    def camera():
        return [images[i] for i in rng.integers(0, len(images), steps)]

    return {
        "steps/observation/image": camera(),
        "steps/observation/wrist_image": camera(),
        "steps/observation/state": rng.normal(size=steps * STATE).astype(np.float32),
        "steps/action": rng.normal(size=steps * ACTION).astype(np.float32),
        "steps/reward": flags[1].astype(np.float32),
        "steps/discount": np.ones(steps, np.float32),
        "steps/is_first": flags[0],
        "steps/is_last": flags[1],
        "steps/is_terminal": flags[2],
        "steps/language_instruction": [b"pick up block %d" % (number % 100)] * steps,
        "episode_metadata/file_path": b"episode_%d" % number,
    }


def tensor(dtype, *shape):
    # The proto's text of an int64 is a string.
    dimensions = {"dimensions": [str(size) for size in shape]} if shape else {}
    kind = "tensor_feature.Tensor" if shape else "scalar.Scalar"
    return {"pythonClassName": f"tensorflow_datasets.core.features.{kind}",
            "tensor": {"dtype": dtype, "encoding": "none", "shape": dimensions}}


def camera_feature(size):
    return {"pythonClassName": "tensorflow_datasets.core.features.image_feature.Image",
            "image": {"dtype": "uint8", "encodingFormat": "jpeg",
                      "shape": {"dimensions": [str(size), str(size), "3"]}}}


def text():
    return {"pythonClassName": "tensorflow_datasets.core.features.text_feature.Text", "text": {}}


def features_dict(**features):
    return {"pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
            "featuresDict": {"features": features}}


def features(size):
    observation = features_dict(image=camera_feature(size), wrist_image=camera_feature(size),
                                state=tensor("float32", STATE))
    step = features_dict(observation=observation, action=tensor("float32", ACTION),
                         reward=tensor("float32"), discount=tensor("float32"),
                         is_first=tensor("bool"), is_last=tensor("bool"),
                         is_terminal=tensor("bool"), language_instruction=text())
    return features_dict(
        steps={"pythonClassName": "tensorflow_datasets.core.features.dataset_feature.Dataset",
               "sequence": {"feature": step, "length": "-1"}},
        episode_metadata=features_dict(file_path=text()))


def write(folder, episodes, steps, size=SIZE):
    folder = pathlib.Path(folder) / "1.0.0"
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    images = frames(rng, min(FRAMES, episodes * steps), size)
    shards = min(SHARDS, episodes)
    lengths, number = [], 0
    for shard in range(shards):
        end = episodes * (shard + 1) // shards
        path = folder / f"{NAME}-train.tfrecord-{shard:05}-of-{shards:05}"
        with rp.Writer(path) as writer:
            for number in range(number, end):
                writer.write(episode(rng, images, number, steps))
        lengths.append(str(end - sum(map(int, lengths))))
        number = end
    info = {"fileFormat": "tfrecord", "moduleName": "robot_episodes", "name": NAME,
            "version": "1.0.0",
            "splits": [{"name": "train", "shardLengths": lengths,
                        "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
                        "numBytes": str(sum(path.stat().st_size for path in folder.glob("*.tfrecord-*")))}]}
    (folder / "features.json").write_text(json.dumps(features(size), indent=4))
    (folder / "dataset_info.json").write_text(json.dumps(info, indent=2))


if __name__ == "__main__":
    write(sys.argv[1], *map(int, sys.argv[2:]))
