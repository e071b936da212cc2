// The server by TLS, with a certificate of its own making.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "serve/certificate.h"
#include "serve/client.h"
#include "serve/log_lines.h"

namespace pando::testing {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using TlsStream = asio::ssl::stream<asio::ip::tcp::socket>;

class Tls : public ::testing::Test {
 protected:
  serve::ServerOptions options() const {
    serve::ServerOptions options = tiny_server_options();
    options.tls_certificate = certificate_.certificate;
    options.tls_key = certificate_.key;
    return options;
  }
  // One that knows the certificate, and the host's name.
  asio::ssl::context trusting() const {
    asio::ssl::context context(asio::ssl::context::tls_client);
    context.load_verify_file(certificate_.certificate);
    context.set_verify_mode(asio::ssl::verify_peer);
    context.set_verify_callback(asio::ssl::host_name_verification("localhost"));
    return context;
  }

  TemporaryFolder folder_;
  Certificate certificate_{folder_.path()};
};

class TlsClient {
 public:
  TlsClient(uint16_t port, asio::ssl::context& tls) : stream_(context_, tls) {
    stream_.next_layer().connect({asio::ip::address_v4::loopback(), port});
    stream_.handshake(asio::ssl::stream_base::client);
  }
  http::response<http::string_body> ask(const std::string& method, const std::string& path,
                                        const Json& body = nullptr) {
    http::request<http::string_body> request(http::string_to_verb(method), path, 11);
    request.set(http::field::host, "localhost");
    request.set(http::field::content_type, "application/json");
    if (!body.is_null()) request.body() = body.dump();
    request.prepare_payload();
    http::write(stream_, request);
    http::response<http::string_body> response;
    http::read(stream_, buffer_, response);
    return response;
  }
  // Asks the server to end it, and hears that it does.
  void shutdown() { stream_.shutdown(); }
  const char* version() { return SSL_get_version(stream_.native_handle()); }

 private:
  asio::io_context context_;
  TlsStream stream_;
  boost::beast::flat_buffer buffer_;
};

TEST_F(Tls, RequestsAndStreams) {
  RunningServer server(options());
  asio::ssl::context tls = trusting();
  TlsClient client(server.port(), tls);
  EXPECT_STREQ(client.version(), "TLSv1.3");
  EXPECT_EQ(client.ask("GET", "/health").result_int(), 200u);
  Json body = {{"prompt", "A prompt."}, {"max_tokens", 6}, {"temperature", 0}, {"logprobs", 0}};
  const auto whole = client.ask("POST", "/v1/completions", body);
  EXPECT_EQ(whole.result_int(), 200u);
  RunningServer plain;
  EXPECT_EQ(Json::parse(whole.body())["choices"],
            Client(plain.port()).post("/v1/completions", body).json()["choices"]);
  body["stream"] = true;
  const auto streamed = client.ask("POST", "/v1/completions", body);
  EXPECT_TRUE(streamed.body().ends_with("data: [DONE]\n\n")) << streamed.body();
  EXPECT_NO_THROW(client.shutdown());
}

TEST_F(Tls, ManyClientsAtOnce) {
  RunningServer server(options());
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] {
      asio::ssl::context tls = trusting();
      TlsClient client(server.port(), tls);
      for (int k = 0; k < 5; ++k)
        EXPECT_EQ(client
                      .ask("POST", "/v1/completions",
                           {{"prompt", "P" + std::to_string(k)}, {"max_tokens", 3}})
                      .result_int(),
                  200u);
    });
  for (std::thread& client : clients) client.join();
}

TEST_F(Tls, OldVersionsAndStrangersAreRefused) {
  RunningServer server(options());
  asio::ssl::context old = trusting();
  SSL_CTX_set_security_level(old.native_handle(), 0);
  SSL_CTX_set_max_proto_version(old.native_handle(), TLS1_1_VERSION);
  EXPECT_THROW(TlsClient(server.port(), old), boost::system::system_error);
  asio::ssl::context stranger(asio::ssl::context::tls_client);
  stranger.set_verify_mode(asio::ssl::verify_peer);
  EXPECT_THROW(TlsClient(server.port(), stranger), boost::system::system_error);
  asio::ssl::context tls = trusting();
  EXPECT_EQ(TlsClient(server.port(), tls).ask("GET", "/health").result_int(), 200u);
}

// Bytes that are no handshake end the connection: an alert at most, no answer, no reset; and a line
// of the log, which who only looked whether somebody listens does not get.
TEST_F(Tls, PlainTextEndsTheConnection) {
  Lines lines;
  serve::ServerOptions logging = options();
  log_to(lines, logging);
  auto running = std::make_unique<RunningServer>(logging);
  const RunningServer& server = *running;
  for (const std::string& sent :
       {std::string("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n\r\n" + std::string(200'000, 'x'),
        std::string("\x16\x03\x01\xff\xff") + std::string(1000, '\0')}) {
    Client client(server.port());
    client.send(sent);
    bool is_end = false;
    EXPECT_LE(client.read_all(&is_end).size(), 7u) << "a record with an alert";
    EXPECT_TRUE(is_end) << "it was reset";
  }
  Client silent(server.port());
  silent.close();
  asio::ssl::context tls = trusting();
  EXPECT_EQ(TlsClient(server.port(), tls).ask("GET", "/health").result_int(), 200u);
  running.reset();
  EXPECT_EQ(std::ranges::count_if(lines.all(),
                                  [](const std::string& line) {
                                    return line.find("TLS handshake failed") != std::string::npos;
                                  }),
            3);
}

TEST_F(Tls, FilesThatAreNoneAreRefused) {
  const std::unique_ptr<Engine> engine = open_tiny();
  serve::ServerOptions swapped = options();
  std::swap(swapped.tls_certificate, swapped.tls_key);
  EXPECT_EQ(serve::Server::open(*engine, swapped).error().code, ErrorCode::kBadFile);
  TemporaryFolder folder;
  const Certificate other(folder.path());
  serve::ServerOptions mixed = options();
  mixed.tls_key = other.key;
  EXPECT_EQ(serve::Server::open(*engine, mixed).error().code, ErrorCode::kBadFile);
  serve::ServerOptions none = options();
  none.tls_certificate += ".none";
  EXPECT_EQ(serve::Server::open(*engine, none).error().code, ErrorCode::kBadFile);
}

}  // namespace
}  // namespace pando::testing
