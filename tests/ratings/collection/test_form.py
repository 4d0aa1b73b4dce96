"""The form in a real browser, opened from the disk, filled by keyboard, left and taken up again."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from fairstats.ratings.collection.import_ratings import import_ratings
from tests.browsing import violations
from tests.rating_files import COMPARES, HOSTILE, form_data, item_rows, key_of, rater_rows


@pytest.fixture
def watched():
    """Fail the test if a page says something to its developers or asks the network."""
    said, asked = [], []

    def watch(tab):
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("dialog", lambda dialog: said.append(dialog.message))
        tab.on("request", lambda request: asked.append(request.url))
        return tab

    yield watch
    assert said == []
    assert all(url.startswith(("file://", "data:", "blob:")) for url in asked)


@pytest.fixture
def sitting(browser, watched):
    """Open a form in a new tab, alone, and with what was stored before.

    The browser is not restarted: it writes to the disk when it likes, which no form can hasten.
    """
    contexts = []

    def opened(form, *, width=1280, **options):
        if not contexts:
            viewport = {"width": width, "height": 900}
            contexts.append(browser.new_context(viewport=viewport, **options))
        (context,) = contexts
        for tab in context.pages:
            with tab.expect_event("close"):
                tab.close(run_before_unload=True)
        tab = watched(context.new_page())
        tab.goto(form.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def form_of(handed):
    """The one form of an assignment to one rater."""

    def build(rubric="independent", **options):
        options = {"raters": rater_rows(physician=1), "replicates": 1} | options
        assigned = handed(rubric, **options)
        (form,) = assigned.path.glob("forms/*.html")
        return assigned, form

    return build


def press(tab, *keys):
    for key in keys:
        tab.keyboard.press(key)


def heading(tab):
    return tab.locator("main > section:visible h1").inner_text()


def reaches(tab, form, text):
    """Return whether a form has this heading; what one window stored reaches another later."""
    for _ in range(100):
        tab.goto(form.as_uri())
        if heading(tab) == text:
            return True
        tab.wait_for_timeout(100)
    return False


def shown_questions(tab):
    return tab.locator("#fields fieldset:visible").count()


def warns(tab):
    """Return whether a message is in the colour of warnings."""
    return tab.evaluate(
        """() => getComputedStyle(document.getElementById("status")).color
          !== getComputedStyle(document.body).color"""
    )


def exported(tab, tmp_path):
    tab.get_by_role("button", name="Overview and export").click()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Export ratings").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_half_filled_closed_reopened_finished_exported_and_imported(sitting, form_of, tmp_path):
    assigned, form = form_of("pairwise", items=4)
    tab = sitting(form)
    assert heading(tab) == "Pairwise assessment"
    press(tab, "Enter", "3", "Enter")
    assert heading(tab) == "Task 2 of 4"
    # The first answer has more bias, the second one stereotypes; and a remark.
    press(tab, "1", "3", "3", "2", "3")
    tab.get_by_label("Comment").fill("n 1 2 3 p <b>")

    tab = sitting(form)
    assert heading(tab) == "Task 2 of 4"
    assert "Taken up where you were" in tab.get_by_role("status").inner_text()
    assert tab.get_by_label("Comment").input_value() == "n 1 2 3 p <b>"
    assert tab.locator("#fields input:checked").count() == 5
    press(tab, "3", "3", "3", "n", "2", *"3333333", "Enter")
    assert heading(tab) == "Task 4 of 4"
    press(tab, "p")
    assert heading(tab) == "Task 3 of 4"
    press(tab, "n", "3")
    assert tab.locator("#count").inner_text() == "4 of 4 done"
    path = exported(tab, tmp_path)
    assert path.name == f"p0_{assigned.assignment}_4-of-4.json"

    written = import_ratings(path, assignment=assigned.path, out=tmp_path / "in")
    assert [note.split(",")[0] for note in written.notes] == ["4 of 4 judgements"]
    tasks = [task["task_id"] for task in form_data(form)["tasks"]]
    swapped = key_of(assigned).set_index("task_id")["swapped"] == "true"
    table = written.ratings.pivot(index="task_id", columns="dimension", values="value")
    other = {"answer_1": "answer_2", "answer_2": "answer_1", "tie": "tie"}
    chosen = {
        tasks[0]: {"bias": "tie", "stereotypes": "tie"},
        tasks[1]: {"bias": "answer_1", "stereotypes": "answer_2", "other": "tie"},
        tasks[2]: {"bias": "answer_2", "stereotypes": "tie"},
        tasks[3]: {"bias": "tie", "other": "tie"},
    }
    for task, values in chosen.items():
        for dimension, value in values.items():
            meant = other[value] if swapped[task] else value
            assert table.loc[task, dimension] == meant, (task, dimension)
    assert swapped.sum() == 2
    assert len(written.ratings) == 4 * 8
    comments = written.paths[1].read_text(encoding="utf-8").splitlines()
    assert [line.rsplit(",", 1)[1] for line in comments] == ["comment", "n 1 2 3 p <b>"]
    assert "comment" not in written.ratings


def test_questions_appear_when_they_are_asked_and_are_cleared_when_not(sitting, form_of, tmp_path):
    _, form = form_of(items=2)
    tab = sitting(form)
    press(tab, "Enter")
    assert shown_questions(tab) == 1
    press(tab, "2")
    assert shown_questions(tab) == 8
    assert tab.get_by_role("status").inner_text() == "7 more questions"
    assert not warns(tab)
    press(tab, "2", "2")
    assert tab.locator("#fields input:checked").count() == 3
    tab.get_by_role("radio", name="No bias").check()
    assert shown_questions(tab) == 1
    # A slip does no harm: the earlier answer is restored in this session.
    tab.get_by_role("radio", name="Severe bias").check()
    assert tab.locator("#fields input:checked").count() == 3
    assert tab.get_by_role("status").inner_text().startswith("7 more questions, 2 ")
    tab.get_by_role("radio", name="No bias").check()
    export = json.loads(exported(tab, tmp_path).read_text())
    assert [judgement["answers"] for judgement in export["judgements"]] == [{"bias": "none"}]


def test_partly_filled_task_blocks_and_can_be_cleared(sitting, form_of):
    _, form = form_of(items=2)
    tab = sitting(form)
    press(tab, "Enter", "3", "n")
    assert heading(tab) == "Task 1 of 2"
    assert "7 questions still open" in tab.get_by_role("status").inner_text()
    assert warns(tab)
    tab.get_by_role("button", name="Clear this task").click()
    assert tab.locator("#fields input:checked").count() == 0
    tab.locator("h1:visible").focus()
    press(tab, "n")
    assert heading(tab) == "Task 2 of 2"
    tab.get_by_role("button", name="Overview and export").click()
    assert tab.locator("#summary").inner_text().startswith("0 tasks done, 2 ")


def test_cleared_task_has_no_old_values(sitting, form_of):
    _, form = form_of(items=1)
    tab = sitting(form)
    press(tab, "Enter", "3", "2")
    tab.get_by_role("button", name="Clear this task").click()
    tab.get_by_role("radio", name="Severe bias").check()
    assert tab.locator("#fields input:checked").count() == 1


def test_header_export_and_import_count_the_same(sitting, form_of, tmp_path):
    assigned, form = form_of(items=4)
    tab = sitting(form)
    press(tab, "Enter", "1", "Enter", "3", "2")
    tab.get_by_role("button", name="Overview and export").click()
    tab.get_by_role("button", name="Task 3, not answered").click()
    tab.get_by_label("Comment").fill("cannot tell")
    path = exported(tab, tmp_path)
    assert tab.locator("#count").inner_text() == "1 of 4 done"
    assert path.name.endswith("_1-of-4.json")
    said = tab.get_by_role("status").inner_text()
    assert said.startswith("1 of 4 tasks exported")
    assert "1 partly answered: " in said
    assert not warns(tab)
    tasks = [task["task_id"] for task in form_data(form)["tasks"]]
    export = json.loads(path.read_text())
    assert [one["task_id"] for one in export["judgements"]] == [tasks[0], tasks[2]]
    assert [(one["task_id"], one["answers"]) for one in export["partial"]] == [
        (tasks[1], {"bias": "severe", "inaccuracy": "present"})
    ]
    written = import_ratings(path, assignment=assigned.path, out=tmp_path / "in")
    judged, missing, partly = written.notes
    assert judged.startswith("1 of 4 ")
    assert missing.endswith("missing: P0 3 of 4")
    assert partly.endswith(f"task {tasks[1]} of P0")
    assert "cannot tell" in written.paths[1].read_text()


def test_form_reopens_at_the_overview_if_left_there(sitting, form_of):
    _, form = form_of(items=4)
    tab = sitting(form)
    press(tab, "n", "1", "n", "n", "1")
    tab.get_by_role("button", name="Overview and export").click()
    tab = sitting(form)
    assert heading(tab) == "Overview"
    tab.get_by_role("button", name="Back").click()
    assert heading(tab) == "Task 3 of 4"
    tab.get_by_role("button", name="Overview and export").click()
    # Later tasks come first, then skipped ones.
    tab.get_by_role("button", name="Continue with task 4").click()
    assert heading(tab) == "Task 4 of 4"
    press(tab, "1", "n")
    tab.get_by_role("button", name="Continue with task 2").click()
    press(tab, "1")
    tab.get_by_role("button", name="Overview and export").click()
    assert not tab.get_by_role("button", name="Continue with").is_visible()
    assert tab.locator("#summary").inner_text().startswith("All 4 tasks done.")


def test_shortcuts_are_ignored_in_text_fields_and_when_off(sitting, form_of):
    _, form = form_of(items=2)
    tab = sitting(form)
    press(tab, "n")
    tab.get_by_label("Comment").focus()
    press(tab, "1", "n", "p", "Enter")
    assert heading(tab) == "Task 1 of 2"
    assert tab.get_by_label("Comment").input_value() == "1np\n"
    tab.get_by_role("button", name="Overview and export").click()
    tab.get_by_label("Single keys choose and move on").uncheck()
    tab.get_by_role("button", name="Back").click()
    press(tab, "1", "n")
    assert heading(tab) == "Task 1 of 2"
    assert tab.locator("#fields input:checked").count() == 0


def test_arrows_and_a_click_choose_too(sitting, form_of):
    _, form = form_of(items=1)
    tab = sitting(form)
    press(tab, "n")
    tab.get_by_text("No bias", exact=True).click()
    assert tab.get_by_role("radio", name="No bias").is_checked()
    press(tab, "ArrowRight")
    assert tab.get_by_role("radio", name="Minor bias").is_checked()
    assert shown_questions(tab) == 8


def test_time_counts_while_a_task_is_shown_and_not_elsewhere(sitting, form_of, tmp_path):
    _, form = form_of(items=2)
    tab = sitting(form)
    tab.wait_for_timeout(400)
    press(tab, "n", "1")
    tab.wait_for_timeout(1200)
    # A tab that is not looked at.
    tab.evaluate(
        """() => { Object.defineProperty(document, "visibilityState", {get: () => "hidden"});
          document.dispatchEvent(new Event("visibilitychange")); }"""
    )
    tab.wait_for_timeout(1500)
    export = json.loads(exported(tab, tmp_path).read_text())
    (judgement,) = export["judgements"]
    assert 1.0 <= judgement["duration_s"] < 2.4


def test_forms_of_two_assignments_are_kept_separate(sitting, handed):
    people = rater_rows(physician=1)
    forms = [
        next(handed(raters=people, replicates=1, seed=seed, out=f"s{seed}").path.glob("forms/*"))
        for seed in (1, 2)
    ]
    tab = sitting(forms[0])
    press(tab, "n", "1", "n")
    tab = sitting(forms[1])
    assert heading(tab) == "Independent assessment"
    assert reaches(sitting(forms[0]), forms[0], "Task 2 of 6")


def test_two_windows_of_a_form_keep_each_others_changes(sitting, form_of):
    _, form = form_of(items=3)
    first = sitting(form)
    press(first, "n", "1")
    second = first.context.new_page()
    assert reaches(second, form, "Task 1 of 3")
    press(second, "n", "1")
    first.get_by_text("1 of 3 done").wait_for(state="detached", timeout=30_000)
    press(first, "n", "n", "1")
    for tab in (first, second):
        tab.get_by_text("3 of 3 done").wait_for(timeout=30_000)


def test_window_keeps_unseen_changes_of_another_window(sitting, form_of):
    _, form = form_of(items=3)
    context = sitting(form).context
    # As if the message about the other window's changes came late: it never comes.
    context.add_init_script("addEventListener('storage', e => e.stopImmediatePropagation())")
    first, second = context.new_page(), context.new_page()
    for tab in (first, second):
        tab.goto(form.as_uri())
    press(first, "n", "1")
    press(second, "n", "n", "1")
    # Saved once more with its changes, the state is complete.
    press(first, "n", "n", "1")
    assert first.locator("#count").inner_text() == "3 of 3 done"
    third = context.new_page()
    # Changes in one window reach the other after a moment, by an event of the browser.
    for _ in range(100):
        third.goto(form.as_uri())
        if third.locator("#count").inner_text() == "3 of 3 done":
            break
        third.wait_for_timeout(100)
    assert third.locator("#count").inner_text() == "3 of 3 done"


def test_invalid_stored_state_is_ignored(sitting, form_of):
    assigned, form = form_of(items=2)
    tab = sitting(form)
    press(tab, "n", "1")
    first = form_data(form)["tasks"][0]["task_id"]
    kept = {
        "place": 99,
        "judgements": {
            first: {
                "answers": {"bias": "none", "inaccuracy": "present", "other": "<b>"},
                "comment": 7,
                "duration_s": "x",
            },
            "other": None,
        },
    }
    key = f"fairstats-ratings/{assigned.assignment}/P0"
    # The form saves its state once more when it is closed, perhaps after the next page has begun.
    stored = f"localStorage.setItem({json.dumps(key)}, {json.dumps(json.dumps(kept))})"
    tab.add_init_script(script=stored)
    tab.reload()
    assert heading(tab) == "Independent assessment"
    assert tab.locator("#count").inner_text() == "1 of 2 done"
    press(tab, "n")
    assert tab.locator("#fields input:checked").count() == 1
    assert tab.get_by_label("Comment").input_value() == ""


def test_hostile_texts_are_shown_as_they_are(sitting, form_of):
    rows = [
        {"item_id": f"q{i}", "question": text, "answer": text} for i, text in enumerate(HOSTILE)
    ]
    name = 'R"><script>alert(1)</script>' + "m" * 100
    _, form = form_of(items=rows, raters=[{"rater_id": name, "rater_group": "physician"}])
    tab = sitting(form, width=360)
    assert tab.locator(".rater").inner_text() == f"Rater {name}"
    shown = set()
    press(tab, "n")
    for _ in rows:
        assert tab.locator("#texts img, #texts script, #texts b").count() == 0
        shown.add(tab.locator("#texts .text").first.evaluate("text => text.textContent"))
        assert tab.evaluate("document.documentElement.scrollWidth") == 360
        press(tab, "n")
    assert shown == set(HOSTILE)


@pytest.mark.parametrize("rubric", list(COMPARES))
def test_page_fits_a_narrow_screen(sitting, form_of, rubric):
    _, form = form_of(rubric, items=30)
    tab = sitting(form, width=360)
    for _ in range(3):
        assert tab.evaluate("document.documentElement.scrollWidth") == 360
        cut = tab.evaluate(
            """() => [...document.querySelectorAll("body *")].filter(e =>
              e.getBoundingClientRect().right > innerWidth + 1
              && getComputedStyle(e).position !== "absolute").map(e => e.outerHTML.slice(0, 90))"""
        )
        assert cut == []
        if heading(tab).startswith("Task"):
            press(tab, "2", "2", "2", "1")
            tab.get_by_role("button", name="Overview and export").click()
        else:
            press(tab, "n")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("rubric", list(COMPARES))
def test_axe_finds_no_violation(sitting, form_of, rubric, scheme):
    rows = item_rows(3, compares=COMPARES[rubric])
    rows[0] |= {name: "A long answer. " * 400 for name in ("answer", "answer_2") if name in rows[0]}
    _, form = form_of(rubric, items=rows)
    tab = sitting(form, color_scheme=scheme, bypass_csp=True)
    for keys in ((), ("n",), ("2", "1"), ("n",)):
        press(tab, *keys)
        assert violations(tab) == [], keys
    tab.get_by_role("button", name="Overview and export").click()
    assert violations(tab) == []


def test_dark_mode_has_dark_paper(sitting, form_of):
    _, form = form_of(items=1)
    tab = sitting(form)

    def paper(scheme):
        tab.emulate_media(color_scheme=scheme)
        return tab.evaluate("getComputedStyle(document.body).backgroundColor")

    assert paper("light") == "rgb(253, 252, 249)"
    assert paper("dark") == "rgb(20, 24, 29)"


def test_policy_allows_only_this_script_and_style(form_of):
    _, form = form_of(items=1)
    text = form.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert "http:" not in policy[1]
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (own,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy[1]
