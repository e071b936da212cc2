// Grammar rules for the arguments of calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/calls/call_format.h"
#include "text/calls/mark_writer.h"
#include "text/calls/offered_tools.h"
#include "text/grammar/schema_compiler.h"

namespace pando::calls {

// Style of JSON values in calls of a format.
grammar::JsonStyle json_style_of(const CallFormat& format);

// Adds rules for arguments that are valid under the schemas of tools. For one grammar that already
// has its first rule. Borrows all constructor arguments.
class ArgumentRules {
 public:
  using Rule = grammar::Builder::Rule;
  using State = grammar::Builder::State;

  ArgumentRules(const CallFormat& format, const OfferedTools& tools, grammar::Builder* builder,
                const MarkWriter& writer)
      : format_(format), tools_(tools), builder_(*builder), writer_(writer) {}

  struct Rules {
    Rule json;                // a JSON object
    std::optional<Rule> own;  // as the format writes them; nothing: it cannot write all of them
  };
  // Errors: those of from_json_schema.
  Result<Rules> add(const OfferedTools::Tool& tool);
  // Any object, for a tool whose schema is refused.
  Rules any_object();

 private:
  using Property = grammar::SchemaCompiler::Property;
  struct Schema {
    const OfferedTools::Tool& tool;
    grammar::SchemaDocument& document;
    grammar::SchemaCompiler& compiler;
  };
  // Marks around a value.
  struct ValueMarks {
    std::string text_begin, text_end;
    std::string json_begin, json_end;
    bool tell_texts;  // the marks around a text differ from those around JSON
  };

  bool is_json() const;
  // Nothing if CallParser could not read back some arguments of the schema in this format.
  std::optional<Rule> add_own(Schema schema, const grammar::Parts& object);
  std::optional<Rule> add_member(Schema schema, const Property& member);
  bool can_write_key(std::string_view key) const;
  ValueMarks marks_of(std::string_view key) const;
  // Texts that a value cannot contain.
  std::vector<std::string_view> barred() const;
  bool add_value(Schema schema, const Property& member, State from, State to);
  bool add_case(Schema schema, const grammar::Parts& parts, const Property& member, State from,
                State to);
  bool add_listed(Schema schema, const grammar::SchemaFacts& facts, const ValueMarks& marks,
                  unsigned types, State from, State to);
  bool add_text(Schema schema, const grammar::SchemaFacts& facts, const ValueMarks& marks,
                unsigned types, State from, State to);
  void add_any_text(std::string_view end, State from, State to);
  // Adds an end mark, whose trailing white space may be left out.
  void add_end(std::string_view end, State from, State to);

  const CallFormat& format_;
  const OfferedTools& tools_;
  grammar::Builder& builder_;
  const MarkWriter& writer_;
  std::optional<Rule> any_object_;
  std::map<std::string, Rule, std::less<>> any_texts_;  // by the mark after them
};

}  // namespace pando::calls
