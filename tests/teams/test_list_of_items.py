"""The five teams' list: every item has a test, and the table says which one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# Item to the file and the test that holds it.
ITEMS = {
    "recorded pass rates": ("teams/test_old_results.py", "test_recorded_scores_are_kept_and_the_difference_is_explained"),
    "a route needs no answer": ("teams/test_old_results.py", "test_a_route_needs_no_answer"),
    "executive_format": ("teams/test_old_results.py", "test_executive_format_has_no_dummies_from_other_routes"),
    "Cohen's d": ("teams/test_worked_examples.py", "test_cohens_d_uses_population_deviations"),
    "keyword_recall": ("teams/test_worked_examples.py", "test_keyword_recall_uses_the_tokens_of_the_faq_bot"),
    "improve_answer": ("teams/test_worked_examples.py", "test_another_order_of_arguments_is_an_error"),
    "disagreements": ("cli/test_own_runs.py", "test_words_and_any_judge_that_disagree_are_listed"),
    "sources with pages": ("coerce/test_same_everywhere.py", "test_sources_keep_document_page_and_url"),
    "page labels": ("teams/test_pages_of_several_documents.py", "test_page_labels_in_every_store"),
    "lists of files": ("teams/test_worked_examples.py", "test_files_in_a_list"),
    "compare --by": ("comparison/test_by_group.py", "test_before_and_after_per_group"),
    "several runs": ("comparison/test_many.py", "test_compare_of_three_runs_prints_a_table"),
    "old results pair": ("teams/test_old_results.py", "test_old_results_pair_with_their_markdown_file"),
    "recorded grades": ("teams/test_recorded_grades.py", "test_recorded_grades_are_used_without_a_judge"),
    "ground truth": ("cli/test_own_files.py", "test_ground_truth_in_a_second_file"),
    "manual cases": ("teams/test_old_results.py", "test_manual_cases_and_unanswered_follow_ups_are_left_out_and_counted"),
    "score --only": ("teams/test_old_results.py", "test_score_takes_some_of_the_cases"),
    "Gradio": ("targets/test_attachments.py", "test_a_gradio_app_gets_null_images_and_patterns"),
    "images": ("targets/test_attachments.py", "test_the_image_column_of_a_case_reaches_the_bot"),
    "embedding functions": ("metrics/test_cosine_functions.py", "test_the_five_functions_of_texts"),
    "mean of retrieval scores": ("teams/test_worked_examples.py", "test_the_mean_of_the_retrieval_scores_as_an_option"),
    "fallback phrases": ("teams/test_worked_examples.py", "test_usual_fallback_phrases"),
    "prompt files": ("targets/test_full_context.py", "test_a_prompt_file_has_its_places_filled"),
    "judge prompts, 1 to 5": ("teams/test_recorded_grades.py", "test_a_script_prompt_with_a_scale_of_1_to_5"),
    "faithfulness": ("teams/test_judges_and_profiles.py", "test_faithfulness_without_passages_goes_by_the_expected_answer"),
    "--collection": ("cli/test_collection_of_own_bot.py", "test_a_function_with_the_parameter_gets_the_collection"),
    "--resume --collection": ("cli/test_collection_of_own_bot.py", "test_resume_with_another_collection_names_the_change"),
    "report.txt": ("teams/test_recorded_grades.py", "test_the_report_has_a_time_and_the_response_times"),
    "composite": ("cli/test_migrate.py", "test_the_composite_is_835_not_379"),
    "K per type, times, readings": ("teams/test_retrieval_experiments.py", "test_one_sweep_answers_the_list"),
    "confidence of the intent": ("retrieval/test_question_types.py", "test_confidence_is_high_for_plain_cases_and_low_without_evidence"),
    "charts of rankings": ("teams/test_retrieval_experiments.py", "test_recorded_rankings_get_types_deviations_and_the_five_charts"),
    "long tables": ("teams/test_retrieval_experiments.py", "test_long_tables_of_earlier_experiments"),
    "diagnose --run": ("teams/test_retrieval_experiments.py", "test_pages_that_no_configuration_retrieved_are_named"),
    "weights": ("calibrate/test_profile_fit.py", "test_the_command_fits_writes_and_refuses"),
    "bands": ("teams/test_judges_and_profiles.py", "test_the_report_has_the_bands_of_each_route_group"),
    "word lists": ("teams/test_judges_and_profiles.py", "test_profiles_show_names_the_word_lists"),
    "migrate pages": ("teams/test_migrate_with_wild_files.py", "test_every_command_of_the_page_runs_on_the_files"),
}  # fmt: skip


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_has_its_test(item: str) -> None:
    file, name = ITEMS[item]
    nodes = ast.walk(ast.parse((TESTS / file).read_text(encoding="utf-8")))
    assert name in {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
