// `pando rerank`.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "base/counted.h"
#include "base/errors.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/output_files.h"
#include "cli/print_stderr.h"
#include "cli/prompt_text.h"
#include "cli/report.h"
#include "cli/run_batches.h"
#include "cli/run_options.h"
#include "pando/trec.h"

namespace pando::cli {
namespace {

constexpr int kDepth = 10;  // of nDCG

struct RerankCommandOptions {
  RunOptions run;
  std::string trec_run, qrels;
  bool has_instruction = false;
};

std::string text_of(const Json& id) {
  if (id.is_string()) return id.get<std::string>();
  const std::string digits = kept_digits(id);
  return digits.empty() ? id.dump() : digits;
}

// Says whether a run may take the place of a file: of none, an empty one, or an earlier run.
Status may_hold_run(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::is_empty(path, error))
    return {};
  std::string query, q0, document, rank, score, tag;
  std::ifstream file(path);
  if (file >> query >> q0 >> document >> rank >> score >> tag && q0 == "Q0") return {};
  return invalid_argument(
      "--trec-run: '{}' is not a TREC run and would be overwritten, expected "
      "an earlier run, an empty file or a new name",
      path);
}

// From the file of answers, which has those of earlier runs too.
int report_ranking(const RerankCommandOptions& o, const Qrels& qrels) {
  const bool has_run = !o.trec_run.empty();
  NewFile run;
  if (has_run)
    if (Status status = run.open(o.trec_run); !status) return report_error(status.error());
  std::ifstream answers(o.run.output);
  std::set<std::string> queries;
  double sum = 0;
  size_t n_judged = 0;
  std::string warning;
  for (std::string text; std::getline(answers, text);) {
    const Json line = parse_json(text, LargeNumbers::kKept).value();
    const std::string query = text_of(line["id"]);
    if (!queries.insert(query).second)
      return report_error(
          fmt::format("query '{}' appears twice, expected a different id for each query", query));
    std::vector<RankedDocument> ranking;
    std::vector<std::string> documents;
    for (const Json& result : line["results"]) {
      documents.push_back(text_of(result.contains("id") ? result["id"] : result["index"]));
      ranking.push_back({documents.back(), result["score"]});
    }
    if (has_run)  // an earlier run may have left them unchecked
      if (Status status = check_run_ids(query, documents); !status)
        return report_error(status.error());
    warning = line.value("wrong", warning);
    if (has_run)
      run.write(run_lines(query, ranking, line.contains("wrong") ? "pando-WRONG" : "pando"));
    if (const auto judged = qrels.find(query); judged != qrels.end()) {
      sum += ndcg(judged->second, ranking, kDepth);
      ++n_judged;
    }
  }
  if (has_run)
    if (Status status = run.keep(); !status) return report_error(status.error());
  if (!o.qrels.empty() && n_judged == 0)
    return report_error(
        fmt::format("'{}' has grades for none of the queries, expected their ids", o.qrels));
  if (n_judged > 0)
    print_stderr("{}nDCG@{}: {:.4f}, the mean of {}{}\n", warning_mark(warning), kDepth,
                 sum / static_cast<double>(n_judged), counted(n_judged, "queries"),
                 n_judged < qrels.size() ? fmt::format("; queries of '{}' without a ranking: {}",
                                                       o.qrels, qrels.size() - n_judged)
                                         : "");
  return kOk;
}

int rerank_batch(RerankCommandOptions& o) {
  Qrels qrels;
  std::error_code error;
  const bool wants_report = !o.trec_run.empty() || !o.qrels.empty();
  o.run.batch.trec_ids = wants_report;
  const RerankOptions& rerank = o.run.batch.rerank;
  if ((rerank.yes && rerank.yes->empty()) || (rerank.no && rerank.no->empty()))
    return refuse({ErrorCode::kInvalidArgument,
                   "--yes or --no is empty, expected the model's word for each"});
  if (o.has_instruction && rerank.prompt_template.find("{instruction}") == std::string::npos)
    return refuse(
        {ErrorCode::kInvalidArgument, "the template has no {instruction} in it for --instruction"});
  if (o.run.dry_run > 0) return run_batches(o.run);
  if (wants_report && (o.run.output == "-" || (std::filesystem::exists(o.run.output, error) &&
                                               !std::filesystem::is_regular_file(o.run.output)))) {
    report_error("--trec-run and --qrels read the answers back, expected a file for --output");
    return kUsage;
  }
  if (const Result<OutputForm> form = output_form(o.run.output);
      wants_report && form && (form->gzip || form->format != OutputFormat::kJsonLines)) {
    report_error(
        fmt::format("--trec-run and --qrels read the answers back: '{}' is not a JSON lines file "
                    "such as ranks.jsonl",
                    o.run.output));
    return kUsage;
  }
  const int top = o.run.batch.top;
  if (!o.qrels.empty() && top > 0 && top < kDepth) {
    report_error(
        fmt::format("--top is {}, expected 0 (all) or at least {} with --qrels", top, kDepth));
    return kUsage;
  }
  if (!o.trec_run.empty()) {
    Status status = may_hold_run(o.trec_run);
    if (status) status = check_writable(o.trec_run);
    if (!status) return report_error(status.error());
  }
  if (!o.qrels.empty()) {
    std::ifstream file(o.qrels);
    if (!file)
      return report_error(
          fmt::format("--qrels: cannot read '{}': {}, expected a readable file with lines 'query "
                      "iteration document grade'",
                      o.qrels, std::strerror(errno)));
    Result<Qrels> read = read_qrels(file);
    if (!read) return report_error(fmt::format("'{}': {}", o.qrels, message_of(read.error())));
    qrels = std::move(*read);
  }
  const int code = run_batches(o.run);
  if ((code != kOk && code != kIncomplete) || !wants_report) return code;
  const int reported = report_ranking(o, qrels);
  return reported == kOk ? code : reported;
}

}  // namespace

Command add_rerank(CLI::App& app) {
  auto options = std::make_shared<RerankCommandOptions>();
  RunOptions& run = options->run;
  run.batch.task = BatchTask::kRerank;
  add_engine_options(app, run);
  add_output_options(app, run);
  RerankOptions& rerank = run.batch.rerank;
  const auto add_text = [&app](const char* name, std::optional<std::string>& text,
                               const char* description, const std::string& otherwise) {
    return app.add_option(name, text, description)
        ->transform(unescaped())
        ->default_str(fmt::format("what the model's files say, otherwise \"{}\"", otherwise));
  };
  const CLI::Option* instruction =
      add_text("--instruction", rerank.instruction, "What makes a document relevant",
               RerankOptions::default_instruction());
  add_template_options(app, "Template with {instruction}, {query} and {document} in it",
                       [&rerank](std::string text) { rerank.prompt_template = std::move(text); })
      ->default_str("that of Qwen3-Reranker");
  add_text("--yes", rerank.yes, "The model's answer for a relevant document", "yes");
  add_text("--no", rerank.no, "The model's answer for any other document", "no");
  app.add_option("--top", run.batch.top, "Maximum documents per query, best first; 0: all")
      ->check(expect("0 or more", [](double x) { return x >= 0; }))
      ->capture_default_str();
  app.add_option("--trec-run", options->trec_run, "File to write the ranking to, as a TREC run")
      ->check(not_empty());
  app.add_option("--qrels", options->qrels, "File with TREC relevance grades; prints nDCG@10")
      ->check(not_empty());
  app.footer(
      "A score is p(yes) / (p(yes) + p(no)) after the prompt; the highest comes first. If the "
      "template\n"
      "starts with the query, all documents of a query share it. If it starts with the document, "
      "all\n"
      "queries for a document share it.\n"
      "A classifier with one label scores the pair of query and document itself, without a prompt "
      "or mass.\n" +
      std::string(kEscapesHelp) +
      "Example:\n"
      "  pando rerank --model MODEL --input queries.jsonl --output ranks.jsonl --trec-run run.txt\n"
      "Input lines: {\"id\": \"q1\", \"query\": \"...\", \"documents\": [\"...\", {\"id\": \"d7\", "
      "\"text\": \"...\"}]}\n"
      "Output lines: {\"id\", \"results\": [{\"index\", \"id\"?, \"score\", \"mass\"?}, ...], "
      "\"prompt_tokens\", \"cut_tokens\"?}; mass is\n"
      "p(yes) + p(no): if it is small, the model would answer something else, and the score means "
      "little.");
  return [options, instruction] {
    options->has_instruction = instruction->count() > 0;
    return rerank_batch(*options);
  };
}

}  // namespace pando::cli
