"use strict";
// Texts of tasks come from outside: they are put into the page as text, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const by = id => document.getElementById(id);
const element = (tag, properties, ...inside) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...inside);
  return made;
};
const plural = (n, word) => n + " " + word + (n === 1 ? "" : "s");

// ---- What was chosen: kept by assignment and rater, so that forms do not mix.
const storeKey = ["fairstats-ratings", data.assignment, data.rater_id].join("/");
const last = data.tasks.length - 1;
const isText = value => typeof value === "string";

const asked = (question, answers) =>
  !question.asked_if || question.asked_if[1].includes(answers[question.asked_if[0]]);

// Only what the rubric knows is taken over, in its order: what is not asked has no answer.
const sound = kept => {
  const answers = {};
  for (const question of data.questions) {
    const value = kept[question.dimension];
    if (asked(question, answers) && question.choices.some(choice => choice.value === value))
      answers[question.dimension] = value;
  }
  return answers;
};

const load = () => {
  let kept = {};
  try { kept = JSON.parse(localStorage.getItem(storeKey)) || {}; } catch { /* begin anew */ }
  const judgements = new Map();
  for (const task of data.tasks) {
    const own = (kept.judgements || {})[task.task_id] || {};
    judgements.set(task.task_id, {
      answers: sound(own.answers || {}),
      comment: isText(own.comment) ? own.comment : "",
      duration_s: Number.isFinite(own.duration_s) && own.duration_s > 0 ? own.duration_s : 0,
    });
  }
  const within = (place, most, otherwise) =>
    Number.isInteger(place) && place >= -1 && place <= most ? place : otherwise;
  const place = within(kept.place, last + 1, -1);
  // From the overview one goes back to where one came from.
  const from = within(kept.from, last, last);
  return { place, from, shortcuts: kept.shortcuts !== false, judgements };
};

let state = load();
let keeps = true;
// Tasks that were changed here since they were kept. The others are as they are kept: a second
// window may have kept them, and its word of that may still be under way.
const changed = new Set();
const readable = text => {
  try { return JSON.parse(text) !== null; } catch { return false; }
};
const save = () => {
  try {
    if (readable(localStorage.getItem(storeKey)))
      load().judgements.forEach((own, id) => changed.has(id) || state.judgements.set(id, own));
    localStorage.setItem(storeKey, JSON.stringify({ ...state, judgements: Object.fromEntries(state.judgements) }));
    changed.clear();
  } catch { keeps = false; }
  by("unkept").hidden = keeps;
};

const judgement = number => state.judgements.get(data.tasks[number].task_id);
const toChange = number => {
  changed.add(data.tasks[number].task_id);
  return judgement(number);
};
const open = number => data.questions.filter(question =>
  asked(question, judgement(number).answers) && !(question.dimension in judgement(number).answers));
const begun = number => Object.keys(judgement(number).answers).length > 0;
const status = number => !begun(number) ? "open" : open(number).length ? "partly" : "done";
const onTask = () => state.place >= 0 && state.place <= last;
// The next task that is not done, from where the overview was opened on.
const toContinue = () => {
  const left = data.tasks.map((_, i) => i).filter(i => status(i) !== "done");
  return left.find(i => i >= state.from) ?? left[0];
};

// ---- Time counts while a task is in sight.
let since = null;
const stopClock = () => {
  if (since === null) return;
  toChange(state.place).duration_s += (performance.now() - since) / 1000;
  since = null;
};
const startClock = () => {
  if (onTask() && document.visibilityState === "visible") since = performance.now();
};
const keepTime = () => { stopClock(); save(); startClock(); };

// ---- Drawing.
const say = (text, warns = false) => {
  by("status").textContent = text;
  by("status").classList.toggle("warns", warns);
};

const block = ([heading, text]) =>
  element("section", {}, element("h2", { textContent: heading }),
    element("p", { className: "text", dir: "auto", textContent: text }));

const field = question => {
  const name = "q-" + question.dimension;
  const choices = question.choices.map((choice, i) => {
    const radio = element("input", { type: "radio", name, value: choice.value });
    const key = element("kbd", { textContent: i + 1, ariaHidden: "true" });
    return element("label", {}, radio, element("span", { textContent: choice.label }), i < 9 ? key : "");
  });
  // The first sentence asks; what stands in brackets behind it explains.
  const [, asks, explains] = /^([^]*?)(?: \(([^]*)\))?$/.exec(question.question);
  const legend = element("legend", {}, element("b", { textContent: question.label }), " ",
    element("span", { textContent: asks }), explains ? element("small", { textContent: " " + explains }) : "");
  const made = element("fieldset", { id: name }, legend, element("div", { className: "choices" }, ...choices));
  made.dataset.dimension = question.dimension;
  return made;
};
by("fields").append(...data.questions.map(field));
const fields = [...by("fields").children];
const fieldOf = question => fields[data.questions.indexOf(question)];

// The question that a number key answers: where the focus is, else the first open one.
const marked = () => {
  const focused = document.activeElement?.closest("#fields fieldset");
  if (focused) return data.questions[fields.indexOf(focused)];
  return open(state.place)[0];
};
const mark = () => {
  const question = onTask() ? marked() : undefined;
  fields.forEach(one => one.classList.toggle("marked", !!question && one === fieldOf(question)));
};

// What scrolls can be reached by the keyboard.
const scrollable = () => {
  const texts = by("texts");
  if (texts.scrollHeight > texts.clientHeight) texts.tabIndex = 0;
  else texts.removeAttribute("tabindex");
};

const drawFields = () => {
  const { answers } = judgement(state.place);
  data.questions.forEach((question, i) => {
    fields[i].hidden = !asked(question, answers);
    fields[i].querySelectorAll("input").forEach(radio => {
      radio.checked = answers[question.dimension] === radio.value;
    });
  });
  mark();
};

const drawProgress = () => {
  const done = data.tasks.filter((_, i) => status(i) === "done").length;
  by("progress").value = done;
  by("count").textContent = done + " of " + data.tasks.length + " done";
  return done;
};

const said = { open: "not answered", partly: "partly answered", done: "done" };
const drawOverview = () => {
  const done = drawProgress();
  const partly = data.tasks.filter((_, i) => status(i) === "partly").length;
  const left = data.tasks.length - done - partly;
  by("summary").textContent = done > last ? "All " + plural(done, "task") + " done. Thank you."
    : [plural(done, "task") + " done", partly && partly + " partly answered", left && left + " not answered"]
      .filter(Boolean).join(", ") + "." + (partly ? " What is partly answered does not count before it is finished." : "");
  by("overview").replaceChildren(...data.tasks.map((_, i) => {
    const button = element("button", { type: "button", className: status(i), textContent: i + 1,
      ariaLabel: "Task " + (i + 1) + ", " + said[status(i)] });
    button.addEventListener("click", () => go(i));
    return element("li", {}, button);
  }));
  by("shortcuts").checked = state.shortcuts;
};

const draw = () => {
  by("start").hidden = state.place !== -1;
  by("task").hidden = !onTask();
  by("end").hidden = state.place !== last + 1;
  by("previous").hidden = state.place === -1;
  by("previous").textContent = state.place > last ? "Back" : "Previous";
  by("show-overview").hidden = state.place > last;
  by("next").hidden = state.place > last && toContinue() === undefined;
  by("next").textContent = state.place > last ? "Continue with task " + (toContinue() + 1)
    : state.place === -1 ? "Begin" : state.place === last ? "Finish" : "Next";
  document.body.classList.toggle("no-keys", !state.shortcuts);
  drawProgress();
  if (state.place === last + 1) drawOverview();
  if (!onTask()) return;
  const task = data.tasks[state.place];
  by("heading").textContent = "Task " + (state.place + 1) + " of " + data.tasks.length;
  by("texts").replaceChildren(...task.above.map(block),
    element("div", { className: "beside" }, ...task.beside.map(column => element("div", {}, ...column.map(block)))));
  by("task").classList.toggle("pair", task.beside.length > 1);
  by("comment").value = judgement(state.place).comment;
  drawFields();
  scrollable();
};

const go = place => {
  stopClock();
  state.place = place;
  save();
  draw();
  say("");
  scrollTo(0, 0);
  document.querySelector("main > section:not([hidden]) h1").focus({ preventScroll: true });
  mark();
  startClock();
};

// ---- Answering and moving.
// Answers to questions that are not asked any more: in this sitting they are back once they are asked again.
const aside = new Map();
const choose = (question, value) => {
  const own = toChange(state.place);
  const given = { ...aside.get(state.place), ...own.answers, [question.dimension]: value };
  const before = own.answers;
  aside.set(state.place, given);
  own.answers = sound(given);
  const more = data.questions.filter(one => asked(one, own.answers) && !asked(one, before));
  const back = more.filter(one => one.dimension in own.answers).length;
  drawFields();
  drawProgress();
  say(more.length ? plural(more.length, "more question") + (back ? ", " + back + " as answered before" : "") : "");
  keepTime();
};

const byKey = number => {
  const question = marked();
  const choice = question?.choices[number - 1];
  if (!choice) return;
  choose(question, choice.value);
  const following = open(state.place)[0];
  const target = following ? fieldOf(following).querySelector("input") : by("next");
  // Into view with what belongs to it, and only as far as needed.
  (following ? fieldOf(following) : target).scrollIntoView({ block: "nearest" });
  target.focus({ preventScroll: true });
  mark();
};

const next = () => {
  const left = onTask() && begun(state.place) ? open(state.place) : [];
  if (!left.length) {
    if (state.place === last) overview();
    else if (state.place < last) go(state.place + 1);
    else if (toContinue() !== undefined) go(toContinue());
    return;
  }
  const first = fieldOf(left[0]);
  say(plural(left.length, "question") + " still open here: answer, or clear the task to leave it out.", true);
  first.scrollIntoView({ block: "nearest" });
  first.querySelector("input").focus({ preventScroll: true });
};
const overview = () => { state.from = state.place; go(last + 1); };
const previous = () => state.place > -1 && go(state.place > last ? state.from : state.place - 1);

by("next").addEventListener("click", next);
by("previous").addEventListener("click", previous);
by("show-overview").addEventListener("click", overview);
by("questions").addEventListener("submit", event => event.preventDefault());
by("clear").addEventListener("click", () => {
  Object.assign(toChange(state.place), { answers: {}, comment: "" });
  aside.delete(state.place);
  keepTime();
  draw();
  say("The task is empty.");
});
by("fields").addEventListener("change", event => {
  const dimension = event.target.closest("fieldset").dataset.dimension;
  choose(data.questions.find(question => question.dimension === dimension), event.target.value);
});
by("fields").addEventListener("focusin", mark);
by("fields").addEventListener("focusout", () => setTimeout(mark));
by("comment").addEventListener("input", event => {
  toChange(state.place).comment = event.target.value;
  save();
});
by("shortcuts").addEventListener("change", event => {
  state.shortcuts = event.target.checked;
  save();
  draw();
});

document.addEventListener("keydown", event => {
  if (!state.shortcuts || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  const writes = event.target.closest("textarea, input:not([type=radio])");
  // Enter on a button or a link is that button's own.
  if (writes || (event.key === "Enter" && event.target.closest("button, a, summary"))) return;
  if (onTask() && /^[1-9]$/.test(event.key)) byKey(Number(event.key));
  else if (event.repeat) return;
  else if (event.key === "n" || event.key === "Enter") next();
  else if (event.key === "p") previous();
  else return;
  event.preventDefault();
});

// ---- Keeping and handing in.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") { stopClock(); save(); } else startClock();
});
addEventListener("resize", scrollable);
addEventListener("pagehide", () => { stopClock(); save(); });
setInterval(() => since !== null && keepTime(), 5000);
// The same form in a second window: what was done there last holds here, too.
addEventListener("storage", event => {
  if (event.key !== storeKey) return;
  since = null;
  aside.clear();
  const { place, from } = state;
  state = { ...load(), place, from };
  draw();
  startClock();
});

by("export").addEventListener("click", () => {
  const entries = numbers => numbers.map(i => {
    const { answers, comment, duration_s } = judgement(i);
    return { task_id: data.tasks[i].task_id, answers, comment, duration_s: Math.round(duration_s * 10) / 10 };
  });
  const those = wanted => data.tasks.map((_, i) => i).filter(i => status(i) === wanted);
  const done = those("done").length;
  // Time alone is no judgement, and a part of the answers is none either: it is kept apart.
  const remarks = those("open").filter(i => judgement(i).comment.trim());
  const judgements = entries([...those("done"), ...remarks].sort((a, b) => a - b));
  const partial = entries(those("partly"));
  const { format, version, assignment, rater_id, rubric } = data;
  const text = JSON.stringify({ format, version, assignment, rater_id, rubric, judgements, partial }, null, 1);
  const link = element("a", { download: data.file + "_" + done + "-of-" + data.tasks.length + ".json",
    href: URL.createObjectURL(new Blob([text], { type: "application/json" })) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  say(done + " of " + plural(data.tasks.length, "task") + " exported as " + link.download + "." +
    (partial.length ? " " + partial.length + " partly answered: in the file, and not counted." : ""));
});

const resumed = state.place > -1;
save();
draw();
startClock();
if (resumed && onTask()) say("Taken up where you were: task " + (state.place + 1) + ".");
