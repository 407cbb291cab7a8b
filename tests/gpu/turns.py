"""Measures training steps of our program and of PyTorch alternately in one run."""
import contextlib
import os
import signal
import subprocess

import bundle

OUR_CORES = 4
FIRST_TOLERANCE = {"fp32": 1e-4, "tf32": 5e-3, "bf16": 3e-2}
LATER_TOLERANCE = {"fp32": 2e-4, "tf32": 5e-3, "bf16": 3e-2}

_running = []


class Failed(Exception):
    """A program ended instead of answering."""


class Program:
    """A program that answers each line with a line."""

    def __init__(self, command, env=None, cores=None):
        def limit():
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
        self._process = subprocess.Popen([str(word) for word in command], env=env, text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         preexec_fn=limit if cores else None,
                                         start_new_session=True)
        _running.append(self)

    def line(self):
        words = self._process.stdout.readline().split()
        if not words:
            raise Failed(f"{' '.join(self._process.args)} has ended with {self._process.wait()}")
        return words

    def skip_lines(self, count):
        for _ in range(count):
            self.line()

    def ask(self, *words):
        print(*words, file=self._process.stdin, flush=True)
        return [float(word) for word in self.line()]

    def close(self):
        if self in _running:
            _running.remove(self)
            # Also its child processes: PyTorch's compilers would outlive the program.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def close_all(keep=()):
    for program in list(_running):
        if program not in keep:
            program.close()


def start_file(starts, network, precision):
    return starts / f"{network}-{precision}.safetensors"


def our_command(args, data, network, precision, starts):
    return [args.programs / "trainer_turns", data, network, args.batch_size,
            start_file(starts, network, precision), args.device,
            precision if args.device == "cuda" else "fp32", OUR_CORES, args.algorithms]


def ours(args, env, data, network, precision, starts):
    """Starts trainer_turns, ready to be measured, on as many cores as its pipeline may use."""
    program = Program(our_command(args, data, network, precision, starts), env, OUR_CORES)
    try:
        program.first = program.line()
    except Failed:
        program.close()
        raise
    return program


def peer_command(args, network, precision, starts):
    return [args.python, bundle.PEERS / "torch_trainer.py", network,
            start_file(starts, network, precision), len(os.sched_getaffinity(0)), args.device,
            precision, *args.variants]


def disagreement(precision, mine, theirs):
    """Returns how two training runs that should be equal differ; None if they agree."""
    if mine[0] != theirs[0]:
        return f"{mine[0]} parameters, PyTorch has {theirs[0]}"
    for step, (a, b) in enumerate(zip(mine[1:], theirs[1:])):
        tolerance = (LATER_TOLERANCE if step else FIRST_TOLERANCE)[precision]
        if not abs(float(a) - float(b)) <= tolerance * max(1, abs(float(b))):
            return f"the loss of step {step} is {a}, PyTorch's {b}"
    return None


class Peer:
    """PyTorch's variants of a network that can be measured."""

    def __init__(self, args, program, starts, row, precision):
        self._row = row
        self._program = Program(peer_command(args, row["network"], precision, starts))
        self._variant = "all"
        for _ in args.variants:
            with self._may_fail():
                self._variant, *first = self._program.line()
                if first[0] == "failed":
                    row["failed"][self._variant] = " ".join(first[1:])
                    continue
                difference = disagreement(precision, program.first, first)
                if difference:
                    row["disagrees"][self._variant] = difference
                row["torch"][self._variant] = []
        self._counts = {}
        for variant in list(row["torch"]):
            milliseconds = self._ask(variant, 5)
            if milliseconds:
                self._counts[variant] = max(1, round(args.milliseconds / milliseconds[0]))

    @contextlib.contextmanager
    def _may_fail(self):
        """Records the error of a failed measurement of PyTorch and drops PyTorch's measurements."""
        try:
            yield
        except (Failed, OSError, ValueError) as failure:
            self._row["failed"][self._variant] = str(failure)
            self._row["torch"].clear()
            self._program.close()

    def _ask(self, variant, count):
        self._variant = variant
        with self._may_fail():
            return self._program.ask(variant, count) if self._row["torch"] else []
        return []

    def take_turns(self):
        for variant in list(self._row["torch"]):
            self._row["torch"].get(variant, []).extend(self._ask(variant, self._counts[variant]))

    def close(self):
        self._program.close()


def steps_of_a_turn(program, milliseconds):
    """Returns the number of our steps in a turn. Afterwards the pipeline's buffers are full."""
    steps = max(1, round(milliseconds / program.ask("held", 5)[0]))
    program.ask("fed", steps)
    return steps


def alone(program, milliseconds):
    """Measures ours without a peer: a minimal result, in case no other measurement is made."""
    steps = steps_of_a_turn(program, milliseconds)
    return {what: program.ask(what, steps) for what in ("held", "loaded", "fed")}


def measure(args, program, starts, network, precision):
    """Measures a row of the table. `starts`: None if there is no PyTorch to compare with."""
    row = {"network": network, "precision": precision, "batch": args.batch_size, "torch": {},
           "failed": {}, "disagrees": {}}
    peer = Peer(args, program, starts, row, precision) if starts else None
    steps = steps_of_a_turn(program, args.milliseconds)
    row["held"], row["loaded"], row["fed"] = [], [], []
    for _ in range(args.rounds):
        row["held"] += program.ask("held", steps)
        if peer:
            peer.take_turns()
        row["loaded"] += program.ask("loaded", steps)
        row["fed"].append(program.ask("fed", steps))
    if peer:
        peer.close()
    return row
