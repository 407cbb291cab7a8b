#include "tools/tfrecord/each_input.h"

#include <fmt/format.h>

#include "dataset/base/error.h"
#include "tools/tfrecord/option_hints.h"

namespace recordpipe {

int for_each_input(const CommandContext& context, std::string_view command,
                   const std::vector<std::string>& paths,
                   const std::function<int(const std::string& path)>& action) {
  int status = kExitOk;
  for (const std::string& path : paths) {
    try {
      status = std::max(status, action(path));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::cancelled) throw;
      context.progress.warn(fmt::format("tfrecord {}: {}", command, text_of(error)));
      status = std::max(status, kExitFailed);
    }
  }
  return status;
}

}  // namespace recordpipe
