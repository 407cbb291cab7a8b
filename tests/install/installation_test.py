#!/usr/bin/env python3
"""Tests the result of `cmake --install` with programs outside the tree.

usage: installation_test.py [unittest options]

Environment: RECORDPIPE_BUILD, the build folder; it is installed to its folder `installed`.

A case is a program and its components. All of them are built in one project, each in a folder where
only the packages that its components need can be found, and linked again with what pkg-config says.
The libraries that each program links (NEEDED, by readelf) are compared with the allowed ones.
"""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GOLDEN = ROOT / "data/golden"


@dataclasses.dataclass
class Case:
    source: pathlib.Path
    components: list
    packages: set  # that CMake may find
    libraries: set  # that the program may link, apart from the compiler's own
    output: str  # a regular expression
    arguments: list = dataclasses.field(default_factory=list)
    headers: dict = dataclasses.field(default_factory=dict)  # the user's own


def own_header(name):
    return f"#pragma once\nnamespace own {{ inline constexpr bool {name} = true; }}\n"


RECORD = ({"TBB", "Threads", "ZLIB"}, {"isal", "tbb", "z", "zstd"})
PROTO = ({"Protobuf", "Threads"}, {"protobuf"})
DIGEST = (RECORD[0] | {"OpenSSL"}, RECORD[1] | {"crypto"})
TOOLKIT = (DIGEST[0], DIGEST[1] | {"re2"})
PIPELINE = RECORD
CIFAR = (PIPELINE[0] | DIGEST[0] | {"LibArchive"},
         PIPELINE[1] | DIGEST[1] | {"archive"})

TRAINER = (PIPELINE[0] | PROTO[0] | {"dnnl", "JPEG", "OpenCL", "OpenMP", "PNG", "fmt"},
           PIPELINE[1] | PROTO[1] | {"dnnl", "fmt", "gomp", "jpeg", "OpenCL", "png16",
                           "webp"})

CASES = {
    "record": Case(HERE / "record.cc", ["record"], *RECORD, r"one\ntwo\n"),
    "digest": Case(HERE / "digest.cc", ["digest"], *DIGEST, r"e3b0c442\w*\n"),
    "example": Case(ROOT / "examples/read_tfrecords.cc", ["example"], *RECORD,
                    r"record 0: (.|\n)* 10 records\n", [GOLDEN / "examples.tfrecords"]),
    # (libcurl is loaded when it is needed.)
    "http": Case(HERE / "http.cc", ["http"], *DIGEST, r".*ftp(.|\n)*"),
    "object_store": Case(HERE / "object_store.cc", ["object_store"], *DIGEST,
                         r"s3://x/key: the bucket has no valid name.*\n"),
    "image": Case(HERE / "image.cc", ["image"], *RECORD, r"9 7\n"),
    "image_batches": Case(HERE / "image_batches.cc", ["image_batches"],
                          PIPELINE[0] | {"JPEG", "PNG"},
                          PIPELINE[1] | {"jpeg", "png16", "webp"}, r"8x8, 2 images\n",
                          [ROOT / "data/images/rgb444.jpg", ROOT / "data/images/rgb8.png"]),
    "image_codecs": Case(HERE / "image_codecs.cc", ["image_codecs"], RECORD[0] | {"JPEG", "PNG"},
                         RECORD[1] | {"jpeg", "png16", "webp"}, r"3 channels, \d+ values\n" * 2,
                         [ROOT / "data/images/rgb444.jpg", ROOT / "data/images/rgb8.png"]),
    "pipeline": Case(ROOT / "examples/save_and_resume.cc", ["pipeline"], *PIPELINE,
                     r"(batch \d: .*\n){2}", [GOLDEN / "examples.tfrecords", "state", "2"]),
    # Users' headers and their folders may have the same names as the library's.
    "own_folders": Case(HERE / "own_folders.cc", ["pipeline", "record"], *PIPELINE, r"one\ntwo\n",
                        headers={"base/error.h": own_header("error"),
                                 "dataset/dataset.h": own_header("dataset"),
                                 "dataset/pipeline/plan/plan.h": own_header("plan"),
                                 "internal/ticket.h": own_header("ticket"),
                                 "proto/iterator_state.pb.h": own_header("iterator_state")}),
    "tfds": Case(HERE / "tfds.cc", ["tfds"], PIPELINE[0] | {"JPEG", "PNG"},
                 PIPELINE[1] | {"jpeg", "png16", "webp"}, r"x = 7, Examples 5 to 10\n"),
    "rlds": Case(HERE / "rlds.cc", ["rlds"], PIPELINE[0] | {"JPEG", "PNG"},
                 PIPELINE[1] | {"jpeg", "png16", "webp"}, r"3 steps, a = 1 2 2\n"),
    "proto": Case(HERE / "proto.cc", ["proto"], *PROTO, r'.*key: "label".*value: 3 .*\n'),
    "cifar": Case(HERE / "cifar.cc", ["cifar"], *CIFAR, r"(.|\n)*train(.|\n)*"),
    "toolkit": Case(HERE / "toolkit.cc", ["toolkit"], *TOOLKIT,
                    r'{"record": 0, .*"name": \["cat"\]}}\n'),
    "toolkit_arrays": Case(HERE / "toolkit_arrays.cc", ["toolkit_arrays"],
                           TOOLKIT[0] | {"JPEG", "LibArchive", "PNG"},
                           TOOLKIT[1] | {"archive", "jpeg", "png16", "webp"},
                           r"an archive\nguessed from 3072 bytes, as in CIFAR\n"),
    "toolkit_images": Case(HERE / "toolkit_images.cc", ["toolkit_images"],
                           TOOLKIT[0] | {"JPEG", "PNG"},
                           TOOLKIT[1] | {"jpeg", "png16", "webp"}, r"smaller\n",
                           [ROOT / "data/images/rgb444.jpg"]),
    "trainer": Case(ROOT / "examples/own_hook.cc", ["trainer"], *TRAINER,
                    r"(loss = .*\n)+accurate 20 times in a row: .*\n", ["job"]),
    "trainer_mpi": Case(HERE / "trainer_mpi.cc", ["trainer_mpi"], TRAINER[0] | {"MPI"},
                        TRAINER[1] | {"mpi", "mpi_cxx"},
                        r"(cpu, .*|.* built without MPI.*)\n"),
}
# Without --no-as-needed, a linker may drop libraries that aren't needed. Without debugging
# information, it takes half the time.
LINK_ALL = "-Wl,--no-as-needed,--strip-debug"
# The presets read the same variable (CONTRIBUTING.md).
WARNINGS_AS_ERRORS = (["-Werror"] if os.environ.get("RECORDPIPE_WARNINGS_AS_ERRORS") == "ON"
                      else [])
ALL_PACKAGES = set().union(*(case.packages for case in CASES.values()))
COMPILERS_OWN = {"c", "gcc_s", "ld-linux-x86-64", "ld-linux-aarch64", "m", "pthread", "stdc++"}


def run(*command, cwd, env=None):
    result = subprocess.run([str(part) for part in command], cwd=cwd, env=env, text=True,
                            capture_output=True, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{command}: exit status {result.returncode}\n"
                             f"{result.stdout[-2000:]}\n{result.stderr[-2000:]}")
    return result.stdout


def needed(program):
    """The shared libraries that `program` links itself: {"z", ...}"""
    text = run("readelf", "--dynamic", "--wide", program, cwd="/")
    return set(re.findall(r"\(NEEDED\).*\[(?:lib)?([^\]]+?)\.so[^\]]*\]", text))


def install(build):
    # Installs to another folder first, then moves it: an installation must be relocatable.
    first, prefix = build / "installed.first", build / "installed"
    for folder in (first, prefix):
        shutil.rmtree(folder, ignore_errors=True)
    run("cmake", "--install", build, "--prefix", first, cwd=build)
    first.rename(prefix)
    include = prefix / "include"
    headers = [header for header in include.rglob("*") if header.is_file()]
    missing = [f"{header.relative_to(include)} includes {name}" for header in headers
               for name in re.findall(r'^#include "(.*)"', header.read_text("utf-8"), re.MULTILINE)
               if not name.startswith("recordpipe/") or not (include / name).is_file()]
    if missing or not headers:
        sys.exit("\n".join(["headers that are not installed:", *missing]))
    others = [path.name for path in include.iterdir() if path.name != "recordpipe"]
    if others:
        sys.exit(f"installed beside include/recordpipe: {', '.join(others)}")


def pkg_config(prefix, option, modules):
    env = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
    return run("pkg-config", *option, *modules, cwd="/", env=env).split()


BUILD = pathlib.Path(os.environ["RECORDPIPE_BUILD"])
PREFIX = BUILD.resolve() / "installed"


def setUpModule():
    install(BUILD)


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        shutil.copy(HERE / "consumer/CMakeLists.txt", cls.folder)
        for name, case in CASES.items():
            cls.write(cls.folder / name, case)
        run("cmake", "-G", "Ninja", "-B", "build", f"-DCMAKE_PREFIX_PATH={PREFIX}",
            f"-DCMAKE_EXE_LINKER_FLAGS={LINK_ALL}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            f"-DCASES={';'.join(CASES)}", cwd=cls.folder)
        run("cmake", "--build", "build", cwd=cls.folder)
        cls.commands = {pathlib.Path(command["file"]).parent.name: command["command"].split()
                        for command in json.loads(
                            (cls.folder / "build/compile_commands.json").read_text("utf-8"))}

    @staticmethod
    def write(folder, case):
        for name, text in case.headers.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        folder.mkdir(exist_ok=True)
        includes = "".join(f'#include "{name}"\n' for name in case.headers)
        includes += '#include "recordpipe/error.h"\n'  # an old path
        (folder / "program.cc").write_text(includes + case.source.read_text("utf-8"), "utf-8")
        hidden = "".join(f"set(CMAKE_DISABLE_FIND_PACKAGE_{package} ON)\n"
                         for package in sorted(ALL_PACKAGES - case.packages))
        (folder / "CMakeLists.txt").write_text(
            f"{hidden}consumer({folder.name} {' '.join(case.components)})\n", "utf-8")

    def check(self, case, program):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            self.assertRegex(run(program, *case.arguments, cwd=folder),
                             re.compile(f"^{case.output}$"))
        linked = needed(program)
        self.assertIn("stdc++", linked)
        self.assertEqual(linked - COMPILERS_OWN - case.libraries, set())

    def includes(self, flags):
        """The folders of -I and -isystem, apart from the program's own."""
        found = re.findall(r"-(?:I|isystem) ?(\S+)", " ".join(flags))
        return {os.path.realpath(folder) for folder in found} - {str(self.folder.resolve())}

    def test_by_find_package(self):
        for name, case in CASES.items():
            with self.subTest(name):
                self.check(case, self.folder / "build" / name / name)

    def test_by_pkg_config(self):
        for name, case in CASES.items():
            with self.subTest(name):
                modules = [f"recordpipe-{component}" for component in case.components]
                flags = pkg_config(PREFIX, ["--cflags"], modules)
                own = self.folder / name
                used = self.includes(self.commands[name]) - {str(own.resolve())}
                self.assertIn(str(PREFIX / "include"), used)
                self.assertLessEqual(used, self.includes(flags))
                object_file = f"build/{name}/CMakeFiles/{name}.dir/program.cc.o"
                run("c++", LINK_ALL, object_file, "-o", own / "program",
                    *pkg_config(PREFIX, ["--libs"], modules), cwd=self.folder)
                self.check(case, own / "program")

    def test_a_compiler_needs_nothing_else(self):
        modules = [f"recordpipe-{component}" for component in CASES["record"].components]
        run("c++", "-std=c++20", self.folder / "record/program.cc", "-o", "alone",
            *pkg_config(PREFIX, ["--cflags", "--libs"], modules), cwd=self.folder)
        self.check(CASES["record"], self.folder / "alone")


class Headers(unittest.TestCase):
    """All headers in one unit, in this order and the other way round, so that a header that needs
    another one comes before it once; with the warnings that users may enable."""

    def test_in_any_order(self):
        include = PREFIX / "include"
        headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
        self.assertGreater(len(headers), 100)
        modules = [path.stem for path in (PREFIX / "lib/pkgconfig").glob("*.pc")]
        flags = pkg_config(PREFIX, ["--cflags"], modules)
        for order in (headers, headers[::-1]):
            result = subprocess.run(
                ["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
                 *WARNINGS_AS_ERRORS, *flags, "-x", "c++", "-"],
                input="".join(f'#include "{header}"\n' for header in order),
                text=True, capture_output=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""))


class Refusals(unittest.TestCase):
    """Errors name the missing part."""

    def test_a_build_without_the_packages_of_some_parts(self):
        hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON"
                  for package in ("CLI11", "CURL", *(ALL_PACKAGES - RECORD[0]))]
        hidden.append("-DHWY_INCLUDE_DIR:PATH=")
        with tempfile.TemporaryDirectory(prefix="recordpipe-") as folder:
            text = run("cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DRECORDPIPE_WHOLE=OFF",
                       "-DRECORDPIPE_TESTS=OFF", *hidden, cwd=folder)
            targets = run("ninja", "-t", "targets", "all", cwd=folder)
        self.assertIn("Not building recordpipe::http: CURL::libcurl not found", text)
        self.assertIn("Not building cifar10_main: recordpipe::training_programs not found", text)
        self.assertEqual(set(re.findall(r"^librecordpipe_(\w+)\.a:", targets, re.MULTILINE)),
                         {"example", "pipeline", "record"})

    def configure(self, components, *options):
        with tempfile.TemporaryDirectory(prefix="recordpipe-") as folder:
            shutil.copy(HERE / "consumer/CMakeLists.txt", folder)
            case = pathlib.Path(folder) / "case"
            case.mkdir()
            (case / "CMakeLists.txt").write_text(f"consumer(case {components})\n", "utf-8")
            result = subprocess.run(
                ["cmake", "-G", "Ninja", "-B", "build", "-DCASES=case",
                 f"-DCMAKE_PREFIX_PATH={PREFIX}", *options],
                cwd=folder, text=True, capture_output=True, check=False)
        self.assertNotEqual(result.returncode, 0)
        return " ".join(result.stderr.split())

    def test_a_component_that_is_not_there(self):
        self.assertIn("recordz is not installed", self.configure("record recordz"))

    def test_a_package_that_is_not_there(self):
        self.assertIn("digest needs the package OpenSSL",
                      self.configure("http", "-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON"))


if __name__ == "__main__":
    unittest.main()
