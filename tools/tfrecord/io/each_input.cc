#include "tools/tfrecord/io/each_input.h"

#include <fmt/format.h>

#include "recordpipe/error.h"
#include "tools/tfrecord/command_line/option_hints.h"

namespace recordpipe {

ExitCode for_each_input(const CommandContext& context, std::string_view command,
                        const std::vector<std::string>& paths,
                        const std::function<ExitCode(const std::string& path)>& action,
                        const std::function<ExitCode(ErrorKind)>& code_of) {
  ExitCode status = ExitCode::ok;
  for (const std::string& path : paths) {
    try {
      status = combined(status, action(path));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::cancelled) throw;
      context.progress.warn(fmt::format("tfrecord {}: {}", command, text_of(error)));
      status = combined(status, code_of(error.kind()));
    }
  }
  return status;
}

}  // namespace recordpipe
