#!/usr/bin/env python3
"""Tests that check_layers.py can fail: invented trees, each with one error."""

import pathlib
import tempfile
import unittest

import check_layers

HEADER = "// A header.\n#pragma once\n"


class CheckLayers(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return check_layers.check_tree(root)

    def expect(self, files, *expected):
        problems = self.problems(files)
        self.assertEqual(len(problems), len(expected), problems)
        for problem, part in zip(problems, expected):
            self.assertIn(part, problem)

    def test_what_the_tables_allow(self):
        self.expect({
            "dataset/include/recordpipe/base/error.h": HEADER + "#include <string>\n#include <sys/stat.h>\n",
            "dataset/include/recordpipe/io/file.h": HEADER + '#include "recordpipe/base/error.h"\n',
            "dataset/io/posix.h": HEADER + '#include "recordpipe/io/file.h"\n',
            "dataset/io/compression/deflate.cc": '#include <zlib.h>\n#include "dataset/io/posix.h"\n',
            "dataset/http/client.cc": "#include <curl/curl.h>\n",
            "dataset/record/reader.cc": '#include "recordpipe/base/error.h"\n#include "recordpipe/io/file.h"\n',
            "dataset/example/view.cc": '#include "recordpipe/proto/example.pb.h"\n',
            "proto/example.proto": 'import "recordpipe/proto/feature.proto";\n',
            "tools/support/command_line/option.cc": "#include <CLI/Option.hpp>\n",
            "tools/tfrecord.cc": '#include <fmt/format.h>\n#include "dataset/record/reader.cc"\n',
            "tests/io/file_test.cc": '#include <gtest/gtest.h>\n#include <curl/curl.h>\n'
                                     '#include "recordpipe/io/file.h"\n'
                                     '#include "dataset/io/posix.h"\n',
            "examples/read.cc": '#include "recordpipe/io/file.h"\n',
        })

    def test_threads(self):
        self.expect({
            "dataset/parallel/crew.cc": "std::thread([] {}).detach();\n",
            "tests/io/file_test.cc": "std::jthread thread([] {});\n",
            "dataset/io/file.cc": "std::thread::id id;  // of a std::thread\n"
                                  "const auto cores = std::thread::hardware_concurrency();\n",
        })
        self.expect({
            "dataset/io/file.cc": "\nstd::thread thread_;\n",
            "python/native/file.cc": "auto call = std::async(std::launch::async, run);\n",
            "tools/file.cc": "// A comment.\nstd::vector<std::jthread> threads;\n",
            "trainer/file.cc": "pthread_create(&thread, nullptr, run, nullptr);\n",
        }, "dataset/io/file.cc:2: std::thread:", "python/native/file.cc:1: std::async:",
            "tools/file.cc:2: std::jthread:", "trainer/file.cc:1: pthread_create(:")

    def test_a_layer_above(self):
        self.expect({
            "dataset/include/recordpipe/io/file.h": HEADER,
            "dataset/base/error.cc": '#include <string>\n#include "recordpipe/io/file.h"\n',
        }, "dataset/base/error.cc:2: includes \"recordpipe/io/file.h\": dataset/base may not know dataset/io")
        self.expect({
            "dataset/io/posix.h": HEADER,
            "dataset/base/error.cc": '#include "dataset/io/posix.h"\n',
        }, "dataset/base may not know dataset/io")

    def test_a_layer_beside(self):
        self.expect({
            "dataset/image/image.h": HEADER,
            "dataset/pipeline/map.h": HEADER + '  #  include "dataset/image/image.h"\n',
        }, "dataset/pipeline may not know dataset/image")

    def test_a_part_that_is_included(self):
        self.expect({
            "dataset/pipeline/map.h": HEADER,
            "dataset/image/crop.inc": "#include <zlib.h>\n#include \"dataset/pipeline/map.h\"\n",
        }, "dataset/image/crop.inc:1: includes <zlib.h>", "dataset/image may not know")

    def test_public_headers(self):
        private = {"dataset/io/posix.h": HEADER}
        self.expect(private | {
            "dataset/include/recordpipe/io/file.h": HEADER + '#include "dataset/io/posix.h"\n',
        }, "only public headers may be included here")
        self.expect(private | {"examples/read.cc": '#include "dataset/io/posix.h"\n'},
                    "only public headers may be included here")
        public = {"dataset/include/recordpipe/io/file.h": HEADER}
        self.expect(public | {
            "dataset/io/file.cc": '#include "dataset/include/recordpipe/io/file.h"\n',
        }, "public headers are included as \"recordpipe/...\"")
        self.expect({"dataset/include/recordpipe/unheard_of.h": HEADER}, "in no known layer")
        self.expect({"dataset/io/file.cc": '#include "recordpipe/unheard_of.h"\n'}, "no such file")

    def test_tests_are_not_for_others(self):
        self.expect({
            "tests/support/bytes.h": HEADER,
            "trainer/model.cc": '#include "tests/support/bytes.h"\n',
        }, "trainer may not know tests")

    def test_libraries_out_of_place(self):
        for library in ("curl/curl.h", "openssl/evp.h", "archive.h", "google/protobuf/message.h",
                        "spdlog/spdlog.h", "CLI/CLI.hpp"):
            self.expect({"dataset/record/reader.cc": f"#include <{library}>\n"}, "may")
        self.expect({"tools/tfrecord.cc": "#include <CLI/CLI.hpp>\n"},
                    "only tools/support/command_line/")
        for library in ("spdlog/spdlog.h", "CLI/CLI.hpp", "gtest/gtest.h"):
            self.expect({"dataset/cifar/archive.cc": f"#include <{library}>\n"}, "may")
        self.expect({"dataset/io/file.cc": "#include <curl/curl.h>\n"}, "only dataset/http/")

    def test_an_unknown_library(self):
        self.expect({"trainer/model.cc": "#include <eigen3/Eigen/Core>\n"}, "not in the tables")

    def test_a_header_without_pragma_once(self):
        self.expect({"dataset/base/base64.h": "// no #pragma once\n"}, "has no #pragma once")

    def test_paths_that_lead_nowhere(self):
        self.expect({"dataset/io/file.cc": '#include "file.h"\n'}, "not a path from the root")
        self.expect({"dataset/io/file.cc": '#include "../io/file.h"\n'}, "not a path from the root")
        self.expect({"dataset/io/file.cc": '#include "dataset/io/none.h"\n'}, "no such file")

    def test_sources_in_no_layer(self):
        self.expect({"dataset/new_layer/file.cc": ""}, "in no known layer")
        self.expect({"README.md": ""}, "no sources found")


if __name__ == "__main__":
    unittest.main()
