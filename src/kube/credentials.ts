/** Who a client is: what it shows the server with every request, and where it gets something newer. */

/** A bearer token, a client certificate with its key, or both; with none of them a client is anonymous. */
export interface Credential {
  readonly token?: string;
  /** PEM of the certificate and of its key. */
  readonly cert?: string;
  readonly key?: string;
}

/** A source of credentials that change while a client lives: a file, a program, a Secret. */
export interface Credentials {
  /** What to call with now. It is asked before every request, so an answer that is known comes at once. */
  current(): Promise<Credential>;
  /** Something newer than what the server refused; the same again where there is nothing newer yet. */
  refresh(refused: Credential): Promise<Credential>;
  /** Runs whenever the credential has become another one. The answer ends that. */
  onChange(listener: (credential: Credential) => void): () => void;
}

export function isSameCredential(a: Credential, b: Credential): boolean {
  return a.token === b.token && isSameCertificate(a, b);
}

export function isSameCertificate(a: Credential, b: Credential): boolean {
  return a.cert === b.cert && a.key === b.key;
}

/** Credentials that their owner replaces. */
export interface HeldCredentials extends Credentials {
  set(credential: Credential): void;
}

/** For owners who learn of a new credential by themselves, such as one who watches a kubeconfig. */
export function heldCredentials(first: Credential): HeldCredentials {
  const holder = new CredentialHolder(first);
  return {
    current: async () => holder.credential ?? first,
    refresh: async () => holder.credential ?? first,
    onChange: (listener) => holder.onChange(listener),
    set: (credential) => holder.set(credential),
  };
}

/** The newest credential, and those who want to hear of the next; sources keep what they have in one of these. */
export class CredentialHolder {
  credential: Credential | undefined;
  readonly #listeners = new Set<(credential: Credential) => void>();

  constructor(first?: Credential) {
    this.credential = first;
  }

  /** Listeners hear of a change, not of the first one, which nobody can have used before. */
  set(credential: Credential): void {
    const before = this.credential;
    this.credential = credential;
    if (before === undefined || isSameCredential(before, credential)) return;
    for (const listener of [...this.#listeners]) listener(credential);
  }

  onChange(listener: (credential: Credential) => void): () => void {
    // A function that listens twice is two listeners, each removed by itself.
    const own = (credential: Credential) => listener(credential);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }
}
