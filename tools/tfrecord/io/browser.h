// Shows a page in the user's browser.
#pragma once

#include <string>

namespace recordpipe {

// Starts xdg-open with the path of a page, and doesn't wait for it. Throws Error{not_found} without
// xdg-open, naming the page.
void open_in_browser(const std::string& path);

}  // namespace recordpipe
