// Files and measures of the TREC evaluations.
#pragma once

#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"

namespace pando {

// Relevance of documents: query -> document -> grade, 0 or less for irrelevant ones.
using Qrels = std::map<std::string, std::map<std::string, int>>;

// Lines of "query iteration document grade". kInvalidArgument names line, found and expected.
Result<Qrels> read_qrels(std::istream& file);

// kInvalidArgument if a run cannot hold these ids, whose columns end at spaces, or tell the
// documents of the query apart.
Status check_run_ids(std::string_view query, std::span<const std::string> documents);

// One line of a run for each document: "query Q0 document rank score tag"; documents in the order
// of the ranking, from rank 1.
struct RankedDocument {
  std::string id;
  double score = 0;
};
std::string run_lines(std::string_view query, std::span<const RankedDocument> ranking,
                      std::string_view tag);

// Normalised discounted cumulative gain of the first `depth`: the gain of a document is its grade,
// discounted by log2(rank + 1), over that of the best ranking of all judged documents. 0 where no
// document is relevant. Documents that were not judged
// gain nothing, one that is there again neither.
double ndcg(const std::map<std::string, int>& grades, std::span<const RankedDocument> ranking,
            size_t depth);

}  // namespace pando
