// Which feature is a record's label, and what its numbers are called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/file.h"
#include "recordpipe/message_view.h"

namespace recordpipe {

// NAME,NAME,... or a file with a name a line. Throws UsageError where it is neither.
std::vector<std::string> read_label_names(FileSystem& files, const std::string& given);

class Labels {
 public:
  // `feature`: "" for the first of those that labels are usually in.
  Labels(std::string feature, std::vector<std::string> names);

  // "cat", or "3" where it has no name; nothing where the record has no label. Several values are
  // joined by commas.
  std::optional<std::string> label(const MessageView& record);
  // Whether some record had one.
  bool found_any() const { return found_any_; }
  // What `value` is called; null where it has no name.
  const std::string* name(int64_t value) const;
  // The feature that labels come from, said or found; "" as long as it is neither.
  const std::string& feature() const { return feature_; }
  bool feature_was_said() const { return feature_was_said_; }

 private:
  std::string feature_;
  const bool feature_was_said_;
  bool found_any_ = false;
  const std::vector<std::string> names_;
};

}  // namespace recordpipe
