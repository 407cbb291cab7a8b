// The value types of PickleMachine: exactly those of a CIFAR batch's pickle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace recordpipe {

// Strings and bytes of at least this many bytes are PickleBlobs; shorter ones are std::strings.
inline constexpr uint64_t kPickleBlobSize = 1024;

// The supported globals.
enum class PickleGlobal { reconstruct, ndarray, dtype, frombuffer, encode };

struct PickleMark {};
struct PickleNone {};

// A long string (the pixels). A unicode string is converted to latin-1.
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
  std::shared_ptr<PickleBlob> data = {};  // null before BUILD, and for short data
};

// Keeps numbers, and only counts all other items: the reader does not need them, and a list without
// references can't be part of a cycle.
struct PickleList {
  std::vector<int64_t> numbers = {};
  size_t others = 0;
};

struct PickleTuple;
struct PickleDict;

// Containers are shared between the memo and the stack, as in Python.
using PickleValue =
    std::variant<PickleMark, PickleNone, int64_t, PickleGlobal, std::shared_ptr<const std::string>,
                 std::shared_ptr<PickleBlob>, std::shared_ptr<const PickleTuple>,
                 std::shared_ptr<PickleList>, std::shared_ptr<PickleDict>,
                 std::shared_ptr<PickleDtype>, std::shared_ptr<PickleArray>>;

struct PickleTuple {
  std::vector<PickleValue> items = {};
  int depth = 1;  // nesting depth of tuples, this one included
};

// The entries that the reader needs, by name.
struct PickleDict {
  std::shared_ptr<PickleArray> data = {};
  std::shared_ptr<PickleList> labels = {};
  std::shared_ptr<PickleList> fine_labels = {};
  std::shared_ptr<PickleList> coarse_labels = {};
};

}  // namespace recordpipe
