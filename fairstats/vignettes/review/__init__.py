"""Review of a built benchmark: tasks for reviewers, judgements, decisions."""
