// Implements PickleInput and the opcodes of PickleMachine. The stack and the memo are in
// pickle_stack.cc, the known functions in pickle.cc.
#include "dataset/cifar/pickle_machine.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace recordpipe {
namespace {

// The names follow CPython's pickletools.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
  kNextBuffer = 0x97,
};

}  // namespace

std::shared_ptr<const PickleDict> PickleMachine::run() {
  read_protocol();
  for (size_t opcodes = 1;; ++opcodes) {
    input_.begin_opcode();
    const uint8_t opcode = input_.read_u8();
    if (opcode == kStop) break;
    if (opcodes > kMaxOpcodes) {
      input_.fail_limit("more than " + std::to_string(kMaxOpcodes) + " opcodes");
    }
    execute(opcode);
  }
  auto dict = pop_as<std::shared_ptr<PickleDict>>("dict");
  if (!stack_.empty()) input_.fail_corrupted("STOP with more than one value on the stack");
  return dict;
}

void PickleMachine::read_protocol() {
  input_.begin_opcode();
  const uint8_t first = input_.read_u8();
  const uint8_t protocol = first == kProto ? input_.read_u8() : 0;
  if (protocol < 2 || protocol > 5) {
    input_.fail(ErrorKind::unsupported,
                first == kProto ? "pickle protocol " + std::to_string(protocol)
                                : "not a pickle of protocol 2 or later",
                "batches are read in protocols 2 to 5: pickle.dump(batch, file, protocol=2)");
  }
}

void PickleMachine::execute(uint8_t opcode) {
  switch (opcode) {
    case kFrame:
      return input_.expect_left(input_.read_little_endian(8), "frame");
    case kMark:
      return push(PickleMark{});
    case kNone:
      return push(PickleNone{});
    case kNewTrue:
      return push(int64_t{1});
    case kNewFalse:
      return push(int64_t{0});
    case kBinInt1:
      return push(static_cast<int64_t>(input_.read_u8()));
    case kBinInt2:
      return push(static_cast<int64_t>(input_.read_little_endian(2)));
    case kBinInt:
      return push(int64_t{static_cast<int32_t>(input_.read_little_endian(4))});
    case kLong1:
      return push_long(input_.read_u8());
    case kShortBinString:
    case kShortBinBytes:
      return push_string(input_.read_u8());
    case kBinString: {
      const auto length = static_cast<int32_t>(input_.read_little_endian(4));
      if (length < 0) input_.fail_corrupted("a string of " + std::to_string(length) + " bytes");
      return push_string(static_cast<uint64_t>(length));
    }
    case kBinBytes:
      return push_string(input_.read_little_endian(4));
    case kBinBytes8:
    case kByteArray8:
      return push_string(input_.read_little_endian(8));
    case kShortBinUnicode:
      return push_unicode(input_.read_u8());
    case kBinUnicode:
      return push_unicode(input_.read_little_endian(4));
    case kBinUnicode8:
      return push_unicode(input_.read_little_endian(8));
    case kEmptyList:
      return push(std::make_shared<PickleList>());
    case kEmptyDict:
      return push(std::make_shared<PickleDict>());
    case kEmptyTuple:
      return push_tuple({});
    case kTuple1:
      return push_tuple_of(1);
    case kTuple2:
      return push_tuple_of(2);
    case kTuple3:
      return push_tuple_of(3);
    case kTuple:
      return push_tuple(pop_to_mark());
    case kBinPut:
      return memoize(input_.read_u8());
    case kLongBinPut:
      return memoize(input_.read_little_endian(4));
    case kMemoize:
      return memoize(memo_used_);
    case kBinGet:
      return push_memo(input_.read_u8());
    case kLongBinGet:
      return push_memo(input_.read_little_endian(4));
    case kAppend:
      return append_to_list({pop()});
    case kAppends:
      return append_to_list(pop_to_mark());
    case kSetItem: {
      PickleValue value = pop();
      return set_items({pop(), std::move(value)});
    }
    case kSetItems:
      return set_items(pop_to_mark());
    case kGlobal: {
      const std::string module = input_.read_line(kMaxNameSize);
      return push_global(module, input_.read_line(kMaxNameSize));
    }
    case kStackGlobal: {
      const auto name = pop_as<std::shared_ptr<const std::string>>("string");
      return push_global(*pop_as<std::shared_ptr<const std::string>>("string"), *name);
    }
    case kReduce:
      return reduce();
    case kBuild:
      return build();
    case kNextBuffer:
      input_.fail(ErrorKind::unsupported,
                  "an array whose bytes are not in the pickle (out of band)",
                  "pickle it without a buffer_callback");
    default: {
      std::array<char, 8> hex;
      std::snprintf(hex.data(), hex.size(), "0x%02x", opcode);
      input_.fail(ErrorKind::unsupported, std::string("unexpected opcode ") + hex.data(),
                  "a CIFAR batch does not need it: the file is damaged or no CIFAR batch");
    }
  }
}

bool PickleInput::refill() {
  filled_ = read_fully(source_, buffer_);
  next_ = 0;
  return filled_ != 0;
}

bool PickleInput::at_end() { return next_ == filled_ && !refill(); }

void PickleInput::read_into(std::span<std::byte> out) {
  const size_t buffered = std::min(out.size(), filled_ - next_);
  std::memcpy(out.data(), buffer_.data() + next_, buffered);
  next_ += buffered;
  size_t done = buffered;
  if (out.size() - done >= buffer_.size()) {
    done += read_fully(source_, out.subspan(done));
  } else if (done < out.size() && refill()) {
    const size_t rest = std::min(out.size() - done, filled_);
    std::memcpy(out.data() + done, buffer_.data(), rest);
    next_ = rest;
    done += rest;
  }
  offset_ += done;
  if (done < out.size()) {
    throw Error({.kind = ErrorKind::truncated,
                 .path = source_.path(),
                 .offset = offset_,
                 .reason = "the pickle ends before its STOP",
                 .hint = "the archive is truncated or damaged: download it again"});
  }
}

uint8_t PickleInput::read_u8() {
  std::byte value;
  read_into({&value, 1});
  return static_cast<uint8_t>(value);
}

uint64_t PickleInput::read_little_endian(size_t bytes) {
  std::array<std::byte, 8> encoded{};
  read_into(std::span(encoded).first(bytes));
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= std::to_integer<uint64_t>(encoded[i]) << (8 * i);
  return value;
}

std::string PickleInput::read_string(uint64_t length) {
  expect_left(length, "string");
  std::string text(length, '\0');
  read_into(std::as_writable_bytes(std::span(text)));
  return text;
}

std::string PickleInput::read_line(size_t limit) {
  std::string line;
  while (line.size() <= limit) {
    const char c = static_cast<char>(read_u8());
    if (c == '\n') return line;
    line += c;
  }
  fail_corrupted("a name of more than " + std::to_string(limit) + " bytes");
}

void PickleInput::expect_left(uint64_t length, const char* what) const {
  const uint64_t left = size_ - std::min(offset_, size_);
  if (length > left) {
    fail_corrupted(std::string("a ") + what + " of " + std::to_string(length) +
                   " bytes where the file has " + std::to_string(left) + " left");
  }
}

void PickleInput::fail(ErrorKind kind, std::string reason, std::string hint) const {
  throw Error({.kind = kind,
               .path = source_.path(),
               .offset = opcode_offset_,
               .reason = std::move(reason),
               .hint = std::move(hint)});
}

void PickleInput::fail_corrupted(std::string reason) const {
  fail(ErrorKind::corrupted, std::move(reason),
       "this is not a CIFAR batch in the published format");
}

void PickleInput::fail_limit(std::string reason) const {
  fail(ErrorKind::limit_exceeded, std::move(reason), "no CIFAR batch needs that much");
}

}  // namespace recordpipe
