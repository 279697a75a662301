"""The first line of junit.xml is filled in last, over blanks that were kept free for it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from answerkey.files import replace_file
from answerkey.reports.junit import JunitFile


@pytest.mark.parametrize("name", ["&" * 100, "<\"'>" * 50, "ü\n" * 100])
def test_a_name_that_grows_when_escaped_leaves_the_tests_intact(tmp_path: Path, name: str) -> None:
    path = tmp_path / "junit.xml"
    with replace_file(path) as file:
        junit = JunitFile(file, name)
        junit.add('<testcase name="first"/>\n', count=1, failures=0, errors=0, seconds=0.0)
        junit.finish()
    suite = ElementTree.parse(path).getroot()
    assert suite.attrib["name"] == name
    assert [test.attrib["name"] for test in suite] == ["first"]


def test_a_name_with_half_a_character_is_written(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    with replace_file(path) as file:
        JunitFile(file, "suite \udc80").finish()
    assert ElementTree.parse(path).getroot().attrib["name"] == "suite \ufffd"
