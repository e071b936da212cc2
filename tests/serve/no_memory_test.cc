// Memory that runs out at any allocation of a request's way through the server: on the threads of
// connections, on those that read bodies and tokenise, and on the engine's.
//
// Each request is sent again and again. The first time the server's first allocation fails, then
// the second, and so on, until an answer needs no more. Each time the client gets the right answer,
// an error in words or a closed connection, and the next request is answered as before.
//
// Left out: allocations of C libraries, and those of the JSON library (basic_json::destroy). It
// lists the children of an array or object in the destructor, where an exception ends the process.
// The program sets memory aside for these (src/cli/spare_memory.cc).
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <regex>
#include <string>

#include "serve/client.h"

namespace {

thread_local bool is_exempt = false;  // this thread's allocations do not count
std::atomic<int64_t> n_before = -1;   // allocations until one fails; negative: it has failed

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
  if (is_exempt || is_left_out(place)) return false;
  return n_before >= 0 && n_before.fetch_sub(1) == 0;
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

// What the server said until it closed the connection.
struct Heard {
  int status = 0;    // 0: nothing, or no whole answer
  std::string body;  // without what differs from one answer to the next
};

// A request on a connection of its own. Fails the test where the server says nothing for long.
std::string ask(uint16_t port, const std::string& bytes) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  std::string heard;
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(bytes.size())) {
    char piece[4096];
    ssize_t n = 0;
    while ((n = ::recv(socket, piece, sizeof piece, 0)) > 0)
      heard.append(piece, static_cast<size_t>(n));
    EXPECT_FALSE(n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        << "nothing for 5 s: " << bytes;
  }
  ::close(socket);
  return heard;
}

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

// Whether it is an error that a client can read: alone, or at the end of a stream.
bool is_in_words(const Heard& heard) {
  const size_t at = heard.body.find("{\"error\":");
  if (at == std::string::npos || (heard.status == 200 && at == 0)) return false;
  const size_t end = heard.body.find("\n\n", at);
  const Json error = Json::parse(heard.body.substr(at, end - at))["error"];
  return error["message"] == "not enough memory (hint: try again later)";
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
    const std::string bytes = post_text(path, body.dump(), "Connection: close\r\n");
    ask(server_->port(), bytes);  // what is made once is there
    const Heard right = hear(ask(server_->port(), bytes));
    ASSERT_EQ(right.status, 200) << right.body;
    int n_right = 0, n_words = 0, n_closed = 0;
    for (int64_t k = 0;; k += k < kEvery ? 1 : kStride) {
      n_before = k;
      const Heard heard = hear(ask(server_->port(), bytes));
      const bool has_failed = n_before < 0;
      n_before = INT64_MAX;
      const bool is_right = heard.status == right.status && heard.body == right.body;
      const bool is_error = !is_right && is_in_words(heard);
      const bool is_closed = !is_right && !is_error;
      (is_right ? n_right : is_error ? n_words : n_closed) += 1;
      EXPECT_TRUE(!is_closed || heard.body.empty()) << heard.body << "\ninstead of\n" << right.body;
      const Heard next = hear(ask(server_->port(), bytes));
      EXPECT_EQ(next.status, 200) << path << " after allocation " << k << ": " << next.body;
      EXPECT_EQ(next.body, right.body) << path << " after allocation " << k;
      if (HasFailure()) FAIL() << "allocation " << k;
      if (has_failed) continue;
      EXPECT_TRUE(is_right);
      fmt::print("{}: {} allocations; answered {}, error in words {}, closed {}\n", path, k,
                 n_right, n_words, n_closed);
      break;
    }
    EXPECT_GT(n_words, 0);
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

}  // namespace
}  // namespace pando::testing
