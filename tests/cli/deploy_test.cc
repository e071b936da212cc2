// deploy/: what it says is what the program takes.
#include <regex>
#include <set>
#include <sstream>

#include "cli/serve_process.h"

namespace pando::testing {
namespace {

std::string deployed(const std::string& name) {
  return contents(PANDO_SOURCE_DIR "/deploy/" + name);
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

class DeployTest : public ServeTest {
 protected:
  // Lines of the sample that set something, those too that are off.
  static std::vector<std::string> option_lines() {
    std::vector<std::string> lines;
    std::istringstream file(deployed("pando.toml"));
    const std::regex option("#?([a-z][a-z-]* = .*)");
    std::smatch parts;
    for (std::string line; std::getline(file, line);)
      if (std::regex_match(line, parts, option)) lines.push_back(parts[1]);
    return lines;
  }
};

// Each by itself, as far as the model, which there is not: a wrong line is wrong usage.
TEST_F(DeployTest, EachLineOfTheSampleConfigurationIsTaken) {
  const std::vector<std::string> lines = option_lines();
  for (const std::string& line : lines) {
    const bool names_model = line.starts_with("model =");
    folder().write("one.toml", "[serve]\n" + line + "\n");
    const Finished refused = pando(std::string("serve --config one.toml --port 0") +
                                   (names_model ? "" : " --model none"));
    if (line.starts_with("tls-")) {
      EXPECT_TRUE(refused.says("--tls-cert and --tls-key must be given together"))
          << line << refused;
    } else if (line.starts_with("api-key-file")) {
      EXPECT_TRUE(refused.says("cannot read /etc/pando/keys")) << line << refused;
    } else if (line.starts_with("router-key-file")) {
      EXPECT_TRUE(refused.says("cannot read /etc/pando/router-keys")) << line << refused;
    } else if (line.starts_with("router-only")) {
      EXPECT_TRUE(refused.says("--router-only needs --router-key-file")) << line << refused;
    } else if (line.starts_with("models")) {
      EXPECT_TRUE(refused.says("--model is given with --models")) << line << refused;
    } else if (line.starts_with("memory")) {
      EXPECT_TRUE(refused.says("--memory needs --models")) << line << refused;
    } else if (line.starts_with("parallel")) {
      EXPECT_TRUE(refused.says("MPI") || refused.says("needs 2 processes")) << line << refused;
    } else {
      EXPECT_EQ(refused.code, 1) << line << ": " << refused;
      EXPECT_TRUE(refused.says(names_model ? "/srv/models" : "none")) << line << ": " << refused;
    }
  }
  EXPECT_EQ(pando("serve --config one.toml --model none --port 99999").code, 2);
  folder().write("one.toml", "[serve]\nno-such-option = 1\n");
  EXPECT_EQ(pando("serve --config one.toml --model none").code, 2);
}

TEST_F(DeployTest, TheSampleConfigurationHasEveryOption) {
  std::set<std::string> named;
  for (const std::string& line : option_lines()) named.insert(line.substr(0, line.find(' ')));
  const std::string help = pando("serve --help").out;
  const std::regex option("\n  (?:-h,)?--([a-z-]+)");
  std::set<std::string> all;
  for (std::sregex_iterator found(help.begin(), help.end(), option), end; found != end; ++found)
    if (const std::string name = (*found)[1]; name != "help" && name != "config") all.insert(name);
  EXPECT_EQ(named, all);
}

TEST_F(DeployTest, ServesByTheSampleConfiguration) {
  folder().write("sample.toml", deployed("pando.toml"));
  EXPECT_NE(serve_and_end("m --config sample.toml").find("serving m at http://127.0.0.1:"),
            std::string::npos);
  // And with all that is off, but for what this machine has not: other processes, a certificate, a
  // hub; and but for several models.
  std::string all = "[serve]\n";
  for (const std::string& line : option_lines())
    if (!line.starts_with("parallel") && !line.starts_with("tls-") &&
        !line.starts_with("revision") && !line.starts_with("models") && !line.starts_with("memory"))
      all += std::regex_replace(line, std::regex("/etc/pando"), at("etc").string()) + "\n";
  folder().write("sample.toml", all);
  std::filesystem::create_directory(at("etc"));
  folder().write("etc/keys", "alice:0123456789abcdef\n");
  folder().write("etc/router-keys", "fedcba9876543210\n");
  folder().write("etc/rules.txt", "Be brief.");
  folder().write("etc/generation_config.json", "{}");
  folder().write("etc/chat.jinja", "{{ messages[0].content }}");
  const std::string said = serve_and_end("m --config sample.toml --tokenizer m --context 0");
  EXPECT_NE(said.find("serving qwen3, default at http://127.0.0.1:"), std::string::npos) << said;
}

TEST_F(DeployTest, TheUnitFitsTheServer) {
  const std::string unit = deployed("pando.service");
  for (const char* line : {"Type=notify", "RestartPreventExitStatus=2", "CacheDirectory=pando",
                           "Environment=XDG_CACHE_HOME=/var/cache/pando",
                           "ExecStart=/usr/bin/pando serve --config /etc/pando.toml"})
    EXPECT_TRUE(has_line(unit, line)) << line;
  std::smatch seconds;
  ASSERT_TRUE(std::regex_search(unit, seconds, std::regex("TimeoutStopSec=([0-9]+)\n")));
  EXPECT_GT(std::stoi(seconds[1]), 30 + 2) << "--drain-timeout, and the last words";
  EXPECT_NE(unit.find("AF_UNIX"), std::string::npos) << "to tell that it serves";
}

// Step times that were measured outlive a container.
TEST_F(DeployTest, TheContainerKeepsItsCache) {
  const std::string file = deployed("Containerfile");
  for (const char* line : {"ENV XDG_CACHE_HOME=/var/cache/pando", "VOLUME /var/cache/pando"})
    EXPECT_TRUE(has_line(file, line)) << line;
  EXPECT_NE(file.find("install -d -o 65534 -g 65534 /var/cache/pando"), std::string::npos);
  EXPECT_TRUE(has_line(file, "USER 65534"));
  const std::string ignored = contents(PANDO_SOURCE_DIR "/.dockerignore");
  for (const char* line : {".git", "build*", ".venv*"})
    EXPECT_TRUE(has_line(ignored, line)) << line;
}

}  // namespace
}  // namespace pando::testing
