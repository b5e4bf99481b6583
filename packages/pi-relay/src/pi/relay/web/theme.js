// Light or dark: as the system has it, until the reader chooses.

/** A value that this browser keeps; "" without one, or where pages may not keep anything. */
export function remembered(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(`pi-${name}`, value);
    return localStorage.getItem(`pi-${name}`) ?? "";
  } catch {
    return value ?? "";
  }
}

export function applyTheme(button) {
  const root = document.documentElement;
  const chosen = remembered("theme");
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  button.addEventListener("click", () => {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme ?? (isDark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    remembered("theme", root.dataset.theme);
  });
}
