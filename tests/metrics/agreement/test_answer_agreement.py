"""answer_agreement: aliases, figures, dates, refusals, yes and no; against people's labels where the data is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import answerkey as ak
from answerkey.metrics.agreement.answer_agreement import answer_agreement, references
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Response, Score


def score(answer: str, *expected: str, question: str = "") -> Score:
    pairs = [(Case("1", question, expected=expected), Response(answer=answer))]
    return make_plan(["answer_agreement"], {}).score(pairs)[0]["answer_agreement"]


def value(answer: str, *expected: str, question: str = "") -> float:
    found = score(answer, *expected, question=question).value
    assert found is not None
    return found


RIGHT_AND_WRONG = [
    ("Which plan has phone support?", "The Pro plan.", "Phone support comes with the Pro plan.", "The Basic plan."),
    ("What is the mixing ratio?", "Mix water and concentrate 4:1.", "It is 4:1.", "Mix water and concentrate 1:4."),
    ("Can I return it?", "Yes, within 30 days with a receipt.", "Yes, within 30 days; you need a receipt.", "Yes, within 30 days, no receipt needed."),
    ("who got the first nobel prize in physics", "Wilhelm Conrad Röntgen", "It went to Wilhelm Röntgen in 1901.", "It went to Marie Curie in 1903."),
    ("when was saarc formed", "8 December 1985", "SAARC was formed on December 8, 1985.", "SAARC was formed on December 8, 1995."),
    ("how long is the bridge", "12.9-kilometre", "The bridge is 12.9 km long.", "The bridge is 21.9 km long."),
    ("what is the FY2018 capital expenditure of 3M", "$1577.00", "3M spent $1,577 million on capital expenditure in FY2018.", "3M spent $1,677 million on capital expenditure in FY2018."),
    ("what was the growth of revenue", "12.5%", "Revenue grew by 12.5 percent.", "Revenue grew by 17.5 percent."),
    ("what is the quick ratio", "0.96", "The quick ratio is about 0.96, from current assets of $4,204 million.", "The quick ratio is about 1.57, from current assets of $4,204 million."),
    ("is 3M capital-intensive", "No, its CAPEX is small.", "No. Its CAPEX is a small share of revenue.", "Yes. Its CAPEX is a large share of revenue."),
    ("what is the revenue of Boeing", "$66.6 billion", "Boeing's revenue was $66,608 million.", "I'm sorry, the context does not include Boeing's revenue."),
    ("how many amendments are there", "Twenty-seven", "There are 27 amendments.", "There are 21 amendments."),
    ("how many people", "15 million", "15,000,000", "1.5 million"),
    ("How much notice is needed?", "At least eight weeks", "8 weeks or more", "8 weeks at most"),
    ("What is the minimum deposit?", "$500", "You have to deposit at least 500 dollars.", "You can deposit at most 500 dollars."),
    ("In which quarter was it sold?", "In the first quarter of 2022", "It was sold in Q1 2022.", "It was sold in Q4 2022."),
    ("How often is interest paid?", "Quarterly", "Every three months.", "Once a year."),
    ("What are assets and debts?", "Assets were $6 million and debts $3 million.", "Debts were $3 million, assets $6 million.", "Assets were $3 million and debts $6 million."),
    ("How did profit change?", "It fell from $41 million to $36 million.", "It decreased by 5 million dollars, to 36 million.", "It rose by 5 million dollars, to 36 million."),
    ("When should they be watered?", "In the morning, never in the evening", "Water them early, not in the evening.", "Water them in the evening, never in the morning."),
    ("Is the network enabled by default?", "No, it is off by default.", "The network is disabled at first; you have to switch it on.", "The network is switched on by default."),
    ("Can unused leave be kept?", "Yes, up to five days.", "You can keep five days.", "Unused leave lapses at the end of the year."),
    ("Which teams may deploy?", "Every team except the interns", "All teams except interns may deploy.", "Every team including the interns may deploy."),
    ("what does it cost", "$12.34", "It costs $12.34.", "It costs $1,234."),
    ("how many", "3 million", "three million", "three billion"),
    ("when was it", "January 5, 2020", "On Jan. 5, 2020.", "On Jan. 6, 2020."),
    ("which century", "21st", "The twenty-first.", "The twenty-second."),
    ("who presented it first", "David Vine", "It was David Vine.", "It was David Coleman."),
    ("what is the largest lake", "Lough Corrib", "Lough Corrib", "Lough Derg"),
    ("which plan", "Plan A", "It is plan A.", "It is plan B."),
    ("how many wars", "three", "There were 3 wars.", "There were 5 wars."),
    ("who won most medals", "Norway", "The Norwegian team did.", "The Swedish team did."),
    ("when was the last wolf killed", "1926", "In 1926.", "In 1962."),
    ("which bone is it", "Shoulder blade", "Shoulderblade", "Collarbone"),
    ("who was killed at Flodden", "James IV", "King James IV", "James V"),
    ("which city was Venta", "Winchester", "It was Winchester.", "It was Chichester."),
    ("what was his profession", "Archaeologist", "He worked in archaeology.", "He worked in finance."),
    ("what was the free cash flow, in USD thousands", "$(11,203)", "It was negative: $11,203 thousand.", "It came to $11,203 thousand."),
    ("by how much did the tax rate change", "It decreased by 2.6 points (from 24.9% to 22.3%).", "It fell by 2.6 points, from 24.9% to 22.3%.",
     "It was 24.9% and then 22.3%, so it increased by 2.6 points."),
    ("How much does a dose contain?", "500 mg of paracetamol", "Half a gram of paracetamol.", "Half a kilo of paracetamol."),
    ("What happened to the euro?", "The euro fell 0.7% against the dollar.", "The euro dropped by 0.7%.", "The dollar fell and the euro rose 0.7%."),
    ("How much data do I get?", "15 GB per billing month", "15 GB a month.", "15 GB a day."),
    ("Do I need to be at home?", "No, the meters are read by radio.", "That's not necessary, the meters are read by radio.", "You do, as nobody can read the meters otherwise."),
]  # fmt: skip


@pytest.mark.parametrize(("question", "expected", "right", "wrong"), RIGHT_AND_WRONG)
def test_a_right_answer_is_above_a_wrong_one(
    question: str, expected: str, right: str, wrong: str
) -> None:
    good, bad = value(right, expected, question=question), value(wrong, expected, question=question)
    assert good > 0.5 > bad


# Unit costs in cents, figures that come twice, dates of two months, and answers that decline were taken for their opposite.
COPIED = [
    ("How did unit costs change?", "Unit costs rose 5.8% to 9.1 cents, because of the new contract and higher fees."),
    ("How does the deposit work?", "You pay 25 cents per bottle. When you return the bottle to a shop, you get the 25 cents back."),
    ("Can I swim in the lake?", "Yes, from 15 May to 15 September. A lifeguard is there from 10:00 to 18:00 in July and August only."),
    ("How does it change?", "The contract runs for two years, not three, and costs 7,200 euros a month, compared with 6,500 before."),
    ("Does the API support webhooks?", "The documentation does not say."),
    ("What did the audit find?", "I'm sorry, the documents contain no audit findings about the subsidiary."),
]  # fmt: skip
WRAPPED = ("{}", "Hi! {} I hope that helps!", "{} [1]", "**{}**", "According to the documents, {}")


@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize(("question", "expected"), COPIED)
def test_a_copy_of_the_expected_answer_is_right(question: str, expected: str, wrapped: str) -> None:
    assert value(wrapped.format(expected), expected, question=question) > 0.5


@pytest.mark.parametrize("expected", ["Type O", "Vitamin C", "Malcolm X"])
def test_a_letter_is_a_word(expected: str) -> None:
    assert (
        value(f"It was {expected}.", expected) > value(f"It was {expected[:-1]}B.", expected) + 0.3
    )


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("World Meteorological Organization", "WMO"),
        ("UNEP", "United Nations Environment Programme"),
        ("World Meteorological Organization", "It was founded by the WMO."),
    ],
)
def test_an_abbreviation_agrees_with_the_name_that_it_stands_for(
    expected: str, answer: str
) -> None:
    right, wrong = answer_agreement(
        [
            (Case("1", "Who publishes the report?", (expected,)), Response(text))
            for text in (answer, "NATO")
        ]
    )
    assert (right.value or 0) > 0.7
    assert (wrong.value or 0) < 0.3


@pytest.mark.parametrize("part", ["abc{0} ", "{0},{0}.5 ", " \n", "1 / ", "not {0} ", "(a{0} "])
def test_long_texts_take_no_long_time(part: str) -> None:
    """Not timed: a product of both lengths would take minutes, and the suite would stop."""
    long = "".join(part.format(n) for n in range(6000))
    assert 0.0 <= value(long, long[: len(long) // 2] + " end") <= 1.0


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("Neil Young", "It was written by Neil Percival Young.", "It was written by Neil Sedaka."),
        ("Bhimrao Ramji Ambedkar", "Dr. B. R. Ambedkar wrote it.", "Dr. B. N. Rau wrote it."),
        ("Anakin Skywalker", "It is Anakin.", "It is Luke Skywalker."),
        ("Article Two", "It is in Article II.", "It is in Article III."),
    ],
)
def test_half_of_another_name_is_less_than_half_of_the_name(
    expected: str, right: str, wrong: str
) -> None:
    assert value(right, expected) > value(wrong, expected) + 0.15


class TestReferences:
    def test_any_of_several_is_enough(self) -> None:
        assert (
            value("It is the USA.", "United States", "USA")
            > 0.9
            > value("It is Peru.", "United States", "USA")
        )

    @pytest.mark.parametrize(
        ("written", "parts"),
        [
            (("USA / United States",), ["USA / United States", "USA", "United States"]),
            (("UK|Britain",), ["UK|Britain", "UK", "Britain"]),
            (("60 km/h",), ["60 km/h"]),
            (("and/or",), ["and/or"]),
            (("a / b", "c"), ["a / b", "c"]),
            (("Mercury (planet)", "mercury"), ["Mercury"]),
            (("Kansas City (Missouri)",), ["Kansas City (Missouri)", "Kansas City"]),
            (("William Pitt (the Younger)",), ["William Pitt (the Younger)"]),
            (("It fell (from 5% to 4%)",), ["It fell (from 5% to 4%)"]),
            (
                ("2.5 times ($2,342 million / $931 million)",),
                ["2.5 times ($2,342 million / $931 million)"],
            ),
            (("12 / 4",), ["12 / 4"]),
            (("David Vine", "Vine, David", "Paris, France"), ["David Vine", "Paris, France"]),
            (
                (
                    "No, as these metrics tell: CAPEX/Revenue Ratio: 5.1%; Return on Assets= 12.4% over the year",
                ),
                [
                    "No, as these metrics tell: CAPEX/Revenue Ratio: 5.1%; Return on Assets= 12.4% over the year"
                ],
            ),
        ],
    )
    def test_aliases_in_one_text(self, written: tuple[str, ...], parts: list[str]) -> None:
        assert references(written) == parts


class TestAliasesInTheQuestion:
    QUESTION = "What is the common name for the bone known as the scapula?"
    ALIASES = ("Shoulder blade", "Scapula", "Shoulder bone", "Scapular bone")

    def test_they_answer_nothing(self) -> None:
        wrong = "The common name for the bone known as the scapula is the collarbone."
        right = "The common name for the bone known as the scapula is the shoulder blade."
        assert value(right, *self.ALIASES, question=self.QUESTION) > 0.5
        assert value(wrong, *self.ALIASES, question=self.QUESTION) < 0.5

    def test_initials_stand_for_one_person(self) -> None:
        names = ("Theodore Roosevelt", "T. Roosevelt", "President Theodore Roosevelt")
        asked = (
            "Washington, Jefferson, Lincoln and which other President are carved on Mount Rushmore?"
        )
        assert value("It is Franklin D. Roosevelt.", *names, question=asked) < 0.5
        assert value("It is Theodore Roosevelt.", *names, question=asked) > 0.5
        assert value("Roosevelt", *names, question=asked) > 0.5

    def test_but_count_where_they_are_all_that_is_said_or_are_offered(self) -> None:
        assert value("Scapula", *self.ALIASES, question=self.QUESTION) > 0.5
        choice = "who came out first, batman or spider man"
        assert (
            value(
                "Batman came out first, in 1939.",
                "Batman",
                "Bat-Man",
                "The Bat Man",
                question=choice,
            )
            > 0.5
        )
        vitamin = "Ascorbic acid is better known as which vitamin?"
        assert (
            value("It is vitamin C.", "Vitamin C", "C vitamin", "Ascorbic acid", question=vitamin)
            > 0.5
        )


class TestReasons:
    def test_they_say_what_was_found(self) -> None:
        assert "others instead" in score("It was 17 %.", "12 %").reason
        assert "declines" in score("I cannot answer that.", "Paris").reason
        assert "yes against no" in score("Yes, it is.", "No.").reason
        assert "other side of zero" in score("It was $5 million.", "-$5 million").reason
        assert "says the opposite" in score("Sales rose by 5 %.", "Sales fell by 5 %.").reason
        assert "the date differs" in score("It was on May 3, 1990.", "May 3, 1991").reason
        assert score("", "Paris").value == 0.0

    def test_a_sentence_on_something_else_is_neither_yes_nor_no(self) -> None:
        asked, no = "Are you open on Sunday?", "No, we are open Monday to Saturday."
        assert "yes" not in score("12 Canal Street, beside the station.", no, question=asked).reason
        assert "yes against no" in score("We are open on Sunday.", no, question=asked).reason
        assert (
            "yes"
            not in score(
                "No match: nothing like it was asked.", "Yes, we are.", question=asked
            ).reason
        )

    def test_other_languages_are_said(self) -> None:
        assert "not English" in score("埃菲尔铁塔高330米。", "330米").reason
        assert value("埃菲尔铁塔高330米。", "330米") > value("埃菲尔铁塔高450米。", "330米")
        assert value("Der Turm ist 330 Meter hoch und steht in der Stadt.", "330 Meter") > 0.5


@pytest.mark.parametrize(
    ("question", "expected", "answer"),
    [
        ("Is the store open?", "No", "No problem! The store is open on Sundays."),
        ("Which number is it?", "No", "No. 5 is it."),
    ],
)
def test_a_no_that_is_no_answer(question: str, expected: str, answer: str) -> None:
    assert "the same yes or no" not in score(answer, expected, question=question).reason


@given(st.text(max_size=120), st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=80, deadline=None)
def test_any_text_gives_a_probability(answer: str, expected: str, question: str) -> None:
    (found,) = answer_agreement(
        [(Case("1", question, expected=(expected,)), Response(answer=answer))]
    )
    assert found.value is not None
    assert 0 <= found.value <= 1


@pytest.mark.slow
def test_it_agrees_with_people(shared_data: Path) -> None:
    lines = (shared_data / "evouna" / "dev.jsonl").read_text(encoding="utf-8").splitlines()[::12]
    rows = [json.loads(line) for line in lines]
    pairs = [
        (Case(r["id"], r["question"], expected=tuple(r["reference"])), Response(answer=r["answer"]))
        for r in rows
    ]
    right = sum(
        (s.value >= 0.5) == bool(r["label"])
        for s, r in zip(answer_agreement(pairs), rows, strict=True)
        if s.value is not None
    )
    assert right / len(rows) > 0.90


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (
            "Points expire 24 months after they were earned.",
            "Points expire 12 months after they were earned.",
        ),
        (
            "Yes, they are taken away for RM 30 when a new one comes.",
            "Yes, they are taken away for RM 50 when a new one comes.",
        ),
    ],
)
def test_a_near_copy_with_another_figure_is_wrong(expected, answer):
    right, wrong = answer_agreement(
        [
            (Case("c", "What then?", expected=(expected,)), Response(answer=text))
            for text in (expected, answer)
        ]
    )
    assert right.value > 0.9
    assert wrong.value < 0.3


def test_of_a_very_long_answer_the_beginning_and_the_end_are_read() -> None:
    filler = "The weather was fine and nothing happened. " * 5_000
    case = Case("1", "Who wrote it?", expected=("Jane Austen",))
    at_both_ends = [f"Jane Austen. {filler}", f"{filler} Jane Austen."]
    found = [
        score.value for score in answer_agreement([(case, Response(text)) for text in at_both_ends])
    ]
    nowhere = answer_agreement([(case, Response(filler))])[0].value
    assert min(value or 0.0 for value in found) > (nowhere or 0.0)


@pytest.mark.parametrize(
    ("expected", "answer", "right"),
    [
        ("+49 30 1234567", "+49 30 1234576", False),
        ("DE89370400440532013000", "DE89370400440532013001", False),
        ("83,149,300", "83,000,000", True),
        ("v2.4.1", "2.4.2", False),
        ("v2.4.1", "It is 2.4.1", True),
        ("192.168.0.12", "192.168.0.21", False),
        ("15.03.2024", "15.3.2024", True),
        ("zwei Jahre", "Die Garantie beträgt 24 Monate.", True),
        ("zwei Jahre", "Die Garantie beträgt drei Jahre.", False),
        ("quatorze jours", "deux semaines", True),
        ("dos años", "tres años", False),
        ("tiga hari", "lima hari", False),
    ],
)
def test_every_digit_of_a_number_that_is_not_rounded_counts(
    expected: str, answer: str, right: bool
) -> None:
    value = ak.score(
        "answer_agreement", question="Which number is it?", expected=expected, answer=answer
    ).value
    assert value is not None
    assert (value > 0.54) is right
