// A router passes streams on, and replicas break them off.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ask/errors.h"
#include "serve/http.h"
#include "serve/running_router.h"
#include "serve/scripted_streams.h"

namespace pando::testing {
namespace {

using std::chrono::milliseconds;

TEST(RouteStreams, PassesStreamsOnWithoutTokens) {
  ScriptedReplica replica(streams_whole());
  RunningRouter router({replica.port()});
  Client client(router.port());
  for (int i = 0; i < 3; ++i) {
    const Answer answer = client.post("/v1/completions", stream_body());
    EXPECT_EQ(answer.body, undisturbed_stream());
    EXPECT_TRUE(answer.content_type.starts_with("text/event-stream"));
  }
}

TEST(RouteStreams, ContinuesStreams) {
  for (int cut = 0; cut < kScriptedTokens; ++cut) {
    ScriptedReplica first(dies_before(cut)), second(streams_whole());
    RunningRouter router({first.port(), second.port()});
    Client client(router.port());
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(client.post("/v1/completions", stream_body()).body, undisturbed_stream()) << cut;
    EXPECT_GE(first.n_asked(), 1);
  }
}

// Bytes break off inside an event and inside a comment.
TEST(RouteStreams, ContinuesStreamsFromWholeEvents) {
  for (const char* rest : {": tokens 0 0", ": tokens 0 0 2\n\ndata: {\"i", "da"}) {
    ScriptedReplica first([=](ScriptedAnswer& answer) {
      answer_stream(answer, [&](int i) {
        if (i < 2) return;
        answer.write(rest);
        answer.die();
      });
    });
    ScriptedReplica second(streams_whole());
    RunningRouter router({first.port(), second.port()});
    Client client(router.port());
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(client.post("/v1/completions", stream_body()).body, undisturbed_stream()) << rest;
  }
}

TEST(RouteStreams, ContinuesStreamsOfServersThatShutDown) {
  ScriptedReplica first([](ScriptedAnswer& answer) {
    answer_stream(answer, [&](int i) {
      if (i < 2) return;
      const ask::HttpError error = serve::shutting_down(", and the answer was not ready in time");
      answer.write(ask::kOpenAiErrors.last_events(error));
      answer.end_stream();
      answer.die();
    });
  });
  ScriptedReplica second(streams_whole());
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(client.post("/v1/completions", stream_body()).body, undisturbed_stream());
}

TEST(RouteStreams, ContinuesStreamsOfServersThatFail) {
  ScriptedReplica first([](ScriptedAnswer& answer) {
    answer_stream(answer, [&](int i) {
      if (i < 2) return;
      answer.write(ask::kOpenAiErrors.last_events({500, "server_error", "internal", "x"}));
      answer.end_stream();
      answer.die();
    });
  });
  ScriptedReplica second(streams_whole());
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(client.post("/v1/completions", stream_body()).body, undisturbed_stream());
  EXPECT_GE(first.n_asked(), 1);
}

// A replica that has started anew since its last report may have another model.
TEST(RouteStreams, GoesOnAtTheProcessThatAnswers) {
  const auto with = [](const std::string& fingerprint) {
    return [=](ScriptedAnswer& answer) {
      answer.write_text(
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Pando-Replica: 1 " +
          fingerprint + "\r\nTransfer-Encoding: chunked\r\n\r\n");
    };
  };
  serve::RouteOptions route;
  route.continue_time = milliseconds(300);
  for (const bool is_same : {true, false}) {
    ScriptedReplica first([&](ScriptedAnswer& answer) {
      answer_stream(
          answer,
          [](int i) {
            if (i == 2) throw std::runtime_error("scripted");
          },
          with("f"));
    });
    ScriptedReplica second([&](ScriptedAnswer& answer) {
      answer_stream(
          answer, [](int) {}, with(is_same ? "f" : "g"));
    });
    RunningRouter router({first.port(), second.port()}, route);
    Client client(router.port());
    int n_lost = 0;
    for (int i = 0; i < 2; ++i) {
      const std::string body = client.post("/v1/completions", stream_body()).body;
      if (body != undisturbed_stream()) ++n_lost;
    }
    EXPECT_EQ(n_lost > 0, !is_same);
  }
}

// Lines tell no tokens, but what ends them needs no more.
TEST(RouteStreams, EndsLinesThatAreWhole) {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string lines = "{\"a\":{\"done\":true}}\n{\"done\":true}\n";
  for (const bool is_whole : {true, false}) {
    ScriptedReplica replica([&](ScriptedAnswer& answer) {
      answer.write_text(head);
      answer.write(lines.substr(0, lines.size() - (is_whole ? 0 : 3)));
      answer.die();
    });
    RunningRouter router({replica.port()});
    Client client(router.port());
    const std::string body =
        client.post("/api/chat", {{"model", "tiny"}, {"messages", Json::array()}}).body;
    EXPECT_EQ(body == lines, is_whole) << body;
    EXPECT_EQ(body.find("replica_lost") == body.npos && body.find("error") == body.npos, is_whole)
        << body;
  }
}

TEST(RouteStreams, EndsStreamsThatNobodyContinues) {
  serve::RouteOptions route;
  route.continue_time = milliseconds(0);
  ScriptedReplica first(dies_before(2)), other(streams_whole());
  other.set_status("fingerprint", "other");
  RunningRouter router({first.port(), other.port()}, route);
  Client client(router.port());
  int n_lost = 0;
  for (int i = 0; i < 2; ++i) {
    const std::string body = client.post("/v1/completions", stream_body()).body;
    if (body == undisturbed_stream()) continue;
    ++n_lost;
    EXPECT_EQ(last_code(body), "replica_lost") << body;
    EXPECT_TRUE(body.starts_with("data: {\"head\":1}\n\n" + scripted_event(0) + scripted_event(1) +
                                 "data: "));
    EXPECT_TRUE(body.ends_with("data: [DONE]\n\n"));
  }
  EXPECT_EQ(n_lost, 1);
}

TEST(RouteStreams, GivesUpAfterThreeBreaks) {
  std::vector<std::unique_ptr<ScriptedReplica>> replicas;
  std::vector<uint16_t> all;
  for (int i = 0; i < 5; ++i) {
    replicas.push_back(std::make_unique<ScriptedReplica>([](ScriptedAnswer& answer) {
      const bool is_first = !answer.body().contains("pando_begun");
      answer_stream(answer, [&, n = 0](int) mutable {
        if (n++ == (is_first ? 1 : 2)) answer.die();  // one token more each time
      });
    }));
    all.push_back(replicas.back()->port());
  }
  RunningRouter router(all);
  Client client(router.port());
  const std::string body = client.post("/v1/completions", stream_body()).body;
  EXPECT_EQ(last_code(body), "replica_lost") << body;
  int n_asked = 0;
  for (const auto& replica : replicas) n_asked += replica->n_asked();
  EXPECT_EQ(n_asked, 4);
}

TEST(RouteStreams, FindsReplicasThatGoOnOtherwise) {
  ScriptedReplica first(dies_before(2)), liar([](ScriptedAnswer&answer) {
    if (!answer.body().contains("pando_begun")) return answer_stream(answer, [](int) {});
    answer.begin_stream();
    answer.write(": tokens 0 0 1\n\ndata: {\"i\":77}\n\ndata: [DONE]\n\n");
    answer.end_stream();
  });
  RunningRouter router({first.port(), liar.port()});
  Client client(router.port());
  int n_lost = 0;  // of the streams that the first replica began
  for (int i = 0; i < 2; ++i) {
    const std::string body = client.post("/v1/completions", stream_body()).body;
    EXPECT_EQ(body.find("77"), body.npos);
    n_lost += last_code(body) == "replica_lost" ? 1 : 0;
  }
  EXPECT_GT(n_lost, 0);
  EXPECT_EQ(n_lost, first.n_asked());
}

}  // namespace
}  // namespace pando::testing
