#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lathe {

/// How an artifact becomes files for another runtime. The defaults are those of `lathe export`.
struct ExportOptions {
  /// "onnx": static QDQ graphs; "htp": context binaries for a Snapdragon's tensor processor.
  std::string format = "onnx";
  /// The chip, by name, id or generation: "SM8750", "69", "v79". Format htp only, and needed there.
  std::string soc = {};
  /// How hard Qualcomm's compiler tries, 1 to 3.
  int optimization = 3;
  /// Parts that the model is cut into, by layers. None: as few as the chip's limits allow, but no
  /// fewer than the recipe says.
  std::optional<int> shards = {};
  /// The table of embeddings stays with the host, which looks the rows up. None: on a chip as the
  /// recipe says, else no.
  std::optional<bool> embedding_on_host = {};
  /// Format htp: graphs for the simulator too, which loads no context binary of several graphs.
  bool simulator = true;
  /// A folder for the compiler's own account of the graphs (JSON); empty: none.
  std::filesystem::path graph_dump = {};
  /// Called with what is being done, before it is.
  std::function<void(std::string_view)> progress = {};
};

struct ExportReport {
  double seconds = 0.0;
  int64_t peak_rss_bytes = 0;
  int64_t folder_bytes = 0;   ///< all files
  int64_t context_bytes = 0;  ///< format htp: the context binaries
  int64_t weight_bytes = 0;   ///< what the graphs' weights take, each once
  int shards = 1;
};

/// Writes the folder `output` (docs/npu.md). A failed or killed run leaves what was there before.
/// Throws Error for a folder with other files in it, an unknown chip, a model that does not fit,
/// ONNX Runtime missing where it is needed, and an operator that the chip does not have.
ExportReport export_model(const std::filesystem::path& artifact,
                          const std::filesystem::path& output, const ExportOptions& options = {});

}  // namespace lathe
