"""Room 5: runs. A suite in, a folder with every outcome out, and nothing lost on the way."""
