// `pando route` as a process: what it refuses, and that deploy/ names options that there are.
#include <regex>
#include <set>

#include "cli/process.h"

namespace pando::testing {
namespace {

class RouteCommand : public ProcessTest {};

TEST_F(RouteCommand, RefusesWrongOptions) {
  struct Wrong {
    const char *options, *message;
    int code;
  };
  folder().write("empty-key", "# none\n");
  folder().write("bad-list", "http://127.0.0.1:1\nnothing\n");
  const Wrong cases[] = {
      {"", "no replicas, expected --replica URL or --replicas-file FILE", 2},
      {"--replica nothing",
       "--replica: 'nothing' is no address of a replica, expected http://HOST:PORT", 2},
      {"--replica http://127.0.0.1:1 --policy best", "best, expected", 2},
      {"--replica http://127.0.0.1:1 --tls-cert x",
       "--tls-cert and --tls-key must be given together", 2},
      {"--replica http://127.0.0.1:1 --router-key-file none",
       "--router-key-file: cannot read none: No such file or directory", 1},
      {"--replica http://127.0.0.1:1 --router-key-file empty-key",
       "there are only empty lines and comments", 1},
      {"--replica https://127.0.0.1:1 --ca-file empty-key", "expected certificates in PEM", 1},
      {"--replicas-file bad-list", "bad-list, line 2: 'nothing' is no address of a replica", 1},
      {"--replicas-file none", "cannot read none", 1},
  };
  for (const Wrong& wrong : cases) {
    const Finished finished = pando(std::string("route --port 0 ") + wrong.options);
    EXPECT_EQ(finished.code, wrong.code) << wrong.options << ": " << finished;
    EXPECT_TRUE(finished.says(wrong.message)) << wrong.options << ": " << finished;
  }
}

TEST_F(RouteCommand, HasTheOptionsOfDeployedRouters) {
  std::set<std::string> known;
  const std::regex option("--[a-z][a-z-]+");
  for (const char* command : {"serve", "route"}) {
    const std::string help = pando(std::string(command) + " --help").out;
    for (std::sregex_iterator found(help.begin(), help.end(), option), end; found != end; ++found)
      known.insert(found->str());
  }
  // Options of other programs.
  const std::set<std::string> others = {"--from-literal",    "--from-file", "--nodes",
                                        "--ntasks-per-node", "--job-name",  "--time",
                                        "--kill-on-bad-exit"};
  for (const char* name : {"kubernetes.yaml", "route.slurm"}) {
    const std::string text = contents(std::string(PANDO_SOURCE_DIR "/deploy/") + name);
    int n_options = 0;
    for (std::sregex_iterator found(text.begin(), text.end(), option), end; found != end; ++found) {
      if (others.contains(found->str())) continue;
      ++n_options;
      EXPECT_TRUE(known.contains(found->str())) << name << ": " << found->str();
    }
    EXPECT_GE(n_options, 6) << name;
  }
}

}  // namespace
}  // namespace pando::testing
