#pragma once

#include <filesystem>
#include <memory>

#include "artifact/manifest.h"
#include "executors/session.h"
#include "lathe/language_model.h"

namespace lathe {

/// The folder of an export, opened.
struct ExportedModel {
  ModelText text;
  GenerationIds generation;
  std::unique_ptr<Session> decode;
  std::unique_ptr<Session> prefill;  ///< null: none, or mode kv
};

/// Opens a folder that export_model wrote. Throws Error where it was changed since, does not fit
/// the executor or the versions of the libraries here.
ExportedModel open_export(const std::filesystem::path& folder, const OpenOptions& options);

}  // namespace lathe
