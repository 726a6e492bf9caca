"""Changes of an OpenCL C source, each of which takes away one barrier, one bound or one store.

By tokens, whatever the kernel: no grammar, so that what a macro's body has counts once for all its uses."""
import dataclasses
import re

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*(?:\\\n[^\n]*)*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<sign><<=|>>=|[-+*/%&|^=!<>]=|<<|>>|&&|\|\||\+\+|--|->|.)
""", re.X | re.S | re.M)
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
BARRIERS = {"barrier", "work_group_barrier", "sub_group_barrier"}
RELATIONS = {"<", "<=", ">", ">="}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
MEMORY = {"global", "__global", "local", "__local"}
LEAVING = {"return", "break", "continue"}
# What ends an operand of a relation, at its depth.
ENDS_OPERAND = {"&&", "||", "?", ":", ";", ",", "==", "!=", "&", "|", "^", *RELATIONS}


@dataclasses.dataclass(frozen=True)
class Token:
    text: str
    begin: int
    end: int


@dataclasses.dataclass(frozen=True)
class Mutant:
    kind: str      # barrier, guard, bound, store
    function: str
    what: str      # the text that is changed, in one line
    source: str


def tokens_of(source):
    return [Token(match.group(), *match.span()) for match in TOKEN.finditer(source) if match.lastgroup != "space"]


class Text:
    """A source and what lies where in it."""

    def __init__(self, source):
        self.source, self.tokens = source, tokens_of(source)
        self.partner = {}
        open_ = []
        for at, token in enumerate(self.tokens):
            if token.text in OPENING:
                open_.append(at)
            elif token.text in CLOSING and open_:
                self.partner[at] = open_.pop()
                self.partner[self.partner[at]] = at
        self.functions = self.find_functions()
        self.memory = self.find_memory()

    def text(self, at):
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def between(self, first, last):
        return " ".join(self.source[self.tokens[first].begin:self.tokens[last].end].split())

    def find_functions(self):
        """(first, last token, name) of every body."""
        bodies, at = [], 0
        while at < len(self.tokens):
            if self.text(at) == "{" and self.text(at - 1) == ")" and at in self.partner:
                bodies.append((at, self.partner[at], self.text(self.partner[at - 1] - 1)))
                at = self.partner[at]
            at += 1
        return bodies

    def find_memory(self):
        """Names that are global or local arrays, or point to such."""
        names = set()
        for at, token in enumerate(self.tokens):
            if token.text not in MEMORY:
                continue
            is_variable = token.text.endswith("local") and self.ends_with_semicolon(at)
            for name in range(at + 1, len(self.tokens)):
                if self.text(name) in {";", ")", "=", "{"} or self.text(name) == "," and not is_variable:
                    break
                if re.fullmatch(r"[A-Za-z_]\w*", self.text(name)) and self.text(name + 1) in {"[", ",", ";", ")", "="}:
                    names.add(self.text(name))
        return names

    def ends_with_semicolon(self, at):
        depth = 0
        for token in self.tokens[at:]:
            depth += (token.text in OPENING) - (token.text in CLOSING)
            if depth < 0:
                return False
            if token.text == ";":
                return True
        return False

    def begin_of(self, at, stops):
        """The first token behind one of `stops` at this depth, or where the depth begins."""
        while at > 0 and self.text(at - 1) not in stops and self.text(at - 1) not in OPENING:
            at = self.partner[at - 1] if self.text(at - 1) in CLOSING else at - 1
        return at

    def replaced(self, first, last, text):
        return self.source[:self.tokens[first].begin] + text + self.source[self.tokens[last].end:]

    def end_of(self, at, stops):
        """The last token before one of `stops` at this depth, or before the depth ends."""
        while at + 1 < len(self.tokens):
            if self.text(at) in OPENING and at in self.partner:
                at = self.partner[at]
            if self.text(at + 1) in stops or self.text(at + 1) in CLOSING:
                break
            at += 1
        return at


def barriers(text, first, last):
    for at in range(first, last):
        if text.text(at) in BARRIERS and text.text(at + 1) == "(":
            end = text.partner[at + 1]
            yield "barrier", (at, end), "(void)0"


def conditions(text, first, last):
    """(first, last token) of what `if`, `while`, `for` and `?:` ask; whether it is a guard, and what passes it."""
    for at in range(first, last):
        if text.text(at) in {"if", "while"} and text.text(at + 1) == "(":
            end = text.partner[at + 1]
            behind = end + 2 if text.text(end + 1) == "{" else end + 1
            passes = None if text.text(at) == "while" else "0" if text.text(behind) in LEAVING else "1"
            yield at + 2, end - 1, passes
        elif text.text(at) == "for" and text.text(at + 1) == "(":
            begin = text.end_of(at + 2, {";"}) + 2 if text.text(at + 2) != ";" else at + 3
            if text.text(begin) != ";":
                yield begin, text.end_of(begin, {";"}), None
        elif text.text(at) == "?":
            begin = text.begin_of(at, {"return", ";", ",", ":", *ASSIGNMENTS})
            yield begin, at - 1, "1"


def bounds(text, first, last):
    for begin, end, passes in conditions(text, first, last):
        relations = [at for at in range(begin, end) if text.text(at) in RELATIONS]
        if relations and passes is not None:
            yield "guard", (begin, end), passes
        for at in relations:
            operand = text.end_of(at + 1, ENDS_OPERAND)
            bound = text.source[text.tokens[at + 1].begin:text.tokens[operand].end]
            steps = "+" if text.text(at).startswith("<") else "+-"
            for step in steps:
                yield "bound", (at + 1, operand), f"({bound}) {step} 1"


def stores(text, first, last):
    at = first
    while at < last:
        begins = text.text(at - 1) in {";", "{", "}", ",", ")", "else", ":"}
        name = at + 1 if text.text(at) == "*" else at
        if begins and re.match(r"atom(ic)?_", text.text(at)) and text.text(at + 1) == "(":
            yield "store", (at, text.partner[at + 1]), "(void)0"
        elif begins and text.text(name) in text.memory and (name > at or text.text(name + 1) == "["):
            place = name
            while text.text(place + 1) in {"[", "."}:
                place = text.partner[place + 1] if text.text(place + 1) == "[" else place + 2
            if text.text(place + 1) in ASSIGNMENTS:
                end = text.end_of(place + 2, {";", ","})
                yield "store", (at, end), "(void)0"
        at += 1


def mutants_of(source):
    text = Text(source)
    for first, last, function in text.functions:
        for find in (barriers, bounds, stores):
            for kind, (begin, end), instead in find(text, first, last):
                what = text.between(begin, end)
                if kind == "bound":
                    compared = text.begin_of(begin - 1, ENDS_OPERAND | ASSIGNMENTS | {"return"})
                    what = f"{text.between(compared, begin - 1)} {instead}"
                yield Mutant(kind, function, what, text.replaced(begin, end, instead))


def with_filled_locals(source):
    """The source with local arrays that have margins and begin, as their margins do, as LOCAL_FILL says: nothing that a
    right kernel can see."""
    text, pieces, done = Text(source), [], 0
    for first, last, _ in text.functions:
        for at in range(first, last):
            if text.text(at) not in {"local", "__local"} or not text.ends_with_semicolon(at) or text.text(at - 1) not in {"{", ";", "}"}:
                continue
            end = text.end_of(at, {";"}) + 1
            names = [place for place in range(at, end) if text.text(place + 1) == "[" and re.match(r"[A-Za-z_]", text.text(place))]
            names = [place for place in names if text.text(place - 1) != "["]
            if "*" in [token.text for token in text.tokens[at:end]] or not names:
                continue
            behind = ""
            for place in names:
                name, size = text.text(place), text.between(place + 2, text.partner[place + 1] - 1)
                pieces.append(source[done:text.tokens[place].begin] + f"{name}_in_margins[3 * ({size})]")
                done = text.tokens[text.partner[place + 1]].end
                behind += f" FILL_LOCAL({name}_in_margins)\n#define {name} ({name}_in_margins + ({size}))\n"
            pieces.append(source[done:text.tokens[end].end] + behind)
            done = text.tokens[end].end
    # Each fill ends with a barrier of its own.
    head = """#define FILL_LOCAL(all) { uint own = get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2)); \\
 for (uint at = own; at < sizeof(all) / 4; at += get_local_size(0) * get_local_size(1) * get_local_size(2)) ((local uint*)all)[at] = LOCAL_FILL; barrier(CLK_LOCAL_MEM_FENCE); }
"""
    return head + "".join(pieces) + source[done:]
