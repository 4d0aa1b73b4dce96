from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from fairstats_collectors import models
from fairstats_collectors.campaign import Campaign, Unfinished
from fairstats_collectors.collect import collect
from fairstats_collectors.models import Price, find_model, known_models

from fairstats._lib.installation import resource
from fairstats._lib.problems import InputError
from fairstats.benchmarks.loading import load_benchmark

STUDIED = {
    *("GPT-5", "GPT-5-Mini", "GPT-4.1", "GPT-4.1-Mini", "GPT-4o", "GPT-4-Turbo"),
    *("Claude-4-Sonnet", "Claude-3.7-Sonnet", "Gemini-2.5-Flash", "Gemini-2.0-Flash"),
    *("Qwen-3", "Qwen-2.5", "DeepSeek-V3.1", "DeepSeek-V3"),
}


def test_the_models_of_the_study_are_known_in_its_versions() -> None:
    models = known_models()
    assert set(models) == STUDIED
    with resource("data", "published", "fairmedqa_table3.csv").open(encoding="utf-8") as file:
        printed = {row["model"]: row["snapshot"] for row in csv.DictReader(file)}
    assert printed.keys() <= models.keys()
    for name, snapshot in printed.items():
        assert models[name].snapshot == snapshot
    with resource("data", "sources", "fairmedqa.csv").open(encoding="utf-8") as file:
        released = {row["model"].lower(): row["snapshot"] for row in csv.DictReader(file)}
    for name in ("GPT-4o", "GPT-4-Turbo"):
        assert models[name].snapshot == released[name.lower()]


def test_every_model_entry_is_usable() -> None:
    for name, model in known_models().items():
        assert model.key_variable.endswith("_API_KEY"), name
        assert set(model.names) == {"temperature", "seed", "max_tokens"}, name
        assert model.base_url is None or model.base_url.startswith("https://"), name
        assert model.price is None or 0 < model.price.prompt <= model.price.completion, name


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("prices_date", "price_date", "price_date"),
        ("[services.openai]", '[services.openai]\nkeys = "A"', "services.openai.keys"),
        ('[models."GPT-5"]', '[models."GPT-5"]\nthinkin = 1', "models.GPT-5.thinkin"),
    ],
)
def test_unknown_key_of_the_list_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, key: str
) -> None:
    file = tmp_path / "models.toml"
    text = models._FILE.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(models, "_FILE", file)
    with pytest.raises(InputError, match=f"{key}: unknown key; did you mean"):
        known_models()


def test_unknown_model_name_is_passed_to_the_service() -> None:
    assert find_model("tiny", base_url=None).model == "tiny"
    assert find_model("GPT-4.1", base_url="http://localhost/v1").model == "GPT-4.1"
    assert find_model("GPT-4.1", base_url=None).price == Price(2.0, 8.0)


def test_model_version_without_a_known_service_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no known service.*give a service with base_url"):
        collect(load_benchmark("demo"), model="DeepSeek-V3", out=tmp_path)


def test_known_model_gets_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    async def run(self: Campaign, tasks: Any, *, settle: bool, **_: Any) -> None:
        seen.append((self.service, tasks, settle))
        self.stop("budget")

    monkeypatch.setattr(Campaign, "run", run)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    options: dict[str, Any] = {"out": tmp_path, "progress": False, "limit": 1}
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY: is not set"):
        collect(load_benchmark("demo"), model="Claude-4-Sonnet", **options)
    with pytest.raises(Unfinished):
        collect(load_benchmark("demo"), model="GPT-5", max_cost=1.0, **options)
    ((service, tasks, settle),) = seen
    assert service.endpoint == "api.openai.com/v1"
    assert service.model == "gpt-5-2025-08-07"
    # It thinks before it replies, and thinking tokens count.
    assert service.parameters(0) == {"seed": 0, "max_completion_tokens": 24 + 4000}
    assert settle
    assert len(tasks) == 8
