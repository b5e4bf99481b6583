"""Reads commands: lists, pipelines, loops, functions, redirections and here-documents."""

from __future__ import annotations

import re
from collections.abc import Callable

from pi.base.records import replace
from pi.coding.shell.command_line.arguments import DECIDING_VARIABLES, Names
from pi.coding.shell.command_line.parts import Assignment, CommandPart, CommandWord, Redirection
from pi.coding.shell.command_line.words import HereDocument, Malformed, Source, WordReader

_REDIRECTION = re.compile(
    r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|>>|>\||>&|<(?!\()|>(?!\())|()(&>>|&>)", re.ASCII
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\[\]\s'\"`$;&|<>()]*\])?\+?=", re.ASCII)
_ODD_SUBSCRIPT = re.compile(
    r"(?:[A-Za-z_]\w*)?\[(?:[^\]]*?[\s'\"`$;&|<>()\\\[]|[^\]]*\Z)", re.ASCII
)
"""A subscript that is more than a name or number: bash reads it up to its bracket, over spaces."""
_RESERVED = re.compile(r"(?:[a-z]+|[!{}]|\[\[)(?=[ \t\n;&|<>()]|\Z)")
_CONDITION_END = re.compile(r"\]\](?=[ \t\n;&|<>()]|\Z)")
_COPROC_NAME = re.compile(
    r"[A-Za-z_]\w*[ \t]+(?=[{(]|(?:if|while|until|for|case|\[\[)[ \t\n])", re.ASCII
)
_ARITHMETIC = re.compile(r"\"?\$\(\([^()]*\)\)\"?")
"""An expression alone, whose value is a number."""
_DELIMITER = " \t\n;&|<>()"
_ENDING = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}", "in"})
_DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly", "alias", "eval"})
_MISLEADING = re.compile(r"[\"'`\n]|\bcase\b|\besac\b|(?:^|\s)#")
"""Text in an expression for which bash may find another end of the expression than this parser."""


class Grammar:
    """Reads one script, and calls ``add_part`` with every command of it."""

    def __init__(
        self,
        text: str,
        names: Names,
        add_part: Callable[[CommandPart], None],
        inside: tuple[str, ...] = (),
        depth: int = 0,
    ) -> None:
        self._source = Source(text, depth)
        self._names = names
        self._found = add_part
        self._inside = inside
        self._pending: list[HereDocument] = []
        self._words = WordReader(
            self._source,
            commands=self._read_substitution,
            quoted_commands=self._read_backquoted,
            arithmetic=self._read_arithmetic,
            assigned=self._assigned_by_expansion,
            report_problem=self._report_problem,
        )

    def read(self) -> None:
        """Read the whole script; raises ``Malformed``."""
        self._read_list()
        if self._source.at < len(self._source.text):
            raise Malformed(f"syntax error near {self._source.peek(10)!r}")
        self._read_documents()  # the end of the text ends them too, as in bash

    # Lists and pipelines -------------------------------------------------------------------------

    def _read_list(self) -> int:
        """Read commands up to the end of the list; returns their number."""
        count = 0
        self._skip_newlines()
        while not self._at_end():
            self._and_or()
            count += 1
            self._skip_blanks()
            if not self._read_separator():
                break
            self._skip_newlines()
        return count

    def _read_separator(self) -> bool:
        source = self._source
        if source.peek() == "\n":
            return True
        if source.peek(2) in (";;", ";&"):
            return False
        return source.take(";") or source.take("&")

    def _nonempty_list(self, what: str) -> None:
        if self._read_list() == 0:
            raise Malformed(f"syntax error: {what} is empty")

    def _at_end(self) -> bool:
        source = self._source
        if source.at >= len(source.text) or source.peek() == ")" or source.peek(2) in (";;", ";&"):
            return True
        return self._peek_reserved() in _ENDING - {"in"}

    def _and_or(self) -> None:
        self._read_pipeline()
        while self._skip_blanks() and (self._source.take("&&") or self._source.take("||")):
            self._skip_newlines()
            self._read_pipeline()

    def _read_pipeline(self) -> None:
        while (word := self._peek_reserved()) in ("!", "time"):
            self._source.at += len(word)
            self._skip_blanks()
            if word == "time" and self._source.peek(3) in ("-p ", "-p\t"):
                self._source.at += 2
                self._skip_blanks()
            if self._is_empty():
                return  # "!" and "time" alone are commands
        self._read_command()
        while self._skip_blanks() and self._source.peek(2) != "||" and self._source.take("|"):
            self._source.take("&")
            self._skip_newlines()
            self._read_command()

    def _is_empty(self) -> bool:
        return self._source.peek() in ("", "\n", ";", "&", "|", ")")

    def _read_command(self) -> None:
        source = self._source
        self._skip_blanks()
        source.enter()
        word = self._peek_reserved()
        if source.peek(2) == "((" and source.closes_twice(2):
            source.at += 2
            self._words.skip_arithmetic("))")
            self._read_redirections()
        elif source.take("("):
            self._nonempty_list("a subshell")
            self._expect(")")
            self._read_redirections()
        elif word in _COMPOUND:
            source.at += len(word)
            _COMPOUND[word](self)
            if word != "coproc":
                self._read_redirections()
        elif word in _ENDING - {"in"}:
            raise Malformed(f"syntax error near {word!r}")
        else:
            self._read_simple()
        source.depth -= 1

    # Compound commands ---------------------------------------------------------------------------

    def _read_group(self) -> None:
        self._nonempty_list("a group")
        self._expect_word("}")

    def _read_if(self) -> None:
        self._nonempty_list("a condition")
        self._expect_word("then")
        self._nonempty_list("a branch")
        while self._take_word("elif"):
            self._nonempty_list("a condition")
            self._expect_word("then")
            self._nonempty_list("a branch")
        if self._take_word("else"):
            self._nonempty_list("a branch")
        self._expect_word("fi")

    def _read_loop(self) -> None:
        self._nonempty_list("a condition")
        self._read_body()

    def _read_body(self) -> None:
        self._expect_word("do")
        self._nonempty_list("a loop")
        self._expect_word("done")

    def _read_for(self) -> None:
        self._skip_blanks()
        if self._source.take("(("):
            self._words.skip_arithmetic("))")
            self._skip_blanks()
            self._source.take(";")
            self._skip_newlines()
        else:
            variable = self._read_word("a loop without a variable")
            self._names.assign(variable.raw, None)
            self._emit(CommandPart(assignments=(Assignment(name=variable.raw, value=variable),)))
            self._skip_newlines()
            if self._take_word("in"):
                self._read_items()
            else:
                self._source.take(";")
                self._skip_newlines()
        if self._peek_reserved() == "{":  # an old form that bash still accepts
            self._source.at += 1
            self._read_group()
        else:
            self._read_body()

    def _read_items(self) -> None:
        while self._skip_blanks() and self._words.read() is not None:
            pass
        if not (self._source.take(";") or self._source.peek() == "\n"):
            raise Malformed("syntax error in the words of a loop")
        self._skip_newlines()

    def _read_case(self) -> None:
        self._skip_blanks()
        self._read_word("a case without a word")
        self._skip_newlines()
        self._expect_word("in")
        self._skip_newlines()
        while not self._take_word("esac"):
            self._skip_blanks()
            self._source.take("(")
            self._skip_blanks()
            self._read_word("a case without a pattern")
            while self._skip_blanks() and self._source.take("|"):
                self._skip_blanks()
                self._read_word("a case without a pattern")
            self._expect(")")
            self._read_list()
            self._skip_blanks()
            if any(map(self._source.take, (";;&", ";;", ";&"))):
                self._skip_newlines()
            elif self._peek_reserved() != "esac":
                raise Malformed("syntax error in a case")

    def _read_function(self) -> None:
        self._skip_blanks()
        name = self._read_word("a function without a name")
        self._skip_blanks()
        if self._source.take("("):
            self._expect(")")
        self._define(name)

    def _define(self, name: CommandWord) -> None:
        self._skip_newlines()
        if self._peek_reserved() not in _COMPOUND and self._source.peek() != "(":
            raise Malformed("syntax error: a function without a body")
        before, self._inside = self._inside, (*self._inside, f"function {name.raw}")
        self._read_command()
        self._inside = before

    def _read_condition(self) -> None:
        """Read ``[[ … ]]``: only expansions and compared numbers run commands."""
        source, before = self._source, ""
        words: list[CommandWord] = []
        while True:
            self._skip_newlines()
            if _CONDITION_END.match(source.text, source.at):
                source.at += 2
                break
            # Behind =~ parentheses and bars belong to the pattern; elsewhere they group.
            word = self._words.read("()|<>" if before == "=~" else "")
            if word is None:
                if source.peek() not in tuple("()<>&|"):
                    raise Malformed("[[ is not closed")
                source.at += 1
                before = ""
                continue
            before = word.raw
            words.append(word)
        for index, word in enumerate(words):
            if word.raw in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"):
                for operand in (*words[max(index - 1, 0) : index], *words[index + 1 : index + 2]):
                    self._evaluate_operand(operand, is_name=word.raw in ("-v", "-R"))

    def _evaluate_operand(self, operand: CommandWord, *, is_name: bool) -> None:
        """Note what ``[[ … -eq … ]]`` and ``[[ -v … ]]`` evaluate."""
        if {"command", "process"} & set(operand.expands):
            self._names.evaluate("$()")
        elif not is_name or operand.literal is None:
            self._names.evaluate(operand.raw)
        if "[" in (operand.text or ""):
            # Quotes do not help: the subscript of 'a[$(cmd)]' is evaluated as well.
            self._report_problem("an array subscript may be evaluated")

    def _read_coproc(self) -> None:
        """Read ``coproc [NAME] command``; a name stands only before a compound command."""
        self._skip_blanks()
        if named := _COPROC_NAME.match(self._source.text, self._source.at):
            self._source.at = named.end()
        self._read_command()

    # Simple commands -----------------------------------------------------------------------------

    def _read_simple(self) -> None:
        words: list[CommandWord] = []
        assignments: list[Assignment] = []
        redirections: list[Redirection] = []
        documents: list[HereDocument] = []
        start = self._source.at
        while self._skip_blanks():
            if (redirection := self._read_redirection(documents)) is not None:
                redirections.append(redirection)
                continue
            declares = bool(words) and words[0].literal in _DECLARING
            if (not words or declares) and self._read_assignment(
                assignments, words if declares else None
            ):
                continue
            if (expanded := self._words.read_all()) is not None:
                words += expanded
                continue
            is_alone = len(words) == 1 and not assignments and not redirections
            if self._source.peek() == "(" and is_alone:
                self._source.at += 1
                self._expect(")")
                self._define(words[0])
                return
            break
        if self._source.at == start:
            raise Malformed(f"syntax error near {self._source.peek(10) or 'the end'!r}")
        if self._source.peek() == "(":
            raise Malformed("syntax error near '('")
        part = CommandPart(
            words=tuple(words),
            assignments=tuple(assignments),
            redirections=tuple(redirections),
        )
        self._emit(part, documents)

    def _read_redirections(self) -> None:
        """Read the redirections behind a compound command."""
        redirections: list[Redirection] = []
        documents: list[HereDocument] = []
        while (
            self._skip_blanks() and (redirection := self._read_redirection(documents)) is not None
        ):
            redirections.append(redirection)
        if redirections:
            self._emit(CommandPart(redirections=tuple(redirections)), documents)

    def _read_redirection(self, documents: list[HereDocument]) -> Redirection | None:
        source = self._source
        match = _REDIRECTION.match(source.text, source.at)
        if match is None:
            return None
        source.at = match.end()
        self._skip_blanks()
        operator = match[2] or match[4]
        if operator in ("<&", ">&") and source.peek() == "-":
            source.at += 1  # a word of its own for bash: ``2>&-rm x`` runs ``rm x``
            target = CommandWord(raw="-", text="-", prefix="-")
            if source.peek() == "#":
                raise Malformed("a comment without a space before it")
        else:
            target = self._read_word(f"{operator} without a target")
        descriptor = match[1] or ""
        if descriptor.startswith("{"):
            self._assigned_by_redirection(descriptor[1:-1])
        redirection = Redirection(operator=operator, target=target, descriptor=descriptor)
        if operator == "<<<":
            return replace(redirection, document=target.literal and target.literal + "\n")
        if operator in ("<<", "<<-"):
            document = HereDocument(target.raw, strip=operator == "<<-", together=documents)
            documents.append(document)
            self._pending.append(document)
        return redirection

    def _read_assignment(
        self, assignments: list[Assignment], words: list[CommandWord] | None
    ) -> bool:
        """Read ``name=value``, if it is next; for a declaring command it is also a word."""
        source = self._source
        match = _ASSIGNMENT.match(source.text, source.at)
        if match is None:
            if source.peek() != "[" and _ODD_SUBSCRIPT.match(source.text, source.at):
                self._report_problem("an array subscript may be evaluated")
            return False
        start = source.at
        if match[2]:
            self._names.evaluate(match[2])
        source.at = match.end()
        if source.peek() == "(":
            value = self._read_array()
            if self._words.read() is not None:  # "a=(b)c" is one word
                self._report_problem("text follows an array")
        else:
            value = self._words.read() or CommandWord(raw="", text="")
            value = replace(value, single=True)  # values are not split
        is_number = _ARITHMETIC.fullmatch(value.raw) is not None
        self._names.assign(match[1], "0" if is_number else value.literal)
        assignments.append(Assignment(name=match[1], value=value))
        if words is not None:
            raw = source.text[start : source.at]
            text = None if value.literal is None else match[0] + value.literal
            words.append(CommandWord(raw=raw, text=text, prefix=match[0], expands=value.expands))
        return True

    def _read_array(self) -> CommandWord:
        source, start = self._source, self._source.at
        source.at += 1
        self._skip_newlines()
        while True:
            if source.peek() == "[" and _ODD_SUBSCRIPT.match(source.text, source.at):
                self._report_problem("an array subscript may be evaluated")
            if (word := self._words.read()) is None:
                break
            if "]=" in word.raw:
                self._names.evaluate(word.raw)
            self._skip_newlines()
        self._expect(")")
        return CommandWord(raw=source.text[start : source.at], expands=("variable",), single=False)

    # Tokens --------------------------------------------------------------------------------------

    def _emit(self, part: CommandPart, documents: list[HereDocument] | None = None) -> None:
        part = replace(part, inside=self._inside)
        if documents:  # their text follows at the end of the line
            documents[0].part = part
            self._report(documents[0])
        else:
            self._found(part)

    def _report(self, document: HereDocument) -> None:
        """Report a command once it and all of its here-documents are read."""
        if (part := document.command()) is not None:
            self._found(part)

    def _read_word(self, message: str) -> CommandWord:
        word = self._words.read()
        if word is None:
            raise Malformed(f"syntax error: {message}")
        return word

    def _peek_reserved(self) -> str:
        """Return the reserved word that is next, or an empty string."""
        self._skip_blanks()
        match = _RESERVED.match(self._source.text, self._source.at)
        return match[0] if match and (match[0] in _COMPOUND or match[0] in _OTHER) else ""

    def _take_word(self, word: str) -> bool:
        if self._peek_reserved() != word:
            return False
        self._source.at += len(word)
        return True

    def _expect_word(self, word: str) -> None:
        if not self._take_word(word):
            near = self._source.peek(10) or "the end"
            raise Malformed(f"syntax error: expected {word!r} near {near!r}")

    def _expect(self, token: str) -> None:
        self._skip_newlines() if token == ")" else self._skip_blanks()
        if not self._source.take(token):
            near = self._source.peek(10) or "the end"
            raise Malformed(f"syntax error: expected {token!r} near {near!r}")

    def _skip_blanks(self) -> bool:
        """Skip spaces, continued lines and a comment; always true, to be used in conditions."""
        source = self._source
        while True:
            if source.peek() in (" ", "\t"):
                source.at += 1
            elif source.peek(2) == "\\\n":
                source.at += 2
            elif source.peek() == "#" and (
                source.at == 0 or source.text[source.at - 1] in _DELIMITER
            ):
                end = source.text.find("\n", source.at)
                source.at = len(source.text) if end < 0 else end
            else:
                return True

    def _skip_newlines(self) -> None:
        while self._skip_blanks() and self._source.take("\n"):
            self._read_documents()

    def _read_documents(self) -> None:
        pending, self._pending = self._pending, []
        for document in pending:
            text = document.read(self._source)
            document.text = text if document.is_quoted else self._expand_document(text)
            document.is_read = True
            self._report(document)

    # Nested scripts and expressions --------------------------------------------------------------

    def _expand_document(self, text: str) -> str | None:
        """Return the text of a here-document; ``None`` if it has expansions."""
        inside = (*self._inside, "here-document")
        inner = Grammar(text, self._names, self._found, inside, self._source.depth + 1)
        return inner._words.read_document()

    def _read_substitution(self, kind: str) -> None:
        """Read the commands of a substitution up to its parenthesis."""
        outer, self._pending = self._pending, []
        before, self._inside = self._inside, (*self._inside, kind)
        self._read_list()
        self._expect(")")
        if self._pending:
            raise Malformed("a here-document is not closed")
        self._pending, self._inside = outer, before

    def _read_backquoted(self, script: str) -> None:
        inside = (*self._inside, "substitution")
        Grammar(script, self._names, self._found, inside, self._source.depth).read()

    def _assigned_by_expansion(self, name: str) -> None:
        self._names.assign(name, None)
        self._decides(name)

    def _assigned_by_redirection(self, name: str) -> None:
        self._names.assign(name, "0")  # the number of the descriptor
        self._decides(name)

    def _decides(self, name: str) -> None:
        if DECIDING_VARIABLES.fullmatch(name):
            self._report_problem(f"{name} decides which programs run")

    def _read_arithmetic(self, expression: str) -> None:
        if _MISLEADING.search(expression):
            self._report_problem("an arithmetic expression contains quotes")
        self._names.evaluate(expression)

    def _report_problem(self, reason: str) -> None:
        self._found(CommandPart(inside=self._inside, unresolved=reason))


_COMPOUND: dict[str, Callable[[Grammar], None]] = {
    "{": Grammar._read_group,
    "if": Grammar._read_if,
    "while": Grammar._read_loop,
    "until": Grammar._read_loop,
    "for": Grammar._read_for,
    "select": Grammar._read_for,
    "case": Grammar._read_case,
    "function": Grammar._read_function,
    "[[": Grammar._read_condition,
    "coproc": Grammar._read_coproc,
}
_OTHER = frozenset({*_ENDING, "!", "time"})
