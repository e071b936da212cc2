// The page for browsers: its files, with which headers they go out, and who gets them.
#include "serve/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "serve/client.h"

namespace pando::serve {
namespace {

using namespace testing;

constexpr const char* kOpensPage = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

ServerOptions options_with_page() {
  ServerOptions options = tiny_server_options();
  options.page = true;
  return options;
}

// The head and the body of an answer, as they come.
std::string page_answer(const RunningServer& server, const std::string& line,
                        const std::string& headers) {
  Client client(server.port());
  client.send(line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n");
  return client.read_all();
}

bool page_has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string_view page_text(std::string_view name) {
  const auto file = std::ranges::find(page_files(), name, &PageFile::name);
  return file == page_files().end() ? std::string_view() : file->text;
}

std::vector<std::string> page_matches(std::string_view text, const char* pattern) {
  const std::string all(text);
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(all.begin(), all.end(), expression), end; at != end; ++at)
    found.push_back((*at)[1].str());
  return found;
}

TEST(Page, IsForWhoAcceptsHtml) {
  const RunningServer server(options_with_page());
  const std::string page = page_answer(server, "GET /", kOpensPage);
  EXPECT_TRUE(page.starts_with("HTTP/1.1 200 ")) << page;
  EXPECT_TRUE(page.ends_with(page_text("index.html"))) << page;
  for (const char* header :
       {"Content-Type: text/html; charset=utf-8",
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'\r\n",
        "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
        "Cache-Control: no-cache\r\n", "Vary: Accept, Origin\r\n"})
    EXPECT_TRUE(page_has(page, header)) << header << page;
  const std::string text = page_answer(server, "GET /", "Accept: */*\r\n");
  EXPECT_TRUE(page_has(text, "text/plain") && page_has(text, "\r\nVary: Accept\r\n")) << text;
  EXPECT_TRUE(page_has(page_answer(server, "GET /", "Accept: application/json\r\n"), "\"models\""));
}

TEST(Page, ItsFilesHaveTypesAndTags) {
  const RunningServer server(options_with_page());
  const std::pair<const char*, const char*> types[] = {
      {"main.js", "text/javascript"}, {"page.css", "text/css"}, {"index.html", "text/html"}};
  for (const auto& [name, type] : types) {
    const std::string path = std::string("GET /page/") + name;
    const std::string answer = page_answer(server, path, "");
    EXPECT_TRUE(page_has(answer, "Content-Type: " + std::string(type) + "; charset=utf-8\r\n"));
    EXPECT_TRUE(page_has(answer, "nosniff")) << answer;
    EXPECT_TRUE(answer.ends_with(page_text(name))) << name;
    const auto file = std::ranges::find(page_files(), std::string_view(name), &PageFile::name);
    const std::string tag(file->etag);
    EXPECT_TRUE(page_has(answer, "ETag: " + tag + "\r\n")) << answer;
    const std::string known = page_answer(server, path, "If-None-Match: W/\"x\", " + tag + "\r\n");
    EXPECT_TRUE(known.starts_with("HTTP/1.1 304 ")) << known;
    EXPECT_TRUE(known.ends_with("\r\n\r\n")) << known;
    EXPECT_TRUE(page_answer(server, path, "If-None-Match: \"x\"\r\n").starts_with("HTTP/1.1 200 "));
  }
  const std::string head = page_answer(server, "HEAD /page/main.js", "");
  const size_t n_bytes = page_text("main.js").size();
  EXPECT_TRUE(page_has(head, "Content-Length: " + std::to_string(n_bytes) + "\r\n")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  EXPECT_TRUE(page_answer(server, "GET /page/other.js", "").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(page_answer(server, "GET /page/../main.js", "").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(page_answer(server, "DELETE /page/main.js", "").starts_with("HTTP/1.1 405 "));
}

TEST(Page, NeedsNoKeyButWhatItAsksDoes) {
  ServerOptions options = options_with_page();
  options.api_keys = {"a-key-that-is-long-enough"};
  const RunningServer server(options);
  EXPECT_TRUE(page_answer(server, "GET /", kOpensPage).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(page_answer(server, "HEAD /", kOpensPage).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(page_answer(server, "GET /page/main.js", "").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(
      page_answer(server, "GET /", "Accept: application/json\r\n").starts_with("HTTP/1.1 401"));
  EXPECT_TRUE(page_answer(server, "POST /", kOpensPage).starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(page_answer(server, "GET /v1/models", kOpensPage).starts_with("HTTP/1.1 401 "));
}

TEST(Page, IsNotThereWhereItIsNotWanted) {
  const RunningServer server;
  EXPECT_TRUE(page_has(page_answer(server, "GET /", kOpensPage), "Content-Type: text/plain"));
  EXPECT_TRUE(page_answer(server, "GET /page/main.js", "").starts_with("HTTP/1.1 404 "));
  ServerOptions options = options_with_page();
  options.router_only = true;
  options.router_keys = {"a-key-that-is-long-enough"};
  const RunningServer for_routers(options);
  EXPECT_TRUE(page_answer(for_routers, "GET /", kOpensPage).starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(page_answer(for_routers, "GET /page/main.js", "").starts_with("HTTP/1.1 401 "));
}

// Whatever the page shows stays a text, and nothing comes from elsewhere.
TEST(Page, ItsSourcesReadNoTextAsMarkup) {
  EXPECT_GT(page_files().size(), 10u);
  for (const PageFile& file : page_files()) {
    for (const char* word : {"innerHTML",
                             "outerHTML",
                             "insertAdjacentHTML",
                             "setHTML",
                             "document.write",
                             "DOMParser",
                             "createContextualFragment",
                             "srcdoc",
                             "eval(",
                             "Function(",
                             "javascript:",
                             "import(",
                             "localStorage",
                             "document.cookie",
                             " onclick",
                             " onload",
                             " style=",
                             "<style",
                             "@import",
                             "url("})
      EXPECT_FALSE(page_has(file.text, word)) << file.name << " has " << word;
    for (const std::string& address : page_matches(file.text, "(https?://[^\"' ]*)"))
      EXPECT_EQ(address, "http://www.w3.org/2000/svg") << file.name;
    EXPECT_LT(std::ranges::count(file.text, '\n'), 250) << file.name;
  }
}

TEST(Page, ItsFilesNameEachOther) {
  std::vector<std::string> named =
      page_matches(page_text("index.html"), "(?:src|href)=\"page/([^\"]*)\"");
  EXPECT_EQ(named.size(), 2u);
  for (const PageFile& file : page_files())
    for (const std::string& name : page_matches(file.text, "from \"\\./([^\"]*)\""))
      named.push_back(name);
  for (const std::string& name : named) EXPECT_FALSE(page_text(name).empty()) << name;
  for (const PageFile& file : page_files())
    EXPECT_TRUE(file.name == "index.html" || std::ranges::find(named, file.name) != named.end())
        << file.name;
}

}  // namespace
}  // namespace pando::serve
