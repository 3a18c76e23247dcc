#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/shared_work.h"

namespace lathe {

/// Physical cores this process may run on (hyper-threads counted once), at least 1.
int default_threads();

/// What a thread option means: `wanted`, or default_threads() for 0.
inline int thread_count(int wanted) { return wanted > 0 ? wanted : default_threads(); }

/// A fixed team of threads: the caller, and others that spin briefly for the next job, then sleep.
/// A job has one share for each member. Each takes its own, so what a thread has in its caches
/// serves the next job too; who is done takes one that nobody has begun, so the caller never waits
/// for a thread that the system does not let run (another program, another pool, more threads than
/// processors) but for what that thread has begun. run() neither allocates nor throws. One
/// run() at a time; jobs must not call run().
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return members_; }

  /// Calls job(member) once for every member in [0, size()), on whatever thread, and waits.
  template <typename Job>
  void run(const Job& job) noexcept {
    run_erased([](const void* context, int member) { (*static_cast<const Job*>(context))(member); },
               &job);
  }

  /// Calls job(begin, end) on disjoint ranges that cover [0, count), split evenly in multiples of
  /// `grain`. With one range only, runs it here without waking anybody.
  template <typename Job>
  void split(int64_t count, int64_t grain, const Job& job) noexcept {
    const int64_t units = (count + grain - 1) / grain;
    const int64_t members = size() < units ? size() : units;
    if (members <= 1) {
      if (count > 0) job(int64_t{0}, count);
      return;
    }
    run([&](int member) {
      const int64_t begin = units * member / members * grain;
      const int64_t end = units * (member + 1) / members * grain;
      if (member < members) job(begin, end < count ? end : count);
    });
  }

  /// Shares [bound(0), bound(size())) among the members, [bound(member), bound(member + 1)) being
  /// the range of one, evened out by pieces of `piece` (SharedWork). Calls job(member, pieces) once
  /// for every member, which does what SharedWork::Pieces gives it.
  template <typename Bound, typename Job>
  void share(const Bound& bound, int64_t piece, const Job& job) noexcept {
    shared_.begin(piece);
    for (int member = 0; member < size(); ++member) {
      shared_.give(member, {bound(member), bound(member + 1)});
    }
    run([&](int member) { job(member, shared_.pieces_of(member)); });
  }

 private:
  using Erased = void (*)(const void* context, int member);
  void run_erased(Erased job, const void* context) noexcept;
  void work(int own);
  bool take_share(int own) noexcept;
  bool has_share() const;

  const int members_;  // the caller and the workers; these read it while they are still being made
  SharedWork shared_;  // of the job that share() runs
  std::vector<std::thread> workers_;
  Erased job_ = nullptr;
  const void* context_ = nullptr;
  // The last job of which a share was taken. Who takes one puts the job that it has looked at in
  // the place of the one before. So that job is not done, and it, its context and its run() stay
  // until the share is done.
  struct alignas(64) Taken {
    std::atomic<uint64_t> of{0};
  };
  std::vector<Taken> taken_;  // by share
  // Of the current job. Before the first there is nothing to take.
  alignas(64) std::atomic<uint64_t> number_{0};
  alignas(64) std::atomic<int> done_{0};  // shares of the current job
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace lathe
