"""Pair models: does a premise support a statement, say nothing of it, or contradict it?"""
