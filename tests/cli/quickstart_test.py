#!/usr/bin/env python3
"""Tests quickstart.sh: the commands that it runs for each option, and that a failure ends it.

Runs a copy beside stub programs that record their arguments: nothing is installed, built or
trained.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

QUICKSTART = pathlib.Path(__file__).resolve().parent.parent.parent / "quickstart.sh"

STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>{log}
exit $(cat {root}/$(basename "$0").status 2>/dev/null || echo 0)
"""


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copy(QUICKSTART, self.root)
        self.log = self.root / "log"
        self.archive = self.root / "a b.tar.gz"
        self.archive.touch()
        for name in ("tools/install_packages.sh", "bin/cmake",
                     "build/release/generate_cifar10_tfrecords", "build/release/cifar10_main"):
            program = self.root / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(STAND_IN.format(log=self.log, root=self.root), encoding="utf-8")
            program.chmod(0o755)

    def run_it(self, *arguments):
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        return subprocess.run([self.root / "quickstart.sh", *arguments], capture_output=True,
                              text=True, check=False, cwd=self.root / "bin",
                              env=dict(os.environ, PATH=path))

    def all_calls(self):
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    def calls(self):
        return [line for line in self.all_calls() if not line.startswith("cmake")]

    def test_installs_makes_the_files_and_trains(self):
        default = self.root / "data/cifar10"
        for arguments, data_dir, generate, minutes in (
                ([], default, "--synthetic-fallback", "5"),
                (["--synthetic", "--minutes", "0.5"], default, "--synthetic --force", "0.5"),
                (["--archive", self.archive, "--data-dir", "x"], "x",
                 f"--archive {self.archive} --force", "5")):
            with self.subTest(arguments):
                result = self.run_it(*arguments)
                self.assertEqual(result.returncode, 0, result.stderr)
                packages, made, trained = self.calls()
                self.assertEqual(packages, "install_packages.sh ")
                self.assertEqual(made,
                                 f"generate_cifar10_tfrecords --data-dir {data_dir} {generate}")
                self.assertRegex(trained, rf"^cifar10_main --data-dir {data_dir} --job-dir "
                                          rf"{data_dir}/jobs/[-0-9]+ --recipe airbench .* "
                                          rf"--minutes {minutes}$")

    def test_builds_each_program_when_it_is_needed(self):
        self.run_it("--synthetic")
        _, configured, *calls = self.all_calls()
        self.assertEqual(configured, "cmake --preset release")
        self.assertEqual([re.sub(r"--parallel \d+", "--parallel N", call).split(" --data-dir")[0]
                          for call in calls],
                         [f"{before}{program}"
                          for program in ("generate_cifar10_tfrecords", "cifar10_main")
                          for before in ("cmake --build --preset release --parallel N --target ",
                                         "")])

    def test_ends_with_what_to_look_at_and_what_to_try(self):
        result = self.run_it("--synthetic", "--data-dir", "x y")
        self.assertEqual(result.returncode, 0, result.stderr)
        *_, trained = self.calls()
        # The report's path as the shell would parse it.
        job_dir = re.search(r"--job-dir (.*) --recipe", trained)[1]
        self.assertIn(f"--report {job_dir}/report.html", trained)
        quoted = job_dir.replace(" ", "\\ ")
        end = result.stdout[result.stdout.index("==> Done"):]
        self.assertIn(f" {quoted}/report.html\n", end)
        self.assertIn(f" tensorboard --logdir {quoted}\n", end)
        self.assertEqual(len(re.findall(r"^- ", end, re.MULTILINE)), 3)
        # The printed commands can be pasted: their programs exist once their targets are built.
        for name in ("tfrecord", "records_to_batches"):
            shutil.copy(self.root / "build/release/cifar10_main",
                        self.root / "build/release" / name)
        commands = [line for line in end.splitlines() if line.startswith(f"  {self.root}/build/") or
                    line.startswith("  cmake ")]
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        subprocess.run(["bash", "-ec", "\n".join(commands)], check=True, cwd=self.root / "bin",
                       env=dict(os.environ, PATH=path))
        build = f"cmake --build {self.root}/build/release --target"
        self.assertEqual(self.all_calls(), [
            f"{build} tfrecord", "tfrecord view x y/train.tfrecords -o x y/train.html",
            f"{build} records_to_batches", "records_to_batches x y/points.tfrecords", trained])

    def test_a_failure_ends_it(self):
        for program, status in (("install_packages.sh", 1), ("cmake", 1),
                                ("generate_cifar10_tfrecords", 1),
                                ("generate_cifar10_tfrecords", 130), ("cifar10_main", 130)):
            with self.subTest(program):
                wish = self.root / f"{program}.status"
                wish.write_text(str(status), encoding="utf-8")
                result = self.run_it()
                self.assertEqual(result.returncode, status)
                self.assertNotIn("Done", result.stdout)
                wish.unlink()
                self.assertEqual(any("cifar10_main" in call for call in self.calls()),
                                 program == "cifar10_main")

    def test_an_interrupted_training_can_go_on(self):
        (self.root / "cifar10_main.status").write_text("130", encoding="utf-8")
        main = self.root / "build/release/cifar10_main"
        main.write_text(main.read_text(encoding="utf-8").replace("exit", 'mkdir -p "$4"; exit'),
                        encoding="utf-8")
        result = self.run_it("--data-dir", "x y", "--minutes", "3")
        self.assertEqual(result.returncode, 130)
        command = result.stdout.splitlines()[-1].strip()
        _, _, first = self.calls()
        subprocess.run(["bash", "-c", command], check=False, cwd=self.root / "bin")
        self.assertEqual(self.calls(), [first.replace("--minutes 3", "--train-steps N")])

    def test_wrong_usage_is_said_before_anything_is_done(self):
        for arguments in (["--bogus"], ["x"], ["--archive"], ["--archive", ""], ["--data-dir", ""],
                          ["--archive", self.root / "none"], ["--minutes", "0"],
                          ["--minutes", "-1"], ["--minutes", "soon"],
                          ["--archive", self.archive, "--synthetic"]):
            with self.subTest(arguments):
                result = self.run_it(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertTrue(result.stderr.startswith("quickstart.sh: "), result.stderr)
                self.assertIn("usage: ", result.stderr)
                self.assertEqual(self.calls(), [])

    def test_help(self):
        result = self.run_it("--help")
        self.assertEqual(result.returncode, 0, result.stderr)
        for option in ("--archive", "--synthetic", "--data-dir", "--minutes"):
            self.assertIn(option, result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
