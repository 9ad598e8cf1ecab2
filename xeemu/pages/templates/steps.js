document.querySelectorAll(".xeemu .steps:not([data-ready])").forEach((root) => {
  root.dataset.ready = "yes";
  const steps = [...root.querySelectorAll(".step")];
  const slider = root.querySelector("input[type=range]");
  const show = (number) => {
    slider.value = Math.min(Math.max(number, 0), steps.length - 1);
    steps.forEach((step, n) => { step.hidden = n !== +slider.value; });
    const last = `of 0 to ${steps.length - 1}, as in .steps[${slider.value}]`;
    root.querySelector("output").textContent = steps.length ? `step ${slider.value} ${last}` : "no steps";
    root.querySelectorAll("tr.marked").forEach((row) => row.classList.remove("marked"));
    const step = steps[+slider.value];
    if (!step) return;
    const file = [...root.querySelectorAll(":scope > [data-file]:not(.step)")].find((f) => f.dataset.file === step.dataset.file);
    file?.querySelector(`#L${step.dataset.line}`)?.classList.add("marked");
  };
  slider.addEventListener("input", () => show(+slider.value));
  root.querySelectorAll("button[data-move]").forEach((button) =>
    button.addEventListener("click", () => show(+slider.value + +button.dataset.move)));
  show(0);
});
