// Implements the stack, the memo, strings, tuples, lists and the dict of PickleMachine.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "dataset/cifar/pickle_machine.h"
#include "recordpipe/cifar/cifar_batch.h"

namespace recordpipe {
namespace {

// Converts UTF-8 with code points up to U+00FF to latin-1, byte by byte.
class Latin1Decoder {
 public:
  // Returns false for invalid UTF-8 and for other code points. Writes at most one byte per byte of
  // input.
  bool decode(uint8_t byte, std::byte*& out) {
    if (lead_ != 0) {
      if ((byte & 0xc0) != 0x80) return false;
      *out++ = static_cast<std::byte>(lead_ << 6 | (byte & 0x3f));
      lead_ = 0;
      return true;
    }
    if (byte < 0x80) {
      *out++ = static_cast<std::byte>(byte);
    } else if (byte == 0xc2 || byte == 0xc3) {
      lead_ = byte;  // its two low bits are the high bits of the code point
    } else {
      return false;
    }
    return true;
  }
  bool complete() const { return lead_ == 0; }

 private:
  uint8_t lead_ = 0;
};

}  // namespace

void PickleMachine::push(PickleValue value) {
  if (stack_.size() == kMaxStack) {
    input_.fail_limit("more than " + std::to_string(kMaxStack) + " values on the stack");
  }
  stack_.push_back(std::move(value));
}

PickleValue PickleMachine::pop() {
  if (stack_.empty()) input_.fail_corrupted("stack underflow");
  PickleValue value = std::move(stack_.back());
  stack_.pop_back();
  if (std::holds_alternative<PickleMark>(value)) {
    input_.fail_corrupted("a mark where a value belongs");
  }
  return value;
}

std::vector<PickleValue> PickleMachine::pop_to_mark() {
  size_t mark = stack_.size();
  while (mark > 0 && !std::holds_alternative<PickleMark>(stack_[mark - 1])) --mark;
  if (mark == 0) input_.fail_corrupted("no mark on the stack");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(mark);
  std::vector<PickleValue> items(std::make_move_iterator(first),
                                 std::make_move_iterator(stack_.end()));
  stack_.resize(mark - 1);
  return items;
}

void PickleMachine::push_string(uint64_t length) {
  if (length < kPickleBlobSize) {
    return push(std::make_shared<const std::string>(input_.read_string(length)));
  }
  input_.expect_left(length, "string");
  if (length > kMaxCifarRows * kCifarImageSize) {
    input_.fail_limit("a string of " + std::to_string(length) + " bytes");
  }
  auto blob = std::make_shared<PickleBlob>();
  blob->size = length;
  blob->bytes = std::make_unique_for_overwrite<std::byte[]>(length);
  input_.read_into({blob->bytes.get(), blob->size});
  push(std::move(blob));
}

void PickleMachine::push_unicode(uint64_t length) {
  if (length < kPickleBlobSize) {
    return push(std::make_shared<const std::string>(input_.read_string(length)));
  }
  input_.expect_left(length, "string");
  if (length > 2 * kMaxCifarRows * kCifarImageSize) {
    input_.fail_limit("a string of " + std::to_string(length) + " bytes");
  }
  auto blob = std::make_shared<PickleBlob>();
  blob->bytes = std::make_unique_for_overwrite<std::byte[]>(length);
  std::byte* end = blob->bytes.get();
  Latin1Decoder decoder;
  std::array<std::byte, 16384> encoded;
  while (length > 0) {
    const auto piece = std::span(encoded).first(std::min<uint64_t>(length, encoded.size()));
    input_.read_into(piece);
    length -= piece.size();
    for (const std::byte byte : piece) {
      if (!decoder.decode(static_cast<uint8_t>(byte), end)) {
        input_.fail_corrupted("a long string that is not latin-1");
      }
    }
  }
  if (!decoder.complete()) input_.fail_corrupted("a string that ends inside a character");
  blob->size = static_cast<size_t>(end - blob->bytes.get());
  push(std::move(blob));
}

void PickleMachine::push_long(size_t bytes) {
  if (bytes > 8) input_.fail_corrupted("an integer of " + std::to_string(bytes) + " bytes");
  if (bytes == 0) return push(int64_t{0});
  const uint64_t value = input_.read_little_endian(bytes);
  const size_t unused = 64 - 8 * bytes;  // sign extension from the top bit
  push(static_cast<int64_t>(value << unused) >> unused);
}

void PickleMachine::push_tuple(std::vector<PickleValue> items) {
  int depth = 1;
  for (const PickleValue& item : items) {
    if (const auto* inner = std::get_if<std::shared_ptr<const PickleTuple>>(&item)) {
      depth = std::max(depth, (*inner)->depth + 1);
    }
  }
  if (depth > kMaxDepth) {
    input_.fail_limit("tuples nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  push(std::make_shared<const PickleTuple>(PickleTuple{std::move(items), depth}));
}

void PickleMachine::push_tuple_of(size_t count) {
  std::vector<PickleValue> items(count);
  for (size_t i = count; i > 0; --i) items[i - 1] = pop();
  push_tuple(std::move(items));
}

void PickleMachine::memoize(uint64_t index) {
  if (stack_.empty() || std::holds_alternative<PickleMark>(stack_.back())) {
    input_.fail_corrupted("nothing on the stack to memoize");
  }
  if (index >= kMaxMemo) {
    input_.fail_limit("memo index " + std::to_string(index));
  }
  if (index >= memo_.size()) memo_.resize(index + 1);
  if (std::holds_alternative<PickleMark>(memo_[index])) ++memo_used_;
  memo_[index] = stack_.back();
}

void PickleMachine::push_memo(uint64_t index) {
  if (index >= memo_.size() || std::holds_alternative<PickleMark>(memo_[index])) {
    input_.fail_corrupted("nothing in the memo at index " + std::to_string(index));
  }
  push(memo_[index]);
}

void PickleMachine::append_to_list(const std::vector<PickleValue>& items) {
  const auto list = pop_as<std::shared_ptr<PickleList>>("list");
  for (const PickleValue& item : items) {
    if (const auto* number = std::get_if<int64_t>(&item)) {
      list->numbers.push_back(*number);
    } else {
      ++list->others;
    }
  }
  push(list);
}

void PickleMachine::set_items(const std::vector<PickleValue>& keys_and_values) {
  if (keys_and_values.size() % 2 != 0) input_.fail_corrupted("a key without a value");
  if (stack_.empty() || !std::holds_alternative<std::shared_ptr<PickleDict>>(stack_.back())) {
    input_.fail_corrupted("another kind of value where a dict belongs");
  }
  for (size_t i = 0; i < keys_and_values.size(); i += 2) {
    set_item(keys_and_values[i], keys_and_values[i + 1]);
  }
}

void PickleMachine::set_item(const PickleValue& key, const PickleValue& value) {
  const auto* name = std::get_if<std::shared_ptr<const std::string>>(&key);
  if (!name) input_.fail_corrupted("a key that is not a string");
  PickleDict& dict = *std::get<std::shared_ptr<PickleDict>>(stack_.back());
  const auto store = [&](auto& entry, const char* hint) {
    const auto* typed = std::get_if<std::decay_t<decltype(entry)>>(&value);
    if (!typed) {
      input_.fail(ErrorKind::unsupported, "'" + **name + "' is another kind of value", hint);
    }
    if (entry) input_.fail_corrupted("the key '" + **name + "' twice");
    entry = *typed;
  };
  static constexpr char kWantList[] = "labels are read as a list of ints: [int(x) for x in labels]";
  if (**name == "data") {
    store(dict.data, "the pixels are read as a NumPy array of uint8, [rows, 3072]");
  } else if (**name == "labels") {
    store(dict.labels, kWantList);
  } else if (**name == "fine_labels") {
    store(dict.fine_labels, kWantList);
  } else if (**name == "coarse_labels") {
    store(dict.coarse_labels, kWantList);
  }
}

}  // namespace recordpipe
