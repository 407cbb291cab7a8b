#!/usr/bin/env python3
"""Tests training in several processes started by mpirun: results, and the state after a process
fails.

Run by CTest. Environment: RECORDPIPE_MPIRUN, empty in a build without MPI;
RECORDPIPE_MPI_TRAINING_TEST and RECORDPIPE_MPI_TRAINEE, the programs.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import mpirun

TEST = os.environ["RECORDPIPE_MPI_TRAINING_TEST"]
TRAINEE = os.environ["RECORDPIPE_MPI_TRAINEE"]


class MpiTest(unittest.TestCase):
    def setUp(self):
        mpirun.skip_without_mpi(self)
        folder = tempfile.TemporaryDirectory(prefix="recordpipe-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Training(MpiTest):
    """Each process runs all tests of mpi_training_test.cc."""

    def check(self, processes):
        result = mpirun.run_in(processes, TEST)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for rank in range(processes):
            self.assertIn(f"{rank} of {processes}: exit status 0", result.stdout)

    def test_two_processes(self):
        self.check(2)

    def test_three_processes(self):
        self.check(3)

    def test_four_processes(self):
        self.check(4)

    def test_a_program_that_was_started_by_itself(self):
        result = subprocess.run([TEST], capture_output=True, text=True, timeout=250, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("0 of 1: exit status 0", result.stdout)


class Failures(MpiTest):
    """The other processes end too, and the next run resumes from the last checkpoint."""

    def train(self, processes, job, *failure):
        return mpirun.run_in(processes, TRAINEE, self.folder / job, 9, *failure)

    def check(self, processes, failure, words):
        whole = self.train(processes, "whole")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        failed = self.train(processes, "failed", failure, 6)
        self.assertNotEqual(failed.returncode, 0)
        self.assertRegex(failed.stdout + failed.stderr, words)
        self.assertNotIn("crc", failed.stdout)
        resumed = self.train(processes, "failed")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        # There is a checkpoint of every second step; the checkpoint of step 4 may be incomplete.
        self.assertRegex(resumed.stdout, "starts at step [24]\n")
        crc = re.compile("crc [0-9a-f]{8}")
        self.assertEqual(crc.findall(resumed.stdout), crc.findall(whole.stdout))
        self.assertEqual(len(crc.findall(whole.stdout)), 1)

    def test_a_process_that_is_killed(self):
        self.check(3, "kill", "signal 9")

    def test_a_process_that_throws(self):
        self.check(2, "throw", "made to fail")


if __name__ == "__main__":
    unittest.main(verbosity=2)
