"""Cases, metrics and profiles as the JSON that other programs rely on."""

from __future__ import annotations

from dataclasses import asdict

from answerkey.metrics.registry import Metric
from answerkey.types import Case, Json, Profile


def case_listing(case: Case) -> Json:
    recorded = case.recorded
    return {
        "id": case.id,
        "question": case.question,
        "expected": case.expected[0] if len(case.expected) == 1 else list(case.expected) or None,
        "source_file": case.source_file,
        "question_num": case.question_num,
        "tags": list(case.tags),
        "type": case.type,
        "expected_route": case.expected_route,
        "acceptable_routes": list(case.acceptable_routes),
        "relevant": dict(case.relevant) if case.relevant is not None else None,
        "priority": case.priority,
        "note": case.note,
        "history": [asdict(turn) for turn in case.history],
        "answer_criteria": {
            key: value for key, value in asdict(case.criteria).items() if value not in (None, (), False)
        },
        "answer": recorded.answer if recorded else None,
        "contexts": list(recorded.contexts) if recorded else [],
        "route": recorded.route if recorded else None,
        "retrieved": list(recorded.retrieved) if recorded and recorded.retrieved is not None else None,
        "response_time": recorded.seconds if recorded else None,
        "extra": dict(case.extra),
    }


def metric_listing(metric: Metric) -> Json:
    facts = metric.facts
    return {
        "name": facts.name,
        "family": metric.family,
        "summary": facts.summary,
        "range": [facts.low, facts.high],
        "better": facts.better,
        "needs": list(facts.needs),
        "uses": list(facts.uses),
        "tools": sorted(key for key in metric.keywords() if key in {"embed", "judge"}),
        "settings": sorted(
            key for key in metric.keywords() if key not in {"embed", "judge", "words", "routes", "names"}
        ),
        "empty": facts.empty,
        "unit": facts.unit,
        "version": facts.version,
    }


def profile_listing(profile: Profile) -> Json:
    return {
        "name": profile.name,
        "version": profile.version,
        "summary": profile.summary,
        "digest": profile.digest,
        "scale": profile.scale,
        "route_weight": profile.route_weight,
        "metrics": list(profile.metrics),
        "pass": profile.rules.pass_mark,
        "bands": [asdict(band) for band in profile.rules.bands],
    }
