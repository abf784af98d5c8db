// What pages ask their server, with the token where it wants one.

// Kept for this tab alone.
const tokenKey = 'trainyard-token';
export const token = (): string => sessionStorage.getItem(tokenKey) ?? '';
export const setToken = (value: string): void => sessionStorage.setItem(tokenKey, value);

export class HttpError extends Error {
  constructor(readonly status: number, text: string) {
    super(text);
  }
}

export const message = (problem: unknown): string => (problem instanceof Error ? problem.message : String(problem));

/** The answer to a request that bears the token; its error otherwise. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token()) headers.set('Authorization', `Bearer ${token()}`);
  const response = await fetch(path, { ...init, headers });
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { error?: string };
  throw new HttpError(response.status, body.error ?? response.statusText);
}

export const ask = async <T,>(path: string, init: RequestInit = {}): Promise<T> => (await send(path, init)).json() as Promise<T>;
