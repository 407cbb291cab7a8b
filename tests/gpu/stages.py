"""Runs the stages of gpu/first_light: each has a time limit and a log, and a failed stage doesn't
stop the next."""
import os
import signal
import subprocess
import tarfile
import time
import traceback


class OutOfTime(Exception):
    """The stage's time is over."""


class Failed(Exception):
    """The stage has found a failure."""


class Stage:
    """What a stage's function gets. `log`: a text file of the stage's name."""

    def __init__(self, folder, name, deadline):
        self.folder, self.name, self._deadline = folder, name, deadline
        self.log = open(folder / f"{name}.log", "a", encoding="utf-8", errors="replace")

    def left(self):
        return max(0.0, self._deadline - time.monotonic())

    def write(self, text):
        print(text, file=self.log, flush=True)

    def call(self, *command, env=None, seconds=None, quiet=False, stdin=""):
        """Runs a program, at most for the given time or the rest of the stage's. Returns its exit
        status, or "too slow", and its output, which also goes to the log unless `quiet`."""
        seconds = self.left() if seconds is None else min(seconds, self.left())
        command = [str(word) for word in command]
        started = time.monotonic()
        # In a session of its own: the children of a program that is too slow must end with it.
        with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                output, _ = process.communicate(stdin.encode(), timeout=max(0.1, seconds))
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                status = "too slow"
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        output = output.decode(errors="replace")
        if not quiet:
            self.write(f"$ {' '.join(command)}\n{output.rstrip()}\n"
                       f"[{status}, {time.monotonic() - started:.1f} s]\n")
        return status, output


def raise_out_of_time(*_):
    raise OutOfTime


def in_time(stage, work):
    """Returns work(stage); raises OutOfTime in it when the stage's time is over."""
    signal.setitimer(signal.ITIMER_REAL, max(0.1, stage.left()))
    try:
        return work(stage)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def outcome_of(stage, work):
    """Returns a line about the result of work(). Raises nothing: a stage's own mistake must not
    cost the others."""
    try:
        return work() or "done"
    except OutOfTime:
        return "OUT OF TIME"
    except Failed as failure:
        return f"FAILED: {failure}"
    except Exception as error:
        stage.write(traceback.format_exc())
        return f"FAILED: {type(error).__name__}: {error}"


def run(folder, stages, clean_up=lambda: None):
    """Runs the stages, a list of (name, seconds, function): each ends at the latest `seconds` after
    the first has begun. A function returns a line about its result, or raises Failed with one.
    Returns {name: line}, which is also in FOLDER/summary.txt after each stage."""
    started = time.monotonic()
    outcomes = {}
    before = signal.signal(signal.SIGALRM, raise_out_of_time)
    for name, until, work in stages:
        stage = Stage(folder, name, started + until)
        began = time.monotonic()
        try:
            outcomes[name] = outcome_of(stage, lambda: in_time(stage, work))
        finally:  # also at Ctrl-C
            try:
                clean_up()
            except Exception:
                stage.write(traceback.format_exc())
        stage.write(outcomes[name])
        stage.log.close()
        line = f"{began - started:5.0f} to {time.monotonic() - started:5.0f} s  {name}: " \
               f"{outcomes[name]}"
        print(line, flush=True)
        with open(folder / "summary.txt", "a", encoding="utf-8") as summary:
            summary.write(line + "\n")
    signal.signal(signal.SIGALRM, before)
    return outcomes


def pack(folder):
    """Packs the folder's files beside it. Returns the path of the archive."""
    archive = folder.with_name(folder.name + ".tar.gz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    return archive
