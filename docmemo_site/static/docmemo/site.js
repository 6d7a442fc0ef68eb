// Small comforts; every page works without them.

// A running question or job is polled; when it ends, tell a screen reader once instead of at every poll.
document.addEventListener("htmx:afterSwap", (event) => {
    const ended = event.target.querySelector?.("[data-ended]") ?? document.querySelector("[data-ended]");
    const speaker = document.getElementById("announcement");
    if (ended && speaker && speaker.textContent !== ended.dataset.ended) {
        speaker.textContent = ended.dataset.ended;
    }
});

// Ctrl+Enter or Cmd+Enter sends the question.
document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && field.matches?.("textarea[data-send]")) {
        field.form.requestSubmit();
    }
});

// One press, one request.
document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (form.dataset.sent) {
        event.preventDefault();
        return;
    }
    form.dataset.sent = "yes";
    setTimeout(() => delete form.dataset.sent, 5000);
});
window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});
