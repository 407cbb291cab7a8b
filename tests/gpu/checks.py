"""What gpu/first_light checks: which tests there are, whether trainings give the same bits, and
which kernels take a step's time."""
import collections
import csv
import io
import json
import shutil
import signal
import struct
import subprocess
import time


def test_names(stage, program, env):
    """Returns the names of a GoogleTest program's tests."""
    _, output = stage.call(program, "--gtest_list_tests", env=env, quiet=True)
    names, suite = [], ""
    for line in output.splitlines():
        if line.startswith("  "):
            names.append(suite + line.split()[0])
        elif line.split("#")[0].strip().endswith("."):
            suite = line.split()[0]
    return names


def tests_with(outcome, output):
    """Returns the names of the tests that a GoogleTest program reports as "OK" or "SKIPPED"."""
    mark = f"[{outcome:>9} ] "
    return [line.removeprefix(mark).split()[0] for line in output.splitlines()
            if line.startswith(mark) and "(" in line]


def tensors_of(path):
    """Returns a checkpoint's tensors, without the input's position, which has several encodings."""
    content = path.read_bytes()
    size, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    return {name: content[8 + size:][slice(*tensor["data_offsets"])]
            for name, tensor in header.items()
            if name not in ("__metadata__", "input_pipeline/state")}


def same_bits(stage, args, env, data, precision):
    """Trains twice, and once more killed and resumed. Returns what differs, or None."""
    steps = args.training_steps

    def command(job):
        return [str(word) for word in (
            args.programs / "cifar10_main", "--data-dir", data, "--job-dir", job, "--num-layers", 8,
            "--train-batch-size", args.batch_size, "--train-steps", steps, "--checkpoint-steps",
            steps // 3, "--keep-checkpoints", 9, "--device", args.device, "--precision", precision)]

    jobs = [stage.folder / f"same-{precision}-{name}" for name in ("one", "two", "killed")]
    with subprocess.Popen(command(jobs[2]), env=env, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as killed:
        while killed.poll() is None and stage.left() > 1:
            if (jobs[2] / f"checkpoint-{steps // 3}.safetensors").exists():
                break
            time.sleep(0.002)
        if killed.poll() is not None:
            stage.write(f"{precision}: the run to be killed ended with {killed.returncode}")
        killed.send_signal(signal.SIGKILL)
    contents = []
    for job in jobs:
        status, _ = stage.call(*command(job), env=env)
        if status != 0:
            return f"{precision}: a run ended with {status}"
        contents.append(tensors_of(job / f"checkpoint-{steps}.safetensors"))
    for job in jobs:
        shutil.rmtree(job)
    first, *others = contents
    unequal = [name for content, name in zip(others, ("a second run", "the resumed run"))
               if content != first]
    return f"{precision}: {' and '.join(unequal)} gave other bits" if unequal else None


def by_kernel(output):
    """Returns a table of ncu's measurements, the most expensive kernels first; "" if there are
    none."""
    lines = output[output.find('"ID"'):] if '"ID"' in output else ""
    times, counts = collections.Counter(), collections.Counter()
    for row in csv.DictReader(io.StringIO(lines)):
        try:
            time_ns = float((row.get("gpu__time_duration.sum") or "").replace(",", ""))
        except ValueError:
            continue  # the line of units
        times[row["Kernel Name"]] += time_ns
        counts[row["Kernel Name"]] += 1
    total = sum(times.values())
    if not total:
        return ""
    return (f"{total:.0f} in all, in ncu's unit, {sum(counts.values())} launches\n" +
            "".join(f"{100 * spent / total:5.1f}% {spent:12.0f} {counts[name]:6d} x {name}\n"
                    for name, spent in times.most_common()))
