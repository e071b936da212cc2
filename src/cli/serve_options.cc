#include "cli/serve_options.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/errors.h"
#include "cli/exit_code.h"
#include "pando/file_input.h"

namespace pando::cli {
namespace {

// The hub id of a snapshot in the hub cache, or of a file in it; else the last part of a path: also
// of "." and "folder/".
std::string name_of_model(const std::filesystem::path& model) {
  std::error_code failure;
  std::filesystem::path path = std::filesystem::absolute(model, failure).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  constexpr std::string_view kBegin = "models--", kSlash = "--";
  std::filesystem::path snapshots = path.parent_path();
  while (snapshots.has_relative_path() && snapshots.filename() != "snapshots")
    snapshots = snapshots.parent_path();
  const std::string repository = snapshots.parent_path().filename().string();
  if (!repository.starts_with(kBegin)) return path.filename().string();
  std::string id = repository.substr(kBegin.size());
  if (const size_t slash = id.find(kSlash); slash != std::string::npos)
    id.replace(slash, kSlash.size(), "/");
  return id;
}

Error given_twice(const char* option, const std::string& name) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{} names '{}' twice, expected once", option, name)};
}

// "chat=500,50": milliseconds.
Status read_class(const std::string& text, std::map<std::string, DeadlineClass>& classes) {
  const size_t name_end = text.find('=');
  double ttft = 0, tpot = 0;
  int n = 0;
  if (name_end == std::string::npos || name_end == 0 ||
      std::sscanf(text.c_str() + name_end, "=%lf,%lf%n", &ttft, &tpot, &n) != 2 ||
      name_end + static_cast<size_t>(n) != text.size() || !(ttft > 0) || !(tpot > 0) ||
      !std::isfinite(ttft) || !std::isfinite(tpot))
    return invalid_argument(
        "--deadline-class: '{}', expected NAME=TTFT,TPOT in milliseconds, such as chat=500,50",
        text);
  const std::string name = text.substr(0, name_end);
  const DeadlineClass deadlines{
      .ttft_slo = 1e-3 * ttft, .ttft_per_work = 0, .tpot_slo = 1e-3 * tpot};
  if (!classes.insert({name, deadlines}).second) return given_twice("--deadline-class", name);
  return {};
}

// "rules=rules.txt": the text of the file.
Status read_prefix(const std::string& named, std::map<std::string, std::string>& prefixes) {
  const size_t name_end = named.find('=');
  if (name_end == std::string::npos || name_end == 0)
    return invalid_argument("--public-prefix: '{}', expected NAME=FILE", named);
  Result<std::string> text = read_text(named.substr(name_end + 1));
  if (!text) return in_file("--public-prefix", text.error());
  const std::string name = named.substr(0, name_end);
  if (!prefixes.insert({name, std::move(*text)}).second)
    return given_twice("--public-prefix", name);
  return {};
}

void add_scheduling_options(CLI::App& app, ServeOptions& o) {
  const std::string scheduling = "Scheduling";
  o.model.engine.policy = "lars";
  app.add_option("--policy", o.model.engine.policy,
                 "Which prompt is computed first: fcfs (first come, first served), edf (earliest "
                 "deadline), lrs (least slack) or lars (least slack relative to its work, so that "
                 "long prompts do not hold up short ones)")
      ->check(one_of({"fcfs", "edf", "lrs", "lars"}))
      ->capture_default_str()
      ->group(scheduling);
  app.add_option("--step-budget", o.step_budget_ms,
                 "Maximum predicted milliseconds per step; 0: the shortest time per token of the "
                 "deadline classes, at most 200. With fcfs only --step-rows limits a step")
      ->check(expect("0 or more", [](double x) { return x >= 0 && std::isfinite(x); }))
      ->capture_default_str()
      ->group(scheduling);
  app.add_option("--deadline-class", o.deadline_classes,
                 "NAME=TTFT,TPOT: milliseconds to the first token and between tokens, for requests "
                 "with \"deadline_class\": \"NAME\"; may be repeated")
      ->group(scheduling);
}

void add_access_options(CLI::App& app, ServeOptions& o) {
  add_client_options(app, o);
  app.add_option(
         "--router-key-file", o.router_key_file,
         "File with the keys of routers (pando route), one per line; without it and without "
         "API keys anyone can send what a router sends")
      ->check(not_empty())
      ->group("Access");
  app.add_flag("--router-only", o.server.router_only,
               "Refuse every request without a router's key, except /health and /ready; needs "
               "--router-key-file")
      ->group("Access");
  app.add_option("--public-prefix", o.public_prefixes,
                 "NAME=FILE: text that requests with \"public_prefix\": \"NAME\" start with, "
                 "shared between all API keys; may be repeated")
      ->group("Access");
}

void add_state_options(CLI::App& app, ServeOptions& o) {
  const std::string state = "Stored responses";
  app.add_option("--state", o.server.state_directory,
                 "Directory in which files, batches and the answers of /v1/responses are kept; "
                 "without it answers are kept in memory, until the server stops, and there are no "
                 "files and batches")
      ->check(not_empty("a directory"))
      ->group(state);
  app.add_option("--max-responses", o.server.responses.n_responses,
                 "Maximum stored answers per API key; the least recently continued are dropped")
      ->check(at_least(1))
      ->capture_default_str()
      ->group(state);
  app.add_option("--max-responses-size", o.server.responses.n_bytes,
                 "Maximum size of the stored answers per API key, such as 64MiB")
      ->transform(size_in_bytes())
      ->check(at_least(1))
      ->default_str(fmt::format("{}MiB", o.server.responses.n_bytes >> 20))
      ->group(state);
}

void add_file_options(CLI::App& app, ServeOptions& o) {
  const std::string files = "Files and batches (with --state)";
  serve::FileLimits& limits = o.server.files;
  const auto add_size = [&](const char* name, size_t& n_bytes, const char* help) {
    app.add_option(name, n_bytes, help)
        ->transform(size_in_bytes())
        ->check(at_least(1))
        ->default_str(fmt::format("{}MiB", n_bytes >> 20))
        ->group(files);
  };
  add_size("--max-file", limits.file_bytes, "Maximum size of an uploaded file, such as 512MiB");
  app.add_option("--max-files", limits.n_files,
                 "Maximum files per API key; no more can be uploaded")
      ->check(at_least(1))
      ->capture_default_str()
      ->group(files);
  add_size("--max-files-size", limits.n_bytes,
           "Maximum size of all files per API key, such as 10GiB; no more can be uploaded");
}

void add_limit_options(CLI::App& app, ServeOptions& o) {
  const std::string limits = "Limits";
  const CLI::Validator positive = at_least(1);
  o.model.engine.max_queue = 8;
  o.model.engine.kv_ahead = size_t{1} << 30;
  o.model.engine.kv_ahead_first = size_t{64} << 20;
  o.model.engine.nice = serve::kEngineNice;
  app.add_option("--max-queue", o.model.engine.max_queue,
                 "Maximum predicted keys and values of all open answers, as a multiple of "
                 "--kv-memory; further requests get status 429")
      ->check(positive)
      ->capture_default_str()
      ->group(limits);
  add_connection_options(app, o);
}

// An option that a server of several models does not take, or else of one; empty: there is none.
std::string wrong_of_models(const ServeOptions& o) {
  if (o.models_file.empty()) return o.memory > 0 ? "--memory needs --models" : "";
  const std::pair<const char*, bool> given[] = {
      {"--model", !o.model.model.empty()},
      {"--revision", !o.model.revision.empty()},
      {"--tokenizer", !o.model.tokenizer.empty()},
      {"--chat-template", !o.model.chat_template.empty()},
      {"--parallel", !o.model.parallel.empty()},
      {"--kv-memory", o.model.engine.kv_memory > 0},
      {"--generation-config", o.generation.required},
      {"--no-generation-config", o.generation.ignored},
      {"--model-name", !o.server.model_names.empty()},
      {"--any-model-name", o.server.any_model_name},
      {"--router-key-file", !o.router_key_file.empty()}};
  for (const auto& [option, is_given] : given)
    if (is_given) return fmt::format("{} is given with --models, expected one of them", option);
  return "";
}

void add_models_options(CLI::App& app, ServeOptions& o) {
  const std::string group = "Several models";
  app.add_option("--models", o.models_file,
                 "File with a table [models.NAME] for each model of the server, which is loaded "
                 "when a request asks for NAME. A table has the options of a model; other options "
                 "of this command are common to all models")
      ->check(not_empty())
      ->group(group);
  app.add_option("--memory", o.memory,
                 "Memory for weights, keys and values of all models of --models, such as 8GiB "
                 "(default: three quarters of the free memory). The least recently used model "
                 "goes when another needs its memory")
      ->transform(size_in_bytes())
      ->check(expect("a size above 0", [](double x) { return x > 0; }))
      ->group(group);
}

}  // namespace

void add_serve_options(CLI::App& app, ServeOptions& o) {
  add_model_options(app, o.model);
  add_chat_template_option(app, o.model);
  add_tool_format_option(app, o.model);
  add_parallel_option(app, o.model);
  app.get_option("--kv-memory")
      ->description(
          "Memory for keys and values, and for states of recurrent layers, such as 4GiB or 1.5g "
          "(default: half of the free memory; with --models, half of what is left of --memory when "
          "the model is loaded)");
  add_address_options(app, o);
  add_models_options(app, o);
  app.add_option(
         "--model-name", o.server.model_names,
         "Name of the model in requests (default: its hub id, or the last part of its path); "
         "may be repeated, answers use the first")
      ->allow_extra_args(false)
      ->check(not_empty("a name"));
  app.add_flag("--any-model-name", o.server.any_model_name,
               "Also answer requests that name any other model");
  app.add_flag("--lenient", o.server.lenient,
               "Leave out unknown fields of requests instead of refusing them; the response header "
               "X-Pando-Ignored-Fields lists them");
  o.server.page = true;
  app.add_flag_callback(
      "--no-page", [&o] { o.server.page = false; }, "Do not serve the web page at /");
  app.add_option("--max-open", o.model.engine.max_open,
                 "Maximum answers waiting or running; further requests get status 429")
      ->check(at_least(1))
      ->capture_default_str();
  add_log_option(app, o);
  add_generation_options(app, o.generation, "Sampling (requests can override)");
  add_scheduling_options(app, o);
  add_access_options(app, o);
  add_state_options(app, o);
  add_file_options(app, o);
  add_limit_options(app, o);
}

int read_serve_options(ServeOptions& o) {
  if (const int code = read_server_arguments(o); code != kOk) return code;
  if (const EngineOptions& engine = o.model.engine; engine.step_rows <= engine.max_running)
    return report_error(fmt::format("--step-rows is {}, expected more than --max-running {}",
                                    engine.step_rows, engine.max_running)),
           kUsage;
  if (const std::string wrong = wrong_of_models(o); !wrong.empty())
    return report_error(wrong), kUsage;
  if (o.server.router_only && o.router_key_file.empty())
    return report_error("--router-only needs --router-key-file"), kUsage;
  if (!o.router_key_file.empty()) {
    if (Status status =
            read_key_lines("--router-key-file", o.router_key_file, o.server.router_keys);
        !status)
      return report_error(status.error());
    if (o.server.router_keys.empty())
      return report_error("--router-key-file: " + o.router_key_file + " has no keys");
  }
  if (o.models_file.empty()) {
    const Result<std::filesystem::path> path = model_path(o.model);
    if (!path) return report_error(path.error());
    if (o.server.model_names.empty()) o.server.model_names = {name_of_model(*path)};
  }
  for (const std::string& text : o.deadline_classes)
    if (Status status = read_class(text, o.model.engine.deadline_classes); !status)
      return report_error(status.error()), kUsage;
  for (const std::string& named : o.public_prefixes)
    if (Status status = read_prefix(named, o.server.public_prefixes); !status)
      return refuse(status.error());
  return kOk;
}

}  // namespace pando::cli
