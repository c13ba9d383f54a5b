// The theme's buttons for menu and contents are labels, which the Tab key passes over.
document.addEventListener("DOMContentLoaded", () => {
  for (const label of document.querySelectorAll("label.nav-overlay-icon, label.toc-overlay-icon")) {
    label.tabIndex = 0;
    label.setAttribute("role", "button");
    label.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        label.click();
      }
    });
  }
});
