#include "serve/models/model_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "serve/models/set_answers.h"
#include "serve/offload.h"
#include "serve/server_state.h"

namespace pando::serve {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kAskShelfAgain{20};

// The model that a request names; empty if it names none. An unreadable body goes to some model,
// which reports the error.
std::string named_model(const HttpRequest& request) {
  if (request.method != "POST") return request.query_value("model");
  Result<Json> json = parse_json(request.body, LargeNumbers::kKept);
  std::string name;
  if (json && json->is_object())
    for (const char* field : {"model", "name"})  // Ollama's /api/show has had both
      if (const auto found = json->find(field);
          name.empty() && found != json->end() && found->is_string())
        name = found->get<std::string>();
  if (json) take_apart(*json);
  return name;
}

StateParts parts_of(ServerState& state, const ModelSetOptions& set) {
  return {.responses = std::move(state.responses),
          .files = std::move(state.files),
          .nice = set.nice,
          .max_batched = set.max_batched};
}

}  // namespace

ModelSet::ModelSet(const ServerOptions& o, const ModelSetOptions& set, ServerKeys k,
                   StateParts parts, std::vector<ModelRecipe> recipes)
    : StateDoor(o, std::move(k), std::move(parts)),
      text_pool(static_cast<size_t>(options.text_threads)),
      shelf(std::move(recipes), set.memory,
            {.options = options, .responses = responses, .turns = std::make_shared<StepTurns>()},
            [this](const std::string& line) { log(line); }) {}

Result<std::unique_ptr<ModelSet>> ModelSet::open(const ServerOptions& options,
                                                 const ModelSetOptions& set,
                                                 std::vector<ModelRecipe> recipes) {
  ServerOptions named = options;
  named.model_names.clear();
  for (const ModelRecipe& recipe : recipes) named.model_names.push_back(recipe.name);
  Result<ServerState> state = open_state(named);
  if (!state) return state.error();
  ServerKeys keys = std::move(state->keys);
  try {
    return std::unique_ptr<ModelSet>(
        new ModelSet(named, set, std::move(keys), parts_of(*state, set), std::move(recipes)));
  } catch (const std::system_error& error) {
    return io_error("the server's threads cannot be started: {}", error.what());
  }
}

std::string ModelSet::not_served(const std::string& model) const {
  return fmt::format("the model '{}' is not served here, expected '{}'", one_line(model),
                     fmt::join(options.model_names, "' or '"));
}

asio::awaitable<void> ModelSet::handle(HttpRequest& request, Replier& replier) {
  const Route& route = *find_route(request.path, request.method);
  if (SetAnswer* answer = find_set_answer(route)) {
    HttpResponse response = answer(*this, request);
    co_await replier.send(std::move(response));
    co_return;
  }
  if (route.answer_kept != nullptr) {
    HttpResponse response = co_await offload(route.takes_form ? file_pool : store_pool, nice,
                                             [&] { return answer_kept(*this, route, request); });
    co_await replier.send(std::move(response));
    co_return;
  }
  const std::string name = co_await offload(text_pool, nice, [&] { return named_model(request); });
  std::optional<size_t> model = shelf.find(name);
  if (!model && name.empty() && options.model_names.size() == 1) model = 0;
  if (!model) {
    HttpResponse response =
        name.empty() ? wrong_request(400, "invalid_argument",
                                     fmt::format("the request names no model, expected '{}'",
                                                 fmt::join(options.model_names, "' or '")),
                                     "model")
                     : wrong_request(404, "model_not_found", not_served(name), "model");
    co_await replier.send(std::move(response));
    co_return;
  }
  co_await pass_on(*model, request, replier);
}

asio::awaitable<void> ModelSet::pass_on(size_t model, HttpRequest& request, Replier& replier) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  ModelShelf::Wish wish{.model = model};
  for (;;) {
    ModelShelf::Granted granted = shelf.ask(wish);
    if (granted.use) {
      Service& service = granted.use->service();
      co_await service.handle(request, replier);
      co_return;
    }
    if (!granted.error && is_cutting) granted.error = shutting_down();
    if (granted.error) {
      HttpResponse response = error_response(*granted.error);
      co_await replier.send(std::move(response));
      co_return;
    }
    timer.expires_after(kAskShelfAgain);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void ModelSet::close() {
  close_state();
  text_pool.join();
  shelf.close(is_cutting);
  drop_batches();
}

}  // namespace pando::serve
