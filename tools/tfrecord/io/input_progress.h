// Reports a command's progress over all its inputs, in bytes as they are stored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/io/file.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Reports to `context.progress`. add() is thread-safe.
class InputProgress {
 public:
  // The total is the sum of the inputs' sizes if all of them are files (a few may be URLs), and
  // unknown otherwise.
  InputProgress(const CommandContext& context, const std::string& activity,
                const std::vector<std::string>& paths);
  // `total`: the expected sum of all add() calls, if it is known.
  InputProgress(const CommandContext& context, const std::string& activity,
                std::optional<uint64_t> total);
  ~InputProgress();
  InputProgress(const InputProgress&) = delete;
  InputProgress& operator=(const InputProgress&) = delete;

  // Starts another pass over the same inputs.
  void begin_again(const std::string& activity);
  // Adds to the number of bytes read.
  void add(uint64_t bytes);
  // Returns a function that calls add(), and may outlive this object.
  std::function<void(uint64_t bytes)> counter();
  // Wraps `source`: counts its bytes as they are read. The result may outlive this object.
  std::unique_ptr<ByteSource> counted(std::unique_ptr<ByteSource> source);

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace recordpipe
