// `pando serve` as a process: that it starts, and ends when it is told to.
#include <nlohmann/json.hpp>

#include "cli/serve_process.h"

namespace pando::testing {
namespace {

TEST_F(ServeTest, EndsWhenItIsToldToThoughNobodyEverCame) {
  const std::string said = serve_and_end("m");
  EXPECT_NE(said.find("a context of 640 tokens; 64.0 MiB for the keys and values"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("chats"), std::string::npos) << said;
  EXPECT_NE(
      said.find("stopping: 0 requests are in progress, on 0 connections; they have 30 s to finish"),
      std::string::npos)
      << said;
  EXPECT_TRUE(said.ends_with("stopped: all requests are answered\n")) << said;
  EXPECT_EQ(said.find("everybody"), std::string::npos) << said;
}

// Who has sent half of a request is waited for, but not by who asks twice.
TEST_F(ServeTest, EndsAtOnceWhenItIsToldTwice) {
  const std::string said = serve_and_end(
      "m",
      "exec 3<>/dev/tcp/127.0.0.1/$(sed -n 's/.*serving.*://p' served.txt)\n"
      "printf 'POST /v1/completions HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 9\\r\\n"
      "Content-Type: application/json\\r\\nExpect: 100-continue\\r\\n\\r\\n' >&3\n"
      "read -r go_on <&3\n"
      "kill -TERM $!\n"
      "until_said 'stopping:'\n");
  EXPECT_NE(
      said.find("stopping: 0 requests are in progress, on 1 connection; they have 30 s to finish"),
      std::string::npos)
      << said;
  EXPECT_TRUE(said.ends_with("stopped at once: 0 requests are cut off\n")) << said;
}

// An answered response was stored before.
TEST_F(ServeTest, KeepsResponsesThoughItIsKilled) {
  const std::string options = "m --state state";
  serve_and_end(
      options,
      "ask() { exec 3<>/dev/tcp/127.0.0.1/$(sed -n 's/.*serving.*://p' served.txt); "
      "printf '%s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n"
      "Content-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s' \"$1\" ${#2} \"$2\" "
      ">&3; cat <&3; }\n"
      "ask 'POST /v1/responses' '{\"input\": \"Q?\", \"max_output_tokens\": 4}' > first.txt\n"
      "kill -KILL $!\n"
      "wait $!\n"
      "rm served.txt\n"
      "'" PANDO_BINARY "' serve --model " +
          options + " --threads 1 --kv-memory " + kv_memory_ +
          " --port 0 --policy fcfs 2> served.txt &\n"
          "until_said serving\n"
          "id=$(grep -o 'resp_[0-9a-f]*' first.txt | head -1)\n"
          "ask \"GET /v1/responses/$id\" '' > again.txt\n");
  const auto body_of = [&](const char* file) {
    const std::string answer = contents(at(file));
    return answer.substr(std::min(answer.find("\r\n\r\n"), answer.size()));
  };
  EXPECT_NE(body_of("first.txt").find("\"object\":\"response\""), std::string::npos)
      << contents(at("first.txt"));
  EXPECT_EQ(body_of("again.txt"), body_of("first.txt"));
}

TEST_F(ServeTest, HasAPageUnlessItIsToldNotTo) {
  const std::string open_page =
      "exec 3<>/dev/tcp/127.0.0.1/$(sed -n 's/.*serving.*://p' served.txt)\n"
      "printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nAccept: text/html\\r\\n"
      "Connection: close\\r\\n\\r\\n' >&3; cat <&3 > page.txt\n";
  EXPECT_NE(serve_and_end("m", open_page).find(", and is a page for browsers;"), std::string::npos);
  EXPECT_NE(contents(at("page.txt")).find("<!doctype html>"), std::string::npos);
  EXPECT_EQ(serve_and_end("m --no-page", open_page).find("for browsers"), std::string::npos);
  EXPECT_NE(contents(at("page.txt")).find("Content-Type: text/plain"), std::string::npos);
}

TEST_F(ServeTest, SaysThatEverybodyMayAsk) {
  const std::string said = serve_and_end("m --host 0.0.0.0");
  EXPECT_NE(said.find("anyone who can reach 0.0.0.0 can send requests"), std::string::npos) << said;
}

TEST_F(ServeTest, TheModelIsNamedByItsHubIdOrTheLastPartOfItsPath) {
  std::filesystem::create_directories(at("hub/models--org--na--me/snapshots"));
  std::filesystem::create_directory_symlink(at("m"), at("hub/models--org--na--me/snapshots/r1"));
  for (const auto& [model, name] : {std::pair{"m", "m"},
                                    {"m/", "m"},
                                    {"m/.", "m"},
                                    {"hub/models--org--na--me", "org/na--me"},
                                    {"hub/models--org--na--me/snapshots/r1/", "org/na--me"},
                                    {"m --model-name other", "other"}}) {
    const std::string said = serve_and_end(model);
    EXPECT_NE(said.find(std::string("pando: serving ") + name + " at "), std::string::npos) << said;
  }
}

TEST_F(ServeTest, SaysAtOnceThatChatsAreRefused) {
  std::filesystem::copy(at("m"), at("mute"));
  nlohmann::json config = nlohmann::json::parse(contents(at("m/tokenizer_config.json")));
  config.erase("chat_template");
  folder().write("mute/tokenizer_config.json", config.dump());
  const std::string said = serve_and_end("mute");
  EXPECT_NE(said.find("chat requests are refused: 'mute' has no chat template"), std::string::npos)
      << said;
}

TEST_F(ServeTest, SaysWhichArgumentsAreWrong) {
  for (const auto& [arguments, message] :
       {std::pair{"--port 99999", "--port: 99999, expected 0 to 65535"},
        {"--port -1", "expected 0 to 65535"},
        {"--model-name ''", "--model-name: is empty, expected a name"},
        {"--io-threads 0", "--io-threads: 0, expected 1 to 1024"},
        {"--io-threads 1025", "--io-threads: 1025, expected 1 to 1024"},
        {"--max-body 0", "--max-body: 0, expected at least 1"},
        {"--max-header 0", "--max-header: 0, expected at least 1"},
        {"--log all", "--log"},
        {"--public-prefix rules", "--public-prefix: 'rules', expected NAME=FILE"}}) {
    const Finished refused = pando(std::string("serve --model m ") + arguments);
    EXPECT_EQ(refused.code, 2) << refused;
    EXPECT_TRUE(refused.says(message)) << refused;
  }
  EXPECT_EQ(pando("serve --model m --public-prefix rules=none.txt").code, 1);
  folder().write("rules.bin", std::string("\1\0\2\n", 4));
  const Finished binary = pando("serve --model m --public-prefix rules=rules.bin");
  EXPECT_EQ(binary.code, 1) << binary;
  EXPECT_TRUE(binary.says("--public-prefix: 'rules.bin' is binary data, not text")) << binary;
}

// Each answer that runs takes a row of a step, and prompts take others.
TEST_F(ServeTest, NeedsRowsForPromptsToo) {
  for (const char* rows : {"1", "256"}) {
    const Finished refused = pando(
        std::string("serve --model m --port 0 --policy fcfs --step-rows ") + rows, "timeout 60 ");
    EXPECT_EQ(refused.code, 2) << refused;
    EXPECT_TRUE(refused.says(std::string("--step-rows is ") + rows +
                             ", expected more than --max-running 256"))
        << refused;
  }
  serve_and_end("m --step-rows 257");
}

TEST_F(ServeTest, RefusesMemoryForNothingBeforeItMeasures) {
  const Finished refused = pando("serve --model m --threads 1 --port 0 --kv-memory 1KiB",
                                 "XDG_CACHE_HOME='" + at("nothing-kept").string() + "' ");
  EXPECT_EQ(refused.code, 2) << refused;
  EXPECT_TRUE(refused.says("--kv-memory is 1024 bytes, expected at least one page")) << refused;
  EXPECT_FALSE(refused.says("measuring")) << refused;
}

// An idle server has 64 MiB of keys and values at hand, of however much it may take.
TEST_F(ServeTest, TakesLittleMemoryBeforeItIsAsked) {
  kv_memory_ = "1GiB";
  serve_and_end(
      "m",
      "ready() { exec 3<>/dev/tcp/127.0.0.1/$(sed -n 's/.*serving.*://p' served.txt)\n"
      "printf 'GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n'"
      " >&3\n"
      "tr -d '\\r' <&3 | sed -n 's/^pando_kv_ready_bytes //p'; }\n"
      "until [ $(ready) -ge $((64 << 20)) ]; do sleep 0.02; done\n"
      "sleep 0.3\nready > ready.txt\n");
  EXPECT_LT(std::stod(contents(at("ready.txt"))), 66 * 0x1p20);
}

// Loading a model may take minutes, and who starts it is gone by then.
TEST_F(ServeTest, SaysWhatIsWrongWithAddressKeysAndCertificateBeforeItLoadsTheModel) {
  std::filesystem::create_directory(at("shape"));  // no model can be loaded from it
  folder().write("keys", "short\n");
  folder().write("no.pem", "none\n");
  for (const auto& [arguments, message] :
       {std::pair{"--host 300.1.1.1", "cannot listen on host '300.1.1.1'"},
        {"--api-key-file keys", "the API key in line 1 has 5 characters"},
        {"--router-key-file keys", "router keys: the API key in line 1 has 5 characters"},
        {"--tls-cert no.pem --tls-key no.pem", "expected a certificate in PEM"}}) {
    const Finished refused =
        pando(std::string("serve --model shape --port 0 --policy fcfs ") + arguments);
    EXPECT_EQ(refused.code, 1) << refused;
    EXPECT_TRUE(refused.says(message)) << refused;
  }
  const Finished unloadable = pando("serve --model shape --port 0 --policy fcfs");
  EXPECT_NE(unloadable.code, 0) << unloadable;
  EXPECT_FALSE(unloadable.says("serving")) << unloadable;
}

}  // namespace
}  // namespace pando::testing
