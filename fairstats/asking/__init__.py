"""What models are asked and what they reply: prompts, requests, replies and the letters in them."""
