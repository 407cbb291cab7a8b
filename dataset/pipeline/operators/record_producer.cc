#include "dataset/pipeline/operators/record_producer.h"

#include <exception>

namespace recordpipe {
namespace {

// Memory answers later than one record takes, where no CRC is due.
constexpr size_t kAhead = 8;

}  // namespace

Failures RecordProducer::produce(std::span<const Ticket> tickets, std::span<Record> out) {
  Failures failures;
  for (size_t i = 0; i < tickets.size(); ++i) {
    const RecordRef ref{tickets[i].ref};
    if (!ref.is_mapped()) {
      store_.take(tickets.subspan(i, 1), out.subspan(i, 1));
      continue;
    }
    if (i + kAhead < tickets.size()) {
      const RecordRef ahead{tickets[i + kAhead].ref};
      if (ahead.is_mapped()) files_[ahead.file()]->prefetch(ahead.record());
    }
    const MappedRecordFile& file = *files_[ref.file()];
    try {
      out[i] = check_crc_ ? file.read(ref.record()) : file.view(ref.record());
      out[i].path = paths_[ref.file()];
    } catch (...) {
      failures.push_back({i, std::current_exception()});
    }
  }
  return failures;
}

}  // namespace recordpipe
