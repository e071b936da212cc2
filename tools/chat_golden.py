#!/usr/bin/env python3
"""Writes the reference for tests/text/chat_template_test.cc with the renderer of `transformers`.

The templates are their authors' texts and not part of this repository: a folder of NAME.jinja.

    pip install -r tools/requirements-chat.txt
    python tools/chat_golden.py --templates DIR --out tests/text/data

writes chat_conversations.json, 200 conversations that are drawn here, and chat_golden.json: for each
template the hash of its text, and of each conversation's rendering, "" where the template refuses it.
"""

import argparse
import copy
import itertools
import json
import pathlib
import random

import jinja2
import jinja2.meta
import jinja_reference  # also sets the clock
import xxhash
from transformers.utils import chat_template_utils

COUNT = 200
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
          "functions": '[{"name": "f"}]', "datetime": "9 Feb 2024"}  # of one template
WORDS = ["Hello", "world", "Wie geht's?", "日本語です", "😀", "a  b", "é", "Zürich", "\n", "\n\n", " ", "\t", "2 + 2 = 4",
         "{{ x }}", "{% if %}", "<|im_end|>", "[INST]", "<think>", "</think>", "<think>\nHm.\n</think>\n\n", "\"quoted\"", "it's", "\\n",
         "\u00a0", "\u3000", "<tool_call>", "</tool_call>", "<b>&amp;</b>", "/no_think", "ΑΣ", "'", "### Title\n- item\n- item\n", "```py\nprint(1)\n```"]
PARAMETERS = [
    {"type": "object", "properties": {"city": {"type": "string", "description": "Name of the city, e.g. \"Köln\""},
                                      "unit": {"type": "string", "enum": ["c", "f"], "default": "c"}}, "required": ["city"]},
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"items": {"type": "array", "description": "List", "items": {"type": "object", "properties": {
        "id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["id"]}},
        "limit": {"type": ["integer", "null"], "minimum": 0.5, "maximum": 100}, "flag": {"type": "boolean", "nullable": True},
        "any": {"anyOf": [{"type": "string"}, {"type": "number"}], "description": "either"}}, "required": ["items", "flag"],
     "additionalProperties": False},
    {"type": "object", "$defs": {"p": {"type": "object"}}, "properties": {"p": {"$ref": "#/$defs/p"}, "q": {
        "type": "object", "description": "nested", "properties": {"deep": {"type": "object", "properties": {"x": {"type": "number"}}}}}}},
]


# Tools for templates that need some.
SIMPLE_TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Gets the weather.", "parameters": {
        "type": "object", "additionalProperties": False, "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "days": {"type": "array", "description": "Which days", "items": {"type": "integer"}}},
        "required": ["city"]}}}]


class Draw(random.Random):
    def text(self, most=5):
        kind = self.random()
        if kind < 0.08:
            return ""
        if kind < 0.12:
            return self.choice([" ", "\n", " \n\t ", "\u3000"])
        return " ".join(self.choice(WORDS) for _ in range(self.randint(1, most)))

    def content(self, parts):
        """A text, or with `parts` now and then a list of them."""
        if self.random() >= parts:
            return self.text()
        return [{"type": "text", "text": self.text()} for _ in range(self.randint(1, 3))]

    def value(self, depth=0):
        kind = self.randrange(9 if depth < 2 else 6)
        return [lambda: self.choice(WORDS), lambda: self.randint(-5, 10**6), lambda: self.choice([0.5, 1.0, 1e-7, -2.25, 1e20]),
                lambda: True, lambda: None, lambda: "", lambda: [self.value(depth + 1) for _ in range(self.randint(0, 3))],
                lambda: {self.choice(["a", "b c", "é", "id"]): self.value(depth + 1) for _ in range(self.randint(0, 3))},
                lambda: "multi\nline"][kind]()


def draw_tools(draw):
    tools = []
    for name in draw.sample(["get_weather", "search", "run_code", "f"], draw.randint(1, 3)):
        function = {"name": name, "description": draw.choice(["Does it.", "Gets the \"weather\".\nIn two lines.", "é"]),
                    "parameters": draw.choice(PARAMETERS)}
        if draw.random() < 0.15:
            function["strict"] = True
        if draw.random() < 0.1:
            function["return"] = {"type": "string", "description": "what comes"}
        tools.append({"type": "function", "function": function})
    return tools


def draw_calls(draw, name_ids):
    calls = []
    for _ in range(draw.choice([1, 1, 1, 2])):
        arguments = {key: draw.value() for key in draw.sample(["city", "unit", "items", "x"], draw.randint(0, 3))}
        call = {"id": f"call_{name_ids[0]:05d}", "type": "function", "function": {
            "name": draw.choice(["get_weather", "search", "f"]),
            "arguments": json.dumps(arguments, ensure_ascii=False) if draw.random() < 0.3 else arguments}}
        name_ids[0] += 1
        calls.append(call)
    return calls


def draw_conversation(number):
    draw = Draw(f"pando-{number}")
    parts = draw.choice([0, 0, 0, 0.4])
    uses_tools = draw.random() < 0.45
    messages, ids = [], [1]
    if draw.random() < 0.5:
        messages.append({"role": "developer" if draw.random() < 0.12 else "system", "content": draw.content(parts / 2)})
    wild = draw.random() < 0.12  # roles in any order
    for turn in range(draw.randint(1, 4)):
        if wild:
            role = draw.choice(["user", "assistant", "system", "tool", "user"])
            messages.append({"role": role, "content": draw.content(0)})
            continue
        messages.append({"role": "user", "content": draw.content(parts)})
        if turn and draw.random() < 0.2:
            break
        if uses_tools and draw.random() < 0.6:
            for _ in range(draw.choice([1, 1, 2])):
                call = {"role": "assistant", "content": draw.choice(["", draw.text(2), None]), "tool_calls": draw_calls(draw, ids)}
                if draw.random() < 0.3:
                    call["reasoning_content"] = draw.text(3)
                messages.append(call)
                for one in call["tool_calls"]:
                    result = {"role": "tool", "content": draw.choice([draw.text(3), json.dumps({"t": draw.value()}, ensure_ascii=False)])}
                    if draw.random() < 0.8:
                        result["tool_call_id"] = one["id"]
                    if draw.random() < 0.7:
                        result["name"] = one["function"]["name"]
                    messages.append(result)
        answer = {"role": "assistant", "content": draw.content(parts)}
        if draw.random() < 0.25:
            answer["reasoning_content"] = draw.text(4)
        if draw.random() < 0.05:
            answer["thinking"] = draw.text(2)
        messages.append(answer)
    if not wild and messages[-1]["role"] == "assistant" and draw.random() < 0.7:
        messages.pop()
    out = {"messages": messages, "generation_prompt": draw.random() < 0.8, "thinking": draw.random() < 0.4}
    if uses_tools and draw.random() < 0.85:
        out["tools"] = draw_tools(draw)
    if draw.random() < 0.06:
        out["documents"] = [{"title": draw.text(2), "text": draw.text()} for _ in range(draw.randint(1, 2))]
    if draw.random() < 0.35:
        out["kwargs"] = draw.choice([{"functions": "[]"},
                                     {"reasoning_effort": "high"}, {"date_string": "1 May 2030"}, {"reasoning_effort": "low", "x": [1]},
                                     {"builtin_tools": ["browser", "python"]}, {"tools_in_user_message": False},
                                     {"model_identity": "You are é."}, {"keep_past_thinking": True}, {"custom_system": ""},
                                     {"enable_thinking": True}, {"add_vision_id": True}, {"clear_thinking": False}])
    return out


def joined(message):
    content = message.get("content")
    return "".join(part["text"] for part in content) if isinstance(content, list) else content


def settle_arguments(message, as_objects):
    """The same as settle_arguments() of src/text/chat/tool_calls.cc."""
    for call in message.get("tool_calls") or []:
        arguments = call["function"]["arguments"]
        parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
        if not isinstance(parsed, dict):
            raise ValueError("no object")
        if as_objects:
            call["function"]["arguments"] = parsed
        elif not isinstance(arguments, str):
            call["function"]["arguments"] = json.dumps(parsed, ensure_ascii=False)


def rendering(template, conversation, takes_parts, takes_arguments=None, content_of_calls={}):
    """The text, or None where the template or Pando refuses the conversation."""
    messages = copy.deepcopy(conversation["messages"])
    for message in messages:
        try:
            if takes_arguments is not None:
                settle_arguments(message, takes_arguments)
        except ValueError:
            return None
        if message["role"] == "developer" and "developer" not in template:
            message["role"] = "system"
    if not takes_parts:
        for message in messages:
            if "content" in message:
                message["content"] = joined(message)
    messages = chat_template_utils._normalize_chat_messages(messages)
    for message in messages:
        if message.get("tool_calls") is not None:
            message.update({**content_of_calls, **message})
    variables = {**TOKENS, "enable_thinking": conversation["thinking"], "thinking": conversation["thinking"],
                 **conversation.get("kwargs", {})}
    try:
        text, _ = chat_template_utils.render_jinja_template(
            [messages], chat_template=template, tools=conversation.get("tools"), documents=conversation.get("documents"),
            add_generation_prompt=conversation["generation_prompt"], **variables)
        return text[0]
    except Exception:
        return None


# The code below does the same as src/text/chat/chat_trials.cc.

TRIAL_TOOLS = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {
    "type": "object", "properties": {"p": {"type": "string", "description": "d"}}, "required": ["p"]}}}]
TRIALS = [[], [{"role": "system", "content": "!"}], [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]]
MARKS = ["pando-asks-for-parts", "qboep.btlt.gps.qbsut"]
FAILS, NOTHING, SOME, WHOLE = range(4)


def trial(messages, extras):
    return {"messages": messages, "generation_prompt": True, "thinking": False, **extras}


def trial_extras(template):
    yield from [{}]
    names = {"tools": TRIAL_TOOLS, "documents": [{"title": "t", "text": "t"}]}
    read = [name for name in names if name in reads(template)]
    yield from ({name: names[name]} for name in read)
    if len(read) == 2:
        yield names


def shown(template, before, extras, in_parts):
    def content(mark):
        return [{"type": "text", "text": mark, "pandokeyofpart": True}] if in_parts else mark
    texts = [rendering(template, trial([*before, {"role": "user", "content": content(mark)}], extras), True) for mark in MARKS]
    if None in texts:
        return FAILS if texts == [None, None] else WHOLE
    if "pandokeyofpart" in texts[0].lower():
        return NOTHING
    if all(mark in text.lower() for mark, text in zip(MARKS, texts)):
        return WHOLE
    return NOTHING if texts[0] == texts[1] else SOME


def takes_parts(template):
    for extras in trial_extras(template):
        for before in TRIALS:
            text, parts = (shown(template, before, extras, in_parts) for in_parts in (False, True))
            if max(text, parts) > NOTHING:
                assert text > NOTHING, "needs parts"  # rendering() does not make parts of texts
                return parts == WHOLE or (parts == SOME and text != WHOLE)
    raise AssertionError("shows no user")


def takes_arguments(template):
    def rendered(arguments):
        call = {"id": "call12345", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return rendering(template, trial([{"role": "user", "content": "?"}, {
            "role": "assistant", "content": content, "tool_calls": [call]}], extras), True, None, {"content": content})

    def shows(text):
        return text is not None and "pando-key" in text and "pando-value" in text
    for content, extras in itertools.product(["", None], trial_extras(template)):
        of_object, of_text = rendered({"pando-key": "pando-value"}), rendered('{"pando-key":"pando-value"}')
        only_object = of_object is not None and of_text is None
        if only_object or shows(of_object) or shows(of_text):
            return only_object or (shows(of_object) and not ("'pando-key'" in of_object and shows(of_text)))
    return False


def content_of_calls(template, as_objects):
    """The content of messages with calls and none: nothing, "" or null."""
    name = "pando_calls_this"
    call = {"id": "call12345", "type": "function", "function": {"name": name, "arguments": {} if as_objects else "{}"}}
    result = {"role": "tool", "tool_call_id": "call12345", "name": "f", "content": "?"}
    for extras in trial_extras(template):
        for results in ([result], []):
            def shown_with(content):
                caller = {"role": "assistant", "tool_calls": [call]}
                text = rendering(template, trial([{"role": "user", "content": "?"}, caller, *results], extras), True, None, content)
                return FAILS if text is None else WHOLE if name in text else NOTHING
            absent, empty, null = (shown_with(content) for content in ({}, {"content": ""}, {"content": None}))
            if absent == WHOLE:
                return {}
            if null == WHOLE and empty != WHOLE:
                return {"content": None}
            if empty > absent:
                return {"content": ""}
            if absent != FAILS:
                return {}
    return {}


def places_of(conversation):
    """The texts in messages of systems and users, and in the parts of their contents."""
    for message in conversation["messages"]:
        if message["role"] in ("system", "developer", "user"):
            content = message.get("content")
            for place, key in [(message, "content")] if isinstance(content, str) else [(part, "text") for part in content or []]:
                if place[key].strip():
                    yield place, key


def leaves_out(template, conversation, text, *takes):
    found = 0
    for place, key in places_of(conversation):
        one = place[key].strip()
        found = text.find(one, found) if found >= 0 else found
        found += len(one) if found >= 0 else 0
    for i in range(len(list(places_of(conversation))) if found < 0 else 0):
        other = copy.deepcopy(conversation)
        place, key = list(places_of(other))[i]
        place[key] += " pando-shows"
        changed = rendering(template, other, *takes)
        if changed is not None and changed == text:
            return True
    return False


def with_joined_parts(conversation):
    conversation = copy.deepcopy(conversation)
    for message in conversation["messages"]:
        if isinstance(message.get("content"), list):
            message["content"] = [{"type": "text", "text": joined(message)}]
    return conversation


def reads(template):
    return jinja2.meta.find_undeclared_variables(jinja2.Environment(extensions=[
        "jinja2.ext.loopcontrols"]).parse(template.replace("endgeneration", "endif").replace("generation %", "if true %")
                                           .replace("generation -%", "if true -%")))


def golden(path, conversations):
    template = path.read_bytes().decode()
    as_objects = takes_arguments(template)
    takes, switch = (takes_parts(template), as_objects, content_of_calls(template, as_objects)), bool(
        reads(template) & {"enable_thinking", "thinking"})
    unread = [name for name in ("tools", "documents") if name not in reads(template)]
    hashes = []
    for conversation in conversations:
        conversation = {**conversation, "thinking": conversation["thinking"] and switch}
        if "tool_use" in path.stem:
            conversation["tools"] = SIMPLE_TOOLS
        for name in unread:
            conversation.pop(name, None)
        text = rendering(template, conversation, *takes)
        if text is not None and leaves_out(template, conversation, text, *takes):
            conversation = with_joined_parts(conversation)
            text = rendering(template, conversation, *takes)
        refused = text is None or leaves_out(template, conversation, text, *takes)
        hashes.append("" if refused else f"{xxhash.xxh3_64_intdigest(text.encode()):016x}")
    print(f"{path.stem}: {sum(map(bool, hashes))} of {len(hashes)} rendered, takes parts, arguments, contents of calls: {takes}, switch {switch}")
    entry = {"tools": SIMPLE_TOOLS} if "tool_use" in path.stem else {}
    return {**entry, "name": path.stem, "hash": f"{xxhash.xxh3_64_intdigest(path.read_bytes()):016x}", "parts": takes[0], "arguments": takes[1], "switch": switch, "unread": unread,
            "renderings": " ".join(h or "-" for h in hashes)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--templates", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    conversations = [draw_conversation(number) for number in range(COUNT)]
    (arguments.out / "chat_conversations.json").write_text(
        "[\n%s\n]\n" % ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in conversations), encoding="utf-8")
    entries = [golden(path, conversations) for path in sorted(arguments.templates.glob("*.jinja"))]
    (arguments.out / "chat_golden.json").write_text(json.dumps(
        {"tokens": TOKENS, "now": [2024, 2, 9, 13, 5, 7], "templates": entries}, indent=0) + "\n")


if __name__ == "__main__":
    main()
