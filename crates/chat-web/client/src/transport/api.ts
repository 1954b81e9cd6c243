// Requests to the API. The session is a cookie that this script cannot read; nothing secret is kept here.
import { t } from "../text/language";

/** The server understood the request and refused it. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly body: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

/** No answer came: the network or the server is away. */
export class NetworkError extends Error {}

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
export type Params = Readonly<Record<string, unknown>>;

const BASE = "/json/";
/** A request without an answer for this long counts as lost. */
const TIMEOUT_MS = 30_000;
/** A refused request is tried again by itself while the server says so, up to this often. */
const RATE_LIMIT_RETRIES = 3;

/** Returns the token that proves to the server that a change comes from its own page. */
export function csrfToken(): string {
  for (const name of ["__Host-csrftoken", "csrftoken"]) {
    const found = document.cookie.split("; ").find((cookie) => cookie.startsWith(`${name}=`));
    if (found) return decodeURIComponent(found.slice(name.length + 1));
  }
  return "";
}

/** Leads to the sign-in page, which leads back to this view. */
export function signIn(): void {
  location.assign(`/login/?next=${encodeURIComponent(location.pathname)}${location.hash}`);
}

/** Texts go as they are, everything else as JSON; what is undefined is left out. */
export function encodeParams(params: Params): URLSearchParams {
  const encoded = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined) encoded.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return encoded;
}

/** Makes one request and returns the members of its answer. */
export async function request<T = Record<string, any>>(
  method: Method,
  path: string,
  params: Params = {},
  options: { signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return (await requestOnce(method, path, params, options)) as T;
    } catch (error) {
      const wait = error instanceof ApiError && error.status === 429 ? Number(error.body["retry-after"] ?? 1) : undefined;
      if (wait === undefined || retries >= RATE_LIMIT_RETRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.min(wait, 20) * 1000 + 100));
    }
  }
}

async function requestOnce(
  method: Method,
  path: string,
  params: Params,
  { signal, timeoutMs = TIMEOUT_MS }: { signal?: AbortSignal; timeoutMs?: number },
): Promise<unknown> {
  const query = encodeParams(params);
  const inAddress = method === "GET" && query.size > 0 ? `?${query}` : "";
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let body: Record<string, unknown>;
  try {
    response = await fetch(BASE + path + inAddress, {
      method,
      headers,
      ...(method === "GET" ? {} : { body: query }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      credentials: "same-origin",
      cache: "no-store",
    });
    body = response.headers.get("content-type")?.startsWith("application/json") ? await response.json() : {};
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new NetworkError(t("The server cannot be reached."));
  }
  return judged(response, body);
}

/** Returns the body of a success; throws what a refusal says. */
function judged(response: Response, body: Record<string, unknown>): unknown {
  if (response.ok && body["result"] === "success") return body;
  if (response.status >= 502 && response.status <= 504) throw new NetworkError(t("The server cannot be reached."));
  const code = String(body["code"] ?? "");
  // A wrong password in a form of the page is refused with 401 too, while the session goes on.
  const isSignedOut = response.status === 401 && code !== "AUTHENTICATION_FAILED";
  if (isSignedOut || code === "CSRF_FAILED") signIn();
  const text = String(body["msg"] ?? t("The server answered {0}.", response.status));
  throw new ApiError(response.status, code, text, body);
}

/** Uploads a file and reports how much of it is sent, from 0 to 1. */
export function upload(
  path: string,
  file: File,
  onProgress: (part: number) => void,
  method: Method = "POST",
  params: Params = {},
): { done: Promise<Record<string, any>>; cancel: () => void } {
  // `fetch` does not report progress.
  const sending = new XMLHttpRequest();
  const done = new Promise<Record<string, any>>((resolve, reject) => {
    sending.upload.onprogress = (event) => onProgress(event.total > 0 ? event.loaded / event.total : 0);
    sending.onerror = () => reject(new NetworkError(t("The upload was interrupted.")));
    sending.onabort = () => reject(new NetworkError(t("The upload was cancelled.")));
    sending.onload = () => {
      const body = parsed(sending.responseText);
      if (sending.status < 300 && body["result"] === "success") resolve(body);
      else reject(new ApiError(sending.status, String(body["code"] ?? ""), String(body["msg"] ?? t("The upload failed.")), body));
    };
    sending.open(method, BASE + path);
    sending.setRequestHeader("X-CSRFToken", csrfToken());
    const form = new FormData();
    for (const [name, value] of encodeParams(params)) form.set(name, value);
    form.set("file", file, file.name);
    sending.send(form);
  });
  return { done, cancel: () => sending.abort() };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
