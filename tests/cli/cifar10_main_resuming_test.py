#!/usr/bin/env python3
"""Tests that cifar10_main resumes a run that was stopped, interrupted or killed, even with other
settings.

Run by CTest. Environment: see cifar10_main_case.py.
"""
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from cifar10_main_case import AIRBENCH, Cifar10MainTest
from safetensors_file import header_of
from started import AS_STARTED_BY_USERS, Started


class Resuming(Cifar10MainTest):
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
        self.assertIn("learning_rate was 0.1 and is now 0.05", result.stderr)
        # These change on a GPU only.
        with open(self.job / "checkpoint-3.safetensors", "rb") as checkpoint:
            metadata = checkpoint.read(20000)
        for setting in (b'"setting:precision":"fp32"', b'"setting:measure_algorithms":"false"'):
            self.assertIn(setting, metadata)
        self.assertNotIn("the input starts over", result.stderr)
        result = self.train("--train-batch-size", 8, steps=4)
        self.expect_done(result)
        self.assertIn("batch_size was 16 and is now 8", result.stderr)
        self.assertIn("the input starts over", result.stderr)

    def test_each_setting_that_changes_what_is_learned_is_said(self):
        before = ("--learning-rate-schedule", "cosine")
        self.expect_done(self.train(*before, steps=2))
        result = self.train(*before, "--warmup-steps", 1, "--batch-norm-decay", 0.9,
                            "--batch-norm-epsilon", 0.001, "--check-numerics", "true",
                            "--num-gpus", 2, "--sync-batch-norm", "true", "--cutout", 4, steps=3)
        self.expect_done(result)
        for words in ("cutout was 0 and is now 4", "warmup_steps was 0 and is now 1",
                      "batch_norm_decay was 0.997 and is now 0.9",
                      "batch_norm_epsilon was 1e-05 and is now 0.001",
                      "check_numerics was false and is now true", "last_step was 2 and is now 3",
                      "num_gpus was 1 and is now 2", "sync_batch_norm was false and is now true"):
            self.assertIn(words, result.stderr)
        # More steps don't change a piecewise schedule.
        shutil.rmtree(self.job)
        self.expect_done(self.train(steps=2))
        self.assertNotIn("and is now", self.train(steps=3).stderr)

    def test_resumed_run_has_the_bytes_of_an_unbroken_one(self):
        flags = ("--checkpoint-steps", 3, "--moving-average-decay", 0.99, "--keep-checkpoints", 50)
        self.expect_done(self.train(*flags, steps=9))
        unbroken = (self.job / "checkpoint-9.safetensors").read_bytes()
        self.assertIn(b"conv/weights/ExponentialMovingAverage", unbroken)
        shutil.rmtree(self.job)
        for steps in (2, 3, 7, 9):
            self.expect_done(self.train(*flags, steps=steps))
        self.assertEqual((self.job / "checkpoint-9.safetensors").read_bytes(), unbroken)

    def test_resumed_run_of_airbench_has_the_bytes_of_an_unbroken_one(self):
        flags = (*AIRBENCH, "--checkpoint-steps", 3, "--keep-checkpoints", 50)
        self.expect_done(self.train(*flags, steps=13))  # more than two epochs
        unbroken = (self.job / "checkpoint-13.safetensors").read_bytes()
        shutil.rmtree(self.job)
        # The schedule and lookahead depend on the last step: the run is stopped, not shortened.
        for step in ("3", "5", "9"):
            with Started(self.arguments(*flags, "--log-frequency", 1, steps=13),
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
                for line in process.stderr:
                    if f"step = {step}, " in line or f"step = {step} " in line:
                        process.send_signal(signal.SIGTERM)
                        break
                process.stderr.read()
        self.expect_done(self.train(*flags, steps=13))
        self.assertEqual((self.job / "checkpoint-13.safetensors").read_bytes(), unbroken)

    def test_averages_that_are_switched_off_are_forgotten(self):
        self.expect_done(self.train("--moving-average-decay", 0.9, steps=3))
        average = "conv/weights/ExponentialMovingAverage"
        self.expect_done(self.train("--moving-average-decay", 0, steps=5))
        self.assertNotIn(average, header_of(self.job / "checkpoint-5.safetensors"))
        self.expect_done(self.train("--moving-average-decay", 0.9, steps=6))
        self.assertIn(average, header_of(self.job / "checkpoint-6.safetensors"))

    def test_best_on_the_validation_split_is_kept(self):
        result = self.train("--validation-steps", 2, steps=5)
        self.expect_done(result)
        self.assertRegex(result.stderr, r"validation accuracy [0-9.]+% \([0-9]+/24\), loss = "
                                        r"[0-9.]+ at step 2, the best so far")
        self.assertIn(" at step 5", result.stderr)
        metadata = header_of(self.job / "best.safetensors")["__metadata__"]
        self.assertIn(metadata["step"], ("2", "4", "5"))
        self.assertIn("validation_accuracy", metadata)

    def test_nothing_left_to_train(self):
        self.expect_done(self.train(steps=2))
        printed = set()
        for batch_size in (1, 7, 24, 1_000_000):  # each image counts once, for any batch size
            result = self.train("--eval-batch-size", batch_size, steps=2)
            self.expect_done(result)
            self.assertNotIn("learning_rate", result.stderr)
            printed.add(result.stdout)
        self.assertEqual(len(printed), 1)
        self.assertRegex(printed.pop(), r"/24\) at step 2\n$")

    def test_fewer_checkpoints_to_keep(self):
        """A run that only evaluates removes none of them, and says what the next one will do."""
        many = ("--checkpoint-steps", 1, "--keep-checkpoints", 100)
        self.expect_done(self.train(*many, steps=8))
        result = self.train(steps=8)
        self.expect_done(result)
        self.assertIn("holds 9 checkpoints: the next save removes all but the newest 5", result.stderr)
        self.assertEqual(len(self.checkpoints()), 9)
        # The evaluation of step 8 is new. Its result is saved at once.
        result = self.train("--validation-steps", 4, steps=8)
        self.expect_done(result)
        self.assertRegex(result.stderr, r"(?s)holds 9 checkpoints: .* saved \S+checkpoint-8\.")
        self.assertEqual(self.checkpoints(), ["best.safetensors", *(
            f"checkpoint-{step}.safetensors" for step in range(4, 9))])

    def test_refuses_another_networks_checkpoint(self):
        self.expect_done(self.train(steps=1))
        self.expect_failure(self.train("--num-layers", 14), 1, "the checkpoint of another network")
        self.assertEqual(self.checkpoints(), ["checkpoint-0.safetensors", "checkpoint-1.safetensors"])

    def test_minutes_more_after_resuming(self):
        self.expect_done(self.train(steps=3))
        result = self.train("--minutes", 0.005)
        self.expect_done(result)
        self.assertEqual(result.stderr.count("resumed from"), 1)
        self.assertGreater(int(re.search(r"training to step ([0-9]+)", result.stderr).group(1)), 3)


class Killed(Cifar10MainTest):
    """Runs that are killed at random moments and restarted until they end leave the same
    checkpoint, byte for byte, as an uninterrupted run.

    A moment is a random line of the log and a random time after it, so that it hardly depends on
    the machine's load. Most lines come just before a checkpoint is saved, in which a kill may do
    harm."""
    RUNS = 7  # of each recipe
    LINES = 16  # at most before a kill; a run without a kill prints 21

    def test_killed_at_random_moments(self):
        self.kill_runs("--moving-average-decay", 0.99)

    def test_airbench_killed_at_random_moments(self):
        self.kill_runs(*AIRBENCH)

    def test_lookahead_killed_at_random_moments(self):
        self.kill_runs(*AIRBENCH, "--recipe", "airbench-sgd")

    def kill_runs(self, *flags):
        command = self.arguments("--checkpoint-steps", 2, "--keep-checkpoints", 2,
                                 "--train-batch-size", 4, *flags, steps=12)
        with self.start(command) as process:
            process.stderr.readline()
            start = time.monotonic()
            lines = len(process.stderr.readlines())
            between_lines = (time.monotonic() - start) / lines
        self.assertEqual(process.returncode, 0)
        self.assertGreater(lines, self.LINES)
        unbroken = (self.job / "checkpoint-12.safetensors").read_bytes()
        random_moments = random.Random(20)
        kills = 0
        for run in range(self.RUNS):
            shutil.rmtree(self.job)
            while self.is_killed(command, random_moments.randint(1, self.LINES),
                                 random_moments.uniform(0, between_lines)):
                kills += 1
                self.assertLess(kills, 100 * self.RUNS, "it never ends")
            self.assertEqual((self.job / "checkpoint-12.safetensors").read_bytes(), unbroken,
                             f"run {run}")
        self.assertGreater(kills, self.RUNS)

    @staticmethod
    def start(command):
        return Started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def is_killed(self, command, lines, seconds):
        """Starts the program, and kills it some time after so many lines, unless it ends before."""
        with self.start(command) as process:
            printed = b"".join(process.stderr.readline() for _ in range(lines))
            try:
                process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                return True
            self.assertEqual(process.returncode, 0, printed + process.stderr.read())
            return False


class Signals(Cifar10MainTest):
    def start(self, *extra, **options):
        return Started(
            self.arguments("--log-frequency", 1, *extra, steps=100_000), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **options,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))

    @staticmethod
    def wait_for(process, word):
        for line in process.stderr:
            if word in line:
                return

    def test_interrupted(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(number), self.start(env=AS_STARTED_BY_USERS) as process:
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

    def test_ignored_signals_stay_ignored(self):
        def ignore():
            for number in (signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)

        with Started(self.arguments("--log-frequency", 1, steps=40),
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                     preexec_fn=ignore) as process:
            self.wait_for(process, "step = ")
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGHUP)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("checkpoint-40.safetensors", self.checkpoints())

    def test_a_signal_that_comes_twice_is_one(self):
        """timeout(1) sends it to its child, and a moment later to the process group."""
        with self.start("--checkpoint-steps", 100_000) as process:
            self.wait_for(process, "step = ")
            for _ in range(3):
                process.send_signal(signal.SIGTERM)
                time.sleep(0.005)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertEqual(len(self.checkpoints()), 2, err)

    def test_second_signal_ends_it_at_once(self):
        with Started(
            self.arguments("--device", "reference", "--num-layers", 44, "--train-batch-size", 96),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.wait_for(process, "checkpoint-0.safetensors")  # a step of half a minute follows
            process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            self.assertIsNone(process.poll())
            # The program may have taken the first one late: one of these comes half a second later.
            for _ in range(100):
                if process.poll() is not None:
                    break
                process.send_signal(signal.SIGTERM)
                time.sleep(0.3)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertTrue(err.endswith("interrupted\n"), err)
        self.assertEqual(self.checkpoints(), ["checkpoint-0.safetensors"])

    def test_a_stop_that_takes_longer_than_its_grace_period(self):
        with Started(
            self.arguments("--device", "reference", "--num-layers", 44, "--train-batch-size", 96,
                           "--stop-grace-period-secs", 1),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.wait_for(process, "checkpoint-0.safetensors")  # a step of half a minute follows
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertTrue(err.endswith("interrupted\n"), err)
        self.assertEqual(self.checkpoints(), ["checkpoint-0.safetensors"])

    def test_interrupted_while_evaluating(self):
        """A run that made no step keeps the report of the run before."""
        report = self.job.parent / "report.html"
        report.write_text("of a complete run")
        with Started(
            self.arguments("--device", "reference", "--num-layers", 44, "--eval-batch-size", 1,
                           "--report", report, steps=0),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.wait_for(process, "ResNet of 44 layers")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertIn("the evaluation was interrupted; run it again for the accuracy", err)
        self.assertEqual(report.read_text(), "of a complete run")

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
