#!/usr/bin/env python3
"""cifar10_main as its users meet it: flags, log lines, checkpoints, resuming, signals, exit codes.

Run by CTest. Environment: RECORDPIPE_GENERATE and RECORDPIPE_CIFAR10_MAIN, the programs.
"""
import json
import os
import pathlib
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import small_archives
from safetensors_file import header_of, numbers_of

GENERATE = os.environ["RECORDPIPE_GENERATE"]
PROGRAM = os.environ["RECORDPIPE_CIFAR10_MAIN"]
ROWS = 24  # in each of the six batches: 96 images to train on, 24 to evaluate


def setUpModule():
    global ROOT, DATA
    ROOT = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
    DATA = small_archives.convert_in(ROOT, GENERATE, ROWS)


def tearDownModule():
    shutil.rmtree(ROOT)


class Cifar10MainTest(unittest.TestCase):
    def setUp(self):
        self.job = pathlib.Path(tempfile.mkdtemp(dir=ROOT)) / "job"

    def arguments(self, *extra, data=None, steps=4):
        stop = [] if "--minutes" in extra else ["--train-steps", str(steps)]
        return [PROGRAM, "--data-dir", str(data or DATA), "--job-dir", str(self.job),
                "--num-layers", "8", "--train-batch-size", "16", "--eval-batch-size", "10",
                "--log-frequency", "2", *stop, *map(str, extra)]

    def train(self, *extra, **options):
        return subprocess.run(self.arguments(*extra, **options), capture_output=True, text=True,
                              timeout=120, check=False)

    def expect_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)

    def expect_failure(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def checkpoints(self):
        return sorted(path.name for path in self.job.glob("*.safetensors"))

    def plan(self, step):
        """The operators of the input pipeline, as a checkpoint names them. (One process's share is
        all.)"""
        content = (self.job / f"checkpoint-{step}.safetensors").read_bytes()
        text = re.search(rb"tfrecord_files(?:[ -~]+\n)+", content).group().decode()
        return [line for line in text.splitlines() if not line.startswith("shard(")]


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
                            (["--variable-strategy", "GPU"], "GPU needs --device cuda"),
                            (["--variable-strategy", "cpu"], "--variable-strategy"),
                            (["--data-format", "nchw"], "--data-format"),
                            (["--learning-rate-schedule", "linear"], "--learning-rate-schedule"),
                            (["--learning-rate", "0"], "--learning-rate"),
                            (["--train-batch-size", "0"], "--train-batch-size"),
                            (["--no-such-flag"], "--no-such-flag")):
            with self.subTest(extra):
                self.expect_failure(self.train(*extra), 2, word)
        both = [PROGRAM, "--data-dir", DATA, "--job-dir", self.job, "--minutes", "1",
                "--train-steps", "3"]
        self.assertEqual(subprocess.run(both, capture_output=True, check=False).returncode, 2)
        self.assertEqual(subprocess.run([PROGRAM], capture_output=True, check=False).returncode, 2)
        self.assertFalse(self.job.exists())

    def test_help_and_version(self):
        text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
        # CLI11's versions put the default behind = or in brackets.
        self.assertRegex(text, r"--data-format channels_first\|channels_last.{1,2}channels_last")
        self.assertRegex(text, r"--use-distortion-for-training true\|false.{1,2}true")
        text = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
        self.assertRegex(text.stdout, r"^cifar10_main \d+\.\d+\.\d+\n$")

    def test_defaults_are_the_tutorials(self):
        text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
        for flag, default in (("--num-layers N", "44"), ("--train-steps N", "80000"),
                              ("--train-batch-size N", "128"), ("--eval-batch-size N", "100"),
                              ("--momentum N", "0.9"), ("--weight-decay N", "0.0002"),
                              ("--learning-rate N", "0.1"), ("--num-intra-threads N", "0"),
                              ("--num-inter-threads N", "0"), ("--batch-norm-decay N", "0.997"),
                              ("--batch-norm-epsilon N", "1e-05"),
                              ("--learning-rate-schedule .*", "piecewise")):
            # CLI11's versions put the default behind = or in brackets.
            self.assertRegex(text, rf"{flag}.{{1,2}}{re.escape(default)}[\s\]]")
        for flag in ("--data-dir", "--job-dir"):
            self.assertRegex(text, rf"{flag} TEXT REQUIRED")

    def test_missing_data(self):
        result = self.train(data=ROOT / "nowhere")
        self.expect_failure(result, 1, "nowhere", "run generate_cifar10_tfrecords")
        self.assertEqual(len(result.stderr.strip().splitlines()), 1)

    def test_batch_larger_than_the_data(self):
        for size in (97, 1_000_000):
            self.expect_failure(self.train("--train-batch-size", size), 1,
                                f"96 training images don't fill a batch of {size}")
        self.assertFalse(self.job.exists())

    def test_no_records(self):
        for split, words in (("train", "0 training images"), ("eval", "no images to evaluate on")):
            data = ROOT / f"no-{split}"
            shutil.copytree(DATA, data)
            (data / f"{split}.tfrecords").write_bytes(b"")
            self.expect_failure(self.train(data=data), 1, words)
        self.assertFalse(self.job.exists())

    def test_damaged_data(self):
        data = ROOT / "damaged"
        shutil.copytree(DATA, data)
        train = data / "train.tfrecords"
        content = bytearray(train.read_bytes())
        content[len(content) // 2] ^= 1
        train.write_bytes(content)
        self.expect_failure(self.train(data=data, steps=50), 1, str(train))


class Training(Cifar10MainTest):
    def test_log_checkpoint_and_result(self):
        result = self.train()
        self.expect_done(result)
        lines = result.stderr.splitlines()
        number = r"[0-9.e+-]+"
        logged = [line for line in lines if re.search(
            rf"learning_rate = {number}, loss = {number}, accuracy = {number} \({number} sec\)$",
            line)]
        speeds = [line for line in lines if re.search(
            rf"Average examples/sec: {number} \({number}\), step = [24] of 4, "
            rf"input wait {number}%, 0:0\d left$", line)]
        self.assertEqual((len(logged), len(speeds)), (2, 2), result.stderr)
        # The start's, too.
        self.assertEqual(self.checkpoints(), ["checkpoint-0.safetensors", "checkpoint-4.safetensors"])
        first, last = result.stdout.splitlines()
        self.assertEqual(first, f"checkpoint {self.job}/checkpoint-4.safetensors")
        accuracy, correct = re.fullmatch(
            r"eval accuracy ([0-9.]+)% \(([0-9]+)/24\) at step 4", last).groups()
        self.assertAlmostEqual(float(accuracy), 100 * int(correct) / 24, places=2)

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

    def test_resumes(self):
        self.expect_done(self.train("--checkpoint-steps", 2, "--keep-checkpoints", 2, steps=5))
        self.assertEqual(self.checkpoints(), ["checkpoint-4.safetensors", "checkpoint-5.safetensors"])
        result = self.train(steps=7)
        self.expect_done(result)
        self.assertIn(f"resumed from {self.job}/checkpoint-5.safetensors at step 5", result.stderr)
        self.assertIn("at step 7", result.stdout)

        newest = self.job / "checkpoint-7.safetensors"
        newest.write_bytes(newest.read_bytes()[:-1])
        result = self.train(steps=7)
        self.expect_done(result)
        self.assertIn(f"skipped: {newest}", result.stderr)
        self.assertIn(f"resumed from {self.job}/checkpoint-5.safetensors at step 5", result.stderr)

    def test_settings_that_change_are_said(self):
        self.expect_done(self.train(steps=2))
        result = self.train("--learning-rate", 0.05, steps=3)
        self.expect_done(result)
        self.assertIn("learning_rate was 0.1, is 0.05 from here on", result.stderr)
        self.assertNotIn("the data start anew", result.stderr)
        result = self.train("--train-batch-size", 8, steps=4)
        self.expect_done(result)
        self.assertIn("batch_size was 16, is 8 from here on", result.stderr)
        self.assertIn("the data start anew", result.stderr)

    def test_resumed_run_has_the_numbers_of_an_unbroken_one(self):
        flags = ("--checkpoint-steps", 3, "--moving-average-decay", 0.99, "--keep-checkpoints", 50)
        self.expect_done(self.train(*flags, steps=9))
        unbroken = numbers_of(self.job / "checkpoint-9.safetensors")
        self.assertIn("conv/weights/ExponentialMovingAverage", unbroken)
        shutil.rmtree(self.job)
        for steps in (2, 3, 7, 9):
            self.expect_done(self.train(*flags, steps=steps))
        self.assertEqual(numbers_of(self.job / "checkpoint-9.safetensors"), unbroken)

    def test_best_on_the_validation_split_is_kept(self):
        result = self.train("--validation-steps", 2, steps=5)
        self.expect_done(result)
        self.assertRegex(result.stderr, r"validation accuracy [0-9.]+% \([0-9]+/24\), loss = "
                                        r"[0-9.]+ at step 2, the best so far")
        self.assertIn(" at step 5", result.stderr)
        metadata = header_of(self.job / "best.safetensors")["__metadata__"]
        self.assertIn(metadata["step"], ("2", "4", "5"))
        self.assertIn("validation_accuracy", metadata)

    def test_training_stops_where_asked_to_at_a_loss_that_is_no_number(self):
        result = self.train("--learning-rate", 1e6, "--stop-on-nan", "true", steps=50)
        self.expect_done(result)
        self.assertIn("the loss is not a number at step", result.stderr)
        self.assertIn("eval accuracy", result.stdout)

    def test_event_files_timelines_and_report(self):
        report = self.job.parent / "report.html"
        result = self.train("--summary-steps", 2, "--profile-steps", 2, "--report", report,
                            "--validation-steps", 2, steps=5)
        self.expect_done(result)
        events = list(self.job.glob("events.out.tfevents.*"))
        self.assertEqual(len(events), 1)
        content = events[0].read_bytes()
        for tag in (b"brain.Event:2", b"learning_rate", b"conv/weights", b"input/image/0",
                    b"global_step/sec"):
            self.assertIn(tag, content)
        json.loads(next(self.job.glob("timeline-*.json")).read_text())
        page = report.read_text()
        for word in ("ResNet-8 on CIFAR-10", "airplane", "batch_size"):
            self.assertIn(word, page)

    def test_event_files_that_cannot_be_written_end_no_training(self):
        """A limit that each checkpoint keeps, and an event file soon doesn't."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

        arguments = self.arguments("--summary-steps", 1, "--checkpoint-steps", 1, steps=60)
        result = subprocess.run(arguments, capture_output=True, text=True, timeout=120,
                                check=False, preexec_fn=limit, restore_signals=False)
        self.expect_done(result)
        self.assertIn("not logged: ", result.stderr)
        self.assertNotIn("no checkpoint", result.stderr)
        self.assertIn("checkpoint-60.safetensors", self.checkpoints())

    def test_model_analysis(self):
        result = subprocess.run([PROGRAM, "--data-dir", "nowhere", "--job-dir", self.job,
                                 "--num-layers", "44", "--analyze-model", "json"],
                                capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(result.stdout)["totals"]["parameters"], 658651)
        self.assertFalse(self.job.exists())

    def test_device_placement(self):
        result = self.train("--log-device-placement", "true", steps=1)
        self.expect_done(result)
        self.assertRegex(result.stderr, r"stage1/block0/conv1: cpu, \d+ threads")
        self.assertRegex(result.stderr, r"dense/weights: cpu, \d+ threads")

    def test_towers(self):
        result = self.train("--num-gpus", 2, "--log-device-placement", "true", steps=2)
        self.expect_done(result)
        self.assertIn("2 towers", result.stderr)
        # Of an operation and of a variable.
        self.assertRegex(result.stderr, r" conv: 2 towers")
        self.assertRegex(result.stderr, r" conv/weights: 2 towers")

    def test_a_device_that_is_not_there(self):
        result = self.train("--device", "cuda")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "without the CUDA backend|no GPU|driver")

    def test_only_a_gpu_has_other_precisions_than_fp32(self):
        for device in ("cpu", "reference"):
            for precision in ("tf32", "bf16", "fp16"):
                self.expect_failure(
                    self.train("--device", device, "--precision", precision), 2,
                    f"{precision} needs --device cuda: --device {device} has fp32 only")
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
            result = self.train("--device", "cuda", "--num-gpus", 64, "--train-batch-size", 64,
                                *flags)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, "without the CUDA backend|no GPU|driver")
        result = self.train("--device", "auto", "--num-gpus", 64, "--train-batch-size", 64,
                            "--variable-strategy", "CPU", steps=1)
        self.expect_done(result)
        self.assertIn("device auto: cpu, because", result.stderr)
        self.assertIn("64 towers", result.stderr)

    def test_nothing_left_to_train(self):
        self.expect_done(self.train(steps=2))
        printed = set()
        for batch_size in (1, 7, 24, 1_000_000):  # each image counts once, whatever it is
            result = self.train("--eval-batch-size", batch_size, steps=2)
            self.expect_done(result)
            self.assertNotIn("learning_rate", result.stderr)
            printed.add(result.stdout)
        self.assertEqual(len(printed), 1)
        self.assertRegex(printed.pop(), r"/24\) at step 2\n$")

    def test_numbers_that_grow_without_bound(self):
        result = self.train("--learning-rate", 1e6, "--checkpoint-steps", 1, steps=50)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, "the loss is not a number at step|not saved: .* has grown")
        self.assertEqual(result.stdout, "")

    def test_refuses_another_networks_checkpoint(self):
        self.expect_done(self.train(steps=1))
        self.expect_failure(self.train("--num-layers", 14), 1, "another network's checkpoint")
        self.assertEqual(self.checkpoints(), ["checkpoint-0.safetensors", "checkpoint-1.safetensors"])

    def test_minutes_choose_the_steps(self):
        result = self.train("--minutes", 0.02, "--learning-rate-schedule", "cosine",
                            "--warmup-steps", 2)
        self.expect_done(result)
        steps = re.search(r"training to step ([0-9]+); --train-steps \1 repeats this run",
                          result.stderr).group(1)
        content = (self.job / f"checkpoint-{steps}.safetensors").read_bytes()
        shutil.rmtree(self.job)
        self.expect_done(self.train("--learning-rate-schedule", "cosine", "--warmup-steps", 2,
                                    steps=int(steps)))
        self.assertEqual((self.job / f"checkpoint-{steps}.safetensors").read_bytes(), content)

    def test_minutes_more_after_resuming(self):
        self.expect_done(self.train(steps=3))
        result = self.train("--minutes", 0.01)
        self.expect_done(result)
        self.assertEqual(result.stderr.count("resumed from"), 1)
        self.assertGreater(int(re.search(r"training to step ([0-9]+)", result.stderr).group(1)), 3)

    def test_reference_device(self):
        self.expect_done(self.train("--device", "reference", "--train-batch-size", 2, steps=1))
        self.assertEqual(self.checkpoints(), ["checkpoint-0.safetensors", "checkpoint-1.safetensors"])

    def test_synthetic_data_is_called_so(self):
        data = ROOT / "synthetic"
        shutil.copytree(DATA, data)
        (data / "synthetic.txt").write_text("drawn by program\n")
        result = self.train("--minutes", 0.02, data=data)
        self.expect_done(result)
        self.assertRegex(result.stderr, r"[0-9.]+ ms a step on synthetic data: training to step ")
        self.assertRegex(result.stdout.splitlines()[-1], "^synthetic eval accuracy ")
        for line in result.stderr.splitlines():
            if "loss" in line or "examples/sec" in line:
                self.assertTrue(line.endswith(", synthetic data"), line)

    def test_terminal_gets_a_status_line(self):
        parent, child = pty.openpty()
        with subprocess.Popen(self.arguments(), stdout=subprocess.PIPE, stderr=child) as process:
            os.close(child)
            shown = b""
            while True:
                try:
                    part = os.read(parent, 4096)
                except OSError:
                    break
                if not part:
                    break
                shown += part
            process.communicate()
        os.close(parent)
        self.assertEqual(process.returncode, 0)
        self.assertRegex(shown.decode(), r"\r\x1b\[\?7lstep 4/4  loss .* accuracy .*images/s .* 0:00 left")
        self.assertNotIn("Average examples/sec", shown.decode())


class Killed(Cifar10MainTest):
    """Runs that are killed at random moments and started again until they end have the weights, bit
    for bit, of one that never was."""
    RUNS = 20

    def test_killed_at_random_moments(self):
        flags = ("--checkpoint-steps", 5, "--keep-checkpoints", 2, "--moving-average-decay", 0.99,
                 "--num-intra-threads", 2)
        self.expect_done(self.train(*flags, steps=60))
        unbroken = numbers_of(self.job / "checkpoint-60.safetensors")
        random_moments = random.Random(20)
        kills = 0
        for run in range(self.RUNS):
            shutil.rmtree(self.job)
            for attempt in range(100):
                process = subprocess.Popen(self.arguments(*flags, steps=60),
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                try:
                    # Later and later, so that it comes to its end.
                    err = process.communicate(timeout=random_moments.uniform(0, 0.2 + 0.1 * attempt))
                    self.assertEqual(process.returncode, 0, err)
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    kills += 1
            else:
                self.fail("it never ended")
            self.assertEqual(numbers_of(self.job / "checkpoint-60.safetensors"), unbroken,
                             f"run {run}")
        self.assertGreater(kills, self.RUNS)


class Signals(Cifar10MainTest):
    def start(self, *extra):
        process = subprocess.Popen(self.arguments("--log-frequency", 1, *extra, steps=100_000),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    @staticmethod
    def wait_for(process, word):
        for line in process.stderr:
            if word in line:
                return

    def test_interrupted(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number), self.start() as process:
                self.wait_for(process, "step = ")
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, code, err)
                self.assertEqual(out, "")
                step = int(re.search(r"interrupted at step (\d+) of 100000", err).group(1))
                self.assertIn(f"checkpoint-{step}.safetensors", self.checkpoints())
        result = self.train(steps=step + 1)
        self.expect_done(result)
        self.assertIn(f"at step {step}", result.stderr)

    def test_interrupted_while_evaluating(self):
        process = subprocess.Popen(
            self.arguments("--device", "reference", "--num-layers", 44, "--eval-batch-size", 1,
                           steps=0),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        with process:
            self.wait_for(process, "ResNet of 44 layers")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertIn("the evaluation was interrupted", err)

    def test_killed_then_resumed(self):
        with self.start("--checkpoint-steps", 1) as process:
            self.wait_for(process, "saved")
            time.sleep(0.2)
            process.kill()
        steps = [int(re.findall(r"\d+", name)[0]) for name in self.checkpoints()]
        result = self.train(steps=max(steps) + 1)
        self.expect_done(result)
        self.assertIn(f"at step {max(steps)}", result.stderr)

    def test_one_run_at_a_time(self):
        with self.start() as process:
            self.wait_for(process, "step = ")
            self.expect_failure(self.train(), 1, "locked by another process")
            process.kill()


if __name__ == "__main__":
    unittest.main()
