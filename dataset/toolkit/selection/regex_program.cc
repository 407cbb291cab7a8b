#include "dataset/toolkit/selection/regex_program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataset/toolkit/selection/regex_syntax.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

using Op = RegexInstruction::Kind;
using NodeKind = RegexNode::Kind;

// The number of bytes of a code point, and its bytes.
struct Utf8 {
  size_t size = 0;
  std::array<uint8_t, 4> bytes = {};
};

Utf8 utf8(uint32_t point) {
  const auto tail = [&](int shift) { return uint8_t(0x80U | ((point >> shift) & 0x3FU)); };
  if (point < 0x80) return {1, {uint8_t(point)}};
  if (point < 0x800) return {2, {uint8_t(0xC0U | (point >> 6)), tail(0)}};
  if (point < 0x10000) return {3, {uint8_t(0xE0U | (point >> 12)), tail(6), tail(0)}};
  return {4, {uint8_t(0xF0U | (point >> 18)), tail(12), tail(6), tail(0)}};
}

[[noreturn]] void fail_too_large() {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = "the pattern is too large"});
}

// Emits instructions from the end of the pattern to its begin: each part knows what follows it.
class Compiler {
 public:
  RegexProgram compile(const RegexNode& tree) {
    const uint32_t match = emit({.kind = Op::match});
    program_.first = emit(tree, match);
    program_.is_anchored = is_anchored(tree);
    return std::move(program_);
  }

 private:
  // Parts that need no instruction count, too: (((){1000}){1000}){1000}.
  void count() {
    if (++work_ > kMostRegexInstructions) fail_too_large();
  }
  uint32_t emit(const RegexInstruction& instruction) {
    count();
    program_.instructions.push_back(instruction);
    return static_cast<uint32_t>(program_.instructions.size() - 1);
  }
  uint32_t range(uint8_t low, uint8_t high, uint32_t next) {
    return emit({.kind = Op::range, .low = low, .high = high, .next = next});
  }
  uint32_t split(uint32_t a, uint32_t b) {
    return emit({.kind = Op::split, .next = a, .other = b});
  }

  // Returns the first instruction of `node`, which continues at `next`.
  uint32_t emit(const RegexNode& node, uint32_t next) {
    count();
    switch (node.kind) {
      case NodeKind::byte:
        return range(uint8_t(node.min), uint8_t(node.min), next);
      case NodeKind::chars:
        return chars(node.ranges, next);
      case NodeKind::sequence:
        for (size_t i = node.parts.size(); i > 0; --i) next = emit(node.parts[i - 1], next);
        return next;
      case NodeKind::alternatives: {
        uint32_t first = emit(node.parts.back(), next);
        for (size_t i = node.parts.size() - 1; i > 0; --i) {
          first = split(emit(node.parts[i - 1], next), first);
        }
        return first;
      }
      case NodeKind::repetition:
        return repetition(node, next);
      case NodeKind::begin:
        return emit({.kind = Op::begin, .next = next});
      case NodeKind::end:
        return emit({.kind = Op::end, .next = next});
      case NodeKind::word_boundary:
        return emit({.kind = Op::word_boundary, .next = next});
      case NodeKind::not_word_boundary:
        return emit({.kind = Op::not_word_boundary, .next = next});
    }
    return next;
  }

  uint32_t repetition(const RegexNode& node, uint32_t next) {
    const RegexNode& part = node.parts.front();
    if (node.max == RegexNode::kNoMaximum) {
      const uint32_t loop = split(0, next);
      const uint32_t body = emit(part, loop);
      program_.instructions[loop].next = body;
      next = loop;
    } else {
      const uint32_t after = next;
      for (uint32_t i = node.min; i < node.max; ++i) next = split(emit(part, next), after);
    }
    for (uint32_t i = 0; i < node.min; ++i) next = emit(part, next);
    return next;
  }

  uint32_t chars(const std::vector<RegexRange>& ranges, uint32_t next) {
    first_of_chars_ = kNone;
    for (const RegexRange& each : ranges) {
      // Ranges whose ends have different lengths are cut; surrogates have no UTF-8.
      uint32_t first = each.first;
      for (const uint32_t last : {0x7FU, 0x7FFU, 0xD7FFU, 0xDFFFU, 0xFFFFU, kLastCodePoint}) {
        if (first > last || first > each.last) continue;
        if (last != 0xDFFF) equal_length(first, std::min(last, each.last), next);
        first = last + 1;
      }
    }
    // A class without characters, such as [^\x{0}-\x{10FFFF}], matches nothing.
    return first_of_chars_ == kNone ? range(1, 0, next) : first_of_chars_;
  }
  // Code points of the same number of bytes: cut where the bytes of both ends allow no product of
  // ranges.
  void equal_length(uint32_t first, uint32_t last, uint32_t next) {
    for (int shift = 6; shift <= 18; shift += 6) {
      if (first < 0x80) break;
      const uint32_t low_bits = (1U << shift) - 1;
      if (first >> shift == last >> shift) continue;
      if ((first & low_bits) != 0) {
        equal_length(first, first | low_bits, next);
        equal_length((first | low_bits) + 1, last, next);
        return;
      }
      if ((last & low_bits) != low_bits) {
        equal_length(first, (last & ~low_bits) - 1, next);
        equal_length(last & ~low_bits, last, next);
        return;
      }
    }
    const Utf8 low = utf8(first);
    const Utf8 high = utf8(last);
    for (size_t i = low.size; i > 0; --i) next = range(low.bytes[i - 1], high.bytes[i - 1], next);
    first_of_chars_ = first_of_chars_ == kNone ? next : split(next, first_of_chars_);
  }

  static bool is_anchored(const RegexNode& node) {
    if (node.kind == NodeKind::begin) return true;
    if (node.kind == NodeKind::alternatives) return std::ranges::all_of(node.parts, is_anchored);
    return node.kind == NodeKind::sequence && !node.parts.empty() &&
           is_anchored(node.parts.front());
  }

  static constexpr uint32_t kNone = UINT32_MAX;

  RegexProgram program_;
  size_t work_ = 0;
  uint32_t first_of_chars_ = kNone;  // the first instruction of the class that is being emitted
};

}  // namespace

RegexProgram compile_regex(std::string_view pattern) {
  // (So that the tree is small, too.)
  if (pattern.size() > kMostRegexInstructions) fail_too_large();
  return Compiler().compile(parse_regex(pattern));
}

}  // namespace recordpipe
