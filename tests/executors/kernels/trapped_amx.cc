#include "executors/kernels/amx_stand_in.h"

#if defined(__x86_64__)

#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "executors/cpu/kernels/tables.h"
#include "executors/kernels/tile_model.h"

namespace lathe {
namespace {

/// The tiles of this thread. They are there from LDTILECFG to TILERELEASE.
struct ThreadTiles {
  TileModel model;
  bool configured = false;
};
thread_local ThreadTiles thread_tiles;

/// What the processor answers with an exception ends the test.
void require(bool legal) {
  if (!legal) std::abort();
}

/// Operand of LDTILECFG.
void configure(const uint8_t* configuration) {
  require(configuration[0] == 1 && configuration[1] == 0);
  require(std::all_of(configuration + 2, configuration + 16, [](uint8_t b) { return b == 0; }));
  for (int tile = 0; tile < 16; ++tile) {
    const int bytes = configuration[16 + 2 * tile] | configuration[17 + 2 * tile] << 8;
    const int rows = configuration[48 + tile];
    const bool used = tile < TileModel::kTiles;
    require(bytes == (used ? 64 : 0));
    require(used ? rows >= 1 && rows <= 16 : rows == 0);
    if (used) thread_tiles.model.set_rows(tile, rows);
  }
  thread_tiles.configured = true;
}

/// One instruction, VEX.128.0F38.W0 with three bytes of prefix, which is what tiles have.
class Instruction {
 public:
  Instruction(const uint8_t* code, const greg_t* registers) : code_(code), registers_(registers) {}

  bool has_three_byte_prefix() const { return code_[0] == 0xC4 && (code_[1] & 31) == 2; }
  int opcode() const { return code_[3]; }
  /// 0: none, 1: 66, 2: F3, 3: F2
  int prefix() const { return code_[2] & 3; }
  bool is_128_w0() const { return (code_[2] & 0x84) == 0; }
  int third_register() const { return ~(code_[2] >> 3) & 15; }
  bool in_memory() const { return code_[4] >> 6 != 3; }
  int first_register() const { return code_[4] >> 3 & 7; }
  int second_register() const { return code_[4] & 7; }

  bool has_sib() const { return in_memory() && second_register() == 4; }
  int displacement_bytes() const {
    const int mode = code_[4] >> 6;
    const bool no_base = mode == 0 && (has_sib() ? code_[5] & 7 : second_register()) == 5;
    require(!no_base);
    return mode == 1 ? 1 : mode == 2 ? 4 : 0;
  }
  int64_t length() const { return in_memory() ? 5 + has_sib() + displacement_bytes() : 5; }

  /// Base and displacement, without the index.
  uint8_t* address() const {
    const int base = has_sib() ? code_[5] & 7 : second_register();
    const uint8_t* from = code_ + 5 + has_sib();
    int64_t displacement = 0;
    if (displacement_bytes() == 1) displacement = static_cast<int8_t>(*from);
    if (displacement_bytes() == 4) {
      int32_t wide;
      std::memcpy(&wide, from, sizeof(wide));
      displacement = wide;
    }
    return reinterpret_cast<uint8_t*>(value_of(base + extension(5)) + displacement);
  }
  /// The index, which is the distance of rows.
  int64_t stride() const {
    require(has_sib());
    const int index = (code_[5] >> 3 & 7) + extension(6);
    return index == 4 ? 0 : value_of(index) << (code_[5] >> 6);
  }

 private:
  /// The fourth bit of a register's number lies inverted in the prefix.
  int extension(int bit) const { return (code_[1] >> bit & 1) == 0 ? 8 : 0; }
  int64_t value_of(int number) const {
    constexpr int kPlaces[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                 REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                 REG_R12, REG_R13, REG_R14, REG_R15};
    return registers_[kPlaces[number]];
  }

  const uint8_t* code_;
  const greg_t* registers_;
};

void execute(const Instruction& instruction) {
  require(instruction.has_three_byte_prefix() && instruction.is_128_w0());
  TileModel& model = thread_tiles.model;
  const int kind = instruction.opcode() << 4 | instruction.prefix();
  const int first = instruction.first_register();
  if (kind == 0x490 && instruction.in_memory() && first == 0) {  // LDTILECFG
    configure(instruction.address());
    return;
  }
  require(thread_tiles.configured);
  if (kind == 0x490 && !instruction.in_memory()) {  // TILERELEASE
    thread_tiles.configured = false;
  } else if (kind == 0x493 && !instruction.in_memory()) {  // TILEZERO
    model.zero(first);
  } else if (kind == 0x4B3) {  // TILELOADD
    model.load(first, instruction.address(), instruction.stride());
  } else if (kind == 0x4B2) {  // TILESTORED
    model.store(first, instruction.address(), instruction.stride());
  } else if (kind == 0x5E1 && !instruction.in_memory()) {  // TDPBUSD
    const int a = instruction.second_register();
    const int b = instruction.third_register();
    require(first != a && first != b && a != b && b < TileModel::kTiles);
    require(model.rows(first) == model.rows(a) && model.rows(b) == 16);
    model.dot(first, a, b);
  } else {
    require(false);
  }
}

void on_illegal_instruction(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const Instruction instruction(reinterpret_cast<const uint8_t*>(registers[REG_RIP]), registers);
  execute(instruction);
  registers[REG_RIP] += instruction.length();
}

}  // namespace

const Kernels* trapped_amx_kernels() {
  const std::vector<Isa> isas = available_isas();
  if (isas.back() != Isa::avx512) return nullptr;
  struct sigaction action = {};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO;
  require(sigaction(SIGILL, &action, nullptr) == 0);
  return &kAmxKernels;
}

}  // namespace lathe

#else

namespace lathe {

const Kernels* trapped_amx_kernels() { return nullptr; }

}  // namespace lathe

#endif
