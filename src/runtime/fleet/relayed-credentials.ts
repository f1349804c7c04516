/** Credentials whose source can be replaced under a living client, which only learns that there is a new one. */
import { type Connection, type Credential, type Credentials, heldCredentials } from "#kube";

export class RelayedCredentials implements Credentials {
  readonly #listeners = new Set<(credential: Credential) => void>();
  #source: Credentials;
  #stopListening: (() => void) | undefined;

  constructor(source: Credentials) {
    this.#source = source;
  }

  current(): Promise<Credential> {
    return this.#source.current();
  }

  refresh(refused: Credential): Promise<Credential> {
    return this.#source.refresh(refused);
  }

  onChange(listener: (credential: Credential) => void): () => void {
    const own = (credential: Credential) => listener(credential);
    this.#listeners.add(own);
    // Sources watch files and Secrets only for those who listen.
    this.#stopListening ??= this.#source.onChange((credential) => this.#tell(credential));
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#stopListening?.();
      this.#stopListening = undefined;
    };
  }

  replace(source: Credentials): void {
    this.#source = source;
    if (this.#listeners.size === 0) return;
    this.#stopListening?.();
    this.#stopListening = source.onChange((credential) => this.#tell(credential));
    void this.#announce(source);
  }

  async #announce(source: Credentials): Promise<void> {
    try {
      const credential = await source.current();
      if (source === this.#source) this.#tell(credential);
    } catch {
      // The next call asks too, and tells its caller what is wrong.
    }
  }

  #tell(credential: Credential): void {
    for (const listener of [...this.#listeners]) listener(credential);
  }
}

/** Where a connection's credentials come from; those that never change are a source too. */
export function sourceOf({ credentials, token, cert, key }: Connection): Credentials {
  return (
    credentials ??
    heldCredentials({
      ...(token !== undefined && { token }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    })
  );
}
