// The stack machine of pickle.h: executes the opcodes and returns the dict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/applications/cifar/pickle_input.h"
#include "dataset/applications/cifar/pickle_values.h"

namespace recordpipe {

class PickleMachine {
 public:
  explicit PickleMachine(PickleInput& input) : input_(input) {}

  // Runs from PROTO to STOP and returns the dict on the stack.
  std::shared_ptr<const PickleDict> run();

 private:
  // Limits far above the needs of a batch of kMaxCifarRows images. An opcode creates about 100
  // bytes plus its string, so the number of opcodes limits the memory.
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
  // Pops the values above the topmost mark, and the mark.
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

  // pickle_functions.cc
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
  std::vector<PickleValue> memo_;  // PickleMark: an unused entry
  size_t memo_used_ = 0;
};

}  // namespace recordpipe
