#!/usr/bin/env python3
"""docs/openapi.yaml follows OpenAPI 3.0, and its requests have exactly the fields that the server reads.
Needs Debian's packages of PyYAML, jsonschema and the schema of OpenAPI (scripts/packages.txt).

usage: openapi_test.py SOURCE_DIR
"""
import json
import pathlib
import re
import sys

OPENAPI = pathlib.Path("/usr/share/openapi-specification/schemas/v3.0/schema.json")
SKIPPED = 77
try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)
if not OPENAPI.exists():
    print(f"skipped: no {OPENAPI}")
    sys.exit(SKIPPED)

ASK = "src/ask/"


class UniqueKeys(yaml.SafeLoader):
    """A loader that refuses duplicate keys."""

    def construct_mapping(self, node, deep=False):
        mapping = super().construct_mapping(node, deep)
        if len(mapping) != len(node.value):
            raise yaml.YAMLError(f"a key is there twice{node.start_mark}")
        return mapping


def faults(error, place=""):
    """The innermost errors; for a choice, those of each branch."""
    if not error.context:
        yield f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
    for one in error.context:
        yield from faults(one)


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from references(one)


def check_form(document):
    validator = jsonschema.Draft4Validator(json.loads(OPENAPI.read_text()))
    found = [fault for error in validator.iter_errors(document) for fault in faults(error)]
    for reference in set(references(document)):
        at = document
        for name in reference.removeprefix("#/").split("/"):
            at = at.get(name, {})
        if not at:
            found.append(f"$ref {reference} leads nowhere")
    return found


class Reader:
    """The tables of names in the server's source."""

    def __init__(self, source):
        self.source = source

    def names(self, path, pattern):
        """The strings in the group of a pattern, which matches the file once."""
        found = re.findall(pattern, (self.source / path).read_text(), re.S)
        assert len(found) == 1, f"{path} has {len(found)} times {pattern}"
        return set(re.findall(r'"(\w+)"', re.sub(r"//[^\n]*", "", found[0])))

    def table(self, path, name):
        return self.names(path, rf"\b{name}\[\] = \{{(.*?)\}};")

    def listed(self, path, first):
        """An initializer_list that begins with the name `first`."""
        return self.names(path, rf'initializer_list<std::string_view>\{{\s*("{first}".*?)\}}')

    def options(self, place):
        rows = re.findall(r'\.name = "(\w+)".*?\.places = ([^,]*),', (self.source / "src/engine/request_options.cc").read_text(),
                          re.S)
        return {name for name, places in rows if "kAsked" in places or place in places}

    def door(self, path, name):
        """The names of a table of DoorField: the first string of each row."""
        rows = re.search(rf"\b{name}\[\] = \{{(.*?)\}};", (self.source / path).read_text(), re.S)
        not_in_doors = self.table(ASK + "door_fields.cc", "kNotInDoors")
        common = self.table(ASK + "serving_fields.cc", "kNames") | self.options("kInBody") | {"chat_template_kwargs"}
        return set(re.findall(r'\{"(\w+)"', rows[1])) | common - not_in_doors

    def own(self, path, name):
        """Returns the same names without those that every door has."""
        rows = re.search(rf"\b{name}\[\] = \{{(.*?)\}};", (self.source / path).read_text(), re.S)
        return set(re.findall(r'\{"(\w+)"', rows[1]))

    def requests(self):
        openai, questions = ASK + "openai_request.cc", ASK + "question_fields.cc"
        rerank, score = ASK + "rerank_body.cc", ASK + "score_body.cc"
        serving = self.table(ASK + "serving_fields.cc", "kNames")
        answers = (self.table(openai, "kCommonFields") | self.table(ASK + "form_fields.cc", "kFields")
                   | self.options("kInBody") | serving)
        # A body of questions lacks these, or has them at another place.
        in_lines_alone = {"id", "metadata", "question", "prompt", "messages", "tokens", "answers",
                          "add_generation_prompt", "continue_final_message"}
        infill = self.table(ASK + "llama_server_body.cc", "kInfillOnly")
        return {
            "CompletionRequest": answers | self.table(openai, "kCompletionFields"),
            "ChatRequest": answers | self.table(openai, "kChatFields"),
            "ResponsesRequest": self.door(ASK + "responses_request.cc", "kResponsesFields"),
            "EmbeddingRequest": self.table(openai, "kEmbeddingFields") | serving,
            "AnswersRequest": (self.table(questions, "kAskedFields") | self.table(questions, "kAskingFields")
                               | self.options("kInLine") | serving | {"stream", "stream_options", "chat"}) - in_lines_alone,
            "RerankRequest": self.names(rerank, r'\{\s*("query", "documents".*?)\}') | serving,
            "TextsRequest": self.names(rerank, r'\{\s*("query", "texts".*?)\}') | serving,
            "ClassifyRequest": self.table(ASK + "classify_body.cc", "kClassifyFields") | serving,
            "PredictRequest": self.table(ASK + "classify_body.cc", "kPredictFields") | serving,
            "PairsRequest": self.listed(score, "text_1") | serving,
            "ContinuationsRequest": self.listed(score, "prompt") | serving,
            "MessagesRequest": self.door(ASK + "anthropic_draft.cc", "kAnthropicFields"),
            "BatchRequest": self.table("src/serve/batch_routes.cc", "kBatchFields"),
            "FimRequest": self.own(ASK + "openai_body.cc", "kFimFields"),
            "TeiRequest": self.own(ASK + "tei_body.cc", "kTeiFields"),
            "TeiTokensRequest": self.own(ASK + "tei_body.cc", "kTeiTokenFields"),
            "TgiRequest": self.own(ASK + "tgi_body.cc", "kTgiFields"),
            "TgiParameters": self.own(ASK + "tgi_body.cc", "kTgiParameters"),
            "CohereChatRequest": self.own(ASK + "cohere_body.cc", "kCohereFields"),
            "CohereEmbedRequest": self.own(ASK + "cohere_embed_body.cc", "kCohereEmbedFields"),
            "OllamaChatRequest": self.own(ASK + "ollama_body.cc", "kOllamaChatFields"),
            "OllamaGenerateRequest": self.own(ASK + "ollama_body.cc", "kOllamaGenerateFields"),
            "OllamaOptions": self.own(ASK + "ollama_body.cc", "kOllamaOptions"),
            "OllamaEmbedRequest": self.own(ASK + "ollama_embed_body.cc", "kOllamaEmbedFields"),
            "OllamaEmbeddingRequest": self.own(ASK + "ollama_embed_body.cc", "kOllamaEmbeddingFields"),
            "LlamaCompletionRequest": self.own(ASK + "llama_server_body.cc", "kLlamaFields") - infill,
            "LlamaInfillRequest": self.own(ASK + "llama_server_body.cc", "kLlamaFields"),
            "TokenizeRequest": self.names(ASK + "tokenize_body.cc", r'\{\s*("model", "prompt".*?)\}'),
        }


def check_fields(document, source):
    schemas = document["components"]["schemas"]
    for name, read in Reader(source).requests().items():
        told = set(schemas[name]["properties"])
        if told != read:
            yield f"{name}: only the file has {sorted(told - read)}, only the server reads {sorted(read - told)}"
    message = Reader(source).table(ASK + "chat_fields.cc", "kMessageFields")
    caching = Reader(source).table(ASK + "call_fields.h", "kCachingFields")
    for form in schemas["Messages"]["items"]["anyOf"]:
        told = set(form["properties"])
        if told != message | caching:
            yield f"Messages: the fields {sorted(told ^ (message | caching))} are only in one of them"


def main():
    source = pathlib.Path(sys.argv[1])
    document = yaml.load((source / "docs/openapi.yaml").read_text(), Loader=UniqueKeys)
    found = check_form(document)
    found = found or list(check_fields(document, source))
    print("\n".join(found) or "docs/openapi.yaml is as OpenAPI and the server have it")
    return 1 if found else 0


sys.exit(main())
