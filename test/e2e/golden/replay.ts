/** Asks a server what a real one was asked, with its own identities in place of the recorded ones. */
import { isObject } from "#lib/json";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import type { Body, Caller, RawClient, RawEvent, Reply } from "../../support/raw.ts";
import type { Recording } from "./recordings.ts";

export interface Replay {
  /** The answer, as far as the recording has one to compare it with. */
  ask(recording: Recording): Promise<Replayed>;
}

export interface Replayed {
  readonly reply?: Reply;
  readonly events?: readonly (RawEvent | Body)[];
}

export function createReplay(admin: RawClient, alice: Caller): Replay {
  const ours = new Map<string, string>();
  const blanks = new Map<string, string>();
  const callerOf = (user: string | null): Caller | undefined => {
    if (user === null) return {};
    if (user.startsWith("admin")) return undefined;
    if (user.startsWith("alice")) return alice;
    return { token: user === "sa token" ? (blanks.get("<jwt>") ?? "") : "bogus" };
  };
  const clients = new Map<string, RawClient>();
  const clientOf = (user: string | null): RawClient => {
    const caller = callerOf(user);
    if (!caller) return admin;
    const id = JSON.stringify(caller);
    const client = clients.get(id) ?? admin.as(caller);
    clients.set(id, client);
    return client;
  };

  return {
    async ask(recording) {
      const path = translated(recording.path, ours);
      const accept = recording.accept;
      if (recording.method === "WATCH") return { events: await watched(admin, recording, await fromNow(admin, path)) };

      const body = recording.body === undefined ? undefined : bodyOf(recording, ours, blanks);
      const reply = await clientOf(recording.user).request(recording.method, path, {
        ...(accept !== undefined && { accept }),
        ...(body !== undefined && { body }),
        ...(recording.contentType && { type: recording.contentType }),
        ...(recording.headers && { headers: recording.headers }),
      });
      learn(recording.response, reply.body, ours);
      const { token, certificate } = (reply.body.status ?? {}) as { token?: string; certificate?: string };
      if (token) blanks.set("<jwt>", token);
      if (certificate) blanks.set("<certificate>", certificate);
      return { reply };
    },
  };
}

/** A revision between the first and one that never comes was the newest when it was recorded. */
const NEWEST = /\bresourceVersion=(?!0\b|1\b|9{9}\b)\d+/;

async function fromNow(client: RawClient, path: string): Promise<string> {
  if (!NEWEST.test(path)) return path;
  const { body } = await client.get(path.slice(0, path.indexOf("?")));
  return path.replace(NEWEST, `resourceVersion=${body.metadata.resourceVersion}`);
}

async function watched(
  client: RawClient,
  { events: expected = [], accept }: Recording,
  path: string,
): Promise<(RawEvent | Body)[]> {
  // Silence can only be heard until an end.
  const silent = expected.length === 0 && !path.includes("timeoutSeconds");
  const watch = await client.watch(silent ? `${path}&timeoutSeconds=1` : path, accept === undefined ? {} : { accept });
  if (expected.length === 0 || watch.code !== 200) await watch.ended;
  else await watch.seen(expected.length);
  const events = watch.events.map((event) => (event.type === "" ? event.object : event));
  watch.close();
  return events;
}

function bodyOf({ body }: Recording, ours: ReadonlyMap<string, string>, blanks: ReadonlyMap<string, string>): string {
  if (typeof body === "string") return body; // was no JSON, or JSON that had to be sent as it was
  const text = JSON.stringify(body).replaceAll("<request>", () => requestFor(body));
  return translated(translated(text, blanks), ours);
}

/** The recordings blank their certificate requests; one of them asked for too much. */
function requestFor(body: unknown): string {
  const isGreedy = (body as Body).metadata.name === "c2";
  const subject = isGreedy
    ? { commonName: "x", organizations: ["system:masters"] }
    : { commonName: "x", organizations: ["devs"] };
  return Buffer.from(createCertificateRequest({ subject, key: KEY.privateKey })).toString("base64");
}

const KEY = generateKeyPair();

/** Recorded identities are long enough, or quoted, so that nothing else is mistaken for one. */
function translated(text: string, ours: ReadonlyMap<string, string>): string {
  let all = text;
  for (const [theirs, own] of ours) all = all.replaceAll(theirs, own);
  return all;
}

function learn(theirs: unknown, own: unknown, ours: Map<string, string>): void {
  if (Array.isArray(theirs) && Array.isArray(own)) {
    for (const [at, each] of theirs.entries()) learn(each, own[at], ours);
    return;
  }
  if (!isObject(theirs) || !isObject(own)) return;
  for (const [key, value] of Object.entries(theirs)) {
    const other = own[key];
    if (typeof value !== "string" || typeof other !== "string") learn(value, other, ours);
    else if (key === "resourceVersion") ours.set(`"resourceVersion":"${value}"`, `"resourceVersion":"${other}"`);
    else if (key === "uid" || key === "continue") ours.set(value, other);
  }
}
