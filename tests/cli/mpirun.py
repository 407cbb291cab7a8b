"""Starts several processes. Environment: RECORDPIPE_MPIRUN, empty in a build without MPI."""
import os
import subprocess

MPIRUN = os.environ["RECORDPIPE_MPIRUN"]
# Tests can't require a core for each process, or access to another process's memory.
OPTIONS = ["--oversubscribe", "--allow-run-as-root", "--bind-to", "none",
           "--mca", "btl_vader_single_copy_mechanism", "none"]
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")


def skip_without_mpi(test):
    if not MPIRUN:
        test.skipTest("built without MPI (packages libopenmpi-dev, openmpi-bin)")


def command(processes, *arguments):
    return [MPIRUN, "-n", str(processes), *OPTIONS, *map(str, arguments)]


def run_each(*commands):
    """Starts one process for each command."""
    joined = []
    for number, arguments in enumerate(commands):
        joined += [":"] * (number > 0) + ["-n", "1", *map(str, arguments)]
    return subprocess.run([MPIRUN, *OPTIONS, *joined], capture_output=True, text=True, timeout=250,
                          check=False, env=ENVIRONMENT)


def run_in(processes, *arguments):
    return subprocess.run(command(processes, *arguments), capture_output=True, text=True,
                          timeout=250, check=False, env=ENVIRONMENT)
