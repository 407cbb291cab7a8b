"""Batches of a mixture of robot data sets for PyTorch, like Octo's and OpenVLA's; no TensorFlow.

python octo_loader.py bridge/1.0.0 fractal/0.1.0 kuka/0.1.0

Each is a folder that TensorFlow Datasets wrote, in the form of RLDS: as in Open X-Embodiment. Each
row has two cameras, resized to 224 and 128, a chunk of the next 8 actions, and the instruction.
"""

import sys
from typing import Any

import recordpipe as rp
import recordpipe.torch as rpt
import torch

NAMES = {  # in the batch: in the data set; give each data set its own, if they differ
    "primary": "observation/image",
    "wrist": "observation/wrist_image",
    "action": "action",
    "language": "language_instruction",
}


def steps(folder: str) -> rp.Dataset:
    return (
        rp.tfds(folder, "train")
        .steps(features=NAMES, offsets={"action": range(8)})
        .decode_image("primary", channels=3)
        .resize("primary", (224, 224))
        .decode_image("wrist", channels=3)
        .resize("wrist", (128, 128))
        .shuffle(seed=7)  # of all steps of all episodes
        .repeat()
    )


def loader(folders: list[str], weights: list[float], batch_size: int) -> rpt.Loader:
    mixture = rp.sample_from_datasets([steps(folder) for folder in folders], weights, seed=7)
    return rpt.Loader(mixture.batch(batch_size, drop_remainder=True).prefetch(), pin_memory=True)


def scaled(action: torch.Tensor, statistics: rp.StepStatistics) -> torch.Tensor:
    """The quantiles 0.01 and 0.99 become -1 and 1, as OpenVLA scales actions."""
    low, high = (torch.from_numpy(q).float() for q in (statistics.q01, statistics.q99))
    return ((action - low) / (high - low + 1e-8) * 2 - 1).clamp(-1, 1)


def main(folders: list[str], batches: int = 100, batch_size: int = 64) -> dict[str, Any]:
    statistics = rp.episode_statistics(rp.tfds(folders[0]), ["action"])["action"]
    mixture = loader(folders, [0.5, 0.3, 0.2][: len(folders)], batch_size)
    for _, batch in zip(range(batches), mixture, strict=False):
        action = scaled(batch["action"], statistics)  # [batch, 8, 7]; train(batch, action)
    print({name: tuple(value.shape) for name, value in batch.items() if name != "language"})
    print(action.shape, action.dtype, batch["language"][:2])
    return mixture.state_dict()  # of loader.load_state_dict(): the next batch, in any process


if __name__ == "__main__":
    main(sys.argv[1:])
