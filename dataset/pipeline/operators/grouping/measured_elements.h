// Computes elements and their sizes, for operators that group elements by size.
//
// All threads measure elements; the order stays the same, and elements keep their ids. An element
// that fails, in the measuring function or upstream, is kept as failed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/plan/stage.h"
#include "recordpipe/pipeline/internal/functions.h"

namespace recordpipe::internal {

// The largest permitted sizes, and what is done with larger ones.
struct SizeLimits {
  std::vector<uint64_t> most = {};  // one for each size of an element; empty: no limits
  bool cut = false;                 // true: a larger size counts as the limit; false: an error
  std::string description = {};     // of an error: "bucket_by_sequence_length: ..."
};

// The plan of the stage that measured_stage() makes. Its state is a ChosenFirstPlan's.
class MeasuredPlan final : public StorePlan {
 public:
  MeasuredPlan(std::shared_ptr<ValueStore> store, Stage measured, size_t sizes_per_element,
               const StageContext& context)
      : StorePlan(std::move(store)),
        sizes_per_element_(sizes_per_element),
        reader_(std::move(measured), context) {}

  // The sizes of element `i` of those that the last plan() returned.
  std::span<const uint64_t> sizes(size_t i) const {
    return std::span(sizes_).subspan(i * sizes_per_element_, sizes_per_element_);
  }
  bool is_failed(size_t i) const { return failed_[i] != 0; }

  void save(PlanState& state) const override { reader_.save(state); }

 protected:
  Stop do_plan(TicketSink& out, Wait wait) override;
  void do_restart(Epoch epoch) override { reader_.restart(epoch); }
  void do_restore(const PlanState& state, Epoch epoch) override { reader_.restore(state, epoch); }
  void do_request_stop() override { reader_.request_stop(); }

 private:
  const size_t sizes_per_element_;
  ChunkReader reader_;
  std::vector<uint64_t> sizes_;
  std::vector<uint8_t> failed_;
};

// `function` and `limits` must outlive the stage. The plan is a MeasuredPlan.
Stage measured_stage(Stage input, const MeasureFunction& function, const SizeLimits& limits,
                     const StageContext& context);

}  // namespace recordpipe::internal
