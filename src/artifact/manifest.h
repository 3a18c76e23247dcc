#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/model.h"

namespace lathe {

/// The name of the manifest in the folder that an export makes (docs/npu.md).
inline constexpr std::string_view kManifestName = "lathe.json";

/// Raised whenever a folder that was written before can no longer be read.
inline constexpr int64_t kManifestVersion = 1;

/// The chip that context binaries were compiled for.
struct ExportedChip {
  std::string name;  ///< "SM8750"
  int64_t soc = 0;   ///< Qualcomm's id of it
  int64_t arch = 0;  ///< of its HTP: 79
  int64_t vtcm_mb = 0;

  bool operator==(const ExportedChip&) const = default;
};

/// What a chip's compiler made of a graph.
struct CompiledGraph {
  std::map<std::string, int64_t> operators;  ///< count of each, by the chip's own name: "Conv2d"
  int64_t boundary_tensors = 0;              ///< inputs and outputs
  int64_t boundary_bytes = 0;                ///< of one call

  int64_t operator_count() const;
  bool operator==(const CompiledGraph&) const = default;
};

/// A file that one executor runs.
struct ExportedPart {
  std::string file;  ///< an .onnx, or a .lathe for what the host computes
  /// Format htp: an .onnx of the same graph for a simulator, which loads no context binary that
  /// holds several graphs; empty: none.
  std::string simulator_file = {};
  IoContract io;
  std::optional<CompiledGraph> compiled = {};  ///< format htp
};

/// A graph of the model: parts that run one after another, and what is seen of them from outside.
struct ExportedGraph {
  IoContract io;
  std::vector<ExportedPart> parts;
};

struct ExportedFile {
  std::string name;
  int64_t bytes = 0;
  std::string hash;  ///< Hasher
};

/// What an export folder says about itself.
struct Manifest {
  std::string format;                ///< "onnx" or "htp"
  std::optional<ExportedChip> chip;  ///< format htp
  /// Of what made it: "lathe", "onnxruntime", "onnxruntime-qnn".
  std::map<std::string, std::string> versions;
  std::string model_hash;  ///< of the artifact that was exported
  ModelFacts facts;
  GenerationIds generation;
  Provenance provenance;
  std::vector<ExportedGraph> graphs;
  std::vector<ExportedFile> files;  ///< all files of the folder but the manifest

  /// The first graph of that role, or nullptr.
  const ExportedGraph* find(GraphRole role) const;
};

/// JSON for people and programs.
std::string manifest_json(const Manifest& manifest);
/// The inverse. Throws Error for anything wrong, names that lead out of the folder included.
Manifest parse_manifest(std::string_view text, const std::string& where);

/// Size and hash of a file in a folder.
ExportedFile describe_file(const std::filesystem::path& folder, const std::string& name);

/// Whether this is a folder with a manifest.
bool is_export_folder(const std::filesystem::path& path);
/// Reads the manifest of a folder. Throws Error for any other folder.
Manifest read_manifest(const std::filesystem::path& folder);
/// The text files of a folder; empty where there are none.
ModelText read_export_text(const std::filesystem::path& folder);
/// Throws Error where a file is missing, cut or changed, with both sizes or hashes.
void check_files(const std::filesystem::path& folder, const Manifest& manifest);

}  // namespace lathe
