// Emoji as characters: the fonts of the system draw them.

/** Returns the characters of an emoji code: hexadecimal code points with `-` between them. */
export function emojiFromCode(code: string): string {
  const points = code.split("-").map((part) => Number.parseInt(part, 16));
  if (points.some((point) => !(point > 0 && point <= 0x10ffff))) return "";
  const text = String.fromCodePoint(...points);
  // A character that is text by default needs a selector.
  return points.length === 1 && !/^\p{Emoji_Presentation}$/u.test(text) ? `${text}\uFE0F` : text;
}
