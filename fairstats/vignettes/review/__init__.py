"""Reviewing what was built: tasks for reviewers, their judgements, the decisions."""
