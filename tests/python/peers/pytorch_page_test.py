"""docs/pytorch.md: its code runs, with Lightning, Accelerate and Hugging Face's Trainer."""

import contextlib
import functools
import importlib.util
import io
import os
import pathlib
import re
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import numpy as np
import recordpipe as rp
from support import FilesTest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/pytorch.md"
RECORDS = 128  # 8 batches of 16


def needs(*packages):
    missing = [each for each in packages if importlib.util.find_spec(each) is None]
    return unittest.skipIf(missing, f"{', '.join(missing)} is not installed")


@needs("torch")
class Page(FilesTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        rp.write_tfrecords(
            self.folder / "train-0.tfrecord",
            [
                {"image": rng.normal(size=64).astype(np.float32), "label": i % 10}
                for i in range(RECORDS)
            ],
        )
        self.enterContext(contextlib.chdir(self.folder))
        self.enterContext(mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": ""}))

    def run_code(self, title, **names):
        """Runs the page's code of `ds` and that below the title; returns the variables."""
        import torch

        text = PAGE.read_text()
        sections = dict(re.findall(r"## (.*?)\n(.*?)(?=\n## |\Z)", text, re.DOTALL))
        (code,) = re.findall(r"```python\n(.*?)```", sections[title], re.DOTALL)
        write, first = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:2]
        if title == "One process":
            first = write + first
        torch.manual_seed(1)
        exec(compile(first + code, str(PAGE), "exec"), names)
        return names

    def test_one_process(self):
        import torch

        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            names = self.run_code("One process")
        losses = [float(line.split()[1]) for line in printed.getvalue().splitlines()]
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[2], losses[0])
        for each, state in zip(("model", "loader"), torch.load("checkpoint.pt")[::2], strict=True):
            names[each].load_state_dict(state)
        self.assertEqual(names["loader"].epoch, 3)

    def test_ddp(self):
        import torch

        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{self.folder}/rendezvous", rank=0, world_size=1
        )
        self.enterContext(mock.patch("torch.distributed.init_process_group"))
        try:
            loader = self.run_code("DistributedDataParallel, with torchrun")["loader"]
            self.assertEqual([len(batch["label"]) for batch in loader], [128])
        finally:
            torch.distributed.destroy_process_group()

    def batches(self, ds):
        """The labels of the batches of two epochs."""
        return [batch["label"].tolist() for epoch in (0, 1) for batch in ds.epoch(epoch)]

    @needs("lightning")
    def test_lightning(self):
        import lightning
        import torch

        class Model(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(64, 10)
                self.seen = []

            def training_step(self, batch, number):
                self.seen.append(batch["label"].tolist())
                return torch.nn.functional.cross_entropy(self.layer(batch["image"]), batch["label"])

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        class Save(lightning.Callback):
            def on_train_batch_end(self, trainer, model, outputs, batch, number):
                if len(model.seen) == 3:
                    trainer.save_checkpoint("third.ckpt")

        whole = Model()
        names = self.run_code("Lightning", model=whole, callbacks=[Save()], path=None)
        expected = self.batches(names["ds"].batch(16))
        self.assertEqual(whole.seen, expected)
        rest = Model()
        self.run_code("Lightning", model=rest, callbacks=[], path="third.ckpt")
        self.assertEqual(rest.seen, expected[3:])
        torch.testing.assert_close(rest.layer.weight, whole.layer.weight)

    @needs("accelerate")
    def test_accelerate(self):
        import torch

        model = torch.nn.Linear(64, 10)
        before = model.weight.detach().clone()
        names = self.run_code(
            "Accelerate", model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1)
        )
        self.assertFalse(torch.equal(before, names["model"].weight))
        self.assertEqual(names["loader"].epoch, 2)
        names["accelerator"].load_state("checkpoint")
        self.assertEqual(names["loader"].epoch, 2)

    @needs("transformers", "accelerate")
    def test_hugging_face(self):
        import torch
        import transformers

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(64, 10)
                self.seen = []

            def forward(self, image, label):
                self.seen.append(label.tolist())
                logits = self.layer(image)
                return {"loss": torch.nn.functional.cross_entropy(logits, label), "logits": logits}

        def trained(checkpoint):
            names = self.run_code("Hugging Face's Trainer", model=Model(), checkpoint=checkpoint)
            return names["model"], names["ds"]

        arguments = functools.partial(transformers.TrainingArguments, save_steps=8)
        self.enterContext(mock.patch.object(transformers, "TrainingArguments", arguments))
        whole, ds = trained(None)
        expected = self.batches(ds.batch(8))
        self.assertEqual(whole.seen, expected)
        for step in (8, 16, 24):  # 16 is the end of an epoch
            with self.subTest(step):
                rest, _ = trained(f"out/checkpoint-{step}")
                self.assertEqual(rest.seen, expected[step:])
                torch.testing.assert_close(rest.layer.weight, whole.layer.weight)


if __name__ == "__main__":
    unittest.main()
