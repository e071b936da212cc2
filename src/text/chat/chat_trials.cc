// Trial renderings find out which inputs a template reads and which it leaves out.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/errors.h"
#include "text/chat/chat_asked.h"
#include "text/chat/chat_template.h"
#include "text/chat/jinja_text.h"
#include "text/utf8.h"

namespace pando {
namespace {

using OrderedTrial = nlohmann::ordered_json;

// A template may change the case of a text. The mark has lower-case letters.
bool contains_in_any_case(std::string_view text, std::string_view mark) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return std::search(text.begin(), text.end(), mark.begin(), mark.end(), same) != text.end();
}

// Two texts of equal length that differ at every place.
constexpr std::string_view kMark = "pando-asks-for-parts", kOtherMark = "qboep.btlt.gps.qbsut";
constexpr std::string_view kPartKey = "pandokeyofpart";

OrderedTrial content_of(std::string_view text, bool in_parts) {
  OrderedTrial content = text_in_parts(std::string(text));
  if (!in_parts) return std::string(text);
  content[0][kPartKey] = true;
  return content;
}

// Share of a user's text that a template shows.
enum class Shown { kFails, kNothing, kSome, kWhole };

// Compares the renderings for kMark and kOtherMark. A template that writes a part as Python or JSON
// does not support parts.
Shown shown_in(const Result<std::string>& text, const Result<std::string>& other) {
  if (!text && !other) return Shown::kFails;
  if (!text || !other) return Shown::kWhole;  // the template refuses the marks
  if (contains_in_any_case(*text, kPartKey)) return Shown::kNothing;
  if (contains_in_any_case(*text, kMark) && contains_in_any_case(*other, kOtherMark))
    return Shown::kWhole;
  return *text == *other ? Shown::kNothing : Shown::kSome;
}

// Conversations in which a user's text may be shown; it is put into the last message.
std::vector<OrderedTrial> trial_conversations() {
  return {OrderedTrial::parse(R"([{"role": "user"}])"),
          OrderedTrial::parse(R"([{"role": "system", "content": "!"}, {"role": "user"}])"),
          OrderedTrial::parse(R"([{"role": "user", "content": "?"},
                                  {"role": "assistant", "content": "!"}, {"role": "user"}])")};
}

}  // namespace

OrderedTrial* last_text(OrderedTrial& message) {
  const auto content = message.find("content");
  if (content == message.end()) return nullptr;
  if (content->is_string()) return &*content;
  if (!content->is_array()) return nullptr;
  const auto part = std::find_if(content->rbegin(), content->rend(), is_text_part);
  return part == content->rend() ? nullptr : &(*part)["text"];
}

std::vector<ChatTemplate::Asked> ChatTemplate::trials(const Named& named) {
  std::vector<Asked> all(1);
  for (const auto& [name, list, text] :
       {std::tuple("tools", &Asked::tools, kTrialTools),
        std::tuple("documents", &Asked::documents, kTrialDocuments)}) {
    if (!named.compiled->reads(name)) continue;
    for (size_t i = 0, n = all.size(); i < n; ++i) {
      all.push_back(all[i]);
      all.back().*list = OrderedTrial::parse(text);
    }
  }
  return all;
}

// A text stays a text, and a list of parts a list, unless the template shows only the other form.
void ChatTemplate::find_out_content(Named& named) const {
  bool renders = false;
  for (Asked asked : trials(named))
    for (const OrderedTrial& conversation : trial_conversations()) {
      asked.messages = conversation;
      const auto shown = [&](bool in_parts) {
        const auto rendered = [&](std::string_view mark) {
          asked.messages.back()["content"] = content_of(mark, in_parts);
          return render_by(named, asked, {});
        };
        const Result<std::string> text = rendered(kMark);
        return shown_in(text, rendered(kOtherMark));
      };
      const Shown text = shown(/*in_parts=*/false), parts = shown(/*in_parts=*/true);
      renders = renders || text != Shown::kFails;
      if (text <= Shown::kNothing && parts <= Shown::kNothing) continue;
      named.needs_parts = text <= Shown::kNothing;
      named.takes_parts = named.needs_parts || parts == Shown::kWhole ||
                          (parts == Shown::kSome && text != Shown::kWhole);
      return;
    }
  named.drops_users = renders;
}

// A template that writes an object in Python's form expects a text.
void ChatTemplate::find_out_arguments(Named& named) const {
  const OrderedTrial object = {{"pando-key", "pando-value"}};
  const auto shows = [](const Result<std::string>& text) {
    return text && text->find("pando-key") != text->npos && text->find("pando-value") != text->npos;
  };
  std::vector<Asked> all = trials(named);
  for (Asked& asked : all)
    asked.messages = OrderedTrial::parse(R"([{"role": "user", "content": "?"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "call12345",
         "type": "function", "function": {"name": "f"}}]}])");
  for (size_t i = 0, n = all.size(); i < n; ++i) {  // a call may be shown beside null alone
    all.push_back(all[i]);
    all.back().messages[1]["content"] = nullptr;
  }
  for (Asked& asked : all) {
    const auto rendered = [&](const OrderedTrial& arguments) {
      asked.messages[1]["tool_calls"][0]["function"]["arguments"] = arguments;
      return render_by(named, asked, {});
    };
    const Result<std::string> of_object = rendered(object), of_text = rendered(object.dump());
    const bool only_object = of_object && !of_text;
    if (!only_object && !shows(of_object) && !shows(of_text)) continue;
    const bool as_python = of_object && of_object->find("'pando-key'") != of_object->npos;
    named.takes_arguments = only_object || (shows(of_object) && !(as_python && shows(of_text)));
    return;
  }
}

// Clients leave out the content of a message that only calls a tool. Some templates need a text, or
// a null, to render the message or to show the call.
void ChatTemplate::find_out_calls(Named& named) const {
  constexpr const char* kName = "pando_calls_this";
  const auto in_form = [&](const char* text) {
    return named.needs_parts ? text_in_parts(text) : OrderedTrial(text);
  };
  for (Asked asked : trials(named)) {
    asked.messages = OrderedTrial::parse(R"([{"role": "user"},
        {"role": "assistant", "tool_calls": [{"id": "call12345", "type": "function",
         "function": {}}]},
        {"role": "tool", "tool_call_id": "call12345", "name": "f"}])");
    for (const size_t i : {0, 2}) asked.messages[i]["content"] = in_form("?");
    OrderedTrial& function = asked.messages[1]["tool_calls"][0]["function"];
    function["name"] = kName;
    function["arguments"] = named.takes_arguments ? OrderedTrial::object() : OrderedTrial("{}");
    const auto shown = [&] {
      const Result<std::string> text = render_by(named, asked, {});
      return !text                             ? Shown::kFails
             : text->find(kName) == text->npos ? Shown::kNothing
                                               : Shown::kWhole;
    };
    for (const bool replies : {true, false}) {
      if (!replies) asked.messages.erase(2);
      const Shown absent = shown();
      if (absent == Shown::kWhole) return;
      asked.messages[1]["content"] = in_form("");
      const Shown empty = shown();
      asked.messages[1]["content"] = nullptr;
      const Shown null = shown();
      asked.messages[1].erase("content");
      named.needs_null = null == Shown::kWhole && empty != Shown::kWhole;
      named.needs_content = !named.needs_null && empty > absent;
      if (absent != Shown::kFails || named.needs_content || named.needs_null) return;
    }
  }
}

void ChatTemplate::find_out_what_it_takes(Named& named) const {
  if (!named.compiled) return;
  find_out_content(named);
  find_out_arguments(named);
  find_out_calls(named);
}

// The texts of messages that must not be lost: no instruction, no question, nothing of a role that
// the template may not know, and nothing at all where the template showed none of a user.
std::vector<ChatTemplate::Place> ChatTemplate::asked_texts(const Named& named, const Asked& asked) {
  std::vector<Place> places;
  for (size_t i = 0; i < asked.messages.size(); ++i) {
    const OrderedTrial& message = asked.messages[i];
    const OrderedTrial& role = message["role"];
    const bool is_asked = role.is_string() && !is_text(role, "assistant") && !is_text(role, "tool");
    if (!message.contains("content") || !(is_asked || (named.drops_users && role.is_string())))
      continue;
    const OrderedTrial& content = message["content"];
    if (content.is_string()) places.push_back({i, std::nullopt});
    for (size_t part = 0; content.is_array() && part < content.size(); ++part)
      if (is_text_part(content[part])) places.push_back({i, part});
  }
  std::erase_if(places, [&](const Place& place) { return asked.stripped(place).empty(); });
  return places;
}

Status ChatTemplate::check_lost(const Named& named, const Asked& asked, const ChatOptions& options,
                                const std::string& text) const {
  std::vector<Place> places = asked_texts(named, asked);
  const bool all_found = [&, at = size_t{0}]() mutable {  // in their order
    return std::all_of(places.begin(), places.end(), [&](const Place& place) {
      const std::string_view one = asked.stripped(place);
      at = text.find(one, at);
      if (at == text.npos) return false;
      at += one.size();
      return true;
    });
  }();
  if (all_found) return {};
  drop_shown(named, asked, options, places);
  constexpr size_t kMostTried = 16;  // each renders the whole conversation
  for (const Place& place : std::span(places).first(std::min(places.size(), kMostTried))) {
    const OrderedTrial& role = asked.messages[place.message]["role"];
    Asked other = asked;
    std::string& longer = other.text(place);
    // An instruction must not lose its end. A template may show any part of a user's text.
    longer = (is_text(role, "user") ? "Another text: " : "") + longer + " (and another text)";
    const Result<std::string> changed = render_by(named, other, options);
    if (!changed || *changed != text) continue;
    return invalid_argument(
        "the chat template leaves out message {} (role '{}') of this conversation", place.message,
        role.get<std::string>());
  }
  return {};
}

// Joins the parts of contents, because a template may show only one. False if there are none.
bool ChatTemplate::join_parts(Asked& asked) {
  bool joins = false;
  for (OrderedTrial& message : asked.messages) {
    const auto content = message.find("content");
    if (content == message.end() || !content->is_array() || content->size() < 2 ||
        !std::all_of(content->begin(), content->end(), is_text_part))
      continue;
    *content = text_in_parts(joined_text(*content));
    joins = true;
  }
  return joins;
}

// Removes the places of texts that the template shows. Tries all at once: each place is filled with
// runs of its own character, any part of which a template may show.
void ChatTemplate::drop_shown(const Named& named, const Asked& asked, const ChatOptions& options,
                              std::vector<Place>& places) const {
  constexpr char32_t kFirst = 0xF0000, kEnd = 0x110000;  // of private use
  constexpr int kRun = 16;
  Asked other = asked;
  for (size_t i = 0; i < places.size(); ++i) {
    std::string run;
    for (int n = 0; n < kRun; ++n) append_utf8(kFirst + i % (kEnd - kFirst), &run);
    std::string& text = other.text(places[i]);
    const bool is_user = is_text(other.messages[places[i].message]["role"], "user");
    text = (is_user ? run : "") + text + run;
  }
  const Result<std::string> marked = render_by(named, other, options);
  if (!marked) return;
  std::vector<bool> shown(kEnd - kFirst);
  for (std::string_view rest = *marked; !rest.empty();) {
    const Utf8Step step = next_utf8(rest);
    if (step.point >= kFirst) shown[step.point - kFirst] = true;
    rest.remove_prefix(static_cast<size_t>(step.length));
  }
  std::vector<Place> others;
  for (size_t i = 0; i < places.size(); ++i)
    if (!shown[i % shown.size()]) others.push_back(places[i]);
  places = std::move(others);
}

}  // namespace pando
