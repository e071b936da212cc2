// The watch over a request, between a client that reads late and its writer.
#include "serve/request_watch.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace pando::serve {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

// A server that stops tells its connections again and again.
TEST(RequestWatch, ASecondEndOfTheTimeCutsNoWrite) {
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  tcp::socket client(context), socket(context);
  client.connect(acceptor.local_endpoint());
  acceptor.accept(socket);
  client.set_option(asio::socket_base::receive_buffer_size(1 << 16));
  socket.set_option(asio::socket_base::send_buffer_size(1 << 16));
  const std::string sent(size_t{1} << 20, 'x');  // more than sockets keep
  std::optional<boost::system::error_code> written;
  asio::async_write(socket, asio::buffer(sent),
                    [&](const boost::system::error_code& error, size_t) { written = error; });
  const bool is_ending = false;
  int n_ends = 0;
  RequestWatch watch(
      socket, is_ending, std::chrono::hours(1), [&](RequestWatch::End) { ++n_ends; },
      /*last_write=*/std::chrono::hours(1));
  for (int i = 0; i < 3; ++i) {
    watch.end_time();
    context.poll();
  }
  EXPECT_EQ(n_ends, 1);
  EXPECT_FALSE(written);
  std::string got(sent.size(), '\0');
  asio::async_read(client, asio::buffer(got), [](const boost::system::error_code&, size_t) {});
  while (!written && context.run_one() > 0) continue;
  EXPECT_EQ(written, boost::system::error_code());
}

}  // namespace
}  // namespace pando::serve
