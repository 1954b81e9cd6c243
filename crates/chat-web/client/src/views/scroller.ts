// Where the window of rendered rows is in a list of many, and how it stays where the reader looks.
//
// Of thousands of messages some hundred are elements of the page; above and below stand two spaces as high as the
// rest is measured or estimated to be. What the reader looks at is held by an anchor: a row and how far it is below
// the upper edge. After each change of the rows the list is scrolled so that the anchor is where it was.

/** Height of a row that was not shown yet, in pixels, until some were. */
const FIRST_GUESS_PX = 56;
/** The lowest row: it decides how many are rendered. */
const LOWEST_ROW_PX = 24;
/** Rows rendered beyond the visible ones, on each side. */
const BEYOND = 24;
/** The window follows in steps of this many rows: a frame renders few new ones. */
const STEP = 4;
/** So far from the end, in pixels, the list still counts as scrolled to its end. */
export const END_TOLERANCE_PX = 24;

export interface Anchor {
  readonly id: number;
  /** Pixels of the row's upper edge below that of the list. */
  readonly offset: number;
}

export interface Window {
  readonly start: number;
  readonly end: number;
}

/** Measured heights, by message. */
export class Heights {
  private readonly known = new Map<number, number>();
  private sum = 0;

  of(id: number): number {
    return this.known.get(id) ?? this.guess();
  }

  private guess(): number {
    return this.known.size > 0 ? this.sum / this.known.size : FIRST_GUESS_PX;
  }

  set(id: number, height: number): void {
    const before = this.known.get(id);
    if (before === height) return;
    this.sum += height - (before ?? 0);
    this.known.set(id, height);
  }

  /** Returns the height of the rows from one place to another. */
  between(ids: readonly number[], start: number, end: number): number {
    let height = 0;
    const guess = this.guess();
    for (let at = start; at < end; at += 1) height += this.known.get(ids[at] ?? -1) ?? guess;
    return height;
  }

  /** Returns the place of the row at a height. */
  at(ids: readonly number[], top: number): number {
    let height = 0;
    const guess = this.guess();
    for (let at = 0; at < ids.length; at += 1) {
      height += this.known.get(ids[at] ?? -1) ?? guess;
      if (height > top) return at;
    }
    return Math.max(0, ids.length - 1);
  }
}

/** Returns the place of the first number that is not smaller, in an ascending list. */
export function placeInList(ids: readonly number[], id: number): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ids[middle] ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the rows to render around one, in a list of that visible height. */
export function windowAround(ids: readonly number[], centerId: number, heightPx: number): Window {
  const visible = Math.ceil(heightPx / LOWEST_ROW_PX);
  const at = Math.min(placeInList(ids, centerId), Math.max(0, ids.length - 1));
  const end = Math.min(ids.length, at + visible + BEYOND);
  // At the end of the list there is as much to render above.
  const start = Math.max(0, Math.min(at - BEYOND, end - visible - BEYOND));
  return { start, end };
}

/** Returns whether the window is to follow the row that is at the upper edge now. */
export function isToFollow(window: Window, at: number, count: number, heightPx: number): boolean {
  const visible = Math.ceil(heightPx / LOWEST_ROW_PX);
  const nearStart = window.start > 0 && at - window.start < BEYOND - STEP;
  const nearEnd = window.end < count && window.end - at < visible + BEYOND - STEP;
  return nearStart || nearEnd;
}
