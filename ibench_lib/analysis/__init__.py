"""What an answer means, as data: ratios, verdicts, changes, explanations. Nothing here draws, or makes a sentence."""
