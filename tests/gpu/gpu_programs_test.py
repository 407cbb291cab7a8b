#!/usr/bin/env python3
"""Tests gpu/first_light, gpu/run and gpu/train without a GPU: their messages, stages, tables, and
resuming.

Run by CTest. Environment: RECORDPIPE_PROGRAMS, the folder of the programs.
"""
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "cli")]

import bundle  # noqa: E402
import checks  # noqa: E402
import results  # noqa: E402
import small_archives  # noqa: E402
import stages  # noqa: E402
import turns  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["RECORDPIPE_PROGRAMS"])
ROWS = 32  # in each of the six batches: 128 images to train on, 32 to evaluate


def setUpModule():
    global ROOT, DATA
    ROOT = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
    DATA = small_archives.convert_in(ROOT, PROGRAMS / "generate_cifar10_tfrecords", ROWS)


def tearDownModule():
    shutil.rmtree(ROOT)


# Threads of oneDNN that wait for the next layer would spin for longer than a small layer takes.
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-B", HERE / program, "--programs", PROGRAMS, "--data", DATA, "--python",
         "/no/python", *map(str, arguments)], capture_output=True, text=True, timeout=250, check=False,
        env=ENVIRONMENT)


def row(**changes):
    return {"network": "resnet44", "precision": "tf32", "batch": 128, "held": [2.0, 2.0, 2.0],
            "loaded": [2.1, 2.1, 2.1], "fed": [[2.2, 0.01], [2.2, 0.03], [2.2, 0.02]],
            "torch": {"channels_first": [9.0, 9.0, 9.0], "channels_last": [4.0, 4.2, 3.8],
                      "compiled_graphs": [1.8, 1.8, 1.8]},
            "failed": {}, "disagrees": {}, **changes}


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=ROOT))
        self.report = results.Report(self.folder, {"gpu": "a test's"})

    def test_ratios_are_beside_the_fastest_of_each_kind(self):
        self.report.add_row(row())
        line = self.report.write().splitlines()[-1]
        for words in ("| 2.000 | 64000 |", "| 4.000 (channels_last) | 2.00 (1.90 to 2.10) |",
                      "| 1.800 (compiled_graphs) | 0.90 (0.90 to 0.90) MISSED |",
                      "| 2.00% (1.00 to 3.00) |"):
            self.assertIn(words, line)
        self.assertTrue(self.report.good())
        self.assertEqual(json.loads((self.folder / "results.json").read_text())["rows"], [row()])

    def test_what_was_not_measured_says_so(self):
        self.report.add_row(row(torch={}, failed={"compiled_graphs": "no compiler"}))
        text = self.report.write()
        self.assertEqual(text.count("not measured"), 4)
        self.assertIn("compiled_graphs: failed: no compiler", text)

    def test_nothing_else_is_good(self):
        self.assertTrue(self.report.good())
        for spoil in (lambda report: report.set("tests", {"a": "passed", "b": "skipped: no GPU"}),
                      lambda report: report.set("cut off", "early"),
                      lambda report: report.add_failure("resnet44", "bf16", "why"),
                      lambda report: report.add_row(row(disagrees={"channels_last": "other"}))):
            report = results.Report(self.folder, {})
            spoil(report)
            self.assertFalse(report.good())

    def test_ours_alone_is_there_until_a_row_is(self):
        self.report.set("alone", {"resnet44 tf32": {"held": [2.0], "loaded": [2.1],
                                                    "fed": [2.2, 0.01]}})
        self.assertIn("resnet44 tf32, ours alone: 2.000 ms a step, fed 2.200 ms, 1.00%",
                      self.report.write())
        self.report.add_row(row())
        self.assertNotIn("alone", self.report.write())

    def test_a_peer_that_ends_costs_its_columns_alone(self):
        ours = mock.Mock(first=["1", "2.5"])
        ours.ask = lambda what, _: [1.0, 0.0] if what == "fed" else [1.0]
        args = mock.Mock(variants=["channels_first", "channels_last"], rounds=3, milliseconds=1,
                         batch_size=128)
        for script in ("", "echo channels_first 1 2.5", "echo channels_first 1 2.5\n"
                       "echo channels_last 1 2.5\nread ask\necho 1.0\nread ask\necho out of memory",
                       "echo channels_first 1 2.5\necho channels_last 1 2.5\n"
                       "for i in 1 2 3; do read ask; echo 1.0; done"):
            with mock.patch.object(turns, "peer_command", lambda *_, script=script: ["sh", "-c",
                                                                                     script]):
                measured = turns.measure(args, ours, ROOT, "resnet44", "fp32")
            self.assertEqual((measured["held"], measured["torch"]), ([1.0] * 3, {}), script)
            self.assertTrue(measured["failed"], script)
            self.report.add_row(measured)

    def test_trainings_that_differ_are_told_apart(self):
        mine = ["100", "2.5", "2.4"]
        self.assertIsNone(turns.disagreement("fp32", mine, ["100", "2.50001", "2.4"]))
        for theirs in (["101", "2.5", "2.4"], ["100", "2.51", "2.4"], ["100", "2.5", "nan"]):
            self.assertIsNotNone(turns.disagreement("fp32", mine, theirs), theirs)
        self.assertIsNone(turns.disagreement("bf16", mine, ["100", "2.51", "2.4"]))


@unittest.skipIf(pathlib.Path("/dev/nvidia0").exists(), "there is a GPU")
class WithoutAGpu(unittest.TestCase):
    def test_nothing_passes_silently(self):
        for program, extra in (("first_light", "--results"), ("run", "--results"),
                               ("train", "--job-dir")):
            result = run(program, extra, ROOT / "unused")
            self.assertEqual(result.returncode, 77, result.stdout + result.stderr)
            self.assertIn("skipped: no GPU", result.stdout)


class ADriverThatHangs(unittest.TestCase):
    def test_is_said(self):
        programs = ROOT / "hanging"
        programs.mkdir()
        (programs / "gpu-tests.json").write_text('{"a": ["hangs"]}', encoding="ascii")
        for name in ("hangs", "nvidia-smi"):
            (programs / name).write_text("#!/bin/sh\nsleep 600\nexit\n", encoding="ascii")
            (programs / name).chmod(0o755)
        said = io.StringIO()
        args = mock.Mock(device="cuda", python="/bin/false")
        with mock.patch.object(bundle, "SECONDS_TO_START", 0.1), \
             mock.patch.dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}"), \
             contextlib.redirect_stdout(said):
            self.assertIsNone(bundle.gpu_problem(programs, dict(os.environ)))
            facts, _ = bundle.describe(args)
        self.assertEqual(facts["gpu"], "nvidia-smi can't be run")
        said = [line for line in said.getvalue().splitlines() if "PYTORCH" not in line]
        self.assertEqual(said, [f"{name} has not ended after 0.1 s: does the driver hang?"
                                for name in ("hangs", "nvidia-smi")])


class Libraries(unittest.TestCase):
    def test_ours_are_pytorchs_even_if_the_system_has_others(self):
        packages = ROOT / "packages"
        packages.mkdir()
        (packages / "libcudnn.so.9").touch()
        system = {"libcudnn.so.9": "/usr/lib", "libcublasLt.so.13": "/usr/lib"}
        with mock.patch.object(bundle, "python_packages", lambda _: [packages]), \
             mock.patch.object(bundle, "loader_paths", lambda: system), \
             mock.patch.object(bundle, "nvidia_libraries", lambda _: list(system)):
            env, missing = bundle.environment(PROGRAMS, "python3")
        self.assertEqual(env["LD_LIBRARY_PATH"].split(":")[0], str(packages))
        self.assertEqual(missing, [])

    def test_a_python_that_fails_silently(self):
        self.assertEqual(bundle.torch_of("/bin/false"), ("none", "/bin/false: ended with 1"))


class Stages(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=ROOT))

    def test_a_failed_stage_does_not_stop_the_next(self):
        def fail(stage):
            stage.call("sh", "-c", "echo the output; exit 3")
            raise stages.Failed("why")

        def mistake(_):
            return {}["no key"]

        outcomes = stages.run(self.folder, [
            ("fails", 900, fail), ("mistaken", 900, mistake),
            ("hangs", 0.5, lambda stage: stage.call("sleep", "1000")),
            ("waits", 0.5, lambda _: time.sleep(1000)), ("good", 900, lambda _: "a result")])
        self.assertEqual(outcomes, {
            "fails": "FAILED: why", "mistaken": "FAILED: KeyError: 'no key'",
            "hangs": mock.ANY, "waits": "OUT OF TIME", "good": "a result"})
        self.assertIn("the output\n[3, ", (self.folder / "fails.log").read_text())
        self.assertIn("Traceback", (self.folder / "mistaken.log").read_text())
        self.assertEqual([line.split("s  ")[1].split(":")[0] for line in
                          (self.folder / "summary.txt").read_text().splitlines()], list(outcomes))

    def test_a_stage_that_ends_at_its_last_moment_does_not_stop_the_next(self):
        def mistake(_):
            return {}["no key"]

        def slowly():
            time.sleep(1)  # the stage's time ends meanwhile
            return "Traceback"

        with mock.patch("stages.traceback.format_exc", slowly):
            outcomes = stages.run(self.folder, [("mistaken", 0.5, mistake),
                                                ("good", 900, lambda _: "a result")])
        self.assertEqual(outcomes, {"mistaken": "FAILED: KeyError: 'no key'", "good": "a result"})

    def test_a_failed_clean_up_does_not_stop_the_next_stage(self):
        def clean_up():
            raise OSError("not clean")

        outcomes = stages.run(self.folder, [("first", 900, lambda _: "one"),
                                            ("second", 900, lambda _: "two")], clean_up)
        self.assertEqual(outcomes, {"first": "one", "second": "two"})
        self.assertIn("not clean", (self.folder / "first.log").read_text())

    def test_children_of_a_program_that_is_too_slow_end_with_it(self):
        pid_file = self.folder / "pid"
        stage = stages.Stage(self.folder, "one", time.monotonic() + 900)
        status, _ = stage.call(
            "sh", "-c", f"sleep 1000 & echo $! >{pid_file}.partial; mv {pid_file}.partial {pid_file};"
            " wait", seconds=5)
        stage.log.close()
        self.assertEqual(status, "too slow")
        stat = pathlib.Path("/proc", pid_file.read_text().strip(), "stat")
        while stat.exists() and stat.read_text().split()[2] != "Z":
            time.sleep(0.01)


# The programs that need a GPU, as far as gpu/first_light looks at them.
FAKES = {
    "cuda_backend_test": """#!/bin/sh
case "$1" in
  --gtest_list_tests) printf 'cuda, a fake\\nAll/Layers.  # TypeParam\\n'
                      printf '  Agree/tf32  # GetParam() = 1\\n  Agree/fp32\\n'
                      printf 'Other.\\n  Works\\n' ;;
  *Other.Works) echo "blocking: $CUDA_LAUNCH_BLOCKING"; exit 1 ;;
  --gtest_filter=*) echo "$1" >>"$0.log" ;;
  *) [ "$GTEST_SHARD_INDEX" = 0 ] || exit 0
     echo '[       OK ] All/Layers.Agree/tf32 (1 ms)'; exit 3 ;;
esac
""",
    "compute-sanitizer": "#!/bin/sh\n[ $2 != racecheck ]\n",
    "ncu": """#!/bin/sh
while [ "$1" != off ]; do shift; done
shift
"$@" || exit
echo '"ID","Kernel Name","gpu__time_duration.sum"'
echo '"","","nsecond"'
echo '"0","first(int)","1,000"'
echo '"1","second","500"'
echo '"2","first(int)","500"'
""",
}


class FirstLight(unittest.TestCase):
    def test_all_stages(self):
        programs, tools = ROOT / "fakes/programs", ROOT / "fakes/tools"
        tools.mkdir(parents=True)
        programs.mkdir()
        for program in ("cifar10_main", "trainer_turns"):
            (programs / program).symlink_to(PROGRAMS / program)
        for name, script in FAKES.items():
            path = (programs if name.endswith("test") else tools) / name
            path.write_text(script)
            path.chmod(0o755)
        (programs / "gpu-tests.json").write_text('{"cuda_backend_test": ["cuda_backend_test"]}')
        results_folder = ROOT / "first-light"
        result = subprocess.run(
            [sys.executable, "-B", HERE / "first_light", "--programs", programs, "--data", DATA,
             "--python", "/no/python", "--device", "cpu", "--networks", "resnet8", "--precisions",
             "fp32", "--batch-size", "4", "--training-steps", "30", "--milliseconds", "20",
             "--results", results_folder], capture_output=True, text=True, timeout=250, check=False,
            env={**ENVIRONMENT, "PATH": f"{tools}:{os.environ['PATH']}"})
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        summary = (results_folder / "summary.txt").read_text()
        for words in ("tests: FAILED: 2 passed, 0 skipped, 0 not run, 1 failed: Other.Works; "
                      "cuda_backend_test, part 0: 3\n",
                      "sanitizer: FAILED: memcheck clean, racecheck 1, initcheck clean, ",
                      "same: 1 runs repeated and resumed; /no/python",
                      "times: resnet8 fp32 predicted: ", "; resnet8 fp32 measured: ",
                      "profile: resnet8-fp32-ours: 2 steps, 2000 in all, in ncu's unit, 3 "
                      "launches; /no/python: ",
                      "pytorch: FAILED: /no/python"):
            self.assertIn(words, summary)
        # What didn't pass beside others runs again alone.
        self.assertEqual((programs / "cuda_backend_test.log").read_text().split(),
                         ["--gtest_filter=All/Layers.Agree/fp32"])
        tests = (results_folder / "tests.log").read_text()
        self.assertIn("blocking: \n", tests)
        self.assertIn("blocking: 1\n", tests)
        profile = (results_folder / "profile-resnet8-fp32-ours.txt").read_text()
        self.assertEqual(profile.splitlines()[1], " 75.0%         1500      2 x first(int)")
        with tarfile.open(ROOT / "first-light.tar.gz") as tar:
            self.assertIn("first-light/summary.txt", tar.getnames())

    def test_stages_are_selected(self):
        results_folder = ROOT / "selected"
        result = run("first_light", "--device", "cpu", "--networks", "resnet8", "--precisions",
                     "fp32", "--batch-size", 4, "--milliseconds", 20, "--results", results_folder,
                     "--stages", "times=100", "pytorch")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        first, second = (results_folder / "summary.txt").read_text().splitlines()
        self.assertIn("times: resnet8 fp32 predicted: ", first)
        self.assertIn("pytorch: FAILED: /no/python", second)
        result = run("first_light", "--stages", "time")
        self.assertEqual(result.returncode, 2)
        self.assertIn("time is none of versions, tests, ", result.stderr)

    def test_runs_that_differ_are_told_apart(self):
        stage = stages.Stage(ROOT, "differing", time.monotonic() + 60)
        args = mock.Mock(training_steps=6, programs=ROOT / "differing")
        args.programs.mkdir()
        program = args.programs / "cifar10_main"
        # Writes a checkpoint whose tensor holds the path of the job.
        program.write_text(f"""#!{sys.executable}
import json, pathlib, struct, sys
job = pathlib.Path(sys.argv[sys.argv.index("--job-dir") + 1])
job.mkdir(exist_ok=True)
data = str(job).encode()
header = json.dumps({{"x": {{"dtype": "U8", "shape": [len(data)],
                             "data_offsets": [0, len(data)]}}}}).encode()
for step in (2, 6):
    (job / f"checkpoint-{{step}}.safetensors").write_bytes(
        struct.pack("<Q", len(header)) + header + data)
""")
        program.chmod(0o755)
        self.assertEqual(checks.same_bits(stage, args, None, DATA, "fp32"),
                         "fp32: a second run and the resumed run gave other bits")
        program.write_text("#!/bin/sh\nexit 4\n")
        self.assertEqual(checks.same_bits(stage, args, None, DATA, "fp32"),
                         "fp32: a run ended with 4")
        stage.log.close()


class OnTheCpu(unittest.TestCase):
    def test_steps_are_measured_without_pytorch(self):
        result = run("run", "--device", "cpu", "--networks", "resnet8", "--precisions", "fp32",
                     "--batch-size", 4, "--rounds", 2, "--milliseconds", 20, "--results",
                     ROOT / "results")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for words in ("A TRIAL ON THE CPU", "NOT COMPARED WITH PYTORCH: /no/python",
                      "| resnet8 | fp32 | "):
            self.assertIn(words, result.stdout)

    def test_a_training_goes_on_until_all_seeds_are_done(self):
        arguments = ("--device", "cpu", "--layers", 8, "--steps", 2, "--seeds", 2, "--job-dir",
                     ROOT / "training")
        result = run("train", *arguments, "--minutes", 0)
        self.assertEqual(result.returncode, 75, result.stdout + result.stderr)
        self.assertIn("| 2 | not trained to the end | not trained to the end |", result.stdout)
        result = run("train", *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"\| 2 \| [0-9.]+%, \d+ s \| not trained to the end \|")
        result = run("train", *arguments, "--trainers", "torch")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("NOT COMPARED WITH PYTORCH: /no/python", result.stdout)
        result = run("train", *arguments, "--steps", 3)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("is of another training", result.stderr)
        done = json.loads((ROOT / "training/results.json").read_text())["runs"]
        self.assertEqual([(one["who"], one["seed"], one["step"], one["images"]) for one in done],
                         [("ours", 1, 2, ROWS), ("ours", 2, 2, ROWS)])

    def test_a_training_ends_though_its_compilers_go_on_and_its_folder_is_removed(self):
        python = ROOT / "python"
        for script, status, words in (
                ("trap 'exit 143' TERM; sleep 300 2>/dev/null & echo $! >compiler; wait", 75,
                 "call it again"),
                ("kill $(cat compiler); rm -r $PWD; exit 1", 1, "removed during the training")):
            python.write_text(f'#!/bin/sh\n[ "$1" != -c ] || exec echo 2.9\ncd "$3"\n{script}\n')
            python.chmod(0o700)
            result = run("train", "--device", "cpu", "--seeds", 1, "--minutes", 0.3, "--trainers",
                         "torch", "--python", python, "--job-dir", ROOT / "ending")
            self.assertEqual(result.returncode, status, result.stdout + result.stderr)
            self.assertIn(words, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
