// Bytes that a client sends to a server over a tiny model, in pieces with a zero byte between,
// before it closes its sending half. The server answers valid requests and stays up.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "engine/tiny_engine.h"
#include "fuzz/fuzz.h"
#include "serve/server.h"

using namespace pando;
namespace asio = boost::asio;

namespace {

// Never stopped: the process ends with it.
uint16_t port_of_server() {
  static const uint16_t port = [] {
    EngineOptions engine_options = pando::testing::tiny_options();
    engine_options.context = 64;
    static Engine& engine = *pando::testing::open_tiny(engine_options).release();
    serve::ServerOptions options;
    options.port = 0;
    options.model_names = {"tiny"};
    options.max_header_bytes = 2048;
    options.max_body_bytes = 4096;
    auto opened = serve::Server::open(engine, options);
    fuzz::demand(opened.ok(), "no server");
    static serve::Server& server = *opened->release();
    std::thread([] { server.run(/*stop_on_signals=*/false); }).detach();
    return server.port();
  }();
  return port;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  boost::system::error_code error;
  do {  // libFuzzer's timer may interrupt it
    socket = asio::ip::tcp::socket(context);
    socket.connect({asio::ip::address_v4::loopback(), port_of_server()}, error);
  } while (error == asio::error::interrupted);
  fuzz::demand(!error, "no connection");
  std::string_view text = fuzz::text_of(data, size);
  while (!text.empty() && !error) {
    const std::string_view piece = text.substr(0, text.find('\0'));
    asio::write(socket, asio::buffer(piece), error);
    text.remove_prefix(std::min(text.size(), piece.size() + 1));
  }
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  std::string answer;
  char part[4096];
  while (const size_t n = socket.read_some(asio::buffer(part), error)) answer.append(part, n);
  fuzz::demand(answer.empty() || answer.starts_with("HTTP/1."), "an answer that is not HTTP");
  fuzz::demand(answer.find(" 500 Internal Server Error\r\n") == std::string::npos, answer.c_str());
  return 0;
}
