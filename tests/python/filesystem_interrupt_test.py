"""filesystem=: programs that end, fork or are interrupted while a read waits."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import unittest

from memory_files import FileSystemTest

_SLOW = """
    import os, sys, threading, time
    sys.path.insert(0, {tests!r})
    import recordpipe as rp
    from memory_files import Memory

    memory = Memory({{"a": open({path!r}, "rb").read()}})

    hangs = threading.Event()
    hang = lambda: time.sleep(600)

    def wait(path, start):
        if {slow}:
            os.write(1, b"waiting\\n")
            hangs.set()
            hang()

    memory.before_read = wait
    try:
        {call}
    except KeyboardInterrupt:
        os.write(1, b"interrupted\\n")  # in one piece, beside those of other threads
        memory.before_read = lambda path, start: None
        print(len([*iter(rp.tfrecords("a", filesystem=memory))]), flush=True)
        os._exit(0)
"""


class Processes(FileSystemTest):
    def test_a_program_ends_while_a_read_hangs(self):
        # The end waits five seconds for the read: both programs at a time.
        call = (
            'next(iter(rp.tfrecords("a", filesystem=memory).with_options(chunk_size=1))); '
            "hangs.wait(); print('last', flush=True)"
        )
        # This one takes the GIL again and again while the interpreter ends.
        busy = "hang = lambda: [time.sleep(0.001) for _ in range(10**6)]; "
        programs = [self.start(each, "start == 512 << 10") for each in (call, busy + call)]
        for program in programs:
            self.assertEqual(program.communicate(timeout=60)[0], "waiting\nlast\n")
            self.assertEqual(program.returncode, 0)

    def start(self, call, slow="start > 0"):
        script = textwrap.dedent(_SLOW).format(
            tests=str(pathlib.Path(__file__).parent),
            path=str(self.folder / "a.tfrecord"),
            call=call,
            slow=slow,
        )
        program = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def run_slow(self, call):
        program = self.start(call)
        self.assertEqual(program.stdout.readline(), "waiting\n")
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        lines = program.stdout.read().split()
        self.assertEqual([line for line in lines if line != "waiting"], ["interrupted", "3000"])

    def test_ctrl_c_while_a_read_of_a_pass_hangs(self):
        self.run_slow('[*iter(rp.tfrecords("a", filesystem=memory))]')

    def test_ctrl_c_while_a_read_of_verify_hangs(self):
        self.run_slow('rp.verify("a", filesystem=memory)')

    def test_ctrl_c_while_a_read_of_a_task_hangs(self):
        self.run_slow(f'rp.convert_to_dir("a", "file://{self.folder}/out", filesystem=memory)')
        self.assertEqual(os.listdir(self.folder / "out"), [".shards"])

    def test_ctrl_c_while_a_read_of_a_task_of_an_executor_hangs(self):
        self.run_slow(
            "from concurrent.futures import ThreadPoolExecutor\n"
            "    with ThreadPoolExecutor(1) as executor:\n"
            '        rp.verify("a", filesystem=memory, executor=executor)'
        )

    def test_ctrl_c_while_files_are_opened(self):
        # Those that are opened ahead hang, too.
        self.run_slow(
            'memory.files |= {f"b{i}": memory.files["a"] for i in range(70)}\n'
            "    memory.before_read = lambda path, start: wait(path, 1)\n"
            '    [*iter(rp.tfrecords(["a", "b*"], filesystem=memory))]'
        )

    def test_ctrl_c_while_sizes_are_asked_for(self):
        self.run_slow(
            "memory.before_read = lambda path, start: wait(path, 1)\n"
            "    memory.status = lambda path: (\n"
            "        memory.before_read(path, 1), Memory.status(memory, path))[1]\n"
            '    rp.verify(["a"] * 9, filesystem=memory)'
        )

    def test_ctrl_c_while_a_read_of_random_access_hangs(self):
        self.run_slow('[*iter(rp.tfrecords("a", filesystem=memory).shuffle(seed=7))]')

    def test_a_forked_process_reads_too(self):
        dataset = self.dataset().prefetch()
        iterator = iter(dataset)
        first = [next(iterator) for _ in range(10)]
        pid = os.fork()
        if pid == 0:
            os._exit(0 if [*iter(dataset)] == self.all else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual([*first, *iterator], self.all)


if __name__ == "__main__":
    unittest.main()
