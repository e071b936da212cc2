"""Documents of generated facts between sentences of prose, with questions about them.

A fact is a sentence about a name that occurs nowhere else, with a value. Kinds of facts:

    dog         The dog named {name} has fur that is {value}.         colours (Hydragen, appendix D.3)
    profession  {name} works as a {value}.
    river       The city of {name} lies on the river {value}.
    price       The {name} {thing} costs {value}.
    date        {name} was born on {value}.
    part        The part number of the {name} {thing} is {value}.

Two more kinds of questions: `choice` offers four values by letter ("Choose red (A), blue (B), green (C) or
brown (D): ...?", answered by "green (C)"), and `null` asks what the document does not say, which is answered by "null".
"""
import dataclasses

import words

NULL = "null"
PROMPT = "\n\nQuestion: {question}\nAnswer:"  # after the document: the default template of pando


@dataclasses.dataclass
class Fact:
    kind: str
    name: str
    thing: str
    value: str
    sentence: str


@dataclasses.dataclass
class Question:
    kind: str
    text: str
    answer: str


@dataclasses.dataclass
class Mix:
    """What documents and questions are made of."""
    kinds: int = 6          # of facts in one document at most
    prose: float = 0.3      # share of sentences without facts
    templates: int = 1      # used of each list below
    choice: float = 0.15    # share of questions
    null: float = 0.15      # share of questions
    known_null: float = 0.25  # share of null questions about a name that has a fact of another kind
    recite: float = 0.0     # share of questions that ask for the fact's sentence


def _article(value):
    return "an" if value[0] in "aeiou" else "a"


def _open_class(known):
    """Values of which three in five are invented."""
    return lambda rng, test: words.word(rng, test) if rng.random() < 0.6 else rng.choice(known)


def _price(rng, test):
    return words.draw(lambda: f"${rng.choice((rng.randint(1, 9), rng.randint(10, 99), rng.randint(100, 999)))}"
                              f".{rng.randint(0, 99):02}", test)


def _date(rng, test):
    return words.draw(lambda: f"{rng.randint(1, 28)} {rng.choice(words.MONTHS)} {rng.randint(1500, 2030)}", test)


def _part(rng, test):
    def make():
        letters = "".join(rng.choice("ABCDEFGHKLMNPRSTVXZ") for _ in range(2))
        return f"{letters}-{rng.randint(100, 9999)}"
    return words.draw(make, test)


@dataclasses.dataclass
class Kind:
    statements: list
    questions: list
    value: object       # (rng, test) -> text
    things: list = None
    choice: bool = False  # may be asked with four values to choose from


KINDS = {
    "dog": Kind(["The dog named {name} has fur that is {value}.", "The fur of the dog named {name} is {value}."],
                ["What color is the fur of the dog named {name}?", "What is the fur color of the dog {name}?"],
                _open_class(words.COLOURS), choice=True),
    "profession": Kind(["{name} works as {article} {value}.", "The profession of {name} is {value}."],
                       ["What is the profession of {name}?", "What does {name} work as?"],
                       _open_class(words.PROFESSIONS), choice=True),
    "river": Kind(["The city of {name} lies on the river {value}.", "The city of {name} was built on the {value}."],
                  ["On which river lies the city of {name}?", "Which river flows through the city of {name}?"],
                  words.name, choice=True),
    "price": Kind(["The {name} {thing} costs {value}.", "The price of the {name} {thing} is {value}."],
                  ["What does the {name} {thing} cost?", "What is the price of the {name} {thing}?"],
                  _price, things=words.GOODS),
    "date": Kind(["{name} was born on {value}.", "The birthday of {name} is {value}."],
                 ["When was {name} born?", "On which date was {name} born?"], _date),
    "part": Kind(["The part number of the {name} {thing} is {value}.",
                  "The {name} {thing} has the part number {value}."],
                 ["What is the part number of the {name} {thing}?", "Which part number has the {name} {thing}?"],
                 _part, things=words.MACHINES),
}
QUESTION_KINDS = [*KINDS, "choice", "null"]


class Document:
    """Sentences, and questions about their facts. All words are of one side: training or testing."""

    def __init__(self, rng, mix, test):
        self.rng, self.mix, self.test = rng, mix, test
        self.kinds = rng.sample(list(KINDS), rng.randint(1, mix.kinds))
        self.facts, self.sentences, self.names = [], [], set()

    def fill(self, n_tokens, length_of):
        """Adds sentences up to a number of tokens; `length_of` a text is its number of tokens."""
        n = 0
        while True:
            fact = None
            if not self.facts or self.rng.random() >= self.mix.prose:
                fact = self._fact(self.rng.choice(self.kinds))
            sentence = fact.sentence if fact else words.prose(self.rng, self.test)
            n += length_of(" " + sentence)
            if n > n_tokens and self.facts:
                break
            self.sentences.append(sentence)
            if fact:
                self.facts.append(fact)
        self.rng.shuffle(self.sentences)
        return self

    def text(self):
        return " ".join(self.sentences)

    def questions(self, n):
        """n questions; every fact is asked for before one is asked for again."""
        rng, mix, asked, order = self.rng, self.mix, [], []
        for _ in range(n):
            draw = rng.random()
            if draw < mix.null:
                asked.append(self._null())
                continue
            order = order or rng.sample(self.facts, len(self.facts))
            fact = order.pop()
            if draw < mix.null + mix.recite:
                asked.append(Question("recite", f"What is said of {fact.name}?", fact.sentence))
            elif draw < mix.null + mix.recite + mix.choice:
                with_choice = [f for f in self.facts if KINDS[f.kind].choice]
                fact = fact if KINDS[fact.kind].choice else rng.choice(with_choice or [fact])
                asked.append(self._choice(fact) if KINDS[fact.kind].choice else self._ask(fact))
            else:
                asked.append(self._ask(fact))
        return asked

    def _new_name(self):
        while True:
            name = words.name(self.rng, self.test)
            if name not in self.names:
                self.names.add(name)
                return name

    def _template(self, templates):
        return self.rng.choice(templates[:self.mix.templates])

    def _fact(self, kind):
        rng, spec = self.rng, KINDS[kind]
        name, value = self._new_name(), spec.value(rng, self.test)
        thing = rng.choice(spec.things) if spec.things else ""
        sentence = self._template(spec.statements).format(name=name, value=value, thing=thing, article=_article(value))
        return Fact(kind, name, thing, value, sentence)

    def _ask(self, fact):
        text = self._template(KINDS[fact.kind].questions).format(name=fact.name, thing=fact.thing)
        return Question(fact.kind, text, fact.value)

    def _null(self):
        rng = self.rng
        kind = rng.choice(self.kinds)
        others = [fact for fact in self.facts if fact.kind != kind]
        known = others and rng.random() < self.mix.known_null
        name = rng.choice(others).name if known else words.draw(lambda: self._unused(), self.test)
        thing = rng.choice(KINDS[kind].things) if KINDS[kind].things else ""
        return Question("null", self._template(KINDS[kind].questions).format(name=name, thing=thing), NULL)

    def _unused(self):
        while True:
            name = words.name(self.rng, self.test)
            if name not in self.names:
                return name

    def _choice(self, fact):
        """The value, then its letter: two look-ups for one token are too much for a model of this size."""
        options = [f"{option} ({letter})" for letter, option in zip("ABCD", self._options(fact))]
        text = self._ask(fact).text
        return Question("choice", f"Choose {', '.join(options[:3])} or {options[3]}: {text[0].lower()}{text[1:]}",
                        next(option for option in options if option.startswith(fact.value + " (")))

    def _options(self, fact):
        """Four values that begin with different letters, of the document or new ones."""
        rng, spec = self.rng, KINDS[fact.kind]
        seen = [f.value for f in self.facts if f.kind == fact.kind]
        options = [fact.value]
        while len(options) < 4:
            value = rng.choice(seen) if rng.random() < 0.5 else spec.value(rng, self.test)
            if value[0] not in [option[0] for option in options]:
                options.append(value)
        rng.shuffle(options)
        return options
