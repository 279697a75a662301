"""Does a text support, or contradict, a statement?"""
