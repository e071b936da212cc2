// Files of --data, under the names that their authors give them.
#pragma once

#include <string_view>

namespace pando::lab {

constexpr std::string_view kQwenTokenizer = "tokenizers/qwen2.5";
constexpr std::string_view kSquad = "squad-v2.0-dev-part1.json.gz";
constexpr std::string_view kRace = "race-test.jsonl.gz";
constexpr std::string_view kFairytales = "fairytaleqa-train.jsonl.gz";
constexpr std::string_view kMmlu = "mmlu-test.jsonl.gz";
constexpr std::string_view kAlpaca = "alpaca-en-demo.jsonl";
constexpr std::string_view kWikitext = "wikitext-2-test.txt";
constexpr std::string_view kWarAndPeace = "war-and-peace.txt";
constexpr std::string_view kTrec19 = "trec-dl19-bm25-top100.jsonl.gz";
constexpr std::string_view kTrec20 = "trec-dl20-bm25-top100.jsonl.gz";
constexpr std::string_view kMbpp = "mbpp-1-600.jsonl";
constexpr std::string_view kMooncakeConversation = "traces/mooncake-conversation.jsonl.gz";
constexpr std::string_view kMooncakeSynthetic = "traces/mooncake-synthetic.jsonl.gz";
constexpr std::string_view kShareGptLengths = "traces/sharegpt-lengths.csv";
constexpr std::string_view kTrace = "traces/azure-llm-2023-conv.csv";

}  // namespace pando::lab
