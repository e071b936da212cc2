#include "serve/host_names.h"

#include <gtest/gtest.h>

#include "serve/client.h"

namespace pando::serve {
namespace {

using namespace testing;

TEST(HostNames, AddressesAndLocalhostAreLocal) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:8000", "192.168.0.7:80", "[::1]", "[::1]:8000",
                           "localhost", "LocalHost:8000"})
    EXPECT_TRUE(is_local_name(host)) << host;
  for (const char* host : {"", ":80", "evil.example", "evil.example:8000", "localhost.example",
                           "127.0.0.1.example", "[::1", "[evil]:80", "256.0.0.1"})
    EXPECT_FALSE(is_local_name(host)) << host;
}

int status(const RunningServer& server, const std::string& host, const std::string& more = "") {
  Client client(server.port());
  client.send("GET /v1/models HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
  return client.read().status;
}

TEST(HostNames, OfAServerOfItsMachineAloneWithoutKeys) {
  ServerOptions options = tiny_server_options();
  options.allowed_hosts = {"models.example"};
  const RunningServer server(options);
  EXPECT_EQ(status(server, "127.0.0.1:" + std::to_string(server.port())), 200);
  EXPECT_EQ(status(server, "evil.example"), 403);
  EXPECT_EQ(status(server, "Models.Example:8000"), 200);
}

TEST(HostNames, WithKeysAnyNameWillDo) {
  ServerOptions options = tiny_server_options();
  options.api_keys = {"a-key-that-is-long-enough"};
  const RunningServer server(options);
  EXPECT_EQ(status(server, "models.example"), 401);
  EXPECT_EQ(status(server, "models.example", "Authorization: Bearer a-key-that-is-long-enough\r\n"),
            200);
}

}  // namespace
}  // namespace pando::serve
