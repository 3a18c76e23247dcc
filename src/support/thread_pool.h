#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe {

/// Physical cores this process may run on (hyper-threads counted once), at least 1.
int default_threads();

/// What a thread option means: `wanted`, or default_threads() for 0.
inline int thread_count(int wanted) { return wanted > 0 ? wanted : default_threads(); }

/// A fixed team of threads. The caller is member 0; the others spin briefly for the next job, then
/// sleep. run() neither allocates nor throws. One run() at a time; jobs must not call run().
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls job(member) once for every member in [0, size()), each on its own thread, and waits.
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

 private:
  using Erased = void (*)(const void* context, int member);
  void run_erased(Erased job, const void* context) noexcept;
  void work(int member);

  std::vector<std::thread> workers_;
  Erased job_ = nullptr;
  const void* context_ = nullptr;
  std::atomic<uint64_t> generation_{0};  // one more for each job
  std::atomic<int> pending_{0};          // workers that have not finished the current job
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace lathe
