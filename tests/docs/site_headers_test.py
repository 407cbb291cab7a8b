#!/usr/bin/env python3
"""Tests the pages of public headers that tools/site/headers.py makes. Standard library only."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/site"))
sys.dont_write_bytecode = True
import headers  # noqa: E402


class Headers(unittest.TestCase):
    def test_a_header(self):
        page = headers.header_page(
            """// Reads a<b>.
//
//     f(1);
#pragma once
#include <vector>

namespace recordpipe {
class Later;
struct Later2;

// How many.
enum class Kind {
  one,  // 1
};

// Not shown.
namespace internal {
struct Hidden {};
}  // namespace internal

// Does it.
template <class T>
int f(T t) {
  return t;
}

// A class.
class C {
 public:
  C() : a_(1) {}
  // The value.
  int a() const { return a_; }

 private:
  int a_;
};
}  // namespace recordpipe
""",
            pathlib.Path("dataset/include/recordpipe/base/a.h"),
        )
        for text in (
            "# base/a.h\n",
            '#include "recordpipe/base/a.h"',
            "Reads a&lt;b>.",
            "``` cpp\nf(1);\n```",
            "## enum class Kind\n\nHow many.\n",
            "  one,  // 1\n};",
            "## f\n\nDoes it.\n",
            "int f(T t);\n```",
            "## class C\n\nA class.\n",
            "  C();\n",
            "  int a() const;\n",
        ):
            self.assertIn(text, page)
        for text in ("Hidden", "Not shown", "Later", "a_", "private", "return"):
            self.assertNotIn(text, page)

    def test_each_public_header_has_a_page(self):
        found = headers.public_headers(ROOT)
        self.assertGreater(len(found), 100)
        for path in found:
            page = headers.header_page((ROOT / path).read_text(encoding="utf-8"), path)
            self.assertIn("\n## ", page, path)
            self.assertNotRegex(page, r"(?m)^##+ *(requires)?$|^ *private:", path)


if __name__ == "__main__":
    unittest.main()
