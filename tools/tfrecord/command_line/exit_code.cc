#include "tools/tfrecord/command_line/exit_code.h"

namespace recordpipe {

std::string exit_statuses(const std::string& no) {
  return "0 done; " + (no.empty() ? "" : "1 " + no + "; ") +
         "2 trouble: wrong usage, an input that can't be read, or no output. With several files, "
         "the highest. 130 interrupted (SIGTERM: 143, SIGHUP: 129).";
}

}  // namespace recordpipe
