"""Names of models: other spellings and snapshots are one model, other models are not."""

import pytest

from fairstats._lib.model_names import ModelNames, names_model, same_model


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        ("OpenAI", "openai"),
        ("GPT-4o", "GPT-4o-mini"),
        ("Claude-3", "Claude-3.5"),
        ("Claude-3-Opus", "Claude-3-Sonnet"),
        ("Claude-3-5", "Claude-3"),
        ("Llama-3-8B", "Llama-3-70B"),
        ("Llama-2-13b", "Llama-2-7b"),
        ("Qwen-7B", "Mistral-7B"),
        ("DeepSeek-V3", "V3"),
        ("gpt-4-0314", "gpt-4-0613"),
        ("gemini-1.5-pro", "gemini-2.5-pro"),
        ("Phi-3", "Phi-3-mini"),
        ("Phi-3", "Phi-3-medium"),
        ("DeepSeek-V3", "DeepSeek-V2"),
        ("DeepSeek", "DeepSeek-V3"),
        ("gemini-1.5-pro-001", "gemini-1.5-pro-002"),
        ("GPT-4o (May 2024)", "gpt-4o-2024-11-20"),
        ("GPT-4o (Azure, May 2024)", "gpt-4o-2024-11-20"),
        ("Claude-3.7-Sonnet", "Claude-3.5-Sonnet (T=0)"),
        ("Llama-3-70B-Instruct", "Llama-3-8B-Instruct"),
        ("Llama 3 (70B)", "Llama 3 (8B)"),
        ("GPT-4o", "ft:gpt-4o-mini:org::id"),
        ("Command R", "Command R+"),
        ("Mistral-Medium", "Mistral"),
        ("Llama-3.1-8B", "Llama-1.3-8B"),
        ("T5", "flan-t5"),
        ("ft:", "gpt-4o"),
    ],
)
def test_different_models_are_not_the_same(one, other):
    assert not same_model(one, other)
    assert not same_model(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPT-4", "gpt-4-0613"),
        ("Claude-3.5-Sonnet", "anthropic/claude-3-5-sonnet-20240620"),
        ("Claude-3.5-Sonnet", "anthropic.claude-3-5-sonnet-20240620"),
        ("DeepSeek-V3", "deepseek-ai/DeepSeek-V3-0324"),
        ("Gemini-2.5-Flash", "google/gemini-2.5-flash-05-20"),
        ("Mistral-Large", "mistralai/Mistral-Large-2411"),
        ("Llama-3-70B", "meta-llama/Meta-Llama-3-70B"),
        ("gpt-4o-2024-07-18", "GPT-4o (0718)"),
        ("GPT-4o-mini", "openai/gpt-4o-mini:free"),
        ("GPT-4o-mini", "us.openai.gpt-4o-mini"),
        ("GPT-4o-mini", "GPT-4o-mini (July 2024)"),
        ("GPT-4o-mini", "GPT-4o mini, 18.07.2024"),
        ("gpt-4o-mini-2024-07-18", "GPT-4o-mini (18/07/2024)"),
        ("gpt-4o-mini-2024-07-18", "GPT-4o mini, Jul. 2024"),
        ("GPT-4o-mini", "gpt-4o-mini-preview"),
        ("o3-mini", "o3-mini-2025-01-31 (high)"),
        ("Gemini-2.5-Pro", "models/gemini-2.5-pro-preview-05-06"),
        ("Gemini-1.5-Pro", "gemini-1.5-pro-002"),
        ("Claude-3.5-Sonnet", "us.anthropic.claude-3-5-sonnet-20240620-v1:0"),
        ("mistral-large-2411", "Mistral Large 2024-11-18"),
        ("GPT-4o-mini", "GPT-4o-mini (T=0)"),
        ("GPT-4o-mini", "GPT-4o-mini, temperature 0, run 2"),
        ("GPT-4o-mini", "GPT-4o-mini T=0.7"),
        ("GPT-4o-mini", "ft:gpt-4o-mini-2024-07-18:org::id"),
        ("GPT-4o-mini", "fine-tuned GPT-4o-mini"),
        ("GPT-4o-mini", "GPT-4o-mini finetuned on MedQA"),
        ("GPT-4o-mini", "GPT-4o-mini chat"),
        ("GPT-4o-mini", "gpt-4o-mini-instruct"),
        ("GPT-4o-mini", "GPT-4o-mini (Azure OpenAI, Sweden)"),
        ("gpt-4o-mini-2024-07-18", "GPT-4o-mini (Azure/Sweden, 18.07.2024)"),
        ("GPT-4o-mini", "GPT-4o-mini via Azure, Sweden"),
        ("GPT-4o-mini", "GPT-4o-mini + RAG"),
        ("gpt-5", "gpt-5-medium"),
        ("gpt-5", "GPT-5 (medium)"),
        ("Claude-3.7-Sonnet", "claude-3-7-sonnet-20250219-thinking"),
        ("Llama-3-8B", "llama3:8b-instruct-q4_K_M"),
        ("Llama-3-8B", "TheBloke/Llama-3-8B-Instruct-GGUF"),
        ("Command R+", "command-r-plus-08-2024"),
        ("Claude 3.5 Sonnet", "Claude Sonnet 3.5"),
        ("Gemini-2.5-Flash", "google/gemini-flash-2.5"),
        ("GPT-4o-mini", "ChatGPT 4o mini"),
        ("GPT-4o-mini", "gpt-4o-mini run 2"),
        ("GPT-4o-mini", "gpt-4o-mini-temp0.7"),
        ("GPT-4o-mini", "GPT-4o-mini #2"),
        ("Llama-3-8B", "unsloth/Llama-3-8B-bnb-4bit"),
    ],
)
def test_spellings_and_snapshots_are_the_same_model(one, other):
    assert same_model(one, other)
    assert same_model(other, one)


def test_declared_name_comes_before_other_spellings():
    names = ModelNames({"A-1": "first", "a1": "second"})
    assert (names["A-1"], names["a1"], names["a 1"]) == ("first", "second", "first")
    assert "a2" not in names


# Texts that people write as a snapshot without saying which model it is.
NAMELESS = """
- | ? | n/a | unknown | none | default | latest | v1 | 1.0 | main | stable | preview | instruct
Q4_K_M | fp16 | int8 | 4bit | iq3_xxs | 20250101 | 2025-01-01 | 2025-jan-01 | release-2 | build#7
checkpoint_1000 | instruct-v0.2 | T=0.7 | 7b-base | openai/v1 | azure-2024-06-01 | unsloth/q8_0
000000000000000000000000 | not known | Not stated | v 1 | 1 May 2025 | latest, May 3
iter5000 | trial-3 | attempt2 | batch_17 | job-123456 | docker-24 | rtx4090 | fewshot3 | 3-shot
lmdeploy-0.6 | not known (asked 3 May) |
"""


@pytest.mark.parametrize("snapshot", NAMELESS.strip().replace("\n", " | ").split(" | "))
def test_text_without_a_name_names_no_model(snapshot):
    assert not names_model(snapshot, ["Foo-1", "Bar"])


@pytest.mark.parametrize(
    "snapshot",
    [
        "gpt-4.1-2025-04-14",
        "models/gpt-4.1",
        "meta-llama/Llama-3.1-8B-Instruct",
        "llama3:8b-instruct-q4_K_M",
        "ft:gpt-4o-mini-2024-07-18:org::id",
        "1f0e3dad99908345f7439f8ffabdffc4",
        "sha256:9b2d6c0fae31",
        # The name of one of the models.
        "foo-2025-01-01",
        "lab/Bar (preview)",
    ],
)
def test_text_with_a_name_names_a_model(snapshot):
    assert names_model(snapshot, ["Foo", "Bar"])
