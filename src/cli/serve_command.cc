// `pando serve`.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/machine.h"
#include "cli/commands.h"
#include "cli/line_writer.h"
#include "cli/model_options.h"
#include "cli/notify.h"
#include "cli/print_stderr.h"
#include "cli/ranks.h"
#include "cli/serve_models.h"
#include "cli/serve_options.h"
#include "pando/model_files.h"
#include "serve/page.h"
#include "serve/server.h"

namespace pando::cli {
namespace {

// The folder of the documents: beside the build directory in the repository, or installed.
std::string documentation() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../docs", "../share/doc/pando/docs"})
    if (fs::exists(program / place / "http-api.md", error))
      return fs::canonical(program / place, error).string();
  return "docs/ of Pando's sources";
}

// Reads the sampling defaults. Returns the line that names them.
Result<std::string> read_defaults(ServeOptions& o) {
  const Result<std::filesystem::path> path = model_path(o.model);
  if (!path) return path.error();
  o.model.files = ModelPath(*path);
  Result<std::optional<GenerationConfig>> config = find_defaults(o.generation, *o.model.files);
  if (!config) return config.error();
  const std::string own = "temperature 1, 0 for /v1/answers";
  if (!*config) return "sampling defaults are Pando's own: " + own;
  SamplingOptions sampling;
  std::string said = take_defaults(
      **config, [](const std::string&) { return false; }, own, sampling);
  o.server.defaults = std::move(**config);
  return said;
}

// A chat template of its own is a file, or the name of one of the model's.
Result<std::string> fingerprint_for_routers(const ModelArguments& arguments) {
  const Result<std::string> files = files_fingerprint(arguments);
  if (!files) return files;
  std::string chat_template = arguments.chat_template;
  std::error_code error;
  if (std::filesystem::is_regular_file(chat_template, error)) {
    const Result<uint64_t> hash = model_fingerprint(chat_template);
    if (!hash) return hash.error();
    chat_template = fmt::format("{:016x}", *hash);
  }
  return fmt::format("{} {} {}", *files, chat_template, arguments.tool_format);
}

void say_if_open(const ServeOptions& o, const serve::Server& server) {
  if (o.server.api_keys.empty() && !server.is_local())
    print_stderr("pando: there are no API keys, so anyone who can reach {} can send requests\n",
                 o.server.host);
}

// names: of its models.
void print_address(const ServeOptions& o, const std::string& names, const serve::Server& server) {
  print_stderr("pando: GET / lists the paths{}; documentation is in {}\n",
               serve::has_page(o.server) ? ", and is a page for browsers" : "", documentation());
  print_stderr("pando: serving {} at {}\n", names, address_text(o.server, server.port()));
}

// Says what the server is, once it listens.
void print_start(const ServeOptions& o, const Engine& engine, const serve::Server& server) {
  const Model& model = engine.model();
  const EngineOptions& options = engine.options();
  const auto chat = model.render_chat(std::vector<ChatMessage>{{"user", "?"}});
  if (!chat && chat.error().code == ErrorCode::kUnsupported)
    print_stderr("pando: chat requests are refused: {}\n", message_of(chat.error()));
  print_stderr(
      "pando: {} ({}), weights in {}, a context of {} tokens; {} for the keys and values of {} "
      "tokens\n",
      counted(static_cast<uint64_t>(options.threads), "threads"), options.isa,
      model.info().weight_type, options.context, size_text(options.kv_memory),
      engine.kv_capacity());
  if (engine.longest() < static_cast<size_t>(options.context))
    print_stderr(
        "pando: a prompt and its answer can have at most {} tokens, fewer than the context of {}, "
        "for lack of memory\n",
        engine.longest(), options.context);
  say_if_open(o, server);
  print_address(o, fmt::format("{}", fmt::join(o.server.model_names, ", ")), server);
}

// Models are loaded when requests ask for them.
int serve_models(ServeOptions& o) {
  auto set = open_model_set(o);
  if (!set) return refuse(set.error());
  const std::string names = fmt::format("{}", fmt::join((*set)->options.model_names, ", "));
  const size_t memory = (*set)->shelf.memory();
  auto server = serve::Server::open(std::unique_ptr<serve::Door>(std::move(*set)));
  if (!server) return report_error(server.error());
  print_stderr("pando: {} for weights, keys and values of all models\n", size_text(memory));
  say_if_open(o, **server);
  print_address(o, names, **server);
  notify("READY=1");
  (*server)->run(/*stop_on_signals=*/true);
  return kOk;
}

int serve_model(ServeOptions o) {
  if (const int code = read_serve_options(o); code != kOk) return code;
  allow_connections(o.server.max_connections);
  // Before the model, which may take minutes.
  if (Status status = serve::Server::check(o.server); !status) return report_error(status.error());
  LineWriter log(STDERR_FILENO);
  o.server.log = [&log](const std::string& line) { log.put(line); };
  o.server.on_stop = [] { notify("STOPPING=1"); };
  if (!o.models_file.empty()) return serve_models(o);
  // Unless the user asked for defaults, loading the model gives a better message.
  const Result<std::string> defaults = read_defaults(o);
  if (!defaults && o.generation.required) return refuse(defaults.error());
  Result<std::shared_ptr<const Model>> model = load_model(o.model);
  if (!model) return refuse(model.error());
  if (!defaults) return refuse(defaults.error());
  Result<std::string> fingerprint = fingerprint_for_routers(o.model);
  if (!fingerprint) return refuse(fingerprint.error());
  o.server.files_fingerprint = std::move(*fingerprint);
  if (const std::string warning = (*model)->prompt_warning(); !warning.empty())
    print_stderr("pando: {}\n", warning);
  EngineOptions options = engine_options(o.model);
  options.step_budget = 1e-3 * o.step_budget_ms;
  if (Status status = learn_steps(**model, options); !status) return refuse(status.error());
  Result<std::unique_ptr<Engine>> engine = Engine::open(*model, options);
  if (!engine) return refuse(engine.error());
  if (const std::shared_ptr<Ranks> ranks = joined_ranks(); ranks != nullptr && ranks->size() > 1) {
    // If a process ends, MPI sends the others SIGTERM, and kills them a second later.
    o.server.sigterm_drain_timeout = std::chrono::seconds(0);
    ranks->set_last_words(std::chrono::seconds(2));
  }
  auto server = serve::Server::open(**engine, o.server);
  if (!server) return report_error(server.error());
  print_stderr("pando: {}\n", *defaults);
  print_start(o, **engine, **server);
  notify("READY=1");
  (*server)->run(/*stop_on_signals=*/true);
  return kOk;
}

}  // namespace

Command add_serve(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  add_serve_options(app, *options);
  app.footer(
      "Answers the OpenAI API: /v1/completions, /v1/chat/completions, /v1/responses, "
      "/v1/embeddings,\n"
      "/v1/models; files of requests: /v1/files, /v1/batches; Anthropic's: /v1/messages; the APIs\n"
      "of Cohere, Ollama, llama-server, text-generation-inference and text-embeddings-inference;\n"
      "and /v1/answers (all questions about one document),\n"
      "/v1/rerank, /v1/score, /tokenize, /detokenize, /health, /ready, /metrics, /version\n"
      "(docs/http-api.md).\n"
      "Listens once the model is loaded, and then prints its address on standard error.\n"
      "SIGTERM and Ctrl-C finish running requests and stop; a second signal stops at once.\n"
      "Exit codes: 0 stopped by a signal while serving, 1 did not start, 2 wrong usage.\n"
      "Options can be in the section [serve] of a file: pando serve --config FILE.\n"
      "Example:\n"
      "  pando serve --model MODEL --port 8000");
  return [options] { return serve_model(*options); };
}

}  // namespace pando::cli
