"""Steps of episodes in PyTorch's DataLoader."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import recordpipe as rp
import recordpipe.torch as rpt
import rlds
import torch
from support import FilesTest
from torch.utils.data import DataLoader


class StepsInTorch(FilesTest):
    def setUp(self):
        super().setUp()
        self.data, _ = rlds.write(self.folder)

    def test_workers_yield_the_batches_of_one_process(self):
        ds = (
            rp.tfds(self.data)
            .steps(features=["action", "observation/image"], offsets={"action": range(4)})
            .decode_image("observation/image")
            .resize("observation/image", (8, 8))
            .shuffle(seed=3)
            .batch(4)
        )
        expected = list(rpt.Loader(ds))
        for context in ("fork", "spawn"):
            loader = DataLoader(
                rpt.Dataset(ds), batch_size=None, num_workers=2, multiprocessing_context=context
            )
            found = list(loader)
            self.assertEqual(len(found), len(expected))
            for ours, theirs in zip(found, expected, strict=True):
                self.assertTrue(torch.equal(ours["action"], theirs["action"]))
                images = (batch["observation"]["image"] for batch in (ours, theirs))
                self.assertTrue(torch.equal(*images))

    def test_steps_by_number_in_a_sampler(self):
        rows = rpt.MapDataset(rp.tfds(self.data).steps(features=["action", "tick"]))
        loader = DataLoader(rows, batch_size=8, shuffle=True, num_workers=2)
        ticks = torch.cat([batch["tick"] for batch in loader])
        self.assertEqual(sorted(ticks.tolist()), sorted(row["tick"] for row in rows._dataset))


if __name__ == "__main__":
    unittest.main()
