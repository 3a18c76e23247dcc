#include "artifact/manifest.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "artifact/description.h"
#include "artifact/format.h"
#include "artifact/io_description.h"
#include "support/error.h"
#include "support/hasher.h"
#include "support/json.h"
#include "support/mapped_file.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kVersionKey = "format_version";
constexpr const char* kExportAgain = "export the model again";

/// Throws Error for a name that is a path, or hidden.
std::string plain_name(const JsonFields& fields, std::string_view key) {
  std::string name = fields.string(key);
  const bool plain = !name.empty() && name.size() <= 100 && name.front() != '.' &&
                     std::all_of(name.begin(), name.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
                     });
  if (plain) return name;
  fail({.what = "name of a file is not allowed",
        .where = fields.place(key),
        .expected = "letters, digits, '.', '_' and '-'",
        .found = printable(name, 60)});
}

std::optional<ExportedChip> parse_chip(const JsonFields& fields) {
  const Json* json = fields.find("chip");
  if (json == nullptr) return std::nullopt;
  constexpr int64_t kMax = 1 << 20;
  const JsonFields chip(*json, fields.place("chip"));
  return ExportedChip{chip.string("name"), chip.integer("soc", 1, kMax),
                      chip.integer("arch", 1, kMax), chip.integer("vtcm_mb", 1, kMax)};
}

Json compiled_json(const CompiledGraph& compiled) {
  return {{"operators", compiled.operators},
          {"boundary_tensors", compiled.boundary_tensors},
          {"boundary_bytes", compiled.boundary_bytes}};
}

std::optional<CompiledGraph> parse_compiled(const JsonFields& part) {
  const Json* json = part.find("compiled");
  if (json == nullptr) return std::nullopt;
  constexpr int64_t kMax = int64_t{1} << 40;
  const JsonFields fields(*json, part.place("compiled"));
  CompiledGraph compiled;
  compiled.boundary_tensors = fields.integer("boundary_tensors", 0, kMax);
  compiled.boundary_bytes = fields.integer("boundary_bytes", 0, kMax);
  const Json& operators = fields.object("operators");
  const JsonFields counts(operators, fields.place("operators"));
  for (const auto& [type, count] : operators.items()) {
    compiled.operators[type] = counts.integer(type, 0, kMax);
  }
  return compiled;
}

ExportedGraph parse_graph(const Json& json, const std::string& where) {
  const JsonFields fields(json, where);
  ExportedGraph graph{parse_io_contract(fields.object("io"), fields.place("io")), {}};
  for (const Json& item : fields.list("parts")) {
    const JsonFields part(item, fields.place("parts"));
    graph.parts.push_back(
        {plain_name(part, "file"),
         part.find("simulator_file") == nullptr ? std::string()
                                                : plain_name(part, "simulator_file"),
         parse_io_contract(part.object("io"), part.place("io")), parse_compiled(part)});
  }
  if (graph.parts.empty()) fail({.what = "graph has no parts", .where = where});
  return graph;
}

void check_version(const JsonFields& fields, const std::string& where) {
  const int64_t version = fields.integer(kVersionKey, 1, std::numeric_limits<int32_t>::max());
  if (version == kManifestVersion) return;
  fail({.what = "export is of another format version",
        .where = where,
        .expected = std::to_string(kManifestVersion),
        .found = std::to_string(version),
        .advice = kExportAgain});
}

std::string hash_of(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.add(bytes);
  return hasher.hex();
}

}  // namespace

int64_t CompiledGraph::operator_count() const {
  int64_t count = 0;
  for (const auto& [type, times] : operators) count += times;
  return count;
}

const ExportedGraph* Manifest::find(GraphRole role) const {
  const auto found = std::find_if(graphs.begin(), graphs.end(), [&](const ExportedGraph& graph) {
    return graph.io.role == role;
  });
  return found == graphs.end() ? nullptr : &*found;
}

std::string manifest_json(const Manifest& manifest) {
  Json json = {{kVersionKey, kManifestVersion},
               {"format", manifest.format},
               {"versions", manifest.versions},
               {"model_hash", manifest.model_hash},
               {"model", Json::parse(facts_json(manifest.facts))},
               {"generation", Json::parse(generation_json(manifest.generation))},
               {"provenance", Json::parse(provenance_json(manifest.provenance))}};
  if (const auto& chip = manifest.chip) {
    json["chip"] = {
        {"name", chip->name}, {"soc", chip->soc}, {"arch", chip->arch}, {"vtcm_mb", chip->vtcm_mb}};
  }
  json["graphs"] = Json::array();
  for (const ExportedGraph& graph : manifest.graphs) {
    Json parts = Json::array();
    for (const ExportedPart& part : graph.parts) {
      parts.push_back({{"file", part.file}, {"io", io_contract_json(part.io)}});
      if (!part.simulator_file.empty()) parts.back()["simulator_file"] = part.simulator_file;
      if (part.compiled) parts.back()["compiled"] = compiled_json(*part.compiled);
    }
    json["graphs"].push_back({{"io", io_contract_json(graph.io)}, {"parts", std::move(parts)}});
  }
  json["files"] = Json::array();
  for (const ExportedFile& file : manifest.files) {
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"hash", file.hash}});
  }
  return json.dump(1) + "\n";
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  const Json json = parse_json(text, where);
  const JsonFields fields(json, where);
  check_version(fields, where);
  Manifest manifest;
  manifest.format = fields.string("format");
  if (manifest.format != "onnx" && manifest.format != "htp") {
    fail({.what = "there is no such format",
          .where = fields.place("format"),
          .expected = "onnx or htp",
          .found = printable(manifest.format, 40)});
  }
  manifest.chip = parse_chip(fields);
  if ((manifest.format == "htp") != manifest.chip.has_value()) {
    fail({.what = "format and chip contradict each other", .where = fields.place("chip")});
  }
  const Json& versions = fields.object("versions");
  for (const auto& [name, version] : versions.items()) {
    manifest.versions[name] = JsonFields(versions, fields.place("versions")).string(name);
  }
  manifest.model_hash = fields.string("model_hash");
  manifest.facts = parse_facts(fields.object("model").dump());
  manifest.generation =
      parse_generation(fields.object("generation").dump(), manifest.facts.vocab_size);
  manifest.provenance = parse_provenance(fields.object("provenance").dump());
  for (const Json& graph : fields.list("graphs")) {
    manifest.graphs.push_back(parse_graph(graph, fields.place("graphs")));
    const ExportedGraph& parsed = manifest.graphs.back();
    require_context(manifest.facts, parsed.io.context, fields.place("graphs"));
    for (const ExportedPart& part : parsed.parts) {
      require_context(manifest.facts, part.io.context, fields.place("graphs"));
    }
  }
  for (const Json& item : fields.list("files")) {
    const JsonFields file(item, fields.place("files"));
    manifest.files.push_back({plain_name(file, "name"),
                              file.integer("bytes", 0, std::numeric_limits<int64_t>::max()),
                              file.string("hash")});
  }
  const auto require_listed = [&](const std::string& name) {
    const bool listed = std::any_of(manifest.files.begin(), manifest.files.end(),
                                    [&](const ExportedFile& file) { return file.name == name; });
    if (listed) return;
    fail({.what = "a part is no file of the export", .where = where, .found = name});
  };
  for (const ExportedGraph& graph : manifest.graphs) {
    for (const ExportedPart& part : graph.parts) {
      require_listed(part.file);
      if (!part.simulator_file.empty()) require_listed(part.simulator_file);
    }
  }
  return manifest;
}

ExportedFile describe_file(const std::filesystem::path& folder, const std::string& name) {
  const MappedFile file = MappedFile::open(folder / name);
  return {name, static_cast<int64_t>(file.bytes().size()), hash_of(file.bytes())};
}

bool is_export_folder(const std::filesystem::path& path) {
  return file_exists(path / kManifestName);
}

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kManifestName;
  if (!file_exists(path)) {
    fail({.what = "neither an artifact nor an export",
          .where = folder.string(),
          .expected = "an artifact, or a folder with " + std::string(kManifestName),
          .found = "a folder without",
          .advice = "make an artifact with lathe compile, an export with lathe export"});
  }
  return parse_manifest(read_text_file(path), path.string());
}

ModelText read_export_text(const std::filesystem::path& folder) {
  const auto read = [&](std::string_view name) {
    const std::filesystem::path path = folder / name;
    return file_exists(path) ? read_text_file(path) : std::string();
  };
  return {read(kTokenizerName), read(kTokenizerConfigName), read(kChatTemplateName)};
}

void check_files(const std::filesystem::path& folder, const Manifest& manifest) {
  for (const ExportedFile& file : manifest.files) {
    const std::filesystem::path path = folder / file.name;
    const MappedFile mapped = MappedFile::open(path);
    const auto bytes = static_cast<int64_t>(mapped.bytes().size());
    if (bytes != file.bytes) {
      fail({.what = "file is not of the size that the manifest says",
            .where = path.string(),
            .expected = std::to_string(file.bytes) + " bytes",
            .found = std::to_string(bytes),
            .advice = kExportAgain});
    }
    const std::string hash = hash_of(mapped.bytes());
    if (hash != file.hash) {
      fail({.what = "file was changed since it was exported",
            .where = path.string(),
            .expected = "hash " + printable(file.hash, 40),
            .found = hash,
            .advice = kExportAgain});
    }
  }
}

}  // namespace lathe
