#include "cli/file_clashes.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "cli/model_options.h"
#include "cli/output_files.h"
#include "pando/model_files.h"

namespace pando::cli {
namespace {

struct NamedFile {
  std::string path, what;
};

std::vector<std::string> values_of(const CLI::App& command, const char* name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option == nullptr ? std::vector<std::string>() : option->results();
}

// Judges by the name, because answers or messages may lie beside a model.
bool may_be_of_model(const std::filesystem::path& path) {
  const std::string extension = path.extension(), name = path.filename();
  if (extension != ".json" && extension != ".txt") return true;
  constexpr const char* kParts[] = {"config",  "token",    "vocab", "merges", "encoder",
                                    "modules", "template", "index", "tekken"};
  return std::ranges::any_of(
      kParts, [&](const char* part) { return name.find(part) != std::string::npos; });
}

// Adds the files of the command's model or tokenizer, or of the demo model.
void add_model(const CLI::App& command, const char* name, std::vector<NamedFile>& files) {
  if (command.get_option_no_throw(name) == nullptr) return;
  const std::vector<std::string> values = values_of(command, name);
  ModelArguments arguments;
  arguments.may_fetch = false;
  if (const auto revision = values_of(command, "--revision"); !revision.empty())
    arguments.revision = revision.back();
  const bool is_model = name == std::string_view("--model");
  if (!is_model && values.empty()) return;
  if (!values.empty()) (is_model ? arguments.model : arguments.tokenizer) = values.back();
  const Result<std::filesystem::path> path =
      is_model ? model_path(arguments) : tokenizer_path(arguments);
  if (!path) return;  // loading it gives the error
  const Result<std::vector<std::filesystem::path>> read = files_of_model(*path);
  if (!read) return;
  for (const std::filesystem::path& file : *read)
    if (may_be_of_model(file))
      files.push_back(
          {file.string(), is_model ? "a file of the model" : "a file of the tokenizer"});
}

std::vector<NamedFile> files_read(const CLI::App& command) {
  constexpr std::pair<const char*, const char*> kOptions[] = {
      {"--input", "the input"},
      {"--schema", "the schema"},
      {"--template-file", "the template"},
      {"--chat-template", "the chat template"},
      {"--generation-config", "the file of sampling defaults"},
      {"--qrels", "the file of grades"},
      {"--perplexity", "the text"},
      {"--tls-cert", "the certificate"},
      {"--tls-key", "the certificate's key"},
      {"--api-key-file", "the file of API keys"},
      {"--router-key-file", "the file of routers' keys"}};
  std::vector<NamedFile> files;
  for (const auto& [name, what] : kOptions)
    for (const std::string& path : values_of(command, name))
      files.push_back({path == "-" ? "/proc/self/fd/0" : path, what});
  for (const std::string& path : values_of(command, "--generation-config"))
    if (path != "true" && path != "false") files.push_back({path, "the file of sampling defaults"});
  for (const std::string& named : values_of(command, "--public-prefix"))
    files.push_back({named.substr(named.find('=') + 1), "a public prefix"});
  for (const std::string& path : values_of(*command.get_parent(), "--config"))
    files.push_back({path, "the file of options"});
  add_model(command, "--model", files);
  add_model(command, "--tokenizer", files);
  return files;
}

// The output files, each with the files that are written beside it.
std::vector<NamedFile> files_written(const CLI::App& command) {
  std::vector<NamedFile> files;
  const auto add = [&](const char* name, const char* what) {
    for (const std::string& path : values_of(command, name))
      if (path != "-") files.push_back({path, what});
  };
  add("--output", "the output");
  if (!files.empty())
    for (const char* ending : {".journal", ".journal.new"})
      files.push_back({files[0].path + ending, "the journal of the output"});
  add("--report", "the report");
  add("--trec-run", "the TREC run");
  if (const auto run = values_of(command, "--trec-run"); !run.empty())
    files.push_back({run[0] + ".new", "the unfinished TREC run"});
  return files;
}

Error clash(const NamedFile& written, const NamedFile& other) {
  return invalid_argument("{} is {}, expected a different file to write to", written.path,
                          other.what);
}

}  // namespace

Status check_clashes(const CLI::App& command) {
  const std::vector<NamedFile> read = files_read(command), written = files_written(command);
  const NamedFile streams[] = {{"/proc/self/fd/1", "standard output"},
                               {"/proc/self/fd/2", "standard error"}};
  const auto names_stream = [](const NamedFile& file) { return file.path.starts_with("/dev/"); };
  for (const NamedFile& stream : streams) {
    for (const NamedFile& file : read)
      if (same_file(stream.path, file.path)) return clash({stream.what, ""}, file);
    for (const NamedFile& file : written)
      if (!names_stream(file) && same_file(stream.path, file.path))
        return clash({stream.what, ""}, file);
  }
  for (size_t i = 0; i < written.size(); ++i) {
    const NamedFile quoted{fmt::format("'{}'", written[i].path), ""};
    for (const NamedFile& file : read)
      if (same_file(written[i].path, file.path)) return clash(quoted, file);
    for (size_t j = 0; j < i; ++j)
      if (same_file(written[i].path, written[j].path)) return clash(quoted, written[j]);
  }
  return {};
}

}  // namespace pando::cli
