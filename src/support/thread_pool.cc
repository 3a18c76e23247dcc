#include "support/thread_pool.h"

#include <sched.h>

#include <fstream>
#include <set>
#include <string>

namespace lathe {
namespace {

// About 50 microseconds of polling: longer than the gap between two steps of one decoded token,
// shorter than anything a user would notice as a busy processor.
constexpr int kSpins = 20'000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

int default_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = std::to_string(cpu);
    cores.insert(siblings);
  }
  return cores.empty() ? 1 : static_cast<int>(cores.size());
}

ThreadPool::ThreadPool(int threads) {
  for (int member = 1; member < threads; ++member) {
    workers_.emplace_back([this, member] { work(member); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_erased(Erased job, const void* context) noexcept {
  if (workers_.empty()) {
    job(context, 0);
    return;
  }
  job_ = job;
  context_ = context;
  pending_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1);
  // A worker counts itself as sleeping before it looks at the generation for the last time, so
  // either it sees this job or it is seen here.
  if (sleeping_.load() > 0) {
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  job(context, 0);
  int spins = 0;
  while (pending_.load(std::memory_order_acquire) > 0) {
    // With more threads than processors the one we wait for may need this one.
    if (++spins < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::work(int member) {
  uint64_t seen = 0;
  while (true) {
    int spins = 0;
    while (generation_.load(std::memory_order_acquire) == seen && !stop_.load()) {
      if (++spins < kSpins) {
        relax();
        continue;
      }
      std::unique_lock lock(mutex_);
      sleeping_.fetch_add(1);
      wake_.wait(lock, [&] { return generation_.load() != seen || stop_.load(); });
      sleeping_.fetch_sub(1);
    }
    if (stop_.load()) return;
    ++seen;
    job_(context_, member);
    pending_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace lathe
