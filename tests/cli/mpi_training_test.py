#!/usr/bin/env python3
"""Tests the results of training in several processes started by mpirun. (cifar10_sync_test.py tests
how such runs end.)

Run by CTest. Environment: RECORDPIPE_MPIRUN, empty in a build without MPI;
RECORDPIPE_MPI_TRAINING_TEST, the program.
"""
import os
import subprocess
import unittest

import mpirun

TEST = os.environ["RECORDPIPE_MPI_TRAINING_TEST"]


class Training(unittest.TestCase):
    """Each process runs all tests of mpi_training_test.cc."""

    def setUp(self):
        mpirun.skip_without_mpi(self)

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
