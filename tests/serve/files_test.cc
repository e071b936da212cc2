// /v1/files over HTTP.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include "model/test_files.h"
#include "serve/client.h"
#include "serve/routed_testing.h"
#include "serve/uploads.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char *kKeyOne = "key-of-the-first", *kKeyTwo = "key-of-the-second";

class Files : public ::testing::Test {
 protected:
  Files() { options_.state_directory = (folder_.path() / "state").string(); }

  size_t n_stored() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry :
         fs::directory_iterator(fs::path(options_.state_directory) / "files"))
      ++n;
    return n;
  }
  static Json error_of(const Answer& answer, int status) {
    EXPECT_EQ(answer.status, status) << answer.body;
    return answer.json()["error"];
  }

  const TemporaryFolder folder_;
  serve::ServerOptions options_ = tiny_server_options();
  std::atomic<int64_t> now_{1'800'000'000};
};

TEST_F(Files, LiveFromTheirUploadToTheirDeletion) {
  options_.now = [this] { return now_.load(); };
  std::string bytes = "line\r\n--boundary\n";  // long, and odd
  for (int i = 0; i < 100'000; ++i) bytes += static_cast<char>(i % 256);
  bytes += std::string(3 << 20, 'x');
  Json file;
  {
    RunningServer server(options_);
    Client client(server.port());
    const Answer answer = upload(client, bytes);
    ASSERT_EQ(answer.status, 200) << answer.body;
    file = answer.json();
    const std::string id = file["id"];
    EXPECT_TRUE(id.starts_with("file-")) << id;
    EXPECT_EQ(file, Json({{"id", id},
                          {"object", "file"},
                          {"bytes", bytes.size()},
                          {"created_at", now_.load()},
                          {"expires_at", nullptr},
                          {"filename", "in.jsonl"},
                          {"purpose", "batch"},
                          {"status", "processed"}}));
    EXPECT_EQ(client.get("/v1/files/" + id + "/content").body, bytes);
  }
  RunningServer server(options_);
  Client client(server.port());
  const std::string path = "/v1/files/" + file["id"].get<std::string>();
  EXPECT_EQ(client.get(path).json(), file);
  const Answer content = client.get(path + "/content");
  EXPECT_EQ(content.body, bytes);
  EXPECT_EQ(content.content_type, "application/octet-stream");
  EXPECT_EQ(client.ask("DELETE", path).json(),
            Json({{"id", file["id"]}, {"object", "file"}, {"deleted", true}}));
  for (const char* end : {"", "/content"})
    EXPECT_EQ(error_of(client.get(path + end), 404)["code"], "not_found");
  EXPECT_EQ(client.ask("DELETE", path).status, 404);
  EXPECT_EQ(n_stored(), 0u);
}

TEST_F(Files, AreListedInPages) {
  RunningServer server(options_);
  Client client(server.port());
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(upload(client, "x").json()["id"]);
  const Json newest = client.get("/v1/files?limit=2").json();
  EXPECT_EQ(newest["data"][0]["id"], ids[4]);
  EXPECT_EQ(newest["data"].size(), 2u);
  EXPECT_EQ(newest["has_more"], true);
  EXPECT_EQ(newest["last_id"], ids[3]);
  const Json rest = client.get("/v1/files?after=" + ids[3]).json();
  EXPECT_EQ(rest["data"].size(), 3u);
  EXPECT_EQ(rest["has_more"], false);
  EXPECT_EQ(client.get("/v1/files?order=asc&limit=1").json()["data"][0]["id"], ids[0]);
  EXPECT_EQ(client.get("/v1/files?purpose=batch_output").json()["data"], Json::array());
  EXPECT_EQ(client.get("/v1/files?purpose=batch").json()["data"].size(), 5u);
  EXPECT_EQ(error_of(client.get("/v1/files?limit=0"), 400)["param"], "limit");
  EXPECT_EQ(error_of(client.get("/v1/files?order=up"), 400)["param"], "order");
  EXPECT_EQ(error_of(client.get("/v1/files?after=file-x"), 404)["param"], "after");
}

TEST_F(Files, BelongToTheirKey) {
  options_.api_keys = {kKeyOne, kKeyTwo};
  RunningServer server(options_);
  Client client(server.port()), nobody(server.port());
  EXPECT_EQ(upload(nobody, "x").status, 401);
  const Answer uploaded = upload(client, "x", {}, kKeyOne);
  const std::string path = "/v1/files/" + uploaded.json()["id"].get<std::string>();
  for (const char* end : {"", "/content"}) {
    EXPECT_EQ(client.ask("GET", path + end, "", kKeyOne).status, 200);
    EXPECT_EQ(client.ask("GET", path + end, "", kKeyTwo).status, 404);
  }
  EXPECT_EQ(client.ask("DELETE", path, "", kKeyTwo).status, 404);
  EXPECT_EQ(client.ask("GET", "/v1/files", "", kKeyTwo).json()["data"].size(), 0u);
  EXPECT_EQ(client.ask("GET", "/v1/files?after=" + path.substr(10), "", kKeyTwo).status, 404);
  EXPECT_EQ(client.ask("DELETE", path, "", kKeyOne).status, 200);
}

TEST_F(Files, BelongToTheClientOfARouter) {
  RunningServer server(options_);
  Client client(server.port());
  const std::string id = upload(client, "x").json()["id"];
  for (const auto& [path, status] :
       {std::pair{std::string("/v1/files"), 200}, {"/v1/files/" + id, 404}}) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + routed_line({{"owner", "5"}}) +
                "\r\n");
    const Answer answer = client.read();
    EXPECT_EQ(answer.status, status) << answer.body;
    if (status == 200) {
      EXPECT_EQ(answer.json()["data"], Json::array());
    }
  }
  EXPECT_EQ(client.get("/v1/files/" + id).status, 200);
}

TEST_F(Files, WrongUploadsLeaveNothing) {
  options_.files.file_bytes = 1000;
  RunningServer server(options_);
  const auto param = [&](const Upload& form) {
    Client client(server.port());
    return error_of(upload(client, "x", form), 400)["param"];
  };
  EXPECT_EQ(param({.purpose = "fine-tune"}), "purpose");
  EXPECT_EQ(param({.filename = ""}), "file");
  EXPECT_EQ(param({.fields = {{"color", "red"}}}), "color");
  EXPECT_EQ(param({.fields = {{"purpose", "batch"}}}), "purpose");
  EXPECT_EQ(param({.fields = {{"expires_after[anchor]", "created_at"},
                              {"expires_after[seconds]", "10"}}}),
            "expires_after.seconds");
  for (const size_t n_bytes : {1001, 100'000}) {  // more than the file may have, than the body may
    Client client(server.port());
    EXPECT_EQ(upload(client, std::string(n_bytes, 'x')).status, 413) << n_bytes;
  }
  {
    Client client(server.port());
    EXPECT_EQ(client.ask("POST", "/v1/files", "{}").status, 400) << "no form";
  }
  EXPECT_TRUE(soon([&] { return n_stored() == 0; }));
  Client client(server.port());
  EXPECT_EQ(upload(client, std::string(1000, 'x')).status, 200);
}

TEST_F(Files, ClientsThatLeaveLeaveNothing) {
  RunningServer server(options_);
  Client client(server.port());
  const std::string form = form_of(std::string(3 << 20, 'x'), {});
  client.send(
      "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + std::string(kUploadType) +
      "\r\nContent-Length: " + std::to_string(form.size()) + "\r\n\r\n" + form.substr(0, 2 << 20));
  EXPECT_TRUE(soon([&] { return n_stored() == 1; })) << "as it comes";
  client.close();
  EXPECT_TRUE(soon([&] { return n_stored() == 0; }));
}

TEST_F(Files, AreLimitedInNumberAndSize) {
  options_.files.n_files = 2;
  options_.files.n_bytes = 100;
  RunningServer server(options_);
  Client client(server.port());
  EXPECT_EQ(upload(client, std::string(60, 'x')).status, 200);
  EXPECT_EQ(error_of(upload(client, std::string(60, 'x')), 400)["message"],
            "the file has 60 bytes beside 60 of other files, expected at most 100");
  EXPECT_EQ(upload(client, "x").status, 200);
  EXPECT_EQ(error_of(upload(client, "x"), 400)["message"],
            "there are 2 files, expected fewer than 2 before another");
  EXPECT_TRUE(soon([&] { return n_stored() == 2; }));
}

TEST_F(Files, Expire) {
  options_.now = [this] { return now_.load(); };
  RunningServer server(options_);
  Client client(server.port());
  const Answer answer = upload(
      client, "x",
      {.fields = {{"expires_after[anchor]", "created_at"}, {"expires_after[seconds]", "3600"}}});
  EXPECT_EQ(answer.json()["expires_at"], now_.load() + 3600);
  const std::string path = "/v1/files/" + answer.json()["id"].get<std::string>();
  EXPECT_EQ(client.get(path).status, 200);
  now_ += 3600;
  EXPECT_EQ(client.get(path).status, 404);
  EXPECT_EQ(client.get("/v1/files").json()["data"].size(), 0u);
}

TEST_F(Files, NeedAStateDirectory) {
  RunningServer server;
  Client client(server.port());
  EXPECT_EQ(error_of(client.get("/v1/files"), 400)["message"],
            "this server keeps no files, expected one started with --state DIR");
  Client other(server.port());
  EXPECT_EQ(upload(other, "x").status, 400);
}

// Browsers send forms of any page, with its origin.
TEST_F(Files, AreNotUploadedByOtherPages) {
  RunningServer server(options_);
  const auto upload_from = [&](const std::string& origin) {
    Client client(server.port());
    const std::string form = form_of("x", {});
    client.send("POST /v1/files HTTP/1.1\r\nHost: localhost\r\nOrigin: " + origin +
                "\r\nContent-Type: " + std::string(kUploadType) +
                "\r\nContent-Length: " + std::to_string(form.size()) + "\r\n\r\n" + form);
    return client.read().status;
  };
  EXPECT_EQ(upload_from("https://example.org"), 403);
  EXPECT_EQ(upload_from("null"), 403);
  EXPECT_EQ(upload_from("http://localhost"), 200) << "a page of this server";
}

TEST_F(Files, AFullDiskIsAnError) {
  RunningServer server(options_);
  Client client(server.port());
  ASSERT_EQ(upload(client, "x").status, 200);
  const auto signal = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{size_t{1} << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_EQ(upload(client, std::string(2 << 20, 'x')).status, 500);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal);
  EXPECT_TRUE(soon([&] { return n_stored() == 1; }));
  Client other(server.port());
  EXPECT_EQ(upload(other, std::string(2 << 20, 'x')).status, 200);
}

}  // namespace
}  // namespace pando::testing
