#include "support/thread_pool.h"

#include <sched.h>

#include <algorithm>
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

ThreadPool::ThreadPool(int threads)
    : members_(threads > 0 ? threads : 1),
      shared_(members_),
      taken_(static_cast<size_t>(members_)) {
  for (int member = 1; member < members_; ++member) {
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

bool ThreadPool::has_share() const {
  const uint64_t job = number_.load();
  return std::any_of(taken_.begin(), taken_.end(),
                     [&](const Taken& share) { return share.of.load() + 1 == job; });
}

bool ThreadPool::take_share(int own) noexcept {
  const uint64_t job = number_.load(std::memory_order_acquire);
  for (int i = 0; i < members_; ++i) {
    const int share = (own + i) % members_;
    std::atomic<uint64_t>& taken = taken_[static_cast<size_t>(share)].of;
    uint64_t before = job - 1;
    if (taken.load(std::memory_order_relaxed) != before) continue;
    if (!taken.compare_exchange_strong(before, job, std::memory_order_acq_rel)) continue;
    job_(context_, share);
    done_.fetch_add(1, std::memory_order_release);
    return true;
  }
  return false;
}

void ThreadPool::run_erased(Erased job, const void* context) noexcept {
  if (members_ == 1) {
    job(context, 0);
    return;
  }
  job_ = job;
  context_ = context;
  done_.store(0, std::memory_order_relaxed);
  number_.store(number_.load(std::memory_order_relaxed) + 1);
  // A worker counts itself as sleeping before it looks for a share for the last time, so either it
  // sees this job or it is seen here.
  if (sleeping_.load() > 0) {
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  while (take_share(0)) {
  }
  int spins = 0;
  while (done_.load(std::memory_order_acquire) < size()) {
    // With more threads than processors the one we wait for may need this one.
    if (++spins < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::work(int own) {
  int spins = 0;
  while (!stop_.load()) {
    if (take_share(own)) {
      spins = 0;
    } else if (++spins < kSpins) {
      relax();
    } else {
      std::unique_lock lock(mutex_);
      sleeping_.fetch_add(1);
      wake_.wait(lock, [&] { return has_share() || stop_.load(); });
      sleeping_.fetch_sub(1);
      spins = 0;
    }
  }
}

}  // namespace lathe
