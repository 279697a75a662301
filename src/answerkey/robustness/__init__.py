"""Does a bot still answer when people type like people? Variants of the questions, asked and compared."""
