#include "pando/trec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <istream>
#include <set>
#include <sstream>

#include "base/byte_order_mark.h"
#include "base/errors.h"

namespace pando {
namespace {

double discounted(double gain, size_t rank) {
  return gain / std::log2(static_cast<double>(rank) + 1);
}

}  // namespace

Result<Qrels> read_qrels(std::istream& file) {
  Qrels qrels;
  std::string text;
  for (size_t number = 1; std::getline(file, text); ++number) {
    if (number == 1) {
      const Result<std::string_view> plain = without_mark(text);
      if (!plain) return plain.error();
      text = std::string(*plain);
    }
    std::istringstream line(text);
    std::string query, iteration, document, more;
    int grade = 0;
    if (!(line >> query)) continue;
    if (!(line >> iteration >> document >> grade) || line >> more)
      return invalid_argument("line {} is '{}', expected 'query iteration document grade'", number,
                              text.substr(0, 80));
    if (!qrels[query].emplace(document, grade).second)
      return invalid_argument("line {} grades document '{}' of query '{}' a second time", number,
                              document, query);
  }
  if (file.bad()) return io_error("cannot read the grades");
  return qrels;
}

Status check_run_ids(std::string_view query, std::span<const std::string> documents) {
  const auto check = [](const char* what, std::string_view id) -> Status {
    if (!id.empty() && id.find_first_of(" \t\r\n\v\f") == std::string_view::npos) return {};
    return invalid_argument("the id of {} is '{}', expected an id without spaces for a TREC run",
                            what, id);
  };
  if (Status status = check("the query", query); !status) return status;
  std::set<std::string_view> seen;
  for (const std::string& id : documents) {
    if (Status status = check("a document", id); !status) return status;
    if (!seen.insert(id).second)
      return invalid_argument(
          "two documents have the id '{}', expected different ids for a TREC run", id);
  }
  return {};
}

std::string run_lines(std::string_view query, std::span<const RankedDocument> ranking,
                      std::string_view tag) {
  std::string lines;
  for (size_t i = 0; i < ranking.size(); ++i)
    lines += fmt::format("{} Q0 {} {} {} {}\n", query, ranking[i].id, i + 1, ranking[i].score, tag);
  return lines;
}

double ndcg(const std::map<std::string, int>& grades, std::span<const RankedDocument> ranking,
            size_t depth) {
  std::vector<int> best;
  for (const auto& [document, grade] : grades) best.push_back(std::max(grade, 0));
  std::sort(best.begin(), best.end(), std::greater<>());
  double gain = 0, most = 0;
  for (size_t i = 0; i < std::min(depth, best.size()); ++i) most += discounted(best[i], i + 1);
  std::set<std::string_view> seen;  // each gains once
  for (size_t i = 0; i < std::min(depth, ranking.size()); ++i)
    if (const auto found = grades.find(ranking[i].id);
        found != grades.end() && seen.insert(ranking[i].id).second)
      gain += discounted(std::max(found->second, 0), i + 1);
  return most > 0 ? gain / most : 0;
}

}  // namespace pando
