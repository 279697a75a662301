"""Is the answer supported by the passages?"""
