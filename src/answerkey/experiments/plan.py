"""The settings that a sweep compares: ways to rank, and numbers of passages."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import SettingsError
from answerkey.metrics.ranking.formulas import CUT_METRICS, parse_name

# Earlier scripts use these names, and recorded results are recognised by them.
NAMED = {
    "Pure_Dense_FAISS": 1.0,
    "Dense_Heavy_Hybrid": 0.7,
    "Balanced_Hybrid": 0.5,
    "Sparse_Heavy_Hybrid": 0.3,
    "Pure_Sparse_BM25": 0.0,
}
BM25_ALONE = "Pure_Sparse_BM25"
RRF = "Reciprocal_Rank_Fusion"
REWRITE = "rewrite"
STANDARD_K = 5
STANDARD_ALPHAS = tuple(step / 10 for step in range(11))
STANDARD_KS = (3, 5, 7, 10, 15, 20)
METRICS = CUT_METRICS


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to rank. `alpha` is None for reciprocal ranks and where it is not known.

    `stage` is "rerank" or "rewrite" where one was used; `setup` numbers the index: a chunking and
    an embedding model.
    """

    name: str
    alpha: float | None
    stage: str = ""
    setup: int = 0

    @property
    def searches(self) -> tuple[str, ...]:
        """The searches that the plan needs."""
        if self.alpha == 1:
            return ("dense",)
        if self.alpha == 0:
            return ("sparse",)
        return ("dense", "sparse")

    @property
    def is_method(self) -> bool:
        """Named, a fusion of ranks or a stage, rather than one of many α."""
        return self.name in NAMED or self.alpha is None or bool(self.stage)


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The α and K to try, and the metric that chooses.

    `standard`: the three standard tests, instead of every α at every K of the settings. `alphas`
    and `ks` hold those of the settings (`asked_…`) and what `named` and `topk_alpha` add. `select`
    is the metric that chooses, with a cut-off, or None for each setting's own K; `own_k` says that
    the top-K analysis compares each K by the metric at that K.
    """

    alphas: tuple[float, ...]
    ks: tuple[int, ...]
    asked_alphas: tuple[float, ...]
    asked_ks: tuple[int, ...]
    rrf: bool
    named: bool
    standard: bool
    topk_alpha: float | None
    select: tuple[str, int | None]
    own_k: bool = False

    @property
    def select_name(self) -> str:
        metric, cut = self.select
        return f"{metric}@{cut or 'K'}"

    @property
    def topk_name(self) -> str:
        """The metric that compares the K."""
        if self.own_k:
            return f"{self.select[0]}@K"
        return self.select_name

    @property
    def depth(self) -> int:
        return max(*self.ks, self.select[1] or 0)

    @property
    def main_k(self) -> int:
        """The K at which methods and α are compared: 5, or else the largest of the settings."""
        if STANDARD_K in self.ks:
            return STANDARD_K
        return self.asked_ks[-1]

    def cut_offs(self, variant: Variant, *, is_topk: bool) -> tuple[int, ...]:
        """The K at which this variant is one of the settings."""
        if self.standard and not is_topk:
            return (STANDARD_K,)
        cut_offs: set[int] = set()
        is_asked = variant.alpha is None or variant.stage or variant.alpha in self.asked_alphas
        if is_topk or is_asked:
            cut_offs.update(self.asked_ks)
        if self.named and variant.name in NAMED:
            cut_offs.add(STANDARD_K)
        return tuple(sorted(cut_offs))


def make_sweep_plan(settings: RetrievalTable, with_dense: bool = True) -> SweepPlan:
    """The standard tests where neither `alphas` nor `ks` is given, else exactly those.

    Without dense search only α = 0 is tried.
    """
    sweep = settings.sweep
    standard = not sweep.alphas and not sweep.ks
    asked_alphas = sweep.alphas or STANDARD_ALPHAS
    asked_ks = sweep.ks or STANDARD_KS
    named = sweep.named and with_dense
    topk_alpha = sweep.topk_alpha if with_dense else None
    if not with_dense:
        if sweep.alphas and sweep.alphas != (0.0,):
            raise SettingsError(
                f"[retrieval] alphas = {list(sweep.alphas)}: expected only 0.0 with "
                '[embedding] model = "none"'
            )
        asked_alphas = (0.0,)
    # Rounded, because `cut_offs` compares α for equality.
    asked_alphas = tuple(round(alpha, 6) for alpha in asked_alphas)
    alphas = set(asked_alphas)
    ks = set(asked_ks)
    if named:
        alphas.update(NAMED.values())
        ks.add(STANDARD_K)
    if topk_alpha is not None:
        alphas.add(round(topk_alpha, 6))
    select, own_k = _read_select(sweep.select, STANDARD_K if standard else asked_ks[-1])
    return SweepPlan(
        tuple(sorted(alphas)),
        tuple(sorted(ks)),
        asked_alphas,
        asked_ks,
        rrf=with_dense and (sweep.rrf or standard),
        named=named,
        standard=standard,
        topk_alpha=topk_alpha,
        select=select,
        own_k=own_k,
    )


def _read_select(select: str, default_cut: int) -> tuple[tuple[str, int | None], bool]:
    """The metric that chooses and its cut-off; whether the top-K analysis uses each K's own."""
    if not select:
        return ("ndcg", default_cut), False
    if select in METRICS:
        return (select, None), True
    try:
        return parse_name(select), True
    except SettingsError as error:
        raise SettingsError(f"[retrieval] select: {error}") from None


def list_variants(plan: SweepPlan, setup: int) -> list[Variant]:
    """A variant per α, ascending, and reciprocal rank fusion where the plan has it."""
    names = {alpha: name for name, alpha in NAMED.items()}
    variants = [
        Variant(names.get(alpha, f"Hybrid_{alpha:g}"), alpha, "", setup) for alpha in plan.alphas
    ]
    if plan.rrf:
        variants.append(Variant(RRF, None, "", setup))
    return variants
