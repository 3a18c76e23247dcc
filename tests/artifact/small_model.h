#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "artifact/model.h"

namespace lathe::testing {

/// A model of two roles that share an embedding, a rotary table and a packed weight.
Model small_model();

using Metadata = std::map<std::string, std::string>;

/// Writes an artifact again with changed metadata and with checksums that are right.
void repack(const std::filesystem::path& from, const std::filesystem::path& to,
            const std::function<void(Metadata&)>& change);

}  // namespace lathe::testing
