// How a model writes tool calls, and how they are read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/model.h"
#include "pando/values/request.h"

namespace pando {

// Values of ModelOptions::tool_format: "auto", then names of formats.
std::span<const std::string_view> tool_format_names();

// The format of a model's calls.
struct CallsInfo {
  // Where the format comes from: the chat template, the option tool_format, or neither. Then calls
  // are read as small models write them: as JSON.
  enum class Source { kTemplate, kOption, kNone };
  Source source = Source::kNone;
  std::string body;  // form of a call, in words
  std::vector<std::pair<std::string, std::string>>
      marks;                           // what stands where, as templates write it
  bool renders_parallel = false;       // the template writes two calls, which are read back
  bool renders_text_and_call = false;  // the same of a text before a call
  bool renders_reasoning = false;      // the same of reasoning
  // An answer with a call as the template writes it; empty if it writes none. Then the same as it
  // is read.
  std::string example;
  std::string text;
  std::vector<ToolCall> calls;
};

// Describes the calls of a model, which may be loaded without weights. kUnsupported if it has no
// chat template.
Result<CallsInfo> describe_calls(const Model& model);

}  // namespace pando
