// Adds a button to each command that copies it. Without this script a click selects the command.
if (navigator.clipboard) {
  for (const command of document.querySelectorAll("pre.copy")) {
    const button = document.createElement("button");
    button.className = "copying";
    button.textContent = "Copy";
    button.onclick = async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(command);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    };
    command.before(button);
  }
}
// Opens the cause that a link leads to, in browsers that do not do so themselves.
const reveal = () => {
  const cause = document.getElementById(location.hash.slice(1));
  for (let e = cause?.closest("details:not([open])"); e; e = e.closest("details:not([open])")) e.open = true;
};
addEventListener("hashchange", reveal);
reveal();
