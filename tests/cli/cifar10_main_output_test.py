#!/usr/bin/env python3
"""Tests the output of cifar10_main: log, status line, event files, report, model analysis.

Run by CTest. Environment: see cifar10_main_case.py.
"""
import json
import os
import pty
import re
import resource
import shutil
import subprocess
import unittest

from cifar10_main_case import Cifar10MainTest, PROGRAM, small_data
from started import AS_STARTED_BY_USERS, Started


class Output(Cifar10MainTest):
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
        # Including the checkpoint at the start.
        self.assertEqual(self.checkpoints(), ["checkpoint-0.safetensors", "checkpoint-4.safetensors"])
        first, last = result.stdout.splitlines()
        self.assertEqual(first, f"checkpoint {self.job}/checkpoint-4.safetensors")
        accuracy, correct = re.fullmatch(
            r"eval accuracy ([0-9.]+)% \(([0-9]+)/24\) at step 4", last).groups()
        self.assertAlmostEqual(float(accuracy), 100 * int(correct) / 24, places=2)

    def test_event_files_timelines_and_report(self):
        report = self.job.parent / "report.html"
        result = self.train("--summary-steps", 2, "--profile-steps", 2, "--report", report,
                            "--validation-steps", 2, "--confusion-matrix", "true", steps=5)
        self.expect_done(result)
        self.assertRegex(result.stdout, r"\n0 airplane .*\n(.*\n)*precision.*\neval accuracy")
        events = list(self.job.glob("events.out.tfevents.*"))
        self.assertEqual(len(events), 1)
        content = events[0].read_bytes()
        for tag in (b"brain.Event:2", b"learning_rate", b"conv/weights", b"input/image/0", b"validation/accuracy",
                    b"global_step/sec"):
            self.assertIn(tag, content)
        json.loads(next(self.job.glob("timeline-*.json")).read_text())
        page = report.read_text()
        for word in ("ResNet-8 on CIFAR-10", "airplane", "batch_size"):
            self.assertIn(word, page)

    def test_a_report_that_cannot_be_written_is_found_out_first(self):
        folder = self.job.parent
        own = [(self.job / name, "overwrite a file of the run")
               for name in ("checkpoint-4.safetensors", "report-history.jsonl", ".lock",
                            "events.out.tfevents.1.x", "timeline-4.json")]
        for report, words in ((folder / "nowhere" / "r.html", "nowhere"), (folder, "is a folder"),
                              ("/dev/null", "/dev/null"), *own):
            with self.subTest(report):
                result = self.train("--report", report)
                self.expect_failure(result, 1, words)
                self.assertNotIn("step =", result.stderr)
                self.assertEqual(self.checkpoints(), [])
        report = self.job / "report.html"
        self.expect_done(self.train("--report", report))
        self.assertIn("</html>", report.read_text())

    def test_a_report_that_fails_after_all_costs_no_result(self):
        report = self.job.parent / "reports" / "report.html"
        report.parent.mkdir()
        with Started(self.arguments("--report", report, "--log-frequency", 1, steps=20),
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            while "step = " not in process.stderr.readline():
                self.assertIsNone(process.poll())
            report.parent.rmdir()
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("reports", err)
        self.assertRegex(out.splitlines()[-1], "^eval accuracy .* at step 20$")

    def test_an_interrupted_run_writes_its_report(self):
        """If that fails, the exit status is still that of the signal."""
        report = self.job.parent / "reports" / "report.html"
        report.parent.mkdir()
        for can_write in (True, False):
            with Started(self.arguments("--report", report, "--log-frequency", 1, steps=1_000_000),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                self.addCleanup(process.kill)
                while "step = " not in process.stderr.readline():
                    self.assertIsNone(process.poll())
                if not can_write:
                    shutil.rmtree(report.parent)
                process.terminate()
                out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (143, ""), err)
            if can_write:
                self.assertIn("</html>", report.read_text())
            else:
                self.assertRegex(err, "no report: .*reports")

    def test_event_files_that_cannot_be_written_end_no_training(self):
        """Sets a file size limit that no checkpoint exceeds, but an event file soon does."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (650_000, 650_000))

        arguments = self.arguments("--summary-steps", 1, "--checkpoint-steps", 1, steps=30)
        result = subprocess.run(arguments, capture_output=True, text=True, timeout=120,
                                check=False, preexec_fn=limit)
        self.expect_done(result)
        self.assertIn("not logged: ", result.stderr)
        self.assertNotIn("no checkpoint", result.stderr)
        self.assertIn("checkpoint-30.safetensors", self.checkpoints())

    def test_a_log_that_nobody_reads_ends_no_training(self):
        read, write = os.pipe()
        os.close(read)
        self.addCleanup(os.close, write)
        result = subprocess.run(self.arguments(), stdout=subprocess.PIPE, stderr=write, text=True,
                                timeout=120, check=False)
        self.assertEqual(result.returncode, 0)
        self.assertIn("at step 4", result.stdout)
        self.assertIn("checkpoint-4.safetensors", self.checkpoints())

    def test_closed_descriptors(self):
        """Files that reuse a closed descriptor must not receive output. Losing the result is a
        failure."""
        for closed, status in ((">&- 2>&-", 1), ("<&- >&- 2>&-", 1), ("2>&-", 0)):
            with self.subTest(closed):
                command = ["sh", "-c", f'exec "$0" "$@" {closed}', *self.arguments()]
                result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                        timeout=120, check=False, env=AS_STARTED_BY_USERS)
                self.assertEqual(result.returncode, status)
                self.assertIn("checkpoint-4.safetensors", self.checkpoints())
                self.assertRegex((self.job / ".lock").read_bytes(), rb"\A[0-9a-f]{32}\Z")
                for events in self.job.glob("events.out.tfevents.*"):
                    self.assertNotIn(b"Average examples", events.read_bytes())
                    self.assertNotIn(b"eval accuracy", events.read_bytes())
                shutil.rmtree(self.job)

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

    def test_synthetic_data_is_called_so(self):
        data = self.job.parent / "synthetic"
        shutil.copytree(small_data(), data)
        (data / "synthetic.txt").write_text("drawn by program\n")
        result = self.train("--minutes", 0.005, data=data)
        self.expect_done(result)
        self.assertRegex(result.stderr, r"[0-9.]+ ms per step on synthetic data: training to step ")
        self.assertRegex(result.stdout.splitlines()[-1], "^synthetic eval accuracy ")
        for line in result.stderr.splitlines():
            if "loss" in line or "examples/sec" in line:
                self.assertTrue(line.endswith(", synthetic data"), line)

    def test_terminal_gets_a_status_line(self):
        parent, child = pty.openpty()
        with Started(self.arguments(), stdout=subprocess.PIPE, stderr=child) as process:
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


if __name__ == "__main__":
    unittest.main()
