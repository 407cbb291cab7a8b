"""Finds the files that run and train need: in a bundle made by pack, or in a build of the tree."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
IN_TREE = not (HERE / "bin").is_dir()
PROGRAMS = HERE.parent.parent / "build/dev" if IN_TREE else HERE / "bin"
PEERS = HERE.parent / "bench/peers" if IN_TREE else HERE / "peers"
# Loaded by programs and cuDNN at run time, if present.
OPTIONAL_LIBRARIES = ["libnccl.so.2", "libnvrtc.so.13"]
SPLITS = ("train", "validation", "eval")
SECONDS_TO_START = 20


def add_arguments(parser):
    """Adds the options that run and train have in common."""
    parser.add_argument("--programs", type=pathlib.Path, default=PROGRAMS,
                        help="folder of the programs (%(default)s)")
    parser.add_argument("--data", type=pathlib.Path,
                        help="folder with the train.tfrecords, validation.tfrecords and eval.tfrecords "
                             "of generate_cifar10_tfrecords, or with cifar-10-python.tar.gz "
                             "(default: the bundle's, or else synthetic ones)")
    parser.add_argument("--python", default=os.environ.get("RECORDPIPE_TORCH_PYTHON",
                                                           sys.executable),
                        help="a Python with torch and safetensors (%(default)s)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda",
                        help="cpu: to try this program without a GPU")


def loader_paths():
    """Returns the loader's default folders for libraries, as far as they are in its cache."""
    try:
        lines = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True,
                               check=False).stdout.splitlines()
    except FileNotFoundError:
        return {}
    files = (line.split() for line in lines if "=>" in line)
    return {words[0]: pathlib.Path(words[-1]).parent for words in files}


def python_packages(python):
    """Returns NVIDIA's folders among Python packages: PyTorch's wheels include cuDNN and
    cuBLASLt."""
    code = "import sys; print('\\n'.join(filter(None, sys.path)))"
    try:
        paths = subprocess.run([python, "-c", code], capture_output=True, text=True,
                               check=False).stdout.splitlines()
    except OSError:
        return []
    return [folder for path in paths for folder in pathlib.Path(path, "nvidia").glob("**/lib")]


def nvidia_libraries(programs):
    """Returns the libraries that a bundle needs but doesn't contain."""
    listed = programs / "nvidia-libraries"
    return (listed.read_text(encoding="ascii").split() if listed.exists() else
            ["libcudnn.so.9", "libcublasLt.so.13"])


def environment(programs, python):
    """Returns the environment of our programs, and the missing libraries. Not for Python, whose
    packages have their own libraries: ours use the same, so that both have the same cuDNN."""
    cached = loader_paths()
    folders = [*(pathlib.Path(path) for path in
                 os.environ.get("LD_LIBRARY_PATH", "").split(":") if path),
               *python_packages(python)]
    others = [*pathlib.Path("/usr/local").glob("cuda*/lib64"),
              *pathlib.Path("/usr/local").glob("cuda*/targets/x86_64-linux/lib"),
              *pathlib.Path("/usr/local").glob("cuda*/lib")]
    found, missing = [], []
    for library in [*nvidia_libraries(programs), *OPTIONAL_LIBRARIES]:
        def first(places):
            return next((folder for folder in places if (folder / library).exists()), None)
        folder = first(folders) or (None if library in cached else first(others))
        if folder:
            found.append(str(folder))
        elif library not in cached and library not in OPTIONAL_LIBRARIES:
            missing.append(library)
    paths = [*dict.fromkeys(found), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    # NCCL looks for a network, which GPUs of one machine don't need.
    result = {"NCCL_SOCKET_IFNAME": "lo", **os.environ}
    if paths:
        result["LD_LIBRARY_PATH"] = ":".join(paths)
    return result, missing


def gpu_tests(programs):
    """Returns the commands of the tests labelled gpu, each in the folder of the programs."""
    listed = programs / "gpu-tests.json"
    if listed.exists():
        return json.loads(listed.read_text(encoding="utf-8"))
    # In a separate folder: ctest starts a new log in the folder where it is called, and the log in
    # the programs' folder may belong to the ctest run that started this program.
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(
            f'subdirs("{programs.resolve()}")\n', encoding="utf-8")
        described = subprocess.run(["ctest", "--test-dir", folder, "-L", "^gpu$",
                                    "--show-only=json-v1"],
                                   capture_output=True, text=True, check=True)
    return {test["name"]: [os.path.relpath(word, programs) if word.startswith(str(programs)) else
                           word for word in test["command"]]
            for test in json.loads(described.stdout)["tests"]}


def limited_output(command, env=None):
    """Returns the exit status and output of a command that may wait for the driver, or (None, "")
    if it hasn't ended after SECONDS_TO_START. If it can't be killed, it is left behind."""
    process = subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=SECONDS_TO_START)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        print(f"{pathlib.Path(command[0]).name} has not ended after {SECONDS_TO_START} s: does the "
              "driver hang?", flush=True)
        os.killpg(process.pid, signal.SIGKILL)
        try:
            process.communicate(timeout=2)
        except subprocess.TimeoutExpired:
            print("it can't be killed either: no program can use this GPU", flush=True)
        return None, ""


def gpu_problem(programs, env):
    """Returns the reason why no test can run here, as one of the tests reports it, or None."""
    tests = gpu_tests(programs)
    if not tests:
        return "skipped: no GPU: these programs were built without CUDA"
    program = next(iter(tests.values()))[0]
    status, output = limited_output([programs / program, "--gtest_list_tests"], env)
    # After a timeout, the callers try all the same: first_light's logs tell more.
    return output.strip() if status == 77 else None


def start(args):
    """Returns the environment for programs. Exits with status 77 if there is no usable GPU."""
    env, missing = environment(args.programs, args.python)
    if args.device == "cpu":
        print("A TRIAL ON THE CPU: nothing here says anything about a GPU", flush=True)
        return env
    problem = (f"skipped: no GPU: there is no {' and no '.join(missing)} on this machine"
               if missing else gpu_problem(args.programs, env))
    if problem:
        print(problem)
        sys.exit(77)
    return env


def is_data(folder):
    return all((folder / f"{split}.tfrecords").exists() for split in SPLITS)


def data(programs, given, env):
    """Returns a folder with the TFRecord files, and their description. Makes the files once, if
    necessary."""
    if given and is_data(given):
        return given, str(given)
    packed, made = given or HERE / "data", HERE / "tfrecords"
    if not given and is_data(made):
        return made, (made / "what").read_text(encoding="utf-8")
    archive, what = packed / "cifar-10-python.tar.gz", "CIFAR-10 of the archive"
    generate = [programs / "generate_cifar10_tfrecords", "--quiet", "--data-dir"]
    with tempfile.TemporaryDirectory(dir=HERE) as scratch:
        scratch = pathlib.Path(scratch)
        build = packed / "build_archives"
        if not archive.exists() and build.exists():
            built = subprocess.run([sys.executable, build, scratch / "archives"], check=False)
            archive = scratch / "archives/cifar-10-python.tar.gz"
            what = "CIFAR-10, its pixels from JPEG copies"
            if built.returncode:
                print(f"{build} has failed with {built.returncode}", flush=True)
        if archive.exists():
            command = [*generate, scratch / "new", "--archive", archive]
        elif given:
            sys.exit(f"no data in {given}")
        else:
            command = [*generate, scratch / "new", "--synthetic"]
            what = "SYNTHETIC IMAGES: good for times, not for accuracies"
        print(f"making the data: {what}", flush=True)
        subprocess.run(command, env=env, check=True)
        (scratch / "new/what").write_text(what, encoding="utf-8")
        for file in (scratch / "new").glob("*.tar.gz"):
            file.unlink()
        try:
            (scratch / "new").rename(made)
        except OSError:
            if not is_data(made):  # another program may have made them meanwhile
                raise
    return made, what


def torch_of(python):
    """Returns the PyTorch of this Python, and the reason why it can't be compared, or None."""
    code = ("import safetensors, torch; print(torch.__version__, 'CUDA', torch.version.cuda, "
            "'cuDNN', torch.backends.cudnn.version())")
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    except OSError as error:
        return "none", f"{python}: {error}"
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return "none", f"{python}: {lines[-1]}"
    return done.stdout.strip(), None


def describe(args):
    """Returns a description of the measurements, and the reason for a missing PyTorch, or None."""
    revision = HERE / "revision"
    facts = {"revision": revision.read_text(encoding="ascii").strip() if revision.exists() else
                         "the tree's",
             "cores": len(os.sched_getaffinity(0)), "device": args.device}
    try:
        status, output = limited_output(
            ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
    except OSError:
        status = None
    facts["gpu"] = output.strip() if status == 0 else "nvidia-smi can't be run"
    facts["torch"], problem = torch_of(args.python)
    if problem:
        facts["torch"] = f"NOT COMPARED WITH PYTORCH: {problem}"
        print(facts["torch"], flush=True)
    return facts, problem
