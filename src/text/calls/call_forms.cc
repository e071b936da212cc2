#include "text/calls/call_forms.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "base/json_value.h"
#include "text/calls/call_grammar.h"

namespace pando::calls {
namespace {

Status check_calls(const CallOptions& options, const OfferedTools& tools, const Request& request) {
  if (options.required && tools.empty())
    return blame("tool_choice",
                 invalid_argument("a call is required, but 'tools' has no tool, expected one"));
  if (options.required && request.sampling.form)
    return blame("tool_choice", invalid_argument("a call is required, but the answer also has a "
                                                 "form, expected one of the two"));
  for (const std::string& name : options.allowed)
    if (!tools.has(name))
      return blame("tool_choice",
                   invalid_argument("the tool {} may be called, but is not offered, expected the "
                                    "name of one of 'tools'",
                                    json_text(name)));
  return {};
}

}  // namespace

Result<CallFormPtr> CallForms::get(const Request& request) {
  const bool is_wanted = request.calling.required || !request.calling.allowed.empty();
  if (request.chat.tools.is_null() && !is_wanted) return CallFormPtr();
  if (CallFormPtr known = find(request)) return known;
  Result<CallFormPtr> made = make(request);
  if (!made || *made == nullptr) return made;
  const size_t n_bytes = pando::n_bytes(request.chat.tools) +
                         ((*made)->masks == nullptr ? 0 : (*made)->masks->grammar()->n_bytes());
  const std::scoped_lock lock(mutex_);
  entries_.push_front({request.chat.tools, request.calling, *made, n_bytes});
  size_t n_all = 0;
  std::erase_if(entries_, [&](const Entry& entry) {
    n_all += entry.n_bytes;
    return n_all > grammar::kMostFormBytes;
  });
  return made;
}

Result<CallFormPtr> CallForms::make(const Request& request) const {
  CallForm form{.tools = OfferedTools::of(request.chat.tools)};
  const CallOptions& options = request.calling;
  if (Status status = check_calls(options, form.tools, request); !status) return status.error();
  if (form.tools.empty()) return CallFormPtr();
  form.tools.keep(options.allowed);
  const bool must_hold = options.required || options.strict;
  Result<grammar::GrammarPtr> grammar =
      call_grammar(format_, form.tools, options, forms_.vocabulary());
  if (!grammar && must_hold) return grammar.error();
  if (grammar) {
    auto masks = forms_.masks_of(*std::move(grammar));
    if (!masks && must_hold) return blame("tools", masks.error());
    if (masks) form.masks = *std::move(masks);
  }
  return std::make_shared<const CallForm>(std::move(form));
}

CallFormPtr CallForms::find(const Request& request) {
  if (request.sampling.form && request.calling.required) return nullptr;
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.options == request.calling && entry.tools == request.chat.tools;
  });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front().form;
}

size_t CallForms::n_kept() {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}

}  // namespace pando::calls
