"""Names of models: other spellings and snapshots are one model, other models are not."""

from itertools import combinations

import pytest

from fairstats._lib.model_names import ModelNames, names_model, same_model


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        ("OpenAI", "openai"),
        ("GPT-4o", "GPT-4o-mini"),
        ("Qwen2.5-7B", "Qwen2-57B"),
        ("Qwen-1.8B", "Qwen-18B"),
        ("Med42-8B", "Med4-28B"),
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
        ("GPT-3", "GPT-3.5 (June 2024)"),
        ("GPT-4", "GPT-4.1 12/2024"),
        ("DeepSeek", "DeepSeek: DeepSeek V3"),
        ("gpt-4o-mini-2024-7-18", "gpt-4o-mini-2024-8-17"),
        ("gpt-4o-mini-18Jul2024", "gpt-4o-mini-19Jul2024"),
        ("gpt-4o-cot-0513", "gpt-4o-2024-11-20"),
        ("GPT-4o 07/2024", "Claude-3-Opus 07/2024"),
        ("GPT-4o/run 1", "Llama-3-8B/run 1"),
        ("lab/Foo-7/v1", "lab/Bar-7/v1"),
        ("stepfun/step-1", "stepfun/step-2"),
        ("lab/V3", "lab/V2"),
        ("gpt-4o-cot-20240513", "gpt-4o-2024-11-20"),
    ],
)
def test_different_models_are_not_the_same(one, other):
    assert not same_model(one, other)
    assert not same_model(other, one)


# All models of a line are different. Most have one word more than the first.
FAMILIES = """
gpt-4o-mini | gpt-4o-mini-search-preview | gpt-4o-mini-audio-preview | gpt-4o-mini-tts
gpt-4o | gpt-4o-search-preview | gpt-4o-realtime-preview | gpt-4o-transcribe | gpt-4o-mini
gpt-4 | gpt-4-turbo | gpt-4-32k | gpt-4-vision-preview | gpt-4.1 | gpt-4.5-preview | gpt-4o
gpt-4.1 | gpt-4.1-mini | gpt-4.1-nano
gpt-3.5-turbo | gpt-3.5-turbo-instruct | gpt-3.5-turbo-16k
gpt-5 | gpt-5-mini | gpt-5-nano | gpt-5-pro | gpt-5-codex | gpt-5-chat | gpt-5-search-api | gpt-5.1
gpt-5.1-codex | gpt-5.1-codex-max | gpt-5.1-codex-mini | gpt-5.1-chat-latest | gpt-5.2-codex
gpt-oss-20b | gpt-oss-120b | gpt-oss-safeguard-20b
o1 | o1-mini | o1-pro | o3 | o3-mini | o3-pro | o3-deep-research | o4-mini | o4-mini-deep-research
claude-3-opus | claude-3-sonnet | claude-3-haiku | claude-3.5-haiku | claude-instant-v1 | claude-v2
gemini-2.5-flash | gemini-2.5-flash-lite | gemini-2.5-flash-image | gemini-2.5-flash-native-audio
gemini-2.0-flash | gemini-2.0-flash-lite | gemini-2.0-flash-thinking-exp | gemini-1.5-flash-8b
gemma-2-9b-it | codegemma-9b | shieldgemma-9b | medgemma-9b-it | recurrentgemma-9b | gemma-3-9b
Llama-3.1-70B | Llama-3.1-Nemotron-70B | Hermes-3-Llama-3.1-70B | DeepSeek-R1-Distill-Llama-70B
Llama-3-8B | Llama-Guard-3-8B | Llama3-OpenBioLLM-8B | Meditron3-8B | Llama-3-8B-abliterated
Llama-3.2-11B | Llama-3.2-11B-Vision | Llama-Guard-3-11B-Vision
llama-4-scout | llama-4-maverick | llama-guard-4
CodeLlama-7b | CodeLlama-7b-Python | Llama-2-7b | meditron-7b | vicuna-7b
Qwen2.5-7B | Qwen2.5-Coder-7B | Qwen2.5-Math-7B | Qwen2.5-VL-7B | Qwen2.5-Omni-7B | Qwen2-Audio-7B
qwen-max | qwen-plus | qwen-turbo | qwen-long | qwen-vl-max | qwen-mt-plus | qwen-coder-plus
qwen3-coder | qwen3-coder-plus | qwen3-coder-flash | qwen3-coder-next | qwen3-vl-plus
Qwen3-235B-A22B | Qwen3-235B-A22B-Thinking-2507 | Qwen3-VL-235B-A22B | Qwen3-30B-A3B | QwQ-32B
mistral-small | mistral-medium | mistral-large | magistral-small | devstral-small | pixtral-large
ministral-3b | ministral-8b | mistral-7b | BioMistral-7B | mathstral-7b | mistral-nemo | codestral
ministral-3-8b-2512 | ministral-3-8b-reasoning-2512 | ministral-3-14b-2512
mixtral-8x7b | mixtral-8x22b | Nous-Hermes-2-Mixtral-8x7B
DeepSeek-V3 | DeepSeek-V3.1 | DeepSeek-V3.2-Speciale | DeepSeek-VL2 | DeepSeek-V2 | DeepSeek-R1
deepseek-coder | deepseek-math | deepseek-prover | deepseek-reasoner | deepseek-chat
DeepSeek-R1 | DeepSeek-R1-Zero | DeepSeek-R1-Distill-Qwen-32B | DeepSeek-R1-Distill-Qwen-7B
phi-4 | phi-4-mini | phi-4-multimodal | phi-4-reasoning | phi-4-mini-reasoning
phi-3.5-mini | phi-3.5-moe | phi-3.5-vision | phi-3-medium | phi-3-small
grok-3 | grok-3-mini | grok-3-fast | grok-4 | grok-4-fast | grok-code-fast-1 | grok-2-vision
command-r | command-r-plus | command-r7b | command-a | command-a-reasoning | command-a-vision
aya-expanse-8b | aya-vision-8b | aya-23-8b
glm-4.5 | glm-4.5-air | glm-4.5v | glm-4.5-flash | glm-4.5-x | glm-4.6
kimi-k2 | kimi-k2-thinking | kimi-k2.5 | kimi-vl | kimi-dev-72b
sonar | sonar-pro | sonar-reasoning | sonar-reasoning-pro | sonar-deep-research
sonar-small-online | sonar-small-chat | sonar-medium-chat | pplx-7b-online | pplx-7b-chat
doubao-seed-2 | doubao-seed-1.6 | doubao-seed-1.8 | doubao-seed-1.6-flash | doubao-seed-1.6-thinking
nova-micro | nova-lite | nova-pro | nova-premier | nova-2-lite | nova-sonic
ernie-4.5-21b-a3b | ernie-4.5-21b-a3b-thinking | ernie-4.5-vl-28b-a3b | ernie-x1
hunyuan-turbos | hunyuan-t1 | hunyuan-large | hunyuan-lite | hunyuan-vision
jamba-1.5-mini | jamba-1.5-large | minimax-m1 | minimax-m2 | step-1 | step-2
granite-3.3-8b | granite-guardian-3.3-8b | granite-code-8b | granite-vision-3.3-2b
OLMo-3-7B | OLMo-3-7B-Think | OLMo-2-7B | OLMoE-1B-7B | Yi-34B | Yi-VL-34B | Yi-Coder-9B
internlm2-7b | internlm2-math-7b | internlm-xcomposer2-7b | starcoder2-7b | falcon-7b
nemotron-nano-12b-v2 | nemotron-nano-12b-v2-vl | nemotron-nano-9b-v2 | nemotron-3-nano-30b-a3b
t5-large | flan-t5-large | mt5-large | gpt2 | gpt2-medium | gpt2-large | gpt2-xl
"""


@pytest.mark.parametrize("family", FAMILIES.strip().split("\n"))
def test_models_of_a_family_are_different(family):
    pairs = combinations(family.split(" | "), 2)
    assert [pair for pair in pairs if same_model(*pair) or same_model(*pair[::-1])] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Llama-3-8B", "Llama-3-8B (15B tokens)"),
        ("Llama-3-8B", "Llama-3-8B, 8.0B"),
        ("Llama 3.1 8B", "llama-31-8b"),
        ("Qwen-1.5B", "qwen-1_5b"),
        ("Mixtral-8x7B", "Mixtral-8x7B (47B)"),
        ("Qwen3-30B-A3B", "Qwen3-A3B-30B"),
        ("GPT-3.5-turbo", "gpt-35-turbo"),
        ("Qwen2.5-Base", "qwen25-base"),
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
        ("GPT-4o-mini", "GPT-4o-mini w/ RAG"),
        ("GPT-4o-mini", "GPT-4o-mini w/RAG"),
        ("GPT-4o-mini", "GPT-4o-mini+bm25"),
        ("Command R+", "command-r+08-2024"),
        ("GPT-4o-mini", "GPT-4o-mini no system prompt"),
        ("GPT-4o-mini", "GPT-4o-mini + RAG"),
        ("gpt-5", "gpt-5-medium"),
        ("gpt-5", "GPT-5 (medium)"),
        ("Claude-3.7-Sonnet", "claude-3-7-sonnet-20250219-thinking"),
        ("Llama-3-8B", "llama3:8b-instruct-q4_K_M"),
        ("Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct-Q4_K_M.gguf"),
        ("Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct.Q4_K_M.gguf"),
        ("Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct-UD-Q4_K_XL-00001-of-00002.gguf"),
        ("Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct-IQ4_XS.gguf"),
        ("Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct-f16.gguf"),
        ("Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct-w4a16"),
        ("Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct-i1-Q4_K_M (local)"),
        ("Llama-3-8B", "TheBloke/Llama-3-8B-Instruct-GGUF"),
        ("Command R+", "command-r-plus-08-2024"),
        ("Claude 3.5 Sonnet", "Claude Sonnet 3.5"),
        ("Gemini-2.5-Flash", "google/gemini-flash-2.5"),
        ("GPT-4o-mini", "ChatGPT 4o mini"),
        ("GPT-4o-mini", "gpt-4o-mini run 2"),
        ("GPT-4o-mini", "GPT-4o-mini/cot"),
        ("GPT-4o-mini", "gpt-4o-mini-final"),
        ("GPT-4o-mini", "gpt-4o-mini retest"),
        ("GPT-4o-mini", "gpt-4o-mini-temp0.7"),
        ("GPT-4o-mini", "gpt-4o-mini t0"),
        ("GPT-4o-mini", "GPT-4o-mini #2"),
        ("Llama-3-8B", "unsloth/Llama-3-8B-bnb-4bit"),
    ],
)
def test_spellings_and_snapshots_are_the_same_model(one, other):
    assert same_model(one, other)
    assert same_model(other, one)


# Natural spellings of one model: dates, runs, prompts, deployments and remarks.
SPELLINGS = """
gpt-4o-mini-2024-7-18 | gpt-4o-mini-2024/7/18 | gpt-4o-mini 18.7.2024 | GPT-4o-mini (7/18/2024)
gpt-4o-mini-18Jul2024 | gpt-4o-mini-2024Jul18 | gpt-4o-mini-Jul18 | GPT-4o-mini, July 18th, 2024
gpt-4o-mini 18th July 2024 | gpt-4o-mini-18-jul | gpt-4o-mini-18072024 | gpt-4o-mini-2024-7
gpt-4o-mini-20240718-v1 | gpt-4o-mini-2024-07-18-v2 | gpt-4o-mini-240718 | gpt-4o-mini-2407
GPT-4o-mini™ | GPT-4o-mini® | GPT-4o-mini℠ | GPT-4o-mini: our run | OpenAI: GPT-4o-mini
OpenAI: GPT-4o-mini: run 2 | our GPT-4o-mini | gpt-4o-mini:online | gpt-4o-mini:nitro
gpt-4o-mini-cot | gpt-4o-mini-CoT-prompting | gpt-4o-mini-rag | gpt-4o-mini-prod | gpt-4o-mini-copy
gpt-4o-mini-2nd-run | gpt-4o-mini first run | gpt-4o-mini-rerun-2 | gpt-4o-mini-our-run
gpt-4o-mini-zero-shot | gpt-4o-mini-5-shot | gpt-4o-mini-fewshot3 | gpt-4o-mini-prompt-2
gpt-4o-mini-baseline | gpt-4o-mini-test | gpt-4o-mini-replicate-2 | gpt-4o-mini-t0.7
gpt-4o-mini-seed-1024 | GPT-4o-mini seed42 | gpt-4o-mini_temp-0.2 | GPT-4o-mini / our run
gpt-4o-mini/run2 | openai/gpt-4o-mini/v1 | GPT-4o-mini 07/2024 | GPT-4o-mini 7/2024
gpt-4o-mini-production | gpt-4o-mini-staging | gpt-4o-mini-backup | gpt-4o-mini-deployment
gpt-4o-mini-2024-07-18-cot-run3 | gpt-4o-mini-rag-2024-07-18 | gpt-4o-mini-vllm | gpt-4o-mini "cot"
"""


@pytest.mark.parametrize("name", SPELLINGS.strip().replace("\n", " | ").split(" | "))
def test_natural_spellings_are_found(name):
    assert "GPT-4o-mini" in ModelNames({name: "wrote the items"})
    assert name in ModelNames({"gpt-4o-mini-2024-07-18": "wrote the items"})
    assert not same_model(name, "GPT-4o")


@pytest.mark.parametrize("one", ["8Jul2024", "8th July 2024", "July 8, 2024", "2024-7-8"])
def test_days_without_a_zero_are_read(one):
    assert same_model(f"gpt-4o-mini {one}", "gpt-4o-mini-2024-07-08")
    assert not same_model(f"gpt-4o-mini {one}", "gpt-4o-mini-2024-07-18")


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
lmdeploy-0.6 | not known (asked 3 May) | bfloat16 | float32 | pytorch 2.4
phase 1 | round2 | wave-3
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
