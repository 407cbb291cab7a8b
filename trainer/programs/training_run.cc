#include "trainer/programs/training_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/trainer/report/report.h"
#include "recordpipe/trainer/session/checkpoint_saver_hook.h"
#include "recordpipe/trainer/session/eval_hook.h"
#include "recordpipe/trainer/session/profiler_hook.h"
#include "recordpipe/trainer/session/report_hook.h"
#include "recordpipe/trainer/session/share_restored.h"
#include "recordpipe/trainer/session/step_counter_hook.h"
#include "recordpipe/trainer/session/stop_at_step_hook.h"
#include "recordpipe/trainer/session/summary_saver_hook.h"
#include "recordpipe/trainer/session/training_session.h"
#include "recordpipe/trainer/session/write_events.h"
#include "recordpipe/trainer/summary/event_file.h"
#include "tools/support/process/interrupt.h"
#include "trainer/programs/evaluation.h"
#include "trainer/programs/log.h"
#include "trainer/programs/processes.h"

namespace recordpipe {
namespace {

// Ends a run after the step in which a signal arrived; the saver's end() then saves it.
class InterruptHook final : public SessionHook {
 public:
  void after_create_session(TrainingSession& session) override { stop_if_interrupted(session); }
  void after_run(TrainingSession& session, const RunValues&) override {
    stop_if_interrupted(session);
  }

 private:
  static void stop_if_interrupted(TrainingSession& session) {
    if (interrupted()) session.request_stop();
  }
};

constexpr const char* history_name = "report-history.jsonl";

// Finds errors that would prevent the report before the training, not after it.
void check_report(const std::string& report, const std::string& job_dir) {
  const std::filesystem::path path(report);
  const std::string name = path.filename();
  const bool is_of_the_run = path.extension() == ".safetensors" || name == history_name ||
                             name == checkpoint_lock_name || is_event_file_name(name) ||
                             is_timeline_name(name);
  std::error_code none;
  if (is_of_the_run &&
      std::filesystem::equivalent(path.has_parent_path() ? path.parent_path() : ".", job_dir, none))
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = report,
                 .reason = "the report would overwrite a file of the run",
                 .hint = "give it another name"});
  AtomicFile(posix_file_system(), report);  // throws if it can't be created; writes nothing
}

bool is_interrupted() { return interrupted() != 0; }

class LogHook final : public SessionHook {
 public:
  explicit LogHook(TrainingLog& log) : log_(log) {}
  void after_run(TrainingSession&, const RunValues& values) override {
    log_.step(values.result, values.input_wait_seconds);
  }

 private:
  TrainingLog& log_;
};

}  // namespace

TrainingRun::TrainingRun(Backend& backend, const Network& network, Communicator& processes,
                         TrainingRunOptions options)
    : backend_(backend),
      network_(network),
      processes_(processes),
      options_(std::move(options)),
      variables_(backend_.make_variables(network_)),
      trainer_(backend_, network_, *variables_, options_.trainer),
      history_(posix_file_system(), options_.report.empty() || !is_first()
                                        ? ""
                                        : options_.job_dir + "/" + history_name) {
  if (!is_first()) return;
  checkpoints_.emplace(posix_file_system(), options_.job_dir, options_.keep_checkpoints);
  if (!options_.report.empty()) check_report(options_.report, options_.job_dir);
}

std::vector<std::unique_ptr<SessionHook>> TrainingRun::make_hooks(uint64_t last_step,
                                                                  TrainingLog& log,
                                                                  EventWriter& events) {
  const auto note = [&log](const std::string& text) { log.note(text); };
  std::vector<std::unique_ptr<SessionHook>> hooks;
  hooks.push_back(std::make_unique<StopAtStepHook>(StopAtStepOptions{.last_step = last_step}));
  hooks.push_back(std::make_unique<InterruptHook>());
  hooks.push_back(std::make_unique<NanHook>(options_.nan));
  if (!is_first()) return hooks;
  hooks.push_back(std::make_unique<LogHook>(log));
  if (options_.summary_steps > 0) {
    hooks.push_back(std::make_unique<SummarySaverHook>(
        events, network_, SummarySaverOptions{.every = {.steps = options_.summary_steps}}));
    hooks.push_back(std::make_unique<StepCounterHook>(
        events, StepCounterOptions{.every = {.steps = options_.summary_steps}}));
  }
  if (options_.profile_steps > 0)
    hooks.push_back(std::make_unique<ProfilerHook>(
        posix_file_system(), options_.job_dir,
        ProfilerOptions{.every = {.steps = options_.profile_steps}}));
  if (!options_.report.empty()) hooks.push_back(std::make_unique<ReportHook>(history_));
  if (options_.validation_steps > 0) {
    EvalOptions validation = {.every = {.steps = options_.validation_steps}};
    validation.evaluate = [this] {
      return evaluate_averaged(backend_, network_, *variables_, options_.validation_batches(),
                               {.batch_size = options_.eval_batch_size,
                                .max_mistakes = 0,
                                .stop = is_interrupted})
          .total;
    };
    validation.listener = [this, &log, note, &events](uint64_t step, const BatchResult& result,
                                                      bool best) {
      log.skip_time();
      if (!options_.report.empty())
        write_or_note(note, [&] { history_.add_validation(step, result); });
      const double accuracy = static_cast<double>(result.correct) /
                              static_cast<double>(std::max<size_t>(1, result.images));
      if (options_.summary_steps > 0)
        write_or_note(note, [&] {
          events.add_summary(step, {{"validation/accuracy", ScalarSummary{accuracy}},
                                    {"validation/loss", ScalarSummary{result.loss}}});
        });
      note(fmt::format("validation accuracy {:.2f}% ({}/{}), loss = {:.4f} at step {}{}",
                       100 * accuracy, result.correct, result.images, result.loss, step,
                       best ? ", the best so far" : ""));
    };
    hooks.push_back(std::make_unique<EvalHook>(*checkpoints_, std::move(validation)));
  }
  CheckpointSaverOptions saver = {.every = {.steps = options_.checkpoint_steps},
                                  .nan = options_.nan};
  saver.listeners.push_back([this, note, &events](const std::string& path, uint64_t step) {
    checkpoint_ = path;
    note("saved " + printable(path));
    if (options_.summary_steps == 0) return;
    // May also report the error of an earlier summary. The checkpoint is already saved.
    write_or_note(note, [&] {
      events.add_session_log(step, {.status = SessionStatus::checkpoint, .checkpoint_path = path});
    });
  });
  hooks.push_back(std::make_unique<CheckpointSaverHook>(*checkpoints_, std::move(saver)));
  return hooks;
}

int TrainingRun::train() {
  if (options_.stop_grace_seconds > 0)
    Interrupt::set_grace(std::chrono::seconds(options_.stop_grace_seconds));
  CheckpointSettings settings = options_.settings;
  settings["last_step"] = std::to_string(options_.last_step);
  settings["minutes"] = fmt::format("{}", options_.minutes);
  require_same_settings(processes_, settings);
  const uint64_t last_step = options_.minutes > 0 ? measure_last_step() : options_.last_step;
  trainer_.set_total_steps(last_step);
  TrainingLog log(trainer_, {.last_step = last_step,
                             .log_frequency = options_.log_frequency,
                             .words = options_.words,
                             .synthetic = options_.synthetic});
  EventWriter events(posix_file_system(), options_.job_dir);
  const SessionOptions options = {.batches = options_.batches,
                                  .learning_rate = options_.schedule(last_step),
                                  .seed = options_.seed,
                                  .settings = settings_to(last_step),
                                  .processes = &processes_,
                                  .note = [&log](const std::string& text) { log.note(text); }};
  auto hooks = make_hooks(last_step, log, events);
  if (is_first()) note_superfluous_checkpoints(log);  // already the session's start may save
  auto session = is_first() ? TrainingSession(trainer_, *checkpoints_, options, std::move(hooks))
                            : TrainingSession(trainer_, options, std::move(hooks));
  if (checkpoint_.empty()) checkpoint_ = session.restored_path();
  if (session.restored_step() && step() >= last_step)
    log.note(fmt::format("nothing left to train: {} of {} steps are done", step(), last_step));
  first_step_ = step();
  last_step_ = last_step;
  session.run();
  // All processes call it: the first may have gone back to a checkpoint (CheckpointSaverHook, for a
  // variable that is not finite), the others not.
  const int signal = interrupted_anywhere(processes_);
  if (!signal || step() >= last_step) return 0;
  log.note(fmt::format("interrupted at step {} of {}; {} to continue", step(), last_step,
                       how_to_continue()));
  return signal;
}

void TrainingRun::note_superfluous_checkpoints(TrainingLog& log) const {
  size_t count = 0;
  try {
    count = list_checkpoints(posix_file_system(), options_.job_dir).size();
  } catch (const Error&) {  // the folder is out of reach at the moment
  }
  if (count > options_.keep_checkpoints)
    log.note(
        fmt::format("{} holds {} checkpoints: the next save removes all but the newest {} "
                    "(--keep-checkpoints)",
                    printable(options_.job_dir), count, options_.keep_checkpoints));
}

CheckpointSettings TrainingRun::settings_to(uint64_t last_step) const {
  CheckpointSettings settings = options_.settings;
  if (options_.schedule_has_end) settings["last_step"] = std::to_string(last_step);
  return settings;
}

// Estimates the number of steps for the given minutes: makes steps for a few seconds and discards
// them, so that a run with --train-steps repeats this one from its first step. (Not exactly for a
// resumed run: its schedule ends at another step than before.)
uint64_t TrainingRun::measure_last_step() {
  const double budget = options_.minutes * 60, trial = std::min(10.0, 0.03 * budget);
  initialize(*variables_, options_.seed);
  std::optional<RestoredCheckpoint> restored;
  if (is_first()) restored = checkpoints_->restore(*variables_);
  share_restored(processes_, *variables_, restored);
  const uint64_t first_step = restored ? restored->state.step : 0;
  trainer_.set_steps_done(first_step);
  const double start = steady_seconds();
  Iterator<ImageBatch> batches = options_.batches(options_.seed).iterate();
  // At a rate of 0 only momenta, averages, batch norm's statistics and the loss scale change; the
  // session's constructor resets them.
  const auto make_step = [&] { trainer_.step(*batches.next(), [](uint64_t) { return 0.0; }); };
  const auto seconds_per_step = [&](double seconds) {
    const double from = steady_seconds();
    for (int warm_up = 0; warm_up < 3; ++warm_up) make_step();
    const double measured_from = steady_seconds();
    uint64_t steps = 0;
    do {
      make_step();
      ++steps;
    } while (!any(processes_, steady_seconds() - from >= seconds || interrupted()));
    return (steady_seconds() - measured_from) / static_cast<double>(steps);
  };
  // With all variables trained, and with those frozen that are at the end.
  const double share =
      std::ranges::min(network_.variables(), {}, &VariableSpec::trained_share).trained_share;
  double per_step = seconds_per_step(share * trial);
  if (share < 1) {
    trainer_.set_total_steps(0);
    per_step = share * per_step + (1 - share) * seconds_per_step((1 - share) * trial);
  }

  const double left = std::max(0.0, budget - (steady_seconds() - start));
  uint64_t last_step = first_step + 1 + static_cast<uint64_t>(left / per_step);
  processes_.broadcast(std::as_writable_bytes(std::span(&last_step, 1)));
  log_info("{:.1f} ms per step{}: training to step {}{}", 1e3 * per_step,
           options_.synthetic ? " on synthetic data" : "", last_step,
           restored ? "" : fmt::format("; --train-steps {} repeats this run", last_step));
  return last_step;
}

Evaluation TrainingRun::evaluate(const Dataset<ImageBatch>& batches) {
  return evaluate_averaged(backend_, network_, *variables_, batches,
                           {.batch_size = options_.eval_batch_size,
                            .augmentation = options_.augmentation,
                            .stop = is_interrupted});
}

void TrainingRun::write_report(std::optional<FinalEvaluation> evaluation) {
  if (options_.report.empty()) return;
  RunReport report = {.title = options_.report_title,
                      .history = history_.history(),
                      .class_names = {kCifar10ClassNames.begin(), kCifar10ClassNames.end()},
                      .final_evaluation = std::move(evaluation)};
  if (options_.synthetic) report.notes.push_back("The data are synthetic.");
  report.facts = {{"parameters", std::to_string(network_.parameter_count())},
                  {"steps", std::to_string(step())}};
  for (const auto& [name, value] : options_.settings) report.facts.push_back({name, value});
  recordpipe::write_report(posix_file_system(), options_.report, report);
  log_info("wrote {}", printable(options_.report));
}

void TrainingRun::write_interrupted_report() {
  if (step() == first_step_) return;
  try {
    write_report({});
  } catch (const Error& error) {
    log_error("no report: {}", error.what());
  }
}

std::string TrainingRun::how_to_continue() const {
  return options_.minutes > 0 ? fmt::format("run it with --train-steps {}", last_step_)
                              : "run it again";
}

}  // namespace recordpipe
