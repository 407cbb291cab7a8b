// Reads a file at a distance in sequence, as ranges of which several are requested at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataset/io/byte_budget.h"
#include "dataset/io/ranged_file.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// Up to options.ranges_ahead ranges are in flight or wait to be read, as far as the budget allows,
// and at least one. They are requested when half of the first one is read, or before by prefetch():
// two at first (prefetch(): four), twice as many with each range that is read. prefetch() leaves in
// the budget what one stream needs, for the one that is being read. All ranges are of one version:
// a file that was replaced meanwhile is an error. Not thread-safe.
class RangeSource final : public ByteSource {
 public:
  // `first`: the start of the file, which was read already.
  RangeSource(std::shared_ptr<const RangedFile> file, const RangeOptions& options,
              std::shared_ptr<ByteBudget> budget, std::vector<std::byte> first);
  // Ends the transfers.
  ~RangeSource() override;

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
