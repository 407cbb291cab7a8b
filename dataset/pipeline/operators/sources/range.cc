#include "recordpipe/pipeline/range.h"

#include <memory>

#include "dataset/base/require.h"

namespace recordpipe {
namespace {

// `count` numbers: begin, begin + step, ...
struct Progression {
  int64_t begin = 0;
  int64_t step = 1;
  uint64_t count = 0;

  uint64_t size() const { return count; }
  int64_t operator[](uint64_t i) const {
    return static_cast<int64_t>(static_cast<uint64_t>(begin) + i * static_cast<uint64_t>(step));
  }
};

}  // namespace

Dataset<int64_t> range(int64_t begin, int64_t end, int64_t step) {
  require(step != 0, "range: step must not be 0");
  // Unsigned, because distances may exceed INT64_MAX.
  const bool up = step > 0;
  const uint64_t stride = up ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const uint64_t distance = up ? static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)
                               : static_cast<uint64_t>(begin) - static_cast<uint64_t>(end);
  const bool any = up ? begin < end : begin > end;
  const Progression numbers{begin, step, any ? (distance - 1) / stride + 1 : 0};
  return internal::DatasetNode::source<int64_t>(
      internal::indexed("range", {{"begin", begin}, {"end", end}, {"step", step}},
                        std::make_shared<const internal::Indexed<int64_t, Progression>>(numbers),
                        internal::element_ops<int64_t>()));
}

}  // namespace recordpipe
