// A server of a tiny model for the tests of a file, and requests to it.
#pragma once

#include "serve/client.h"

namespace pando::testing {

class Endpoints : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    EngineOptions options = tiny_options();
    options.deadline_classes["chat"] = {.ttft_slo = 0.5};
    server_ = new RunningServer(tiny_server_options(), options);
  }
  static void TearDownTestSuite() { delete std::exchange(server_, nullptr); }

  Json post(const std::string& path, const Json& body, int status = 200) {
    const Answer answer = client_.post(path, body);
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.content_type, "application/json");
    return answer.json();
  }
  Json error(const std::string& path, const Json& body, int status = 400) {
    return post(path, body, status)["error"];
  }
  std::vector<Json> stream(const std::string& path, Json body) {
    body["stream"] = true;
    const Answer answer = client_.post(path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_TRUE(answer.content_type.starts_with("text/event-stream"));
    return answer.events();
  }

  static inline RunningServer* server_ = nullptr;
  Client client_{server_->port()};
};

inline Json completion(const std::string& prompt) {
  return {{"model", "tiny"},
          {"prompt", prompt},
          {"temperature", 0},
          {"max_tokens", 6},
          {"ignore_eos", true}};
}

}  // namespace pando::testing
