// Executes the opcodes of a pickle on a stack machine and returns the dict, for pickle.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// Strings (text or bytes) of at least this many bytes are PickleBlobs; shorter strings are
// std::strings.
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

// Stores the integers and only counts the other items: the reader does not need the other items,
// and a list without references can't be part of a cycle.
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

class PickleInput {
 public:
  // `source` has `size` bytes.
  PickleInput(ByteSource& source, uint64_t size) : source_(source), size_(size) {}

  uint8_t read_u8();
  // Reads a little-endian integer of `bytes` bytes (at most 8).
  uint64_t read_little_endian(size_t bytes);
  std::string read_string(uint64_t length);
  // Reads up to the next newline and returns the bytes before it. Throws Error{corrupted} if there
  // are more than `limit` bytes.
  std::string read_line(size_t limit);
  // Fills `out`; a large `out` is read directly from the source.
  void read_into(std::span<std::byte> out);

  // Throws Error{corrupted} if fewer than `length` bytes are left.
  void expect_left(uint64_t length, const char* what) const;
  bool at_end();

  // The offset of the next byte. begin_opcode() stores this offset as that of the current opcode.
  uint64_t offset() const { return offset_; }
  void begin_opcode() { opcode_offset_ = offset_; }

  // Throw an Error with the offset of the current opcode.
  [[noreturn]] void fail(ErrorKind kind, std::string reason, std::string hint = {}) const;
  [[noreturn]] void fail_corrupted(std::string reason) const;
  [[noreturn]] void fail_limit(std::string reason) const;

 private:
  bool refill();

  ByteSource& source_;
  uint64_t size_;
  uint64_t offset_ = 0;
  uint64_t opcode_offset_ = 0;
  std::array<std::byte, 16384> buffer_;
  size_t next_ = 0;
  size_t filled_ = 0;
};

class PickleMachine {
 public:
  explicit PickleMachine(PickleInput& input) : input_(input) {}

  // Executes the pickle from PROTO to STOP and returns the dict on the stack.
  std::shared_ptr<const PickleDict> run();

 private:
  // The limits are far above what a batch of kMaxCifarRows images needs. An opcode allocates about
  // 100 bytes plus its string, so the limit on opcodes also limits the memory.
  static constexpr size_t kMaxOpcodes = 1 << 20;
  static constexpr size_t kMaxStack = 1 << 16;
  static constexpr size_t kMaxMemo = 1 << 19;
  static constexpr int kMaxDepth = 8;
  static constexpr size_t kMaxNameSize = 256;

  void read_protocol();
  void execute(uint8_t opcode);

  void push(PickleValue value);
  PickleValue pop();
  template <class T>
  T pop_as(const char* what) {
    PickleValue value = pop();
    T* typed = std::get_if<T>(&value);
    if (!typed) {
      input_.fail_corrupted(std::string("another kind of value where a ") + what + " belongs");
    }
    return std::move(*typed);
  }
  // Pops the topmost mark and the values above it, and returns those values.
  std::vector<PickleValue> pop_to_mark();

  void push_string(uint64_t length);
  void push_unicode(uint64_t length);
  void push_long(size_t bytes);
  void push_tuple(std::vector<PickleValue> items);
  void push_tuple_of(size_t count);

  void memoize(uint64_t index);
  void push_memo(uint64_t index);

  void append_to_list(const std::vector<PickleValue>& items);
  void set_items(const std::vector<PickleValue>& keys_and_values);
  void set_item(const PickleValue& key, const PickleValue& value);

  // pickle.cc
  void push_global(std::string_view module, std::string_view name);
  PickleGlobal pop_global();
  void reduce();
  void build();
  void build_array(PickleArray& array, const std::vector<PickleValue>& state);
  void check_dtype_state(const std::vector<PickleValue>& state);
  PickleValue encode(const std::vector<PickleValue>& arguments);
  PickleValue make_dtype(const std::vector<PickleValue>& arguments);
  PickleValue from_buffer(const std::vector<PickleValue>& arguments);
  std::vector<int64_t> shape_of(const PickleValue& value);
  std::shared_ptr<PickleBlob> data_of(const PickleValue& value);

  PickleInput& input_;
  std::vector<PickleValue> stack_;
  std::vector<PickleValue> memo_;  // a PickleMark is an unused entry
  size_t memo_used_ = 0;
};

}  // namespace recordpipe
