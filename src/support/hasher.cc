#include "support/hasher.h"

#include <fmt/format.h>

#include <new>

#if LATHE_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>  // xxhash.h, with the update of the widest vectors that there are
#else
#include <xxhash.h>
#endif

namespace lathe {

struct Hasher::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh3{XXH3_createState()};
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  if (state_->xxh3 == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_->xxh3.get());
}

Hasher::~Hasher() = default;

void Hasher::add(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_128bits_update(state_->xxh3.get(), bytes.data(), bytes.size());
}

void Hasher::add(int64_t number) { add(std::as_bytes(std::span(&number, 1))); }

void Hasher::add(std::string_view text) {
  add(static_cast<int64_t>(text.size()));
  add(std::as_bytes(std::span(text)));
}

std::string Hasher::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh3.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace lathe
