// How far a command is with its inputs, all of them together, in bytes as they are stored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/file.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// `source`, which calls `after` with the bytes of each read.
std::unique_ptr<ByteSource> tapped(std::unique_ptr<ByteSource> source,
                                   std::function<void(std::span<const std::byte>)> after);

// Tells `context.progress` of it. The functions may be called from several threads.
class InputProgress {
 public:
  // The total is the sum of the inputs' sizes, where all of them are files (a few may be URLs), and
  // isn't known otherwise.
  InputProgress(const CommandContext& context, const std::string& activity,
                const std::vector<std::string>& paths);
  // `total`: what add() will count together, where that is known.
  InputProgress(const CommandContext& context, const std::string& activity,
                std::optional<uint64_t> total);
  ~InputProgress();
  InputProgress(const InputProgress&) = delete;
  InputProgress& operator=(const InputProgress&) = delete;

  // The same inputs once more, from their start.
  void begin_again(const std::string& activity);
  // So many bytes more were read.
  void add(uint64_t bytes);
  // `source`, whose bytes are counted as they are read. It may outlive this.
  std::unique_ptr<ByteSource> counted(std::unique_ptr<ByteSource> source);

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace recordpipe
