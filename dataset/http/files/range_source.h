// Reads the file at a URL in sequence, as ranges of which several are requested at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dataset/http/target.h"
#include "dataset/io/byte_budget.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/io/started_source.h"

namespace recordpipe {

// The constructor requests the first range, of at most 512 KiB; open() waits for the response,
// which has the file's size and version. The following ranges have options.range_size bytes each;
// up to options.ranges_ahead of them are in flight or wait to be read, as far as the budget allows,
// and at least one. They are requested when half of the first one is read, or before by prefetch():
// two at first (prefetch(): four), twice as many with each range that is read. prefetch() leaves in
// the budget what one stream needs, for the one that is being read. All ranges are of one version:
// a file that was replaced meanwhile is an error. Not thread-safe.
class RangeSource final : public StartedSource {
 public:
  RangeSource(HttpTarget target, const HttpReadOptions& options, std::shared_ptr<HttpClient> client,
              std::shared_ptr<ByteBudget> budget);
  // Ends the transfers.
  ~RangeSource() override;

  // Retries. Throws Error{unsupported} if the server does not support ranges.
  void open() override;
  size_t read(std::span<std::byte> out) override;
  void prefetch() override;
  void limit_read_ahead(uint64_t bytes) override;
  std::unique_ptr<RandomAccessFile> random_access() override;
  const std::string& path() const override;

 private:
  struct State;
  std::unique_ptr<State, internal::DeleteUnlessForked> state_;
};

}  // namespace recordpipe
