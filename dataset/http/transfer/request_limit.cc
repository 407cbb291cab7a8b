#include "dataset/http/transfer/request_limit.h"

#include <algorithm>

namespace recordpipe {

void RequestLimit::answered(long status, size_t halvings) {
  if (status == 429 || status == 503) {
    if (halvings != halvings_) return;
    ++halvings_;
    limit_ = std::max<size_t>(1, limit_ / 2);
    good_ = 0;
    return;
  }
  if (limit_ == max_ || ++good_ < limit_) return;
  ++limit_;
  good_ = 0;
}

}  // namespace recordpipe
