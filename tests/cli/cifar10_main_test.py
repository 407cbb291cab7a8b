#!/usr/bin/env python3
"""Tests cifar10_main as a user runs it: flags, their effects, exit codes.

Run by CTest. Environment: see cifar10_main_case.py.
"""
import contextlib
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from cifar10_main_case import AIRBENCH, Cifar10MainTest, PROGRAM, small_data
from safetensors_file import header_of, numbers_of
from started import AS_STARTED_BY_USERS


class Usage(Cifar10MainTest):
    def test_help(self):
        result = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=False)
        self.expect_done(result)
        for flag in ("--data-dir", "--train-steps", "--minutes", "--learning-rate-schedule"):
            self.assertIn(flag, result.stdout)

    def test_bad_flags(self):
        for extra, word in ((["--num-layers", "45"], "multiple of 6"),
                            (["--num-layers", "2"], "multiple of 6"),
                            (["--num-layers", "x"], "--num-layers"),
                            (["--train-steps", "-1"], "--train-steps"),
                            (["--train-steps", "1.5"], "--train-steps"),
                            (["--train-steps", "99999999999999999999"], "--train-steps"),
                            (["--seed", "-1"], "--seed"),
                            (["--num-intra-threads", "-1"], "--num-intra-threads"),
                            (["--num-intra-threads", "100000"], "--num-intra-threads"),
                            (["--learning-rate", "nan"], "--learning-rate"),
                            (["--learning-rate", "inf"], "--learning-rate"),
                            (["--minutes", "nan"], "--minutes"),
                            (["--minutes", "1e300"], "--minutes"),
                            (["--momentum", "nan"], "--momentum"),
                            (["--batch-norm-epsilon", "nan"], "--batch-norm-epsilon"),
                            (["--weight-decay", "-1"], "--weight-decay"),
                            (["--warmup-steps", "5"], "--learning-rate-schedule cosine"),
                            (["--moving-average-decay", "1"], "--moving-average-decay"),
                            (["--clip-global-norm", "-1"], "--clip-global-norm"),
                            (["--use-distortion-for-training", "maybe"], "--use-distortion"),
                            (["--num-gpus", "3"], "multiple of --num-gpus"),
                            (["--device", "cuda", "--num-gpus", "0"], "0 excludes --device cuda"),
                            (["--device", "auto", "--num-gpus", "0", "--variable-strategy", "GPU"],
                             "GPU needs --device cuda"),
                            (["--stop-grace-period-secs", "-1"], "--stop-grace-period-secs"),
                            (["--variable-strategy", "GPU"], "GPU needs --device cuda"),
                            (["--variable-strategy", "cpu"], "--variable-strategy"),
                            (["--data-format", "nchw"], "--data-format"),
                            (["--learning-rate-schedule", "straight"], "--learning-rate-schedule"),
                            (["--learning-rate", "0"], "--learning-rate"),
                            (["--train-batch-size", "0"], "--train-batch-size"),
                            (["--device", "cuda", "--precision", "fp16", "--check-numerics", "1"],
                             "fp16 can't be combined with"),
                            (["--device", "cuda", "--precision", "fp16", "--clip-global-norm", "1"],
                             "fp16 can't be combined with"),
                            (["--device", "auto", "--precision", "fp16", "--clip-gradient-norm",
                              "1"], "fp16 can't be combined with"),
                            (["--device", "cpu", "--measure-algorithms", "1"],
                             "--measure-algorithms: needs --device cuda"),
                            (["--job-dir", ""], "--job-dir: its value is empty"),
                            (["--job-dir=", "--report=r.html"], "--job-dir: its value is empty"),
                            (["--width", "8"], "needs --recipe airbench"),
                            (["--recipe", "airbench", "--width", "0"], "a number above 0"),
                            (["--recipe", "fast"], "--recipe"),
                            (["--test-time-augmentation", "all"], "--test-time-augmentation"),
                            (["--no-such-flag"], "--no-such-flag")):
            with self.subTest(extra):
                self.expect_failure(self.train(*extra), 2, word)
        both = [PROGRAM, "--data-dir", small_data(), "--job-dir", self.job, "--minutes", "1",
                "--train-steps", "3"]
        self.assertEqual(subprocess.run(both, capture_output=True, check=False).returncode, 2)
        self.assertEqual(subprocess.run([PROGRAM], capture_output=True, check=False).returncode, 2)
        self.assertFalse(self.job.exists())

    def test_help_and_version(self):
        text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
        # CLI11 prints the default after = or in brackets, depending on its version.
        self.assertRegex(text, r"--data-format channels_first\|channels_last.{1,2}channels_last")
        self.assertRegex(text, r"--use-distortion-for-training true\|false.{1,2}true")
        text = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
        self.assertRegex(text.stdout, r"^cifar10_main \d+\.\d+\.\d+\n$")

    def test_started_by_the_loader(self):
        # Its path, as in "\t/lib64/ld-linux-x86-64.so.2 (0x00007f...)".
        loader = re.search(r"^\s*(/\S*/ld\S*) ", subprocess.run(
            ["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout, re.MULTILINE)
        result = subprocess.run([loader[1], PROGRAM, "--version"], env=AS_STARTED_BY_USERS,
                                capture_output=True, text=True, check=False)
        self.assertRegex(result.stdout, r"^cifar10_main \d", result.stderr)

    def test_defaults_are_the_tutorials(self):
        text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
        for flag, default in (("--num-layers N", "44"), ("--train-steps N", "80000"),
                              ("--train-batch-size N", "128"), ("--eval-batch-size N", "100"),
                              ("--momentum N", "0.9"), ("--weight-decay N", "0.0002"),
                              ("--learning-rate N", "0.1"), ("--num-intra-threads N", "0"),
                              ("--num-inter-threads N", "0"), ("--batch-norm-decay N", "0.997"),
                              ("--num-gpus N", "1"), ("--device .*", "auto"),
                              ("--batch-norm-epsilon N", "1e-05"),
                              ("--learning-rate-schedule .*", "piecewise")):
            # CLI11 prints the default after = or in brackets, depending on its version.
            self.assertRegex(text, rf"{flag}.{{1,2}}{re.escape(default)}[\s\]]")
        for flag in ("--data-dir", "--job-dir"):
            self.assertRegex(text, rf"{flag} TEXT REQUIRED")

    def test_defaults_of_the_recipe(self):
        for recipe in (["--recipe", "airbench"], ["--recipe=airbench"]):
            text = subprocess.run([PROGRAM, *recipe, "--help"], capture_output=True, text=True,
                                  check=True).stdout
            for flag, default in (("--width N", "32"), ("--train-batch-size N", "512"),
                                  ("--label-smoothing N", "0.2"), ("--momentum N", "0.85"),
                                  ("--learning-rate-schedule .*", "linear")):
                self.assertRegex(text, rf"{flag}.{{1,2}}{re.escape(default)}[\s\]]")

    def test_missing_data(self):
        result = self.train(data=self.job.parent / "nowhere")
        self.expect_failure(result, 1, "nowhere", "run generate_cifar10_tfrecords")
        self.assertEqual(len(result.stderr.strip().splitlines()), 1)

    def test_batch_larger_than_the_data(self):
        for size in (97, 1_000_000):
            self.expect_failure(self.train("--train-batch-size", size), 1,
                                f"96 training images don't fill a batch of {size}")
        self.assertFalse(self.job.exists())

    def test_no_records(self):
        for split, words in (("train", "0 training images"), ("eval", "no images to evaluate on")):
            data = self.job.parent / f"no-{split}"
            shutil.copytree(small_data(), data)
            (data / f"{split}.tfrecords").write_bytes(b"")
            self.expect_failure(self.train(data=data), 1, words)
        self.assertFalse(self.job.exists())

    def test_damaged_data(self):
        data = self.job.parent / "damaged"
        shutil.copytree(small_data(), data)
        train = data / "train.tfrecords"
        content = bytearray(train.read_bytes())
        content[len(content) // 2] ^= 1
        train.write_bytes(content)
        self.expect_failure(self.train(data=data, steps=50), 1, str(train))


class Training(Cifar10MainTest):
    def test_airbench(self):
        result = self.train(*AIRBENCH, steps=6)
        self.expect_done(result)
        self.assertIn("Airbench of width 16, ", result.stderr)
        self.assertRegex(result.stdout,
                         r"/24\) at step 6, averaged over flips and translations\n$")
        header = header_of(self.job / "checkpoint-6.safetensors")
        self.assertEqual(header["whiten/weights"]["shape"], [24, 3, 2, 2])
        self.assertNotIn("block1/bn1/gamma", header)
        self.assertNotIn("block3/conv2/weights/ExponentialMovingAverage", header)
        shutil.rmtree(self.job)
        self.expect_done(self.train(*AIRBENCH, "--recipe", "airbench-sgd", steps=6))
        header = header_of(self.job / "checkpoint-6.safetensors")
        self.assertIn("block3/conv2/weights/ExponentialMovingAverage", header)
        self.expect_failure(self.train(*AIRBENCH, steps=6), 0,
                            "recipe was airbench-sgd and is now airbench")
        shutil.rmtree(self.job)
        plain = self.train(*AIRBENCH, "--test-time-augmentation", "none", steps=6)
        self.assertRegex(plain.stdout, r"/24\) at step 6\n$")

    def test_speedrun_makes_the_same_steps(self):
        result = self.train(*AIRBENCH, steps=8)
        self.expect_done(result)
        speedrun = subprocess.run(
            [pathlib.Path(PROGRAM).parent / "cifar10_speedrun", "--data-dir", small_data(), "--width",
             "16", "--train-batch-size", "16", "--epochs", "1"],
            capture_output=True, text=True, timeout=120, check=False)
        self.expect_done(speedrun)
        accuracy = result.stdout.splitlines()[-1]
        self.assertIn(accuracy, speedrun.stdout.splitlines())
        self.assertRegex(speedrun.stdout, r"\n[0-9.]+ s since exec\(\): .* 8 steps on cpu, ")

    def test_a_signal_ends_speedrun_within_a_step(self):
        # A step takes minutes. This thread is started for the first one.
        speedrun = subprocess.Popen(
            [pathlib.Path(PROGRAM).parent / "cifar10_speedrun", "--data-dir", small_data(),
             "--device", "reference", "--width", "64", "--train-batch-size", "96"],
            stderr=subprocess.DEVNULL)
        self.addCleanup(speedrun.wait)
        self.addCleanup(speedrun.kill)

        def threads():
            for name in pathlib.Path(f"/proc/{speedrun.pid}/task").glob("*/comm"):
                with contextlib.suppress(OSError):  # it has ended
                    yield name.read_text()

        while "rp-prefetch\n" not in threads():
            self.assertIsNone(speedrun.poll())
            time.sleep(0.01)
        speedrun.terminate()
        self.assertEqual(speedrun.wait(timeout=30), 128 + signal.SIGTERM)

    def test_checkpoint_holds_everything(self):
        self.expect_done(self.train(steps=1))
        header = header_of(self.job / "checkpoint-1.safetensors")
        self.assertEqual(header["__metadata__"]["step"], "1")
        self.assertEqual(header["conv/weights"]["shape"], [16, 3, 3, 3])
        self.assertEqual(header["dense/weights"]["shape"], [11, 64])
        for name in ("stage3/block0/bn2/moving_variance", "stage2/block0/conv1/weights/momentum"):
            self.assertIn(name, header)

    def test_input_pipeline_is_the_tutorials(self):
        plans = {}
        for distort in ("true", "false"):
            self.expect_done(self.train("--use-distortion-for-training", distort, steps=1))
            plans[distort] = self.plan(1)
            shutil.rmtree(self.job)
        # 0.4 times 96 images, and three batches of 16.
        self.assertEqual(plans["true"], [
            "tfrecord_files(files=1)", "shuffle(buffer_size=86, seed=7)", "repeat(count=-1)",
            "map()", "map_with_random(seed=7, pad=4)",
            "batch(batch_size=16, drop_remainder=false, image=32x32x3, dtype=uint8, layout=nhwc)"])
        self.assertNotIn("map_with_random(seed=7, pad=4)", plans["false"])
        self.expect_done(self.train("--cutout", 12, steps=1))
        self.assertIn("map_with_random(seed=7, pad=4, cutout=12)", self.plan(1))

    def test_same_flags_same_bytes(self):
        contents = []
        for _ in range(2):
            self.expect_done(self.train(steps=3))
            contents.append((self.job / "checkpoint-3.safetensors").read_bytes())
            shutil.rmtree(self.job)
        self.assertEqual(contents[0], contents[1])
        self.expect_done(self.train("--seed", 8, steps=3))
        self.assertNotEqual((self.job / "checkpoint-3.safetensors").read_bytes(), contents[0])

    def test_layout_of_batches_changes_nothing(self):
        contents = []
        for layout in ("channels_first", "channels_last"):
            self.expect_done(self.train("--data-format", layout, steps=2))
            contents.append(numbers_of(self.job / "checkpoint-2.safetensors"))
            shutil.rmtree(self.job)
        self.assertEqual(contents[0], contents[1])

    def test_booleans_mean_what_they_say(self):
        contents = {}
        for word in ("True", "true", "1", "False", "false", "0"):
            self.expect_done(self.train("--use-distortion-for-training", word, steps=1))
            contents[word] = (self.job / "checkpoint-1.safetensors").read_bytes()
            shutil.rmtree(self.job)
        self.assertEqual(contents["True"], contents["true"])
        self.assertEqual(contents["True"], contents["1"])
        self.assertEqual(contents["False"], contents["false"])
        self.assertEqual(contents["False"], contents["0"])
        self.assertNotEqual(contents["True"], contents["False"])

    def test_training_stops_where_asked_to_at_a_loss_that_is_no_number(self):
        result = self.train("--learning-rate", 1e6, "--stop-on-nan", "true", steps=50)
        self.expect_done(result)
        self.assertIn("the loss is not finite at step", result.stderr)
        self.assertIn("eval accuracy", result.stdout)

    def test_towers(self):
        result = self.train("--num-gpus", 2, "--log-device-placement", "true", steps=2)
        self.expect_done(result)
        self.assertIn("2 towers", result.stderr)
        # For example one operation and one variable.
        self.assertRegex(result.stderr, r" conv: 2 towers")
        self.assertRegex(result.stderr, r" conv/weights: 2 towers")

    def test_a_gpu_is_the_default_where_there_is_one(self):
        for extra, words in (((), "device auto: (cuda|cpu, because .+)"),
                             (("--num-gpus", 0), r"parameters, on cpu, \d+ threads")):
            # The flags of a plain run: without --device cpu, which all tests pass.
            command = [word for word in self.arguments(*extra, steps=1)
                       if word not in ("--device", "cpu")]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            self.expect_done(result)
            self.assertRegex(result.stderr, words)
            shutil.rmtree(self.job)
        self.assertNotIn("device auto", result.stderr, "0 GPUs: none is looked for")

    def test_a_device_that_is_not_there(self):
        result = self.train("--device", "cuda")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "without the CUDA backend|no GPU|driver")

    def test_only_a_gpu_has_other_precisions_than_fp32(self):
        for device in ("cpu", "reference"):
            for precision in ("tf32", "bf16", "fp16"):
                self.expect_failure(
                    self.train("--device", device, "--precision", precision), 2,
                    f"{precision} needs --device cuda: --device {device} supports fp32 only")
        self.expect_failure(self.train("--device", "cuda", "--precision", "fp64"), 2,
                            "--precision")
        self.assertFalse(self.job.exists())
        self.expect_done(self.train("--precision", "fp32", steps=1))
        result = self.train("--device", "auto", "--precision", "bf16", steps=1)
        if result.returncode == 0:
            self.assertRegex(result.stderr, "device auto: cuda.* bf16")
        else:
            self.expect_failure(result, 1, "only a GPU computes in bf16: ")

    def test_gradients_are_clipped(self):
        contents = []
        for flags in ((), ("--clip-global-norm", 1e-3), ("--clip-gradient-norm", 1e-3)):
            self.expect_done(self.train(*flags, steps=2))
            contents.append((self.job / "checkpoint-2.safetensors").read_bytes())
            shutil.rmtree(self.job)
        self.assertEqual(len(set(contents)), 3)

    def test_more_gpus_than_there_are(self):
        for flags in ((), ("--variable-strategy", "GPU"), ("--variable-strategy", "CPU")):
            result = self.train("--device", "cuda", "--num-gpus", 32, "--train-batch-size", 32,
                                *flags)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, "without the CUDA backend|no GPU|driver")
        result = self.train("--device", "auto", "--num-gpus", 32, "--train-batch-size", 32,
                            "--variable-strategy", "CPU", steps=1)
        self.expect_done(result)
        self.assertIn("device auto: cpu, because", result.stderr)
        self.assertIn("32 towers", result.stderr)

    def test_numbers_that_grow_without_bound(self):
        result = self.train("--learning-rate", 1e6, "--checkpoint-steps", 1, steps=50)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, "the loss is not finite at step|not saved: .* not finite")
        self.assertEqual(result.stdout, "")

    def test_minutes_choose_the_steps(self):
        result = self.train("--minutes", 0.005, "--learning-rate-schedule", "cosine",
                            "--warmup-steps", 2)
        self.expect_done(result)
        steps = re.search(r"training to step ([0-9]+); --train-steps \1 repeats this run",
                          result.stderr).group(1)
        content = (self.job / f"checkpoint-{steps}.safetensors").read_bytes()
        shutil.rmtree(self.job)
        self.expect_done(self.train("--learning-rate-schedule", "cosine", "--warmup-steps", 2,
                                    steps=int(steps)))
        self.assertEqual((self.job / f"checkpoint-{steps}.safetensors").read_bytes(), content)

    def test_reference_device(self):
        self.expect_done(self.train("--device", "reference", "--train-batch-size", 2, steps=1))
        self.assertEqual(self.checkpoints(), ["checkpoint-0.safetensors", "checkpoint-1.safetensors"])


if __name__ == "__main__":
    unittest.main()
