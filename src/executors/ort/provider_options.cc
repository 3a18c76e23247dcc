#include "executors/ort/provider_options.h"

#include "executors/ort/library.h"
#include "support/error.h"

namespace lathe {

OrtSettings settings_for(const OrtTarget& target) {
  OrtSettings settings;
  settings.threads = target.threads;
  if (!target.htp.has_value()) return settings;

  const auto& [chip, optimization] = *target.htp;
  if (optimization < 1 || optimization > 3) {
    fail({.what = "optimization is out of range",
          .expected = "1, 2 or 3",
          .found = std::to_string(optimization)});
  }
  // An operator that the HTP rejects would otherwise run on the CPU, unseen.
  settings.config.push_back({"session.disable_cpu_ep_fallback", "1"});
  settings.provider = OrtLibrary::kHtpName;
  // Without the chip, the simulator computes as an older one does, with other codes.
  settings.provider_options = {
      {"backend_path", OrtLibrary::open().htp().backend.string()},
      {"soc_model", std::to_string(chip.id)},
      {"htp_arch", std::to_string(chip.arch)},
      {"vtcm_mb", std::to_string(chip.vtcm_mb)},
      {"htp_graph_finalization_optimization_mode", std::to_string(optimization)},
      {"htp_performance_mode", "burst"},
      // Weights in blocks as Qualcomm's LPBQ, which is exact; as they are, it loses last bits.
      {"enable_block_quant_weight_optimization", "1"},
  };
  return settings;
}

}  // namespace lathe
