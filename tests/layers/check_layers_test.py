#!/usr/bin/env python3
"""Shows that check_layers.py can fail: made-up trees with one thing wrong."""

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
            "dataset/base/error.h": HEADER + "#include <string>\n#include <sys/stat.h>\n",
            "dataset/io/file.h": HEADER + '#include "dataset/base/error.h"\n',
            "dataset/io/deflate.cc": "#include <zlib.h>\n",
            "dataset/io/http_client.cc": "#include <curl/curl.h>\n",
            "dataset/record/reader.cc": '#include "dataset/base/error.h"\n#include "dataset/io/file.h"\n',
            "dataset/example/view.cc": '#include "proto/example.pb.h"\n',
            "proto/example.proto": 'import "proto/feature.proto";\n',
            "tools/tfrecord.cc": '#include <CLI/CLI.hpp>\n#include "dataset/record/reader.cc"\n',
            "tests/io/file_test.cc": '#include <gtest/gtest.h>\n#include <curl/curl.h>\n'
                                     '#include "dataset/io/file.h"\n',
        })

    def test_a_layer_above(self):
        self.expect({
            "dataset/io/file.h": HEADER,
            "dataset/base/error.cc": '#include <string>\n#include "dataset/io/file.h"\n',
        }, "dataset/base/error.cc:2: includes \"dataset/io/file.h\": dataset/base may not know dataset/io")

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

    def test_tests_are_not_for_others(self):
        self.expect({
            "tests/support/bytes.h": HEADER,
            "trainer/model.cc": '#include "tests/support/bytes.h"\n',
        }, "trainer may not know tests")

    def test_libraries_out_of_place(self):
        for library in ("curl/curl.h", "openssl/evp.h", "archive.h", "google/protobuf/message.h",
                        "tbb/task_arena.h", "oneapi/tbb.h", "spdlog/spdlog.h", "CLI/CLI.hpp"):
            self.expect({"dataset/record/reader.cc": f"#include <{library}>\n"}, "may")
        for library in ("spdlog/spdlog.h", "CLI/CLI.hpp", "gtest/gtest.h"):
            self.expect({"dataset/cifar/archive.cc": f"#include <{library}>\n"}, "may")
        self.expect({"dataset/io/file.cc": "#include <curl/curl.h>\n"}, "only dataset/io/http_")

    def test_an_unknown_library(self):
        self.expect({"trainer/model.cc": "#include <eigen3/Eigen/Core>\n"}, "not in the tables")

    def test_a_header_without_pragma_once(self):
        self.expect({"dataset/base/error.h": "// no #pragma once\n"}, "has no #pragma once")

    def test_paths_that_lead_nowhere(self):
        self.expect({"dataset/io/file.cc": '#include "file.h"\n'}, "not a path from the root")
        self.expect({"dataset/io/file.cc": '#include "../io/file.h"\n'}, "not a path from the root")
        self.expect({"dataset/io/file.cc": '#include "dataset/io/none.h"\n'}, "no such file")

    def test_sources_in_no_layer(self):
        self.expect({"dataset/new_layer/file.cc": ""}, "in no known layer")
        self.expect({"README.md": ""}, "no sources found")


if __name__ == "__main__":
    unittest.main()
