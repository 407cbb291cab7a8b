// ignore_errors: skips failed elements, up to a limit (IgnoreErrorsOptions).
//
// Saved state: the numbers of elements seen and skipped in this pass, and the input's position.
#include "recordpipe/pipeline/ignore_errors.h"

#include <exception>
#include <utility>

#include "dataset/base/require.h"
#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/skip_log.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class IgnoreErrorsPlan final : public StorePlan {
 public:
  IgnoreErrorsPlan(std::shared_ptr<ValueStore> store, Stage input,
                   const IgnoreErrorsOptions& options, const StageContext& context)
      : StorePlan(std::move(store)),
        options_(options),
        log_(context.skipped),
        reader_(std::move(input), context) {}

  void save(PlanState& state) const override {
    state.reset(1).numbers = {seen_, skipped_};
    reader_.save(state.inputs[0]);
  }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    while (out.count() == 0) {
      if (!reader_.fetch()) return end_or_stop();
      while (reader_.is_at_hand() && !out.is_full()) {
        const ElementId id = reader_.id();
        std::exception_ptr error = reader_.take_error();
        const bool is_skipped = error && skip(error);
        if (!is_skipped) {
          out.push(
              {id, error ? store().put_failure(std::move(error)) : store().put(reader_.value())});
        }
        ++seen_;
        reader_.pass();
        check_limits();
      }
    }
    return Stop::none;
  }

  void do_restart(Epoch epoch) override {
    forget();
    reader_.restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 1);
    forget();
    seen_ = numbers.next();
    skipped_ = numbers.next(seen_);
    reader_.restore(numbers.input(), epoch);
  }

  void do_request_stop() override { reader_.request_stop(); }

 private:
  bool skip(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const MemoryLimitExceeded&) {
      return false;
    } catch (const Error& cause) {
      ++skipped_;
      log_->add(cause);
      last_cause_ = cause;
      return true;
    } catch (...) {
      return false;
    }
  }

  void check_limits() const {
    if (skipped_ == 0) return;
    if (skipped_ > options_.max_count) {
      fail("max_count=" + std::to_string(options_.max_count));
    } else if (seen_ >= options_.rate_after &&
               static_cast<double>(skipped_) > options_.max_rate * static_cast<double>(seen_)) {
      fail("max_rate=" + shortest_text(options_.max_rate));
    }
  }

  [[noreturn]] void fail(const std::string& limit) const {
    Error::Parts parts{.kind = ErrorKind::limit_exceeded,
                       .reason = "skipped " + std::to_string(skipped_) + " of " +
                                 std::to_string(seen_) + " elements, more than " + limit +
                                 " allows",
                       .hint = "see what was skipped, or allow more"};
    if (last_cause_) {
      parts.path = last_cause_->path();
      parts.offset = last_cause_->offset();
      parts.reason += "; the last one: " + last_cause_->reason();
    }
    throw Error(std::move(parts));
  }

  void forget() {
    seen_ = skipped_ = 0;
    last_cause_.reset();
  }

  const IgnoreErrorsOptions options_;
  const std::shared_ptr<SkipLog> log_;
  ChunkReader reader_;
  uint64_t seen_ = 0;  // in this pass
  uint64_t skipped_ = 0;
  std::optional<Error> last_cause_;
};

class IgnoreErrorsNode final : public UnaryNode {
 public:
  IgnoreErrorsNode(NodePtr input, const IgnoreErrorsOptions& options)
      : UnaryNode(std::move(input)), options_(options) {}

 protected:
  PlanDescription describe_operator() const override {
    const bool any_count = options_.max_count == UINT64_MAX;
    return {"ignore_errors",
            {{"max_count", any_count ? "any" : std::to_string(options_.max_count)},
             {"max_rate", shortest_text(options_.max_rate)},
             {"rate_after", options_.rate_after}}};
  }
  Stage build_stage(const StageContext& context) const override {
    StageContext of_input = context;
    of_input.errors_are_skipped = true;
    Stage stage = input().make_stage(of_input);
    const size_t chunk_size = stage.chunk_size;
    return make_store_stage<IgnoreErrorsPlan>(element(), chunk_size, std::move(stage), options_,
                                              context);
  }

 private:
  IgnoreErrorsOptions options_;
};

}  // namespace

NodePtr ignore_errors(NodePtr input, const IgnoreErrorsOptions& options) {
  require(options.max_rate >= 0 && options.max_rate <= 1, "ignore_errors: max_rate must be 0 to 1");
  return std::make_shared<IgnoreErrorsNode>(std::move(input), options);
}

}  // namespace recordpipe::internal
