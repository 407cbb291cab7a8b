#include "tools/tfrecord/command_line/threads_option.h"

#include <CLI/App.hpp>

#include "tools/tfrecord/command_line/number_check.h"

namespace recordpipe {

void add_threads(CLI::App& app, size_t& threads) {
  app.add_option("--threads", threads, "Number of threads (default 0: one per core)")
      ->check(whole_number(0, 1024))
      ->type_name("N");
}

}  // namespace recordpipe
