"""Five layouts, each read whole; what does not fit names file and line."""

import pytest

from answerkey.cases import read_cases
from answerkey.errors import InputError

ANSWER_1 = "Yes.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n#### A section inside\n\nIts last line."
ANSWER_2 = "No, never."

LAYOUTS = {
    "hash3": f"# Title\n\nIntro.\n\n### Q1: Is it?\n\n**A1:** {ANSWER_1}\n\n## Next section\n\n### Q2: Was it?\n**A2:** {ANSWER_2}\n",
    "hash2": f"# Title\n\n## Q1: Is it?\n**A1:** {ANSWER_1}\n\n# Part two\n\n## Q2: Was it?\n\n**A2:** {ANSWER_2}\n",
    "bold_plain": f"**Q1: Is it?**\n\nA1: {ANSWER_1}\n\n## Section\n\n**Q2: Was it?**\n\nA2: {ANSWER_2}",
    "bold_bold": f"**Q1: Is it?**\n\n**A1:** {ANSWER_1}\n\n---\n\n**Q2: Was it?**\n\n**A2:** {ANSWER_2}\n\n---\n",
    "plain": f"Q1: Is it?\nA1: {ANSWER_1}\n\n# Section\n\nQ2: Was it?\nA2: {ANSWER_2}\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_each_layout_is_read_whole(layout, ends, write):
    path = write(f"{layout}.md", LAYOUTS[layout].replace("\n", ends).encode())
    first, second = read_cases([path])
    assert (first.id, first.question, first.question_num) == (f"{layout}#Q1", "Is it?", 1)
    assert first.expected == (ANSWER_1,)
    assert (second.id, second.question) == (f"{layout}#Q2", "Was it?")
    assert second.expected == (ANSWER_2,)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("### Q1: A?\n**A1:** yes\n### Q2: B?\n", 3, "Q2 has no answer"),
        ("### Q1: A?\n**A2:** yes\n", 2, "expected A1"),
        ("Q1: A?\nA1: yes\nQ1: B?\nA1: no\n", 3, "stands already at line 1"),
        ("Q1: A?\nA1: yes\n\nA2: no\n", 4, "without its question"),
        ("### Q1: A?\n**A1:** yes\n**Q2: B?**\n\nA2: no\n", 3, "one layout"),
        ("### Q1: \n**A1:** yes\n", 1, "no text"),
        (
            "### Q1: A?\n**A1:** yes\n### Q2. B?\n**A2.** no\n",
            3,
            'expected a question such as "### Q2:"',
        ),
        (
            "### Q1: A?\n**A1:** yes\n### Question 2: B?\n**Answer:** no\n",
            3,
            'expected a question such as "### Q2:"',
        ),
        (f"Q1: A?\nA1: yes\nQ{'9' * 5000}: B?\nA2: no\n", 3, "more than 9 digits"),
        ("### Q6a: A?\n**A6a:** yes\n**Q6b: B?**\n\nA6b: no\n", 3, "one layout"),
        ("### Q6a: A?\n**A6b:** yes\n", 2, "found A6b, expected A6a"),
        (
            "Q1: A?\nA1: see\n```\ncode\n\nQ2: B?\nA2: no\n",
            3,
            "does not end; close it before line 6",
        ),
    ],
)
def test_a_line_that_does_not_fit_is_named_with_its_file(text, line, told, write):
    path = write("faq.md", text)
    with pytest.raises(InputError, match=rf"faq\.md, line {line}: .*{told}"):
        list(read_cases([path]))


def test_a_question_in_a_code_fence_is_part_of_the_answer(write):
    path = write(
        "faq.md",
        "Q1: How?\nA1: Like this:\n```\nQ2: not a question\nA2: no\n# no heading\n```\n\nQ2: Why?\nA2: So.\n",
    )
    cases = list(read_cases([path]))
    assert [case.question for case in cases] == ["How?", "Why?"]
    assert "# no heading" in cases[0].expected[0]


def test_numbers_may_have_a_letter_or_a_part(write):
    text = "".join(
        f"### Q{n}: Why {n}?\n**A{n}:** Because {n}.\n\n"
        for n in ("5", "6a", "6b", "7.1", "7.2", "10")
    )
    cases = list(read_cases([write("faq.md", text.replace("**A5:**", "**A05:**"))]))
    assert [case.id for case in cases] == [
        f"faq#Q{n}" for n in ("5", "6a", "6b", "7.1", "7.2", "10")
    ]
    assert [case.question_num for case in cases] == [5, 6, 6, 7, 7, 10]
    assert [case.expected for case in cases][:2] == [("Because 5.",), ("Because 6a.",)]


def test_a_code_block_in_one_line_ends_there(write):
    cases = list(
        read_cases([write("faq.md", "Q1: How?\nA1: So:\n```x = 1```\nQ2: Why?\nA2: So.\n")])
    )
    assert [case.question for case in cases] == ["How?", "Why?"]


def test_a_question_may_run_over_lines(write):
    (case,) = read_cases([write("faq.md", "Q1: How long\nmay a question be?\nA1: Any.\n")])
    assert case.question == "How long may a question be?"


@pytest.mark.parametrize("layout", ["**Q{n}: Why?**\n\nA{n}: So.\n", "Q{n}: Why?\nA{n}: So.\n"])
def test_a_section_between_questions_that_are_no_headings_is_no_answer(write, layout):
    section = "\n## Part two\n\nWhat this part is about.\n\n"
    cases = read_cases([write("faq.md", layout.format(n=1) + section + layout.format(n=2))])
    assert [case.expected for case in cases] == [("So.",), ("So.",)]
