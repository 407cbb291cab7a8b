// The kinds of value that a CIFAR batch's pickle is made of. There are no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace recordpipe {

// A string or bytes of at least this many bytes is a PickleBlob, a shorter one a std::string.
inline constexpr uint64_t kPickleBlobSize = 1024;

// What a pickle may name.
enum class PickleGlobal { reconstruct, ndarray, dtype, frombuffer, encode };

struct PickleMark {};
struct PickleNone {};

// A long string: the pixels. From a unicode string, its code points as latin-1.
struct PickleBlob {
  size_t size = 0;
  std::unique_ptr<std::byte[]> bytes = {};
};

struct PickleDtype {
  std::string name = {};  // "u1", "O8", ...
};

struct PickleArray {
  std::vector<int64_t> shape = {};
  std::shared_ptr<const PickleDtype> dtype = {};
  bool fortran_order = false;
  std::shared_ptr<PickleBlob> data = {};  // null until BUILD, or where it is short
};

// Numbers are kept, anything else is counted only: nothing this reader wants lies in a list of
// something else, and a list that holds no values can't be part of a cycle.
struct PickleList {
  std::vector<int64_t> numbers = {};
  size_t others = 0;
};

struct PickleTuple;
struct PickleDict;

// Containers are shared, as in Python: the memo and the stack refer to the same one.
using PickleValue =
    std::variant<PickleMark, PickleNone, int64_t, PickleGlobal, std::shared_ptr<const std::string>,
                 std::shared_ptr<PickleBlob>, std::shared_ptr<const PickleTuple>,
                 std::shared_ptr<PickleList>, std::shared_ptr<PickleDict>,
                 std::shared_ptr<PickleDtype>, std::shared_ptr<PickleArray>>;

struct PickleTuple {
  std::vector<PickleValue> items = {};
  int depth = 1;  // tuples inside each other, this one included
};

// The entries that this reader wants, by name.
struct PickleDict {
  std::shared_ptr<PickleArray> data = {};
  std::shared_ptr<PickleList> labels = {};
  std::shared_ptr<PickleList> fine_labels = {};
  std::shared_ptr<PickleList> coarse_labels = {};
};

}  // namespace recordpipe
