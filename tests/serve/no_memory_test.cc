// Memory that runs out at any allocation of a request's way through the server: on the threads of
// connections, on those that read bodies and tokenise, and on the engine's.
//
// Each request is sent again and again. The first time the server's first allocation fails, then
// the second, and so on, until an answer needs no more. Each time the client gets the right answer,
// an error in words or a closed connection, and the next request is answered as before. The same
// holds where all allocations behind that one fail too, for a while.
//
// Left out: allocations of C libraries, those of the JSON library (basic_json::destroy) and those
// while an exception unwinds a stack. The JSON library lists the children of an array or object in
// the destructor, and Asio posts a message where it destroys a coroutine; an exception there ends
// the process. The program sets memory aside for these (src/cli/spare_memory.cc).
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "serve/client.h"

namespace {

thread_local bool is_exempt = false;        // this thread's allocations do not count
std::atomic<int64_t> n_before = INT64_MAX;  // allocations until one fails
std::atomic<int64_t> n_failing = 1;         // that one, and those behind it that do too
std::atomic<int64_t> n_failed = 0;

// Places in the code whose allocations do not fail.
thread_local bool is_naming = false;  // this thread's allocations name them
std::array<const void*, 32> left_out = {};
size_t n_left_out = 0;

bool is_left_out(const void* place) {
  const auto end = left_out.begin() + static_cast<ptrdiff_t>(n_left_out);
  return std::find(left_out.begin(), end, place) != end;
}

bool fails(const void* place) {
  if (is_naming && !is_left_out(place)) left_out.at(n_left_out++) = place;
  if (is_exempt || std::uncaught_exceptions() > 0 || is_left_out(place)) return false;
  const int64_t n_more = n_before.fetch_sub(1);
  if (n_more > 0 || n_more <= -n_failing) return false;
  ++n_failed;
  return true;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t n_bytes) {
  if (fails(__builtin_return_address(0))) throw std::bad_alloc();
  if (void* memory = std::malloc(n_bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pando::testing {
namespace {

// Holds what the server said until it closed the connection.
struct Heard {
  int status = 0;    // 0: nothing, or no whole answer
  std::string body;  // without what differs from one answer to the next
};

constexpr int64_t kAll = INT64_MAX;  // allocations that fail: all, as long as the shortage lasts

void begin_shortage(int64_t after, int64_t n) {
  n_failed = 0;
  n_failing = n;
  n_before = after;
}
void end_shortage() { n_before = INT64_MAX; }

// A connection that lets a shortage pass by: it ends once something has failed and the server has
// said nothing for a while.
class PatientClient {
 public:
  explicit PatientClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kWhile, sizeof kWhile);
  }
  ~PatientClient() { ::close(socket_); }
  PatientClient(const PatientClient&) = delete;
  PatientClient& operator=(const PatientClient&) = delete;

  bool send(const std::string& bytes) {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Returns what the server says until it closes the connection or the text is `whole`. Fails the
  // test where it says nothing for long.
  std::string read(const std::function<bool(const std::string&)>& whole) {
    std::string heard;
    char piece[4096];
    for (int n_silent = 0; !whole(heard);) {
      const ssize_t n = ::recv(socket_, piece, sizeof piece, 0);
      const bool is_silent = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      if (n > 0) heard.append(piece, static_cast<size_t>(n));
      if (n <= 0 && !is_silent) break;
      if (!is_silent) continue;
      if (n_failed > 0) end_shortage();
      if (++n_silent < kMostWhiles) continue;
      ADD_FAILURE() << "nothing for a long time, after: " << heard;
      break;
    }
    return heard;
  }

 private:
  static constexpr timeval kWhile{.tv_sec = 0, .tv_usec = 300'000};
  static constexpr int kMostWhiles = 60;

  const int socket_;
};

std::string without_chunks(std::string_view chunked) {
  std::string body;
  for (;;) {
    const size_t line = chunked.find("\r\n");
    if (line == std::string_view::npos) return "";
    const size_t n = std::strtoul(std::string(chunked.substr(0, line)).c_str(), nullptr, 16);
    if (n == 0) return body;
    if (chunked.size() < line + 2 + n + 2) return "";  // broken off
    body += chunked.substr(line + 2, n);
    chunked.remove_prefix(line + 2 + n + 2);
  }
}

Heard hear(const std::string& text) {
  Heard heard;
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return heard;
  const std::string head = text.substr(0, end), rest = text.substr(end + 4);
  if (head.find("chunked") != std::string::npos) {
    heard.body = without_chunks(rest);
  } else {
    const size_t at = head.find("Content-Length: ");
    if (at == std::string::npos || rest.size() != std::stoul(head.substr(at + 16))) return heard;
    heard.body = rest;
  }
  heard.status = std::stoi(head.substr(9, 3));
  static const std::regex kVaries(
      R"rx("(id|created|cached_tokens|computed|reused)":("[^"]*"|[0-9]+))rx");
  heard.body = std::regex_replace(heard.body, kVaries, "");
  return heard;
}

bool is_whole(const std::string& text) { return hear(text).status != 0; }

// Requests on a connection of their own, each behind the answer to the one before; the last one
// closes it.
std::vector<Heard> ask(uint16_t port, const std::vector<std::string>& requests) {
  PatientClient client(port);
  std::vector<Heard> heard;
  for (const std::string& request : requests) {
    const bool is_last = heard.size() + 1 == requests.size();
    std::string text;
    if (client.send(request))
      text = client.read([&](const std::string& said) { return !is_last && is_whole(said); });
    heard.push_back(hear(text));
  }
  return heard;
}
Heard ask(uint16_t port, const std::string& request) { return ask(port, std::vector{request})[0]; }

// Says whether it is an error that a client can read: alone, or at the end of a stream.
bool is_in_words(const Heard& heard) {
  const size_t at = heard.body.find("{\"error\":");
  if (at == std::string::npos || (heard.status == 200 && at == 0)) return false;
  const size_t end = heard.body.find("\n\n", at);
  const Json error = Json::parse(heard.body.substr(at, end - at))["error"];
  return error["message"] == "not enough memory";
}

// Names what the destructor of JSON allocates: room for the children, and for children of these.
template <class Tree>
void leave_out_destructor() {
  for (const char* text : {"[1]", R"({"a":1})", "[[1,2,3],[[[4]],5]]",
                           R"({"a":{"b":1,"c":[1,2,{"d":[3,4,5,6]}]},"e":[[],[1]]})"}) {
    std::optional<Tree> tree = Tree::parse(text);
    is_naming = true;
    tree.reset();
    is_naming = false;
  }
}

class ServerWithoutMemory : public ::testing::Test {
 protected:
  // Every allocation up to this one fails in turn, beyond it every kStride-th.
  static constexpr int64_t kEvery = 400, kStride = 13;

  static void SetUpTestSuite() {
    is_exempt = true;
    leave_out_destructor<nlohmann::json>();
    leave_out_destructor<nlohmann::ordered_json>();
    serve::ServerOptions options = tiny_server_options();
    options.io_threads = 1;
    server_ = new RunningServer(options);
  }
  static void TearDownTestSuite() { delete std::exchange(server_, nullptr); }

  void try_all(const std::string& path, const Json& body) {
    try_all({post_text(path, body.dump(), "Connection: close\r\n")});
  }
  // Each request's answer is right, an error in words or none, and the next are as before.
  void try_all(const std::vector<std::string>& requests, int64_t n_lasting = 1,
               int64_t stride = kStride) {
    const std::string name = requests[0].substr(0, requests[0].find(" HTTP"));
    ask(server_->port(), requests);  // all that is made once is there
    const std::vector<Heard> right = ask(server_->port(), requests);
    for (const Heard& one : right) ASSERT_EQ(one.status, 200) << one.body;
    int n_right = 0, n_words = 0, n_closed = 0;
    for (int64_t k = 0;; k += n_lasting == 1 && k < kEvery ? 1 : stride) {
      begin_shortage(k, n_lasting);
      const std::vector<Heard> heard = ask(server_->port(), requests);
      const bool has_failed = n_failed > 0;
      end_shortage();
      for (size_t i = 0; i < requests.size(); ++i) {
        const bool is_right = heard[i].status == right[i].status && heard[i].body == right[i].body;
        const bool is_error = !is_right && is_in_words(heard[i]);
        const bool is_closed = !is_right && !is_error;
        (is_right ? n_right : is_error ? n_words : n_closed) += 1;
        EXPECT_TRUE(!is_closed || heard[i].body.empty()) << heard[i].body << "\ninstead of\n"
                                                         << right[i].body;
        EXPECT_TRUE(is_right || has_failed);
      }
      const std::vector<Heard> next = ask(server_->port(), requests);
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(next[i].status, 200) << name << " after allocation " << k;
        EXPECT_EQ(next[i].body, right[i].body) << name << " after allocation " << k;
      }
      if (HasFailure()) FAIL() << "allocation " << k;
      if (has_failed) continue;
      fmt::print("{}: {} allocations; answered {}, error in words {}, closed {}\n", name, k,
                 n_right, n_words, n_closed);
      break;
    }
    EXPECT_GT(n_words + n_closed, 0);
    EXPECT_TRUE(soon([] { return is_idle(*server_); }));
  }

  static inline RunningServer* server_ = nullptr;
};

const Json kCompletion = {
    {"prompt", "Once upon"}, {"max_tokens", 3}, {"temperature", 0}, {"ignore_eos", true}};

Json with(Json body, const Json& more) {
  body.update(more);
  return body;
}

TEST_F(ServerWithoutMemory, Completions) { try_all("/v1/completions", kCompletion); }

TEST_F(ServerWithoutMemory, Stream) {
  try_all("/v1/completions", with(kCompletion, {{"stream", true}}));
}

TEST_F(ServerWithoutMemory, TwoAnswersWithLogprobs) {
  try_all("/v1/completions", with(kCompletion, {{"n", 2}, {"logprobs", 2}, {"seed", 1}}));
}

TEST_F(ServerWithoutMemory, Score) {
  try_all("/v1/score", {{"prompt", "One"}, {"continuations", {" a", " b"}}});
}

TEST_F(ServerWithoutMemory, Answers) {
  try_all("/v1/answers",
          {{"context", "Text."}, {"questions", {"Who?", "When?"}}, {"max_tokens", 2}});
}

TEST_F(ServerWithoutMemory, Embeddings) { try_all("/v1/embeddings", {{"input", {"one", "two"}}}); }

TEST_F(ServerWithoutMemory, Chat) {
  try_all("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                                   {"max_tokens", 3},
                                   {"temperature", 0},
                                   {"ignore_eos", true}});
}

TEST_F(ServerWithoutMemory, Rerank) {
  try_all("/v1/rerank", {{"query", "trees"}, {"documents", {"an oak", "a car"}}});
}

TEST_F(ServerWithoutMemory, Tokenize) { try_all("/tokenize", {{"prompt", "One two"}}); }

std::string get_text(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}
std::string completion_text(const Json& more = Json::object(),
                            const std::string& headers = "Connection: close\r\n") {
  return post_text("/v1/completions", with(kCompletion, more).dump(), headers);
}

TEST_F(ServerWithoutMemory, Models) { try_all({get_text("/v1/models")}); }

TEST_F(ServerWithoutMemory, Health) { try_all({get_text("/health")}); }

TEST_F(ServerWithoutMemory, SecondRequestOfAConnection) {
  try_all({completion_text(Json::object(), ""), completion_text({{"max_tokens", 2}})});
}

// All that follow fail too: 50 of them, or until the client has waited for a while.
constexpr int64_t kFew = 50, kFewStride = 67, kAllStride = 97;

TEST_F(ServerWithoutMemory, CompletionsInAShortage) {
  try_all({completion_text()}, kFew, kFewStride);
}

TEST_F(ServerWithoutMemory, CompletionsInALastingShortage) {
  try_all({completion_text()}, kAll, kAllStride);
}

TEST_F(ServerWithoutMemory, StreamInAShortage) {
  try_all({completion_text({{"stream", true}})}, kFew, kFewStride);
}

TEST_F(ServerWithoutMemory, StreamInALastingShortage) {
  try_all({completion_text({{"stream", true}})}, kAll, kAllStride);
}

TEST_F(ServerWithoutMemory, SecondRequestOfAConnectionInALastingShortage) {
  try_all({completion_text(Json::object(), ""), completion_text({{"max_tokens", 2}})}, kAll,
          kAllStride);
}

// A client that comes in a shortage is served once it is over. What finds no memory for accepting
// it pauses before it tries again.
TEST_F(ServerWithoutMemory, AcceptsAgainAfterAShortage) {
  for (int64_t k = 0; k < 8; ++k) {
    begin_shortage(k, kAll);
    PatientClient client(server_->port());
    EXPECT_TRUE(client.send(get_text("/health")));
    const std::string text = client.read(is_whole);
    EXPECT_LT(n_failed, 500) << "allocations that failed";
    end_shortage();
    EXPECT_TRUE(hear(text).status == 200 || text.empty() || is_in_words(hear(text))) << text;
    EXPECT_EQ(ask(server_->port(), get_text("/health")).status, 200);
  }
}

// A server of its own, of whose threads those of connections alone lack memory.
class StoppingWithoutMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    is_exempt = true;
    leave_out_destructor<nlohmann::json>();
    leave_out_destructor<nlohmann::ordered_json>();
  }
  void SetUp() override {
    serve::ServerOptions options = tiny_server_options();
    options.io_threads = 1;
    options.log = [this](const std::string& line) { log_ += line; };  // by the only thread
    log_.reserve(4096);
    log_.clear();
    server_.emplace(options, open_tiny(), /*stop_on_signals=*/true);
    std::atomic<bool> is_told = false;
    const Result<RequestId> id =
        server_->engine().submit(tiny_request("first", 1), [&](const Event&) {
          is_exempt = true;  // the engine's thread
          is_told = true;
        });
    ASSERT_TRUE(id.ok());
    first_ = *id;
    ASSERT_TRUE(soon([&] { return is_told.load(); }));
  }

  // A request that the engine does not begin as long as what this returns lives.
  Engine::Hold ask_and_hold(Client& busy, Client& idle) {
    EXPECT_EQ(idle.get("/health").status, 200);
    Engine::Hold hold = server_->engine().hold();
    busy.begin("/v1/completions", kCompletion);
    EXPECT_TRUE(soon([&] { return server_->engine().is_waiting(first_ + 1); }));
    EXPECT_EQ(idle.get("/health").status, 200);  // the thread has done with what is busy
    return hold;
  }

  std::string log_;
  RequestId first_ = 0;  // of the server's engine
  std::optional<RunningServer> server_;
};

// Requests under way are answered, and idle connections are closed, whatever the server lacks
// memory for when it begins to stop.
TEST_F(StoppingWithoutMemory, AnswersWhatIsUnderWay) {
  for (int64_t k = 0; k < 25; ++k) {
    if (k > 0) SetUp();
    Client idle(server_->port()), busy(server_->port());
    Engine::Hold hold = ask_and_hold(busy, idle);
    begin_shortage(k, /*n=*/5);
    server_->server().stop();
    ASSERT_TRUE(soon([&] { return n_failed == 5; })) << "after allocation " << k;
    end_shortage();
    hold.reset();
    EXPECT_EQ(busy.read().status, 200) << "after allocation " << k;
    EXPECT_EQ(idle.read_all(), "");
    busy.close();
    server_->stop();
    EXPECT_THROW(Client(server_->port()), std::exception);
    if (HasFailure()) FAIL() << "after allocation " << k;
  }
}

TEST_F(StoppingWithoutMemory, ASecondSignalStopsItAtOnce) {
  for (int64_t k = 0; k < 8; ++k) {
    if (k > 0) SetUp();
    Client idle(server_->port()), busy(server_->port());
    const Engine::Hold hold = ask_and_hold(busy, idle);
    begin_shortage(k, /*n=*/5);
    ::kill(::getpid(), SIGTERM);
    ASSERT_TRUE(soon([&] { return n_failed == 5; })) << "after allocation " << k;
    end_shortage();
    ::kill(::getpid(), SIGTERM);
    server_->join();
    EXPECT_NE(log_.find("stopped at once: 1 request is cut off\n"), std::string::npos)
        << "after allocation " << k << ":\n"
        << log_;
  }
}

// It stops, though the shortage goes on.
TEST_F(StoppingWithoutMemory, StopsInALastingShortage) {
  for (int64_t k = 0; k < 400; k += 23) {
    if (k > 0) SetUp();
    std::optional<PatientClient> client(server_->port());
    const uint64_t n_steps = server_->engine().stats().steps;
    EXPECT_TRUE(client->send(completion_text({{"max_tokens", 200}, {"stream", true}})));
    ASSERT_TRUE(soon([&] { return server_->engine().stats().steps > n_steps; }));
    begin_shortage(k, kAll);
    server_->server().stop();
    const std::string text = client->read([](const std::string&) { return false; });
    client.reset();
    server_->stop();
    end_shortage();
    EXPECT_THROW(Client(server_->port()), std::exception);
    if (HasFailure()) FAIL() << "after allocation " << k << ": " << text;
  }
}

}  // namespace
}  // namespace pando::testing
