// `pando serve`.
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/say.h"
#include "serve/server.h"

namespace pando::cli {
namespace {

struct ServeOptions {
  ModelArguments model;
  serve::ServerOptions server;
  std::string api_key_file;
  int request_timeout = 600, drain_timeout = 30;  // seconds
};

Status read_keys(const std::string& path, std::vector<std::string>& lines) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::kNotFound, fmt::format("cannot read {}", path)};
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return {};
}

int serve_model(ServeOptions o) {
  if (o.server.tls_certificate.empty() != o.server.tls_key.empty())
    return report_error("--tls-cert and --tls-key go together"), kUsage;
  if (!o.api_key_file.empty()) {
    if (Status status = read_keys(o.api_key_file, o.server.api_keys); !status)
      return report_error(status.error().message);
    if (o.server.api_keys.empty()) return report_error(o.api_key_file + " has no keys in it");
  }
  const Result<std::filesystem::path> path = model_path(o.model);
  if (!path) return report_error(path.error().message);
  if (o.server.model_name.empty()) o.server.model_name = path->filename().string();
  o.server.request_timeout = std::chrono::seconds(o.request_timeout);
  o.server.drain_timeout = std::chrono::seconds(o.drain_timeout);
  Result<std::shared_ptr<const Model>> model = load_model(o.model);
  if (!model) return report_error(model.error().message);
  Result<std::unique_ptr<Engine>> engine = Engine::open(*model, engine_options(o.model));
  if (!engine) return report_error(engine.error().message);
  auto server = serve::Server::open(**engine, o.server);
  if (!server) return report_error(server.error().message);
  say("pando: serving {} at {}://{}:{}\n", o.server.model_name,
      o.server.tls_key.empty() ? "http" : "https", o.server.host, (*server)->port());
  (*server)->run(/*stop_on_signals=*/true);
  return kOk;
}

}  // namespace

Command add_serve(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  ServeOptions& o = *options;
  const CLI::Validator positive = expect("at least 1", [](double x) { return x >= 1; });
  const auto bytes = [](size_t n) { return fmt::format("{}KiB", n >> 10); };
  add_model_options(app, o.model);
  app.add_option("--host", o.server.host, "Address to listen on")->capture_default_str();
  app.add_option("--port", o.server.port, "Port to listen on; 0: any that is free")
      ->capture_default_str();
  app.add_option("--model-name", o.server.model_name,
                 "How requests name the model (default: the last part of its path)");
  app.add_option("--max-open", o.model.engine.max_open,
                 "Answers waiting or under way at most; more are refused with status 429")
      ->check(positive)
      ->capture_default_str();
  const std::string access = "Access", limits = "Limits";
  app.add_option("--api-key-file", o.api_key_file,
                 "File of API keys, one a line, each as name:key or key; without it everybody may "
                 "ask")
      ->group(access);
  app.add_option("--tls-cert", o.server.tls_certificate, "Certificate in PEM: serve by TLS only")
      ->group(access);
  app.add_option("--tls-key", o.server.tls_key, "Its key in PEM")->group(access);
  app.add_option("--max-connections", o.server.max_connections,
                 "Open connections at most; more wait")
      ->check(positive)
      ->capture_default_str()
      ->group(limits);
  app.add_option("--max-body", o.server.max_body_bytes, "Longest body, as in 32MiB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str(bytes(o.server.max_body_bytes))
      ->group(limits);
  app.add_option("--max-header", o.server.max_header_bytes, "Longest headers, as in 16KiB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str(bytes(o.server.max_header_bytes))
      ->group(limits);
  app.add_option("--request-timeout", o.request_timeout, "Seconds for an answer as a whole")
      ->check(positive)
      ->capture_default_str()
      ->group(limits);
  app.add_option("--drain-timeout", o.drain_timeout,
                 "Seconds for what is under way when the server is stopped")
      ->check(positive)
      ->capture_default_str()
      ->group(limits);
  app.add_option("--io-threads", o.server.io_threads, "Threads for connections")
      ->check(positive)
      ->capture_default_str()
      ->group(limits);
  app.footer(
      "Answers the OpenAI API: /v1/completions, /v1/chat/completions, /v1/embeddings, /v1/models;\n"
      "and /v1/answers (all questions about one document), /v1/rerank, /v1/score, /tokenize,\n"
      "/detokenize, /health, /ready, /metrics, /version (docs/serving.md).\n"
      "SIGTERM and Ctrl-C answer what is under way and end; a second one ends at once.\n"
      "Example:\n  pando serve --model MODEL --port 8000");
  return [options] { return serve_model(*options); };
}

}  // namespace pando::cli
