"""Programs that measure themselves in turns: the side of the benchmark that asks.

Each program is ready when it has printed "best NAME" (peers/turns.py is its side), and then prints
one figure for each line of its standard input.
"""
import os
import pathlib
import signal
import statistics
import subprocess

PEERS = pathlib.Path(os.environ.get(
    "RECORDPIPE_PEERS", pathlib.Path(__file__).resolve().parents[2] / "build/peers"))
FOLDER = pathlib.Path(__file__).resolve().parent / "peers"


class Program:
    """A Python program of tests/bench/peers, ready to measure.

    Args:
        variant: is called as variant(images per second, name) for each variant that it tries.
    """

    def __init__(self, name, *arguments, variant=None, environment=None):
        command = [PEERS / "bin/python", "-W", "ignore", FOLDER / f"{name}.py", *arguments]
        self._process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=None if os.environ.get("RECORDPIPE_BENCH_DEBUG") else subprocess.DEVNULL,
            text=True, start_new_session=True, env=dict(os.environ, **(environment or {})))
        while True:
            kind, _, rest = self._line().partition(" ")
            if kind == "variant" and variant:
                speed, _, name = rest.partition(" ")
                variant(int(speed), name)
            elif kind == "best":
                self.best = rest
                self._signal(signal.SIGSTOP)
                return

    def _signal(self, number):
        """Also to its workers."""
        os.killpg(self._process.pid, number)

    def _line(self):
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(map(str, self._process.args))} has failed; "
                             "RECORDPIPE_BENCH_DEBUG=1 shows its errors")
        return line.strip()

    def measure(self):
        """Outside of its turns, the program is stopped: it might still fill its buffers."""
        self._signal(signal.SIGCONT)
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        figure = float(self._line())
        self._signal(signal.SIGSTOP)
        return figure

    def close(self):
        self._signal(signal.SIGKILL)
        self._process.wait()


def make_descriptors(path):
    """Writes the descriptors of tf.train.Example, from which the peers make their messages."""
    proto = FOLDER.parents[2] / "proto"
    subprocess.run(["protoc", "-I", f"recordpipe/proto={proto}", "--include_imports",
                    "--descriptor_set_out", path, proto / "example.proto"], check=True)


def in_turns(ours, theirs, rounds):
    """Returns the medians of ours and theirs, and the median, minimum and maximum of the ratios of
    the rounds. Both are functions."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    ratios = sorted(a / b for a, b in pairs)
    return (statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs),
            statistics.median(ratios), ratios[0], ratios[-1])
