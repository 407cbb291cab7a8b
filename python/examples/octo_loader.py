"""Batches of a mixture of robot data sets for PyTorch, like Octo's and OpenVLA's; no TensorFlow.

    python octo_loader.py data/robot_a/1.0.0 data/robot_b/1.0.0 --weights 0.7 0.3

Each is a folder that TensorFlow Datasets wrote, in the form of RLDS: as in Open X-Embodiment. Each
row has two cameras, resized to 224 and 128, a chunk of the next 8 actions, and the instruction.
The names in FEATURES are placeholders: replace them by those of your data sets, which
print(rp.tfds_info(folder)) lists. The names in the batch must be the same for all data sets.
"""

import argparse
from typing import Any

import recordpipe as rp
import recordpipe.torch as rpt

COMMON = {  # the name in the batch: the path in the data set
    "primary": "observation/image",
    "wrist": "observation/wrist_image",
    "action": "action",
    "language": "language_instruction",
}
FEATURES = {  # by the name of the data set
    "robot_a": COMMON,
    "robot_b": {**COMMON, "primary": "observation/front_image"},
    "robot_c": {**COMMON, "primary": "observation/image_0"},
}


def steps(folder: str) -> rp.Dataset:
    return (
        rp.tfds(folder, "train")
        .steps(features=FEATURES[rp.tfds_info(folder).name], offsets={"action": range(8)})
        .decode_image("primary", channels=3)
        .resize("primary", (224, 224))
        .decode_image("wrist", channels=3)
        .resize("wrist", (128, 128))
        .shuffle(seed=7)  # of all steps of all episodes
        .repeat()
    )


def loader(folders: list[str], weights: list[float] | None, batch_size: int) -> rpt.Loader:
    mixture = rp.sample_from_datasets([steps(folder) for folder in folders], weights, seed=7)
    return rpt.Loader(mixture.batch(batch_size, drop_remainder=True).prefetch(), pin_memory=True)


def main() -> dict[str, Any]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", help="NAME/VERSION; NAME is a name in FEATURES")
    parser.add_argument("--weights", nargs="+", type=float, help="one per folder; default: equal")
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=64)
    options = parser.parse_args()
    for folder in options.folders:
        if (name := rp.tfds_info(folder).name) not in FEATURES:
            parser.error(f"FEATURES has no {name!r}: add its features")

    # Of the first data set, for brevity: a .map() in steps() can scale each by its own.
    statistics = rp.episode_statistics(rp.tfds(options.folders[0]), ["action"])["action"]
    mixture = loader(options.folders, options.weights, options.batch_size)
    for _, batch in zip(range(options.batches), mixture, strict=False):
        action = statistics.scaled(batch["action"])  # [batch, 8, 7]; train(batch, action)
    print({name: tuple(value.shape) for name, value in batch.items() if name != "language"})
    print(action.shape, action.dtype, batch["language"][:2])
    return mixture.state_dict()  # of loader.load_state_dict(): the next batch, in any process


if __name__ == "__main__":
    main()
