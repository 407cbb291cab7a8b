#!/usr/bin/env python3
"""Tests cifar10_train, cifar10_multi_gpu_train and cifar10_eval as a user runs them.

Run by CTest. Environment: RECORDPIPE_GENERATE and RECORDPIPE_TRAINING_PROGRAMS, the folder of the
three programs.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import small_archives

from started import AS_STARTED_BY_USERS, Started

GENERATE = os.environ["RECORDPIPE_GENERATE"]
PROGRAMS = pathlib.Path(os.environ["RECORDPIPE_TRAINING_PROGRAMS"])
ROWS = 24  # in each of the six batches: 120 images to train on, 24 to evaluate


def setUpModule():
    global ROOT, DATA
    ROOT = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
    DATA = small_archives.convert_in(ROOT, GENERATE, ROWS)


def tearDownModule():
    shutil.rmtree(ROOT)


class TutorialTest(unittest.TestCase):
    def setUp(self):
        self.train_dir = pathlib.Path(tempfile.mkdtemp(dir=ROOT)) / "train"

    def run_program(self, name, *flags, **options):
        return subprocess.run([PROGRAMS / name, *map(str, flags)], capture_output=True, text=True,
                              timeout=120, check=False, **options)

    def train(self, *flags, steps=3, program="cifar10_train", **options):
        return self.run_program(program, "--data_dir", DATA, "--train_dir", self.train_dir,
                                "--batch_size", 8, "--max_steps", steps, "--log_frequency", 1,
                                "--device", "cpu", *flags, **options)

    def evaluation(self, *flags, of=None):
        return ["--data_dir", DATA, "--checkpoint_dir", of or self.train_dir,
                "--eval_dir", self.train_dir.parent / "eval", "--device", "cpu", *flags]

    def expect_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)


class Train(TutorialTest):
    def test_log_and_checkpoints(self):
        result = self.train(env=AS_STARTED_BY_USERS)
        self.expect_done(result)
        number = r"[0-9.]+"
        lines = [line for line in result.stderr.splitlines() if re.search(
            rf"step [123], loss = {number} \({number} examples/sec; {number} sec/batch\)$", line)]
        self.assertEqual(len(lines), 3, result.stderr)
        self.assertIn("1068298 parameters", result.stderr)
        self.assertEqual(sorted(path.name for path in self.train_dir.glob("*.safetensors")),
                         ["checkpoint-0.safetensors", "checkpoint-3.safetensors"])

    def test_input_pipeline_is_the_tutorials(self):
        self.expect_done(self.train(steps=1))
        content = (self.train_dir / "checkpoint-1.safetensors").read_bytes()
        for operator in (b"tfrecord_files(files=2)", b"shuffle(buffer_size=20024, seed=7)",
                         b"max_brightness=63, min_contrast=0.2, max_contrast=1.8",
                         b"image=24x24x3, dtype=float32"):
            self.assertIn(operator, content)

    def test_train_dir_is_resumed_not_deleted(self):
        self.expect_done(self.train(steps=2))
        result = self.train(steps=4)
        self.expect_done(result)
        self.assertIn("resumed from", result.stderr)
        resumed = (self.train_dir / "checkpoint-4.safetensors")
        self.assertTrue((self.train_dir / "checkpoint-2.safetensors").exists())
        self.assertTrue(resumed.exists())

    def test_device_placement(self):
        result = self.train("--log_device_placement", steps=1)
        self.expect_done(result)
        self.assertRegex(result.stderr, r"conv1: cpu, \d+ threads")
        self.assertRegex(result.stderr, r"local4/weights: cpu, \d+ threads")

    def test_device_auto_says_what_it_chose_and_why(self):
        result = self.train("--device", "auto", steps=1)
        self.expect_done(result)
        self.assertRegex(result.stderr, "device auto: (cpu, because .+|cuda.*)")

    def test_too_few_images(self):
        result = self.train("--batch_size", 121)
        self.assertEqual(result.returncode, 1)
        self.assertIn("120 training images don't fill a batch of 121", result.stderr)

    def test_towers(self):
        result = self.train("--num_gpus", 2, program="cifar10_multi_gpu_train")
        self.expect_done(result)
        self.assertIn("2 towers", result.stderr)
        result = self.train("--num_gpus", 2, "--batch_size", 61, program="cifar10_multi_gpu_train")
        self.assertIn("120 training images don't fill a batch of 122", result.stderr)


class Evaluate(TutorialTest):
    @classmethod
    def setUpClass(cls):
        cls.trained = {}

    def use_trained(self, steps=3):
        """Makes train_dir a copy of the result of a training, which is run once per class."""
        if steps not in self.trained:
            self.expect_done(self.train(steps=steps))
            self.trained[steps] = pathlib.Path(tempfile.mkdtemp(dir=ROOT)) / "trained"
            self.train_dir.rename(self.trained[steps])
        shutil.copytree(self.trained[steps], self.train_dir)

    def test_help_names_the_exit_statuses(self):
        self.assertIn("129, 130 or 143 interrupted",
                      self.run_program("cifar10_eval", "--help").stdout)

    def test_once(self):
        self.use_trained()
        result = self.run_program("cifar10_eval", *self.evaluation("--run_once"),
                                  env=AS_STARTED_BY_USERS)
        self.expect_done(result)
        self.assertRegex(result.stderr, r"precision @ 1 = [01]\.\d{3}")
        self.assertRegex(result.stdout.splitlines()[-1],
                         r"^eval accuracy [0-9.]+% \(\d+/24\) at step 3$")

    def test_one_checkpoint_is_evaluated_once(self):
        self.expect_done(self.train("--checkpoint_steps", 1, steps=2))
        for step in (1, 2):
            result = self.run_program("cifar10_eval", *self.evaluation(
                of=self.train_dir / f"checkpoint-{step}.safetensors"))
            self.expect_done(result)
            self.assertIn(f"/24) at step {step}", result.stdout)

    def test_one_checkpoint_that_is_none(self):
        self.use_trained(steps=1)
        checkpoint = self.train_dir / "checkpoint-1.safetensors"
        damaged = self.train_dir / "damaged"
        damaged.write_bytes(checkpoint.read_bytes()[:-1])
        for path, said in ((damaged, "ends within tensor"),
                           (self.train_dir / "checkpoint-2.safetensors", "No such file")):
            for once in ("--run_once", "--norun_once"):
                result = self.run_program("cifar10_eval", *self.evaluation(once, of=path))
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, f"{path}.*{said}")

    def test_each_image_counts_once(self):
        self.use_trained()
        printed = {self.run_program("cifar10_eval", *self.evaluation(
            "--run_once", "--batch_size", size)).stdout for size in (1, 7, 24, 1000)}
        self.assertEqual(len(printed), 1, printed)
        result = self.run_program("cifar10_eval", *self.evaluation(
            "--run_once", "--num_examples", 10, "--batch_size", 4))
        self.assertIn("/10) at step 3", result.stdout)

    def test_event_file(self):
        self.use_trained()
        self.expect_done(self.run_program("cifar10_eval", *self.evaluation("--run_once")))
        (events,) = (self.train_dir.parent / "eval").glob("events.out.tfevents.*")
        content = events.read_bytes()
        # An event of step 3 with the tutorial's name.
        self.assertRegex(content, rb"(?s)\x10\x03\x2a.\x0a.\x0a\x0dPrecision @ 1\x15")

    def test_an_evaluation_does_without_its_event_file(self):
        self.use_trained()
        (self.train_dir.parent / "eval").write_text("a file where the folder should be")
        result = self.run_program("cifar10_eval", *self.evaluation("--run_once"))
        self.expect_done(result)
        self.assertIn("not logged: ", result.stderr)
        self.assertIn("at step 3", result.stdout)

    def test_averages_of_the_weights_unless_told_otherwise(self):
        self.use_trained()
        losses = {flag: re.search(r"loss = [0-9.]+", self.run_program(
            "cifar10_eval", *self.evaluation("--run_once", *flag)).stderr).group()
            for flag in ((), ("--moving_averages",), ("--nomoving_averages",))}
        self.assertEqual(losses[()], losses[("--moving_averages",)])
        self.assertNotEqual(losses[()], losses[("--nomoving_averages",)])

    def test_confusion_matrix(self):
        self.use_trained()
        result = self.run_program("cifar10_eval", *self.evaluation("--run_once"),
                                  "--confusion_matrix")
        self.expect_done(result)
        header, *rows, precision, last = result.stdout.splitlines()
        self.assertEqual(header.split(), [*"0123456789", "accuracy"])
        counts = [[int(count) for count in row.split()[2:12]] for row in rows]
        self.assertEqual([row.split()[1] for row in rows][::9], ["airplane", "truck"])
        correct, total = sum(counts[i][i] for i in range(10)), sum(map(sum, counts))
        self.assertIn(f"({correct}/{total}) at step 3", last)

    def test_training_images(self):
        self.use_trained()
        result = self.run_program("cifar10_eval", *self.evaluation(
            "--run_once", "--eval_data", "train_eval"))
        self.assertIn("/120) at step 3", result.stdout)

    def test_no_checkpoint(self):
        result = self.run_program("cifar10_eval", *self.evaluation("--run_once"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no checkpoint in this folder", result.stderr)

    def test_says_that_it_waits_for_a_first_checkpoint(self):
        command = [PROGRAMS / "cifar10_eval", *map(str, self.evaluation())]
        with Started(command, stderr=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            self.assertRegex(process.stderr.readline(),
                             rf"no checkpoint to evaluate in {self.train_dir} yet; looking again")
            process.send_signal(signal.SIGTERM)
            process.communicate()
        self.assertEqual(process.returncode, 143)

    def test_waits_for_the_next_checkpoint(self):
        self.use_trained(steps=1)
        command = [PROGRAMS / "cifar10_eval", *map(str, self.evaluation(
            "--eval_interval_secs", 1))]
        with Started(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                     text=True) as process:
            self.addCleanup(process.kill)
            self.assertIn("at step 1", process.stdout.readline())
            self.expect_done(self.train(steps=2))
            self.assertIn("at step 2", process.stdout.readline())
            process.send_signal(signal.SIGTERM)
            process.communicate()
        self.assertEqual(process.returncode, 143)

    def test_waits_for_a_checkpoint_to_become_whole(self):
        self.use_trained(steps=1)
        (self.train_dir / "checkpoint-0.safetensors").unlink()
        newest = self.train_dir / "checkpoint-1.safetensors"
        content = newest.read_bytes()
        newest.write_bytes(content[:-1])
        result = self.run_program("cifar10_eval", *self.evaluation("--run_once"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no checkpoint in this folder is intact)", result.stderr)

        command = [PROGRAMS / "cifar10_eval", *map(str, self.evaluation(
            "--eval_interval_secs", 1))]
        with Started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     text=True) as process:
            self.addCleanup(process.kill)
            self.assertIn(f"skipped: {newest}: ", process.stderr.readline())
            self.assertIn("no checkpoint to evaluate", process.stderr.readline())
            time.sleep(2.5)  # cifar10_eval looks again, without another message
            newest.write_bytes(content)
            self.assertIn("at step 1", process.stdout.readline())
            # A newer damaged checkpoint is reported, although there is nothing to evaluate.
            other = self.train_dir / "checkpoint-2.safetensors"
            other.write_bytes(content[:-1])
            self.assertIn("precision @ 1", process.stderr.readline())
            self.assertIn(f"skipped: {other}: ", process.stderr.readline())
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertNotIn("skipped", errors)

    def test_another_networks_checkpoint(self):
        self.expect_done(self.run_program(
            "cifar10_main", "--data-dir", DATA, "--job-dir", self.train_dir, "--num-layers", 8,
            "--train-batch-size", 8, "--train-steps", 1))
        for once in ("--run_once", "--norun_once"):
            result = self.run_program("cifar10_eval", *self.evaluation(once))
            self.assertEqual(result.returncode, 1)
            self.assertIn("(is it a checkpoint of cifar10_train?)", result.stderr)
        result = self.run_program("cifar10_eval", *self.evaluation(
            of=self.train_dir / "checkpoint-1.safetensors"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("(is it a checkpoint of cifar10_train?)", result.stderr)


if __name__ == "__main__":
    unittest.main()
