"""The metrics of whole conversations. A row of one turn is judged by its own answer only."""

from __future__ import annotations

from answerkey.embed import Embedder, load_embedder
from answerkey.metrics.conversation.asked_again import find_repetition
from answerkey.metrics.conversation.contradictions import find_contradiction
from answerkey.metrics.conversation.languages import detect_message_language
from answerkey.metrics.conversation.read_turns import Conversation, is_english, read_conversation
from answerkey.metrics.conversation.resolution import find_resolution
from answerkey.metrics.registry import metric
from answerkey.text import short_label
from answerkey.types import Case, Response, Score

_EMPTY = "not applicable to a single question"
_NO_CONVERSATION = "no conversation"
# How a simulated user notes the end of its conversation (runs/simulated_user.py).
_ENDED = "user_ended"
_REACHED = "goal reached"
_ONLY_ENGLISH = "the phrases and the entailment model are English only"


def _read(case: Case, response: Response) -> Conversation | Score:
    conversation = read_conversation(case, response)
    if conversation is None:
        return Score.not_applicable(_NO_CONVERSATION)
    if not is_english(conversation.turns):
        return Score.not_applicable(_ONLY_ENGLISH)
    return conversation


def _read_whole(case: Case, response: Response) -> Conversation | Score:
    conversation = _read(case, response)
    if isinstance(conversation, Conversation) and conversation.is_part:
        return Score.not_applicable("one turn; the row of the conversation has the value")
    return conversation


@metric("resolved", uses=("answer",), empty=_EMPTY, version=2)  # fitted weights
def resolved(case: Case, response: Response, *, embed: Embedder | None = None) -> Score:
    """1 where the conversation ends with the problem solved, else 0.

    Solved: the user thanks and leaves, or the last question is answered. Not solved: the user
    complains, asks the same again or wants a person; the bot declines, repeats an answer or still
    asks. Decided by fitted weights of such features. English only.
    A simulated user says itself whether its goal was reached.
    """
    ended = response.extra.get(_ENDED)
    if isinstance(ended, str):
        return Score(float(ended == _REACHED), ended)
    conversation = _read_whole(case, response)
    if isinstance(conversation, Score):
        return conversation
    resolution = find_resolution(conversation.turns, embed or load_embedder())
    return Score(float(resolution.is_resolved), resolution.ending.value)


@metric(
    "turns_to_resolution",
    uses=("answer",),
    high=None,
    better="lower",
    empty=_EMPTY,
    version=2,  # follows `resolved`
)
def turns_to_resolution(case: Case, response: Response, *, embed: Embedder | None = None) -> Score:
    """Number of turns until the problem was solved; not applicable where it was not.

    Two questions, two answers, then thanks: 2. English only.
    """
    ended = response.extra.get(_ENDED)
    if ended == _REACHED:
        return Score(float(len(response.turns)))
    if isinstance(ended, str):
        return Score.not_applicable(f"not solved: {short_label(ended)}")
    conversation = _read_whole(case, response)
    if isinstance(conversation, Score):
        return conversation
    resolution = find_resolution(conversation.turns, embed or load_embedder())
    if not resolution.is_resolved:
        return Score.not_applicable(f"not solved: {resolution.ending.value}")
    return Score(float(resolution.turns))


@metric("asked_again", needs=("answer",), better="lower", empty=_EMPTY)
def asked_again(case: Case, response: Response) -> Score:
    """1 where the bot asks for something that the user already gave, else 0.

    "What is your order number?" after "My order number is 4711". A question that is repeated
    because the reply was not valid does not count. English only.
    """
    conversation = _read(case, response)
    if isinstance(conversation, Score):
        return conversation
    for place in conversation.judged_places:
        repetition = find_repetition(conversation.turns, place)
        if repetition is None:
            continue
        question = short_label(repetition.question)
        message = short_label(repetition.message)
        reason = f'turn {place + 1} asks "{question}", the user wrote "{message}"'
        details = {"turn": place + 1, "question": question, "message": message}
        return Score(1.0, reason, details=details)
    return Score(0.0)


@metric(
    "contradicts_itself",
    needs=("answer",),
    better="lower",
    empty=_EMPTY,
    version=2,  # fitted weights
)
def contradicts_itself(case: Case, response: Response, *, embed: Embedder | None = None) -> Score:
    """1 where an answer contradicts an earlier answer of the conversation, else 0.

    "Delivery takes 3 days" and later "Delivery takes 5 days". A correction that is named as one
    does not count. Decided by fitted weights of a few features, among them the entailment
    model. English only.
    """
    conversation = _read(case, response)
    if isinstance(conversation, Score):
        return conversation
    for place in conversation.judged_places:
        contradiction = find_contradiction(conversation.turns, place, embed or load_embedder())
        if contradiction is None:
            continue
        statement = short_label(contradiction.statement)
        earlier = short_label(contradiction.earlier)
        reason = f'turn {place + 1} says "{statement}", before "{earlier}"'
        return Score(1.0, reason, details={"turn": place + 1})
    return Score(0.0)


@metric("language_kept", needs=("answer",), empty=_EMPTY)
def language_kept(case: Case, response: Response) -> Score:
    """Share of the answers that are in the language of the user's message.

    A German question that gets an English answer, of two: 0.5. Messages and answers whose
    language is unclear do not count: "OK", a name, a number.
    """
    conversation = read_conversation(case, response)
    if conversation is None:
        return Score.not_applicable(_NO_CONVERSATION)
    # A first message such as "My order?" is in the language of the messages that follow it.
    languages = (detect_message_language(turn.user) for turn in conversation.turns)
    language = next((each for each in languages if each is not None), None)
    right = 0
    wrong: list[str] = []
    for place, turn in enumerate(conversation.turns):
        language = detect_message_language(turn.user) or language
        answer_language = detect_message_language(turn.answer)
        if place < conversation.first or language is None or answer_language is None:
            continue
        if answer_language == language:
            right += 1
        else:
            wrong.append(f"turn {place + 1} is in {answer_language}, the user writes {language}")
    if not right and not wrong:
        return Score.not_applicable("the language is unclear")
    return Score(right / (right + len(wrong)), "; ".join(wrong[:3]))
