#include "dataset/http/partial_response.h"

#include "dataset/http/headers.h"

namespace recordpipe {

std::optional<PartOfFile> matching_part(const HttpResponse& response, uint64_t first,
                                        std::optional<uint64_t> total,
                                        const std::string& validator) {
  const auto range = parse_content_range(response.content_range);
  const bool fits = range && range->bytes && range->total && range->bytes->first == first &&
                    (!total || total == range->total) &&
                    (!response.content_length ||
                     *response.content_length - 1 == range->bytes->last - range->bytes->first);
  const bool same =
      !is_strong_etag(response.etag) || !is_strong_etag(validator) || response.etag == validator;
  if (!fits || !same) return std::nullopt;
  return PartOfFile{range->bytes->first, range->bytes->last, *range->total};
}

Error file_changed(const HttpUrl& url) {
  return Error({.kind = ErrorKind::network,
                .path = url.shown(),
                .reason = "the file changed on the server while it was read",
                .hint = "run again"});
}

}  // namespace recordpipe
