// Errors for responses that do not contain the file.
#pragma once

#include "recordpipe/base/error.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

// Throws the error for the status of the response: TransientError for 408, 429, 500, 502, 503 and
// 504; Error{not_found} for 404 and 410; Error{permission_denied} for 401, 403 and 407;
// Error{network} for any other.
[[noreturn]] void refuse_status(const HttpResponse& response);

// Throws Error{unsupported}: the server sent an error page, a Wi-Fi login or a consent form.
[[noreturn]] void refuse_web_page(const HttpUrl& url);

// Error{network}: the file changed on the server after its first bytes were read.
Error file_changed(const HttpUrl& url);

}  // namespace recordpipe
