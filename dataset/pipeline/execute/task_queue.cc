#include "dataset/pipeline/execute/task_queue.h"

#include "dataset/pipeline/observe/stage_monitor.h"

namespace recordpipe::internal {

void TaskQueue::start(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    if (task.state_ != Task::State::idle) return;
    waiting_.push_back(&task);
    task.state_ = Task::State::waiting;
    if (!crew_ || visits_ >= helpers_.helpers()) return;
    ++visits_;
  }
  crew_->submit(weak_from_this());
}

void TaskQueue::cancel(Task& task) {
  std::unique_lock lock(mutex_);
  std::erase(waiting_, &task);
  changed_.wait(lock, [&] { return task.state_ != Task::State::running; });
  task.state_ = Task::State::idle;
}

void TaskQueue::work() noexcept {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    Task& last = *waiting_.back();
    waiting_.pop_back();
    run(last, /*is_needed=*/false, lock);
  }
  --visits_;
}

void TaskQueue::advance(Task& task, std::unique_lock<std::mutex>& lock) {
  if (task.state_ == Task::State::running) {
    const ActivityScope scope(owner_, Activity::waiting_for_input);
    changed_.wait(lock);
  } else {
    std::erase(waiting_, &task);
    run(task, /*is_needed=*/true, lock);
  }
}

void TaskQueue::run(Task& task, bool is_needed, std::unique_lock<std::mutex>& lock) {
  task.state_ = Task::State::running;
  lock.unlock();
  {
    const ActivityScope scope(owner_, Activity::computing);
    task.run(is_needed);
  }
  lock.lock();
  task.state_ = Task::State::idle;
  changed_.notify_all();
}

}  // namespace recordpipe::internal
