#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "lathe/language_model.h"

// Options that several subcommands have. What is passed by reference must live as long as the App.
namespace lathe::cli {

/// Lets numbers from `low` to `high` through; a NaN is not one.
CLI::Validator between(double low, double high = std::numeric_limits<double>::infinity());

/// The positional MODEL of commands that need a compiled model.
void add_artifact(CLI::App& command, std::filesystem::path& path);
/// The positional MODEL of commands that take a checkpoint as well.
void add_artifact_or_source(CLI::App& command, std::filesystem::path& path,
                            const std::string& description);
/// -o FILE
void add_output(CLI::App& command, std::filesystem::path& path, const std::string& description);
/// An option whose value is a file.
CLI::Option* add_file(CLI::App& command, const std::string& name, std::filesystem::path& path,
                      const std::string& description);
/// An option whose value must be UTF-8.
CLI::Option* add_text(CLI::App& command, const std::string& name, std::string& text,
                      const std::string& description);
/// An option whose value is a list of token ids: 1,2,3.
CLI::Option* add_ids(CLI::App& command, const std::string& name, std::vector<int64_t>& ids,
                     const std::string& description);

/// --threads N
void add_threads(CLI::App& command, int& threads);
/// --executor, --mode and --threads
void add_open_options(CLI::App& command, OpenOptions& options);
/// -n N
void add_token_limit(CLI::App& command, int64_t& tokens, const std::string& description);
/// --temperature and the rest
void add_sampling(CLI::App& command, SamplerOptions& options);
/// --template-arg KEY=VALUE and --chat-template NAME|FILE, which need the option `chat` where there
/// is one
void add_chat_options(CLI::App& command, ChatOptions& options, CLI::Option* chat = nullptr);
/// --json
CLI::Option* add_json(CLI::App& command, bool& json);

}  // namespace lathe::cli
