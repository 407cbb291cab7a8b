"""Starts several processes. Environment: RECORDPIPE_MPIRUN, empty in a build without MPI."""
import os
import subprocess

MPIRUN = os.environ["RECORDPIPE_MPIRUN"]
# Tests can't require a core for each process, or access to another process's memory.
OPTIONS = ["--oversubscribe", "--allow-run-as-root", "--bind-to", "none",
           "--mca", "btl_vader_single_copy_mechanism", "none"]
# By default, mpirun waits a second between the SIGTERM and the SIGKILL with which it ends the other
# processes of one that failed.
IMPATIENT = ["--mca", "odls_base_sigkill_timeout", "0"]
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")


def skip_without_mpi(test):
    if not MPIRUN:
        test.skipTest("built without MPI (packages libopenmpi-dev, openmpi-bin)")


def command(processes, *arguments):
    return [MPIRUN, "-n", str(processes), *OPTIONS, *map(str, arguments)]


def run_each(*commands, patient=True):
    """Starts one process for each command. Not `patient`: as soon as one fails, the others are
    killed, so that only the output of the first to fail is certain."""
    joined = []
    for number, arguments in enumerate(commands):
        joined += [":"] * (number > 0) + ["-n", "1", *map(str, arguments)]
    options = OPTIONS if patient else OPTIONS + IMPATIENT
    return subprocess.run([MPIRUN, *options, *joined], capture_output=True, text=True,
                          timeout=250, check=False, env=ENVIRONMENT)


def run_in(processes, *arguments):
    return subprocess.run(command(processes, *arguments), capture_output=True, text=True,
                          timeout=250, check=False, env=ENVIRONMENT)
