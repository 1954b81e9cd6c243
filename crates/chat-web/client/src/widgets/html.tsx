// The one place where HTML becomes part of the page.
//
// The server renders messages and escapes what people typed. What it sends is read into a document of its own, in
// which nothing runs, and copied element by element: an element or attribute that is not listed here does not get in,
// whatever the server or something between says.
import { useLayoutEffect, useRef } from "preact/hooks";
import { emojiFromCode } from "./emoji_text";
import { formatMoment } from "./time";
import { useStore } from "../app/app";
import type { Playground } from "../store/types";
import { t } from "../text/language";

const HTML_ELEMENTS = new Set(
  (
    "a audio blockquote br code del div em h1 h2 h3 h4 h5 h6 hr img ins li ol p pre span strong table tbody td th thead time " +
    "tr ul video sup sub b i u s"
  ).split(" "),
);
const MATH_ELEMENTS = new Set(
  (
    "math semantics annotation mrow mi mn mo mtext ms mspace mfrac msup msub msubsup mover munder munderover msqrt " +
    "mroot mtable mtr mtd mstyle mpadded mphantom menclose"
  ).split(" "),
);
const ATTRIBUTES = new Set(
  (
    "alt aria-label class controls data-user-id data-user-group-id data-stream-id data-code-language data-original-dimensions " +
    "data-animated datetime role start title colspan rowspan mathvariant stretchy fence separator accent accentunder " +
    "columnalign rowspacing columnspacing scriptlevel displaystyle width height lspace rspace minsize maxsize display"
  ).split(" "),
);
const MATHML = "http://www.w3.org/1998/Math/MathML";
const LINKS = /^(?:https?:|mailto:|tel:|xmpp:|irc:|ircs:|matrix:|zulip:|ftp:|#|\/(?!\/)|[^:/?#]+(?:[/?#]|$))/i;
/** Pictures come from the server itself: what is elsewhere would learn who reads. */
const SOURCES = /^\/(?!\/)/;

/** Returns a copy of the HTML made of known elements and attributes alone. */
export function cleanHtml(html: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  // The style of an attribute is applied through the object model below: the policy of the page forbids it in markup,
  // also in this document, so it is renamed before it is read.
  const renamed = html.replace(/<[a-z][^<>]*>/gi, (tag) => tag.replaceAll(' style="', ' data-inline-style="'));
  const parsed = new DOMParser().parseFromString(renamed, "text/html");
  for (const child of parsed.body.childNodes) copy(child, fragment);
  return fragment;
}

function copy(node: Node, into: ParentNode & Node): void {
  if (node.nodeType === Node.TEXT_NODE) {
    into.appendChild(document.createTextNode(node.nodeValue ?? ""));
    return;
  }
  if (!(node instanceof Element)) return;
  const name = node.localName;
  const isMath = node.namespaceURI === MATHML && MATH_ELEMENTS.has(name);
  if (!isMath && !HTML_ELEMENTS.has(name)) {
    if (name === "script" || name === "style" || name === "svg" || name === "template") return;
    for (const child of node.childNodes) copy(child, into);
    return;
  }
  // Formulas come as MathML and as boxes for browsers without it; the boxes need a style sheet of their own.
  if (node.classList.contains("katex-html") || name === "annotation") return;
  const made = isMath ? document.createElementNS(MATHML, name) : document.createElement(name);
  for (const { name: attribute, value } of node.attributes) setAttribute(made, attribute, value);
  into.appendChild(made);
  for (const child of node.childNodes) copy(child, made);
}

function setAttribute(element: Element, name: string, value: string): void {
  if (ATTRIBUTES.has(name)) element.setAttribute(name, value);
  else if (name === "href" && element.localName === "a") setLink(element, value);
  else if (name === "src" && SOURCES.test(value)) element.setAttribute("src", value);
  else if (name === "data-inline-style" && element instanceof HTMLElement) {
    const align = /text-align:\s*(left|center|right)/.exec(value)?.[1];
    if (align) element.style.textAlign = align;
  }
}

function setLink(link: Element, address: string): void {
  if (!LINKS.test(address.trim())) return;
  const own = address.startsWith(`${location.origin}/`) ? address.slice(location.origin.length) : address;
  link.setAttribute("href", own);
  if (own.startsWith("#") || own.startsWith("/#")) return;
  link.setAttribute("target", "_blank");
  link.setAttribute("rel", "noopener noreferrer");
}

interface ServerHtmlProps {
  html: string;
  /** Who reads it: what mentions them is marked. */
  selfId?: number;
  /** Whether its sender speaks of themselves, behind their name. */
  isMe?: boolean;
}

/** HTML that the server rendered. */
export function ServerHtml({ html, selfId, isMe = false }: ServerHtmlProps) {
  const host = useRef<HTMLDivElement>(null);
  const playgrounds = useStore((state) => state.playgrounds);
  useLayoutEffect(() => {
    const content = cleanHtml(html);
    decorate(content, selfId);
    for (const code of content.querySelectorAll<HTMLElement>(".codehilite")) linkToPlaygrounds(code, playgrounds);
    if (isMe) withoutCommand(content);
    host.current?.replaceChildren(content);
  }, [html, selfId, isMe, playgrounds]);
  return <div class={isMe ? "rendered me" : "rendered"} dir="auto" ref={host} />;
}

function withoutCommand(content: DocumentFragment): void {
  const first = document.createTreeWalker(content, NodeFilter.SHOW_TEXT).nextNode();
  if (first) first.nodeValue = (first.nodeValue ?? "").replace(/^\s*\/me\s+/, "");
}

/** Makes what the server describes into what the reader sees: emoji, times, hidden text, buttons on code. */
function decorate(content: DocumentFragment, selfId: number | undefined): void {
  for (const emoji of content.querySelectorAll<HTMLElement>("span.emoji")) {
    const code = /emoji-([0-9a-f-]+)/.exec(emoji.className)?.[1];
    if (code) emoji.textContent = emojiFromCode(code);
  }
  for (const time of content.querySelectorAll("time")) {
    const moment = new Date(time.getAttribute("datetime") ?? "");
    if (!Number.isNaN(moment.getTime())) {
      time.textContent = formatMoment(moment);
      time.setAttribute("title", `${time.getAttribute("datetime")}`);
    }
  }
  for (const mention of content.querySelectorAll<HTMLElement>(".user-mention")) {
    const { userId } = mention.dataset;
    if (userId === "*" || (selfId !== undefined && userId === String(selfId))) mention.classList.add("own");
    if (userId !== "*") makeButton(mention);
  }
  for (const block of content.querySelectorAll<HTMLElement>(".spoiler-block")) decorateSpoiler(block);
  for (const code of content.querySelectorAll<HTMLElement>(".codehilite")) decorateCode(code);
  for (const picture of content.querySelectorAll<HTMLImageElement>(".message_inline_image img")) {
    const [width, height] = (picture.dataset["originalDimensions"] ?? "").split("x").map(Number);
    if (width && height) picture.style.aspectRatio = `${width} / ${height}`;
    picture.loading = "lazy";
    picture.alt ||= picture.closest("a")?.title || t("Picture");
  }
  for (const video of content.querySelectorAll<HTMLMediaElement>("audio, video")) video.controls = true;
}

function makeButton(element: HTMLElement): void {
  element.tabIndex = 0;
  element.setAttribute("role", "button");
}

function decorateSpoiler(block: HTMLElement): void {
  const [header, body] = [block.querySelector<HTMLElement>(".spoiler-header"), block.querySelector<HTMLElement>(".spoiler-content")];
  if (!header || !body) return;
  if (header.textContent?.trim() === "") header.textContent = t("Spoiler");
  makeButton(header);
  header.setAttribute("aria-expanded", "false");
  body.hidden = true;
}

function decorateCode(code: HTMLElement): void {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy-code";
  button.textContent = t("Copy");
  button.setAttribute("aria-label", t("Copy code"));
  code.append(button);
  code.querySelector("pre")?.setAttribute("tabindex", "0");
}

/** Adds a link to each place that runs code of the block's language. */
function linkToPlaygrounds(code: HTMLElement, playgrounds: readonly Playground[]): void {
  const language = code.dataset["codeLanguage"]?.toLowerCase();
  const text = code.querySelector("pre")?.textContent ?? "";
  for (const { name, pygments_language, url_template } of playgrounds) {
    const address = url_template.replace(/\{code\}/g, () => encodeURIComponent(text));
    if (pygments_language.toLowerCase() !== language || !/^https?:/i.test(address)) continue;
    const link = document.createElement("a");
    link.className = "playground";
    link.textContent = name;
    setLink(link, address);
    code.append(link);
  }
}
