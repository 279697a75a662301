"""Tool calls: the right tools, in the right order, with the right arguments, and none that is forbidden."""
