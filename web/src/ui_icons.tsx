// Pictures of the head of the page.
export const Logo = () => (
  <svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke-linecap="round">
    <rect x="1" y="1" width="22" height="22" rx="6" fill="var(--mark)" />
    <path d="M5 18 C9 18 9 12 13 12 H19" stroke="var(--on-mark)" stroke-width="2" />
    <path d="M5 6 C9 6 9 12 13 12" stroke="var(--on-mark)" stroke-width="2" opacity="0.65" />
    <circle cx="19" cy="12" r="1.9" fill="var(--on-mark)" />
  </svg>
);
export const Sun = () => (
  <svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round">
    <circle cx="12" cy="12" r="4" /><path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4" />
  </svg>
);
export const Save = () => (
  <svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
    <path d="M12 4v11M7.5 10.5 12 15l4.5-4.5M5 19h14" />
  </svg>
);
