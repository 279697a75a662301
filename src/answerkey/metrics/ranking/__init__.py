"""Ranking metrics: precision@k to ndcg@k."""
