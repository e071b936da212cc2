#!/usr/bin/env python3
"""Real JSON schemas with valid and invalid values, and the JSON Schema test suite, by compiled grammars: each schema
is refused by name, or allows all its valid values and none of its invalid ones. Values are written without white space
and with the properties in the order of the schema.

usage: json_schema_test.py GRAMMAR_CHECK DATA_FOLDER [--list]    --list: the refusals, and each wrong verdict whole
"""
import collections
import decimal
import gzip
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse

SKIPPED = 77
# Without formats as constraints these values are valid; here formats are kept.
KEPT_FORMATS = "format.json"
# Formats that are kept narrower than they are defined: no host names of other characters ("xn--"), and leap seconds in
# UTC alone. Valid values of these files may be refused.
NARROWER = ("optional/format/hostname.json", "optional/format/date-time.json", "optional/format/time.json")
# Formats that are enforced (docs/grammar.md). Others are annotations: values that break them are allowed.
FORMATS = {"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid",
           "json-pointer", "relative-json-pointer", "float", "double", "int32", "int64", "uint32", "uint64"}
# Fewest schemas of the sample that are supported.
LEAST_SERVED = 1270


def plain(value):
    """A text that equal values of JSON have: 1 and 1.0, but not 1 and true."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{plain(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(plain, value)) + "]"
    return json.dumps(int(value) if isinstance(value, float) and value == int(value) else value)


class Order:
    """The order of properties that a grammar has. `variant`: of each choice that branch alone, not all."""

    def __init__(self, root, variant=None):
        self.root, self.variant = root, variant
        dialect = root.get("$schema", "") if isinstance(root, dict) else ""
        self.hides_siblings = any(f"draft-0{n}" in dialect for n in (3, 4, 6, 7))

    def target(self, reference):
        at = self.root
        for name in reference.lstrip("#").split("/")[1:]:
            name = urllib.parse.unquote(name).replace("~1", "/").replace("~0", "~")
            at = at[int(name)] if isinstance(at, list) else at[name]
        return at

    def flat(self, schemas, value):
        parts, choices, seen = [], [], []
        todo = list(schemas)
        while todo:
            schema = todo.pop(0)
            if not isinstance(schema, dict) or any(schema is one for one in seen):
                continue
            seen.append(schema)
            is_hidden = self.hides_siblings and "$ref" in schema
            parts.append({} if is_hidden else schema)
            more = []
            if isinstance(schema.get("$ref"), str) and schema["$ref"].startswith("#"):
                try:
                    more.append(self.target(schema["$ref"]))
                except (KeyError, IndexError, ValueError, TypeError):
                    pass
            if is_hidden:
                todo = more + todo
                continue
            more += schema.get("allOf", [])
            for name in ("anyOf", "oneOf"):
                choices.append(schema.get(name, []))
            choices.append([schema[name] for name in ("if", "then", "else") if name in schema])
            for name in ("dependencies", "dependentSchemas", "dependentRequired"):
                choices += [[one if isinstance(one, dict) else {"required": [needs, *one]}]
                            for needs, one in schema.get(name, {}).items() if isinstance(one, (dict, list))]
            todo = more + todo
            if not todo:
                todo, choices = [branch for choice in choices for branch in self.chosen(choice, value)], []
        return parts

    def chosen(self, choice, value):
        if self.variant is not None:
            return choice[self.variant % max(1, len(choice)):][:1]
        return [branch for branch in choice if self.may_hold(branch, value)] or choice

    def may_hold(self, schema, value, depth=0):
        """Says whether what is easily seen of a schema allows a value."""
        if not isinstance(schema, dict) or depth > 8:
            return schema is not False
        if isinstance(schema.get("$ref"), str):
            try:
                return self.may_hold(self.target(schema["$ref"]), value, depth + 1)
            except (KeyError, IndexError, ValueError, TypeError):
                return True
        if "const" in schema and plain(schema["const"]) != plain(value):
            return False
        if "enum" in schema and plain(value) not in map(plain, schema["enum"]):
            return False
        types = schema.get("type", [])
        names = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
        if types and names.get(type(value), "number") not in types and not (
                isinstance(value, (int, float)) and not isinstance(value, bool) and "integer" in types):
            return False
        if isinstance(value, dict):
            properties = schema.get("properties", {})
            if any(name not in value for name in schema.get("required", [])):
                return False
            if schema.get("additionalProperties") is False and "patternProperties" not in schema:
                if any(name not in properties for name in value):
                    return False
            if not all(self.may_hold(one, value[name], depth + 1) for name, one in properties.items() if name in value):
                return False
        if not all(self.may_hold(one, value, depth + 1) for one in schema.get("allOf", [])):
            return False
        return all(any(self.may_hold(one, value, depth + 1) for one in schema[name])
                   for name in ("anyOf", "oneOf") if name in schema)

    def inside(self, parts, name):
        found = []
        for part in parts:
            properties = part.get("properties", {})
            is_known = name in properties
            if is_known:
                found.append(properties[name])
            for pattern, schema in part.get("patternProperties", {}).items():
                try:
                    if re.search(pattern, name):
                        is_known = True
                        found.append(schema)
                except re.error:
                    pass
            if not is_known and "additionalProperties" in part:
                found.append(part["additionalProperties"])
        return found

    def item(self, parts, index):
        found = []
        for part in parts:
            prefix = part.get("prefixItems", part["items"] if isinstance(part.get("items"), list) else [])
            if index < len(prefix):
                found.append(prefix[index])
            elif isinstance(part.get("items"), list):
                found.append(part.get("additionalItems", True))
            elif "items" in part:
                found.append(part["items"])
        return found

    def text(self, value, schemas):
        if isinstance(value, (dict, list)):
            parts = self.flat(schemas, value)
            for listed in [part["const"] for part in parts if "const" in part] + [
                    one for part in parts for one in part.get("enum", [])]:
                if plain(listed) == plain(value):  # in the order in which it is listed
                    schemas, value = [], listed
                    parts = []
                    break
        if isinstance(value, dict):
            names = [name for part in parts for name in part.get("properties", {})]
            names += [name for part in parts if isinstance(part.get("required"), list) for name in part["required"]]
            names = dict.fromkeys([name for name in names if name in value] + list(value))
            return "{" + ",".join(json.dumps(name, ensure_ascii=False) + ":" + self.text(value[name], self.inside(parts, name))
                                  for name in names) + "}"
        if isinstance(value, list):
            return "[" + ",".join(self.text(one, self.item(parts, i)) for i, one in enumerate(value)) + "]"
        if isinstance(value, float):
            text = format(decimal.Decimal(repr(value)), "f")
            return text.rstrip("0").rstrip(".") if "." in text else text
        return json.dumps(value, ensure_ascii=False)


def texts_of(value, schema):
    texts = dict.fromkeys(Order(schema, variant).text(value, [schema]) for variant in [None, *range(12)])
    return [text for text in texts if "\\ud" not in text]


def has_annotation(schema):
    """True if a `format` in the schema is not in FORMATS."""
    if isinstance(schema, list):
        return any(map(has_annotation, schema))
    if not isinstance(schema, dict):
        return False
    name = schema.get("format")
    return isinstance(name, str) and name not in FORMATS or any(map(has_annotation, schema.values()))


def is_utf8(text):
    try:
        text.encode()
        return True
    except UnicodeEncodeError:
        return False


class Judge:
    def __init__(self, program, arguments=()):
        self.process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.refusals = collections.Counter()
        self.wrong = []
        self.n_schemas = self.n_served = 0
        self.served, self.slowest = [], (0, "")
        self.mask_us = []

    def judge(self, name, schema, tests):
        """`tests`: pairs of a value and whether it is valid."""
        tests = [(texts, valid) for texts, valid in ((texts_of(value, schema), valid) for value, valid in tests)
                 if texts and all(map(is_utf8, texts))]
        line = {"schema": json.dumps(schema), "texts": [text for texts, _ in tests for text in texts]}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.n_schemas += 1
        self.slowest = max(self.slowest, (answer["compile_us"], name))
        if "error" in answer:
            self.refusals[answer["error"]] += 1
            return
        self.n_served += 1
        self.served.append(name)
        self.mask_us += answer["mask_us"]
        verdicts = iter(answer["allowed"])
        for texts, valid in tests:
            allowed = [next(verdicts) for _ in texts]
            odd = [verdict for verdict in allowed if not isinstance(verdict, bool)]
            is_known = name.startswith(NARROWER) if valid else has_annotation(schema)
            if odd or any(allowed) != valid and not is_known:
                self.wrong.append(f"{name}: {'valid' if valid else 'invalid'}, {odd or allowed[0]}: {texts[0]}")


def rows(path):
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    is_list = "--list" in sys.argv
    if not folder.exists():
        print(f"needs {folder}")
        return SKIPPED
    arguments = [argument for argument in sys.argv[3:] if not argument.startswith("--")]
    ok = True
    for name, least in (("maskbench-sample", LEAST_SERVED), ("test-suite-draft2020-12", 1)):
        judge = Judge(program, arguments)
        for row in rows(folder / f"{name}.jsonl.gz"):
            if row.get("file", "").endswith(KEPT_FORMATS):
                continue
            judge.judge(row.get("id") or f"{row['file']}: {row['description']}", row["schema"],
                        [(test["data"], test["valid"]) for test in row["tests"]])
        print(f"{name}: {judge.n_schemas} schemas, {judge.n_served} served, {sum(judge.refusals.values())} refused, "
              f"{len(judge.wrong)} wrong verdicts; the slowest compiles in {judge.slowest[0] / 1000:.0f} ms "
              f"({judge.slowest[1]})")
        if judge.mask_us:
            times = sorted(judge.mask_us)
            print(f"  {len(times)} masks: median {times[len(times) // 2]:.1f} us, 99 of 100 under "
                  f"{times[len(times) * 99 // 100]:.0f} us, slowest {times[-1]:.0f} us")
        for line in judge.wrong if is_list else judge.wrong[:20]:
            print("  " + (line if is_list else line[:300]))
        if is_list:
            for reason, count in judge.refusals.most_common():
                print(f"  {count:5} {reason}")
            (pathlib.Path.cwd() / f"served-{name}.txt").write_text("\n".join(judge.served))
        ok = ok and not judge.wrong and judge.n_served >= least
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
