// The icons of the client: strokes on a grid of 24 units.

const PATHS = {
  inbox: "M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5",
  feed: "M4 6h16M4 12h16M4 18h10",
  at: "M16 8v5a2.5 2.5 0 0 0 5 0v-1a9 9 0 1 0-4 7.5M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0z",
  star: "M12 3.5l2.6 5.4 5.9.8-4.3 4.1 1 5.9-5.2-2.8-5.2 2.8 1-5.9L3.500 9.700l5.900-.8z",
  draft: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  clock: "M12 7v5l3 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z",
  hash: "M9 4L7 20M17 4l-2 16M4 9h16M3.500 15h16",
  lock: "M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3",
  globe: "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  search: "M20 20l-4.500-4.500M17 10.500a6.500 6.500 0 1 1-13 0 6.500 6.500 0 0 1 13 0z",
  menu: "M4 7h16M4 12h16M4 17h16",
  people: "M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM3 20c0-4 3-6 6-6s6 2 6 6M16 5a3 3 0 0 1 0 6M17 14c2.500.500 4 2.500 4 6",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  smile: "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0zM8.500 14.500c1 1.300 2.200 2 3.500 2s2.500-.7 3.500-2M9 9.500v.01M15 9.500v.01",
  more: "M12 6v.01M12 12v.01M12 18v.01",
  quote: "M4 7h7v6c0 3-2 4-4 5M13 7h7v6c0 3-2 4-4 5",
  reply: "M9 7L4 12l5 5M4 12h9c4 0 7 2 7 7",
  send: "M4 12l16-8-6 16-3-7z",
  check: "M5 13l4 4L19 7",
  bold: "M7 5h6a3.500 3.500 0 0 1 0 7H7zM7 12h7a3.500 3.500 0 0 1 0 7H7z",
  italic: "M10 5h8M6 19h8M14 5l-4 14",
  strike: "M5 12h14M8 8c0-2 2-3 4-3s3.500 1 4 2.500M16 16c0 2-2 3-4 3s-3.500-1-4-2.500",
  code: "M8 8l-4 4 4 4M16 8l4 4-4 4",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  list: "M9 6h11M9 12h11M9 18h11M4.500 6v.01M4.500 12v.01M4.500 18v.01",
  clip: "M8 12l6-6a3 3 0 0 1 4.500 4.500L11 18a5 5 0 0 1-7-7l7-7",
  eye: "M2.500 12S6 6 12 6s9.500 6 9.500 6-3.500 6-9.500 6-9.500-6-9.500-6zM14.500 12a2.500 2.500 0 1 1-5 0 2.500 2.500 0 0 1 5 0z",
  gear: "M15 12a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM12 3v3M12 18v3M3 12h3M18 12h3M5.600 5.600l2.100 2.100M16.300 16.300l2.100 2.100M5.600 18.400l2.100-2.100M16.300 7.700l2.100-2.100",
  help: "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0zM9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.7.400-1 .9-1 1.700M12 16.500v.01",
  mute: "M5 10v4h3l4 4V6L8 10zM16 10l4 4M20 10l-4 4",
  follow: "M5 19c0-8 6-14 14-14M5 19c0-4 3-7 7-7M5 19v-.01",
  down: "M6 9l6 6 6-6",
  up: "M6 15l6-6 6 6",
  arrowDown: "M12 5v14M6 13l6 6 6-6",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  move: "M4 12h14M13 7l5 5-5 5",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  exit: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
} as const;

export type IconName = keyof typeof PATHS;

/** An icon; it says nothing to screen readers, the control around it has the name. */
export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }) {
  return (
    <svg class={`icon ${filled ? "filled" : ""}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
