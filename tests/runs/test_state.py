"""How far each answer of a run is."""

from answerkey.runs.state import Progress, RunState


def test_an_unknown_place_is_asked():
    state = RunState()
    state[5] = Progress.FINISHED
    assert [state[place] for place in (0, 5, 1000)] == [
        Progress.ASK,
        Progress.FINISHED,
        Progress.ASK,
    ]
    assert state.count(Progress.FINISHED) == 1
    assert state.places(Progress.FINISHED) == [5]


def test_changed_scoring_keeps_the_answers():
    state = RunState()
    state[0] = Progress.FINISHED
    state[1] = Progress.STOPPED
    state.score_again()
    assert state.places(Progress.ANSWERED) == [0]
    assert state.places(Progress.STOPPED) == [1]
