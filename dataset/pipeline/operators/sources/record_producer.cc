#include "dataset/pipeline/operators/sources/record_producer.h"

#include <algorithm>
#include <exception>

#include "dataset/base/damage_hint.h"
#include "recordpipe/base/stop.h"

namespace recordpipe::internal {
namespace {

class RecordProducer final : public Producer {
 public:
  RecordProducer(OpenedRecords& opened, bool check_crc, const std::string& remedy)
      : files_(opened.mapped),
        store_(opened.streamed),
        stop_(opened.stop),
        check_crc_(check_crc),
        remedy_(remedy) {}

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* values) override {
    auto* const out = static_cast<Record*>(values);
    const std::stop_token stop = stop_.token();
    Failures failures;
    size_t prefetched = 0;
    size_t distance = 0;  // of prefetching: that of the first file
    for (size_t i = 0; i < tickets.size(); ++i) {
      const RecordRef ref{tickets[i].ref};
      if (!ref.is_mapped()) {
        for (Failure& failure : store_.take(tickets.subspan(i, 1), &out[i])) {
          failures.push_back({i, std::move(failure.error)});
        }
        continue;
      }
      const MappedRecordFile& file = files_[ref.file()]->file;
      if (distance == 0) distance = file.prefetch_distance();
      for (; prefetched < std::min(tickets.size(), i + 1 + distance); ++prefetched) {
        const RecordRef ahead{tickets[prefetched].ref};
        if (ahead.is_mapped()) files_[ahead.file()]->file.prefetch(ahead.record());
      }
      try {
        throw_if_stopped(stop, file.path());
        out[i] = check_crc_ ? file.read(ref.record()) : file.view(ref.record());
        if (out[i].owner) {
          out[i] = keep_record(out[i], file.path());  // the path must outlive the record
        } else {
          out[i].path = file.path();
        }
        out[i].number = ref.record();
      } catch (const Error& error) {
        const auto damage = with_remedy(error, remedy_);
        failures.push_back(
            {i, damage ? std::make_exception_ptr(*damage) : std::current_exception()});
      } catch (...) {
        failures.push_back({i, std::current_exception()});
      }
    }
    return failures;
  }

 private:
  const MappedFiles& files_;
  ValueStore& store_;
  const PlanStop& stop_;
  const bool check_crc_;
  const std::string& remedy_;
};

}  // namespace

std::shared_ptr<Work> record_work(std::shared_ptr<OpenedRecords> opened, bool check_crc,
                                  std::string remedy) {
  return std::make_shared<Work>(
      element_ops<Record>(), /*is_heavy=*/check_crc,
      [opened = std::move(opened), check_crc, remedy = std::move(remedy)] {
        return std::make_unique<RecordProducer>(*opened, check_crc, remedy);
      });
}

}  // namespace recordpipe::internal
