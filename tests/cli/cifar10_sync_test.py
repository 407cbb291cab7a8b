#!/usr/bin/env python3
"""Tests the training programs in several processes (--sync): results, output files, how runs end.

Run by CTest. Environment: RECORDPIPE_GENERATE; RECORDPIPE_TRAINING_PROGRAMS, the folder of the
programs; RECORDPIPE_MPIRUN, empty in a build without MPI.
"""
import array
import operator
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import mpirun
import safetensors_file
import small_archives

from started import Started

GENERATE = os.environ["RECORDPIPE_GENERATE"]
PROGRAMS = pathlib.Path(os.environ["RECORDPIPE_TRAINING_PROGRAMS"])
ROWS = 24  # in each of the six batches: 120 images to train on, 24 to evaluate


def setUpModule():
    global ROOT, DATA
    ROOT = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
    DATA = small_archives.convert_in(ROOT, GENERATE, ROWS)


def tearDownModule():
    shutil.rmtree(ROOT)


def floats_of(path):
    """Returns the tensors of a checkpoint as arrays of floats."""
    return {name: array.array("f", values)
            for name, values in safetensors_file.numbers_of(path).items()}


class SyncTest(unittest.TestCase):
    def setUp(self):
        self.jobs = pathlib.Path(tempfile.mkdtemp(dir=ROOT))

    def train_command(self, job, batch_size, *flags, steps, program="cifar10_train"):
        return [PROGRAMS / program, "--data_dir", DATA, "--train_dir", self.jobs / job,
                "--batch_size", batch_size, "--max_steps", steps, "--log_frequency", 1,
                "--num_intra_threads", 1, "--device", "cpu", *flags]

    def resnet_command(self, job, batch_size, *flags):
        return [PROGRAMS / "cifar10_main", "--data-dir", DATA, "--job-dir", self.jobs / job,
                "--num-layers", 8, "--train-batch-size", batch_size, "--eval-batch-size", 10,
                "--log-frequency", 1, "--num-intra-threads", 1, "--device", "cpu", *flags]

    def run_alone(self, command):
        return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=120, check=False, env=mpirun.ENVIRONMENT)

    def expect_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)

    def expect_near(self, job, other, step, tolerance):
        """Checks that each tensor is within a tolerance relative to its largest value."""
        name = f"checkpoint-{step}.safetensors"
        expected, got = floats_of(self.jobs / other / name), floats_of(self.jobs / job / name)
        self.assertEqual(expected.keys(), got.keys())
        for tensor, values in expected.items():
            greatest = max(max(values), -min(values))
            error = max(map(abs, map(operator.sub, values, got[tensor])))
            self.assertLessEqual(error, tolerance * greatest, tensor)

    def expect_same(self, job, other, step):
        name = f"checkpoint-{step}.safetensors"
        self.assertEqual(safetensors_file.numbers_of(self.jobs / job / name),
                         safetensors_file.numbers_of(self.jobs / other / name))


class Usage(SyncTest):
    def test_alone(self):
        result = self.run_alone(self.train_command("job", 8, "--sync", steps=1))
        if mpirun.MPIRUN:
            self.expect_done(result)
        else:
            self.assertEqual(result.returncode, 1)
            self.assertIn("built without MPI", result.stderr)

    def test_several_processes_without_the_flag(self):
        mpirun.skip_without_mpi(self)
        for command in (self.train_command("job", 8, steps=1), self.resnet_command("job", 8)):
            result = mpirun.run_in(2, *command)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertEqual(result.stderr.count("mpirun has started 2 processes"), 1)
        self.assertFalse((self.jobs / "job").exists())


    def test_processes_with_different_flags(self):
        mpirun.skip_without_mpi(self)
        for flag, values in (("--train-steps", (6, 4)), ("--learning-rate", (0.1, 0.2)),
                             ("--minutes", (0.01, 0.02)), ("--num-gpus", (1, 2)),
                             ("--sync-batch-norm", ("true", "false"))):
            with self.subTest(flag):
                commands = [self.resnet_command("job", 8, "--sync", flag, value)
                            for value in values]
                result = mpirun.run_each(*commands, patient=False)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("the processes have different settings", result.stderr)

    def test_a_process_that_never_joins(self):
        mpirun.skip_without_mpi(self)
        result = mpirun.run_each(self.resnet_command("job", 8, "--sync", "--train-steps", 1000000),
                                 ["false"])
        self.assertNotEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("cifar10_main", result.stderr)  # it has only waited
        self.assertFalse((self.jobs / "job").exists())


class Training(SyncTest):
    def setUp(self):
        super().setUp()
        mpirun.skip_without_mpi(self)

    def test_several_processes_learn_what_one_does(self):
        self.expect_done(self.run_alone(self.train_command("one", 16, steps=4)))
        for processes in (2, 4):
            job = f"of-{processes}"
            self.expect_done(mpirun.run_in(processes, *self.train_command(
                job, 16 // processes, "--sync", steps=4)))
            self.expect_near(job, "one", 4, 2e-5)

    def test_towers_in_processes(self):
        self.expect_done(self.run_alone(self.train_command("one", 16, steps=3)))
        result = mpirun.run_in(2, *self.train_command(
            "job", 4, "--sync", "--num_gpus", 2, steps=3, program="cifar10_multi_gpu_train"))
        self.expect_done(result)
        self.assertIn("2 processes, each on 2 towers", result.stderr)
        self.expect_near("job", "one", 3, 2e-5)

    def test_resnet_with_statistics_of_all(self):
        # Only one step, because rounding differences grow with each step.
        flags = ("--train-steps", 1)
        self.expect_done(self.run_alone(self.resnet_command("one", 16, *flags)))
        self.expect_done(mpirun.run_in(2, *self.resnet_command(
            "same", 8, "--sync", "--sync-batch-norm", *flags)))
        self.expect_near("same", "one", 1, 1e-4)
        self.expect_done(mpirun.run_in(2, *self.resnet_command("other", 8, "--sync", *flags)))
        with self.assertRaises(AssertionError):
            self.expect_near("other", "one", 1, 1e-2)

    def test_the_first_process_writes_for_all(self):
        report = self.jobs / "report.html"
        result = mpirun.run_in(3, *self.resnet_command(
            "job", 8, "--sync", "--train-steps", 4, "--validation-steps", 2, "--summary-steps", 2,
            "--report", report))
        self.expect_done(result)
        self.assertEqual(len(re.findall("Average examples/sec", result.stderr)), 4)
        self.assertEqual(len(re.findall("ResNet of 8 layers", result.stderr)), 1)
        self.assertEqual(len(re.findall(r"validation accuracy .* at step", result.stderr)), 2)
        first, last = result.stdout.splitlines()
        self.assertEqual(first, f"checkpoint {self.jobs}/job/checkpoint-4.safetensors")
        self.assertRegex(last, r"^eval accuracy [0-9.]+% \([0-9]+/24\) at step 4$")
        self.assertEqual(len(list((self.jobs / "job").glob("events.out.tfevents.*"))), 1)
        self.assertIn("</html>", report.read_text())

    def test_as_long_as_fits(self):
        result = mpirun.run_in(2, *self.resnet_command("job", 8, "--sync", "--minutes", 0.01))
        self.expect_done(result)
        steps = re.search(r"--train-steps (\d+) repeats this run", result.stderr).group(1)
        self.assertIn(f" at step {steps}", result.stdout)

    def test_a_loss_that_is_no_number(self):
        flags = ("--sync", "--learning-rate", 1e6, "--train-steps", 50)
        result = mpirun.run_in(2, *self.resnet_command("job", 8, *flags))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, "the loss is not finite at step|not saved: .* not finite")
        result = mpirun.run_in(2, *self.resnet_command("stop", 8, *flags, "--stop-on-nan", "true"))
        self.expect_done(result)
        self.assertIn("eval accuracy", result.stdout)

    def test_goes_on_with_another_number_of_processes(self):
        self.expect_done(self.run_alone(self.train_command("one", 8, steps=6)))
        for processes, steps in ((2, 2), (4, 4)):
            self.expect_done(mpirun.run_in(processes, *self.train_command(
                "job", 8 // processes, "--sync", steps=steps)))
        result = self.run_alone(self.train_command("job", 8, steps=6))
        self.expect_done(result)
        self.assertNotIn("the input starts over", result.stderr)
        self.expect_near("job", "one", 6, 5e-5)


class Endings(SyncTest):
    """However a run ends, it resumes with the values of an uninterrupted run."""

    def setUp(self):
        super().setUp()
        mpirun.skip_without_mpi(self)

    def end(self, send, *flags):
        """Starts an endless run, and calls send(mpirun's process, {rank: process id}) after some
        steps. Returns the exit status and the output."""
        command = mpirun.command(
            2, *self.resnet_command("job", 8, "--sync", "--checkpoint-steps", 2, *flags))
        with Started(command, stderr=subprocess.PIPE, text=True,
                     env=mpirun.ENVIRONMENT) as process:
            self.addCleanup(process.kill)
            printed = ""
            while printed.count("Average examples/sec") < 3:
                line = process.stderr.readline()
                self.assertTrue(line, printed)
                printed += line
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            ranks = {}
            for child in children.split():
                variables = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
                for variable in variables:
                    if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                        ranks[int(variable.split(b"=")[1])] = int(child)
            send(process, ranks)
            printed += process.stderr.read()
        return process.returncode, printed

    def goes_on(self):
        newest = max(int(path.stem.split("-")[1])
                     for path in (self.jobs / "job").glob("checkpoint-*.safetensors"))
        for job in ("job", "whole"):
            result = mpirun.run_in(2, *self.resnet_command(
                job, 8, "--sync", "--train-steps", newest + 3))
            self.expect_done(result)
        self.expect_same("job", "whole", newest + 3)
        return newest

    def test_sigterm_to_mpirun(self):
        # After SIGTERM, mpirun kills its processes within moments and returns an exit status of its
        # own. It may lose output printed after the signal: only earlier checkpoints are reliable.
        status, _ = self.end(lambda process, _: process.send_signal(signal.SIGTERM))
        self.assertNotEqual(status, 0)
        self.assertGreaterEqual(self.goes_on(), 2)

    def test_sigterm_to_one_process(self):
        report = self.jobs / "report.html"
        status, printed = self.end(lambda _, ranks: os.kill(ranks[1], signal.SIGTERM),
                                   "--report", report)
        self.assertEqual(status, 143, printed)
        self.assertIn("</html>", report.read_text())
        self.assertEqual(len(re.findall("interrupted at step", printed)), 1)
        self.goes_on()

    def test_a_process_that_fails(self):
        """After some steps, at a damaged record of the second process. The first one, which waits
        for it, ends too."""
        damaged = self.jobs / "damaged"
        shutil.copytree(DATA, damaged)
        path = damaged / "train.tfrecords"
        content = bytearray(path.read_bytes())
        content[-100] ^= 1  # in the last record
        path.write_bytes(content)
        flags = ("--sync", "--checkpoint-steps", 1, "--train-steps", 1000000)
        result = mpirun.run_each(self.resnet_command("job", 8, *flags),
                                 self.resnet_command("job", 8, *flags, "--data-dir", damaged))
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, "damaged/train.tfrecords: .*CRC")
        self.assertIn("step = 1 ", result.stderr)
        self.goes_on()

    def test_a_process_that_is_killed(self):
        for rank in (1, 0):
            status, printed = self.end(lambda _, ranks: os.kill(ranks[rank], signal.SIGKILL))
            self.assertNotEqual(status, 0)
            self.assertNotIn("interrupted at step", printed)
        self.goes_on()


if __name__ == "__main__":
    unittest.main()
