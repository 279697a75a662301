"""A text is cut into claims that can be checked one by one."""

import pytest

from answerkey.language.claims import claims


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The members are Norway, Iceland and Switzerland.", ("The members are Norway", "The members are Iceland", "The members are Switzerland")),
        ("You need a passport, proof of address and a tax number; it takes two days.", ("You need a passport", "You need proof of address", "You need a tax number", "it takes two days")),
        ("The Harbour Bridge is 1,149 metres long and was opened in 1932. It carries eight lanes [1].", ("The Harbour Bridge is 1,149 metres long", "The Harbour Bridge was opened in 1932", "The Harbour Bridge carries eight lanes")),
        ("Here are the steps:\n1. Open the door\n2. Close the window", ("Open the door", "Close the window")),
        ("- tomatoes\n- garlic", ("tomatoes", "garlic")),
        ("Revenue rose by 5%, but profit fell to 3 million euros.", ("Revenue rose by 5%", "profit fell to 3 million euros")),
        ("The documents do not say. It costs 5 euros.", ("It costs 5 euros",)),
        ("这座桥建于1902年。它有八条车道。", ("这座桥建于1902年。", "它有八条车道。")),
        ("", ()),
        ("?!", ()),
    ],
)  # fmt: skip
def test_claims(text, found):
    assert claims(text) == found


def test_a_very_long_text_gives_a_bounded_number_of_claims():
    assert len(claims(" ".join(f"Number {n} is here." for n in range(5000)))) == 60
