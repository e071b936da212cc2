"""Words of the generated documents: lists of common ones and a grammar for invented ones.

Words and values belong either to training or to testing, by a hash of their text; only the closed
classes (colours, professions, months, things) are common to both.
"""
import zlib

COLOURS = ["red", "blue", "green", "brown", "black", "white", "grey", "yellow", "orange", "purple", "pink", "golden",
           "silver", "cream", "violet", "scarlet", "amber", "copper", "ivory", "olive"]
PROFESSIONS = ["baker", "tailor", "doctor", "farmer", "painter", "sailor", "teacher", "carpenter", "lawyer", "nurse",
               "miner", "singer", "cook", "judge", "weaver", "gardener", "blacksmith", "librarian", "mechanic",
               "potter", "actor", "engineer", "astronomer", "interpreter"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December"]
GOODS = ["lamp", "chair", "kettle", "table", "clock", "basket"]
MACHINES = ["pump", "valve", "engine", "motor", "filter", "press"]

_ONSETS = ["b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "br", "ch", "cl", "dr",
           "fl", "gr", "kr", "pl", "pr", "sh", "sk", "sl", "st", "th", "tr", ""]
_VOWELS = ["a", "e", "i", "o", "u", "a", "e", "i", "o", "ai", "ea", "ie", "oo", "ou", "y"]
_CODAS = ["", "", "", "", "n", "r", "l", "s", "m", "k", "t", "d", "nd", "rt", "ck", "st", "x", "ll", "ng"]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def is_test(text):
    """Whether the text is kept for testing: one in eight."""
    return zlib.crc32(text.lower().encode()) % 8 == 0


def draw(make, test):
    """The first text from `make` that belongs to the wanted side."""
    while True:
        text = make()
        if is_test(text) == test:
            return text


def _spell(rng):
    if rng.random() < 0.1:  # no grammar at all
        return "".join(rng.choice(_LETTERS) for _ in range(rng.randint(3, 7)))
    syllables = rng.choice((1, 2, 2, 2, 2, 3))
    text = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables)) + rng.choice(_CODAS)
    return text if len(text) >= 3 else text + rng.choice(("na", "ro", "lis", "mer"))


def word(rng, test):
    return draw(lambda: _spell(rng), test)


def name(rng, test):
    return word(rng, test).capitalize()


_WHO = ["The old miller", "A tired traveller", "The postman", "Nobody", "The whole village", "A small boy",
        "The woman next door", "Two friends", "The night watchman", "An honest clerk", "Some people", "A stranger",
        "The children", "The captain", "Our neighbour", "The youngest sister", "A group of pupils", "The shopkeeper"]
_DID = ["walked slowly", "waited for hours", "sat down to rest", "talked about the weather", "looked at the sky",
        "sang an old song", "told a long story", "heard a strange noise", "drank some tea", "read a letter",
        "forgot the keys", "opened the window", "slept very well", "lost the way", "found a coin", "ate cold soup",
        "wrote a short note", "watched the birds", "closed the gate", "began to laugh"]
_WHERE = ["by the bridge", "in the garden", "behind the church", "near the market", "at the station", "on the hill",
          "under the trees", "beside the fire", "in the small hall", "along the road", "at the end of the street",
          "close to the harbour", "in the kitchen", "above the valley", "outside the school"]
_WHEN = ["before dinner", "in the early morning", "all day long", "after the rain", "until it was dark", "that winter",
         "on the first day", "once again", "without a word", "as usual", "in silence", "late at night"]
_THING = ["The road", "The weather", "The market", "The morning", "The house", "The harbour", "The garden",
          "The winter", "The old bridge", "The music", "The bread", "The view from the hill"]
_WAS = ["was quiet", "was better than before", "seemed very long", "was open to all", "was a little strange",
        "had changed a lot", "was not far away", "was never dull", "looked the same", "was worth the trouble"]


def prose(rng, test):
    """A sentence without facts."""
    def make():
        if rng.random() < 0.3:
            parts = [rng.choice(_THING), rng.choice(_WAS), rng.choice(_WHEN)]
        else:
            parts = [rng.choice(_WHO), rng.choice(_DID), rng.choice(_WHERE), rng.choice(_WHEN)]
            if rng.random() < 0.4:
                parts.pop(rng.choice((2, 3)))
        return " ".join(parts) + "."
    return draw(make, test)
