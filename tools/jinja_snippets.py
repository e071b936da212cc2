"""The templates of tools/jinja_golden.py: one for each operator, filter, test, method and rule, with
usual and unusual arguments."""

VARIABLES = {
    "n": 7, "zero": 0, "neg": -3, "big": 9007199254740993, "f": 2.5, "half": 0.5, "tiny": 1e-7, "huge": 1e22,
    "yes": True, "no": False, "nothing": None,
    "s": "Hello World", "empty": "", "blank": "  \t\n ", "multi": "one\n  two\r\n\nthree\n",
    "uni": "Grüße, 日本 😀 ΣΑΣ", "quoted": "it's \"so\"\\ \x07", "html": "<a href='x'>&amp;</a>",
    "li": [3, 1, 2], "words": ["b", "A", "c", "a"], "mixed": [1, "a", None, 2.5, True, [1], {"k": "v"}],
    "nested": [[1, 2], [3, [4, 5]], []], "none_list": [],
    "d": {"b": 1, "a": 2, "C": 3}, "deep": {"x": {"y": [10, {"z": "end"}]}, "items": "shadow"},
    "people": [{"name": "Ann", "age": 30, "city": "Bonn"}, {"name": "bob", "age": 25, "city": "Aachen"},
               {"name": "Cid", "age": 30, "city": "bonn", "tags": ["x"]}],
    "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}, {"v": 5, "c": []}],
    "odd_keys": {"a b": 1, "": 2, "é": [None, True]},
}

_FILTERS_OF = {
    "s": ["upper", "lower", "title", "capitalize", "trim", "length", "count", "list", "first", "last", "reverse",
          "string", "safe", "e", "escape", "forceescape", "wordcount", "urlencode", "center(20)", "center",
          "truncate(5)", "truncate(5, true)", "truncate(5, true, '')", "truncate(7, false, '..', 0)",
          "truncate(length=6, leeway=0)", "replace('o', '0')", "replace('o', '0', 1)", "replace('', '-')",
          "replace('l', '')", "indent", "default('x')", "d('x')", "tojson", "int", "float", "join('-')", "sort",
          "sort|join", "unique|join", "map('upper')|join", "batch(3)|list", "slice(3)|list", "format",
          "min", "max", "select('in', 'lo')|list", "items|list", "abs", "round", "sum", 
          "trim('Hd')", "trim(chars='H')", "trim(none)", "upper|lower|title", "tojson|tojson", "xmlattr", "dictsort"],
    "uni": ["upper", "lower", "title", "capitalize", "length", "reverse", "list", "first", "last", "tojson",
            "tojson(true)", "tojson(ensure_ascii=true)", "urlencode", "center(30)", "truncate(6, true)", "wordcount",
            "replace('日', 'x')", "replace('', '.')", "string", "e"],
    "multi": ["indent", "indent(2)", "indent(2, true)", "indent(2, true, true)", "indent('> ')",
              "indent(width=1, first=true)", "indent(blank=true)", "trim", "wordcount", "tojson", "length",
              "replace('\\n', '|')", "upper"],
    "empty": ["first", "last", "length", "trim", "default('x')", "default('x', true)", "indent", "title", "capitalize",
              "int", "int(9)", "float", "list", "min", "max", "wordcount", "reverse", "tojson", "truncate", "join"],
    "blank": ["trim", "length", "wordcount", "int(3)", "title"],
    "html": ["e", "safe", "safe|e", "e|e", "forceescape", "e|forceescape", "escape|upper", "urlencode", "string"],
    "n": ["string", "float", "int", "abs", "round", "round(1)", "round(-1)", "tojson", "default(1)", "length", "list",
          "upper", "trim", "filesizeformat", "e", "safe", "replace('7', '8')", "urlencode", "center(5)", "join"],
    "f": ["round", "round(1)", "round(0, 'ceil')", "round(0, 'floor')", "round(1, 'up')", "int", "float", "string",
          "abs", "tojson", "filesizeformat"],
    "neg": ["abs", "round", "float", "string", "tojson"],
    "yes": ["string", "int", "float", "tojson", "upper", "abs", "round", "list"],
    "nothing": ["string", "default('x')", "default('x', true)", "tojson", "int", "int(5)", "float", "length", "upper",
                "trim", "list", "first", "join", "map('upper')|list", "select|list", "replace('N', 'n')", "indent",
                "e", "items|list", "dictsort", "abs", "reverse", "sort"],
    "missing": ["string", "default('x')", "d", "default('x', true)", "tojson", "int", "float", "length", "upper", "trim",
                "list", "first", "last", "join", "map('upper')|list", "select|list", "sort", "replace('a', 'b')",
                "indent", "e", "items|list", "dictsort", "abs", "round", "reverse|list", "unique|list", "sum", "min", "title"],
    "li": ["sort", "sort(reverse=true)", "sort(true)", "length", "count", "first", "last", "join", "join(', ')", "sum", "sum(start=10)",
           "min", "max", "list", "reverse|list", "unique|list", "tojson", "tojson(indent=2)", "string", "map('string')|join('+')",
           "select('odd')|list", "reject('odd')|list", "select('gt', 1)|list", "select('>', 1)|list", "select('in', [1, 3])|list",
           "select('divisibleby', 3)|list", "batch(2)|list", "batch(2, 0)|list", "slice(2)|list", "slice(2, 'x')|list",
           "slice(5)|list", "upper", "e", "map('nope')|list", "select('nope')|list", "map|list", "first|float", "random_nope is defined",
           "map('round', 1)|list", "map('default', 2)|list", "sort|reverse|list|join", "d", "abs", "round", "int(4)",
           "float(1.5)", "trim", "replace('[', '(')", "join(d='/')", "join(1)", "select|list", "reject|list"],
    "words": ["sort", "sort(case_sensitive=true)", "sort|join", "unique|list", "unique(true)|list", "min", "max", "map('upper')|list",
              "map('capitalize')|join(' ')", "join(' ')|title", "select('eq', 'a')|list", "reject('in', ['a', 'b'])|list",
              "map('replace', 'a', 'z')|list", "map('length')|sum", "sort(attribute=0)", "sort(attribute='nope')|join", "sort(attribute='nope,0')|join", "groupby(0)", "select('lower')|list",
              "select('upper')|list", "sum", "tojson(separators=(',', ':'))", "max(case_sensitive=true)"],
    "mixed": ["truncate(9)", "truncate(6)", "tojson", "string", "list", "length", "first", "last", "sort", "map('string')|list", "select('string')|list",
              "select('number')|list", "select('none')|list", "select('mapping')|list", "select('sequence')|list",
              "select('iterable')|list", "reject('none')|list", "select('boolean')|list", "select('integer')|list",
              "select('float')|list", "join('|')", "unique|list|length", "tojson(indent=4)", "tojson(indent='\\t')", "tojson(indent=0)",
              "select('callable')|list", "sum", "max", "select('true')|list"],
    "nested": ["tojson", "tojson(indent=1)", "map('length')|list", "map('first')|list", "map('sum')|list", "sum(start=[])",
               "string", "first|join", "map(attribute=0)|list", "map(attribute=0, default=9)|list", "sort", "map('last')|list"],
    "d": ["tojson", "tojson(sort_keys=true)", "tojson(indent=2, sort_keys=true)", "dictsort", "dictsort(true)",
          "dictsort(false, 'value')", "dictsort(by='value', reverse=true)", "dictsort(by='x')", "items|list", "length", "list", "first", "last",
          "join(',')", "string", "sort", "map('upper')|list", "xmlattr", "urlencode", "reverse|list", "min", "max", "unique|list",
          "select('eq', 'a')|list", "items|map('first')|list", "dictsort|map('last')|join", "tojson(false, 3)", "tojson(separators=['; ', '='])",
           "attr('a')", "default({})", "batch(2)|list", "groupby('x')", "sum", "e"],
    "odd_keys": ["tojson", "string", "dictsort", "xmlattr", "list"],
    "people": ["map(attribute='name')|list", "map(attribute='tags')|list", "map(attribute='tags', default='-')|list",
               "map(attribute='tags.0')|list", "map(attribute='tags.0', default='?')|list", "map(attribute='name', x=1)|list",
               "selectattr('age', 'eq', 30)|map(attribute='name')|list", "selectattr('age', '>', 26)|list|length",
               "rejectattr('age', 'eq', 30)|map(attribute='name')|join", "selectattr('tags')|list|length",
               "selectattr('tags', 'defined')|map(attribute='name')|list", "rejectattr('tags', 'defined')|list|length",
               "selectattr('nope')|list", "selectattr|list", "sort(attribute='name')|map(attribute='name')|join(',')",
               "sort(attribute='age,name')|map(attribute='name')|join(',')", "sort(attribute='age', reverse=true)|map(attribute='name')|join(',')",
               "sort(attribute='tags')", "groupby('city')|map('first')|list", "groupby('city')|map('length')|list", "groupby('age')|list|length",
               "groupby('city', case_sensitive=true)|map('first')|list", "groupby('tags', default='')|length", "sum(attribute='age')",
               "sum('age')", "min(attribute='age')", "max(attribute='age')", "max(attribute='name')", "unique(attribute='age')|list|length",
               "unique(attribute='city')|map(attribute='name')|join", "join(', ', attribute='name')", "join(attribute='age')",
               "map('items')|map('list')|map('first')|list", "map('dictsort')|list|length", "map('tojson')|join('\\n')", "first", "last",
               "selectattr('name', 'in', ['Ann', 'Cid'])|list|length", "selectattr('city', 'equalto', 'Bonn')|first", "tojson(indent=2)"],
}

_NUMBERS = ["42.55|round", "42.55|round(1, 'floor')", "2.675|round(2)", "0.5|round", "1.5|round", "-0.5|round", "1234.5|round(-2)",
            "12345|round(-2)", "15|round(-1)", "25|round(-1)", "1e300|round(2)", "'42'|int", "' 42 '|int", "'4_2'|int", "'0x1f'|int", "'0x1f'|int(0, 16)", "'0x1f'|int(base=0)",
            "'1f'|int(base=16)", "'101'|int(0, 2)", "'12.7'|int", "'-12.7'|int", "'abc'|int", "'abc'|int('z')", "'1e3'|int", "'inf'|int",
            "'nan'|int", "'inf'|float", "'nan'|float", "'-inf'|float", "'1e3'|float", "'1_0.5'|float", "'.5'|float", "'5.'|float", "'+5'|int", "'x'|float", "'x'|float(2)", "''|float(none)",
            "2.9|int", "-2.9|int", "true|int", "1000|filesizeformat", "1|filesizeformat", "999|filesizeformat", "1500000|filesizeformat",
            "1500000|filesizeformat(true)", "1024|filesizeformat(binary=true)", "1e27|filesizeformat", "'12'|filesizeformat", "'x'|filesizeformat",
            "3.0", "1.0e3", "1e16", "1e15", "123456789012345678.0", "0.0001", "0.00001", "1.5e-7", "0.1 + 0.2", "1/3", "2**0.5", "1e100", "-0.0",
            "100000000000000000000.0", "1_000", "0x1F", "0b101", "0o17", "1_0.2_5", "1E5", "5.0|string", "1e400", "5e-324", "00", "0_0"]

_EXPRESSIONS = """1 + 2|1 - 2 - 3|2 * 3 + 4|2 + 3 * 4|7 / 2|8 / 2|7 // 2|-7 // 2|7 // -2|7 % 3|-7 % 3|7 % -3|-7 % -3|7.5 // 2|-7.5 // 2|7.5 % 2|-7.5 % 2|7.5 % -2
2 ** 3|2 ** 3 ** 2|2 ** -1|-2 ** 2|(-2) ** 2|0 ** 0|2.0 ** 3|2 ** 0.5|4 ** 0.5|10 ** 15|1 / 0|1 // 0|1 % 0|1.0 / 0|0.0 ** -1|0 ** -1
+5|-5|--5|+-5|- 5 + 3|not true|not not 1|-true|+true|true + true|true * 3|1 + 1.0|1 == 1.0|1 == true|0 == false|1 < 2 < 3|1 < 3 < 2|3 > 2 > 1|1 < 2 > 1|1 == 1 != 2
'a' < 'b'|'a' < 'B'|'abc' <= 'abd'|[1, 2] < [1, 3]|(1, 2) < (1, 2, 3)|[1] == (1,)|[1, [2]] == [1, [2]]|{'a': 1} == {'a': 1.0}|{'a': 1} != {'a': 2}|'1' == 1|none == none|none == false|1 < 'a'|none < 1|[] < 'a'|{} < {}
missing == missing|missing == none|missing != 1|missing < 1|1 < missing|missing + 1|1 + missing|-missing|missing * 2|missing ~ 'x'|'x' + missing|missing and 1|missing or 1|not missing|missing is defined|missing in [1]|1 in missing
'a' + 'b'|'a' * 3|3 * 'a'|'a' * 0|'a' * -1|[1] + [2]|[1] * 2|2 * [1, 2]|(1,) + (2,)|(1, 2) * 2|'a' + 1|1 + 'a'|[1] + (1,)|'a' - 'b'|'a' / 2|[1] - [1]|{} + {}|none + 1|'a' * 1.5|'a' * 'b'
'a' ~ 1 ~ none ~ true ~ 2.5|1 ~ 2|'a' ~ [1, 'b']|'x' ~ missing ~ 'y'|1 + 2 ~ 3 + 4|1 ~ 2 * 3|'a' ~ 'b' + 'c'
1 in [1, 2]|3 not in [1, 2]|'a' in 'abc'|'' in 'abc'|'z' not in 'abc'|'a' in d|1 in d|'a' in ['a']|1 in 'abc'|1 in 5|none in none|[1] in [[1]]|[1] in d|1.0 in [1]|true in [1]|2 in range(5)|7 in range(5)|'b' in d.keys()|1 in d.values()|('b', 1) in d.items()|'a' in (x for_nope)
1 if true else 2|1 if false else 2|1 if false|(1 if false) is defined|'a' if n == 7|1 if no else 2 if no else 3|(1 if yes) ~ 'x'|[1 if no else 2, 3]|missing.x if false else 'ok'|missing.x if true else 'ok'
1 and 2|0 and 2|1 or 2|0 or 2|'' or 'x'|[] or 'empty'|none or false|1 and 'a' or 'b'|not 1 and 2|not (1 and 0)|not 1 == 2|not 'a' in 'abc'|1 or missing.x|yes and no or yes
[]|[1]|[1, 2,]|[1, 'a', none, true, 2.5]|()|(1,)|(1, 2)|(1)|1, 2|{}|{'a': 1}|{'a': 1, 'b': [1, 2]}|{1: 'x', none: 'y', true: 'z'}|{'a': 1, 'a': 2}|{n: s}|{[1]: 2}|[[1, 2], [3]]|{'x': {'y': {}}}|{(1, 2): 3}|[(1, 'a')]|{'q': "it's", 'r': 'say "x"'}
'it\\'s'|"say \\"x\\""|'a\\nb'|'a\\tb'|'\\x41'|'\\u00e9'|'\\U0001F600'|'\\101'|'\\d'|'\\\\'|'a' 'b' "c"|'日本'|['日本', 'é', '\\x07', '\\u200b', '\\u00a0']|['a\\nb\\t\\r\\\\']|["it's"]|['say "x"']|["both ' and \\""]|'\\é'|'\\x4'
n|f|yes|nothing|s|li|d|missing|tiny|huge|big|mixed|nested|none_list|odd_keys|quoted|[quoted]|[uni]|True|None|False|true|none|false
s[0]|s[-1]|s[100]|s[1:4]|s[:3]|s[3:]|s[-3:]|s[:-3]|s[::2]|s[::-1]|s[4:1:-1]|s[10:2]|s[:]|s[100:]|s[::0]|s[-100:2]|s[2:100]|uni[0]|uni[7]|uni[-1]|uni[7:9]|uni[::-1]|uni[10:11]
li[0]|li[-1]|li[3]|li[1:]|li[::-1]|li[:2]|li[:1] + li[2:]|li[-2:]|li['0']|li[1.0]|li[true]|li[none]|(1, 2, 3)[1:]|nested[1][1][0]|nested.0.1|nested[0].1|li.0|li.5|li[0:2][1]|[1, 2, 3][::2]|[1, 2, 3][5:]|range(10)[2:5]|range(10)[::-1]|range(10)[3]|range(10)[-1]|d[:1]|nothing[1:]|(5)[1:]|(5|int)[1:]|none[::2]|range(3)[-2:2:2]|range(9)[7:1:-4]|missing[1:]|n[1:]|li['append']|li[n:]
d.a|d['a']|d.C|d['nope']|d.nope|d.nope.x|d['nope']['x']|deep.x.y|deep.x.y[1].z|deep['x']['y'][0]|deep['items']|deep.items()|list_nope|deep.get('x').y|d.get('a')|d.get('z')|d.get('z', 5)|d.get('z', default=5)|d.get()|d.keys()|d.values()|d.items()|d.keys()|list|d.copy()|d.a.b|n.x|nothing.x|nothing['x']|s.x|s['x']|odd_keys['a b']|odd_keys['']|odd_keys.é|d[missing]|d[li]|d[1]|d._x|d['_x']|d.__class__|s.__class__|d['__class__']|li.__len__
d.update({'x': 1})|d.pop('a')|d.clear()|d.setdefault('q', 1)|d.popitem()|li.append(1)|li.pop()|li.sort()|li.extend([1])|li.insert(0, 1)|li.remove(1)|li.reverse()|li.clear()|li.append|d.update is defined|li.append ~ 'x'|li.index(1)|li.index(9)|li.count(1)|li.copy()|(1, 2).index(2)|(1, 1).count(1)|li.index(2, 1)|li.index(3, 1)
missing()|missing.x|missing['x']|missing.x()|n()|s()|d()|d.a()|nothing()|range()|range(3)|range(1, 4)|range(0, 10, 3)|range(5, 0, -2)|range(3)|list|range(1000000)|range(0, 3, 0)|range('a')|range(2.0)|range(3)|length|range(3).start|[range(3)]|dict(a=1, b=2)|dict([('a', 1)])|dict({'x': 1}, y=2)|dict(5)|dict()|dict([[1, 2], [3, 4]])|dict(d)|namespace(a=1).a|namespace({'x': 2}).x|namespace(a=1)|namespace()|namespace(_a=1)|namespace(a=1).b|namespace(a=1)['a']|namespace(a=1) is mapping|namespace is callable|cycler(1, 2).next()|cycler()|cycler('a', 'b').current|joiner()()|lipsum is defined|raise_exception('boo')|raise_exception()|strftime_now('%Y-%m-%d')|strftime_now('%d %b %Y')|strftime_now('%A, %B %d, %Y %H:%M:%S %p %j %y %I %%')|strftime_now('')|strftime_now('%f')|strftime_now('%-d')|strftime_now('%Z')|strftime_now()|strftime_now is defined|strftime_now('é %Y')""".split("\n")

_TESTS = ["defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number", "string", "mapping", "sequence",
          "iterable", "callable", "odd", "even", "lower", "upper", "escaped", "divisibleby(2)", "divisibleby 3", "eq 7", "equalto(7)", "ne 7",
          "gt 3", "greaterthan(3)", "ge 7", "lt 10", "lessthan 10", "le 7", "in [7, 's']", "in(li)", "sameas(none)", "sameas true"
,          "== 7" ]
_TESTED = ["n", "f", "yes", "nothing", "s", "li", "d", "missing", "'abc'", "'ABC'", "(1, 2)", "range(3)", "d.keys()", "s|safe", "''", "namespace(a=1)", "'upper'"]

_METHODS = """s.upper()|s.lower()|s.title()|s.capitalize()|s.swapcase()|s.casefold()|s.strip()|s.strip('Hd')|s.lstrip('H')|s.rstrip('d')|blank.strip()|blank.lstrip()|blank.rstrip()|'xxhixx'.strip('x')|'  a '.strip(none)|s.strip(1)|' a '.strip(chars='a')
s.split()|s.split(' ')|s.split('o')|s.split('o', 1)|s.split('o', -1)|s.split('o', 0)|s.split(none, 1)|s.split(sep='l', maxsplit=1)|s.split('')|'  a  b c '.split()|'  a  b c '.split(none, 1)|'  a  b c '.rsplit(none, 1)|'a,b,c'.rsplit(',', 1)|'a,b,c'.rsplit(',')|''.split()|''.split(',')|'a'.split('abc')|s.split(1)|'  '.split(none, 0)|' a b '.split(none, 0)|multi.splitlines()|multi.splitlines(true)|''.splitlines()|'a\\x0bb\\u2028c'.splitlines()|s.partition(' ')|s.partition('z')|s.rpartition('o')|s.rpartition('z')|s.partition('')
s.replace('o', '0')|s.replace('o', '0', 1)|s.replace('', '-')|s.replace('l', '')|s.replace('o')|s.replace('o', 1)|'aaa'.replace('aa', 'b')|''.replace('', 'x')|'abc'.replace('', '-', 2)
s.startswith('He')|s.startswith('x')|s.startswith(('x', 'He'))|s.startswith('l', 2)|s.startswith('l', 2, 3)|s.startswith(1)|s.startswith('')|s.endswith('ld')|s.endswith(('x', 'd'))|s.endswith('o', 0, 5)|''.startswith('')|s.startswith('', 50)|s.startswith(['H'])
s.find('o')|s.find('o', 5)|s.find('z')|s.find('')|s.find('o', 0, 3)|s.rfind('o')|s.rfind('z')|s.index('o')|s.index('z')|s.rindex('o')|uni.find('本')|uni.rfind('Σ')|s.count('l')|s.count('')|s.count('l', 4)|s.count('z')|s.find('o', -4)|s.find('', 50)|'aaaa'.count('aa')
', '.join(['a', 'b'])|''.join([])|'-'.join('abc')|','.join([1])|','.join(d)|','.join(5)|', '.join(words|map('upper'))|','.join(none)|'x'.join(['a'])
'a'.center(5)|'a'.center(4)|'ab'.center(5)|'ab'.center(6, '*')|'a'.ljust(3) ~ '.'|'a'.rjust(3, '-')|'a'.rjust(3, '--')|'5'.zfill(3)|'-5'.zfill(4)|'+5'.zfill(4)|'abc'.zfill(2)|'a\\tb'.expandtabs()|'a\\tb'.expandtabs(4)|'日'.center(5, '本')
'5'.isdigit()|'²'.isdigit()|'²'.isdecimal()|'½'.isnumeric()|''.isdigit()|'a5'.isalnum()|'a b'.isalnum()|'abc'.isalpha()|'日本'.isalpha()|' \\t'.isspace()|''.isspace()|'abc'.islower()|'aBc'.islower()|'ABC1'.isupper()|'1'.isupper()|'Hello World'.istitle()|'Hello world'.istitle()|'a_b'.isidentifier()|'1a'.isidentifier()|'a'.isascii()|'é'.isascii()|'a\\n'.isprintable()|''.isprintable()
'abcab'.removeprefix('ab')|'abcab'.removesuffix('ab')|'x'.removeprefix('y')|'{}, {}'.format(1, 'a')|'{0} {1} {0}'.format('a', 'b')|'{a} {b}'.format(a=1, b=2)|'{} {x}'.format(1, x=2)|'{:>5}|{:<5}|{:^5}'.format('a', 'b', 'c')|'{:05d}'.format(42)|'{:.2f}'.format(3.14159)|'{:,}'.format(1234567)|'{:x} {:X} {:o} {:b} {:#x}'.format(255, 255, 8, 5, 255)|'{:e}'.format(12345.678)|'{:g}'.format(0.00001)|'{:%}'.format(0.25)|'{:+d} {: d}'.format(5, 5)|'{!r}'.format('a')|'{!s:>4}'.format('a')|'{{}}'.format()|'{'.format()|'}'.format()|'{}'.format()|'{0}{}'.format(1, 2)|'{a.x.y}'.format(a=deep)|'{a[x]}'.format(a=deep)|'{0[1]}'.format(li)|'{:{}}'.format('a', 5)|'{:*^9}'.format('mid')|'{}'.format(none)|'{:5}'.format(none)|'{}'.format([1, 'a'])|'{:>3}'.format([1])|'{:d}'.format('a')|'{:s}'.format(1)|'{:5}|'.format(1)|'{:5}|'.format(true)|'{:.3}'.format('abcdef')|'{:.3}'.format(3.14159)|'{:.1f}'.format(5)|'{:08.3f}'.format(-3.14159)|'{:,.2f}'.format(1234567.891)|'{:_}'.format(1234567)|'{:}'.format(2.0)|'{:n}'.format(5)|'{x}'.format(**{'x': 1})|'{}'.format(missing)|'{:.2}'.format(100.0)|'{:.3}'.format(100.0)|'{:.5}'.format(2.0)|'{:010}'.format(-5)|'{:<010}'.format(5)|'{:=+6}'.format(5)
'%s' % 'a'|'%s %s' % ('a', 1)|'%d' % 3.7|'%d' % 'a'|'%5d|%-5d|%05d' % (1, 2, 3)|'%.2f' % 3.14159|'%x %X %o' % (255, 255, 8)|'%#x' % 255|'%e' % 12345.678|'%g' % 0.00001|'%r' % 'a'|'%s' % [1]|'%s' % none|'%%' % ()|'100%' % ()|'%s' % (1, 2)|'%s %s' % 'a'|'%(a)s' % d|'%(z)s' % d|'%(a)d-%(b)03d' % d|'abc' % ()|'abc' % 1|'abc' % d|'abc' % [1]|'%c' % 65|'%c' % 'x'|'%c' % 'xy'|'%+d % d' % (5, 5)|'%*d' % (5, 3)|'%.3s' % 'abcdef'|'%10.3f|' % 3.14159|'%s' % missing|'%i %u' % (1, 2)|'%q' % 1|'%' % 1|'%s' % d|'%s' % ((1, 2),)|'%5s|%-5s|' % ('a', 'b')|'%a' % 'a'|'%ld' % 5|s % ()
'%s-%s'|format('a', 'b')|'%(x)s'|format(x=1)|'%s'|format|'%s'|format('a', x=1)|'%d'|format(3)|5|format(1)
'ß'.upper()|'ß'.title()|'ﬁ'.upper()|'İ'.lower()|'ΑΣ'.lower()|'ΑΣ Α'.lower()|'ǆ'.title()|'ñandú élan'.title()|"they're bill's".title()|"they're bill's"|title|'hello-world foo_bar'|title|'a(b[c{d<e'|title|'ŉ'.upper()|'ÀÉ'.lower()|'straße'.casefold()|'1a b2c'.title()|'ΣΑΣ'.capitalize()|'abc'.upper().lower().title()|' x '.strip().upper()
(s|safe) + '<b>'|'<b>' + (s|safe)|(s|safe) * 2|(html|e) ~ '<'|(s|safe)|replace('H', '<')|(s|safe).replace('H', '<')|(s|safe).join(['<', '>'])|'<'.join([s|safe])|[s|safe]|{'a': s|safe}|tojson|(s|safe).split(' ')|'%s' % (s|safe)|('%s'|safe) % '<'|('{}'|safe).format('<')|(s|safe)[0] + '<'|(s|safe).upper() + '<'|(s|safe) == s|(s|safe) is string|(s|safe)|upper|(html|e)|safe|[html|e]|(s|safe) in d|{(s|safe): 1}|(html|safe)|tojson|(s|safe)|trim ~ '&'|(s|safe)|length|(s|safe)|list
f.is_integer()|(2.0).is_integer()|n.real_nope|5.0.is_integer()|deep.x.y|length|d.items()|list|d.keys()|join|d.values()|sum|d.items()|length|d.keys()[0]|d.items()|first|d.values()|list|d|length|[d.keys()]|[d.items()]|d.keys() == d.keys()|d.keys()|sort|d.items()|sort|d.keys() is sequence|d.keys() is iterable""".split("\n")

_STATEMENTS = [
    # loops
    "{% for x in li %}{{ x }}{% endfor %}", "{% for x in li %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in li %}{{ loop.previtem }}-{{ x }}-{{ loop.nextitem }};{% endfor %}", "{% for x in li %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}",
    "{% for x in li %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }}{% endfor %}", "{% for x in li %}{{ loop.cycle() }}{% endfor %}",
    "{% for x in none_list %}{{ x }}{% else %}none{% endfor %}", "{% for x in li %}{{ x }}{% else %}none{% endfor %}", "{% for x in missing %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in nothing %}{{ x }}{% endfor %}", "{% for x in 5 %}{{ x }}{% endfor %}", "{% for c in 'abc' %}{{ c }}.{% endfor %}", "{% for c in uni %}{{ c }}.{% endfor %}",
    "{% for k in d %}{{ k }}{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d|items %}{{ k }}{{ v }}{% endfor %}",
    "{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "{% for a, b in ['xy'] %}{{ b }}{{ a }}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for (a, b) in [[1, 2]] %}{{ a }}{% endfor %}", "{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for x in li if x > 1 %}{{ x }}{{ loop.index }}{{ loop.length }}{{ loop.last }}{% endfor %}", "{% for x in li if x > 9 %}{{ x }}{% else %}none{% endfor %}", "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}", "{% for x in (li if yes else []) %}{{ x }}{% endfor %}", "{% for x in li + [4] %}{{ x }}{% endfor %}",
    "{% for x in li %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for x in li %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "{% for x in li %}{% break %}{% else %}E{% endfor %}", "{% for x in li %}{% continue %}{% else %}E{% endfor %}", "{% for x in li %}{{ x }}{% if loop.last %}{% break %}{% endif %}{% else %}E{% endfor %}", "{% break %}", "{% if yes %}{% continue %}{% endif %}",
    "{% for x in li %}{% for y in li %}{{ loop.index }}{% if y == 1 %}{% break %}{% endif %}{% endfor %}{{ loop.index }};{% endfor %}", "{% for x in li %}{% set outer = loop %}{% for y in [1] %}{{ outer.index }}{{ loop.index }}{% endfor %}{% endfor %}",
    "{% for n in tree recursive %}{{ n.v }}{% if n.c %}({{ loop(n.c) }}){% endif %}{% endfor %}", "{% for n in tree recursive %}{{ loop.depth }}{{ n.v }}{{ loop(n.c) }}{% endfor %}", "{% for x in li %}{{ loop([1]) }}{% endfor %}", "{% for x in nested[:1] recursive %}{% if x is iterable %}[{{ loop(x) }}]{% else %}{{ x }}{% endif %}{% endfor %}",
    "{% for x in li|map('string') %}{{ x }}{{ loop.last }}{% endfor %}", "{% for x in li|select('odd') %}{{ loop.length }}{% endfor %}", "{% for x in range(3) %}{{ x }}{% endfor %}", "{{ loop }}", "{{ loop is defined }}", "{% for x in li %}{% endfor %}{{ loop is defined }}{{ x is defined }}", "{% for loop in li %}{{ loop }}{% endfor %}", "{% for x in li %}{{ loop }}{% endfor %}", "{% for x in li %}{{ loop.nope }}{{ loop['index'] }}{% endfor %}", "{% for x in li %}{{ loop is iterable }}{{ loop is sequence }}{{ loop is callable }}{{ loop|length }}{% endfor %}",
    "{% set it = li|map('string') %}{{ it|list }}{{ it|list }}", "{% set it = li|select('odd') %}{{ it|length }}", "{% set it = [0]|select %}{% if it %}true{% endif %}", "{% set it = li|map('string') %}{{ it[0] }}", "{% set it = li|map('string') %}{{ 1 in it }}{{ '3' in it }}", "{% set it = li|map('string') %}{{ '3' in it }}{{ it|list }}", "{% set it = li|reverse %}{{ it|first }}{{ it|list }}", "{{ (li|map('string'))|last }}", "{{ (li|reverse)|length }}", "{{ (li|map('string')) is sequence }}",
    "{% set ns = namespace(go=true) %}{% for x in li if ns.go %}{{ x }}{% set ns.go = false %}{% endfor %}",
    # scopes
    "{% set x = 1 %}{% for i in li %}{% set x = 2 %}{% endfor %}{{ x }}", "{% set x = 1 %}{% for i in li %}{{ x }}{% set x = i %}{{ x }}{% endfor %}{{ x }}", "{% set x = 1 %}{% if yes %}{% set x = 2 %}{% endif %}{{ x }}", "{% if no %}{% set x = 2 %}{% endif %}{{ x }}", "{% if no %}{% set n = 2 %}{% endif %}{{ n }}", "{% for i in li %}{% if i == 1 %}{% set x = i %}{% endif %}{{ x }}{% endfor %}", "{% for i in [1] %}{{ n }}{% endfor %}{% set n = 5 %}", "{{ n }}{% set n = 5 %}{{ n }}", "{% for i in [1] %}{% set n = 9 %}{{ n }}{% endfor %}{{ n }}", "{% set n = n + 1 %}{{ n }}", "{% for i in [1, 2] %}{% set n = n + 1 %}{{ n }}{% endfor %}{{ n }}",
    "{% set ns = namespace(x=1) %}{% for i in li %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "{% set ns = namespace() %}{% set ns.a = 1 %}{% set ns.b = 'c' %}{{ ns.a }}{{ ns.b }}{{ ns.c }}{{ ns.c is defined }}", "{% set ns = namespace(a=[1]) %}{% set ns.a = ns.a + [2] %}{{ ns.a }}{{ ns }}", "{% set d.x = 1 %}", "{% set ns = namespace() %}{% set ns._x = 1 %}", "{% set missing.x = 1 %}", "{% set ns = namespace(a=1, b=2) %}{% set ns.a, ns.b = ns.b, ns.a %}{{ ns.a }}{{ ns.b }}", "{% set ns = namespace(a=1) %}{% macro m() %}{% set ns.a = 2 %}{% endmacro %}{{ m() }}{{ ns.a }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = [1] %}", "{% set (a, b) = (1, 2) %}{{ b }}", "{% set x = 1, 2 %}{{ x }}", "{% set x %}a{{ n }}b{% endset %}{{ x }}", "{% set x | upper %}abc{% endset %}{{ x }}", "{% set x | replace('a', 'b') | upper %}abc{% endset %}{{ x }}", "{% set x %}{% set y = 1 %}{{ y }}{% endset %}{{ x }}{{ y }}", "{% set x %}{% endset %}{{ x is string }}{{ x|length }}", "{% set ns = namespace() %}{% set ns.x %}block{% endset %}{{ ns.x }}", "{% set 1 = 2 %}", "{% set true = 1 %}", "{% set none = 1 %}", "{% set x = %}", "{% set x 1 %}", "{% for i in li %}{% set x %}{{ i }}{% break %}{% endset %}{{ x }}{% endfor %}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}", "{% set a = 5 %}{% with a = 1, b = a %}{{ b }}{% endwith %}{{ a }}", "{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}",
    # macros
    "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=5, a=4) }}{{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(x=2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}", "{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}", "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}body{% endcall %}", "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}-{{ b }}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m(a=b, b=1) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}", "{% macro m(a, b=1, c) %}{% endmacro %}", "{% macro m(a, a) %}{% endmacro %}", "{% macro m(x) %}{% set x = x + 1 %}{{ x }}{% endmacro %}{{ m(1) }}", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{{ m() }}{% macro m() %}x{% endmacro %}", "{% macro m() %}{{ q }}{% endmacro %}{% set q = 1 %}{{ m() }}", "{% set q = 1 %}{% macro m() %}{{ q }}{% endmacro %}{% set q = 2 %}{{ m() }}", "{% macro m() %}{{ n }}{% endmacro %}{{ m() }}", "{% for x in li %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro m() %}  a  {% endmacro %}[{{ m() }}]{{ m()|trim }}{{ m() is string }}", "{% macro m() %}{% endmacro %}{{ m }}{{ m.name }}", "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}{{ m(none) }}", "{% macro m(a) %}{{ a + 1 }}{% endmacro %}{{ m() }}", "{% if yes %}{% macro m() %}x{% endmacro %}{% endif %}{{ m() }}", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "{% macro m(l) %}{% for x in l %}{% if x is iterable %}[{{ m(x) }}]{% else %}{{ x }}{% endif %}{% endfor %}{% endmacro %}{{ m(nested) }}", "{% macro m(caller) %}{{ caller() }}{% endmacro %}", "{% macro m(caller=none) %}{% if caller %}{{ caller() }}{% endif %}{% endmacro %}{{ m() }}{% call m() %}c{% endcall %}", "{% macro m(**k) %}{% endmacro %}", "{{ m(*[1, 2]) }}", "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}{{ m(*[5], **{'b': 6}) }}", "{% call 5 %}{% endcall %}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    # other statements
    "{% filter upper %}abc{{ s }}{% endfilter %}", "{% filter replace('a', 'b') | upper %}abc{% endfilter %}", "{% filter trim %}  x  {% endfilter %}", "{% filter nope %}{% endfilter %}", "{% if 1 %}a{% elif 2 %}b{% else %}c{% endif %}", "{% if 0 %}a{% elif 2 %}b{% else %}c{% endif %}", "{% if 0 %}a{% elif 0 %}b{% else %}c{% endif %}", "{% if 0 %}a{% elif 0 %}b{% elif 1 %}d{% endif %}", "{% if no: %}a{% endif %}", "{% if missing %}a{% else %}b{% endif %}", "{% if missing.x %}a{% endif %}", "{% if li, %}tuple{% endif %}",
    "{% generation %}a{{ n }}{% set q = 1 %}{% endgeneration %}{{ q }}", "{% generation %}{% for x in li %}{{ x }}{% endfor %}{% endgeneration %}", "{% block b %}x{{ n }}{% endblock %}", "{% block b %}{% endblock b %}", "{% set z = 3 %}{% block b %}{{ z }}{% endblock %}", "{% for i in li %}{% block b %}{{ i }}{% endblock %}{% endfor %}", "{% block b %}{% endblock %}{% block b %}{% endblock %}", "{% autoescape false %}{{ html }}{% endautoescape %}", "{% print 1 %}", "{% print 1, 2 %}", "{% raw %}{{ x }}{% endraw %}", "{% raw %}  {% x %} {% endraw -%}  y", "a {%- raw -%} b {%- endraw -%} c", "{% raw %}", "{% do li.append(1) %}", "{% include 'x' %}", "{% nope %}", "{% endif %}", "{% if 1 %}", "{% for x in li %}", "{% endfor %}", "{% if 1 %}{% endfor %}", "{% else %}", "{%", "{{", "{{ 1 ", "{{ 1 }", "{#", "{# x", "{{ }}", "{% %}", "{{ 1 2 }}", "{{ (1 }}", "{{ 1) }}", "{{ [1 }}", "{{ [1) }}", "{{ {1 }} }}", "{{ 'abc }}", "{{ a b }}", "{{ a. }}", "{{ .a }}", "{{ |upper }}", "{{ s| }}", "{{ s|nope }}", "{% if no %}{{ s|nope }}{% endif %}", "{% if yes %}{{ s|nope }}{% endif %}", "{{ s|nope if no else 1 }}", "{{ 1 if no else s|nope }}", "{% if no %}{{ s is nope }}{% endif %}", "{% if yes %}{% for x in li %}{{ x|nope }}{% endfor %}{% endif %}", "{{ s is nope }}", "{{ s is }}", "{{ 1 is odd is even }}", "{{ 1 is not odd }}", "{{ 1 not is odd }}", "{{ not 1 is odd }}", "{{ 2 is even and 3 is odd }}", "{{ 2 is divisibleby 2 and 1 }}", "{{ s is string or x.y }}", "{{ 1 if 2 is even else 3 }}", "{{ n is in [7] }}", "{{ n is in }}", "{{ n is divisibleby }}", "{{ n is eq(7) == true }}", "{{ f(a=1, 2) }}", "{{ dict(a=1, a=2) }}", "{{ f(*a, *b) }}", "{{ @ }}", "{{ a ? b }}", "{{ a; b }}", "{{ $ }}", "{{ 1if 2else 3 }}", "{{ 1.5.2 }}", "{{ 1..2 }}", "{{ 0123 }}", "{{ 1__0 }}",
    "{% set q = (5)[1:] %}", "{% if (5)[1:] %}{% endif %}", "{{ n ~ (5)[1:] }}", "{{ 'a' ~ (5)[1:] ~ 'b' }}",
    # whitespace
    "a\n{% if yes %}\nb\n{% endif %}\nc\n", "a\n  {% if yes %}\n  b\n  {% endif %}\nc", "a {%- if yes -%} b {%- endif -%} c", "a\n{%- if yes -%}\nb\n{%- endif -%}\nc", "  {% if yes %}x{% endif %}  \n", "  {{ n }}  \n", "  {{- n -}}  \n", "\n\n{{ n }}\n\n", "a  {# c #}  b", "a\n  {# c #}\nb", "a  {#- c -#}  b", "  {%+ if yes %}x{% endif %}", "{% if yes +%}\nx{% endif %}", "a\n  {%+ if yes +%}\n  b{% endif %}", "{% if yes %}\n\nx\n\n{% endif %}\n\ny", "{% for x in li %}\n  {{ x }}\n{% endfor %}\n", "{% for x in li -%}\n  {{ x }}\n{%- endfor %}\n", "\t{% set x = 1 %}\n\t{{ x }}", "{{ 'a' }}\n{{ 'b' }}\n", "{{ 'a' -}}\n\n  {{- 'b' }}", "x{% set a = 1 %}\ny", "x {% set a = 1 %} y", "\r\n{% if yes %}\r\nx\r\n{% endif %}\r\n", "a\rb", "{{ '\r\n' }}|{{ 'a\nb' }}", "{# a\nb #}\nc", "{{ n }}{# }} #}{{ n }}", "{{ '}}' }}{{ '{{' }}", "{{ {'a': {'b': 1}} }}", "{{ {'a': {}}}}", "{% set x = {'a': '%}'} %}{{ x }}", "a{% raw %}\n x{% endraw %}\nb", "   {%- if yes %}   x   {%- endif %}   ", "\u00a0{% if yes %}x{% endif %}", "x\u00a0{%- if yes %}y{% endif %}", "\u3000{% if yes %}\u3000{% endif %}\n", "{}{ }{%raw%}{%endraw%}", "{ {a} }", "{%if yes%}a{%endif%}", "{%-if yes-%} a {%-endif-%}", "{{n}}{{-n-}}", "{{ -n }}", "{{- -n }}", "{{ n-1 }}", "{{ n -1 }}", "{{n|string~'a'}}", "{% if yes %}{% else %}{% endif %}", "  \n  {% if yes %}\n  a\n  {% endif %}  \n  b", "{% if yes %}  {# c #}\n{% endif %}x", "{#+ x +#}\n y", "   {#+ x #}y",
    "{{ deep\n.x\n.y }}", "{{ [\n1,\n2\n] }}", "{% if yes\nand yes %}x{% endif %}",
    # conversions of what templates of models do
    "{% set m = {'role': 'user', 'content': 'hi'} %}{{ m.role ~ ': ' ~ m['content'] }}", "{{ [{'a': 1}, {'a': 2}]|tojson }}", "{{ {'a': 'é\"\\n<'}|tojson }}", "{{ [1.0, 1e20, 1e-9, 0.1, true, none]|tojson }}", "{{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }}", "{{ {(1, 2): 3}|tojson }}", "{{ (1, 2)|tojson }}", "{{ range(2)|tojson }}", "{{ d.keys()|tojson }}", "{{ namespace(a=1)|tojson }}", "{{ missing|tojson }}", "{{ [missing]|tojson }}", "{{ {'b': 1, 'a': {'d': 1, 'c': 2}}|tojson(sort_keys=true) }}", "{{ {'b': 1, 2: 3}|tojson(sort_keys=true) }}", "{{ []|tojson(indent=2) }}{{ {}|tojson(indent=2) }}{{ [[]]|tojson(indent=2) }}", "{{ 'a\u2028/\x7f\x00'|tojson }}", "{{ '😀é'|tojson(ensure_ascii=true) }}", "{{ s|tojson(nope=1) }}", "{{ d|tojson(indent=2, separators=(',', ': ')) }}",
    "{% set msgs = [{'r': 'u'}, {'r': 'a'}, {'r': 'u'}] %}{% for m in msgs[::-1] %}{% if m.r == 'u' %}{{ loop.index0 }}{% break %}{% endif %}{% endfor %}", "{{ (messages|default([]))|length }}", "{{ bos_token|default('<s>') }}", "{%- set ns = namespace(last=-1) -%}{%- for x in li -%}{%- if x == 1 -%}{%- set ns.last = loop.index0 -%}{%- endif -%}{%- endfor -%}{{ ns.last }}", "{{ 'a' if missing is defined and missing else 'b' }}", "{{ (missing or {}).x }}", "{{ missing.x is defined }}", "{{ d.x.y is defined }}", "{{ (d.x|default({})).y is defined }}", "{% set x = [] %}{% for i in li %}{% set x = x + [i] %}{% endfor %}{{ x }}", "{{ '</think>' in 'a</think>b' }}{{ 'a</think>b'.split('</think>')[-1].lstrip('\\n') }}", "{{ people|map(attribute='name') is iterable }}", "{{ 1 is number and 1 is not string }}", "{{ [1, 2] is sequence and [1, 2] is not mapping }}", "{{ ''.join(['a', 'b']) ~ '%02d' % 5 }}",
    "{{ cycler('a', 'b').next() }}", "{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}", "{% set j = joiner(', ') %}{% for x in li %}{{ j() }}{{ x }}{% endfor %}", "{{ dict.fromkeys_nope }}",
    "{% for g in people|groupby('city') %}{{ g.grouper }}:{{ g.list|length }};{% endfor %}", "{% for c, l in people|groupby('age') %}{{ c }}:{{ l|map(attribute='name')|join('+') }};{% endfor %}",
    "{% for row in li|batch(2) %}[{{ row|join(',') }}]{% endfor %}", "{% for row in li|slice(2) %}[{{ row|join(',') }}]{% endfor %}", "{{ {'a': 1}.a }}{{ {'a': 1}['a'] }}{{ [1, 2].0 }}{{ 'abc'.upper() }}{{ (1, 2)[0] }}", "{{ 'a,b'.split(',')|map('upper')|join }}", "{{ -1|abs }}{{ (-1)|abs }}", "{{ 2 + 3|string ~ 'x' }}", "{{ 'a' 'b'|upper }}", "{{ not s|length > 20 }}", "{{ 1 + 2 if yes else 3 }}", "{{ [x for x in li] }}", "{{ lambda: 1 }}", "{{ s.upper is callable }}", "{{ s['upper']() }}", "{{ (s.upper)() }}", "{{ [1, 2, 3]|sum / 2 }}", "{{ 10 // 3 * 3 + 10 % 3 }}", "{{ '%s' % 5 % () }}", "{{ '' is sameas '' }}{{ [] is sameas [] }}{{ none is sameas none }}",
]

SNIPPETS = ["{{ %s|%s }}" % (of, f) for of, filters in _FILTERS_OF.items() for f in filters]
SNIPPETS += ["{{ %s }}" % e for e in _NUMBERS]
SNIPPETS += ["{{ %s }}" % e for line in _EXPRESSIONS for e in line.split("|")]
SNIPPETS += ["{{ %s is %s }}" % (of, test) for of in _TESTED for test in _TESTS]
SNIPPETS += ["{{ %s is not %s }}" % (of, test) for of in _TESTED[:3] for test in _TESTS[:6]]
SNIPPETS += ["{{ %s }}" % e for line in _METHODS for e in line.split("|")]
SNIPPETS += ["{{ %s is %s }}" % (of, t) for of in ("dict", "li|map('upper')") for t in _TESTS if t not in ("lower", "upper")]
SNIPPETS += ["{{ '%s' is %s }}" % (of, t) for of in ("upper", "nope", "d", "odd") for t in ("filter", "test")]
SNIPPETS += _STATEMENTS
SNIPPETS = list(dict.fromkeys(SNIPPETS))
