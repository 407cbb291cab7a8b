#include "tests/bench/table_floor.h"

#include <cstring>

namespace recordpipe {
namespace {

class Cursor {
 public:
  explicit Cursor(std::string_view message) : next_(message.data()), end_(next_ + message.size()) {}

  bool done() const { return next_ == end_; }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(*next_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  // The content of the next field, which is length-delimited.
  std::string_view field(char* tag = nullptr) {
    if (tag) *tag = *next_;
    ++next_;
    const size_t size = varint();
    next_ += size;
    return {next_ - size, size};
  }
  float fixed() {
    float value;
    std::memcpy(&value, next_, sizeof(value));
    next_ += sizeof(value);
    return value;
  }

 private:
  const char* next_;
  const char* end_;
};

constexpr char kFloatList = 0x12;

// The packed values of a Feature.
std::string_view values_of(std::string_view feature, char* list = nullptr) {
  return Cursor(Cursor(feature).field(list)).field();
}

}  // namespace

TableFloor::TableFloor(std::string_view first) {
  for (Cursor entries(Cursor(first).field()); !entries.done();) {
    Cursor entry(entries.field());
    const std::string key(entry.field());
    char list = 0;
    values_of(entry.field(), &list);
    const bool is_ragged = key == "history";
    if (list == kFloatList) {
      features_.push_back({key, true, is_ragged, floats_.size()});
      floats_.emplace_back();
    } else if (is_ragged) {
      features_.push_back({key, false, true, 0});
    } else {
      features_.push_back({key, false, false, int64s_.size()});
      int64s_.emplace_back();
    }
  }
}

bool TableFloor::read(std::span<const std::string_view> records) {
  for (auto& column : floats_) column.resize(records.size());
  for (auto& column : int64s_) column.resize(records.size());
  history_.clear();
  splits_.assign(1, 0);
  for (size_t row = 0; row < records.size(); ++row) {
    Cursor entries(Cursor(records[row]).field());
    for (const Feature& feature : features_) {
      Cursor entry(entries.field());
      const std::string_view key = entry.field();
      if (key.size() != feature.key.size() ||
          std::memcmp(key.data(), feature.key.data(), key.size()) != 0) {
        return false;
      }
      Cursor values(values_of(entry.field()));
      if (feature.is_ragged) {
        while (!values.done()) history_.push_back(static_cast<int64_t>(values.varint()));
        splits_.push_back(history_.size());
      } else if (feature.is_float) {
        floats_[feature.column][row] = values.fixed();
      } else {
        int64s_[feature.column][row] = static_cast<int64_t>(values.varint());
      }
    }
  }
  return true;
}

void SequenceFloor::read(std::span<const std::string_view> records) {
  actions_.clear();
  rewards_.clear();
  tokens_.clear();
  ids_.clear();
  for (const std::string_view record : records) {
    Cursor message(record);
    Cursor id(Cursor(message.field()).field());
    id.field();
    ids_.push_back(static_cast<int64_t>(Cursor(values_of(id.field())).varint()));
    Cursor lists(message.field());
    for (std::vector<float>* const floats : {&actions_, &rewards_}) {
      Cursor entry(lists.field());
      entry.field();
      for (Cursor steps(entry.field()); !steps.done();) {
        const std::string_view values = values_of(steps.field());
        const size_t size = floats->size();
        floats->resize(size + values.size() / sizeof(float));
        std::memcpy(floats->data() + size, values.data(), values.size());
      }
    }
    Cursor entry(lists.field());
    entry.field();
    for (Cursor steps(entry.field()); !steps.done();) {
      tokens_.push_back(static_cast<int64_t>(Cursor(values_of(steps.field())).varint()));
    }
  }
}

}  // namespace recordpipe
