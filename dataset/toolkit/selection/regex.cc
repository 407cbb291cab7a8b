#include "dataset/toolkit/selection/regex.h"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "dataset/toolkit/selection/regex_program.h"

namespace recordpipe {
namespace {

using Op = RegexInstruction::Kind;

// An automaton is started anew when it is larger than this.
constexpr size_t kMostAutomatonBytes = size_t{1} << 20;

// Bytes of UTF-8 that are within a character.
constexpr bool continues_character(uint8_t byte) { return byte >= 0x80 && byte <= 0xBF; }

// The bytes that no range of the program tells apart are one class.
struct ByteClasses {
  std::array<uint8_t, 256> of_byte = {};
  std::vector<uint8_t> representatives = {};  // a byte of each class

  explicit ByteClasses(const RegexProgram& program) {
    std::array<bool, 256> begins = {true};
    const auto cut = [&](size_t low, size_t high) {
      begins[low] = true;
      if (high < 255) begins[high + 1] = true;
    };
    for (const RegexInstruction& each : program.instructions) {
      if (each.kind == Op::range && each.low <= each.high) cut(each.low, each.high);
    }
    for (const std::string_view range : {"09", "AZ", "__", "az"}) {  // is_word_byte()
      cut(static_cast<uint8_t>(range[0]), static_cast<uint8_t>(range[1]));
    }
    cut(0x80, 0xBF);  // continues_character()
    for (size_t byte = 0; byte < 256; ++byte) {
      if (begins[byte]) representatives.push_back(static_cast<uint8_t>(byte));
      of_byte[byte] = static_cast<uint8_t>(representatives.size() - 1);
    }
  }
};

// Instructions whose successors were followed, without duplicates. Insertion and clear() take
// constant time (Briggs and Torczon's sparse set).
class InstructionSet {
 public:
  explicit InstructionSet(size_t most) : sparse_(most) { members_.reserve(most); }

  bool insert(uint32_t member) {
    if (sparse_[member] < members_.size() && members_[sparse_[member]] == member) return false;
    sparse_[member] = static_cast<uint32_t>(members_.size());
    members_.push_back(member);
    return true;
  }
  void clear() { members_.clear(); }

 private:
  std::vector<uint32_t> sparse_;
  std::vector<uint32_t> members_;
};

// The automaton of one thread. A state is a set of instructions that wait for the next byte, and
// what an assertion has to know of the byte before.
class Automaton {
 public:
  Automaton(const RegexProgram& program, const ByteClasses& classes)
      : program_(program), classes_(classes), visited_(program.instructions.size()) {}

  bool found_in(std::string_view text) {
    uint32_t state = start();
    for (const char c : text) {
      if (state <= kDead) return state == kFound;
      const uint8_t byte_class = classes_.of_byte[static_cast<uint8_t>(c)];
      const uint32_t next = next_[state * classes_.representatives.size() + byte_class];
      state = next != kUnknown ? next : step(state, byte_class);
    }
    return state == kFound || (state != kDead && ends(state));
  }

 private:
  static constexpr uint32_t kFound = 0;
  static constexpr uint32_t kDead = 1;
  static constexpr uint32_t kUnknown = UINT32_MAX;

  struct Waiting {
    std::vector<uint32_t> instructions = {};
    bool is_begin = false;       // no byte was read
    bool is_after_word = false;  // the last byte is of a word

    auto operator<=>(const Waiting&) const = default;
  };
  // What follows the bytes that were read: a byte, or nothing at the end.
  using Next = std::optional<uint8_t>;

  uint32_t start() {
    if (states_.empty()) {
      start_waiting_ = {.is_begin = true};
      visited_.clear();
      found_ = false;
      follow(program_.first, start_waiting_, nullptr, {});
      matches_empty_ = found_;
      add({});  // kFound
      add({});  // kDead
    }
    return matches_empty_ ? kFound : state_of(start_waiting_);
  }

  // Adds `first` and all that follows it without a byte. Assertions wait, because they depend on
  // the next byte; if `from` is given, they are checked for it and `next`.
  void follow(uint32_t first, Waiting& to, const Waiting* from, Next next) {
    stack_.push_back(first);
    while (!stack_.empty()) {
      const uint32_t at = stack_.back();
      stack_.pop_back();
      if (!visited_.insert(at)) continue;
      const RegexInstruction& instruction = program_.instructions[at];
      switch (instruction.kind) {
        case Op::split:
          stack_.push_back(instruction.other);
          stack_.push_back(instruction.next);
          break;
        case Op::match:
          found_ = true;
          break;
        case Op::range:
          to.instructions.push_back(at);
          break;
        default:
          if (from == nullptr) {
            to.instructions.push_back(at);
          } else if (holds(instruction.kind, *from, next)) {
            stack_.push_back(instruction.next);
          }
      }
    }
  }

  static bool holds(Op assertion, const Waiting& state, Next next) {
    if (assertion == Op::begin) return state.is_begin;
    if (assertion == Op::end) return !next;
    const bool is_boundary = state.is_after_word != (next && is_word_byte(*next));
    if (assertion == Op::word_boundary) return is_boundary;
    return !is_boundary && !(next && continues_character(*next));
  }

  // `state` with its assertions checked; sets found_ if it matches.
  Waiting checked(const Waiting& state, Next next) {
    Waiting out;
    visited_.clear();
    for (const uint32_t at : state.instructions) follow(at, out, &state, next);
    return out;
  }

  uint32_t step(uint32_t from, uint8_t byte_class) {
    const uint8_t byte = classes_.representatives[byte_class];
    found_ = false;
    const Waiting now = checked(states_[from]->first, byte);
    Waiting next;
    visited_.clear();
    if (!found_) {
      for (const uint32_t at : now.instructions) {
        const RegexInstruction& range = program_.instructions[at];
        if (range.low <= byte && byte <= range.high) follow(range.next, next, nullptr, {});
      }
      // The pattern may begin at every byte.
      if (!program_.is_anchored) follow(program_.first, next, nullptr, {});
    }
    next.is_after_word = is_word_byte(byte);
    if (bytes_ > kMostAutomatonBytes) {
      forget();
      return found_ ? kFound : state_of(next);
    }
    const uint32_t to = found_ ? kFound : state_of(next);
    next_[from * classes_.representatives.size() + byte_class] = to;
    return to;
  }

  bool ends(uint32_t state) {
    found_ = false;
    checked(states_[state]->first, std::nullopt);
    return found_;
  }

  void forget() {
    numbers_.clear();
    states_.clear();
    next_.clear();
    bytes_ = 0;
    add({});
    add({});
  }

  uint32_t state_of(const Waiting& waiting) {
    if (waiting.instructions.empty()) return kDead;
    const auto found = numbers_.find(waiting);
    return found != numbers_.end() ? found->second : add(waiting);
  }
  uint32_t add(const Waiting& waiting) {
    const auto number = static_cast<uint32_t>(states_.size());
    // (kFound and kDead have no entry of their own in numbers_.)
    states_.push_back(numbers_.emplace(waiting, number).first);
    next_.resize(next_.size() + classes_.representatives.size(), kUnknown);
    bytes_ += sizeof(Waiting) + 64 +
              sizeof(uint32_t) * (waiting.instructions.size() + classes_.representatives.size());
    return number;
  }

  const RegexProgram& program_;
  const ByteClasses& classes_;
  std::map<Waiting, uint32_t> numbers_;
  std::vector<std::map<Waiting, uint32_t>::const_iterator> states_;
  std::vector<uint32_t> next_;  // of each state and class
  size_t bytes_ = 0;
  Waiting start_waiting_;
  InstructionSet visited_;
  std::vector<uint32_t> stack_;
  bool found_ = false;  // whether follow() has reached the end of the pattern
  bool matches_empty_ = false;
};

}  // namespace

struct Regex::State {
  explicit State(std::string_view pattern) : program(compile_regex(pattern)), classes(program) {}

  const RegexProgram program;
  const ByteClasses classes;
  std::mutex mutex = {};  // protects `idle`
  std::vector<std::unique_ptr<Automaton>> idle = {};
};

Regex::Regex(std::string_view pattern) : state_(new State(pattern)) {}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::found_in(std::string_view text) const {
  std::unique_ptr<Automaton> automaton;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->idle.empty()) {
      automaton = std::move(state_->idle.back());
      state_->idle.pop_back();
    }
  }
  if (!automaton) automaton = std::make_unique<Automaton>(state_->program, state_->classes);
  const bool found = automaton->found_in(text);
  const std::lock_guard lock(state_->mutex);
  state_->idle.push_back(std::move(automaton));
  return found;
}

}  // namespace recordpipe
