#include "tools/tfrecord/io/browser.h"

#include <fcntl.h>
#include <unistd.h>

#include "recordpipe/base/error.h"
#include "tools/support/process/child_process.h"

namespace recordpipe {

void open_in_browser(const std::string& path) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);  // what browsers print goes there
  // A path that begins with a hyphen is no option.
  const std::string page = path.starts_with('/') ? path : "./" + path;
  try {
    start_child({"xdg-open", page},
                {.input = nothing, .output = nothing, .error = nothing, .own_group = true});
  } catch (const Error&) {
    ::close(nothing);
    throw Error({.kind = ErrorKind::not_found,
                 .path = path,
                 .reason = "the page is written, and there is no xdg-open to show it",
                 .hint = "install xdg-utils, or open the page in a browser"});
  }
  ::close(nothing);
}

}  // namespace recordpipe
